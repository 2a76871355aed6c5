/* SPDX-License-Identifier: Apache-2.0
 * Cases of the tensor copies: boxes of one to five dimensions with edges, swizzles, strides of
 * elements, into shared memory, out of it, and reduced into global memory. */
#ifndef TESTS_GPU_DIFFERENTIAL_TMA_H
#define TESTS_GPU_DIFFERENTIAL_TMA_H

#include "tests/gpu/differential_cases.h"

enum {
    DIFF_IMAGE = 40 * 1024,
    DIFF_TYPE_U8 = 0,
    DIFF_TYPE_U16 = 1,
    DIFF_TYPE_U32 = 2,
    DIFF_TYPE_S32 = 3,
    DIFF_TYPE_U64 = 4,
    DIFF_TYPE_S64 = 5,
    DIFF_TYPE_F16 = 6,
    DIFF_TYPE_F32 = 7,
    DIFF_TYPE_F64 = 8,
    DIFF_TYPE_BF16 = 9,
    DIFF_TYPE_F32_FTZ = 10,
    DIFF_TYPE_TF32 = 11,
    DIFF_TYPE_TF32_FTZ = 12
};

struct diff_box {
    const char *name;
    int rank, type, bytes, swizzle, interleave, oob_fill; /* values of the CUtensorMap… enums */
    uint64_t dims[5];
    uint32_t box[5], steps[5];
    int32_t at[5];
};

static const struct diff_box diff_boxes[] = {
    {"a line", 1, DIFF_TYPE_F32, 4, 0, 0, 0, {100}, {64}, {0}, {52}},
    {"128B", 2, DIFF_TYPE_F16, 2, 3, 0, 0, {96, 50}, {64, 40}, {0}, {32, 20}},
    {"64B, NaN outside, negative", 2, DIFF_TYPE_F16, 2, 2, 0, 1, {96, 50}, {32, 64}, {0}, {-8, -3}},
    {"32B", 2, DIFF_TYPE_F32, 4, 1, 0, 0, {40, 9}, {8, 16}, {0}, {36, -4}},
    {"narrower than 128B", 2, DIFF_TYPE_F16, 2, 3, 0, 0, {96, 50}, {32, 16}, {0}, {8, 4}},
    {"three dimensions", 3, DIFF_TYPE_F32, 4, 2, 0, 0, {96, 50, 4}, {8, 5, 3}, {0}, {8, 4, 0}},
    {"narrower than 32B", 2, DIFF_TYPE_BF16, 2, 1, 0, 0, {96, 50}, {8, 16}, {0}, {8, 4}},
    {"bytes", 2, DIFF_TYPE_U8, 1, 3, 0, 0, {320, 70}, {128, 64}, {0}, {208, 1}},
    {"doubles", 3, DIFF_TYPE_F64, 8, 0, 0, 1, {10, 7, 5}, {4, 3, 2}, {0}, {8, 5, 4}},
    {"four dimensions",
     4,
     DIFF_TYPE_F16,
     2,
     3,
     0,
     0,
     {64, 6, 5, 4},
     {64, 4, 3, 2},
     {0},
     {0, 4, -1, 3}},
    {"five dimensions",
     5,
     DIFF_TYPE_F16,
     2,
     2,
     0,
     0,
     {32, 4, 3, 3, 3},
     {32, 2, 2, 2, 2},
     {0},
     {8, 1, 2, 0, 2}},
    {"steps", 2, DIFF_TYPE_F16, 2, 0, 0, 0, {200, 60}, {128, 32}, {2, 3}, {-8, 40}},
    {"all outside", 2, DIFF_TYPE_F32, 4, 0, 0, 0, {64, 64}, {32, 8}, {0}, {1000, 1000}},
    {"outside with NaN", 2, DIFF_TYPE_BF16, 2, 0, 0, 1, {64, 64}, {32, 8}, {0}, {40, 60}},
    {"words", 2, DIFF_TYPE_U32, 4, 3, 0, 0, {64, 64}, {32, 32}, {0}, {16, 8}},
    {"long", 2, DIFF_TYPE_U64, 8, 3, 0, 0, {32, 32}, {16, 16}, {0}, {4, 8}},
    {"tf32", 2, DIFF_TYPE_TF32, 4, 3, 0, 0, {64, 64}, {32, 16}, {0}, {4, 8}},
    {"tf32 flushed", 2, DIFF_TYPE_TF32_FTZ, 4, 3, 0, 0, {64, 64}, {32, 16}, {0}, {4, 8}},
    {"tf32 with NaN outside", 2, DIFF_TYPE_TF32, 4, 3, 0, 1, {64, 64}, {32, 16}, {0}, {40, 60}},
    {"flushed", 2, DIFF_TYPE_F32_FTZ, 4, 0, 0, 0, {64, 64}, {32, 16}, {0}, {4, 8}},
};

static inline void diff_map(struct diff_case *c, const struct diff_box *t)
{
    struct plan_tensor_map *m = &c->map;
    uint64_t stride = (uint64_t)t->bytes;
    *m = (struct plan_tensor_map){.rank = t->rank,
                                  .data_type = t->type,
                                  .element_bits = t->bytes * 8,
                                  .swizzle = t->swizzle,
                                  .interleave = t->interleave,
                                  .oob_fill = t->oob_fill};
    for (int i = 0; i < t->rank; i++) {
        m->dims[i] = t->dims[i];
        m->box[i] = t->box[i];
        m->element_strides[i] = t->steps[i] ? t->steps[i] : 1;
        m->strides[i] = i ? stride : 0;
        stride *= t->dims[i];
    }
}

static inline size_t diff_tensor_bytes(const struct diff_box *t)
{
    size_t n = (size_t)t->bytes;
    for (int i = 0; i < t->rank; i++)
        n *= t->dims[i];
    return (n + 7) / 8 * 8;
}

/* Bytes that land in shared memory: what the barrier has to expect. */
static inline unsigned diff_box_bytes(const struct diff_box *t)
{
    unsigned n = (unsigned)t->bytes;
    for (int i = 0; i < t->rank; i++) {
        unsigned step = i && t->steps[i] ? t->steps[i] : 1;
        n *= (t->box[i] + step - 1) / step;
    }
    return n;
}

static inline void diff_coordinates(struct buf *b, const struct diff_box *t)
{
    for (int i = 0; i < t->rank; i++)
        buf_addf(b, "%s%d", i ? ", " : "{", (int)t->at[i]);
    buf_adds(b, "}");
}

/* Shared memory from `in` (stores) or from the thread's number (loads). */
static inline void diff_tma_begin(struct buf *b, struct diff_case *c, bool from_in)
{
    diff_begin(b, c, "");
    buf_addf(b,
             ".reg .b32 %%i, %%v, %%w, %%n;\n.reg .b64 %%x, %%y, %%o, %%map;\n.reg .pred p, q;\n"
             ".shared .align 1024 .b8 s[%d];\n.shared .align 8 .b64 bar;\nmov.b64 %%map, map;\n"
             "cvta.param.u64 %%map, %%map;\nld.param.u64 %%x, [in];\nld.param.u64 %%y, [out];\n"
             "mov.u32 %%n, %%tid.x;\nsetp.eq.u32 p, %%n, 0;\nshl.b32 %%i, %%n, 2;\n"
             "L: mov.u32 %%w, s;\nadd.u32 %%w, %%w, %%i;\ncvt.u64.u32 %%o, %%i;\nadd.u64 %%o, %%o, "
             "%%x;\n"
             "%s\nst.shared.u32 [%%w], %%v;\nadd.u32 %%i, %%i, 512;\nsetp.lt.u32 q, %%i, %d;\n@q "
             "bra L;\n"
             "fence.proxy.async;\nbar.sync 0;\n",
             DIFF_IMAGE, from_in ? "ld.global.u32 %v, [%o];" : "mul.lo.u32 %v, %i, 0x9e3779b1;",
             DIFF_IMAGE);
}

static inline void diff_add_load(struct diff_cases *all, const struct diff_box *t)
{
    struct diff_case *c = diff_add(all, "cp.async.bulk.tensor");
    struct buf b;
    snprintf(c->name, sizeof(c->name), "cp.async.bulk.tensor.%dd load, %s", t->rank, t->name);
    diff_map(c, t);
    c->block = 128;
    c->in_bytes = diff_tensor_bytes(t);
    c->out_bytes = DIFF_IMAGE;
    memcpy(c->in_fill, t->type >= DIFF_TYPE_F32_FTZ ? "fff" : "xxx", 3);
    c->rule = (struct diff_rule)BITS;
    diff_tma_begin(&b, c, false);
    buf_addf(&b,
             "@p mbarrier.init.shared::cta.b64 [bar], "
             "1;\nfence.mbarrier_init.release.cluster;\nbar.sync 0;\n"
             "@p mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], %u;\n"
             "@p cp.async.bulk.tensor.%dd.shared::cluster.global.mbarrier::complete_tx::bytes [s], "
             "[%%map, ",
             diff_box_bytes(t), t->rank);
    diff_coordinates(&b, t);
    buf_addf(
        &b,
        "], [bar];\nW: mbarrier.try_wait.parity.shared::cta.b64 q, [bar], 0;\n@!q bra W;\n"
        "shl.b32 %%i, %%n, 2;\nM: mov.u32 %%w, s;\nadd.u32 %%w, %%w, %%i;\ncvt.u64.u32 %%o, %%i;\n"
        "add.u64 %%o, %%o, %%y;\nld.shared.u32 %%v, [%%w];\nst.global.u32 [%%o], %%v;\n"
        "add.u32 %%i, %%i, 512;\nsetp.lt.u32 q, %%i, %d;\n@q bra M;\n",
        DIFF_IMAGE);
    diff_end(&b, c);
}

/* `op` NULL: a store. */
static inline void diff_add_store(struct diff_cases *all, const struct diff_box *t, const char *op,
                                  const char *fill, struct diff_rule rule)
{
    struct diff_case *c =
        diff_add(all, op ? "cp.reduce.async.bulk.tensor" : "cp.async.bulk.tensor");
    struct buf b;
    snprintf(c->name, sizeof(c->name), "cp%s.async.bulk.tensor.%dd %s, %s", op ? ".reduce" : "",
             t->rank, op ? op : "store", t->name);
    diff_map(c, t);
    c->map_of_out = true;
    c->block = 128;
    c->in_bytes = DIFF_IMAGE;
    c->out_bytes = diff_tensor_bytes(t);
    memset(c->in_fill, fill[0], 3);
    c->in_fill[3] = '1';
    c->out_fill = fill[0];
    c->rule = rule;
    diff_tma_begin(&b, c, true);
    buf_addf(&b, "@!p bra E;\n");
    if (op)
        buf_addf(&b, "cp.reduce.async.bulk.tensor.%dd.global.shared::cta.%s.bulk_group [%%map, ",
                 t->rank, op);
    else
        buf_addf(&b, "cp.async.bulk.tensor.%dd.global.shared::cta.bulk_group [%%map, ", t->rank);
    diff_coordinates(&b, t);
    buf_adds(&b, "], [s];\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nE: \n");
    diff_end(&b, c);
}

static inline void diff_add_copies(struct diff_cases *all)
{
    for (size_t i = 0; i < COUNT_OF(diff_boxes); i++) {
        const struct diff_box *t = &diff_boxes[i];
        bool negative = false;
        for (int d = 0; d < t->rank; d++)
            negative |= t->at[d] < 0;
        diff_add_load(all, t);
        if (!negative) /* the hardware refuses */
            diff_add_store(all, t, NULL, "x", (struct diff_rule)BITS);
    }
    static const struct {
        const char *op, *name;
        int type, bytes;
        const char *fill;
    } reductions[] = {
        {"add", "u32", DIFF_TYPE_U32, 4, "i"}, {"add", "u64", DIFF_TYPE_U64, 8, "i"},
        {"min", "s32", DIFF_TYPE_S32, 4, "i"}, {"max", "s32", DIFF_TYPE_S32, 4, "i"},
        {"min", "u32", DIFF_TYPE_U32, 4, "i"}, {"max", "u64", DIFF_TYPE_U64, 8, "i"},
        {"and", "u32", DIFF_TYPE_U32, 4, "i"}, {"or", "u32", DIFF_TYPE_U32, 4, "i"},
        {"xor", "u64", DIFF_TYPE_U64, 8, "i"}, {"inc", "u32", DIFF_TYPE_U32, 4, "i"},
        {"dec", "u32", DIFF_TYPE_U32, 4, "i"}, {"add", "f32", DIFF_TYPE_F32, 4, "F"},
        {"add", "f16", DIFF_TYPE_F16, 2, "H"}, {"add", "bf16", DIFF_TYPE_BF16, 2, "B"},
        {"min", "f16", DIFF_TYPE_F16, 2, "H"}, {"max", "bf16", DIFF_TYPE_BF16, 2, "B"},
    };
    for (size_t i = 0; i < COUNT_OF(reductions); i++) {
        struct diff_box t = {reductions[i].name,
                             2,
                             reductions[i].type,
                             reductions[i].bytes,
                             3,
                             0,
                             0,
                             {32, 40},
                             {0},
                             {0},
                             {8, 20}};
        t.dims[0] = 256 / (unsigned)reductions[i].bytes;
        t.box[0] = 128 / (unsigned)reductions[i].bytes;
        t.box[1] = 32;
        diff_add_store(all, &t, reductions[i].op, reductions[i].fill, (struct diff_rule)BITS);
    }
}

#endif
