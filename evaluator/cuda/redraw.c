// SPDX-License-Identifier: Apache-2.0
#include "evaluator/cuda/redraw.h"

#include <string.h>

#include "core/util.h"

/* For each tensor: index of the key of its rows and of its columns, -1 for none. */
static const struct transform {
    const char *name;
    struct {
        int rows, columns;
    } tensors[LIMIT_TENSORS];
} transforms[] = {
    /* A'[i] = s_i A[pi(i)], B'[j] = t_j B[sigma(j)], so C'[i,j] = s_i t_j C[pi(i), sigma(j)] */
    {"gemm_rows", {{0, -1}, {1, -1}, {0, 1}}},
};

static const struct transform *find(const struct problem *p)
{
    for (size_t i = 0; i < COUNT_OF(transforms); i++)
        if (!strcmp(transforms[i].name, p->redraw))
            return &transforms[i];
    return NULL;
}

struct redraw_keys redraw_draw(void)
{
    struct redraw_keys keys;
    random_bytes(&keys, sizeof(keys));
    keys.key[0] |= 1;
    keys.key[1] |= 1;
    return keys;
}

bool redraw_exists(const struct problem *p)
{
    return find(p) != NULL;
}

enum err redraw_tensor(const struct kernels *k, const struct problem *p, const struct workload *w,
                       size_t i, enum dtype t, CUdeviceptr out, CUdeviceptr base,
                       const struct redraw_keys *keys, struct fault *f)
{
    const struct transform *transform = find(p);
    if (!transform)
        return fault_set(f, ERR_UNAVAILABLE, "problem %s has no redraw", p->name);
    int64_t shape[LIMIT_DIMS];
    int64_t elements = problem_shape(p, w, i, shape), rows = shape[0];
    int row = transform->tensors[i].rows, column = transform->tensors[i].columns;
    return kernels_redraw(k, t, out, base, rows, elements / rows, row < 0 ? 0 : keys->key[row],
                          column < 0 ? 0 : keys->key[column], f);
}
