// SPDX-License-Identifier: Apache-2.0
#include "evaluator/check_tensors.h"

#include <stdlib.h>
#include <string.h>

#include "core/util.h"
#include "evaluator/check_tally.h"
#include "evaluator/runner_rig.h"

enum { TENSOR_ALIGN = 256, ORACLE_MS = 600 * 1000 };

enum err tensors_init(struct tensors *t, const struct problem *problem, const struct workload *w,
                      const struct tensors *inputs, struct fault *f)
{
    *t = (struct tensors){.problem = problem};
    for (size_t i = 0; i < problem->tensor_count; i++) {
        int64_t shape[LIMIT_DIMS];
        const struct tensor_def *def = &problem->tensors[i];
        t->bytes[i] = (size_t)problem_shape(problem, w, i, shape) * dtype_bytes(def->dtype);
        if (inputs && def->role == TENSOR_INPUT) {
            t->data[i] = inputs->data[i];
            continue;
        }
        size_t whole = (t->bytes[i] + TENSOR_ALIGN - 1) / TENSOR_ALIGN * TENSOR_ALIGN;
        t->data[i] = aligned_alloc(TENSOR_ALIGN, whole ? whole : TENSOR_ALIGN);
        t->owned[i] = true;
        if (!t->data[i])
            return fault_set(f, ERR_NO_MEMORY, "cannot allocate tensor %s: %zu bytes is too much",
                             def->name, t->bytes[i]);
    }
    return ERR_NONE;
}

void tensors_release(struct tensors *t)
{
    for (size_t i = 0; i < LIMIT_TENSORS; i++)
        if (t->owned[i])
            free(t->data[i]);
    *t = (struct tensors){0};
}

void tensors_draw_inputs(struct tensors *t, const struct workload *w, const struct distribution *d,
                         struct seed seed)
{
    for (size_t i = 0; i < t->problem->tensor_count; i++) {
        int64_t shape[LIMIT_DIMS], n = problem_shape(t->problem, w, i, shape);
        if (t->problem->tensors[i].role == TENSOR_INPUT)
            inputs_fill(seed, d, (unsigned)i, t->problem->tensors[i].dtype, t->data[i], n);
    }
}

void tensors_poison_outputs(struct tensors *t)
{
    for (size_t i = 0; i < t->problem->tensor_count; i++)
        if (t->problem->tensors[i].role == TENSOR_OUTPUT)
            inputs_poison(t->data[i], t->bytes[i]);
}

static enum err run_rig(const struct rig_spec *spec, struct fault *f)
{
    struct rig *rig = rig_new(spec, f);
    if (!rig)
        return ERR_INTERNAL;
    struct rig_run run;
    rig_run(rig, &run);
    enum err e = run.status == PTXVM_OK ? ERR_NONE : fault_set(f, ERR_INTERNAL, "%s", run.detail);
    rig_run_release(&run);
    rig_free(rig);
    return e;
}

/* Runs a launch plan of the oracle on tensors whose outputs are those of t->problem. */
static enum err run_launch(const struct check_request *request, const json_t *launch,
                           struct tensors *t, struct fault *f)
{
    struct faults faults = {0};
    struct plan *plan = plan_parse(launch, t->problem, request->workload, request->arch, "$.oracle",
                                   &faults);
    enum err e = ERR_INTERNAL;
    if (plan) {
        tensors_poison_outputs(t);
        struct rig_spec spec = {
            .problem = t->problem,
            .workload = request->workload,
            .arch = request->arch,
            .plan = plan,
            .ptx = request->oracle_ptx,
            .ptx_len = request->oracle_ptx_len,
            .tensors = t->data,
            .thread_instructions = UINT64_MAX >> 1,
            .plan_ms = ORACLE_MS,
            .threads = request->threads,
        };
        e = run_rig(&spec, f);
    } else {
        char first[LIMIT_DETAIL];
        fault_set(f, e, "%s", faults_first(&faults, first, sizeof(first)));
    }
    faults_release(&faults);
    plan_free(plan);
    return e;
}

enum err oracle_answer(const struct check_request *request, struct tensors *answer, struct fault *f)
{
    return run_launch(request, request->problem->oracle_launch, answer, f);
}

enum err oracle_run(const struct check_request *request, const struct tensors *from,
                    struct problem *as_oracle, struct tensors *answer, struct fault *f)
{
    problem_as_oracle(request->problem, as_oracle);
    enum err e = tensors_init(answer, as_oracle, request->workload, from, f);
    if (e == ERR_NONE)
        e = oracle_answer(request, answer, f);
    return e;
}

enum err tensors_derive_inputs(const struct check_request *request, struct tensors *t,
                               struct fault *f)
{
    if (!request->problem->derive_launch)
        return ERR_NONE;
    struct problem as_derive;
    problem_as_derive(request->problem, &as_derive);
    struct tensors derive = *t; /* the same memory */
    derive.problem = &as_derive;
    return run_launch(request, request->problem->derive_launch, &derive, f);
}

struct compare_task tensors_task(const struct tensors *got, const struct tensors *want,
                                 const struct workload *w, const struct distribution *d, size_t i,
                                 int64_t shape[LIMIT_DIMS])
{
    const struct problem *p = got->problem;
    const struct tensor_def *def = &p->tensors[i];
    problem_shape(p, w, i, shape);
    return (struct compare_task){
        .name = def->name, .dtype = def->dtype, .output = got->data[i],
        .oracle_dtype = def->oracle_dtype, .oracle = want->data[i],
        .ndim = def->ndim, .shape = shape,
        .rule = check_rule(p, i, d),
    };
}
