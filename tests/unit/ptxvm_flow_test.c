/* SPDX-License-Identifier: Apache-2.0
 * Divergence, forward progress, calls, barriers, exchanges between lanes, and every way a launch
 * can end before its end. */
#include "tests/unit/ptxvm_kit.h"

#define ENTRY(body)                                                                                \
    KIT_HEAD ".visible .entry k(.param .u64 out) {\n"                                              \
             ".reg .b32 %r<20>;\n.reg .b64 %rd<12>;\n.reg .pred %p<8>;\n.reg .f32 %f<8>;\n"        \
             "ld.param.u64 %rd0, [out];\nmov.u32 %r0, %tid.x;\nmul.wide.u32 %rd1, %r0, 4;\n"       \
             "add.u64 %rd2, %rd0, %rd1;\n" body "\nret;\n}\n"
#define STORE(reg) "st.global.u32 [%rd2], " reg ";"

/* ---- divergence ---- */

static void lanes_take_different_ways(void **state)
{
    (void)state;
    uint32_t out[64];
    kit_words(
        ENTRY("and.b32 %r1, %r0, 3; setp.eq.u32 %p0, %r1, 0; @%p0 bra A; setp.eq.u32 %p1, %r1, 1;"
              "@%p1 bra B; mul.lo.u32 %r2, %r0, 3; bra C; A: mov.u32 %r2, 100; bra C;"
              "B: add.u32 %r2, %r0, 1000; C: add.u32 %r2, %r2, 1; " STORE("%r2")),
        1, 64, out, 64);
    for (uint32_t i = 0; i < 64; i++)
        assert_int_equal(out[i], (i % 4 == 0 ? 100 : i % 4 == 1 ? i + 1000 : 3 * i) + 1);
}

static void loops_end_lane_by_lane_and_reconverge(void **state)
{
    (void)state;
    uint32_t out[40];
    /* The ballot after the loop needs all lanes together again. */
    kit_words(ENTRY("mov.u32 %r1, 0; mov.u32 %r2, 0; L: add.u32 %r1, %r1, %r2; add.u32 %r2, %r2, 1;"
                    "setp.le.u32 %p0, %r2, %r0; @%p0 bra L; activemask.b32 %r3; popc.b32 %r3, %r3;"
                    "shl.b32 %r3, %r3, 16; add.u32 %r1, %r1, %r3; " STORE("%r1")),
              1, 40, out, 40);
    for (uint32_t i = 0; i < 40; i++)
        assert_int_equal(out[i], i * (i + 1) / 2 + ((i < 32 ? 32u : 8u) << 16));
}

static void a_spinning_lane_does_not_starve_the_others(void **state)
{
    (void)state;
    uint32_t out[32];
    /* Lane 0 spins on a word that lane 31 writes after the branch; the loop has the lower address.
     */
    kit_words(
        ENTRY(".reg .b32 %v; setp.ne.u32 %p0, %r0, 0; @%p0 bra W;"
              "S: ld.volatile.global.u32 %v, [%rd0+124]; setp.eq.u32 %p1, %v, 0; @%p1 bra S;"
              "bra E; W: setp.ne.u32 %p2, %r0, 31; @%p2 bra E; st.volatile.global.u32 [%rd2], 77;"
              "E: setp.eq.u32 %p3, %r0, 31; @%p3 ret; add.u32 %r1, %r0, 5; " STORE("%r1")),
        1, 32, out, 32);
    assert_int_equal(out[0], 5);
    assert_int_equal(out[31], 77);
}

static void a_lock_within_a_warp_is_passed_on(void **state)
{
    (void)state;
    uint32_t out[2];
    /* Every lane takes a spin lock at out[1] and adds one to out[0] without atomics. */
    kit_words(
        ENTRY("L: atom.global.cas.b32 %r1, [%rd0+4], 0, 1; setp.ne.u32 %p0, %r1, 0; @%p0 bra L;"
              "ld.volatile.global.u32 %r2, [%rd0]; add.u32 %r2, %r2, 1;"
              "st.volatile.global.u32 [%rd0], %r2; membar.gl;"
              "atom.global.exch.b32 %r3, [%rd0+4], 0;"),
        1, 96, out, 2);
    assert_int_equal(out[0], 96);
}

static void warps_and_ctas_that_wait_for_each_other_finish(void **state)
{
    (void)state;
    struct kit k;
    /* CTA 0 waits for CTA 7, warp 0 of each for warp 1. */
    kit_open(
        &k,
        ENTRY("mov.u32 %r1, %ctaid.x; setp.lt.u32 %p0, %r0, 32; @!%p0 bra SET;"
              "W: ld.acquire.gpu.global.u32 %r2, [%rd0+4]; setp.ne.u32 %p1, %r2, 8; @%p1 bra W;"
              "bra E; SET: setp.ne.u32 %p2, %r0, 32; @%p2 bra E;"
              "atom.add.release.gpu.global.u32 %r3, [%rd0+4], 1;"
              "E: atom.global.add.u32 %r4, [%rd0], 1;"),
        &(struct ptxvm_options){.threads = 2});
    uint64_t p[1] = {ptxvm_alloc(k.vm, "out", 8, 4, PTXVM_READ_WRITE)};
    kit_run(&k, 8, 64, 0, p, 1);
    kit_expect(&k, PTXVM_OK);
    const uint32_t *out = ptxvm_host(k.vm, p[0], 8);
    assert_int_equal(out[0], 8 * 64);
    assert_int_equal(k.result.counts.ctas, 8);
    kit_close(&k);
}

static void indexed_branches(void **state)
{
    (void)state;
    uint32_t out[32];
    kit_words(
        ENTRY("T: .branchtargets A, B, C; rem.u32 %r1, %r0, 3; brx.idx %r1, T; A: mov.u32 %r2, 10; "
              "bra E;"
              "B: mov.u32 %r2, 20; bra E; C: mov.u32 %r2, 30; E: add.u32 %r2, %r2, %r0; " STORE(
                  "%r2")),
        1, 32, out, 32);
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(out[i], 10 * (i % 3 + 1) + i);
}

static void values_survive_a_conditional_write_in_a_loop(void **state)
{
    (void)state;
    uint32_t out[32];
    /* %r5 is written in iteration `tid` only and read after it: its slot must not be used again. */
    kit_words(ENTRY("mov.u32 %r1, 0; mov.u32 %r9, 0; L: setp.eq.u32 %p0, %r1, %r0; @%p0 mul.lo.u32 "
                    "%r5, %r0, 7;"
                    "mul.lo.u32 %r6, %r1, 3; add.u32 %r9, %r9, %r6; setp.eq.u32 %p1, %r1, 31;"
                    "@%p1 add.u32 %r9, %r9, %r5; add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, 32; "
                    "@%p2 bra L; " STORE("%r9")),
              1, 32, out, 32);
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(out[i], 3 * 31 * 32 / 2 + 7 * i);
}

/* ---- calls ---- */

static const char calls_ptx[] = KIT_HEAD
    ".func (.param .b32 r) twice(.param .b32 a) {.reg .b32 %x; ld.param.b32 %x, [a]; shl.b32 %x, "
    "%x, 1;"
    "st.param.b32 [r], %x; ret;}\n"
    ".func (.param .b64 r) big(.param .align 8 .b8 a[16], .param .b64 b) {.reg .b64 %x, %y, %z;"
    "ld.param.v2.b64 {%x, %y}, [a]; ld.param.b64 %z, [b]; sub.u64 %x, %x, %y; add.u64 %x, %x, %z;"
    "st.param.b64 [r], %x; ret;}\n"
    ".func (.param .b32 r) fact(.param .b32 n) {.reg .b32 %n, %m; .reg .pred %p; ld.param.b32 %n, "
    "[n];"
    "setp.gt.u32 %p, %n, 1; @%p bra R; st.param.b32 [r], 1; ret; R: sub.u32 %m, %n, 1;"
    "{.param .b32 q; .param .b32 s; st.param.b32 [q], %m; call (s), fact, (q); ld.param.b32 %m, "
    "[s];}"
    "mul.lo.u32 %n, %n, %m; st.param.b32 [r], %n; ret;}\n"
    ".func (.param .b32 r) plus(.param .b32 a) {.reg .b32 %x; ld.param.b32 %x, [a]; add.u32 %x, "
    "%x, 9;"
    "st.param.b32 [r], %x; ret;}\n"
    ".global .align 8 .u64 table[2] = {twice, plus};\n"
    ".visible .entry k(.param .u64 out) {.reg .b32 %r<12>; .reg .b64 %rd<12>; .reg .pred %p;"
    "ld.param.u64 %rd0, [out]; mov.u32 %r0, %tid.x; mul.wide.u32 %rd1, %r0, 16; add.u64 %rd2, "
    "%rd0, %rd1;"
    "{.param .b32 q; .param .b32 s; st.param.b32 [q], %r0; call (s), twice, (q); ld.param.b32 %r1, "
    "[s];}"
    "st.global.u32 [%rd2], %r1;"
    "{.param .align 8 .b8 q[16]; .param .b64 v; .param .b64 s; cvt.u64.u32 %rd3, %r0; st.param.b64 "
    "[q], %rd3;"
    "st.param.b64 [q+8], 5; st.param.b64 [v], 1000; call (s), big, (q, v); ld.param.b64 %rd4, [s];}"
    "cvt.u32.u64 %r2, %rd4; st.global.u32 [%rd2+4], %r2;"
    "and.b32 %r3, %r0, 7; {.param .b32 q; .param .b32 s; st.param.b32 [q], %r3; call (s), fact, "
    "(q);"
    "ld.param.b32 %r4, [s];} st.global.u32 [%rd2+8], %r4;"
    "and.b32 %r5, %r0, 1; mul.wide.u32 %rd5, %r5, 8; mov.u64 %rd6, table; add.u64 %rd6, %rd6, %rd5;"
    "ld.global.u64 %rd7, [%rd6]; {.param .b32 q; .param .b32 s; st.param.b32 [q], %r0;"
    "P: .callprototype (.param .b32 _) _ (.param .b32 _); call (s), %rd7, (q), P; ld.param.b32 "
    "%r6, [s];}"
    "st.global.u32 [%rd2+12], %r6; ret;}\n";

static void functions_are_called(void **state)
{
    (void)state;
    uint32_t out[64 * 4], factorial[8] = {1, 1, 2, 6, 24, 120, 720, 5040};
    kit_words(calls_ptx, 1, 64, out, 64 * 4);
    for (uint32_t i = 0; i < 64; i++) {
        assert_int_equal(out[4 * i], 2 * i);
        assert_int_equal(out[4 * i + 1], i - 5 + 1000);
        assert_int_equal(out[4 * i + 2], factorial[i % 8]);
        assert_int_equal(out[4 * i + 3], i % 2 ? i + 9 : 2 * i);
    }
}

static void parameters_may_be_registers(void **state)
{
    (void)state;
    uint32_t out[33];
    kit_words(
        KIT_HEAD
        ".func (.reg .b32 r) f(.reg .b32 a, .reg .b64 b) {.reg .b32 %x; .reg .pred %p; cvt.u32.u64 "
        "%x, b;"
        "setp.lt.u32 %p, a, 16; @%p bra S; add.u32 r, a, %x; ret; S: sub.u32 r, a, %x;}\n"
        ".visible .entry k(.param .u64 out) {.reg .b32 %r<4>; .reg .b64 %rd<4>; ld.param.u64 %rd0, "
        "[out];"
        "mov.u32 %r0, %tid.x; mul.wide.u32 %rd1, %r0, 4; add.u64 %rd2, %rd0, %rd1; mov.u64 %rd3, 3;"
        "call (%r1), f, (%r0, %rd3); st.global.u32 [%rd2], %r1; ret;}",
        1, 33, out, 33);
    for (uint32_t i = 0; i < 33; i++)
        assert_int_equal(out[i], i < 16 ? i - 3 : i + 3);
}

/* ---- lanes ---- */

static void lanes_exchange(void **state)
{
    (void)state;
    uint32_t out[32 * 8];
    kit_words(
        ENTRY("mul.wide.u32 %rd1, %r0, 32; add.u64 %rd2, %rd0, %rd1; add.u32 %r1, %r0, 100;"
              "shfl.sync.bfly.b32 %r2, %r1, 5, 31, -1; st.global.u32 [%rd2], %r2;"
              "shfl.sync.up.b32 %r2|%p0, %r1, 3, 0, -1; selp.b32 %r3, %r2, 7, %p0; st.global.u32 "
              "[%rd2+4], %r3;"
              "shfl.sync.down.b32 %r2|%p0, %r1, 4, 0x181f, -1; selp.b32 %r3, %r2, 7, %p0; "
              "st.global.u32 [%rd2+8], %r3;"
              "shfl.sync.idx.b32 %r2, %r1, 2, 0x181f, -1; st.global.u32 [%rd2+12], %r2;"
              "and.b32 %r4, %r0, 1; setp.eq.u32 %p1, %r4, 1; vote.sync.ballot.b32 %r5, %p1, -1;"
              "st.global.u32 [%rd2+16], %r5; shr.u32 %r6, %r0, 3; match.any.sync.b32 %r7, %r6, -1;"
              "st.global.u32 [%rd2+20], %r7; redux.sync.add.s32 %r8, %r0, -1; st.global.u32 "
              "[%rd2+24], %r8;"
              "elect.sync %r9|%p2, -1; selp.b32 %r9, 1, 0, %p2; st.global.u32 [%rd2+28], %r9;"),
        1, 32, out, 32 * 8);
    for (uint32_t i = 0; i < 32; i++) {
        const uint32_t *o = out + 8 * i;
        assert_int_equal(o[0], 100 + (i ^ 5));
        assert_int_equal(o[1], i >= 3 ? 100 + i - 3 : 7);
        assert_int_equal(o[2], i % 8 + 4 < 8 ? 100 + i + 4 : 7);
        assert_int_equal(o[3], 100 + i / 8 * 8 + 2);
        assert_int_equal(o[4], 0xaaaaaaaa);
        assert_int_equal(o[5], 0xffu << i / 8 * 8);
        assert_int_equal(o[6], 31 * 32 / 2);
        assert_int_equal(o[7], i == 0);
    }
}

static void diverged_lanes_meet_at_warp_wide_instructions(void **state)
{
    (void)state;
    uint32_t out[32];
    /* The halves come from different loops of different length to one shfl, and to bar.warp.sync at
     * different places. */
    kit_words(
        ENTRY("setp.lt.u32 %p0, %r0, 16; mov.u32 %r1, 0; @%p0 bra A; bar.warp.sync -1; bra J;"
              "A: L: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 50; @%p1 bra L; bar.warp.sync -1;"
              "J: shfl.sync.idx.b32 %r2, %r0, 31, 31, -1; add.u32 %r2, %r2, %r1; " STORE("%r2")),
        1, 32, out, 32);
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(out[i], 31 + (i < 16 ? 50 : 0));
}

/* ---- barriers and shared memory ---- */

static void barriers_order_shared_memory(void **state)
{
    (void)state;
    uint32_t out[256];
    kit_words(
        KIT_HEAD
        ".visible .entry k(.param .u64 out) {.reg .b32 %r<9>; .reg .b64 %rd<4>; .reg .pred %p;"
        ".shared .align 4 .b8 s[1024]; ld.param.u64 %rd0, [out]; mov.u32 %r0, %tid.x; mov.u32 %r1, "
        "s;"
        "shl.b32 %r2, %r0, 2; add.u32 %r3, %r1, %r2; st.shared.u32 [%r3], %r0; bar.sync 0;"
        "sub.u32 %r4, 255, %r0; shl.b32 %r4, %r4, 2; add.u32 %r4, %r1, %r4; ld.shared.u32 %r5, "
        "[%r4];"
        "barrier.sync 1, 256; setp.lt.u32 %p, %r0, 10; bar.red.popc.u32 %r6, 2, %p;"
        "shl.b32 %r6, %r6, 16; add.u32 %r5, %r5, %r6; cvt.u64.u32 %rd1, %r2; add.u64 %rd1, %rd1, "
        "%rd0;"
        "st.global.u32 [%rd1], %r5; ret;}",
        1, 256, out, 256);
    for (uint32_t i = 0; i < 256; i++)
        assert_int_equal(out[i], 255 - i + (10u << 16));
}

static void producers_arrive_and_consumers_wait(void **state)
{
    (void)state;
    uint32_t out[64];
    kit_words(
        KIT_HEAD
        ".visible .entry k(.param .u64 out) {.reg .b32 %r<9>; .reg .b64 %rd<4>; .reg .pred %p;"
        ".shared .align 4 .b8 s[128]; ld.param.u64 %rd0, [out]; mov.u32 %r0, %tid.x; mov.u32 %r1, "
        "s;"
        "and.b32 %r2, %r0, 31; shl.b32 %r2, %r2, 2; add.u32 %r3, %r1, %r2; setp.lt.u32 %p, %r0, 32;"
        "@%p bra C; add.u32 %r4, %r0, 5; st.shared.u32 [%r3], %r4; bar.arrive 3, 64; ret;"
        "C: bar.sync 3, 64; ld.shared.u32 %r5, [%r3]; cvt.u64.u32 %rd1, %r2; add.u64 %rd1, %rd1, "
        "%rd0;"
        "st.global.u32 [%rd1], %r5; ret;}",
        1, 64, out, 64);
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(out[i], i + 32 + 5);
}

static void threads_that_exited_do_not_hold_a_barrier(void **state)
{
    (void)state;
    uint32_t out[64];
    kit_words(ENTRY("setp.ge.u32 %p0, %r0, 20; @%p0 exit; bar.sync 0; " STORE("%r0")), 1, 64, out,
              64);
    assert_int_equal(out[19], 19);
    assert_int_equal(out[20], 0);
}

/* ---- ends ---- */

struct end {
    const char *name, *ptx;
    enum ptxvm_status status;
    enum ptxvm_kind kind;
    const char *says;
};

static const struct end ends[] = {
    {"read past the end", ENTRY("ld.global.u32 %r1, [%rd0+256];"), PTXVM_FAULT,
     PTXVM_OUT_OF_BOUNDS_READ, "4 bytes past the end of out"},
    {"write before the start", ENTRY("st.global.u32 [%rd0+-8], %r0;"), PTXVM_FAULT,
     PTXVM_OUT_OF_BOUNDS_WRITE, "8 bytes before out"},
    {"straddling the end",
     ENTRY("add.u64 %rd3, %rd0, 248; ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd3];"), PTXVM_FAULT,
     PTXVM_OUT_OF_BOUNDS_READ, "8 bytes past"},
    {"misaligned", ENTRY("ld.global.u32 %r1, [%rd0+2];"), PTXVM_FAULT, PTXVM_MISALIGNED,
     "misaligned"},
    {"misaligned vector", ENTRY("ld.global.v2.u32 {%r1, %r2}, [%rd0+4];"), PTXVM_FAULT,
     PTXVM_MISALIGNED, "misaligned"},
    {"null", ENTRY("mov.u64 %rd3, 0; ld.u32 %r1, [%rd3+16];"), PTXVM_FAULT, PTXVM_NULL_ACCESS,
     "null"},
    {"shared past the end",
     KIT_HEAD ".visible .entry k(.param .u64 out) {.reg .b32 %r<4>; .shared .b32 s[4];"
              "mov.u32 %r0, s; ld.shared.u32 %r1, [%r0+16]; ret;}",
     PTXVM_FAULT, PTXVM_OUT_OF_BOUNDS_READ, "shared"},
    {"shared null", ENTRY("mov.u32 %r1, 0; st.shared.u32 [%r1], %r1;"), PTXVM_FAULT,
     PTXVM_OUT_OF_BOUNDS_WRITE, "shared"},
    {"constant memory is read-only",
     KIT_HEAD ".const .align 4 .b32 c[2] = {1, 2};\n"
              ".visible .entry k(.param .u64 out) {.reg .b64 %rd; mov.u64 %rd, c; st.global.u32 "
              "[%rd], 5; ret;}",
     PTXVM_FAULT, PTXVM_READ_ONLY_WRITE, "read-only memory"},
    {"local past the end",
     KIT_HEAD ".visible .entry k(.param .u64 out) {.reg .b64 %rd; .reg .b32 %r;"
              ".local .align 4 .b8 d[128]; mov.u64 %rd, d; ld.local.u32 %r, [%rd+4096]; ret;}",
     PTXVM_FAULT, PTXVM_OUT_OF_BOUNDS_READ, "local"},
    {"trap", ENTRY("trap;"), PTXVM_TRAP, PTXVM_KIND_NONE, "trapped"},
    {"infinite loop", ENTRY("L: bra L;"), PTXVM_BUDGET, PTXVM_KIND_NONE, "budget"},
    {"predicated-off infinite loop",
     ENTRY("setp.ne.u32 %p0, %r0, %r0; L: @%p0 add.u32 %r1, %r1, 1; bra L;"), PTXVM_BUDGET,
     PTXVM_KIND_NONE, "budget"},
    {"recursion without end",
     KIT_HEAD ".func f() {call f; ret;}\n"
              ".visible .entry k(.param .u64 out) {call f; ret;}",
     PTXVM_FAULT, PTXVM_STACK_OVERFLOW, "depth"},
    {"barrier that cannot complete",
     ENTRY("setp.lt.u32 %p0, %r0, 32; @%p0 bra A; bar.sync 1, 64; bra E;"
           "A: bar.sync 2, 64; E:"),
     PTXVM_DEADLOCK, PTXVM_KIND_NONE, "barrier 2"},
    {"lanes that never come",
     ENTRY("setp.lt.u32 %p0, %r0, 16; @%p0 bra A; bar.sync 1, 96; bra E;"
           "A: bar.warp.sync -1; E:"),
     PTXVM_DEADLOCK, PTXVM_KIND_NONE, "for lanes"},
    {"barrier number", ENTRY("mov.u32 %r1, 16; bar.sync %r1;"), PTXVM_FAULT, PTXVM_BAD_BARRIER,
     "16"},
    {"barrier count", ENTRY("bar.sync 0, 33;"), PTXVM_FAULT, PTXVM_BAD_BARRIER, "33"},
    {"call of a number", ENTRY("mov.u64 %rd3, 12345; P: .callprototype _ (); call %rd3, P;"),
     PTXVM_FAULT, PTXVM_BAD_BRANCH, "no function"},
    {"branch past the table",
     ENTRY("T: .branchtargets A, B; mov.u32 %r1, 2; brx.idx %r1, T; A: B:"), PTXVM_FAULT,
     PTXVM_BAD_BRANCH, "table of 2"},
    {"not executed yet", ENTRY("tcgen05.wait::ld.sync.aligned;"), PTXVM_UNSUPPORTED,
     PTXVM_KIND_NONE, "tcgen05.wait"},
    {"unknown function",
     KIT_HEAD
     ".extern .func (.param .b64 r) malloc(.param .b64 n);\n"
     ".visible .entry k(.param .u64 out) {.param .b64 n; .param .b64 r; st.param.b64 [n], 8;"
     "call (r), malloc, (n); ret;}",
     PTXVM_UNSUPPORTED, PTXVM_KIND_NONE, "malloc"},
    {"register too narrow", ENTRY("add.u64 %rd3, %r1, %rd1;"), PTXVM_LAUNCH, PTXVM_KIND_NONE,
     "64 are needed"},
};

static void launches_end_with_a_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        struct kit k;
        kit_open(&k, ends[i].ptx, &(struct ptxvm_options){.instruction_budget = 2000000});
        uint64_t p[1] = {ptxvm_alloc(k.vm, "out", 256, 4, PTXVM_READ_WRITE)};
        kit_run(&k, 2, 64, 0, p, 1);
        const struct ptxvm_fault *f = &k.result.fault;
        if (k.result.status != ends[i].status || f->kind != ends[i].kind ||
            !strstr(f->detail, ends[i].says))
            fail_msg("%s: %s, %s: %s", ends[i].name, ptxvm_status_name(k.result.status),
                     ptxvm_kind_name(f->kind), f->detail);
        if (ends[i].status == PTXVM_FAULT) {
            assert_true(f->located && f->ptx_line > 0 && f->instruction[0]);
            json_t *json = ptxvm_fault_json(&k.result);
            assert_string_equal(json_string_value(json_object_get(json, "kind")),
                                ptxvm_kind_name(f->kind));
            json_decref(json);
        }
        assert_string_equal(f->kernel, "k");
        kit_close(&k);
    }
}

static void configurations_are_checked(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, KIT_HEAD ".visible .entry k(.param .u64 out) .reqntid 64 {ret;}", NULL);
    uint64_t p[2] = {0, 0};
    assert_int_equal(kit_run(&k, 1, 64, 0, p, 1), PTXVM_OK);
    assert_int_equal(kit_run(&k, 1, 32, 0, p, 1), PTXVM_LAUNCH);
    assert_int_equal(kit_run(&k, 0, 64, 0, p, 1), PTXVM_LAUNCH);
    assert_int_equal(kit_run(&k, 1, 1025, 0, p, 1), PTXVM_LAUNCH);
    assert_int_equal(kit_run(&k, 1, 64, 0, p, 2), PTXVM_LAUNCH);
    assert_int_equal(kit_run(&k, 1, 64, 228 * 1024, p, 1), PTXVM_LAUNCH);
    struct ptxvm_launch other = {.symbol = "none", .grid = {1, 1, 1}, .block = {1, 1, 1}};
    ptxvm_result_release(&k.result);
    ptxvm_launch(k.vm, &other, &k.result);
    assert_int_equal(k.result.status, PTXVM_LAUNCH);
    kit_close(&k);
}

static void a_deadline_ends_a_launch(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, ENTRY("L: bra L;"), &(struct ptxvm_options){.deadline_ms = 50});
    uint64_t p[1] = {ptxvm_alloc(k.vm, "out", 256, 4, PTXVM_READ_WRITE)};
    assert_int_equal(kit_run(&k, 1, 32, 0, p, 1), PTXVM_DEADLINE);
    kit_close(&k);
}

/* ---- printf and assert ---- */

static const char print_ptx[] = KIT_HEAD
    ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
    ".global .align 1 .b8 fmt[32] = {105, 61, 37, 100, 32, 102, 61, 37, 46, 50, 102, 32, 120, 61, "
    "37, 108, 108, "
    "120, 32, 115, 61, 37, 115, 10, 0};\n" /* "i=%d f=%.2f x=%llx s=%s\n" */
    ".global .align 1 .b8 word[4] = {97, 98, 99, 0};\n"
    ".visible .entry k(.param .u64 out) {.local .align 8 .b8 d[32]; .reg .b64 %rd<9>; .reg .b32 "
    "%r<4>;"
    ".reg .pred %p; mov.u32 %r0, %tid.x; setp.gt.u32 %p, %r0, 1; @%p ret; mov.u64 %rd0, d; sub.s32 "
    "%r1, 0, %r0;"
    "st.local.u32 [%rd0], %r1; st.local.f64 [%rd0+8], 0d3FF8000000000000; st.local.u64 [%rd0+16], "
    "0xabcdef0123;"
    "mov.u64 %rd1, word; cvta.global.u64 %rd1, %rd1; st.local.u64 [%rd0+24], %rd1; cvta.local.u64 "
    "%rd2, %rd0;"
    "mov.u64 %rd3, fmt; cvta.global.u64 %rd3, %rd3; {.param .b64 f; .param .b64 a; .param .b32 r;"
    "st.param.b64 [f], %rd3; st.param.b64 [a], %rd2; call.uni (r), vprintf, (f, a);} ret;}";

static void printf_goes_to_a_capped_log(void **state)
{
    (void)state;
    struct kit k;
    uint64_t p[1] = {0};
    kit_open(&k, print_ptx, NULL);
    kit_run(&k, 1, 32, 0, p, 1);
    kit_expect(&k, PTXVM_OK);
    assert_string_equal(k.result.log,
                        "i=0 f=1.50 x=abcdef0123 s=abc\ni=-1 f=1.50 x=abcdef0123 s=abc\n");
    kit_close(&k);
    kit_open(&k, print_ptx, &(struct ptxvm_options){.print_max = 100, .threads = 2});
    kit_run(&k, 50, 32, 0, p, 1);
    kit_expect(&k, PTXVM_OK);
    assert_true(strlen(k.result.log) <= 100 && k.result.log_dropped > 1000);
    kit_close(&k);
}

static void a_failed_assertion_says_its_text(void **state)
{
    (void)state;
    struct kit k;
    uint64_t p[1] = {0};
    kit_open(
        &k,
        KIT_HEAD
        ".extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, "
        ".param .b64 c);\n"
        ".global .align 1 .b8 t[4] = {120, 62, 48, 0};\n"
        ".visible .entry k(.param .u64 out) {.reg .b64 %rd; mov.u64 %rd, t; cvta.global.u64 %rd, "
        "%rd;"
        "{.param .b64 m; .param .b64 f; .param .b32 l; .param .b64 n; .param .b64 c; st.param.b64 "
        "[m], %rd;"
        "st.param.b64 [f], %rd; st.param.b32 [l], 42; st.param.b64 [n], %rd; st.param.b64 [c], 1;"
        "call.uni __assertfail, (m, f, l, n, c);} ret;}",
        NULL);
    assert_int_equal(kit_run(&k, 1, 32, 0, p, 1), PTXVM_ASSERT);
    assert_non_null(strstr(k.result.fault.detail, "x>0 (x>0:42"));
    kit_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_take_different_ways),
        cmocka_unit_test(loops_end_lane_by_lane_and_reconverge),
        cmocka_unit_test(a_spinning_lane_does_not_starve_the_others),
        cmocka_unit_test(a_lock_within_a_warp_is_passed_on),
        cmocka_unit_test(warps_and_ctas_that_wait_for_each_other_finish),
        cmocka_unit_test(indexed_branches),
        cmocka_unit_test(values_survive_a_conditional_write_in_a_loop),
        cmocka_unit_test(functions_are_called),
        cmocka_unit_test(parameters_may_be_registers),
        cmocka_unit_test(lanes_exchange),
        cmocka_unit_test(diverged_lanes_meet_at_warp_wide_instructions),
        cmocka_unit_test(barriers_order_shared_memory),
        cmocka_unit_test(producers_arrive_and_consumers_wait),
        cmocka_unit_test(threads_that_exited_do_not_hold_a_barrier),
        cmocka_unit_test(launches_end_with_a_reason),
        cmocka_unit_test(configurations_are_checked),
        cmocka_unit_test(a_deadline_ends_a_launch),
        cmocka_unit_test(printf_goes_to_a_capped_log),
        cmocka_unit_test(a_failed_assertion_says_its_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
