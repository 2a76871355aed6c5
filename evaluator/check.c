// SPDX-License-Identifier: Apache-2.0
#include "evaluator/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evaluator/check_ahead.h"
#include "evaluator/check_tally.h"
#include "evaluator/check_tensors.h"
#include "evaluator/runner_families.h"
#include "evaluator/runner_rig.h"

/* What the way a run ended says about the submission. */
static const enum verdict ending[PTXVM_STATUS_COUNT] = {
    [PTXVM_OK] = VERDICT_PASSED,
    [PTXVM_FAULT] = VERDICT_RUNTIME_ERROR,
    [PTXVM_TRAP] = VERDICT_RUNTIME_ERROR,
    [PTXVM_ASSERT] = VERDICT_RUNTIME_ERROR,
    [PTXVM_UNSUPPORTED] = VERDICT_INFRA_ERROR,
    [PTXVM_BUDGET] = VERDICT_TIMEOUT,
    [PTXVM_DEADLINE] = VERDICT_TIMEOUT,
    [PTXVM_DEADLOCK] = VERDICT_TIMEOUT,
    [PTXVM_LAUNCH] = VERDICT_LAUNCH_ERROR,
    [PTXVM_NO_MEMORY] = VERDICT_LAUNCH_ERROR,
};

struct checker {
    const struct check_request *request;
    struct check_answer *out;
    struct tensors tensors; /* the candidate's */
    struct tensors first;   /* its outputs of the first of two runs */
    struct rig *rig;
    struct check_tally tally;
};

static bool stop(struct checker *c, enum verdict verdict, const char *detail)
{
    return check_tally_stop(&c->tally, verdict, "%s", detail);
}

static bool oracle_failed(struct checker *c, const struct fault *f)
{
    char detail[LIMIT_DETAIL];
    snprintf(detail, sizeof(detail), "the oracle failed: %.480s", f->detail);
    return stop(c, VERDICT_INFRA_ERROR, detail);
}

/* One run of the candidate's plan on poisoned outputs. */
static bool run_candidate(struct checker *c, bool keep_counts)
{
    struct rig_run run;
    tensors_poison_outputs(&c->tensors);
    rig_run(c->rig, &run);
    if (keep_counts) {
        c->out->counts = rig_counts_json(&run.counts, c->request->arch);
        c->out->families = rig_families_json(&run.counts, c->request->arch);
        c->out->tensor_share =
            run.counts.tensor_flops / (double)problem_flops(c->request->problem, c->request->workload);
    }
    bool ok = run.status == PTXVM_OK;
    if (run.note && !json_array_size(c->out->faults))
        json_array_append(c->out->faults, run.note);
    if (!ok) {
        bool ours = run.status == PTXVM_UNSUPPORTED;
        char detail[LIMIT_DETAIL];
        snprintf(detail, sizeof(detail), "%s%.480s", ours ? "unsupported_instruction: " : "",
                 run.detail);
        stop(c, ending[run.status], detail);
        if (run.fault)
            json_array_append(c->out->faults, run.fault);
    }
    rig_run_release(&run);
    return ok;
}

/* Copies the bytes of captured buffers, as far as LIMIT_CAPTURE goes. */
static void capture(struct checker *c)
{
    const struct plan *plan = c->request->plan;
    for (size_t i = 0; i < plan->buffer_count; i++) {
        const struct plan_buffer *b = &plan->buffers[i];
        size_t room = c->out->capture.max - c->out->capture.len;
        size_t n = (size_t)b->bytes < room ? (size_t)b->bytes : room;
        if (!b->capture)
            continue;
        json_array_append_new(
            c->out->captures,
            json_pack("{s:s, s:s, s:I, s:I}", "buffer", b->name, "dtype", dtype_name(b->dtype),
                      "offset", (json_int_t)c->out->capture.len, "bytes", (json_int_t)n));
        buf_add(&c->out->capture, rig_buffer(c->rig, i), n);
    }
}

/* The second run on the same input. Returns false if it ended badly; *same says if all bits
 * agree. */
static bool run_again(struct checker *c, bool *same, struct fault *f)
{
    const struct problem *p = c->request->problem;
    if (tensors_init(&c->first, p, c->request->workload, &c->tensors, f) != ERR_NONE)
        return stop(c, VERDICT_INFRA_ERROR, f->detail);
    for (size_t i = 0; i < p->tensor_count; i++)
        if (p->tensors[i].role == TENSOR_OUTPUT)
            memcpy(c->first.data[i], c->tensors.data[i], c->tensors.bytes[i]);
    if (!run_candidate(c, false))
        return false;
    *same = true;
    for (size_t i = 0; i < p->tensor_count; i++)
        *same = *same && !memcmp(c->first.data[i], c->tensors.data[i], c->tensors.bytes[i]);
    if (!*same)
        c->tally.flags |= FLAG_nondeterministic;
    return true;
}

/* Compares every output of one run and appends to `list`. */
static bool compare_outputs(struct checker *c, const struct tensors *got,
                            const struct tensors *want, const struct distribution *d,
                            const char *which, json_t *list)
{
    struct fault f = {0};
    const struct problem *p = c->request->problem;
    for (size_t i = 0; i < p->tensor_count; i++) {
        if (p->tensors[i].role != TENSOR_OUTPUT)
            continue;
        int64_t shape[LIMIT_DIMS];
        struct compare_task task = tensors_task(got, want, c->request->workload, d, i, shape);
        struct compare_result r;
        if (compare(&task, &r, &f) != ERR_NONE)
            return stop(c, VERDICT_INFRA_ERROR, f.detail);
        check_tally_output(&c->tally, &task, &r, d, which, list);
    }
    return c->tally.verdict == VERDICT_PASSED;
}

static bool oracle_answers(struct checker *c, size_t n, struct problem *as_oracle, struct tensors *want)
{
    struct fault f = {0};
    struct check_ahead *ahead = c->request->ahead;
    *want = (struct tensors){0};
    if (ahead && check_ahead_open(ahead, n, want))
        return true;
    return oracle_run(c->request, &c->tensors, as_oracle, want, &f) == ERR_NONE || oracle_failed(c, &f);
}

/* `differ`: there were two runs and they gave different bits. */
static bool judge_trial(struct checker *c, size_t n, bool differ, json_t *list)
{
    const struct distribution *d = &c->request->problem->distributions[n];
    struct problem as_oracle;
    struct tensors want;
    bool ok = oracle_answers(c, n, &as_oracle, &want);
    if (ok && differ) { /* the first run may be the wrong one */
        ok = compare_outputs(c, &c->first, &want, d, "", list);
        if (ok)
            json_array_clear(list);
    }
    if (ok)
        ok = compare_outputs(c, &c->tensors, &want, d, differ ? " in the second run" : "", list);
    tensors_release(&want);
    if (c->request->ahead)
        check_ahead_close(c->request->ahead, n);
    return ok;
}

static bool make_inputs(struct checker *c, size_t n)
{
    const struct check_request *q = c->request;
    struct fault f = {0};
    if (q->ahead) {
        check_ahead_inputs(q->ahead, n, &c->tensors);
        return true;
    }
    tensors_draw_inputs(&c->tensors, q->workload, &q->problem->distributions[n], q->seeds[n]);
    return tensors_derive_inputs(q, &c->tensors, &f) == ERR_NONE || oracle_failed(c, &f);
}

static bool trial(struct checker *c, size_t n)
{
    const struct distribution *d = &c->request->problem->distributions[n];
    struct fault f = {0};
    if (!make_inputs(c, n))
        return false;
    bool twice = n == 0, same = true;
    if (!run_candidate(c, twice))
        return false;
    if (twice)
        capture(c);
    if (twice && !run_again(c, &same, &f))
        return false;
    json_t *list = json_array();
    bool ok = judge_trial(c, n, !same, list);
    check_tally_trial(&c->tally, d, c->request->seeds[n], twice ? &same : NULL, list);
    tensors_release(&c->first);
    return ok;
}

/* A module that does not parse or load, or a plan that this device cannot run. */
static bool set_up(struct checker *c)
{
    const struct check_request *q = c->request;
    struct fault f = {0};
    if (tensors_init(&c->tensors, q->problem, q->workload, NULL, &f) != ERR_NONE)
        return stop(c, VERDICT_INFRA_ERROR, f.detail);
    struct rig_spec spec = {
        .problem = q->problem, .workload = q->workload, .arch = q->arch, .plan = q->plan,
        .ptx = q->ptx, .ptx_len = q->ptx_len, .symbols = q->symbols, .registers = q->registers,
        .tensors = c->tensors.data,
        .thread_instructions = q->thread_instructions, .plan_ms = q->plan_ms,
        .schedule = q->schedule, .threads = q->threads, .trace = q->trace, .trace_kernel = q->trace_kernel,
    };
    c->rig = rig_new(&spec, &f);
    if (c->rig)
        return true;
    bool theirs = f.code == ERR_INVALID && !q->assembled;
    return stop(c,
                f.code == ERR_NO_MEMORY ? VERDICT_LAUNCH_ERROR
                : theirs                ? VERDICT_COMPILE_ERROR
                                        : VERDICT_INFRA_ERROR,
                f.detail);
}

void check_run(const struct check_request *request, struct check_answer *out)
{
    *out = (struct check_answer){.verdict = VERDICT_PASSED, .faults = json_array(),
                                 .captures = json_array()};
    buf_init(&out->log, LIMIT_LOG);
    buf_init(&out->capture, LIMIT_CAPTURE);
    struct checker c = {.request = request, .out = out};
    check_tally_init(&c.tally);
    size_t total = request->problem->distribution_count;
    bool ok = set_up(&c);
    for (size_t n = 0; ok && n < total; n++) {
        ok = trial(&c, n);
        if (request->progress)
            request->progress(request->arg, n + 1, total);
    }
    out->check = check_tally_finish(&c.tally);
    out->verdict = c.tally.verdict;
    out->flags = c.tally.flags;
    memcpy(out->detail, c.tally.detail, sizeof(out->detail));
    check_tally_release(&c.tally);
    if (c.rig && rig_log(c.rig)->len)
        buf_add(&out->log, rig_log(c.rig)->data, rig_log(c.rig)->len);
    rig_free(c.rig);
    tensors_release(&c.first);
    tensors_release(&c.tensors);
}

void check_answer_release(struct check_answer *a)
{
    json_decref(a->check);
    json_decref(a->faults);
    json_decref(a->counts);
    json_decref(a->families);
    json_decref(a->captures);
    buf_release(&a->log);
    buf_release(&a->capture);
    *a = (struct check_answer){0};
}

json_t *check_answer_json(const struct check_answer *a)
{
    return json_pack("{s:s, s:i, s:s, s:O?, s:O?, s:O?, s:O?, s:f, s:O?}", "verdict",
                     verdict_name(a->verdict), "flags", (int)a->flags, "detail", a->detail, "check",
                     a->check, "faults", a->faults, "counts", a->counts, "families", a->families,
                     "tensor_share", a->tensor_share, "captures", a->captures);
}
