/* SPDX-License-Identifier: Apache-2.0
 * mma.sync in every shape and type against a model of the manual's fragments; ldmatrix, stmatrix,
 * movmatrix; cp.async. */
#include "tests/unit/ptxvm_kit.h"

#include <math.h>

#include "evaluator/ptxvm/floats.h"

enum { LANES = 32, IN = 10 /* words a lane: A 4, B 2, C 4 */ };

struct type {
    const char *name;
    unsigned bytes;
    const struct float_format *format; /* NULL: integer */
    bool is_signed;
};

static const struct type f16 = {"f16", 2, &format_f16, true},
                         bf16 = {"bf16", 2, &format_bf16, true},
                         tf32 = {"tf32", 4, &format_tf32, true},
                         e4m3 = {"e4m3", 1, &format_e4m3, true},
                         e5m2 = {"e5m2", 1, &format_e5m2, true}, s8 = {"s8", 1, NULL, true},
                         u8 = {"u8", 1, NULL, false};

struct trial {
    const struct type *a, *b;
    const char *acc;
    unsigned k;
    bool saturate;
};

static const struct trial trials[] = {
    {&f16, &f16, "f32", 16, false},   {&f16, &f16, "f32", 8, false},
    {&f16, &f16, "f16", 16, false},   {&f16, &f16, "f16", 8, false},
    {&bf16, &bf16, "f32", 16, false}, {&bf16, &bf16, "f32", 8, false},
    {&tf32, &tf32, "f32", 8, false},  {&tf32, &tf32, "f32", 4, false},
    {&e4m3, &e5m2, "f32", 32, false}, {&e5m2, &e5m2, "f16", 32, false},
    {&s8, &u8, "s32", 32, false},     {&u8, &u8, "s32", 16, false},
    {&s8, &s8, "s32", 32, true},
};

static double value_of(const struct type *t, uint32_t bits)
{
    if (t->format)
        return float_widen(t == &tf32 ? bits >> 13 : bits, t->format);
    return t->is_signed ? (int8_t)bits : (uint8_t)bits;
}

static uint32_t draw(const struct type *t, uint64_t *state)
{
    uint64_t r = kit_random(state) >> 40;
    if (!t->format)
        return r & 0xff;
    uint32_t bits = float_narrow(((int)(r % 65) - 32) / 8.0, t->format, ROUND_NEAREST, true);
    return t == &tf32 ? bits << 13 : bits;
}

/* Puts an element into the fragment: row g and element k go to lane 4 (g % 8) + k / e % 4, where a
 * register holds e elements; the next registers are eight rows on (A only), then 4 e elements on.
 */
static void put(uint32_t *words, bool is_a, unsigned bytes, unsigned row, unsigned k, uint32_t bits)
{
    unsigned e = 4 / bytes, lane = row % 8 * 4 + k / e % 4, far = k / (4 * e);
    unsigned reg = is_a ? row / 8 + 2 * far : 4 + far;
    words[lane * IN + reg] |= bits << (8 * bytes * (k % e));
}

static void names(char *out, size_t size, char letter, unsigned count)
{
    size_t used = 0;
    out[0] = '\0';
    for (unsigned i = 0; i < count; i++, used = strlen(out))
        snprintf(out + used, size - used, "%s%c%u", i ? ", " : "", letter, i);
}

static void kernel(const struct trial *t, char *out, size_t size)
{
    char a[64], b[64], c[64], d[64];
    unsigned as = t->k * t->a->bytes / 8, cs = strcmp(t->acc, "f16") == 0 ? 2 : 4;
    names(a, sizeof a, 'a', as), names(b, sizeof b, 'b', as / 2);
    names(c, sizeof c, 'c', cs), names(d, sizeof d, 'd', cs);
    snprintf(
        out, size,
        KIT_HEAD ".visible .entry k(.param .u64 in, .param .u64 out) {\n"
                 ".reg .b32 a<4>, b<2>, c<4>, d<4>, t;\n.reg .b64 x, y, o;\n"
                 "ld.param.u64 x, [in];\nld.param.u64 y, [out];\nmov.u32 t, %%tid.x;\n"
                 "mul.wide.u32 o, t, 40;\nadd.u64 x, x, o;\nmul.wide.u32 o, t, 16;\n"
                 "add.u64 y, y, o;\nld.global.v2.u32 {a0, a1}, [x];\nld.global.v2.u32 {a2, a3}, "
                 "[x+8];\nld.global.v2.u32 {b0, b1}, [x+16];\nld.global.v2.u32 {c0, c1}, [x+24];\n"
                 "ld.global.v2.u32 {c2, c3}, [x+32];\nmov.u32 d2, 0;\nmov.u32 d3, 0;\n"
                 "mma.sync.aligned.m16n8k%u.row.col%s.%s.%s.%s.%s {%s}, {%s}, {%s}, {%s};\n"
                 "st.global.v4.u32 [y], {d0, d1, d2, d3};\nret;\n}\n",
        t->k, t->saturate ? ".satfinite" : "", t->acc, t->a->name, t->b->name, t->acc, d, a, b, c);
}

static double acc_of(const struct trial *t, const uint32_t *words, unsigned i)
{
    if (strcmp(t->acc, "f16") == 0)
        return f16_widen(words[i / 2] >> (16 * (i % 2)) & 0xffff);
    return strcmp(t->acc, "f32") == 0 ? (double)f32_from(words[i]) : (double)(int32_t)words[i];
}

static void try_one(const struct trial *t)
{
    uint64_t state = t->k;
    uint32_t in[LANES * IN] = {0}, out[LANES * 4], a[16][32], b[8][32];
    for (unsigned k = 0; k < t->k; k++) {
        for (unsigned row = 0; row < 16; row++)
            put(in, true, t->a->bytes, row, k, a[row][k] = draw(t->a, &state));
        for (unsigned n = 0; n < 8; n++)
            put(in, false, t->b->bytes, n, k, b[n][k] = draw(t->b, &state));
    }
    for (unsigned i = 0; i < LANES * 4; i++) {
        float v = (float)(kit_random(&state) % 512) / 4;
        in[i / 4 * IN + 6 + i % 4] = strcmp(t->acc, "f32") == 0   ? f32_bits(v)
                                     : strcmp(t->acc, "f16") == 0 ? f16_nearest(v) * 0x10001
                                     : t->saturate                ? (uint32_t)INT32_MIN + 900
                                                                  : (uint32_t)v;
    }
    char ptx[4096];
    kernel(t, ptx, sizeof ptx);
    struct kit k;
    kit_open(&k, ptx, NULL);
    uint64_t p[2] = {ptxvm_alloc(k.vm, "in", sizeof in, 16, PTXVM_READ_ONLY),
                     ptxvm_alloc(k.vm, "out", sizeof out, 16, PTXVM_READ_WRITE)};
    assert_true(ptxvm_write(k.vm, p[0], in, sizeof in));
    kit_run(&k, 1, LANES, 0, p, 2);
    kit_expect(&k, PTXVM_OK);
    assert_true(ptxvm_read(k.vm, p[1], out, sizeof out));
    for (unsigned i = 0; i < LANES * 4; i++) {
        unsigned lane = i / 4, row = lane / 4 + i % 4 / 2 * 8, n = lane % 4 * 2 + i % 2;
        double want = acc_of(t, in + lane * IN + 6, i % 4), size = fabs(want);
        for (unsigned x = 0; x < t->k; x++) {
            double product = value_of(t->a, a[row][x]) * value_of(t->b, b[n][x]);
            want += product, size += fabs(product);
        }
        want = t->saturate ? fmax(want, INT32_MIN) : want;
        double bound = t->a->format ? size * t->k * 0x1p-24 : 0;
        bound += strcmp(t->acc, "f16") == 0 ? fabs(want) * 0x1p-11 + 0x1p-25 : 0;
        double got = acc_of(t, out + lane * 4, i % 4);
        if (!(fabs(got - want) <= bound))
            fail_msg("m16n8k%u %s x %s: (%u, %u) is %g, not %g", t->k, t->a->name, t->b->name, row,
                     n, got, want);
    }
    kit_close(&k);
}

static void every_shape_and_type(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++)
        try_one(&trials[i]);
}

/* Shared memory holds 16-bit numbers 0 … 255: four matrices of eight rows, one behind the other.
 * Lanes name rows; what is loaded is stored again, transposed, elsewhere. */
static void matrices_of_eight(void **state)
{
    (void)state;
    uint32_t out[LANES * 6];
    kit_words(
        KIT_HEAD
        ".visible .entry k(.param .u64 out) {\n.reg .b32 t, v, w, s, r<5>, q<2>;\n.reg .b64 x, o;\n"
        ".shared .align 16 .b8 m[1024];\nld.param.u64 x, [out];\nmov.u32 t, %tid.x;\n"
        "mul.wide.u32 o, t, 24;\nadd.u64 x, x, o;\nmov.u32 s, m;\nmul.lo.u32 v, t, 16;\n"
        "add.u32 s, s, v;\nmul.lo.u32 v, t, 0x00080008;\nadd.u32 v, v, 0x00010000;\n"
        "add.u32 w, v, 0x00020002;\nst.shared.v2.u32 [s], {v, w};\nadd.u32 v, v, 0x00040004;\n"
        "add.u32 w, w, 0x00040004;\nst.shared.v2.u32 [s+8], {v, w};\nbar.warp.sync -1;\n"
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {r0, r1, r2, r3}, [s];\n"
        "ldmatrix.sync.aligned.m8n8.x2.trans.shared::cta.b16 {q0, q1}, [s];\n"
        "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [s+512], {r1};\nbar.warp.sync -1;\n"
        "movmatrix.sync.aligned.m8n8.trans.b16 r4, r1;\n"
        "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {r0}, [s+512];\n"
        "st.global.v2.u32 [x], {r0, r2};\nst.global.v2.u32 [x+8], {q0, q1};\n"
        "st.global.v2.u32 [x+16], {r3, r4};\nret;\n}\n",
        1, LANES, out, LANES * 6);
    for (uint32_t l = 0; l < LANES; l++) {
        const uint32_t *o = out + 6 * l;
        uint32_t straight = l / 4 * 8 + l % 4 * 2, turned = l % 4 * 16 + l / 4;
        uint32_t across = turned | (turned + 8) << 16;
        assert_int_equal(o[0], across + 64 * 0x10001u);
        assert_int_equal(o[1], (straight + 128) | (straight + 129) << 16);
        assert_int_equal(o[2], across);
        assert_int_equal(o[3], across + 64 * 0x10001u);
        assert_int_equal(o[4], (straight + 192) | (straight + 193) << 16);
        assert_int_equal(o[5], across + 64 * 0x10001u);
    }
}

static void asynchronous_copies_fill_with_zeros(void **state)
{
    (void)state;
    uint32_t out[LANES * 8];
    kit_words(
        KIT_HEAD
        ".visible .entry k(.param .u64 out) {\n.reg .b32 t, v, s, n, a, b, c, d;\n.reg .b64 x, o, "
        "g;\n"
        ".reg .pred p;\n.shared .align 16 .b8 m[1024];\n.global .align 16 .b8 text[16] = {1, 2, 3, "
        "4, "
        "5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};\nld.param.u64 x, [out];\nmov.u32 t, %tid.x;\n"
        "mul.wide.u32 o, t, 32;\nadd.u64 x, x, o;\nmov.u32 s, m;\nmul.lo.u32 v, t, 16;\n"
        "add.u32 s, s, v;\nmov.u64 g, text;\nrem.u32 n, t, 17;\nand.b32 v, t, 1;\nsetp.eq.u32 p, "
        "v, 1;\n"
        "cp.async.cg.shared.global [s], [g], 16, n;\ncp.async.commit_group;\ncp.async.wait_group "
        "0;\n"
        "ld.shared.v4.u32 {a, b, c, d}, [s];\nst.global.v4.u32 [x], {a, b, c, d};\n"
        "cp.async.ca.shared.global [s], [g+8], 8, p;\ncp.async.ca.shared.global [s+8], [g+4], 4;\n"
        "cp.async.wait_all;\nld.shared.v4.u32 {a, b, c, d}, [s];\nst.global.v4.u32 [x+16], {a, b, "
        "c, d};\n"
        "ret;\n}\n",
        1, LANES, out, LANES * 8);
    for (uint32_t l = 0; l < LANES; l++) {
        const unsigned char *bytes = (const unsigned char *)(out + 8 * l);
        for (uint32_t i = 0; i < 16; i++)
            assert_int_equal(bytes[i], i < l % 17 ? i + 1 : 0);
        for (uint32_t i = 0; i < 8; i++)
            assert_int_equal(bytes[16 + i], l % 2 ? 0 : i + 9);
        for (uint32_t i = 0; i < 4; i++)
            assert_int_equal(bytes[24 + i], i + 5);
    }
}

static void half_a_warp_is_refused(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k,
             KIT_HEAD ".visible .entry k() {\n.reg .b32 t, r;\n.reg .pred p;\n"
                      ".shared .align 16 .b8 m[256];\nmov.u32 t, %tid.x;\nsetp.gt.u32 p, t, 15;\n"
                      "@p exit;\nmov.u32 t, m;\n"
                      "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {r}, [t];\nret;\n}\n",
             NULL);
    kit_run(&k, 1, LANES, 0, NULL, 0);
    kit_expect(&k, PTXVM_FAULT);
    assert_non_null(strstr(k.result.fault.detail, "32 lanes"));
    kit_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shape_and_type),
        cmocka_unit_test(matrices_of_eight),
        cmocka_unit_test(asynchronous_copies_fill_with_zeros),
        cmocka_unit_test(half_a_warp_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
