// SPDX-License-Identifier: Apache-2.0
#include "evaluator/evaluate.h"

#include <stdio.h>
#include <string.h>

#include "core/submission.h"
#include "core/util.h"
#include "evaluator/device.h"
#include "evaluator/device_cpu.h"
#include "evaluator/keeper_line.h"
#include "evaluator/sanitize.h"

static const struct evaluation_limits defaults = {
    .compile_ms = COMPILE_TIMEOUT_MS,
    .check_ms = 120 * 1000,
    .memory_bytes = INT64_C(6) << 30,
    .thread_instructions = UINT64_C(1) << 33, /* some ten seconds; naive.cu on `small`: 2^29 */
    .run_ms = 10 * 1000,   /* naive.cu on the paper's workload: under a second */
    .batch_ms = 60 * 1000, /* some 32 runs */
};

static struct evaluation_limits fill_limits(struct evaluation_limits given)
{
    struct evaluation_limits l = defaults;
    if (given.compile_ms)
        l.compile_ms = given.compile_ms;
    if (given.check_ms)
        l.check_ms = given.check_ms;
    if (given.memory_bytes)
        l.memory_bytes = given.memory_bytes;
    if (given.thread_instructions)
        l.thread_instructions = given.thread_instructions;
    if (given.run_ms)
        l.run_ms = given.run_ms;
    if (given.batch_ms)
        l.batch_ms = given.batch_ms;
    return l;
}

enum err evaluate(const struct evaluation_request *request, const struct evaluation_hooks *hooks,
                  struct evaluation *out, struct fault *f)
{
    static const struct evaluation_hooks silent = {0};
    double start = now_s();
    *out = (struct evaluation){.verdict = VERDICT_INFRA_ERROR};
    buf_init(&out->ptx, LIMIT_PTX);
    buf_init(&out->cubin, LIMIT_CUBIN);
    buf_init(&out->log, LIMIT_LOGS);
    buf_init(&out->capture, LIMIT_CAPTURE);
    struct evaluating e = {
        .request = request, .hooks = hooks ? hooks : &silent, .out = out,
        .device = device_find(request->device), .limits = fill_limits(request->limits),
    };
    out->report = report_begin(request->submission, request->device,
                               e.device ? e.device->model : request->device, request->id);
    if (!out->report)
        return fault_set(f, ERR_NO_MEMORY, "cannot evaluate: out of memory");
    struct stage_result end = {.verdict = VERDICT_INFRA_ERROR};
    if (e.device)
        stages_run(&e, &end);
    else
        snprintf(end.detail, sizeof(end.detail), "there is no device %.64s", request->device);
    out->verdict = end.verdict;
    keeper_line_free(e.keeper); /* the next one's turn */
    e.keeper = NULL;
    report_end(out->report, end.verdict, out->flags, end.detail, (now_s() - start) * 1e3);
    sanitize_free(e.sanitizing);
    cpu_checking_free(e.checking);
    compile_result_release(&e.compiled);
    return ERR_NONE;
}

void evaluation_release(struct evaluation *e)
{
    json_decref(e->report);
    buf_release(&e->ptx);
    buf_release(&e->cubin);
    buf_release(&e->log);
    buf_release(&e->capture);
    *e = (struct evaluation){0};
}
