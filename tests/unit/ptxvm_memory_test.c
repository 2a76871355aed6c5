/* SPDX-License-Identifier: Apache-2.0
 * Memory: vectors, widths, generic addresses, local arrays, constants and initialisers, atomics
 * under contention, counts, and the interface the evaluator uses. */
#include "core/limits.h"
#include "tests/unit/ptxvm_kit.h"

#include "evaluator/ptxvm/floats.h"

#define REGS                                                                                       \
    ".reg .b16 %h<8>;\n.reg .b32 %r<20>;\n.reg .b64 %rd<20>;\n.reg .f32 %f<8>;\n.reg .pred "       \
    "%p<4>;\n"
#define ENTRY(body)                                                                                \
    KIT_HEAD ".visible .entry k(.param .u64 out) {\n" REGS                                         \
             "ld.param.u64 %rd0, [out];\nmov.u32 %r0, %tid.x;\nmul.wide.u32 %rd1, %r0, 32;\n"      \
             "add.u64 %rd2, %rd0, %rd1;\n" body "\nret;\n}\n"

static void vectors_and_narrow_types(void **state)
{
    (void)state;
    uint32_t out[40 * 8];
    kit_words(
        ENTRY("mov.u32 %r1, 0x80ff7f01; add.u32 %r2, %r1, %r0; st.global.v2.u32 [%rd2], {%r1, %r2};"
              "ld.global.s8 %r3, [%rd2+3]; st.global.u32 [%rd2+8], %r3; ld.global.u8 %r4, [%rd2+2];"
              "st.global.u16 [%rd2+12], %r4; ld.global.s16 %rd3, [%rd2+2]; st.global.u64 "
              "[%rd2+16], %rd3;"
              "ld.global.v4.b8 {%h0, %h1, %h2, %h3}, [%rd2]; cvt.u32.u16 %r5, %h1; cvt.u32.u16 "
              "%r6, %h3;"
              "st.global.v2.b32 [%rd2+24], {%r5, %r6};"),
        1, 40, out, 40 * 8);
    for (uint32_t i = 0; i < 40; i++) {
        const uint32_t *o = out + 8 * i;
        assert_int_equal(o[0], 0x80ff7f01);
        assert_int_equal(o[1], 0x80ff7f01 + i);
        assert_int_equal(o[2], 0xffffff80);
        assert_int_equal(o[3] & 0xffff, 0xff);
        assert_int_equal(o[4], 0xffff80ff);
        assert_int_equal(o[5], 0xffffffff);
        assert_int_equal(o[6], 0x7f);
        assert_int_equal(o[7], 0x80);
    }
}

static void generic_addresses_reach_every_space(void **state)
{
    (void)state;
    uint32_t out[32 * 8];
    /* Even lanes point into shared, odd ones into local memory, with one instruction. */
    kit_words(
        ENTRY(
            ".shared .align 8 .b8 s[256]; .local .align 8 .b8 l[16];"
            "mov.u64 %rd3, s; shl.b32 %r1, %r0, 3; cvt.u64.u32 %rd4, %r1; add.u64 %rd3, %rd3, %rd4;"
            "cvta.shared.u64 %rd5, %rd3; mov.u64 %rd6, l; cvta.local.u64 %rd7, %rd6; and.b32 %r2, "
            "%r0, 1;"
            "setp.eq.u32 %p0, %r2, 0; selp.b64 %rd8, %rd5, %rd7, %p0; add.u32 %r3, %r0, 500;"
            "st.v2.u32 [%rd8], {%r3, %r0}; ld.u32 %r4, [%rd8]; ld.u64 %rd9, [%rd8]; st.global.u32 "
            "[%rd2], %r4;"
            "st.global.u64 [%rd2+8], %rd9; isspacep.shared %p1, %rd8; selp.u32 %r5, 1, 0, %p1;"
            "isspacep.local %p2, %rd8; selp.u32 %r6, 2, 0, %p2; or.b32 %r5, %r5, %r6; "
            "isspacep.global %p3, %rd2;"
            "selp.u32 %r6, 4, 0, %p3; or.b32 %r5, %r5, %r6; st.global.u32 [%rd2+16], %r5;"
            "cvta.to.shared.u64 %rd10, %rd5; sub.u64 %rd10, %rd10, %rd3; st.global.u32 [%rd2+20], "
            "%rd10;"),
        1, 32, out, 32 * 8);
    for (uint32_t i = 0; i < 32; i++) {
        const uint32_t *o = out + 8 * i;
        assert_int_equal(o[0], i + 500);
        assert_int_equal(o[2], i + 500);
        assert_int_equal(o[3], i);
        assert_int_equal(o[4], (i % 2 ? 2 : 1) | 4);
        assert_int_equal(o[5], 0);
    }
}

static void local_arrays_are_private_and_indexed(void **state)
{
    (void)state;
    uint32_t out[64 * 8];
    kit_words(
        ENTRY(".local .align 16 .b8 l[64]; mov.u64 %rd3, l; mov.u32 %r1, 0;"
              "L: mul.lo.u32 %r2, %r1, %r0; mul.wide.u32 %rd4, %r1, 4; add.u64 %rd5, %rd3, %rd4;"
              "st.local.u32 [%rd5], %r2; add.u32 %r1, %r1, 1; setp.lt.u32 %p0, %r1, 16; @%p0 bra L;"
              "and.b32 %r3, %r0, 15; mul.wide.u32 %rd4, %r3, 4; add.u64 %rd5, %rd3, %rd4; "
              "ld.local.u32 %r4, [%rd5];"
              "ld.local.v4.u32 {%r5, %r6, %r7, %r8}, [l+16]; ld.local.u64 %rd6, [l+8]; "
              "st.local.u16 [l+2], 7;"
              "ld.local.u32 %r9, [l]; st.global.v4.u32 [%rd2], {%r4, %r5, %r8, %r9}; st.global.u64 "
              "[%rd2+16], %rd6;"),
        1, 64, out, 64 * 8);
    for (uint32_t i = 0; i < 64; i++) {
        const uint32_t *o = out + 8 * i;
        assert_int_equal(o[0], i % 16 * i);
        assert_int_equal(o[1], 4 * i);
        assert_int_equal(o[2], 7 * i);
        assert_int_equal(o[3], 7u << 16);
        assert_int_equal(o[4], 2 * i);
        assert_int_equal(o[5], 3 * i);
    }
}

static void variables_are_initialised(void **state)
{
    (void)state;
    uint32_t out[8];
    kit_words(KIT_HEAD
              ".const .align 4 .f32 c[3] = {0f3F800000, 2.0, 0f40400000};\n"
              ".global .align 4 .u32 g[2] = {11, 22};\n.global .align 8 .b64 p[2] = {g, g+4};\n"
              ".global .align 4 .u32 z[4] = {9};\n"
              ".visible .entry k(.param .u64 out) {" REGS
              "ld.param.u64 %rd0, [out]; ld.const.u32 %r0, [c+4];"
              "st.global.u32 [%rd0], %r0; ld.global.u64 %rd1, [p+8]; ld.global.u32 %r1, [%rd1]; "
              "st.global.u32 [%rd0+4], %r1;"
              "ld.global.u32 %r2, [z]; ld.global.u32 %r3, [z+12]; st.global.u32 [%rd0+8], %r2; "
              "st.global.u32 [%rd0+12], %r3; ret;}",
              1, 1, out, 8);
    assert_int_equal(out[0], 0x40000000);
    assert_int_equal(out[1], 22);
    assert_int_equal(out[2], 9);
    assert_int_equal(out[3], 0);
}

static void dynamic_shared_memory_follows_static(void **state)
{
    (void)state;
    struct kit k;
    kit_open(
        &k,
        KIT_HEAD
        ".extern .shared .align 16 .b8 dyn[];\n.visible .entry k(.param .u64 out) {" REGS
        ".shared .align 4 .b8 s[20]; ld.param.u64 %rd0, [out]; mov.u32 %r0, dyn; mov.u32 %r1, s; "
        "sub.u32 %r2, %r0, %r1;"
        "st.global.u32 [%rd0], %r2; mov.u32 %r3, %dynamic_smem_size; st.global.u32 [%rd0+4], %r3;"
        "st.shared.u32 [dyn+96], %r3; mov.u32 %r4, %total_smem_size; st.global.u32 [%rd0+8], %r4; "
        "ret;}",
        NULL);
    uint64_t p[1] = {ptxvm_alloc(k.vm, "out", 16, 4, PTXVM_READ_WRITE)};
    kit_run(&k, 1, 1, 100, p, 1);
    kit_expect(&k, PTXVM_OK);
    const uint32_t *out = ptxvm_host(k.vm, p[0], 16);
    assert_int_equal(out[0], 32);
    assert_int_equal(out[1], 100);
    assert_int_equal(out[2], 132);
    assert_int_equal(kit_run(&k, 1, 1, 96, p, 1), PTXVM_FAULT);
    kit_close(&k);
}

/* ---- atomics: what many CTAs on two threads add up to ---- */

static void atomics_are_atomic_across_ctas(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k,
             KIT_HEAD
             ".visible .entry k(.param .u64 out) {" REGS
             ".shared .align 4 .u32 s; ld.param.u64 %rd0, [out]; mov.u32 %r0, %tid.x; setp.eq.u32 "
             "%p0, %r0, 0;"
             "@%p0 st.shared.u32 [s], 0; bar.sync 0; atom.shared.add.u32 %r1, [s], 1; bar.sync 0;"
             "ld.shared.u32 %r2, [s]; @%p0 red.global.add.u32 [%rd0], %r2; red.global.add.u64 "
             "[%rd0+8], 3;"
             "red.global.add.f32 [%rd0+16], 0f3F000000; red.global.add.f64 [%rd0+24], "
             "0d3FE0000000000000;"
             "red.global.max.s32 [%rd0+32], %r0; red.global.min.u32 [%rd0+36], %r0; "
             "red.global.or.b32 [%rd0+40], %r0;"
             "atom.global.inc.u32 %r3, [%rd0+44], 6; mov.b32 %r4, 0x3c003c00; "
             "red.global.add.noftz.f16x2 [%rd0+48], %r4;"
             "red.global.add.v2.f32 [%rd0+56], {0f3F800000, 0f40000000}; ret;}",
             &(struct ptxvm_options){.threads = 2});
    uint64_t p[1] = {ptxvm_alloc(k.vm, "out", 64, 8, PTXVM_READ_WRITE)};
    uint32_t *out = ptxvm_host(k.vm, p[0], 64);
    out[8] = (uint32_t)-5, out[9] = 1000;
    kit_run(&k, 16, 64, 0, p, 1);
    kit_expect(&k, PTXVM_OK);
    uint32_t n = 16 * 64;
    assert_int_equal(out[0], n);
    assert_int_equal(out[2], 3 * n);
    assert_int_equal(out[4], f32_bits((float)n / 2));
    assert_int_equal(out[7], f64_bits((double)n / 2) >> 32);
    assert_int_equal(out[8], 63);
    assert_int_equal(out[9], 0);
    assert_int_equal(out[10], 63);
    assert_int_equal(out[11], n % 7);
    assert_int_equal(out[12], f16_nearest((float)n) * 0x10001);
    assert_int_equal(out[14], f32_bits((float)n));
    assert_int_equal(out[15], f32_bits(2 * (float)n));
    kit_close(&k);
}

static void compare_and_swap(void **state)
{
    (void)state;
    uint32_t out[16];
    kit_words(KIT_HEAD
              ".visible .entry k(.param .u64 out) {" REGS ".reg .b128 %q<3>;"
              "ld.param.u64 %rd0, [out]; atom.global.cas.b32 %r0, [%rd0], 0, 5; "
              "atom.global.cas.b32 %r1, [%rd0], 0, 6;"
              "st.global.u32 [%rd0+4], %r1; mov.b16 %h0, 0; mov.b16 %h1, 9; atom.global.cas.b16 "
              "%h2, [%rd0+10], %h0, %h1;"
              "atom.exch.b64 %rd1, [%rd0+16], 0x123456789; mov.b64 %rd2, 1; mov.b64 %rd3, 2; "
              "mov.b128 %q0, {%rd2, %rd3};"
              "atom.exch.b128 %q1, [%rd0+32], %q0; mov.b64 %rd4, 7; mov.b128 %q1, {%rd4, %rd4};"
              "atom.cas.b128 %q2, [%rd0+32], %q0, %q1; mov.b128 {%rd5, %rd6}, %q2; st.global.u64 "
              "[%rd0+48], %rd6; ret;}",
              1, 1, out, 16);
    assert_int_equal(out[0], 5);
    assert_int_equal(out[1], 5);
    assert_int_equal(out[2], 9u << 16);
    assert_int_equal(out[4], 0x23456789);
    assert_int_equal(out[5], 1);
    assert_int_equal(out[8], 7);
    assert_int_equal(out[12], 2);
}

/* ---- special registers, counts, the interface ---- */

static void special_registers(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k,
             KIT_HEAD ".visible .entry k(.param .u64 out) {" REGS
                      "ld.param.u64 %rd0, [out]; mov.u32 %r0, %tid.x; mov.u32 %r1, %tid.y; mov.u32 "
                      "%r2, %tid.z; mov.u32 %r3, %ntid.x;"
                      "mov.u32 %r4, %ntid.y; mov.u32 %r5, %ctaid.y; mov.u32 %r6, %nctaid.y; "
                      "mad.lo.u32 %r7, %r2, %r4, %r1;"
                      "mad.lo.u32 %r7, %r7, %r3, %r0; mul.wide.u32 %rd1, %r7, 32; add.u64 %rd2, "
                      "%rd0, %rd1; setp.ne.u32 %p0, %r5, 1;"
                      "@%p0 ret; mov.u32 %r8, %laneid; mov.u32 %r9, %warpid; mov.u32 %r10, "
                      "%lanemask_lt; mov.u32 %r11, %nsmid;"
                      "st.global.v4.u32 [%rd2], {%r7, %r8, %r9, %r10}; st.global.v4.u32 [%rd2+16], "
                      "{%r1, %r2, %r6, %r11}; ret;}",
             &(struct ptxvm_options){.num_sms = 99});
    uint64_t out_at = ptxvm_alloc(k.vm, "out", 60 * 32, 8, PTXVM_READ_WRITE);
    struct ptxvm_launch l = {
        .symbol = "k", .grid = {1, 3, 1}, .block = {5, 4, 3}, .params = &out_at, .param_bytes = 8};
    ptxvm_launch(k.vm, &l, &k.result);
    kit_expect(&k, PTXVM_OK);
    const uint32_t *out = ptxvm_host(k.vm, out_at, 60 * 32);
    for (uint32_t i = 0; i < 60; i++) {
        const uint32_t want[8] = {i, i % 32, i / 32, (1u << i % 32) - 1, i / 5 % 4, i / 20, 3, 99};
        assert_memory_equal(out + 8 * i, want, sizeof want);
    }
    kit_close(&k);
}

static void counts_are_exact(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k,
             ENTRY("setp.lt.u32 %p0, %r0, 5; @%p0 add.u32 %r1, %r0, 1; mov.u32 %r2, 0;"
                   "L: add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 10; @%p1 bra L; bar.sync 0;"),
             NULL);
    uint64_t p[1] = {ptxvm_alloc(k.vm, "out", 32 * 64, 8, PTXVM_READ_WRITE)};
    kit_run(&k, 3, 40, 0, p, 1);
    kit_expect(&k, PTXVM_OK);
    uint64_t add_threads = 0, add_warps = 0, bar_warps = 0, bra = 0, all = 0;
    for (size_t i = 0; i < k.result.counts.row_count; i++) {
        const struct ptxvm_count *c = &k.result.counts.rows[i];
        all += c->threads;
        if (strcmp(c->name, "add.u32") == 0)
            add_threads = c->threads, add_warps = c->warps;
        if (strcmp(c->name, "bar.sync") == 0)
            bar_warps = c->warps;
        if (strcmp(c->name, "bra") == 0)
            bra = c->threads;
    }
    assert_int_equal(add_threads, 3 * (5 + 40 * 10));
    assert_int_equal(add_warps, 3 * (1 + 2 * 10));
    assert_int_equal(bar_warps, 3 * 2);
    assert_int_equal(bra, 3 * 40 * 9);
    assert_int_equal(all, k.result.counts.thread_instructions);
    kit_close(&k);
}

static void the_interface_places_and_protects(void **state)
{
    (void)state;
    struct kit k;
    static uint32_t host[4] __attribute__((aligned(16))) = {1, 2, 3, 4};
    kit_open(&k, ENTRY("ld.global.u32 %r1, [%rd0]; st.global.u32 [%rd0+4], %r1;"), NULL);
    uint64_t p[1] = {ptxvm_map(k.vm, "host", host, sizeof host, PTXVM_READ_ONLY)};
    assert_int_equal(kit_run(&k, 1, 1, 0, p, 1), PTXVM_FAULT);
    assert_int_equal(k.result.fault.kind, PTXVM_READ_ONLY_WRITE);
    assert_string_equal(k.result.fault.allocation, "host");
    assert_true(ptxvm_protect(k.vm, p[0], PTXVM_READ_WRITE));
    assert_int_equal(kit_run(&k, 1, 1, 0, p, 1), PTXVM_OK);
    assert_int_equal(host[1], 1);
    uint64_t next = ptxvm_alloc(k.vm, "next", 10, 512, PTXVM_READ_WRITE);
    assert_true(next % 512 == 0 && next >= p[0] + sizeof host + 65536);
    assert_null(ptxvm_host(k.vm, next, 11));
    assert_false(ptxvm_protect(k.vm, next + 1, PTXVM_READ_ONLY));
    size_t offset, bytes, align;
    assert_true(ptxvm_kernel_param(k.vm, "k", 0, &offset, &bytes, &align));
    assert_true(offset == 0 && bytes == 8 && align == 8);
    assert_false(ptxvm_kernel_param(k.vm, "k", 1, &offset, &bytes, &align));
    kit_close(&k);
}

static void memory_has_a_ceiling(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k,
             KIT_HEAD ".func f() {.local .b8 l[1024]; call f; ret;}\n"
                      ".visible .entry k(.param .u64 out) {call f; ret;}",
             &(struct ptxvm_options){.memory_max = 1 << 20});
    assert_int_equal(ptxvm_alloc(k.vm, "big", 2 << 20, 1, PTXVM_READ_WRITE), 0);
    uint64_t p[1] = {0};
    assert_int_equal(kit_run(&k, 1, 1024, 0, p, 1), PTXVM_NO_MEMORY);
    kit_close(&k);
}

/* Whatever the ceiling, a launch ends with a status and gives everything back (ASan tells). */
static void every_ceiling_ends_cleanly(void **state)
{
    (void)state;
    static const char ptx[] =
        KIT_HEAD ".func (.param .b32 r) f(.param .b32 a) {.local .b8 l[256]; .reg .b32 %x; "
                 "ld.param.b32 %x, [a]; st.local.u32 [l], %x; ld.local.u32 %x, [l]; "
                 "st.param.b32 [r], %x; ret;}\n"
                 ".visible .entry k(.param .u64 out) {" REGS ".shared .b8 s[4096];"
                 "mov.u32 %r0, %tid.x; {.param .b32 a; .param .b32 r; st.param.b32 [a], %r0;"
                 "call (r), f, (a); ld.param.b32 %r1, [r];} bar.sync 0; ret;}";
    bool fits = false, starves = false;
    /* With one host thread in steps small enough that each charge is the one to fail, with two in
     * coarse ones. */
    for (size_t max = 1, threads = 1; threads <= 2; max += threads == 1 ? KIB : max / 8 + 1) {
        struct kit k;
        kit_open(&k, ptx, &(struct ptxvm_options){.memory_max = max, .threads = (int)threads});
        uint64_t p[1] = {0};
        enum ptxvm_status s = kit_run(&k, 4, 64, 0, p, 1);
        assert_true(s == PTXVM_OK || s == PTXVM_NO_MEMORY || s == PTXVM_LAUNCH);
        fits |= s == PTXVM_OK;
        starves |= s == PTXVM_NO_MEMORY;
        kit_close(&k);
        if (max > (threads == 1 ? 256 * KIB : 2 * MIB)) {
            max = 0;
            threads++;
        }
    }
    assert_true(fits && starves);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_and_narrow_types),
        cmocka_unit_test(generic_addresses_reach_every_space),
        cmocka_unit_test(local_arrays_are_private_and_indexed),
        cmocka_unit_test(variables_are_initialised),
        cmocka_unit_test(dynamic_shared_memory_follows_static),
        cmocka_unit_test(atomics_are_atomic_across_ctas),
        cmocka_unit_test(compare_and_swap),
        cmocka_unit_test(special_registers),
        cmocka_unit_test(counts_are_exact),
        cmocka_unit_test(the_interface_places_and_protects),
        cmocka_unit_test(memory_has_a_ceiling),
        cmocka_unit_test(every_ceiling_ends_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
