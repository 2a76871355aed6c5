/* SPDX-License-Identifier: Apache-2.0
 * The check on the CPU device: runs a compiled plan on secret inputs, then the oracle, then
 * compares. In this process, so only confined callers (evaluator/runner_serve.c) give it foreign code.
 *
 * One trial per distribution of the problem, all in one instance of the module and at the same
 * addresses, so that an answer kept from an earlier launch is the wrong one. In a trial:
 *   1. inputs are made from the trial's seed and outputs poisoned; scratch as the plan says;
 *   2. the plan runs; in the first trial a second time on the same input, outputs poisoned anew:
 *      work done only by the first launch shows, and other bits raise `nondeterministic`;
 *   3. only now the oracle runs, in a device of its own, or its answer is opened (check_ahead.h); it is dropped
 *      before the next;
 *   4. every output is compared. The first trial that fails ends the check.
 *
 * Verdicts: the paper's rule decides PASSED or INCORRECT_NUMERICAL. A PASSED that fails the strict
 * rule, or bitwise equality where the distribution is exact, is `loose`. A fault, trap or
 * assertion is RUNTIME_ERROR. A budget or deadline overrun is TIMEOUT, and so is a deadlock,
 * because on hardware the same kernel is one that does not end; report.faults says which. */
#ifndef EVALUATOR_CHECK_H
#define EVALUATOR_CHECK_H

#include <jansson.h>

#include "core/plan.h"
#include "core/words.h"
#include "evaluator/inputs.h"
#include "evaluator/ptxvm/ptxvm.h"

struct check_ahead;

struct check_request {
    const struct problem *problem;
    const struct workload *workload;
    const struct arch *arch;
    const struct plan *plan;
    const json_t *symbols;              /* {name expression: symbol} */
    const json_t *registers;            /* {symbol: registers of a thread}; NULL: not known */
    bool assembled; /* an assembler accepted the module: if we cannot parse or load it, that is our
                       fault; else a COMPILE_ERROR */
    const char *ptx, *oracle_ptx;
    size_t ptx_len, oracle_ptx_len;
    struct seed seeds[LIMIT_DISTRIBUTIONS]; /* one per distribution of the problem */
    uint64_t thread_instructions;       /* budget of one run of the plan */
    int64_t plan_ms;                    /* processor time of one run of the plan */
    uint64_t schedule;                  /* as in rig_spec, and so are the next three */
    int threads;
    const struct ptxvm_trace *trace;
    const char *trace_kernel;
    struct check_ahead *ahead;          /* what check_ahead_make() made of it; NULL: nothing */
    void (*progress)(void *arg, size_t done, size_t total); /* trials; may be NULL */
    void *arg;
};

struct check_answer {
    enum verdict verdict;
    unsigned flags;
    char detail[LIMIT_DETAIL];
    json_t *check, *faults, *counts, *families, *captures; /* for the report; owned */
    double tensor_share; /* FLOPs of tensor instructions / FLOPs of the problem, once there are counts */
    struct buf log;     /* what the kernels printed */
    struct buf capture; /* captured buffers, one after the other as `captures` lists them */
};

/* Never fails otherwise than in the answer. Release it in any case. */
void check_run(const struct check_request *request, struct check_answer *out);
void check_answer_release(struct check_answer *a);

/* The answer less its bytes, as one JSON object: verdict, flags (bits), detail, and the members
 * above. */
json_t *check_answer_json(const struct check_answer *a);

#endif
