// SPDX-License-Identifier: Apache-2.0
#include "evaluator/cuda/redraw.h"

#include <string.h>

#include "core/util.h"

enum { NO_KEY = -1 };

struct row {
    const char *tensor;
    int rows, columns; /* numbers of keys */
};

static const struct transform {
    const char *name;
    int row_dims; /* so many leading dimensions are a row's place */
    bool row_signs, columns_move;
    struct row rows[LIMIT_TENSORS]; /* the names may be those of several problems */
} transforms[] = {
    {"gemm_rows", 1, true, true, {{"A", 0, NO_KEY}, {"B", 1, NO_KEY}, {"C", 0, 1}}},
    {"attention",
     2,
     false,
     false,
     {{"Q", 0, 1},
      {"K", 0, 1},
      {"V", 0, 2},
      {"O", 0, 2},
      {"LSE", 0, NO_KEY},
      {"L", 0, NO_KEY},
      {"dO", 0, 2},
      {"dQ", 0, 1},
      {"dK", 0, 1},
      {"dV", 0, 2}}},
};

static const struct transform *find(const struct problem *p)
{
    for (size_t i = 0; i < COUNT_OF(transforms); i++)
        if (!strcmp(transforms[i].name, p->redraw))
            return &transforms[i];
    return NULL;
}

static const struct row *find_row(const struct transform *t, const char *tensor)
{
    for (size_t i = 0; i < LIMIT_TENSORS && t->rows[i].tensor; i++)
        if (!strcmp(t->rows[i].tensor, tensor))
            return &t->rows[i];
    return NULL;
}

struct redraw_keys redraw_draw(void)
{
    struct redraw_keys keys;
    random_bytes(&keys, sizeof(keys));
    for (size_t i = 0; i < REDRAW_KEYS; i++)
        keys.key[i] |= 1;
    return keys;
}

bool redraw_exists(const struct problem *p)
{
    const struct transform *t = find(p);
    bool all = t != NULL;
    for (size_t i = 0; all && i < p->tensor_count; i++)
        all = find_row(t, p->tensors[i].name) != NULL;
    return all;
}

static uint64_t key_of(const struct redraw_keys *keys, int number)
{
    return number == NO_KEY ? 0 : keys->key[number];
}

enum err redraw_tensor(const struct kernels *k, const struct problem *p, const struct workload *w,
                       size_t i, enum dtype t, CUdeviceptr out, CUdeviceptr base,
                       const struct redraw_keys *keys, struct fault *f)
{
    const struct transform *transform = find(p);
    const struct row *row = transform ? find_row(transform, p->tensors[i].name) : NULL;
    if (!row)
        return fault_set(f, ERR_UNAVAILABLE, "problem %s has no redraw", p->name);
    int64_t shape[LIMIT_DIMS], rows = 1;
    int64_t elements = problem_shape(p, w, i, shape);
    for (int d = 0; d < transform->row_dims; d++)
        rows *= shape[d];
    const struct kernels_moves moves = {
        .rows = rows,
        .columns = elements / rows,
        .period = shape[p->tensors[i].ndim - 1],
        .row_key = key_of(keys, row->rows),
        .column_key = key_of(keys, row->columns),
        .row_signs = transform->row_signs,
        .columns_move = transform->columns_move,
    };
    return kernels_redraw(k, t, out, base, &moves, f);
}
