/* SPDX-License-Identifier: Apache-2.0
 * Schedules by seed, waits that never end and what is said of them, register pools, cooperative
 * grids, launches that count. */
#include "tests/unit/ptxvm_kit.h"

#define KERNEL(directives, body)                                                                   \
    KIT_HEAD ".file 1 \"kernel.cu\"\n.visible .entry k(.param .u64 out) " directives " {\n"        \
             ".reg .b32 r<9>, i;\n.reg .b64 d<9>, x;\n.reg .pred p, q;\n"                          \
             ".shared .align 8 .b8 m[64];\nld.param.u64 x, [out];\nmov.u32 i, %tid.x;\n" body      \
             "ret;\n}\n"

/* The kernel's one buffer of 4096 words afterwards; caller frees it. */
static uint32_t *run_seeded(const char *ptx, uint32_t grid, uint32_t block, uint64_t seed)
{
    struct kit k;
    kit_open(&k, ptx, &(struct ptxvm_options){.seed = seed, .threads = 1});
    uint64_t p[1] = {ptxvm_alloc(k.vm, "out", 16384, 4, PTXVM_READ_WRITE)};
    uint32_t *out = malloc(16384);
    kit_run(&k, grid, block, 0, p, 1);
    kit_expect(&k, PTXVM_OK);
    assert_true(ptxvm_read(k.vm, p[0], out, 16384));
    kit_close(&k);
    return out;
}

/* Every warp appends its number to a list eight times: the list is the schedule. */
static const char race[] = KERNEL(
    "", "shr.u32 r0, i, 5;\nmov.u32 r1, %ctaid.x;\nmad.lo.u32 r0, r1, 100, r0;\n"
        "and.b32 r2, i, 31;\nsetp.ne.u32 p, r2, 0;\n@p exit;\nmov.u32 r3, 0;\n"
        "L: atom.global.add.u32 r4, [x], 1;\nadd.u32 r4, r4, 1;\nmul.wide.u32 d0, r4, 4;\n"
        "add.u64 d0, x, d0;\nst.global.u32 [d0], r0;\nadd.u32 r3, r3, 1;\nsetp.lt.u32 p, r3, 8;\n"
        "@p bra L;\n");

static void a_seed_is_a_schedule(void **state)
{
    (void)state;
    enum { SEEDS = 12 };
    uint32_t *lists[SEEDS], different = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        uint32_t *again = run_seeded(race, 4, 128, seed);
        lists[seed] = run_seeded(race, 4, 128, seed);
        assert_memory_equal(lists[seed], again, 16384);
        assert_int_equal(lists[seed][0], 4 * 4 * 8);
        free(again);
        for (uint64_t other = 0; other < seed; other++)
            different += memcmp(lists[seed], lists[other], 16384) != 0;
    }
    assert_int_equal(different, SEEDS * (SEEDS - 1) / 2);
    for (uint32_t i = 0; i < 8; i++) /* without a seed: in order, each as long as it can */
        assert_int_equal(lists[0][1 + i], 0);
    uint32_t turns = 0;
    for (uint32_t i = 1; i < 4 * 4 * 8; i++)
        turns += lists[3][i] != lists[3][i + 1];
    assert_true(turns > 4 * 4); /* preempted within the loop */
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        free(lists[seed]);
}

/* A lane spins until another lane of its warp, another warp, and another CTA have written. */
static void everybody_makes_progress(void **state)
{
    (void)state;
    static const char spin[] = KERNEL(
        "", "mov.u32 r0, %ctaid.x;\nshl.b32 r1, r0, 6;\nadd.u32 r1, r1, i;\n" /* number */
            "setp.eq.u32 p, r1, 255;\n@p bra W;\nadd.u32 r2, r1, 1;\nmul.wide.u32 d0, r2, 4;\n"
            "add.u64 d0, x, d0;\nL: ld.acquire.gpu.global.u32 r3, [d0];\nsetp.eq.u32 q, r3, 0;\n"
            "@q bra L;\nW: mul.wide.u32 d1, r1, 4;\nadd.u64 d1, x, d1;\n"
            "st.release.gpu.global.u32 [d1], 7;\n");
    for (uint64_t seed = 0; seed < 3; seed++) {
        uint32_t *out = run_seeded(spin, 4, 64, seed);
        for (uint32_t i = 0; i < 256; i++)
            assert_int_equal(out[i], 7);
        free(out);
    }
}

/* Time passes with instructions and sleep, never with the host's clock. */
static void time_is_simulated(void **state)
{
    (void)state;
    static const char clock[] = KERNEL(
        "",
        "shr.u32 r0, i, 5;\nshl.b32 r0, r0, 5;\ncvt.u64.u32 d0, r0;\nadd.u64 d0, x, d0;\n"
        "mov.u64 d1, %globaltimer;\nst.global.u64 [d0], d1;\nshl.b32 r1, i, 8;\nnanosleep.u32 r1;\n"
        "mov.u64 d2, %globaltimer;\nst.global.u64 [d0+8], d2;\nmov.u32 r2, 0;\n"
        "L: add.u32 r2, r2, 1;\nsetp.lt.u32 p, r2, 9000;\n@p bra L;\n"
        "mov.u64 d3, %globaltimer;\nst.global.u64 [d0+16], d3;\nmov.u64 d1, %clock64;\n"
        "mov.u64 d2, %clock64;\nsub.u64 d2, d2, d1;\nst.global.u64 [d0+24], d2;\n");
    for (uint64_t seed = 0; seed < 3; seed++) {
        uint32_t *first = run_seeded(clock, 2, 64, seed), *again = run_seeded(clock, 2, 64, seed);
        assert_memory_equal(first, again, 16384);
        for (size_t warp = 0; warp < 2; warp++) {
            uint64_t t[4];
            memcpy(t, first + 8 * warp, sizeof t);
            assert_true(t[0] > UINT64_C(1600000000) * 1000000000);
            assert_true(t[1] - t[0] >= (32 * warp + 31) * 256); /* the longest sleep of the lanes */
            assert_true(t[2] - t[1] >= 9000 && t[2] - t[1] < 10000000);
            assert_true(t[3] > 0); /* within one turn of the warp */
        }
        free(first);
        free(again);
    }
}

/* A thread whose try_wait says "not yet" may be the one that is waited for. */
static void waiting_is_given_up_where_nothing_else_can_run(void **state)
{
    (void)state;
    static const char itself[] = KERNEL(
        "",
        "mov.u32 r0, m;\nsetp.eq.u32 p, i, 0;\n@p mbarrier.init.shared.b64 [r0], 33;\nbar.sync 0;\n"
        "mov.u32 r1, 0;\nL: mbarrier.try_wait.parity.shared.b64 q, [r0], 0;\n@q bra D;\n"
        "setp.eq.u32 p, r1, 0;\n@p mbarrier.arrive.shared.b64 _, [r0];\nadd.u32 r1, r1, 1;\n"
        "setp.gt.u32 p, i, 0;\n@p bra L;\nsetp.eq.u32 p, r1, 900;\n"
        "@p mbarrier.arrive.shared.b64 _, [r0];\nbra L;\n"
        "D: mul.wide.u32 d0, i, 4;\nadd.u64 d0, x, d0;\nst.global.u32 [d0], r1;\n");
    for (uint64_t seed = 0; seed < 3; seed++) {
        uint32_t *out = run_seeded(itself, 1, 32, seed);
        assert_int_equal(out[0], 900);
        assert_in_range(out[31], 1, 900);
        free(out);
    }
}

/* What a CTA left behind in memory that the next one has again is not to be seen. */
static void shared_memory_is_fresh_in_every_cta(void **state)
{
    (void)state;
    static const char reads_before[] = KERNEL(
        "",
        "mov.u32 r0, m;\nshl.b32 r1, i, 2;\nadd.u32 r0, r0, r1;\nld.shared.u32 r2, [r0];\n"
        "mov.u32 r3, %ctaid.x;\nshl.b32 r3, r3, 4;\nadd.u32 r3, r3, i;\nmul.wide.u32 d0, r3, 4;\n"
        "add.u64 d0, x, d0;\nst.global.u32 [d0], r2;\nst.shared.u32 [r0], i;\n");
    for (uint64_t seed = 0; seed < 3; seed++) {
        uint32_t *out = run_seeded(reads_before, 200, 16, seed);
        for (uint32_t i = 0; i < 200 * 16; i++)
            assert_int_equal(out[i], 0xffffffff);
        free(out);
    }
}

/* ---- waits without end ---- */

static void expect_deadlock(const char *ptx, uint32_t grid, uint32_t block, const char *const *says)
{
    struct kit k;
    kit_open(&k, ptx, NULL);
    uint64_t p[1] = {ptxvm_alloc(k.vm, "out", 4096, 4, PTXVM_READ_WRITE)};
    kit_run(&k, grid, block, 0, p, 1);
    kit_expect(&k, PTXVM_DEADLOCK);
    for (; *says; says++)
        if (!strstr(k.result.fault.detail, *says))
            fail_msg("'%s' is not in: %s", *says, k.result.fault.detail);
    kit_close(&k);
}

static void a_deadlock_names_who_waits_for_what(void **state)
{
    (void)state;
    expect_deadlock(
        KERNEL(".reqnctapercluster 2, 1, 1",
               "mov.u32 r0, m;\nsetp.eq.u32 p, i, 0;\n@p mbarrier.init.shared.b64 [r0], 3;\n"
               "bar.sync 0;\nmov.u32 r1, %cluster_ctarank;\nsetp.eq.u32 q, r1, 0;\n@q bra F;\n"
               ".loc 1 42 1\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\nret;\n"
               "F: setp.lt.u32 p, i, 32;\n@p bra B;\n"
               ".loc 1 17 1\nW: mbarrier.try_wait.parity.shared.b64 p, [r0], 0;\n@!p bra W;\nret;\n"
               "B: .loc 1 23 1\nbar.sync 5, 96;\n"),
        2, 96,
        (const char *const[]){
            "every live warp of the cluster waits",
            "CTA (0,0,0) warp 0 at barrier 5 (32 of 96 threads)", "(kernel.cu:23)",
            "CTA (0,0,0) warps 1-2 for the mbarrier at 0x400 (3 of 3 arrivals and 0 bytes are "
            "missing)",
            "(kernel.cu:17)",
            "CTA (1,0,0) warps 0-2 at the barrier of the cluster (96 of 96 threads of this CTA)",
            "(kernel.cu:42)", NULL});
}

static void registers_come_from_a_pool(void **state)
{
    (void)state;
    static const char trade[] =
        KERNEL(".maxntid 384", "setp.lt.u32 p, i, 128;\n@p bra D;\n"
                               "setmaxnreg.inc.sync.aligned.u32 232;\nbra E;\n"
                               "D: setmaxnreg.dec.sync.aligned.u32 40;\n"
                               "E: mul.wide.u32 d0, i, 4;\nadd.u64 d0, x, d0;\n"
                               "st.global.u32 [d0], 1;\n");
    uint32_t *out = run_seeded(trade, 1, 384, 1); /* 128 (168 - 40) = 256 (232 - 168) */
    for (uint32_t i = 0; i < 384; i++)
        assert_int_equal(out[i], 1);
    free(out);
    /* Nobody gives enough back, though there would be enough. */
    expect_deadlock(KERNEL(".maxntid 384", "setp.lt.u32 p, i, 128;\n@p bra D;\n"
                                           "setmaxnreg.inc.sync.aligned.u32 232;\nret;\n"
                                           "D: setmaxnreg.dec.sync.aligned.u32 96;\n"),
                    1, 384, (const char *const[]){"for 64 more registers a thread (", NULL});
    /* And there is never enough. */
    expect_deadlock(KERNEL(".maxnreg 32", "setp.ge.u32 p, i, 128;\n@p bra D;\n"
                                          "setmaxnreg.inc.sync.aligned.u32 64;\nret;\n"
                                          "D: setmaxnreg.dec.sync.aligned.u32 24;\n"),
                    1, 256,
                    (const char *const[]){"for ever for 64 registers", "8 warps of 32", NULL});
}

static const char wait_for_the_last[] =
    KERNEL("", "mov.u32 r0, %ctaid.x;\nmov.u32 r1, %nctaid.x;\nsub.u32 r1, r1, 1;\n"
               "setp.ne.u32 p, r0, r1;\n@p bra L;\nst.release.gpu.global.u32 [x], 7;\nret;\n"
               ".loc 1 31 1\nL: ld.acquire.gpu.global.u32 r3, [x];\nsetp.eq.u32 q, r3, 0;\n"
               "@q bra L;\n");

/* One that fits on the device passes, with a note; one that does not fit never ends, and the reason
 * says why. With one host thread the first CTA has its turn alone. */
static void ctas_that_wait_for_each_other_are_noted(void **state)
{
    (void)state;
    struct ptxvm_options options = {.threads = 1, .instruction_budget = 1 << 26, .num_sms = 2};
    struct ptxvm_launch launch = {
        .symbol = "k", .grid = {4, 1, 1}, .block = {32, 1, 1}, .param_bytes = 8};
    struct kit k;
    kit_open(&k, wait_for_the_last, &options);
    uint64_t out = ptxvm_alloc(k.vm, "out", 4, 4, PTXVM_READ_WRITE);
    launch.params = &out;
    ptxvm_launch(k.vm, &launch, &k.result);
    kit_expect(&k, PTXVM_OK);
    assert_non_null(strstr(k.result.note, "(line 31)"));
    assert_non_null(strstr(k.result.note, "where 4 of its 4 fit"));

    launch.cooperative = true;
    ptxvm_write(k.vm, out, "\0\0\0", 4);
    ptxvm_result_release(&k.result);
    ptxvm_launch(k.vm, &launch, &k.result);
    kit_expect(&k, PTXVM_OK);
    assert_string_equal(k.result.note, "");

    launch.cooperative = false;
    launch.registers = 255; /* of 32 threads: eight CTAs on an SM */
    launch.grid[0] = 100;
    ptxvm_write(k.vm, out, "\0\0\0", 4);
    ptxvm_result_release(&k.result);
    ptxvm_launch(k.vm, &launch, &k.result);
    kit_expect(&k, PTXVM_BUDGET);
    assert_non_null(strstr(k.result.fault.detail, "where 16 of its 100 fit"));
    kit_close(&k);
}

static void a_block_has_its_registers_or_is_refused(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, KERNEL("", "st.global.u32 [x], 1;\n"), NULL);
    uint64_t out = ptxvm_alloc(k.vm, "out", 4, 4, PTXVM_READ_WRITE);
    struct ptxvm_launch launch = {.symbol = "k",
                                  .grid = {1, 1, 1},
                                  .block = {512, 1, 1},
                                  .registers = 128,
                                  .params = &out,
                                  .param_bytes = 8};
    ptxvm_launch(k.vm, &launch, &k.result);
    kit_expect(&k, PTXVM_OK);
    launch.registers = 129; /* as dear as 136 */
    ptxvm_result_release(&k.result);
    ptxvm_launch(k.vm, &launch, &k.result);
    kit_expect(&k, PTXVM_LAUNCH);
    assert_non_null(strstr(k.result.fault.detail, "registers of a block is 69632"));
    /* A pool of 8 warps of 32 registers has none for 64, whatever .maxnreg allows. */
    ptxvm_result_release(&k.result);
    kit_close(&k);
    kit_open(&k,
             KERNEL("", "setp.ge.u32 p, i, 128;\n@p bra D;\nsetmaxnreg.inc.sync.aligned.u32 64;\n"
                        "ret;\nD: setmaxnreg.dec.sync.aligned.u32 24;\n"),
             NULL);
    out = ptxvm_alloc(k.vm, "out", 4, 4, PTXVM_READ_WRITE);
    launch.block[0] = 256;
    launch.registers = 32;
    ptxvm_launch(k.vm, &launch, &k.result);
    kit_expect(&k, PTXVM_DEADLOCK);
    assert_non_null(strstr(k.result.fault.detail, "8 warps of 32"));
    kit_close(&k);
}

/* A warp that spins for ever is not stuck; what ends the launch says where it was. */
static void a_spinning_warp_is_located(void **state)
{
    (void)state;
    static const char spin[] = KERNEL("", "L: .loc 1 77 1\nld.volatile.global.u32 r0, [x];\n"
                                          "setp.eq.u32 p, r0, 0;\n@p bra L;\n");
    static const struct {
        struct ptxvm_options options;
        enum ptxvm_status status;
    } rows[] = {{{.instruction_budget = 100000}, PTXVM_BUDGET},
                {{.deadline_ms = 20, .seed = 3}, PTXVM_DEADLINE}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct kit k;
        kit_open(&k, spin, &rows[i].options);
        uint64_t p[1] = {ptxvm_alloc(k.vm, "out", 4096, 4, PTXVM_READ_WRITE)};
        kit_run(&k, 1, 64, 0, p, 1);
        kit_expect(&k, rows[i].status);
        assert_true(k.result.fault.located && k.result.fault.source_line == 77);
        kit_close(&k);
    }
}

/* ---- grids ---- */

static void launch_cooperative(struct kit *k, uint32_t grid, bool cooperative, uint32_t registers,
                               const uint64_t *params)
{
    struct ptxvm_launch launch = {.symbol = "k",
                                  .grid = {grid, 1, 1},
                                  .block = {64, 1, 1},
                                  .cooperative = cooperative,
                                  .registers = registers,
                                  .params = params,
                                  .param_bytes = 8};
    ptxvm_result_release(&k->result);
    ptxvm_launch(k->vm, &launch, &k->result);
}

static void a_cooperative_grid_has_a_workspace_and_fits(void **state)
{
    (void)state;
    static const char workspace[] = KERNEL(
        "", "mov.u32 r0, %envreg1;\nmov.u32 r1, %envreg2;\nmov.b64 d0, {r1, r0};\n"
            "st.global.u64 [x], d0;\nsetp.eq.u64 p, d0, 0;\n@p exit;\natom.add.u32 r2, [d0+4], 1;\n"
            "mov.u64 d1, %gridid;\nst.global.u64 [x+8], d1;\n");
    struct kit k;
    uint64_t out[2];
    kit_open(&k, workspace, &(struct ptxvm_options){.num_sms = 2});
    uint64_t p[1] = {ptxvm_alloc(k.vm, "out", 4096, 8, PTXVM_READ_WRITE)};
    launch_cooperative(&k, 4, false, 0, p);
    kit_expect(&k, PTXVM_OK);
    assert_true(ptxvm_read(k.vm, p[0], out, sizeof out) && out[0] == 0);
    for (uint64_t n = 2; n < 4; n++) {
        launch_cooperative(&k, 4, true, 0, p);
        kit_expect(&k, PTXVM_OK);
        assert_true(ptxvm_read(k.vm, p[0], out, sizeof out) && out[0] && out[1] == n);
    }
    kit_close(&k);
    kit_open(&k, KERNEL("", "mov.u32 r0, %envreg1;\nsetp.eq.u32 p, r0, 0;\n@p trap;\n"),
             &(struct ptxvm_options){.num_sms = 2});
    p[0] = ptxvm_alloc(k.vm, "out", 4096, 8, PTXVM_READ_WRITE);
    launch_cooperative(&k, 4, false, 0, p);
    kit_expect(&k, PTXVM_TRAP);
    assert_non_null(strstr(k.result.fault.detail, "needs a cooperative launch"));
    launch_cooperative(&k, 64, true, 0, p); /* 32 on each of 2 multiprocessors */
    kit_expect(&k, PTXVM_OK);
    launch_cooperative(&k, 65, true, 0, p);
    kit_expect(&k, PTXVM_LAUNCH);
    assert_non_null(
        strstr(k.result.fault.detail, "CTAs of a cooperative grid is 65, the limit is 64"));
    launch_cooperative(&k, 9, true, 255, p); /* 65536 / (64 * 255) = 4 on each */
    kit_expect(&k, PTXVM_LAUNCH);
    kit_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seed_is_a_schedule),
        cmocka_unit_test(everybody_makes_progress),
        cmocka_unit_test(time_is_simulated),
        cmocka_unit_test(waiting_is_given_up_where_nothing_else_can_run),
        cmocka_unit_test(shared_memory_is_fresh_in_every_cta),
        cmocka_unit_test(a_deadlock_names_who_waits_for_what),
        cmocka_unit_test(registers_come_from_a_pool),
        cmocka_unit_test(a_block_has_its_registers_or_is_refused),
        cmocka_unit_test(ctas_that_wait_for_each_other_are_noted),
        cmocka_unit_test(a_spinning_warp_is_located),
        cmocka_unit_test(a_cooperative_grid_has_a_workspace_and_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
