// SPDX-License-Identifier: Apache-2.0
#include "evaluator/device_cpu.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
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

struct cpu_checking {
    struct buf oracle;
    struct seed seeds[LIMIT_DISTRIBUTIONS];
    struct runner *runner;
};

void cpu_checking_free(struct cpu_checking *c)
{
    if (!c)
        return;
    runner_free(c->runner);
    buf_release(&c->oracle);
    free(c);
}

static struct check_request check_request_of(const struct evaluating *e)
{
    const struct submission *s = e->request->submission;
    int runs = (int)s->problem->distribution_count + TRIAL_RUNS + SPARE_RUNS;
    return (struct check_request){
        .problem = s->problem, .workload = s->workload, .arch = s->arch, .plan = s->plan,
        .thread_instructions = e->limits.thread_instructions, .plan_ms = e->limits.check_ms / runs,
    };
}

/* Draws the trials' seeds: nothing of the submission can change any more, and who compiles it does not see them. */
static enum err start_runner(struct evaluating *e, struct fault *f)
{
    const struct submission *s = e->request->submission;
    struct cpu_checking *c = calloc(1, sizeof(*c));
    if (!c)
        return fault_set(f, ERR_NO_MEMORY, "cannot check: out of memory");
    struct runner_request request = {
        .check = check_request_of(e), .launch = s->launch, .timeout_ms = e->limits.check_ms,
        .memory_bytes = e->limits.memory_bytes, .progress = on_progress, .tick = on_tick, .arg = e,
    };
    buf_init(&c->oracle, LIMIT_PTX);
    enum err error = read_oracle(s->problem, &c->oracle, f);
    for (size_t i = 0; i < s->problem->distribution_count; i++)
        request.check.seeds[i] = c->seeds[i] = seed_draw();
    request.check.oracle_ptx = c->oracle.data;
    request.check.oracle_ptx_len = c->oracle.len;
    if (error == ERR_NONE && !(c->runner = runner_start(&request, f)))
        error = f->code;
    if (error == ERR_NONE)
        e->checking = c;
    else
        cpu_checking_free(c);
    return error;
}

void cpu_begin(struct evaluating *e)
{
    struct fault f = {0};
    start_runner(e, &f);
}

static void tell_seeds(const struct cpu_checking *c, size_t count, json_t *report)
{
    json_t *texts = json_array();
    for (size_t i = 0; i < count; i++) {
        char text[SEED_TEXT];
        seed_text(c->seeds[i], text);
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
    struct fault f = {0};
    if (!e->checking && start_runner(e, &f) != ERR_NONE) {
        r->verdict = VERDICT_INFRA_ERROR;
        memcpy(r->detail, f.detail, sizeof(r->detail));
        return;
    }
    const struct problem *problem = e->request->submission->problem;
    json_t *symbols = stages_symbols(&e->compiled), *registers = compile_registers(&e->compiled);
    const struct check_request module = {
        .symbols = symbols, .registers = registers, .assembled = e->compiled.cubin.len > 0,
        .ptx = e->compiled.ptx.data, .ptx_len = e->compiled.ptx.len,
    };
    tell_seeds(e->checking, problem->distribution_count, e->out->report);
    struct outcome answer;
    runner_check(e->checking->runner, &module, &answer);
    take(e, &answer, r);
    outcome_release(&answer);
    json_decref(symbols);
    json_decref(registers);
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
