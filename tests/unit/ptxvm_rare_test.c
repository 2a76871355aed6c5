/* SPDX-License-Identifier: Apache-2.0
 * Instructions that few kernels have: video, lop3 with a predicate, the stack, tensormap.replace,
 * mma.sync of rare types, groups of a warp that name different members. Against models in C;
 * integers and f64 of small numbers, so all are exact. */
#include "tests/unit/ptxvm_kit.h"

#include "core/buf.h"
#include "evaluator/ptxvm/tensor_map.h"

/* ---- video: parts of words ---- */

static int64_t byte_of(uint64_t v, int i, bool is_signed)
{
    return is_signed ? (int8_t)(v >> 8 * i) : (uint8_t)(v >> 8 * i);
}

static int64_t half_of(uint64_t v, int i, bool is_signed)
{
    return is_signed ? (int16_t)(v >> 16 * i) : (uint16_t)(v >> 16 * i);
}

static int64_t limit(int64_t v, int64_t lo, int64_t hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

static uint64_t vadd_sat(uint64_t a, uint64_t b, uint64_t c)
{
    (void)c;
    return (uint64_t)limit((int64_t)(int32_t)a + (int64_t)b, INT32_MIN, INT32_MAX);
}

static uint64_t vsub_bytes_min(uint64_t a, uint64_t b, uint64_t c)
{
    uint32_t t = (uint32_t)(byte_of(a, 3, true) - byte_of(b, 1, false));
    return t < (uint32_t)c ? t : (uint32_t)c;
}

static uint64_t vabsdiff_merge(uint64_t a, uint64_t b, uint64_t c)
{
    int64_t t = half_of(a, 1, true) - half_of(b, 0, true);
    uint64_t u = (uint64_t)limit(t < 0 ? -t : t, 0, 255);
    return (c & ~UINT64_C(0xff0000)) | u << 16;
}

static uint64_t vmax_add(uint64_t a, uint64_t b, uint64_t c)
{
    return ((int32_t)a > (int32_t)b ? a : b) + c;
}

static uint64_t vshl_clamp(uint64_t a, uint64_t b, uint64_t c)
{
    (void)c;
    unsigned n = (uint8_t)b > 32 ? 32 : (uint8_t)b;
    return n == 32 ? 0 : (uint32_t)a << n;
}

static uint64_t vshr_wrap_add(uint64_t a, uint64_t b, uint64_t c)
{
    return (uint32_t)((int32_t)a >> (b & 31)) + (uint32_t)c;
}

static uint64_t vmad_shift(uint64_t a, uint64_t b, uint64_t c)
{
    return (uint64_t)limit((byte_of(a, 2, false) * (int64_t)(int32_t)b + (int32_t)c) >> 7,
                           INT32_MIN, INT32_MAX);
}

static uint64_t vmad_negated(uint64_t a, uint64_t b, uint64_t c)
{
    return (uint64_t)((int64_t)(int32_t)c - (int64_t)half_of(a, 0, true) * half_of(b, 1, true));
}

static uint64_t vmad_plus_one(uint64_t a, uint64_t b, uint64_t c)
{
    return (uint64_t)(half_of(a, 0, false) * half_of(b, 1, false) + (int64_t)(uint32_t)c + 1) >> 15;
}

static uint64_t vset_add(uint64_t a, uint64_t b, uint64_t c)
{
    return ((int64_t)(int32_t)a < (int64_t)(uint32_t)b) + c;
}

static uint64_t vadd4_sat(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t r = 0;
    (void)c;
    for (int i = 0; i < 4; i++)
        r |= (uint64_t)(limit(byte_of(a, i, true) + byte_of(b, i, true), -128, 127) & 0xff)
             << 8 * i;
    return r;
}

/* .b7531 of a and b side by side; only bytes 2 and 0 are written. */
static uint64_t vsub4_selected(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t both = (a & 0xffffffff) | b << 32, r = c & 0xff00ff00;
    for (int i = 0; i < 4; i += 2)
        r |= (uint64_t)((byte_of(both, 2 * i + 1, false) - byte_of(b, i, false)) & 0xff) << 8 * i;
    return r;
}

static uint64_t vabsdiff4_add(uint64_t a, uint64_t b, uint64_t c)
{
    for (int i = 0; i < 4; i++)
        c += (uint64_t)llabs(byte_of(a, i, false) - byte_of(b, i, false));
    return c;
}

static uint64_t vavrg2(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t r = 0;
    (void)c;
    for (int i = 0; i < 2; i++) {
        int64_t sum = half_of(a, i, true) + half_of(b, i, true);
        r |= (uint64_t)((sum + (sum >= 0)) >> 1 & 0xffff) << 16 * i;
    }
    return r;
}

static uint64_t vset2(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t high = half_of(a, 1, false) >= half_of(b, 1, true);
    return (c & 0xffff) | high << 16;
}

static void video_instructions(void **state)
{
    (void)state;
    static const struct kit_case rows[] = {
        {"vadd.s32.s32.u32.sat wr, wa, wb;", "wwww", vadd_sat},
        {"vsub.u32.s32.u32.min wr, wa.b3, wb.b1, wc;", "wwww", vsub_bytes_min},
        {"vabsdiff.u32.s32.s32.sat wr.b2, wa.h1, wb.h0, wc;", "wwww", vabsdiff_merge},
        {"vmax.s32.s32.s32.add wr, wa, wb, wc;", "wwww", vmax_add},
        {"vshl.u32.u32.u32.clamp wr, wa, wb.b0;", "wwww", vshl_clamp},
        {"vshr.s32.s32.u32.wrap.add wr, wa, wb, wc;", "wwww", vshr_wrap_add},
        {"vmad.s32.u32.s32.sat.shr7 wr, wa.b2, wb, wc;", "wwww", vmad_shift},
        {"vmad.s32.s32.s32 wr, -wa.h0, wb.h1, wc;", "wwww", vmad_negated},
        {"vmad.u32.u32.u32.po.shr15 wr, wa.h0, wb.h1, wc;", "wwww", vmad_plus_one},
        {"vset.s32.u32.lt.add wr, wa, wb, wc;", "wwww", vset_add},
        {"vadd4.s32.s32.s32.sat wr, wa, wb, wc;", "wwww", vadd4_sat},
        {"vsub4.u32.u32.u32 wr.b20, wa.b7531, wb, wc;", "wwww", vsub4_selected},
        {"vabsdiff4.u32.u32.u32.add wr, wa, wb, wc;", "wwww", vabsdiff4_add},
        {"vavrg2.s32.s32.s32 wr, wa, wb, wc;", "wwww", vavrg2},
        {"vset2.u32.s32.ge wr.h1, wa, wb, wc;", "wwww", vset2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        kit_check(&rows[i]);
}

/* ---- others that a case is enough for ---- */

static uint64_t lop3_and(uint64_t a, uint64_t b, uint64_t c)
{
    uint32_t v = (uint32_t)(a ^ b ^ c);
    return v != 0 && (uint32_t)a > (uint32_t)b ? v : ~v;
}

static uint64_t mad24_sat(uint64_t a, uint64_t b, uint64_t c)
{
    int64_t x = (int32_t)(uint32_t)(a << 8) >> 8, y = (int32_t)(uint32_t)(b << 8) >> 8;
    return (uint64_t)limit((int32_t)(x * y >> 16) + (int64_t)(int32_t)c, INT32_MIN, INT32_MAX);
}

static uint64_t relu_pairs(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t r = 0;
    (void)c;
    for (int i = 0; i < 2; i++) {
        int64_t x = half_of(a, i, true), y = half_of(b, i, true), v = x < y ? x : y;
        r |= (uint64_t)(v < 0 ? 0 : v) << 16 * i;
    }
    return r;
}

static void odd_modifiers(void **state)
{
    (void)state;
    static const struct kit_case rows[] = {
        {"setp.gt.u32 q, wa, wb;\nlop3.and.b32 wr|p, wa, wb, wc, 0x96, q;\n@!p not.b32 wr, wr;",
         "wwww", lop3_and},
        {"mad24.hi.sat.s32 wr, wa, wb, wc;", "wwww", mad24_sat},
        {"min.relu.s16x2 wr, wa, wb;", "wwww", relu_pairs},
        {"min.s16x2.relu wr, wa, wb;", "wwww", relu_pairs},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        kit_check(&rows[i]);
}

static uint64_t swapped(uint64_t a, uint64_t b, uint64_t c)
{
    (void)c;
    return b - 3 * a;
}

/* Vectors move at once, so this swaps; words of a form may stand in another order. */
static void vectors_and_orders_of_words(void **state)
{
    (void)state;
    static const struct kit_case rows[] = {
        {"mov.v2.b32 {wa, wb}, {wb, wa};\nmul.lo.u32 wt, wb, 3;\nsub.u32 wr, wa, wt;", "wwww",
         swapped},
        {"mov.v4.b32 {wa, wb, wt, wu}, {wb, wa, wb, wa};\nmul.lo.u32 wu, wu, 3;\n"
         "sub.u32 wr, wt, wu;",
         "wwww", swapped},
        {"setp.eq.u32.or p, wa, wa, q;\n@p mul.u32.lo wt, wa, 3;\nsub.u32 wr, wb, wt;", "wwww",
         swapped},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        kit_check(&rows[i]);
    uint32_t out[12 * 4];
    kit_words(KIT_HEAD ".visible .entry k(.param .u64 out) {\n.reg .b32 a, b, c, e, i;\n"
                       ".reg .b64 x, o;\nld.param.u64 x, [out];\nmov.v4.u32 {a, b, c, e}, %ctaid;\n"
                       "mul.wide.u32 o, a, 16;\nadd.u64 x, x, o;\nst.global.v2.u32 [x], {a, b};\n"
                       "st.global.v2.u32 [x+8], {c, e};\nret;\n}\n",
              12, 1, out, 12 * 4);
    for (uint32_t i = 0; i < 12 * 4; i++)
        assert_int_equal(out[i], i % 4 ? 0 : i / 4);
}

/* ---- the stack ---- */

/* Threads take different amounts, also in a function that they call in between. */
static void stacks_grow_and_shrink(void **state)
{
    (void)state;
    uint32_t out[64];
    kit_words(KIT_HEAD
              ".func (.param .u32 r) inner(.param .u64 n) {\n.reg .b64 d<4>;\n.reg .b32 w;\n"
              "ld.param.u64 d0, [n];\nalloca.u64 d1, d0, 64;\nand.b64 d2, d1, 63;\n"
              "cvt.u32.u64 w, d2;\nst.local.u32 [d1], 1234;\nst.param.u32 [r], w;\nret;\n}\n"
              ".visible .entry k(.param .u64 out) {\n.reg .b64 d<9>, x, s;\n.reg .b32 i, w, v;\n"
              ".param .u64 a;\n.param .u32 b;\nld.param.u64 x, [out];\nmov.u32 i, %tid.x;\n"
              "mul.wide.u32 d0, i, 8;\nadd.u64 x, x, d0;\ncvt.u64.u32 d1, i;\n"
              "add.u64 d1, d1, 5;\nstacksave.u64 s;\nalloca.u64 d2, d1;\nst.local.u8 [d2+4], i;\n"
              "alloca.u64 d3, 4, 4;\nst.local.u32 [d3], 77;\nst.param.u64 [a], d1;\n"
              "call (b), inner, (a);\nld.param.u32 w, [b];\nld.local.u8 v, [d2+4];\n"
              "add.u32 v, v, w;\nst.global.u32 [x], v;\nstackrestore.u64 s;\nalloca.u64 d4, 4;\n"
              "sub.u64 d5, d4, d2;\ncvt.u32.u64 w, d5;\nst.global.u32 [x+4], w;\nret;\n}\n",
              1, 32, out, 64);
    for (uint32_t i = 0; i < 32; i++) {
        assert_int_equal(out[2 * i], i);
        assert_int_equal(out[2 * i + 1], 0);
    }
}

static void a_stack_has_an_end(void **state)
{
    (void)state;
    static const struct {
        const char *body, *says;
        enum ptxvm_kind kind;
    } rows[] = {
        {"alloca.u64 d0, 1000000;", "alloca of 1000000 bytes", PTXVM_STACK_OVERFLOW},
        {"alloca.u64 d0, -1;", "alloca of", PTXVM_STACK_OVERFLOW},
        {"alloca.u64 d0, 16;\nst.local.u32 [d0+16], 1;", "past the end", PTXVM_OUT_OF_BOUNDS_WRITE},
        {"stackrestore.u64 4096;", "stacksave", PTXVM_BAD_OPERAND},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct kit k;
        char ptx[512];
        snprintf(ptx, sizeof ptx, KIT_HEAD ".visible .entry k() {\n.reg .b64 d<4>;\n%s\nret;\n}\n",
                 rows[i].body);
        kit_open(&k, ptx, NULL);
        kit_run(&k, 1, 32, 0, NULL, 0);
        kit_expect(&k, PTXVM_FAULT);
        assert_int_equal(k.result.fault.kind, rows[i].kind);
        if (!strstr(k.result.fault.detail, rows[i].says))
            fail_msg("'%s' is not in: %s", rows[i].says, k.result.fault.detail);
        kit_close(&k);
    }
}

/* ---- tensormap.replace ---- */

/* A map of bytes in one dimension becomes one of 32-bit words in two, in shared memory, is
 * published, and is used. */
static void a_map_is_made_on_the_device(void **state)
{
    (void)state;
    enum { WIDTH = 32, HEIGHT = 16 };
    static const char ptx[] = KIT_HEAD
        ".visible .entry k(.param .u64 map, .param .u64 tensor, .param .u64 out) {\n"
        ".reg .b32 i, s, b, m, v;\n.reg .b64 g, t, x, o;\n.reg .pred p, done;\n"
        ".shared .align 128 .b8 copy[128];\n.shared .align 1024 .b8 box[512];\n"
        ".shared .align 8 .b64 bar;\nld.param.u64 g, [map];\nld.param.u64 t, [tensor];\n"
        "ld.param.u64 x, [out];\nmov.u32 i, %tid.x;\nmov.u32 s, copy;\nmov.u32 b, bar;\n"
        "mov.u32 m, box;\nshl.b32 v, i, 2;\nadd.u32 s, s, v;\ncvt.u64.u32 o, v;\nadd.u64 o, o, g;\n"
        "ld.global.u32 v, [o];\nst.shared.u32 [s], v;\nmov.u32 s, copy;\nbar.warp.sync -1;\n"
        "setp.ne.u32 p, i, 0;\n@p bra ready;\nmbarrier.init.shared.b64 [b], 1;\n"
#define REPLACE(field, type) "tensormap.replace.tile." field ".shared::cta.b1024." type " [s], "
        REPLACE("global_address", "b64") "t;\n" REPLACE("elemtype", "b32") "2;\n" REPLACE("rank", "b32") "1;\n" REPLACE("box_dim", "b32") "0, 8;\n" REPLACE("box_dim", "b32") "1, 8;\n" REPLACE("global_dim", "b32") "0, 32;\n" REPLACE(
            "global_dim",
            "b32") "1, 16;\n" REPLACE("global_stride",
                                      "b64") "0, 128;\n" REPLACE("element_stride",
                                                                 "b32") "1, 2;\n" REPLACE("swizzle_"
                                                                                          "mode",
                                                                                          "b32") "1"
                                                                                                 ";"
                                                                                                 "\n" REPLACE("fill_mode", "b32") "0;\n" REPLACE(
                                                                                                     "interleave_layout",
                                                                                                     "b32") "0;\n"
                                                                                                            "ready: bar.warp.sync -1;\n"
                                                                                                            "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
                                                                                                            "[g], [s], 128;\n@p bra wait;\n"
                                                                                                            "fence.proxy.tensormap::generic.acquire.gpu [g], 128;\n"
                                                                                                            "mbarrier.arrive.expect_tx.shared::cta.b64 _, [b], 128;\n"
                                                                                                            "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [m], "
                                                                                                            "[g, {8, 3}], [b];\nwait: bar.sync 0;\n"
                                                                                                            "again: mbarrier.try_wait.parity.shared::cta.b64 done, [b], 0;\n@!done bra again;\n"
                                                                                                            "shl.b32 v, i, 2;\nadd.u32 m, m, v;\ncvt.u64.u32 o, v;\nadd.u64 x, x, o;\n"
                                                                                                            "ld.shared.u32 v, [m];\nst.global.u32 [x], v;\nret;\n}\n";
    struct kit k;
    kit_open(&k, ptx, NULL);
    uint32_t tensor[WIDTH * HEIGHT], out[32];
    unsigned char map[128];
    for (uint32_t i = 0; i < WIDTH * HEIGHT; i++)
        tensor[i] = i;
    uint64_t p[3] = {ptxvm_alloc(k.vm, "map", 128, 128, PTXVM_READ_WRITE),
                     ptxvm_alloc(k.vm, "tensor", sizeof tensor, 128, PTXVM_READ_ONLY),
                     ptxvm_alloc(k.vm, "out", sizeof out, 128, PTXVM_READ_WRITE)};
    tensor_map_encode(&(struct plan_tensor_map){.rank = 1,
                                                .element_bits = 8,
                                                .dims = {64, 1},
                                                .box = {16, 1},
                                                .element_strides = {1, 1},
                                                .oob_fill = 1,
                                                .swizzle = 3},
                      p[2], map);
    assert_true(ptxvm_write(k.vm, p[0], map, sizeof map));
    assert_true(ptxvm_write(k.vm, p[1], tensor, sizeof tensor));
    kit_run(&k, 1, 32, 0, p, 3);
    kit_expect(&k, PTXVM_OK);
    assert_true(ptxvm_read(k.vm, p[2], out, sizeof out));
    for (uint32_t i = 0; i < 32; i++) { /* rows 3, 5, 7, 9 of columns 8 to 15, 32 bytes each */
        uint32_t chunk = i / 4, line = i / 32, at = (chunk ^ line % 2) * 4 + i % 4;
        assert_int_equal(out[at], (3 + i / 8 * 2) * WIDTH + 8 + i % 8);
    }
    kit_close(&k);
}

/* ---- mma.sync of f64: rounded once for each product, in the order of k ---- */

static void products_of_f64(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k,
             KIT_HEAD
             ".visible .entry k(.param .u64 in, .param .u64 out) {\n.reg .f64 a<4>, b<2>, c<4>;\n"
             ".reg .b64 x, y, o;\n.reg .b32 i;\nld.param.u64 x, [in];\nld.param.u64 y, [out];\n"
             "mov.u32 i, %tid.x;\nmul.wide.u32 o, i, 64;\nadd.u64 x, x, o;\nadd.u64 y, y, o;\n"
             "ld.global.v2.f64 {a0, a1}, [x];\nld.global.v2.f64 {a2, a3}, [x+16];\n"
             "ld.global.v2.f64 {b0, b1}, [x+32];\nmov.f64 c0, 0d3FF0000000000000;\n"
             "mov.f64 c1, c0;\nmov.f64 c2, c0;\nmov.f64 c3, c0;\n"
             "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {c0, c1, c2, c3}, {a0, a1, a2, a3}, "
             "{b0, b1}, {c0, c1, c2, c3};\nst.global.v2.f64 [y], {c0, c1};\n"
             "st.global.v2.f64 [y+16], {c2, c3};\nret;\n}\n",
             NULL);
    double a[16][8], b[8][8], in[32][8], out[32][8];
    uint64_t random = 5, p[2] = {ptxvm_alloc(k.vm, "in", sizeof in, 16, PTXVM_READ_ONLY),
                                 ptxvm_alloc(k.vm, "out", sizeof out, 16, PTXVM_READ_WRITE)};
    for (int row = 0; row < 16; row++)
        for (int x = 0; x < 8; x++)
            a[row][x] = (double)(int64_t)kit_random(&random) * 0x1p-62;
    for (int n = 0; n < 8; n++)
        for (int x = 0; x < 8; x++)
            b[n][x] = (double)(int64_t)kit_random(&random) * 0x1p-62;
    for (int l = 0; l < 32; l++) {
        for (int r = 0; r < 4; r++)
            in[l][r] = a[l / 4 + r % 2 * 8][l % 4 + r / 2 * 4];
        in[l][4] = b[l / 4][l % 4], in[l][5] = b[l / 4][l % 4 + 4];
    }
    assert_true(ptxvm_write(k.vm, p[0], in, sizeof in));
    kit_run(&k, 1, 32, 0, p, 2);
    kit_expect(&k, PTXVM_OK);
    assert_true(ptxvm_read(k.vm, p[1], out, sizeof out));
    for (int l = 0; l < 32; l++)
        for (int r = 0; r < 4; r++) {
            double sum = 1;
            for (int x = 0; x < 8; x++)
                sum = __builtin_fma(a[l / 4 + r / 2 * 8][x], b[l % 4 * 2 + r % 2][x], sum);
            assert_true(out[l][r] == sum);
        }
    kit_close(&k);
}

/* ---- members ---- */

/* Quarters of a warp vote, reduce and elect among themselves in one instruction. */
static void groups_of_a_warp_keep_to_themselves(void **state)
{
    (void)state;
    uint32_t out[32 * 4];
    kit_words(
        KIT_HEAD
        ".visible .entry k(.param .u64 out) {\n.reg .b32 i, q, m, v, e, s;\n.reg .b64 x, o;\n"
        ".reg .pred p, l;\nld.param.u64 x, [out];\nmov.u32 i, %tid.x;\nmul.wide.u32 o, i, 16;\n"
        "add.u64 x, x, o;\nand.b32 q, i, 24;\nshl.b32 m, 255, q;\nand.b32 v, i, 1;\n"
        "setp.ne.u32 p, v, 0;\nvote.sync.ballot.b32 v, p, m;\nst.global.u32 [x], v;\n"
        "redux.sync.add.u32 v, i, m;\nst.global.u32 [x+4], v;\n"
        "elect.sync e|l, m;\nselp.b32 v, 1, 0, l;\nmad.lo.u32 v, e, 2, v;\n"
        "st.global.u32 [x+8], v;\nmatch.any.sync.b32 v, 7, m;\nbar.warp.sync m;\n"
        "st.global.u32 [x+12], v;\nret;\n}\n",
        1, 32, out, 32 * 4);
    for (uint32_t i = 0; i < 32; i++) {
        uint32_t first = i & 24;
        assert_int_equal(out[4 * i], 0xaau << first);
        assert_int_equal(out[4 * i + 1], first * 8 + 28);
        assert_int_equal(out[4 * i + 2], first * 2 + (i == first));
        assert_int_equal(out[4 * i + 3], 0xffu << first);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(video_instructions),
        cmocka_unit_test(odd_modifiers),
        cmocka_unit_test(vectors_and_orders_of_words),
        cmocka_unit_test(stacks_grow_and_shrink),
        cmocka_unit_test(a_stack_has_an_end),
        cmocka_unit_test(a_map_is_made_on_the_device),
        cmocka_unit_test(products_of_f64),
        cmocka_unit_test(groups_of_a_warp_keep_to_themselves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
