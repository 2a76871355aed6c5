// SPDX-License-Identifier: Apache-2.0
// What the keeper decides without a GPU: memory, the order of a batch, what a runner's answer
// means, and how a timing is told.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_CUDA
#include "core/util.h"
#include "evaluator/cuda/keeper_timing.h"

#define GIB (INT64_C(1) << 30)
#define MIB_64 (INT64_C(1) << 20)

/* ---- memory ---- */

static void small_tensors_get_all_slots(void **state)
{
    (void)state;
    struct admit_sizes s = {.inputs = 4 * MIB_64,
                            .outputs = 2 * MIB_64,
                            .answers = 8 * MIB_64,
                            .bases = 4,
                            .lane = 8 * MIB_64,
                            .lanes = 4};
    assert_int_equal(admit_slots(&s, 100 * GIB), 16);
    assert_int_equal(admit_bytes(&s, 16), (17 * 8 + 4 * 12 + 4 * 8) * MIB_64);
}

static void slots_keep_within_24_gib_and_the_budget(void **state)
{
    (void)state;
    struct admit_sizes s = {.inputs = 2 * GIB,
                            .outputs = 1 * GIB,
                            .answers = 4 * GIB,
                            .bases = 4,
                            .lane = 4 * GIB,
                            .lanes = 4};
    assert_int_equal(admit_slots(&s, 1000 * GIB), 8); /* 24 / 3 */
    assert_int_equal(admit_bytes(&s, 8), (9 * 4 + 4 * 6 + 16) * GIB);
    assert_int_equal(admit_slots(&s, 76 * GIB), 8);
    assert_int_equal(admit_slots(&s, 75 * GIB), 6);
    assert_int_equal(admit_slots(&s, 52 * GIB), 2);
    assert_int_equal(admit_slots(&s, 51 * GIB), 0);
    s.inputs = 20 * GIB; /* even then two: a block has two launches a side */
    assert_int_equal(admit_slots(&s, 1000 * GIB), 2);
}

static void the_budget_counts_what_is_held_as_free(void **state)
{
    (void)state;
    assert_int_equal(admit_budget(40 * GIB, 40 * GIB), 60 * GIB);
    assert_int_equal(admit_budget(80 * GIB, 0), 60 * GIB);
}

static void the_one_not_used_for_longest_goes(void **state)
{
    (void)state;
    struct admit_entry e[] = {{10, 7}, {20, 3}, {30, 9}};
    assert_int_equal(admit_victim(e, 3, 40, 100), ADMIT_FITS);
    assert_int_equal(admit_victim(e, 3, 41, 100), 1);
    assert_int_equal(admit_victim(e, 3, 101, 100), ADMIT_NEVER);
    assert_int_equal(admit_victim(e, 0, 100, 100), ADMIT_FITS);
    e[1].used = 8;
    assert_int_equal(admit_victim(e, 3, 100, 100), 0);
}

/* Slots of a batch on a device with that much free memory. */
static int slots_of(const struct registry *registry, const char *problem, const char *workload,
                    int64_t free_bytes)
{
    static const struct keeper_gpu gpu = {.device.granule = 2 << 20};
    const struct problem *p = problems_find(&registry->problems, problem);
    struct admit_sizes sizes;
    assert_non_null(p);
    keeper_task_sizes(&gpu, p, problem_workload(p, workload), &sizes);
    return admit_slots(&sizes, admit_budget(free_bytes, 0));
}

/* An H200 has 139 GiB free under three contexts, an H100 78. */
static void every_workload_fits_an_h200(void **state)
{
    (void)state;
    struct registry r;
    struct fault f = {0};
    assert_int_equal(registry_load(&r, home_dir(), &f), ERR_NONE);
    for (size_t i = 0; i < r.problems.count; i++)
        for (size_t j = 0; j < r.problems.items[i].workload_count; j++)
            assert_true(slots_of(&r, r.problems.items[i].name,
                                 r.problems.items[i].workloads[j].name,
                                 139 * GIB) >= ADMIT_SLOTS_MIN);
    assert_int_equal(slots_of(&r, "mha_fwd", "s4096_d128", 139 * GIB), 16);
    assert_int_equal(slots_of(&r, "mha_bwd", "s4096_d128", 139 * GIB), 14);
    assert_int_equal(slots_of(&r, "mha_fwd", "s16384_d256", 139 * GIB), 2);
    assert_int_equal(slots_of(&r, "mha_bwd", "s16384_d128", 139 * GIB), 2);
    assert_int_equal(slots_of(&r, "mha_fwd", "s4096_d128", 78 * GIB), 16);
    assert_int_equal(slots_of(&r, "mha_fwd", "s16384_d256", 78 * GIB), 0);
    registry_release(&r);
}

/* ---- a batch ---- */

static void a_batch_uses_every_slot_once_on_each_side(void **state)
{
    (void)state;
    for (int slots = 2; slots <= ADMIT_SLOTS_MAX; slots += 2) {
        int seen[WIRE_SLOTS] = {0};
        const size_t lead = (size_t)slots / 4 + 1, untimed = 2 * lead;
        json_t *order = order_batch(slots, (int)lead);
        assert_int_equal(json_array_size(order), 2 * (size_t)slots + untimed);
        for (size_t i = 0; i < json_array_size(order); i++) {
            const json_t *entry = json_array_get(order, i);
            const char *side = json_string_value(json_array_get(entry, 0));
            json_int_t slot = json_integer_value(json_array_get(entry, 1));
            bool dummy = i < untimed;
            /* ABBA: sides b c c b, counted behind the untimed pairs b c */
            assert_string_equal(side, dummy ? (i % 2 ? "c" : "b")
                                            : &"b\0c\0c\0b"[2 * ((i - untimed) % 4)]);
            assert_true(dummy == (slot == ORDER_DUMMY || slot == ORDER_DUMMY_BASELINE));
            assert_true((side[0] == 'b') == ((slot >= ORDER_BASELINE && slot < ORDER_DUMMY) ||
                                             slot == ORDER_DUMMY_BASELINE));
            assert_true(!seen[slot]++ || dummy);
        }
        json_decref(order);
    }
}

static void there_are_enough_blocks(void **state)
{
    (void)state;
    static const struct {
        int slots_max;
        double block_us;
        int batches, slots, lead;
    } cases[] = {
        {16, 0, 4, 16, 1},     {14, 0, 5, 14, 1}, {2, 0, 30, 2, 1},
        {16, 3.1e3, 4, 16, 1}, /* gemm: a batch is over before the clock falls */
        {16, 4e3, 4, 16, 50},  /* no longer quite */
        {16, 20e3, 4, 16, 10}, /* attention forward: 30 of them are 0.6 s */
        {14, 32e3, 4, 10, 7},  /* backward, as fast as the baseline: 19 blocks */
        {14, 100e3, 4, 6, 2},  /* and a fifth as fast: the 12 that there must be */
        {2, 350e3, 12, 2, 1},  /* where memory has room for two slots */
        {16, 1e12, 4, 6, 1},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct order_spread s = order_spread(cases[i].slots_max, cases[i].block_us);
        assert_int_equal(s.batches, cases[i].batches);
        assert_int_equal(s.slots, cases[i].slots);
        assert_int_equal(s.lead, cases[i].lead);
    }
    for (int slots = 2; slots <= ADMIT_SLOTS_MAX; slots += 2)
        for (double us = 1; us < 1e7; us *= 1.7) {
            struct order_spread s = order_spread(slots, us);
            int blocks = s.batches * s.slots / 2;
            assert_true(s.slots % 2 == 0 && s.slots >= 2 && s.slots <= slots);
            assert_true(blocks >= ORDER_BLOCKS_MIN && s.batches >= ORDER_BATCHES_MIN);
            assert_true(blocks >= ORDER_BLOCKS || blocks * us >= ORDER_BLOCKS_US);
            assert_true(blocks + 2 <= TIMING_ROOM);
            assert_true(s.lead >= 1 && 2 * (s.slots + s.lead) <= WIRE_ENTRIES);
        }
}

static void blocks_take_times_in_order(void **state)
{
    (void)state;
    const double us[] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct timing_block b[2];
    order_blocks(us, 4, b);
    assert_true(b[0].baseline[0] == 1 && b[0].candidate[0] == 2 && b[0].candidate[1] == 3 &&
                b[0].baseline[1] == 4 && b[0].opens_batch);
    assert_true(b[1].baseline[0] == 5 && b[1].candidate[1] == 7 && !b[1].opens_batch);
}

static void the_roofline_is_the_slower_of_two(void **state)
{
    (void)state;
    assert_float_equal(order_roofline_us(1e12, 1e9, 1e15, 4e12), 1000, 1e-9);
    assert_float_equal(order_roofline_us(1e12, 8e9, 1e15, 4e12), 2000, 1e-9);
    assert_float_equal(order_roofline_us(1e12, 0, 0, 0), 0, 0);
}

/* ---- answers ---- */

static void answer_means(const char *text, enum verdict verdict, const char *detail, bool fault)
{
    struct keeper_end end = {0};
    json_t *answer = json_loads(text, JSON_DECODE_ANY, NULL);
    assert_true(keeper_answer_judge(answer, &end) == (verdict == VERDICT_PASSED));
    assert_int_equal(end.verdict, verdict);
    assert_string_equal(end.detail, detail);
    assert_int_equal(end.fault != NULL, fault);
    keeper_end_release(&end);
    json_decref(answer);
}

static void answers_mean_verdicts(void **state)
{
    (void)state;
    answer_means("{\"ok\": true}", VERDICT_PASSED, "", false);
    answer_means("{\"ok\": false, \"fault\": {\"kind\": \"illegal_access\", \"kernel\": \"k<3>\", "
                 "\"launch\": 1, \"detail\": \"bad\"}}",
                 VERDICT_RUNTIME_ERROR, "illegal_access in launch 1 (k<3>): bad", true);
    answer_means(
        "{\"ok\": false, \"fault\": {\"kind\": \"launch\", \"kernel\": null, \"launch\": null, "
        "\"detail\": \"too large\"}}",
        VERDICT_LAUNCH_ERROR, "launch: too large", true);
    answer_means("{\"ok\": false, \"fault\": {\"kind\": \"module\", \"detail\": \"x\"}}",
                 VERDICT_LAUNCH_ERROR, "module: x", true);
    answer_means("{\"ok\": false, \"fault\": {\"kind\": \"timeout\", \"detail\": \"x\"}}",
                 VERDICT_TIMEOUT, "timeout: x", true);
    answer_means("{\"ok\": false, \"fault\": {\"kind\": \"infra\", \"detail\": \"no slot\"}}",
                 VERDICT_INFRA_ERROR, "no slot", false);
}

static void nonsense_is_our_fault(void **state)
{
    (void)state;
    const char *none = "the runner gave no reason";
    answer_means("{}", VERDICT_INFRA_ERROR, none, false);
    answer_means("[]", VERDICT_INFRA_ERROR, none, false);
    answer_means("7", VERDICT_INFRA_ERROR, none, false);
    answer_means("{\"ok\": 1, \"fault\": []}", VERDICT_INFRA_ERROR, none, false);
    answer_means("{\"ok\": false, \"fault\": {\"kind\": 5, \"detail\": 5}}", VERDICT_INFRA_ERROR,
                 none, false);
    answer_means("{\"ok\": false, \"fault\": {\"kind\": \"assert\", \"launch\": \"x\", \"detail\": "
                 "\"a\\u001b[31m\"}}",
                 VERDICT_RUNTIME_ERROR, "assert: a?[31m", true);
}

static void times_are_positive_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool good;
    } cases[] = {{"[1, 2.5]", true},   {"[1]", false},     {"[1, 2, 3]", false},
                 {"[1, 0]", false},    {"[1, -2]", false}, {"[1, \"2\"]", false},
                 {"[1, null]", false}, {"{}", false},      {"[1, 4e9]", false}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        double us[2];
        json_t *list = json_loads(cases[i].text, 0, NULL);
        assert_true(keeper_answer_times(list, us, 2) == cases[i].good);
        json_decref(list);
    }
    double us[2];
    assert_false(keeper_answer_times(NULL, us, 2));
}

/* ---- how a timing is told ---- */

struct told {
    struct keeper_process process;
    struct keeper_job job;
    struct keeper_task task;
    struct keeper_timing timing;
    struct keeper_end end;
    json_t *result;
};

/* A timing of the paper workload in which every launch takes that long. */
static void tell(struct told *t, double baseline_us, double candidate_us)
{
    struct fault f = {0};
    memset(t, 0, sizeof(*t));
    assert_int_equal(registry_load(&t->process.registry, home_dir(), &f), ERR_NONE);
    t->process.gpu.flops_per_s = 1e15;
    t->process.gpu.bytes_per_s = 4e12;
    t->task.problem = problems_find(&t->process.registry.problems, "gemm");
    t->task.workload = problem_workload(t->task.problem, "m8192_n7168_k5120");
    t->task.slots = 16;
    t->task.plan = json_pack("{s:i, s:[f,f], s:{s:s, s:s}}", "chosen", 1, "us", 800.0, 700.0,
                             "baseline", "name", "cuBLAS", "version", "13.1.0");
    t->job = (struct keeper_job){.process = &t->process, .task = &t->task, .parts = json_object()};
    t->job.plan = calloc(1, sizeof(*t->job.plan));
    assert_non_null(t->job.plan);
    t->job.runner.ready = json_pack("{s:{s:s}}", "baseline", "cuBLAS", "13.1.0");
    t->timing.job = &t->job;
    t->timing.task = &t->task;
    t->timing.count = 32;
    t->timing.batches = 4;
    t->timing.floor_us = 3;
    for (size_t i = 0; i < t->timing.count; i++)
        t->timing.blocks[i] = (struct timing_block){
            {baseline_us, baseline_us}, {candidate_us, candidate_us}, i % 8 == 0};
    t->result = json_object();
}

static void told_release(struct told *t)
{
    json_decref(t->result);
    json_decref(t->task.plan);
    json_decref(t->job.parts);
    json_decref(t->job.runner.ready);
    free(t->job.plan);
    registry_release(&t->process.registry);
}

static double number(const json_t *object, const char *member)
{
    return json_number_value(json_object_get(object, member));
}

static void a_timing_tells_what_it_measured(void **state)
{
    (void)state;
    static struct told t;
    tell(&t, 730, 1000);
    assert_true(keeper_timing_report(&t.timing, t.result, &t.end));
    const json_t *timing = json_object_get(t.result, "timing"),
                 *speedup = json_object_get(t.result, "speedup");
    const json_t *ci = json_object_get(speedup, "ci95");
    assert_float_equal(number(speedup, "value"), 0.73, 1e-5);
    assert_true(json_number_value(json_array_get(ci, 0)) < 0.73 - 5e-4);
    assert_true(json_number_value(json_array_get(ci, 1)) > 0.73 + 5e-4);
    assert_float_equal(number(t.result, "candidate_us"), 1000, 1e-9);
    assert_float_equal(number(json_object_get(t.result, "baseline"), "us"), 730, 1e-9);
    assert_float_equal(number(timing, "tflops"), 601.3, 0.01);
    assert_float_equal(number(timing, "roofline_share"), 0.6013, 1e-4);
    assert_int_equal(json_array_size(json_object_get(timing, "block_us")), 32);
    assert_null(json_object_get(timing, "launches"));
    assert_int_equal((int)number(json_object_get(timing, "baseline"), "chosen"), 1);
    assert_int_equal(t.end.flags, 0);
    told_release(&t);
}

static void faster_than_the_device_is_implausible(void **state)
{
    (void)state;
    static struct told t;
    tell(&t, 730, 500); /* 601 us at best */
    assert_false(keeper_timing_report(&t.timing, t.result, &t.end));
    assert_int_equal(t.end.verdict, VERDICT_IMPLAUSIBLE);
    assert_non_null(json_object_get(t.result, "timing"));
    told_release(&t);
    tell(&t, 730, 610);
    assert_true(keeper_timing_report(&t.timing, t.result, &t.end));
    assert_int_equal(t.end.flags, FLAG_implausible_close);
    told_release(&t);
}

static void a_verdict_that_is_there_stays(void **state)
{
    (void)state;
    static struct told t;
    tell(&t, 730, 500);
    keeper_end_set(&t.end, VERDICT_INCORRECT_NUMERICAL, "wrong");
    assert_false(keeper_timing_report(&t.timing, t.result, &t.end));
    assert_int_equal(t.end.verdict, VERDICT_INCORRECT_NUMERICAL);
    told_release(&t);
    tell(&t, 730, 0); /* times that make no sense */
    assert_false(keeper_timing_report(&t.timing, t.result, &t.end));
    assert_int_equal(t.end.verdict, VERDICT_INFRA_ERROR);
    told_release(&t);
    tell(&t, 1, 1);
    t.timing.count = 0;
    assert_true(keeper_timing_report(&t.timing, t.result, &t.end));
    assert_null(json_object_get(t.result, "speedup"));
    told_release(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_tensors_get_all_slots),
        cmocka_unit_test(slots_keep_within_24_gib_and_the_budget),
        cmocka_unit_test(the_budget_counts_what_is_held_as_free),
        cmocka_unit_test(the_one_not_used_for_longest_goes),
        cmocka_unit_test(every_workload_fits_an_h200),
        cmocka_unit_test(a_batch_uses_every_slot_once_on_each_side),
        cmocka_unit_test(there_are_enough_blocks),
        cmocka_unit_test(blocks_take_times_in_order),
        cmocka_unit_test(the_roofline_is_the_slower_of_two),
        cmocka_unit_test(answers_mean_verdicts),
        cmocka_unit_test(nonsense_is_our_fault),
        cmocka_unit_test(times_are_positive_numbers),
        cmocka_unit_test(a_timing_tells_what_it_measured),
        cmocka_unit_test(faster_than_the_device_is_implausible),
        cmocka_unit_test(a_verdict_that_is_there_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
#include <stdio.h>

int main(void)
{
    printf("1..0 # SKIP built without the headers of CUDA\n");
    return 0;
}
#endif
