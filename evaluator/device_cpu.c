// SPDX-License-Identifier: Apache-2.0
#include "evaluator/device_cpu.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "core/submission.h"
#include "core/util.h"
#include "evaluator/runner.h"

enum {
    TRIAL_RUNS = 1, /* the first trial runs twice */
    SPARE_RUNS = 2, /* share of the time left to oracle and comparison, in runs */
};

static enum err read_oracle(const struct problem *p, struct buf *ptx, struct fault *f)
{
    char path[PATH_MAX];
    if (!p->oracle_ptx[0])
        return fault_set(f, ERR_UNAVAILABLE, "problem %s has no oracle for the cpu device",
                         p->name);
    snprintf(path, sizeof(path), "%s/%s", p->folder, p->oracle_ptx);
    return read_file(path, ptx, f);
}

static void on_progress(void *arg, const json_t *event)
{
    stages_event(arg, "progress", json_copy((json_t *)event));
}

static bool on_tick(void *arg)
{
    return !stages_cancelled(arg);
}

/* Draws the trials' seeds, now that nothing of the submission can change any more. */
static void draw_seeds(struct check_request *check, json_t *report)
{
    json_t *texts = json_array();
    for (size_t i = 0; i < check->problem->distribution_count; i++) {
        char text[SEED_TEXT];
        check->seeds[i] = seed_draw();
        seed_text(check->seeds[i], text);
        json_array_append_new(texts, json_string(text));
    }
    json_object_set_new(report, "seeds", texts);
}

/* Copies the runner's answer to where the evaluation keeps it. */
static void take(struct evaluating *e, const struct outcome *answer, struct stage_result *r)
{
    r->verdict = answer->verdict;
    memcpy(r->detail, answer->detail, sizeof(r->detail));
    e->out->flags |= answer->flags;
    if (answer->json)
        report_check(e->out->report, answer->json, e->request->submission->arch);
    buf_add(&e->out->capture, answer->capture.data, answer->capture.len);
    if (answer->log.len) {
        buf_adds(&e->out->log, EVALUATION_PRINTED);
        buf_add(&e->out->log, answer->log.data, answer->log.len);
    }
}

void cpu_check(struct evaluating *e, struct stage_result *r)
{
    const struct submission *s = e->request->submission;
    struct buf oracle;
    struct fault f = {0};
    buf_init(&oracle, LIMIT_PTX);
    if (read_oracle(s->problem, &oracle, &f) != ERR_NONE) {
        r->verdict = VERDICT_INFRA_ERROR;
        memcpy(r->detail, f.detail, sizeof(r->detail));
        buf_release(&oracle);
        return;
    }
    int runs = (int)s->problem->distribution_count + TRIAL_RUNS + SPARE_RUNS;
    json_t *symbols = stages_symbols(&e->compiled), *registers = compile_registers(&e->compiled);
    struct runner_request request = {
        .check = {
            .problem = s->problem, .workload = s->workload, .arch = s->arch, .plan = s->plan,
            .symbols = symbols, .registers = registers, .assembled = e->compiled.cubin.len > 0,
            .ptx = e->compiled.ptx.data, .ptx_len = e->compiled.ptx.len,
            .oracle_ptx = oracle.data, .oracle_ptx_len = oracle.len,
            .thread_instructions = e->limits.thread_instructions,
            .plan_ms = e->limits.check_ms / runs,
        },
        .launch = s->launch, .timeout_ms = e->limits.check_ms,
        .memory_bytes = e->limits.memory_bytes, .progress = on_progress, .tick = on_tick, .arg = e,
    };
    draw_seeds(&request.check, e->out->report);
    struct outcome answer;
    runner_run(&request, &answer);
    take(e, &answer, r);
    outcome_release(&answer);
    json_decref(symbols);
    json_decref(registers);
    buf_release(&oracle);
}

/* The executor counted every instruction of the very module that was checked: nothing is left to
 * run. */
void cpu_verify(struct evaluating *e, struct stage_result *r)
{
    const json_t *target = json_object_get(e->out->report, "target");
    if (json_is_boolean(json_object_get(target, "executed")))
        return;
    r->verdict = VERDICT_INFRA_ERROR;
    snprintf(r->detail, sizeof(r->detail), "the check counted no instructions");
}
