/* SPDX-License-Identifier: Apache-2.0
 * What the ptxvm tests share: make a device from PTX text, run one kernel, and a harness that holds
 * a single instruction against a C model over edge values and random ones. */
#ifndef TESTS_UNIT_PTXVM_KIT_H
#define TESTS_UNIT_PTXVM_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "evaluator/ptxvm/ptx.h"
#include "evaluator/ptxvm/ptxvm.h"

#define KIT_HEAD ".version 9.0\n.target sm_90a\n.address_size 64\n"

struct kit {
    struct ptx_module *module;
    struct ptxvm *vm;
    struct ptxvm_result result;
};

static inline void kit_open(struct kit *k, const char *ptx, const struct ptxvm_options *options)
{
    struct fault f = {0};
    memset(k, 0, sizeof *k);
    k->module = ptx_parse(ptx, strlen(ptx), &f);
    if (!k->module)
        fail_msg("cannot parse: %s\n%s", f.detail, ptx);
    k->vm = ptxvm_new(options, &f);
    assert_non_null(k->vm);
    if (ptxvm_load(k->vm, k->module, &f))
        fail_msg("cannot load: %s", f.detail);
}

static inline void kit_close(struct kit *k)
{
    ptxvm_result_release(&k->result);
    ptxvm_free(k->vm);
    ptx_free(k->module);
}

/* Launches kernel `k` with 64-bit parameters. */
static inline enum ptxvm_status kit_run(struct kit *k, uint32_t grid, uint32_t block, size_t shared,
                                        const uint64_t *params, size_t count)
{
    struct ptxvm_launch launch = {.symbol = "k",
                                  .grid = {grid, 1, 1},
                                  .block = {block, 1, 1},
                                  .shared_bytes = shared,
                                  .params = params,
                                  .param_bytes = count * 8};
    ptxvm_result_release(&k->result);
    ptxvm_launch(k->vm, &launch, &k->result);
    return k->result.status;
}

static inline void kit_expect(struct kit *k, enum ptxvm_status status)
{
    if (k->result.status != status)
        fail_msg("status %s instead of %s: %s (%s)", ptxvm_status_name(k->result.status),
                 ptxvm_status_name(status), k->result.fault.detail, k->result.fault.instruction);
}

/* One kernel with one output buffer of `words` 32-bit words: opens, runs, checks, copies out. */
static inline void kit_words(const char *ptx, uint32_t grid, uint32_t block, uint32_t *out,
                             size_t words)
{
    struct kit k;
    kit_open(&k, ptx, NULL);
    uint64_t p[1] = {ptxvm_alloc(k.vm, "out", words * 4, 4, PTXVM_READ_WRITE)};
    kit_run(&k, grid, block, 0, p, 1);
    kit_expect(&k, PTXVM_OK);
    assert_true(ptxvm_read(k.vm, p[0], out, words * 4));
    kit_close(&k);
}

/* ---- one instruction against a model ---- */

/* Registers by width: h<x> 16, w<x> 32, d<x> 64 bits, x in a b c (inputs) and r (result),
 * predicates p, q. `widths` is four letters for a, b, c, r out of h w d. */
struct kit_case {
    const char *body, *widths;
    uint64_t (*model)(uint64_t a, uint64_t b, uint64_t c);
};

enum { KIT_VALUES = 16 * 16 * 4 + 1024, KIT_BLOCK = 37 /* a full warp and a part of one */ };

static inline unsigned kit_bytes(char width)
{
    return width == 'h' ? 2 : width == 'w' ? 4 : 8;
}

static inline void kit_case_ptx(const struct kit_case *t, char *out, size_t size)
{
    char loads[512] = "";
    for (int i = 0; i < 3; i++) {
        char line[128], w = t->widths[i];
        snprintf(line, sizeof line, "ld.global.b%u %c%c, [%%x+%d];\n", kit_bytes(w) * 8, w, 'a' + i,
                 8 * i);
        size_t used = strlen(loads);
        snprintf(loads + used, sizeof loads - used, "%s", line);
    }
    char r = t->widths[3];
    snprintf(out, size,
             KIT_HEAD ".visible .entry k(.param .u64 in, .param .u64 out) {\n"
                      ".reg .b16 h<1>, ha, hb, hc, hr, ht;\n.reg .b32 wa, wb, wc, wr, wt, wu, %%i, "
                      "%%n;\n.reg .b64 da, db, dc, dr, dt, %%x, %%y, %%o;\n.reg .pred p, q, %%g;\n"
                      "mov.u32 %%i, %%ctaid.x;\nmov.u32 %%n, %%tid.x;\n"
                      "mad.lo.u32 %%i, %%i, %d, %%n;\nsetp.ge.u32 %%g, %%i, %d;\n@%%g exit;\n"
                      "ld.param.u64 %%x, [in];\nld.param.u64 %%y, [out];\n"
                      "mul.wide.u32 %%o, %%i, 24;\nadd.u64 %%x, %%x, %%o;\n"
                      "mul.wide.u32 %%o, %%i, 8;\nadd.u64 %%y, %%y, %%o;\n%s%s\n"
                      "st.global.b%u [%%y], %cr;\nret;\n}\n",
             KIT_BLOCK, KIT_VALUES, loads, t->body, kit_bytes(r) * 8, r);
}

static inline uint64_t kit_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    uint64_t x = *state ^ *state >> 29;
    return x * 0x9e3779b97f4a7c15u;
}

/* Edge values of all widths and formats at once, then random ones. */
static inline void kit_fill(uint64_t *in)
{
    static const uint64_t edge[16] = {0,
                                      1,
                                      2,
                                      0x7f,
                                      0x80,
                                      0xffff,
                                      0x7fffffff,
                                      0x80000000,
                                      0xffffffff,
                                      0x7f800000,
                                      0x7fc00001,
                                      0x3f800000,
                                      0x7fffffffffffffff,
                                      0x8000000000000000,
                                      0xffffffffffffffff,
                                      0x3ff0000000000000};
    uint64_t state = 7;
    for (size_t i = 0; i < KIT_VALUES; i++) {
        uint64_t *v = in + 3 * i;
        v[0] = i < 1024 ? edge[i % 16] : kit_random(&state);
        v[1] = i < 1024 ? edge[i / 16 % 16] : kit_random(&state);
        v[2] = i < 1024 ? edge[i / 64 % 16] : kit_random(&state);
        if (i >= 1536) /* small shift counts, lengths, selectors */
            v[1] &= 63, v[2] &= 63;
    }
}

static inline uint64_t kit_cut(uint64_t v, char width)
{
    return width == 'h' ? v & 0xffff : width == 'w' ? v & 0xffffffff : v;
}

static inline void kit_check(const struct kit_case *t)
{
    char ptx[4096];
    struct kit k;
    kit_case_ptx(t, ptx, sizeof ptx);
    kit_open(&k, ptx, NULL);
    uint64_t in = ptxvm_alloc(k.vm, "in", KIT_VALUES * 24, 8, PTXVM_READ_ONLY);
    uint64_t out = ptxvm_alloc(k.vm, "out", KIT_VALUES * 8, 8, PTXVM_READ_WRITE);
    uint64_t *values = ptxvm_host(k.vm, in, KIT_VALUES * 24);
    const uint64_t *got = ptxvm_host(k.vm, out, KIT_VALUES * 8);
    kit_fill(values);
    uint64_t params[2] = {in, out};
    kit_run(&k, (KIT_VALUES + KIT_BLOCK - 1) / KIT_BLOCK, KIT_BLOCK, 0, params, 2);
    if (k.result.status != PTXVM_OK)
        fail_msg("%s: %s", t->body, k.result.fault.detail);
    for (size_t i = 0; i < KIT_VALUES; i++) {
        uint64_t a = kit_cut(values[3 * i], t->widths[0]),
                 b = kit_cut(values[3 * i + 1], t->widths[1]);
        uint64_t c = kit_cut(values[3 * i + 2], t->widths[2]);
        uint64_t want = kit_cut(t->model(a, b, c), t->widths[3]),
                 is = kit_cut(got[i], t->widths[3]);
        if (is != want)
            fail_msg("%s a=0x%llx b=0x%llx c=0x%llx: 0x%llx, the model says 0x%llx", t->body,
                     (unsigned long long)a, (unsigned long long)b, (unsigned long long)c,
                     (unsigned long long)is, (unsigned long long)want);
    }
    kit_close(&k);
}

#endif
