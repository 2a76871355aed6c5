/* SPDX-License-Identifier: Apache-2.0
 * wgmma against a model written from the tables of the PTX ISA: every element type, both homes of
 * A, every swizzle, both orders of 16-bit operands, scales, and what is refused. */
#include "tests/unit/ptxvm_kit.h"

#include <math.h>

#include "core/buf.h"
#include "evaluator/ptxvm/floats.h"
#include "evaluator/ptxvm/smem_descriptor.h"

enum { THREADS = 128, ROWS = 64, IMAGE = 32 * 1024 /* bytes of each operand's room */ };

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
    unsigned n, swizzle; /* bytes of the swizzle: 0, 32, 64, 128 */
    bool a_registers, a_mn, b_mn, negate_a, negate_b, keep, saturate;
};

static unsigned k_of(const struct trial *t)
{
    return 32 / t->a->bytes;
}

/* A small value of the type: bits, and what it is worth. */
static uint32_t draw(const struct type *t, uint64_t *state, double *worth)
{
    uint64_t r = kit_random(state) >> 40;
    if (!t->format) {
        *worth = t->is_signed ? (int8_t)r : (uint8_t)r;
        return (uint32_t)r & 0xff;
    }
    double v = ((int)(r % 65) - 32) / 8.0;
    uint32_t bits = float_narrow(v, t->format, ROUND_NEAREST, true);
    *worth = float_widen(bits, t->format);
    return t == &tf32 ? bits << 13 | (uint32_t)(r & 0x1fff) : bits; /* the low bits are ignored */
}

/* Byte offset of element (row along M or N, k) in an operand of `rows` rows; both strides as given
 * to the descriptor. Written per swizzle from the figures of the manual. */
static uint32_t place(unsigned swizzle, bool mn, unsigned bytes, unsigned rows, unsigned row,
                      unsigned k, uint32_t *lbo, uint32_t *sbo)
{
    unsigned line = mn ? k : row, along = (mn ? row : k) * bytes;
    if (swizzle == 0) {
        *lbo = mn ? rows / 8 * 128 : 128;
        *sbo = mn ? 128 : 256;
        unsigned down = line / 8, across = along / 16;
        return (mn ? down * *lbo + across * *sbo : down * *sbo + across * *lbo) + line % 8 * 16 +
               along % 16;
    }
    unsigned per_group = swizzle * 8, blocks = along / swizzle, chunk = along % swizzle / 16;
    unsigned turn = line % 8 / (128 / swizzle); /* lines that share 128 bytes share the turn */
    *sbo = per_group;
    *lbo = mn ? 2 * per_group : 16; /* two groups of 8 in k = 16 */
    return blocks * (mn ? *lbo : 0) + line / 8 * *sbo + line % 8 * swizzle + (chunk ^ turn) * 16 +
           along % 16;
}

static uint64_t descriptor(uint32_t start, uint32_t lbo, uint32_t sbo, unsigned swizzle)
{
    uint64_t mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
    return start >> 4 | (uint64_t)(lbo >> 4) << 16 | (uint64_t)(sbo >> 4) << 32 | mode << 62;
}

/* ---- the kernel ---- */

static void add_registers(struct buf *b, const char *name, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        buf_addf(b, "%s%s%u", i ? ", " : "{", name, i);
    buf_adds(b, "}");
}

static unsigned d_count(const struct trial *t)
{
    return t->n / (strcmp(t->acc, "f16") == 0 ? 4 : 2);
}

/* Copies both images to shared memory, loads D (and A's fragments), multiplies, stores D. Every
 * warp enters the instruction at another time. */
static char *kernel(const struct trial *t, const uint64_t desc[2])
{
    struct buf b;
    buf_init(&b, 1 << 20);
    buf_addf(&b,
             KIT_HEAD
             ".visible .entry k(.param .u64 images, .param .u64 acc, .param .u64 frag) {\n"
             ".reg .b32 d<128>, a<4>, %%t, %%i, %%s, %%v, %%w;\n.reg .b64 x, y, z, o, da, db;\n"
             ".reg .pred p, q;\n.shared .align 1024 .b8 s[%d];\n"
             "ld.param.u64 x, [images];\nld.param.u64 y, [acc];\nld.param.u64 z, [frag];\n"
             "mov.u32 %%t, %%tid.x;\nmov.u32 %%s, s;\nshl.b32 %%i, %%t, 2;\n"
             "L: cvt.u64.u32 o, %%i;\nadd.u64 o, o, x;\nld.global.u32 %%v, [o];\nadd.u32 %%w, %%s, "
             "%%i;\n"
             "st.shared.u32 [%%w], %%v;\nadd.u32 %%i, %%i, %d;\n"
             "setp.lt.u32 p, %%i, %d;\n@p bra L;\nbar.sync 0;\n",
             2 * IMAGE, THREADS * 4, 2 * IMAGE);
    buf_addf(&b,
             "mul.wide.u32 o, %%t, %u;\nadd.u64 y, y, o;\nmul.wide.u32 o, %%t, 16;\n"
             "add.u64 z, z, o;\n",
             d_count(t) * 4);
    for (unsigned i = 0; i < d_count(t); i++)
        buf_addf(&b, "ld.global.u32 d%u, [y+%u];\n", i, 4 * i);
    for (unsigned i = 0; i < 4; i++)
        buf_addf(&b, "ld.global.u32 a%u, [z+%u];\n", i, 4 * i);
    buf_addf(&b,
             "mov.u64 da, 0x%llx;\nmov.u64 db, 0x%llx;\nsetp.%s.u32 q, %%t, 4096;\n"
             "wgmma.fence.sync.aligned;\n"
             "wgmma.mma_async.sync.aligned.m64n%uk%u.%s.%s.%s%s ",
             (unsigned long long)desc[0], (unsigned long long)desc[1], t->keep ? "lt" : "gt", t->n,
             k_of(t), t->acc, t->a->name, t->b->name, t->saturate ? ".satfinite" : "");
    add_registers(&b, "d", d_count(t));
    buf_adds(&b, ", ");
    if (t->a_registers)
        add_registers(&b, "a", 4);
    else
        buf_adds(&b, "da");
    buf_adds(&b, ", db, q");
    if (t->a->format)
        buf_addf(&b, ", %d, %d", t->negate_a ? -1 : 1, t->negate_b ? -1 : 1);
    if (t->a->bytes == 2 && !t->a_registers)
        buf_addf(&b, ", %d", t->a_mn);
    if (t->a->bytes == 2)
        buf_addf(&b, ", %d", t->b_mn);
    buf_adds(&b, ";\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n");
    for (unsigned i = 0; i < d_count(t); i++)
        buf_addf(&b, "st.global.u32 [y+%u], d%u;\n", 4 * i, i);
    buf_adds(&b, "ret;\n}\n");
    char *text = buf_take(&b, NULL);
    buf_release(&b);
    return text;
}

/* ---- the model ---- */

struct model {
    double a[ROWS][32], b[256][32], d[ROWS][256];
    unsigned char images[2 * IMAGE];
    uint32_t fragments[THREADS][4], acc[THREADS * 128], out[THREADS * 128];
};

static void fill_operands(const struct trial *t, struct model *m, uint64_t desc[2])
{
    uint64_t state = t->n * 7u + t->swizzle;
    uint32_t bits[ROWS][32], lbo = 0, sbo = 0;
    unsigned es = t->a->bytes, per = 4 / es;
    for (unsigned row = 0; row < ROWS; row++)
        for (unsigned k = 0; k < k_of(t); k++) {
            bits[row][k] = draw(t->a, &state, &m->a[row][k]);
            memcpy(m->images + place(t->swizzle, t->a_mn, es, ROWS, row, k, &lbo, &sbo),
                   &bits[row][k], es);
        }
    desc[0] = descriptor(1024, lbo, sbo, t->swizzle);
    for (unsigned row = 0; row < t->n; row++)
        for (unsigned k = 0; k < k_of(t); k++) {
            uint32_t v = draw(t->b, &state, &m->b[row][k]);
            memcpy(m->images + IMAGE + place(t->swizzle, t->b_mn, es, t->n, row, k, &lbo, &sbo), &v,
                   es);
        }
    desc[1] = descriptor(1024 + IMAGE, lbo, sbo, t->swizzle);
    for (unsigned thread = 0; thread < THREADS; thread++)
        for (unsigned r = 0; r < 4; r++)
            for (unsigned i = 0; i < per; i++) {
                unsigned row = thread / 32 * 16 + thread % 32 / 4 + (r & 1) * 8;
                unsigned k = thread % 4 * per + i + (r >> 1) * 4 * per;
                m->fragments[thread][r] |= bits[row][k] << (8 * es * i);
            }
}

/* Accumulator element of a thread: its row and column, by the table of the manual. */
static void whereabouts(unsigned thread, unsigned i, unsigned *row, unsigned *column)
{
    *row = thread / 32 * 16 + thread % 32 / 4 + 8 * (i / 2 % 2);
    *column = i / 4 * 8 + thread % 4 * 2 + i % 2;
}

static double acc_read(const struct trial *t, const uint32_t *words, unsigned thread, unsigned i)
{
    if (strcmp(t->acc, "f16") == 0)
        return f16_widen(words[thread * d_count(t) + i / 2] >> (16 * (i % 2)) & 0xffff);
    uint32_t w = words[thread * d_count(t) + i];
    return strcmp(t->acc, "f32") == 0 ? (double)f32_from(w) : (double)(int32_t)w;
}

static void fill_acc(const struct trial *t, struct model *m)
{
    uint64_t state = 99;
    for (unsigned i = 0; i < THREADS * d_count(t); i++) {
        double v = (double)(kit_random(&state) % 1000) / 8.0;
        uint32_t h = f16_nearest((float)v);
        m->acc[i] = strcmp(t->acc, "f32") == 0   ? f32_bits((float)v)
                    : strcmp(t->acc, "f16") == 0 ? h | h << 16
                    : t->saturate                ? (uint32_t)INT32_MAX - 1000
                                                 : (uint32_t)v;
    }
}

static void compare(const struct trial *t, const struct model *m)
{
    double sign = t->negate_a != t->negate_b ? -1 : 1;
    for (unsigned thread = 0; thread < THREADS; thread++)
        for (unsigned i = 0; i < t->n / 2; i++) {
            unsigned row, column;
            whereabouts(thread, i, &row, &column);
            double want = t->keep ? acc_read(t, m->acc, thread, i) : 0, size = fabs(want);
            for (unsigned k = 0; k < k_of(t); k++) {
                want += sign * m->a[row][k] * m->b[column][k];
                size += fabs(m->a[row][k] * m->b[column][k]);
            }
            if (t->saturate)
                want = fmin(fmax(want, INT32_MIN), INT32_MAX);
            double bound = t->a->format ? size * k_of(t) * 0x1p-24 : 0;
            bound += strcmp(t->acc, "f16") == 0 ? fabs(want) * 0x1p-11 + 0x1p-25 : 0;
            double got = acc_read(t, m->out, thread, i);
            if (!(fabs(got - want) <= bound))
                fail_msg("%s x %s n %u swizzle %u%s%s%s: (%u, %u) is %g, not %g", t->a->name,
                         t->b->name, t->n, t->swizzle, t->a_registers ? " registers" : "",
                         t->a_mn ? " A mn" : "", t->b_mn ? " B mn" : "", row, column, got, want);
        }
}

static void try_one(const struct trial *t)
{
    struct model *m = calloc(1, sizeof *m);
    uint64_t desc[2], p[3];
    fill_operands(t, m, desc);
    fill_acc(t, m);
    char *ptx = kernel(t, desc);
    struct kit k;
    kit_open(&k, ptx, NULL);
    p[0] = ptxvm_alloc(k.vm, "images", sizeof m->images, 256, PTXVM_READ_ONLY);
    p[1] = ptxvm_alloc(k.vm, "acc", sizeof m->acc, 256, PTXVM_READ_WRITE);
    p[2] = ptxvm_alloc(k.vm, "frag", sizeof m->fragments, 256, PTXVM_READ_ONLY);
    assert_true(ptxvm_write(k.vm, p[0], m->images, sizeof m->images));
    assert_true(ptxvm_write(k.vm, p[1], m->acc, sizeof m->acc));
    assert_true(ptxvm_write(k.vm, p[2], m->fragments, sizeof m->fragments));
    kit_run(&k, 1, THREADS, 0, p, 3);
    kit_expect(&k, PTXVM_OK);
    assert_true(ptxvm_read(k.vm, p[1], m->out, sizeof m->out));
    compare(t, m);
    uint64_t warps = 0;
    for (size_t i = 0; i < k.result.counts.row_count; i++)
        if (strncmp(k.result.counts.rows[i].name, "wgmma.mma_async", 15) == 0)
            warps += k.result.counts.rows[i].warps;
    assert_int_equal(warps, 4);
    kit_close(&k);
    free(ptx);
    free(m);
}

static const unsigned swizzles[] = {0, 32, 64, 128};

static void every_type_and_swizzle(void **state)
{
    (void)state;
    static const struct trial trials[] = {
        {.a = &f16, .b = &f16, .acc = "f32", .n = 256, .keep = true},
        {.a = &f16, .b = &f16, .acc = "f16", .n = 64, .keep = true},
        {.a = &bf16, .b = &bf16, .acc = "f32", .n = 8},
        {.a = &tf32, .b = &tf32, .acc = "f32", .n = 24, .keep = true, .negate_a = true},
        {.a = &e4m3, .b = &e5m2, .acc = "f32", .n = 32, .keep = true, .negate_b = true},
        {.a = &e5m2, .b = &e4m3, .acc = "f16", .n = 128},
        {.a = &s8, .b = &u8, .acc = "s32", .n = 96, .keep = true},
        {.a = &u8, .b = &s8, .acc = "s32", .n = 16},
        {.a = &s8, .b = &s8, .acc = "s32", .n = 32, .keep = true, .saturate = true},
    };
    for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++)
        for (unsigned s = 0; s < 8; s++) {
            struct trial t = trials[i];
            t.swizzle = swizzles[s % 4];
            t.a_registers = s >= 4;
            try_one(&t);
        }
}

static void either_order_of_16_bit_operands(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4 * 4; i++)
        try_one(&(struct trial){.a = &bf16,
                                .b = &bf16,
                                .acc = "f32",
                                .n = 192,
                                .keep = true,
                                .swizzle = swizzles[i % 4],
                                .a_mn = i & 4,
                                .b_mn = i & 8,
                                .negate_a = true,
                                .negate_b = i & 4});
    try_one(&(struct trial){.a = &f16,
                            .b = &f16,
                            .acc = "f32",
                            .n = 64,
                            .swizzle = 128,
                            .a_registers = true,
                            .b_mn = true});
}

/* ---- what cannot be ---- */

#define BODY(before)                                                                               \
    KIT_HEAD ".visible .entry k() {\n.reg .b32 d<4>, %i;\n.reg .b64 x;\n.reg .pred p;\n"           \
             ".shared .align 1024 .b8 s[4096];\nmov.u32 %i, %tid.x;\nmov.u64 x, 0x40;\n" before    \
             "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {d0, d1, d2, d3}, x, x, 0, 1, "  \
             "1, 0, 0;\nret;\n}\n"

static void refuse(const char *ptx, uint32_t threads, enum ptxvm_status status, const char *text)
{
    struct kit k;
    kit_open(&k, ptx, NULL);
    kit_run(&k, 1, threads, 0, NULL, 0);
    kit_expect(&k, status);
    if (!strstr(k.result.fault.detail, text))
        fail_msg("'%s' is not in '%s'", text, k.result.fault.detail);
    kit_close(&k);
}

static void misuse_is_reported(void **state)
{
    (void)state;
    refuse(BODY("setp.lt.u32 p, %i, 32;\n@p exit;\n"), 128, PTXVM_DEADLOCK, "warpgroup");
    refuse(BODY("setp.eq.u32 p, %i, 5;\n@p exit;\n"), 128, PTXVM_FAULT, "128 threads");
    refuse(BODY(""), 96, PTXVM_FAULT, "128 threads");
    refuse(BODY("mov.u64 x, 0x3000;\n"), 128, PTXVM_FAULT, "shared memory");
    refuse(KIT_HEAD ".visible .entry k() {\n.reg .b32 d<4>, m;\n.reg .b64 x;\n"
                    "mov.u64 x, 64;\nwgmma.mma_async.sp.sync.aligned.m64n8k32.f32.bf16.bf16 "
                    "{d0, d1, d2, d3}, x, x, m, 0, 0, 1, 1, 0, 0;\nret;\n}\n",
           128, PTXVM_UNSUPPORTED, "wgmma.mma_async.sp");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_and_swizzle),
        cmocka_unit_test(either_order_of_16_bit_operands),
        cmocka_unit_test(misuse_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
