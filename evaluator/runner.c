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
    return json_pack("{s:s, s:s, s:s, s:O, s:O, s:O*, s:b, s:o, s:I, s:I, s:b}", "problem", c->problem->name,
                     "workload", c->workload->name, "arch", c->arch->name, "launch", r->launch,
                     "symbols", c->symbols, "registers", c->registers, "assembled", c->assembled, "seeds", seeds,
                     "thread_instructions", (json_int_t)c->thread_instructions, "plan_ms",
                     (json_int_t)c->plan_ms, "sanitize", r->sanitize);
}

struct asking {
    const struct runner_request *request;
    struct outcome *out;
};

static bool on_frame(const struct frame *frame, void *arg)
{
    struct asking *a = arg;
    return outcome_take(a->out, frame, a->request->progress, a->request->arg);
}

static bool on_tick(void *arg)
{
    const struct asking *a = arg;
    return !a->request->tick || a->request->tick(a->request->arg);
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

void runner_run(const struct runner_request *request, struct outcome *out)
{
    outcome_init(out);
    json_t *json = request_json(request);
    char *text = json ? json_canonical(json) : NULL;
    json_decref(json);
    if (!text) {
        outcome_give_up(out, VERDICT_INFRA_ERROR, "cannot ask the runner: out of memory");
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
        outcome_give_up(out, VERDICT_INFRA_ERROR, f.detail);
    child_result_release(&child);
    free(text);
}
