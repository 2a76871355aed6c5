// SPDX-License-Identifier: Apache-2.0
#include "evaluator/cuda/keeper_task.h"

#include "evaluator/check_tally.h"

static bool is_output(const struct problem *p, size_t i)
{
    return p->tensors[i].role == TENSOR_OUTPUT;
}

/* Bytes of tensor i in a base. */
static size_t base_bytes(const struct problem *p, const struct workload *w, size_t i)
{
    int64_t shape[LIMIT_DIMS], n = problem_shape(p, w, i, shape);
    enum dtype t = is_output(p, i) ? p->tensors[i].oracle_dtype : p->tensors[i].dtype;
    return (size_t)n * dtype_bytes(t);
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t largest_answer(const struct problem *p, const struct workload *w)
{
    size_t largest = 0;
    for (size_t i = 0; i < p->tensor_count; i++)
        largest = larger(largest, is_output(p, i) ? base_bytes(p, w, i) : 0);
    return largest;
}

/* A comparison as far as its size goes. */
static struct compare_task compare_shape(const struct problem *p, const struct workload *w,
                                         size_t i, int64_t shape[LIMIT_DIMS])
{
    const struct tensor_def *def = &p->tensors[i];
    problem_shape(p, w, i, shape);
    return (struct compare_task){.name = def->name,
                                 .dtype = def->dtype,
                                 .oracle_dtype = def->oracle_dtype,
                                 .ndim = def->ndim,
                                 .shape = shape};
}

/* Of device memory. */
static size_t lane_bytes(const struct problem *p, const struct workload *w)
{
    size_t sums = 0;
    for (size_t i = 0; i < p->tensor_count; i++) {
        int64_t shape[LIMIT_DIMS];
        struct compare_task task = compare_shape(p, w, i, shape);
        sums = larger(sums, is_output(p, i) ? gpu_comparer_bytes(&task) : 0);
    }
    return largest_answer(p, w) + sums;
}

void keeper_task_sizes(const struct keeper_gpu *g, const struct problem *p,
                       const struct workload *w, struct admit_sizes *out)
{
    struct slot_shape shape;
    slot_shape_init(&shape, &g->device, p, w);
    *out = (struct admit_sizes){.inputs = slot_shape_bytes(&shape, TENSOR_INPUT),
                                .outputs = slot_shape_bytes(&shape, TENSOR_OUTPUT),
                                .bases = TASK_RING + (int)p->distribution_count - 1,
                                .lane = (int64_t)lane_bytes(p, w),
                                .lanes = TASK_LANES};
    for (size_t i = 0; i < p->tensor_count; i++)
        if (is_output(p, i))
            out->answers += (int64_t)base_bytes(p, w, i);
}

static enum err slots_new(struct keeper_task *t, struct fault *f)
{
    enum err e = slot_new(&t->dummy, &t->shape, NULL, f);
    if (e == ERR_NONE)
        e = slot_new(&t->dummy_baseline, &t->shape, &t->dummy, f);
    for (int i = 0; i < t->slots && e == ERR_NONE; i++) {
        e = slot_new(&t->candidate[i], &t->shape, NULL, f);
        if (e == ERR_NONE)
            e = slot_new(&t->baseline[i], &t->shape, &t->candidate[i], f);
    }
    return e;
}

static enum err lanes_new(struct keeper_task *t, struct fault *f)
{
    enum err e = ERR_NONE;
    for (size_t i = 0; i < TASK_LANES && e == ERR_NONE; i++) {
        e = gpu_comparer_open(&t->lanes[i].comparer, &t->gpu->kernels, f);
        if (e == ERR_NONE)
            e = driver_check(
                cu.MemAlloc(&t->lanes[i].answer, largest_answer(t->problem, t->workload)), f,
                "allocate room for an answer");
    }
    return e;
}

/* Queues: fresh inputs, those that the oracle derives from them, and its answer to all. */
static enum err base_draw(struct keeper_task *t, struct task_base *b, struct fault *f)
{
    const struct problem *p = t->problem;
    enum err e = ERR_NONE;
    b->seed = seed_draw();
    for (size_t i = 0; i < p->tensor_count && e == ERR_NONE; i++) {
        int64_t shape[LIMIT_DIMS], n = problem_shape(p, t->workload, i, shape);
        if (!is_output(p, i) && !p->tensors[i].derived)
            e = kernels_fill(&t->gpu->kernels, b->seed, b->distribution, (unsigned)i,
                             p->tensors[i].dtype, b->tensors[i], n, f);
        else
            e = driver_check(
                cu.MemsetD8Async(b->tensors[i], POISON_BYTE, base_bytes(p, t->workload, i), NULL),
                f, "poison an answer");
    }
    if (e == ERR_NONE)
        e = keeper_oracle_run(&t->oracle, b->tensors, f);
    b->published = e != ERR_NONE;
    return e;
}

static enum err base_new(struct keeper_task *t, struct task_base *b, const struct distribution *d,
                         struct fault *f)
{
    b->distribution = d;
    enum err e = ERR_NONE;
    for (size_t i = 0; i < t->problem->tensor_count && e == ERR_NONE; i++)
        e = driver_check(cu.MemAlloc(&b->tensors[i], base_bytes(t->problem, t->workload, i)), f,
                         "allocate a base");
    return e == ERR_NONE ? base_draw(t, b, f) : e;
}

static void base_free(struct task_base *b)
{
    for (size_t i = 0; i < LIMIT_TENSORS; i++)
        if (b->tensors[i])
            cu.MemFree(b->tensors[i]);
}

static enum err bases_new(struct keeper_task *t, struct fault *f)
{
    enum err e = ERR_NONE;
    for (size_t i = 0; i < TASK_RING && e == ERR_NONE; i++)
        e = base_new(t, &t->ring[i], &t->problem->distributions[0], f);
    for (size_t d = 1; d < t->problem->distribution_count && e == ERR_NONE; d++)
        e = base_new(t, &t->others[d], &t->problem->distributions[d], f);
    return e == ERR_NONE ? driver_check(cu.StreamSynchronize(NULL), f, "run the oracle") : e;
}

static enum err check_types(const struct problem *p, struct fault *f)
{
    for (size_t i = 0; i < p->tensor_count; i++)
        if (!kernels_know(p->tensors[i].dtype) || !kernels_know(p->tensors[i].oracle_dtype))
            return fault_set(f, ERR_UNAVAILABLE, "the keeper knows no tensors of %s",
                             dtype_name(p->tensors[i].dtype));
    return ERR_NONE;
}

enum err keeper_task_open(struct keeper_task *t, const struct keeper_gpu *g,
                          const struct problem *p, const struct workload *w, int slots,
                          struct oracle_code *code, struct fault *f)
{
    *t = (struct keeper_task){.gpu = g, .problem = p, .workload = w, .slots = slots};
    struct admit_sizes sizes;
    slot_shape_init(&t->shape, &g->device, p, w);
    keeper_task_sizes(g, p, w, &sizes);
    t->bytes = admit_bytes(&sizes, slots);
    enum err e = check_types(p, f);
    if (e == ERR_NONE)
        e = keeper_oracle_open(&t->oracle, g, p, w, code, f);
    if (e == ERR_NONE)
        e = slots_new(t, f);
    if (e == ERR_NONE)
        e = lanes_new(t, f);
    if (e == ERR_NONE)
        e = bases_new(t, f);
    if (e != ERR_NONE)
        keeper_task_close(t);
    return e;
}

void keeper_task_close(struct keeper_task *t)
{
    for (int i = 0; i < ADMIT_SLOTS_MAX; i++) {
        slot_free(&t->baseline[i]);
        slot_free(&t->candidate[i]);
    }
    slot_free(&t->dummy_baseline);
    slot_free(&t->dummy);
    for (size_t i = 0; i < TASK_LANES; i++) {
        gpu_comparer_close(&t->lanes[i].comparer);
        if (t->lanes[i].answer)
            cu.MemFree(t->lanes[i].answer);
    }
    for (size_t i = 0; i < TASK_RING; i++)
        base_free(&t->ring[i]);
    for (size_t d = 0; d < LIMIT_DISTRIBUTIONS; d++)
        base_free(&t->others[d]);
    keeper_oracle_close(&t->oracle);
    json_decref(t->plan);
    json_decref(t->baseline_check);
    *t = (struct keeper_task){0};
}

struct task_base *keeper_task_base(struct keeper_task *t, size_t d)
{
    return d ? &t->others[d] : &t->ring[t->turn];
}

enum err keeper_task_renew(struct keeper_task *t, struct fault *f)
{
    enum err e = ERR_NONE;
    for (size_t d = 0; d < t->problem->distribution_count && e == ERR_NONE; d++) {
        struct task_base *b = keeper_task_base(t, d);
        if (!b->published)
            continue;
        e = base_draw(t, b, f);
        if (d == 0 && e == ERR_NONE)
            t->turn = (t->turn + 1) % TASK_RING;
    }
    return e;
}

struct compare_task keeper_task_compare(const struct keeper_task *t, size_t i,
                                        const struct distribution *d, int64_t shape[LIMIT_DIMS])
{
    const struct problem *p = t->problem;
    struct compare_task task = compare_shape(p, t->workload, i, shape);
    task.rule = check_rule(p, i, d);
    return task;
}

enum err keeper_task_copy_inputs(const struct keeper_task *t, const struct task_base *b,
                                 const struct slot *s, enum memory_place place, struct fault *f)
{
    CUresult r = CUDA_SUCCESS;
    for (size_t i = 0; i < t->problem->tensor_count && r == CUDA_SUCCESS; i++)
        if (!is_output(t->problem, i))
            r = cu.MemcpyDtoDAsync(slot_address(s, i, place), b->tensors[i], t->shape.bytes[i],
                                   NULL);
    return driver_check(r, f, "copy inputs");
}

static enum err draw_slot(const struct keeper_task *t, int slot, const struct task_draw *d,
                          struct fault *f)
{
    const struct problem *p = t->problem;
    enum err e = ERR_NONE;
    for (size_t i = 0; i < p->tensor_count && e == ERR_NONE; i++)
        if (!is_output(p, i))
            e = redraw_tensor(&t->gpu->kernels, p, t->workload, i, p->tensors[i].dtype,
                              slot_address(&t->candidate[slot], i, MEMORY_END), d->base->tensors[i],
                              &d->keys, f);
    if (e == ERR_NONE)
        e = slot_reset(&t->candidate[slot], &t->shape, MEMORY_END, f);
    return e == ERR_NONE ? slot_reset(&t->baseline[slot], &t->shape, MEMORY_END, f) : e;
}

enum err keeper_task_draw(struct keeper_task *t, int slots, size_t round,
                          struct task_draw out[ADMIT_SLOTS_MAX], struct fault *f)
{
    enum err e = ERR_NONE;
    for (int s = 0; s < slots && e == ERR_NONE; s++) {
        out[s] = (struct task_draw){redraw_draw(), &t->ring[(round + (size_t)s) % TASK_RING]};
        e = draw_slot(t, s, &out[s], f);
    }
    return e;
}
