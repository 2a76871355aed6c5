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
    return json_pack("{s:s, s:s, s:s, s:O, s:o, s:I, s:I, s:b}", "problem", c->problem->name,
                     "workload", c->workload->name, "arch", c->arch->name, "launch", r->launch, "seeds",
                     seeds, "thread_instructions", (json_int_t)c->thread_instructions, "plan_ms",
                     (json_int_t)c->plan_ms, "sanitize", r->sanitize);
}

static char *module_text(const struct check_request *c)
{
    json_t *json = json_pack("{s:O, s:O*, s:b}", "symbols", c->symbols, "registers", c->registers,
                             "assembled", c->assembled);
    char *text = json ? json_canonical(json) : NULL;
    json_decref(json);
    return text;
}

struct runner {
    struct runner_request request;
    struct outcome *out; /* while it is waited for */
    struct child *child;
};

static bool on_frame(const struct frame *frame, void *arg)
{
    struct runner *r = arg;
    return outcome_take(r->out, frame, r->request.progress, r->request.arg);
}

static bool on_tick(void *arg)
{
    const struct runner *r = arg;
    return !r->request.tick || r->request.tick(r->request.arg);
}

static void read_end(const struct child_result *child, struct outcome *out)
{
    char how[128], detail[LIMIT_DETAIL];
    if (child->end == CHILD_CANCELLED) {
        outcome_give_up(out, VERDICT_CANCELLED, "cancelled on request");
    } else if (child->end != CHILD_EXITED || child->code != 0 || !outcome_read(out)) {
        const char *said = child->log.len ? child->log.data : "";
        snprintf(detail, sizeof(detail), "the runner %s%s%.300s",
                 child_describe(child, how, sizeof(how)), *said ? ": " : "", said);
        text_sanitize(detail);
        outcome_give_up(out, VERDICT_INFRA_ERROR, detail);
    }
}

struct runner *runner_start(const struct runner_request *request, struct fault *f)
{
    struct runner *r = calloc(1, sizeof(*r));
    json_t *json = request_json(request);
    char *text = json ? json_canonical(json) : NULL;
    json_decref(json);
    if (!r || !text) {
        free(r);
        free(text);
        fault_set(f, ERR_NO_MEMORY, "cannot ask the runner: out of memory");
        return NULL;
    }
    r->request = *request;
    const struct check_request *c = &request->check;
    const struct child_input input[] = {{FRAME_REQUEST, text, strlen(text)},
                                        {FRAME_PTX, c->oracle_ptx, c->oracle_ptx_len}};
    struct child_spec spec = {
        .program = "ptxbench-runner", .input = input, .input_count = COUNT_OF(input),
        .timeout_ms = request->timeout_ms, .memory_bytes = request->memory_bytes,
        .output_max = LIMIT_REPORT + LIMIT_LOG + LIMIT_CAPTURE + 64 * KIB, .log_max = RUNNER_TEXT,
        .on_frame = on_frame, .tick = on_tick, .wake_fd = -1, .arg = r,
    };
    r->child = child_start(&spec, f);
    free(text);
    if (r->child)
        return r;
    free(r);
    return NULL;
}

void runner_check(struct runner *r, const struct check_request *module, struct outcome *out)
{
    outcome_init(out);
    char *text = module_text(module);
    if (!text || !child_add(r->child, FRAME_REQUEST, text, strlen(text)) ||
        !child_add(r->child, FRAME_PTX, module->ptx, module->ptx_len)) {
        outcome_give_up(out, VERDICT_INFRA_ERROR, "cannot ask the runner: out of memory");
    } else {
        struct child_result child;
        r->out = out;
        child_wait(r->child, &child);
        read_end(&child, out);
        child_result_release(&child);
    }
    free(text);
}

void runner_free(struct runner *r)
{
    if (r)
        child_free(r->child);
    free(r);
}

void runner_run(const struct runner_request *request, struct outcome *out)
{
    struct fault f = {0};
    struct runner *r = runner_start(request, &f);
    if (r) {
        runner_check(r, &request->check, out);
    } else {
        outcome_init(out);
        outcome_give_up(out, VERDICT_INFRA_ERROR, f.detail);
    }
    runner_free(r);
}
