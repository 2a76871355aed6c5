/* SPDX-License-Identifier: Apache-2.0
 * The runner (program ptxbench-runner) and how it is asked: a confined process that lives for one
 * check on the CPU device. runner.c asks and holds no executor, so no process with credentials or a
 * queue connection carries one; runner_serve.c answers. It can begin before there is a module: it
 * confines itself and makes inputs and the oracle's answers while the submission is compiled.
 *
 *   in:  FRAME_REQUEST {"problem", "workload", "arch", "launch": plan document, "seeds": ["hex", …],
 *                       "thread_instructions", "plan_ms", "sanitize": bool}
 *        FRAME_PTX the oracle (empty to sanitize)
 *        FRAME_REQUEST {"symbols": {…}, "registers": {…} where they are known, "assembled": bool}
 *        FRAME_PTX the candidate
 *   out: FRAME_EVENT {"done": 1, "total": 2} …, FRAME_LOG what the kernels printed, FRAME_CAPTURE,
 *        FRAME_RESULT check_answer_json(), or sanitize_run(), and "sandbox": active layers */
#ifndef EVALUATOR_RUNNER_H
#define EVALUATOR_RUNNER_H

#include "evaluator/check.h"
#include "evaluator/child.h"
#include "evaluator/outcome.h"

struct runner_request {
    struct check_request check;  /* less progress; symbols, registers, assembled and ptx are the module's */
    bool sanitize;               /* instead of a check: see sanitize_run.h */
    const json_t *launch;        /* the plan document behind check.plan */
    int64_t timeout_ms;          /* of the process, from when it is waited for */
    int64_t memory_bytes;
    outcome_progress *progress;  /* {"done", "total"}; may be NULL */
    bool (*tick)(void *arg);     /* false stops; may be NULL */
    void *arg;
};

struct runner;

/* Runs one check in a fresh process. Whatever happens to it is in `out`: a runner that died
 * or ran past its deadline is INFRA_ERROR (its own budgets end a slow kernel first), one that was
 * stopped by tick is CANCELLED. Release the outcome in any case. */
void runner_run(const struct runner_request *request, struct outcome *out);

/* The same in two steps, between which the module is made. What `request` points to, less the module's, must stay
 * until the second. NULL with a fault: no process. */
struct runner *runner_start(const struct runner_request *request, struct fault *f);
/* Gives it the module and waits for its end; `module` has the module's members. */
void runner_check(struct runner *r, const struct check_request *module, struct outcome *out);
void runner_free(struct runner *r); /* ends one that was given nothing; NULL is fine */

/* The process: confines itself, serves one request. Returns the exit code. */
int runner_serve(int in_fd, int out_fd);

#endif
