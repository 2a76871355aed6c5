// SPDX-License-Identifier: Apache-2.0
#include "evaluator/tool/world.h"

#include <string.h>

static void fill_input(void *arg, void *to, size_t offset, size_t n)
{
    const struct world_fill *f = arg;
    size_t size = dtype_bytes(f->dtype);
    inputs_fill_range(f->seed, f->distribution, f->tensor, f->dtype, to, (int64_t)(offset / size),
                      (int64_t)(n / size));
}

static void fill_poison(void *arg, void *to, size_t offset, size_t n)
{
    (void)arg, (void)offset;
    inputs_poison(to, n);
}

static bool is_input(const struct world *w, size_t i)
{
    return w->problem->tensors[i].role == TENSOR_INPUT;
}

enum err world_open(struct world *w, const struct problem *problem, const struct workload *workload,
                    struct world *inputs, struct fault *f)
{
    *w = (struct world){.problem = problem, .workload = workload};
    inputs_normal_table(); /* made now: not in a signal handler */
    for (size_t i = 0; i < problem->tensor_count; i++) {
        int64_t shape[LIMIT_DIMS];
        enum dtype t = problem->tensors[i].dtype;
        size_t bytes = (size_t)problem_shape(problem, workload, i, shape) * dtype_bytes(t);
        if (inputs && is_input(w, i)) {
            w->data[i] = inputs->data[i];
            continue;
        }
        w->fills[i] = (struct world_fill){.tensor = (unsigned)i, .dtype = t};
        w->lazy[i] = lazy_new(bytes, is_input(w, i) ? fill_input : fill_poison, &w->fills[i], f);
        if (!w->lazy[i])
            return f->code;
        w->data[i] = lazy_data(w->lazy[i]);
    }
    return ERR_NONE;
}

void world_close(struct world *w)
{
    for (size_t i = 0; i < LIMIT_TENSORS; i++)
        lazy_free(w->lazy[i]);
    *w = (struct world){0};
}

void world_draw(struct world *w, const struct distribution *d, struct seed seed)
{
    for (size_t i = 0; i < w->problem->tensor_count; i++) {
        w->fills[i].distribution = d;
        w->fills[i].seed = seed;
        if (w->lazy[i])
            lazy_reset(w->lazy[i]);
    }
}

static bool is_poison(const unsigned char *at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (at[i] != POISON_BYTE)
            return false;
    return true;
}

void world_written(const struct world *w, size_t tensor, void (*visit)(void *arg, int64_t element),
                   void *arg)
{
    int64_t shape[LIMIT_DIMS], elements = problem_shape(w->problem, w->workload, tensor, shape);
    size_t size = dtype_bytes(w->problem->tensors[tensor].dtype), each = LAZY_CHUNK / size;
    const unsigned char *data = w->data[tensor];
    for (size_t chunk = 0; chunk < lazy_chunks(w->lazy[tensor]); chunk++)
        for (size_t i = 0; lazy_touched(w->lazy[tensor], chunk) && i < each; i++) {
            int64_t element = (int64_t)(chunk * each + i);
            if (element < elements && !is_poison(data + (size_t)element * size, size))
                visit(arg, element);
        }
}

bool world_is_written(const struct world *w, size_t tensor, int64_t element)
{
    size_t size = dtype_bytes(w->problem->tensors[tensor].dtype), at = (size_t)element * size;
    return lazy_touched(w->lazy[tensor], at / LAZY_CHUNK) &&
           !is_poison((const unsigned char *)w->data[tensor] + at, size);
}

uint64_t world_random(uint64_t *state)
{
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}
