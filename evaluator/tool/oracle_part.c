// SPDX-License-Identifier: Apache-2.0
#include "evaluator/tool/oracle_part.h"

#include <stdio.h>
#include <string.h>

enum { ORACLE_MS = 600 * 1000 };

static void place_of(const struct oracle_part *o, size_t tensor, int64_t element,
                     int64_t at[LIMIT_DIMS])
{
    int64_t shape[LIMIT_DIMS];
    problem_shape(&o->as_oracle, o->world.workload, tensor, shape);
    for (int d = o->as_oracle.tensors[tensor].ndim - 1; d >= 0; d--) {
        at[d] = element % shape[d];
        element /= shape[d];
    }
}

struct boxing {
    const struct oracle_part *o;
    size_t tensor;
    struct oracle_box box;
};

static void widen(void *arg, int64_t element)
{
    struct boxing *b = arg;
    int64_t at[LIMIT_DIMS] = {0};
    place_of(b->o, b->tensor, element, at);
    for (int d = 0; d < LIMIT_DIMS; d++)
        if (!b->box.any || at[d] < b->box.low[d])
            b->box.low[d] = at[d];
    b->box.any = true;
}

static struct oracle_box box_of(const struct oracle_part *o, size_t tensor)
{
    struct boxing b = {.o = o, .tensor = tensor};
    world_written(&o->world, tensor, widen, &b);
    return b.box;
}

bool oracle_part_run(struct oracle_part *o, const uint64_t *ctas, size_t count,
                     char why[LIMIT_DETAIL])
{
    struct fault f = {0};
    struct rig_run run = {0};
    for (size_t i = 0; i < o->as_oracle.tensor_count; i++)
        if (o->world.lazy[i])
            lazy_reset(o->world.lazy[i]);
    struct rig_spec spec = {
        .problem = &o->as_oracle,
        .workload = o->world.workload,
        .arch = o->program->submission.arch,
        .plan = o->plan,
        .ptx = o->program->oracle_ptx.data,
        .ptx_len = o->program->oracle_ptx.len,
        .tensors = o->world.data,
        .thread_instructions = UINT64_MAX >> 1,
        .plan_ms = ORACLE_MS,
        .sample = ctas,
        .sample_count = count,
    };
    struct rig *rig = rig_new(&spec, &f);
    if (rig)
        rig_run(rig, &run);
    bool ok = rig && run.status == PTXVM_OK;
    if (!ok)
        snprintf(why, LIMIT_DETAIL, "the oracle failed: %.400s", rig ? run.detail : f.detail);
    rig_run_release(&run);
    rig_free(rig);
    return ok;
}

static bool learn_axis(struct oracle_part *o, int axis, char why[LIMIT_DETAIL])
{
    uint64_t next = axis == 0 ? 1 : axis == 1 ? o->grid[0] : o->grid[0] * o->grid[1];
    if (!oracle_part_run(o, &next, 1, why))
        return false;
    for (size_t i = 0; i < o->as_oracle.tensor_count; i++) {
        if (o->as_oracle.tensors[i].role != TENSOR_OUTPUT)
            continue;
        struct oracle_box box = box_of(o, i);
        bool moved = false;
        for (int d = 0; d < LIMIT_DIMS; d++) {
            o->step[axis][i][d] = box.any ? box.low[d] - o->origin[i].low[d] : 0;
            moved |= o->step[axis][i][d] > 0;
        }
        if (!moved) {
            snprintf(why, LIMIT_DETAIL,
                     "cannot see which CTAs of the oracle make which element of %s",
                     o->as_oracle.tensors[i].name);
            return false;
        }
    }
    return true;
}

static bool learn(struct oracle_part *o, char why[LIMIT_DETAIL])
{
    const uint64_t first = 0;
    if (!oracle_part_run(o, &first, 1, why))
        return false;
    for (size_t i = 0; i < o->as_oracle.tensor_count; i++)
        if (o->as_oracle.tensors[i].role == TENSOR_OUTPUT)
            o->origin[i] = box_of(o, i);
    for (int axis = 0; axis < 3; axis++)
        if (o->grid[axis] > 1 && !learn_axis(o, axis, why))
            return false;
    return true;
}

bool oracle_part_open(struct oracle_part *o, const struct tool_program *p, struct world *candidate,
                      char why[LIMIT_DETAIL])
{
    struct faults faults = {0};
    struct fault f = {0};
    const struct submission *s = &p->submission;
    *o = (struct oracle_part){.program = p, .ctas = 1};
    problem_as_oracle(s->problem, &o->as_oracle);
    o->plan = plan_parse(s->problem->oracle_launch, &o->as_oracle, s->workload, s->arch,
                         "$.oracle.launch", &faults);
    faults_release(&faults);
    if (!o->plan || o->plan->launch_count != 1 || o->plan->buffer_count ||
        o->plan->launches[0].cluster[0]) {
        snprintf(why, LIMIT_DETAIL, "the oracle of this problem is more than one independent grid");
        return false;
    }
    for (int d = 0; d < 3; d++)
        o->ctas *= o->grid[d] = (uint64_t)o->plan->launches[0].grid[d];
    if (world_open(&o->world, &o->as_oracle, s->workload, candidate, &f) != ERR_NONE) {
        memcpy(why, f.detail, LIMIT_DETAIL);
        return false;
    }
    return learn(o, why);
}

void oracle_part_close(struct oracle_part *o)
{
    world_close(&o->world);
    plan_free(o->plan);
    *o = (struct oracle_part){0};
}

uint64_t oracle_part_cta(const struct oracle_part *o, size_t tensor, int64_t element)
{
    int64_t at[LIMIT_DIMS] = {0};
    uint64_t number = 0;
    place_of(o, tensor, element, at);
    for (int axis = 2; axis >= 0; axis--) {
        uint64_t along = 0;
        for (int d = 0; o->grid[axis] > 1 && d < LIMIT_DIMS; d++)
            if (o->step[axis][tensor][d] > 0)
                along = (uint64_t)((at[d] - o->origin[tensor].low[d]) / o->step[axis][tensor][d]);
        if (along >= o->grid[axis])
            return UINT64_MAX;
        number = number * o->grid[axis] + along;
    }
    return number;
}
