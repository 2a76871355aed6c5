/* SPDX-License-Identifier: Apache-2.0
 * Cases of one value a thread: the rows of differential_scalar.def as kernels. */
#ifndef TESTS_GPU_DIFFERENTIAL_SCALAR_H
#define TESTS_GPU_DIFFERENTIAL_SCALAR_H

#include "tests/gpu/differential_cases.h"

enum { DIFF_VALUES = 2048, DIFF_BLOCK = 128 };

/* What rows use of the module. */
#define DIFF_MODULE                                                                                \
    DIFF_HEAD ".const .align 4 .u32 table[4] = {7, 1000003, 0xffffffff, 5};\n"                     \
              ".visible .global .align 4 .u32 numbers[2] = {11, 0x12345};\n"                       \
              ".func (.param .b32 y) twice(.param .b32 x)\n{ .reg .b32 v; ld.param.b32 v, [x]; "   \
              "add.u32 v, v, v; st.param.b32 [y], v; ret; }\n"                                     \
              ".func (.param .b32 y) thrice(.param .b32 x)\n{ .reg .b32 v; ld.param.b32 v, [x]; "  \
              "mul.lo.u32 v, v, 3; st.param.b32 [y], v; ret; }\n"

struct diff_scalar {
    const char *group, *widths;
    char fill;
    const char *body;
    struct diff_rule rule;
    bool cluster;
};

static const struct diff_scalar diff_scalars[] = {
#define ROW(group, widths, fill, body, ...) {group, widths, fill, body, __VA_ARGS__, false},
#define CLUSTER(group, widths, fill, body, ...) {group, widths, fill, body, __VA_ARGS__, true},
#include "tests/gpu/differential_scalar.def"
#undef ROW
#undef CLUSTER
};

static inline unsigned diff_width(char w)
{
    return w == 'h' ? 2 : w == 'w' ? 4 : 8;
}

static inline void diff_add_scalar(struct diff_cases *all, const struct diff_scalar *row)
{
    struct diff_case *c = diff_add(all, row->group);
    struct buf b;
    snprintf(c->name, sizeof(c->name), "%s%s", row->cluster ? "cluster: " : "", row->body);
    c->grid = DIFF_VALUES / DIFF_BLOCK;
    c->block = DIFF_BLOCK;
    c->in_bytes = DIFF_VALUES * 24;
    c->out_bytes = DIFF_VALUES * 8;
    memset(c->in_fill, row->fill, 3);
    c->in_fill[3] = '0';
    c->rule = row->rule;
    diff_begin(&b, c, row->cluster ? " .explicitcluster .reqnctapercluster 2, 1, 1" : "");
    buf_addf(&b,
             ".reg .b16 ha, hb, hc, hr, ht;\n.reg .b32 wa, wb, wc, wr, wt, wu, %%i, %%n, %%s;\n"
             ".reg .b64 da, db, dc, dr, dt, %%x, %%y, %%in, %%o;\n.reg .pred p, q;\n"
             ".shared .align 1024 .b8 s[16384];\n"
             "mov.u32 %%i, %%ctaid.x;\nmov.u32 %%n, %%tid.x;\nmad.lo.u32 %%i, %%i, %d, %%n;\n"
             "mov.u32 %%s, s;\nld.param.u64 %%in, [in];\nld.param.u64 %%y, [out];\n"
             "mul.wide.u32 %%o, %%i, 24;\nadd.u64 %%x, %%in, %%o;\nmul.wide.u32 %%o, %%i, 8;\n"
             "add.u64 %%y, %%y, %%o;\n",
             DIFF_BLOCK);
    for (int i = 0; i < 3; i++)
        buf_addf(&b, "ld.global.b%u %c%c, [%%x+%d];\n", diff_width(row->widths[i]) * 8,
                 row->widths[i], 'a' + i, 8 * i);
    buf_addf(&b, "%s\nst.global.b%u [%%y], %cr;\n", row->body, diff_width(row->widths[3]) * 8,
             row->widths[3]);
    diff_end(&b, c);
}

static inline void diff_add_scalars(struct diff_cases *all)
{
    for (size_t i = 0; i < COUNT_OF(diff_scalars); i++)
        diff_add_scalar(all, &diff_scalars[i]);
}

#endif
