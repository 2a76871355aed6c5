/* SPDX-License-Identifier: Apache-2.0
 * Cases of the tensor units: mma.sync, wmma and wgmma. Registers and shared memory get the same
 * bytes on both machines, so nothing here needs to know which element of a matrix lies where. Each
 * comes twice: with small whole numbers, whose sums every accumulator holds, bit for bit; and with
 * fractions, where the units cut what our sum keeps, within a bound. */
#ifndef TESTS_GPU_DIFFERENTIAL_MATRIX_H
#define TESTS_GPU_DIFFERENTIAL_MATRIX_H

#include "tests/gpu/differential_cases.h"

/* An element type: how it is drawn (diff_value) and how many there are in 32 bits. */
struct diff_type {
    const char *name;
    char fill;
    unsigned bits;
};

static const struct diff_type diff_f16 = {"f16", 'H', 16}, diff_bf16 = {"bf16", 'B', 16},
                              diff_tf32 = {"tf32", 'T', 32}, diff_e4m3 = {"e4m3", 'E', 8},
                              diff_e5m2 = {"e5m2", 'G', 8}, diff_s8 = {"s8", 'x', 8},
                              diff_u8 = {"u8", 'x', 8}, diff_f32 = {"f32", 'F', 32},
                              diff_s32 = {"s32", 'x', 32}, diff_f64 = {"f64", 'D', 64};

/* The error of k products of fractions below 1 and one more: the units align products to the
 * largest and keep 24 bits or more of it, but wgmma of fp8 only 13; f16 results are rounded on top.
 */
static inline struct diff_rule diff_product_rule(const struct diff_type *acc, unsigned k,
                                                 bool whole, bool fp8)
{
    if (whole || acc->fill == 'x')
        return (struct diff_rule)BITS;
    if (fp8 && acc->bits == 32)
        return (struct diff_rule)NEAR('f', 0, (k + 1) * 0x1p-13);
    if (acc->bits == 64)
        return (struct diff_rule)NEAR('d', 0, (k + 1) * 0x1p-52);
    if (acc->bits == 32)
        return (struct diff_rule)NEAR('f', 0, (k + 1) * 0x1p-22);
    return (struct diff_rule)NEAR('h', 0x1p-10, (k + 1) * 0x1p-22);
}

static inline void diff_registers(struct buf *b, const char *name, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        buf_addf(b, "%s%s%u", i ? ", " : "{", name, i);
    buf_adds(b, "}");
}

static inline void diff_load(struct buf *b, const char *name, unsigned count, unsigned bits,
                             unsigned offset)
{
    for (unsigned i = 0; i < count; i++)
        buf_addf(b, "ld.global.b%u %s%u, [%%x+%u];\n", bits, name, i, offset + i * bits / 8);
}

static inline void diff_store(struct buf *b, const char *name, unsigned count, unsigned bits)
{
    for (unsigned i = 0; i < count; i++)
        buf_addf(b, "st.global.b%u [%%y+%u], %s%u;\n", bits, i * bits / 8, name, i);
}

/* Moves %x and %y to where the thread's own bytes lie. */
static inline void diff_own(struct buf *b, unsigned in, unsigned out)
{
    buf_addf(b,
             "ld.param.u64 %%x, [in];\nld.param.u64 %%y, [out];\nmov.u32 %%n, %%tid.x;\n"
             "mov.u32 %%w, %%ctaid.x;\nmov.u32 %%v, %%ntid.x;\nmad.lo.u32 %%w, %%w, %%v, %%n;\n"
             "mul.wide.u32 %%o, %%w, %u;\nadd.u64 %%x, %%x, %%o;\nmul.wide.u32 %%o, %%w, %u;\n"
             "add.u64 %%y, %%y, %%o;\n",
             in, out);
}

/* ---- mma.sync ---- */

struct diff_mma {
    const char *form; /* behind "mma.sync.aligned." */
    const struct diff_type *a, *b, *acc;
    unsigned as, bs, cs, k; /* registers of 32 (f64: 64) bits */
};

static const struct diff_mma diff_mmas[] = {
    {"m16n8k16.row.col.f32.f16.f16.f32", &diff_f16, &diff_f16, &diff_f32, 4, 2, 4, 16},
    {"m16n8k8.row.col.f32.f16.f16.f32", &diff_f16, &diff_f16, &diff_f32, 2, 1, 4, 8},
    {"m16n8k16.row.col.f16.f16.f16.f16", &diff_f16, &diff_f16, &diff_f16, 4, 2, 2, 16},
    {"m16n8k8.row.col.f16.f16.f16.f16", &diff_f16, &diff_f16, &diff_f16, 2, 1, 2, 8},
    {"m16n8k16.row.col.f32.bf16.bf16.f32", &diff_bf16, &diff_bf16, &diff_f32, 4, 2, 4, 16},
    {"m16n8k8.row.col.f32.bf16.bf16.f32", &diff_bf16, &diff_bf16, &diff_f32, 2, 1, 4, 8},
    {"m16n8k8.row.col.f32.tf32.tf32.f32", &diff_tf32, &diff_tf32, &diff_f32, 4, 2, 4, 8},
    {"m16n8k4.row.col.f32.tf32.tf32.f32", &diff_tf32, &diff_tf32, &diff_f32, 2, 1, 4, 4},
    {"m16n8k32.row.col.f32.e4m3.e4m3.f32", &diff_e4m3, &diff_e4m3, &diff_f32, 4, 2, 4, 32},
    {"m16n8k32.row.col.f32.e4m3.e5m2.f32", &diff_e4m3, &diff_e5m2, &diff_f32, 4, 2, 4, 32},
    {"m16n8k32.row.col.f32.e5m2.e5m2.f32", &diff_e5m2, &diff_e5m2, &diff_f32, 4, 2, 4, 32},
    {"m16n8k32.row.col.f16.e5m2.e4m3.f16", &diff_e5m2, &diff_e4m3, &diff_f16, 4, 2, 2, 32},
    {"m16n8k32.row.col.s32.s8.s8.s32", &diff_s8, &diff_s8, &diff_s32, 4, 2, 4, 32},
    {"m16n8k32.row.col.s32.s8.u8.s32", &diff_s8, &diff_u8, &diff_s32, 4, 2, 4, 32},
    {"m16n8k16.row.col.s32.u8.u8.s32", &diff_u8, &diff_u8, &diff_s32, 2, 1, 4, 16},
    {"m16n8k32.row.col.satfinite.s32.s8.s8.s32", &diff_s8, &diff_s8, &diff_s32, 4, 2, 4, 32},
    {"m8n8k4.row.col.f64.f64.f64.f64", &diff_f64, &diff_f64, &diff_f64, 1, 1, 2, 4},
    {"m16n8k4.row.col.f64.f64.f64.f64", &diff_f64, &diff_f64, &diff_f64, 2, 1, 4, 4},
    {"m16n8k8.row.col.f64.f64.f64.f64", &diff_f64, &diff_f64, &diff_f64, 4, 2, 4, 8},
    {"m16n8k16.row.col.f64.f64.f64.f64", &diff_f64, &diff_f64, &diff_f64, 8, 4, 4, 16},
    {"m8n8k16.row.col.s32.s8.s8.s32", &diff_s8, &diff_s8, &diff_s32, 1, 1, 2, 16},
    {"m8n8k32.row.col.s32.s4.u4.s32", &diff_s8, &diff_s8, &diff_s32, 1, 1, 2, 32},
    {"m16n8k64.row.col.s32.s4.s4.s32", &diff_s8, &diff_s8, &diff_s32, 4, 2, 4, 64},
    {"m16n8k256.row.col.s32.b1.b1.s32.and.popc", &diff_s8, &diff_s8, &diff_s32, 4, 2, 4, 256},
    {"m16n8k128.row.col.s32.b1.b1.s32.xor.popc", &diff_s8, &diff_s8, &diff_s32, 2, 1, 4, 128},
};

enum { DIFF_MMA_WARPS = 8 };

static inline void diff_add_mma(struct diff_cases *all, const struct diff_mma *m, bool whole)
{
    struct diff_case *c = diff_add(all, "mma.sync");
    struct buf b;
    unsigned bits = m->a->bits == 64 ? 64 : 32, bytes = bits / 8;
    snprintf(c->name, sizeof(c->name), "mma.sync.aligned.%s, %s numbers", m->form,
             whole ? "whole" : "real");
    unsigned threads = 32 * DIFF_MMA_WARPS;
    c->block = threads;
    c->part_bytes[0] = (size_t)threads * 8 * 8; /* an array per operand: eight registers a thread */
    c->part_bytes[1] = c->part_bytes[2] = c->part_bytes[0];
    c->in_bytes = 3 * c->part_bytes[0];
    c->out_bytes = (size_t)threads * m->cs * bytes;
    snprintf(c->in_fill, sizeof(c->in_fill), "%c%c%c", m->a->fill, m->b->fill, m->acc->fill);
    c->in_fill[3] = whole ? '1' : '0';
    c->rule = diff_product_rule(m->acc, m->k, whole, false);
    diff_begin(&b, c, "");
    buf_addf(
        &b,
        ".reg .b%u a<8>, b<4>, c<4>, d<4>;\n.reg .b32 %%n, %%w, %%v;\n.reg .b64 %%x, %%y, %%o;\n",
        bits);
    diff_own(&b, 64, m->cs * bytes);
    diff_load(&b, "a", m->as, bits, 0);
    diff_load(&b, "b", m->bs, bits, (unsigned)c->part_bytes[0]);
    diff_load(&b, "c", m->cs, bits, (unsigned)c->part_bytes[0] * 2);
    buf_addf(&b, "mma.sync.aligned.%s ", m->form);
    diff_registers(&b, "d", m->cs), buf_adds(&b, ", ");
    diff_registers(&b, "a", m->as), buf_adds(&b, ", ");
    diff_registers(&b, "b", m->bs), buf_adds(&b, ", ");
    diff_registers(&b, "c", m->cs), buf_adds(&b, ";\n");
    diff_store(&b, "d", m->cs, bits);
    diff_end(&b, c);
}

/* ---- wmma ---- */

struct diff_wmma {
    unsigned m, n, k;
    const char *la, *lb;
    const struct diff_type *ab, *acc;
    unsigned as, bs, cs; /* registers */
};

static const struct diff_wmma diff_wmmas[] = {
    {16, 16, 16, "row", "col", &diff_f16, &diff_f32, 8, 8, 8},
    {16, 16, 16, "col", "row", &diff_f16, &diff_f32, 8, 8, 8},
    {32, 8, 16, "row", "row", &diff_f16, &diff_f32, 8, 8, 8},
    {8, 32, 16, "col", "col", &diff_f16, &diff_f16, 8, 8, 4},
    {16, 16, 16, "row", "col", &diff_f16, &diff_f16, 8, 8, 4},
    {16, 16, 16, "row", "col", &diff_bf16, &diff_f32, 4, 4, 8},
    {32, 8, 16, "row", "col", &diff_bf16, &diff_f32, 8, 2, 8},
    {16, 16, 8, "row", "col", &diff_tf32, &diff_f32, 4, 4, 8},
    {16, 16, 16, "row", "col", &diff_s8, &diff_s32, 2, 2, 8},
    {8, 32, 16, "row", "col", &diff_u8, &diff_s32, 1, 4, 8},
    {8, 8, 4, "row", "col", &diff_f64, &diff_f64, 1, 1, 2},
};

static inline void diff_add_wmma(struct diff_cases *all, const struct diff_wmma *m, bool whole)
{
    struct diff_case *c = diff_add(all, "wmma");
    struct buf b;
    char shape[32];
    unsigned abits = m->ab->bits == 64 ? 64 : 32, part = 32 * 32 * 8;
    snprintf(shape, sizeof(shape), "m%un%uk%u", m->m, m->n, m->k);
    snprintf(c->name, sizeof(c->name), "wmma.%s.%s.%s.%s.%s, %s numbers", shape, m->la, m->lb,
             m->ab->name, m->acc->name, whole ? "whole" : "real");
    c->part_bytes[0] = c->part_bytes[1] = c->part_bytes[2] = part;
    c->in_bytes = 3 * part;
    c->out_bytes = (size_t)m->m * m->n * m->acc->bits / 8;
    snprintf(c->in_fill, sizeof(c->in_fill), "%c%c%c", m->ab->fill, m->ab->fill, m->acc->fill);
    c->in_fill[3] = whole ? '1' : '0';
    c->rule = diff_product_rule(m->acc, m->k, whole, false);
    diff_begin(&b, c, "");
    buf_addf(&b,
             ".reg .b%u a<8>, b<8>;\n.reg .b%u c<8>, d<8>;\n.reg .b64 %%x, %%y, %%z;\n"
             "ld.param.u64 %%x, [in];\nld.param.u64 %%y, [out];\n",
             abits, m->acc->bits == 64 ? 64 : 32);
    const struct {
        const char *name, *layout, *type;
        unsigned count, stride;
    } loads[] = {{"a", m->la, m->ab->name, m->as, m->la[0] == 'r' ? m->k : m->m},
                 {"b", m->lb, m->ab->name, m->bs, m->lb[0] == 'r' ? m->n : m->k},
                 {"c", "row", m->acc->name, m->cs, m->n}};
    for (unsigned i = 0; i < 3; i++) {
        buf_addf(&b, "add.u64 %%z, %%x, %u;\nwmma.load.%s.sync.aligned.%s.%s.global.%s ", i * part,
                 loads[i].name, loads[i].layout, shape, loads[i].type);
        diff_registers(&b, loads[i].name, loads[i].count);
        buf_addf(&b, ", [%%z], %u;\n", loads[i].stride + (i < 2 ? 128 / m->ab->bits : 0));
    }
    bool plain = m->ab->fill == 'H';
    buf_addf(&b, "wmma.mma.sync.aligned.%s.%s.%s.%s", m->la, m->lb, shape, m->acc->name);
    if (!plain)
        buf_addf(&b, ".%s.%s", m->ab->name, m->ab->name);
    buf_addf(&b, ".%s ", m->acc->name);
    diff_registers(&b, "d", m->cs), buf_adds(&b, ", ");
    diff_registers(&b, "a", m->as), buf_adds(&b, ", ");
    diff_registers(&b, "b", m->bs), buf_adds(&b, ", ");
    diff_registers(&b, "c", m->cs);
    buf_addf(&b, ";\nwmma.store.d.sync.aligned.row.%s.global.%s [%%y], ", shape, m->acc->name);
    diff_registers(&b, "d", m->cs);
    buf_addf(&b, ", %u;\n", m->n);
    diff_end(&b, c);
}

/* ---- wgmma ---- */

struct diff_wgmma {
    const struct diff_type *a, *b, *acc;
    unsigned n, swizzle; /* bytes: 0, 32, 64, 128 */
    bool a_registers, a_mn, b_mn, negate_a, negate_b, keep, saturate;
};

enum { DIFF_ROOM_A = 16 * 1024, DIFF_ROOM = 48 * 1024 };

/* Strides of a descriptor that a compact operand of `rows` rows has; see the PTX ISA, matrix
 * descriptors. */
static inline uint64_t diff_descriptor(unsigned swizzle, bool mn, unsigned rows)
{
    uint64_t lbo = mn ? rows / 8 * 128 : 128, sbo = mn ? 128 : 256;
    uint64_t mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
    if (swizzle) {
        sbo = swizzle * 8;
        lbo = mn ? 2 * sbo : 16;
    }
    return lbo >> 4 << 16 | sbo >> 4 << 32 | mode << 62;
}

static inline void diff_wgmma_text(struct buf *b, const struct diff_wgmma *t, unsigned k,
                                   unsigned ds)
{
    buf_addf(b, "wgmma.mma_async.sync.aligned.m64n%uk%u.%s.%s.%s%s ", t->n, k, t->acc->name,
             t->a->name, t->b->name, t->saturate ? ".satfinite" : "");
    diff_registers(b, "d", ds);
    buf_adds(b, ", ");
    if (t->a_registers)
        diff_registers(b, "a", 4);
    else
        buf_adds(b, "da");
    buf_adds(b, ", db, q");
    if (t->a->fill != 'x')
        buf_addf(b, ", %d, %d", t->negate_a ? -1 : 1, t->negate_b ? -1 : 1);
    if (t->a->bits == 16 && !t->a_registers)
        buf_addf(b, ", %d", t->a_mn);
    if (t->a->bits == 16)
        buf_addf(b, ", %d", t->b_mn);
    buf_adds(b, ";\n");
}

static inline void diff_add_wgmma(struct diff_cases *all, const struct diff_wgmma *t, bool whole)
{
    struct diff_case *c = diff_add(all, "wgmma");
    struct buf b;
    unsigned k = 256 / t->a->bits, ds = t->n / (t->acc->bits == 16 ? 4 : 2);
    snprintf(c->name, sizeof(c->name),
             "wgmma.m64n%uk%u.%s.%s.%s%s swizzle %u%s%s%s%s%s%s, %s numbers", t->n, k, t->acc->name,
             t->a->name, t->b->name, t->saturate ? ".satfinite" : "", t->swizzle,
             t->a_registers ? ", A in registers" : "", t->a_mn ? ", A along M" : "",
             t->b_mn ? ", B along N" : "", t->negate_a ? ", -A" : "", t->negate_b ? ", -B" : "",
             t->keep ? ", + D" : "", whole ? "whole" : "real");
    c->block = 128;
    c->part_bytes[0] = DIFF_ROOM_A;
    c->part_bytes[1] = DIFF_ROOM - DIFF_ROOM_A;
    c->part_bytes[2] = 128 * 128 * 4;
    c->in_bytes = DIFF_ROOM + c->part_bytes[2];
    c->out_bytes = (size_t)128 * ds * 4;
    snprintf(c->in_fill, sizeof(c->in_fill), "%c%c%c", t->a->fill, t->b->fill, t->acc->fill);
    c->in_fill[3] = whole ? '1' : '0';
    c->rule = diff_product_rule(t->acc, k, whole, t->a->bits == 8);
    diff_begin(&b, c, "");
    buf_addf(
        &b,
        ".reg .b32 d<128>, a<4>, %%n, %%i, %%s, %%v, %%w;\n.reg .b64 %%x, %%y, %%g, %%o, da, db;\n"
        ".reg .pred p, q;\n.shared .align 1024 .b8 s[%d];\n"
        "ld.param.u64 %%g, [in];\nmov.u32 %%n, %%tid.x;\nmov.u32 %%s, s;\nshl.b32 %%i, %%n, 2;\n"
        "L: cvt.u64.u32 %%o, %%i;\nadd.u64 %%o, %%o, %%g;\nld.global.u32 %%v, [%%o];\n"
        "add.u32 %%w, %%s, %%i;\nst.shared.u32 [%%w], %%v;\nadd.u32 %%i, %%i, 512;\n"
        "setp.lt.u32 p, %%i, %d;\n@p bra L;\nfence.proxy.async.shared::cta;\nbar.sync 0;\n",
        DIFF_ROOM, DIFF_ROOM);
    diff_own(&b, 16, ds * 4);
    diff_load(&b, "a", 4, 32, 0); /* whatever the operand's room holds there */
    buf_addf(&b, "mul.wide.u32 %%o, %%n, 496;\nadd.u64 %%x, %%x, %%o;\n"); /* 512 a thread in all */
    diff_load(&b, "d", ds, 32, DIFF_ROOM);
    buf_addf(
        &b,
        "cvt.u64.u32 da, %%s;\nshr.u64 da, da, 4;\nadd.u64 db, da, %u;\nor.b64 da, da, 0x%llx;\n"
        "or.b64 db, db, 0x%llx;\nsetp.%s.u32 q, %%n, 4096;\nwgmma.fence.sync.aligned;\n",
        DIFF_ROOM_A >> 4, (unsigned long long)diff_descriptor(t->swizzle, t->a_mn, 64),
        (unsigned long long)diff_descriptor(t->swizzle, t->b_mn, t->n), t->keep ? "lt" : "gt");
    diff_wgmma_text(&b, t, k, ds);
    buf_adds(&b, "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n");
    diff_store(&b, "d", ds, 32);
    diff_end(&b, c);
}

static inline void diff_add_wgmmas(struct diff_cases *all)
{
    static const struct diff_wgmma kinds[] = {
        {.a = &diff_f16, .b = &diff_f16, .acc = &diff_f32, .n = 256, .keep = true},
        {.a = &diff_f16, .b = &diff_f16, .acc = &diff_f16, .n = 64, .keep = true},
        {.a = &diff_bf16, .b = &diff_bf16, .acc = &diff_f32, .n = 128},
        {.a = &diff_tf32,
         .b = &diff_tf32,
         .acc = &diff_f32,
         .n = 24,
         .keep = true,
         .negate_a = true},
        {.a = &diff_e4m3, .b = &diff_e4m3, .acc = &diff_f32, .n = 128, .keep = true},
        {.a = &diff_e4m3,
         .b = &diff_e5m2,
         .acc = &diff_f32,
         .n = 32,
         .keep = true,
         .negate_b = true},
        {.a = &diff_e5m2, .b = &diff_e4m3, .acc = &diff_f16, .n = 96},
        {.a = &diff_s8, .b = &diff_u8, .acc = &diff_s32, .n = 96, .keep = true},
        {.a = &diff_u8, .b = &diff_s8, .acc = &diff_s32, .n = 16},
        {.a = &diff_s8, .b = &diff_s8, .acc = &diff_s32, .n = 32, .keep = true, .saturate = true},
    };
    static const unsigned swizzles[] = {0, 32, 64, 128};
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        for (unsigned s = 0; s < 8; s++) {
            struct diff_wgmma t = kinds[i];
            t.swizzle = swizzles[s % 4];
            t.a_registers = s >= 4;
            diff_add_wgmma(all, &t, true);
            if (t.a->fill != 'x')
                diff_add_wgmma(all, &t, false);
        }
    for (unsigned i = 4; i < 16; i++) { /* either order of 16-bit operands */
        struct diff_wgmma t = {.a = &diff_bf16,
                               .b = &diff_bf16,
                               .acc = &diff_f32,
                               .n = 192,
                               .keep = true,
                               .swizzle = swizzles[i % 4],
                               .a_mn = i & 4,
                               .b_mn = i & 8};
        t.negate_a = i & 8, t.negate_b = i & 4;
        diff_add_wgmma(all, &t, true);
    }
    for (unsigned n = 8; n <= 256; n += 8) { /* every width */
        struct diff_wgmma t = {.a = &diff_bf16,
                               .b = &diff_bf16,
                               .acc = &diff_f32,
                               .n = n,
                               .keep = true,
                               .swizzle = 128};
        diff_add_wgmma(all, &t, true);
    }
}

static inline void diff_add_matrices(struct diff_cases *all)
{
    for (size_t i = 0; i < COUNT_OF(diff_mmas); i++)
        for (int real = 0; real <= (diff_mmas[i].a->fill != 'x'); real++)
            diff_add_mma(all, &diff_mmas[i], !real);
    for (size_t i = 0; i < COUNT_OF(diff_wmmas); i++)
        for (int real = 0; real <= (diff_wmmas[i].ab->fill != 'x'); real++)
            diff_add_wmma(all, &diff_wmmas[i], !real);
    diff_add_wgmmas(all);
}

#endif
