// SPDX-License-Identifier: Apache-2.0
#include "evaluator/device_cuda.h"

#include <stdio.h>
#include <string.h>

#include "core/submission.h"
#include "evaluator/keeper_line.h"
#include "evaluator/sanitize.h"

/* A keeper that has its turn tells of its progress; the watchdog of what it runs is its own. */
enum { SILENCE_MS = 60 * 1000, SILENCE_RUNS = 4, WAIT_MS = 100 };

static void fail(struct stage_result *r, enum verdict verdict, const char *detail)
{
    r->verdict = verdict;
    snprintf(r->detail, sizeof(r->detail), "%s", detail);
}

static void on_progress(void *arg, const json_t *event)
{
    stages_event(arg, "progress", json_copy((json_t *)event));
}

static bool on_tick(void *arg)
{
    return !stages_cancelled(arg);
}

/* Asks the keeper, copies its answer to where the evaluation keeps it. `request` is released here. */
static void ask(struct evaluating *e, json_t *request, int ms, struct stage_result *r)
{
    bool opens = ms == 0; /* then it is not our turn yet, and there is no limit to how long that takes */
    const struct keeper_wait_spec spec = {
        .silence_ms = opens ? 0 : SILENCE_MS + (int64_t)SILENCE_RUNS * ms,
        .progress = on_progress, .tick = on_tick, .arg = e,
    };
    struct outcome outcome;
    keeper_line_ask(e->keeper, request, opens ? &e->compiled.cubin : NULL, &spec, &outcome);
    json_decref(request);
    r->verdict = outcome.verdict;
    memcpy(r->detail, outcome.detail, sizeof(r->detail));
    r->wall_ms += json_number_value(json_object_get(outcome.json, "wall_ms"));
    e->out->flags |= outcome.flags;
    if (outcome.json)
        report_gpu(e->out->report, outcome.json);
    buf_add(&e->out->capture, outcome.capture.data, outcome.capture.len);
    if (outcome.log.len) {
        buf_adds(&e->out->log, EVALUATION_PRINTED);
        buf_add(&e->out->log, outcome.log.data, outcome.log.len);
    }
    outcome_release(&outcome);
}

static bool ask_to(struct evaluating *e, const char *op, int ms, struct stage_result *r)
{
    ask(e, json_pack("{s:s, s:i}", "op", op, "ms", ms), ms, r);
    return r->verdict == VERDICT_PASSED;
}

static bool connect_keeper(struct evaluating *e, struct stage_result *r)
{
    const struct keeper_access *access = e->request->keeper;
    const json_t *device = NULL;
    struct fault f = {0};
    int fd = -1;
    if (!e->compiled.cubin.len) {
        fail(r, VERDICT_INFRA_ERROR,
             e->compiled.no_cubin_reason ? e->compiled.no_cubin_reason : "there is no cubin");
        return false;
    }
    if (!access)
        fault_set(&f, ERR_UNAVAILABLE, "device %.32s has no keeper here", e->request->device);
    else if (access->connect(access->arg, &fd, &device, &f) == ERR_NONE &&
             !(e->keeper = keeper_line_new(fd)))
        fault_set(&f, ERR_NO_MEMORY, "cannot connect to the keeper: out of memory");
    if (!e->keeper) {
        fail(r, VERDICT_INFRA_ERROR, f.detail);
        return false;
    }
    report_device(e->out->report, device);
    return true;
}

static bool open_submission(struct evaluating *e, struct stage_result *r)
{
    const struct submission *s = e->request->submission;
    ask(e, json_pack("{s:s, s:s, s:s, s:s, s:O, s:o}", "op", "open", "problem", s->problem->name,
                     "workload", s->workload->name, "arch", s->arch->name, "launch", s->launch,
                     "symbols", stages_symbols(&e->compiled)),
        0, r);
    return r->verdict == VERDICT_PASSED;
}

void cuda_check(struct evaluating *e, struct stage_result *r)
{
    const struct submission *s = e->request->submission;
    if (!connect_keeper(e, r))
        return;
    if (s->mode == MODE_RANK)
        e->sanitizing = sanitize_start(s, &e->compiled);
    if (open_submission(e, r))
        ask_to(e, "check", e->limits.run_ms, r);
}

/* By now it has mostly ended: it began with the check. */
void cuda_sanitize(struct evaluating *e, struct stage_result *r)
{
    if (!e->sanitizing) {
        r->skipped = true;
        snprintf(r->detail, sizeof(r->detail), "there was no thread for it");
        return;
    }
    while (!sanitize_wait(e->sanitizing, WAIT_MS))
        if (stages_cancelled(e)) {
            fail(r, VERDICT_CANCELLED, "cancelled on request");
            return;
        }
    struct sanitize_result end = sanitize_result(e->sanitizing);
    r->skipped = end.skipped != NULL;
    r->verdict = end.verdict;
    r->wall_ms = end.wall_ms;
    snprintf(r->detail, sizeof(r->detail), "%s", end.skipped ? end.skipped : end.detail);
    if (end.json)
        report_sanitize(e->out->report, end.json);
}

void cuda_time(struct evaluating *e, struct stage_result *r)
{
    ask_to(e, "time", e->limits.batch_ms, r);
}

void cuda_verify(struct evaluating *e, struct stage_result *r)
{
    ask_to(e, "verify", e->limits.batch_ms, r);
}
