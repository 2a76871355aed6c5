/* SPDX-License-Identifier: Apache-2.0
 * All cases, and one of them on ptxvm. */
#ifndef TESTS_GPU_DIFFERENTIAL_VM_H
#define TESTS_GPU_DIFFERENTIAL_VM_H

#include "evaluator/ptxvm/ptx.h"
#include "evaluator/ptxvm/ptxvm.h"
#include "evaluator/ptxvm/tensor_map.h"
#include "tests/gpu/differential_forms.h"
#include "tests/gpu/differential_matrix.h"
#include "tests/gpu/differential_scalar.h"
#include "tests/gpu/differential_tma.h"

static inline void diff_add_all(struct diff_cases *all)
{
    diff_add_scalars(all);
    diff_add_matrices(all);
    diff_add_copies(all);
    if (!diff_add_forms(all)) {
        fprintf(stderr, "cannot make a kernel of every form in tests/data/ptx_forms.txt below %s\n", home_dir());
        abort();
    }
}

/* The parameters of every kernel, laid out as the driver does. */
struct diff_params {
    _Alignas(64) unsigned char map[128];
    uint64_t in, out;
};

/* Cases first … end-1 as one module; caller frees. */
static inline char *diff_module(const struct diff_cases *all, size_t first, size_t end)
{
    struct buf b;
    buf_init(&b, 32 * MIB);
    buf_adds(&b, DIFF_MODULE);
    for (size_t i = first; i < end; i++)
        buf_adds(&b, all->items[i].ptx);
    char *text = buf_take(&b, NULL);
    buf_release(&b);
    return text;
}

/* Runs a case; `out` has out_bytes. False with the reason in `why`. */
static inline bool diff_run_vm(const struct diff_cases *all, size_t index,
                               const struct ptxvm_options *options, const unsigned char *in,
                               unsigned char *out, char why[PTXVM_TEXT])
{
    const struct diff_case *c = &all->items[index];
    struct fault f = {0};
    struct ptxvm_result result = {0};
    char *text = diff_module(all, index, index + 1);
    struct ptx_module *m = ptx_parse(text, strlen(text), &f);
    struct ptxvm *vm = m ? ptxvm_new(options, &f) : NULL;
    bool ok = vm && ptxvm_load(vm, m, &f) == ERR_NONE;
    if (ok) {
        struct diff_params p = {.in = ptxvm_alloc(vm, "in", c->in_bytes, 256, PTXVM_READ_ONLY),
                                .out = ptxvm_alloc(vm, "out", c->out_bytes, 256, PTXVM_READ_WRITE)};
        ptxvm_write(vm, p.in, in, c->in_bytes);
        ptxvm_write(vm, p.out, out, c->out_bytes);
        if (c->map.rank)
            tensor_map_encode(&c->map, c->map_of_out ? p.out : p.in, p.map);
        struct ptxvm_launch launch = {.symbol = c->entry,
                                      .grid = {c->grid, 1, 1},
                                      .block = {c->block, 1, 1},
                                      .params = &p,
                                      .param_bytes = 144};
        ptxvm_launch(vm, &launch, &result);
        ok = result.status == PTXVM_OK && ptxvm_read(vm, p.out, out, c->out_bytes);
    }
    snprintf(why, PTXVM_TEXT, "%.500s",
             ok                       ? ""
             : result.fault.detail[0] ? result.fault.detail
                                      : f.detail);
    ptxvm_result_release(&result);
    ptxvm_free(vm);
    ptx_free(m);
    free(text);
    return ok;
}

#endif
