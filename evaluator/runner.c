// SPDX-License-Identifier: Apache-2.0
#include "evaluator/runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/text.h"
#include "core/util.h"

enum { RUNNER_TEXT = 4 * KIB };

static json_t *request_json(const struct runner_request *r)
{
    const struct check_request *c = &r->check;
    json_t *seeds = json_array();
    for (size_t i = 0; i < c->problem->distribution_count; i++) {
        char text[SEED_TEXT];
        seed_text(c->seeds[i], text);
        json_array_append_new(seeds, json_string(text));
    }
    return json_pack("{s:s, s:s, s:s, s:O, s:O, s:b, s:o, s:I, s:I}", "problem", c->problem->name,
                     "workload", c->workload->name, "arch", c->arch->name, "launch", r->launch,
                     "symbols", c->symbols, "assembled", c->assembled, "seeds", seeds,
                     "thread_instructions", (json_int_t)c->thread_instructions, "plan_ms",
                     (json_int_t)c->plan_ms);
}

struct asking {
    const struct runner_request *request;
    struct runner_answer *out;
};

static bool on_frame(const struct frame *frame, void *arg)
{
    struct asking *a = arg;
    json_t *event;
    switch (frame->kind) {
    case FRAME_EVENT:
        event = json_parse(frame->data, frame->len, NULL);
        if (event && a->request->progress)
            a->request->progress(a->request->arg, event);
        json_decref(event);
        return event != NULL;
    case FRAME_LOG:
        buf_add(&a->out->log, frame->data, frame->len);
        return !a->out->log.failed;
    case FRAME_CAPTURE:
        buf_add(&a->out->capture, frame->data, frame->len);
        return !a->out->capture.failed;
    case FRAME_RESULT:
        json_decref(a->out->answer);
        a->out->answer = json_parse(frame->data, frame->len, NULL);
        return json_is_object(a->out->answer);
    default:
        return false;
    }
}

static bool on_tick(void *arg)
{
    const struct asking *a = arg;
    return !a->request->tick || a->request->tick(a->request->arg);
}

static void give_up(struct runner_answer *out, enum verdict verdict, const char *detail)
{
    json_decref(out->answer);
    out->answer = NULL;
    out->verdict = verdict;
    snprintf(out->detail, sizeof(out->detail), "%s", detail);
}

/* Reads verdict, flags and detail out of the result frame. */
static bool read_answer(struct runner_answer *out)
{
    const char *verdict = json_string_value(json_object_get(out->answer, "verdict"));
    const char *detail = json_string_value(json_object_get(out->answer, "detail"));
    int found = verdict ? verdict_find(verdict) : -1;
    if (found < 0 || !detail)
        return false;
    out->verdict = (enum verdict)found;
    out->flags = (unsigned)json_integer_value(json_object_get(out->answer, "flags"));
    snprintf(out->detail, sizeof(out->detail), "%s", detail);
    return true;
}

static void read_end(const struct child_result *child, struct runner_answer *out)
{
    char how[128], detail[LIMIT_DETAIL];
    if (child->end == CHILD_CANCELLED) {
        give_up(out, VERDICT_CANCELLED, "cancelled on request");
    } else if (child->end != CHILD_EXITED || child->code != 0 || !read_answer(out)) {
        const char *said = child->log.len ? child->log.data : "";
        snprintf(detail, sizeof(detail), "the runner %s%s%.300s",
                 child_describe(child, how, sizeof(how)), *said ? ": " : "", said);
        text_sanitize(detail);
        give_up(out, VERDICT_INFRA_ERROR, detail);
    }
}

void runner_run(const struct runner_request *request, struct runner_answer *out)
{
    *out = (struct runner_answer){.verdict = VERDICT_INFRA_ERROR};
    buf_init(&out->log, LIMIT_LOG);
    buf_init(&out->capture, LIMIT_CAPTURE);
    json_t *json = request_json(request);
    char *text = json ? json_canonical(json) : NULL;
    json_decref(json);
    if (!text) {
        give_up(out, VERDICT_INFRA_ERROR, "cannot ask the runner: out of memory");
        return;
    }
    const struct check_request *c = &request->check;
    const struct child_input input[] = {{FRAME_REQUEST, text, strlen(text)},
                                        {FRAME_PTX, c->ptx, c->ptx_len},
                                        {FRAME_PTX, c->oracle_ptx, c->oracle_ptx_len}};
    struct asking asking = {request, out};
    struct child_spec spec = {
        .program = "ptxbench-runner", .input = input, .input_count = COUNT_OF(input),
        .timeout_ms = request->timeout_ms, .memory_bytes = request->memory_bytes,
        .output_max = LIMIT_REPORT + LIMIT_LOG + LIMIT_CAPTURE + 64 * KIB, .log_max = RUNNER_TEXT,
        .on_frame = on_frame, .tick = on_tick, .wake_fd = -1, .arg = &asking,
    };
    struct child_result child;
    struct fault f = {0};
    if (child_run(&spec, &child, &f) == ERR_NONE)
        read_end(&child, out);
    else
        give_up(out, VERDICT_INFRA_ERROR, f.detail);
    child_result_release(&child);
    free(text);
}

void runner_answer_release(struct runner_answer *a)
{
    json_decref(a->answer);
    buf_release(&a->log);
    buf_release(&a->capture);
    *a = (struct runner_answer){0};
}
