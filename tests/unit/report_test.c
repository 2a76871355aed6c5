// SPDX-License-Identifier: Apache-2.0
/* The report's shape: every member of schema 1 is there from the start and in order, whatever
 * stage an evaluation ends in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/util.h"
#include "evaluator/report.h"
#include "evaluator/runner_families.h"

static const char *const members[] = {
    "schema", "id", "verdict", "flags", "detail", "problem", "workload", "arch", "device",
    "device_model", "language", "mode", "environment", "speedup", "candidate_us", "baseline", "timing",
    "target", "stages", "compile", "kernels", "check", "faults", "sanitize", "counts", "sandbox",
    "versions", "epoch",
    "cubin_sha256", "source_sha256", "seeds", "wall_ms",
};

static struct problem problem = {.name = "gemm"};
static struct workload workload = {.name = "small"};
static struct arch arch = {.name = "sm_90a", .family_count = 2,
                           .families = {{.name = "gmma", .target = true}, {.name = "mma"}}};

static char source[] = "abc";

static json_t *begin(const char *id)
{
    struct submission s = {.problem = &problem, .workload = &workload, .arch = &arch,
                           .language = LANGUAGE_PTX, .mode = MODE_CHECK, .source = source,
                           .source_len = 3};
    return report_begin(&s, "cpu", "ptxvm", id);
}

static const json_t *at(const json_t *v, const char *a, const char *b, const char *c)
{
    v = json_object_get(v, a);
    v = b ? json_object_get(v, b) : v;
    return c ? json_object_get(v, c) : v;
}

static void every_member_is_there_in_order(void **state)
{
    (void)state;
    json_t *r = begin("7"), *value;
    const char *key;
    size_t i = 0;
    json_object_foreach(r, key, value)
        assert_string_equal(key, members[i++]);
    assert_int_equal(i, COUNT_OF(members));
    assert_string_equal(json_string_value(json_object_get(r, "source_sha256")),
                        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_true(json_is_null(at(r, "target", "executed", NULL)));
    assert_true(json_is_null(at(at(r, "target", "families", "gmma"), "static", NULL, NULL)));
    json_decref(r);
    r = begin(NULL);
    assert_null(json_object_get(r, "id"));
    json_decref(r);
}

static void stages_are_listed(void **state)
{
    (void)state;
    json_t *r = begin(NULL);
    report_stage(r, STAGE_compile, STAGE_PASSED, 1.5, NULL);
    report_stage(r, STAGE_check, STAGE_FAILED, 2, "why");
    report_end(r, VERDICT_TIMEOUT, FLAG_loose | FLAG_nondeterministic, "too slow", 3.5);
    json_t *stages = json_object_get(r, "stages");
    assert_int_equal(json_array_size(stages), 2);
    assert_string_equal(json_string_value(at(json_array_get(stages, 1), "state", NULL, NULL)), "failed");
    assert_string_equal(json_string_value(at(json_array_get(stages, 1), "detail", NULL, NULL)), "why");
    assert_null(at(json_array_get(stages, 0), "detail", NULL, NULL));
    assert_string_equal(json_string_value(json_object_get(r, "verdict")), "TIMEOUT");
    assert_int_equal(json_array_size(json_object_get(r, "flags")), 2);
    report_end(r, VERDICT_PASSED, 0, "", 3.5);
    assert_true(json_is_null(json_object_get(r, "detail")));
    json_decref(r);
}

static void target_is_executed_only_by_target_families(void **state)
{
    (void)state;
    static const struct {
        int gmma, mma;
        bool executed;
    } rows[] = {{0, 0, false}, {0, 64, false}, {128, 0, true}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        json_t *r = begin(NULL);
        json_t *answer = json_pack("{s:{s:{s:i, s:i}, s:{s:i, s:i}}, s:n, s:[s]}", "families", "gmma",
                                   "warps", rows[i].gmma / 32, "threads", rows[i].gmma, "mma",
                                   "warps", rows[i].mma / 32, "threads", rows[i].mma, "check",
                                   "sandbox", "seccomp");
        report_check(r, answer, &arch);
        assert_int_equal(json_is_true(at(r, "target", "executed", NULL)), rows[i].executed);
        assert_int_equal(json_integer_value(at(at(r, "target", "families", "gmma"), "threads", NULL, NULL)),
                         rows[i].gmma);
        assert_true(json_is_null(at(at(r, "target", "families", "gmma"), "static", NULL, NULL)));
        assert_true(json_is_null(json_object_get(r, "check")));
        json_decref(answer);
        json_decref(r);
    }
}

/* What a keeper tells lands where the page and the board look for it. */
static void a_keeper_fills_its_members(void **state)
{
    (void)state;
    json_t *r = begin(NULL);
    json_t *device = json_pack("{s:s, s:s}", "name", "NVIDIA H200", "uuid", "GPU-1");
    json_t *timed = json_pack("{s:{s:f, s:[f,f]}, s:f, s:{s:s}, s:{s:i}}", "speedup", "value", 1.5,
                              "ci95", 1.4, 1.6, "candidate_us", 10.0, "baseline", "name", "cuBLAS",
                              "timing", "blocks", 32);
    json_t *counted = json_pack("{s:{s:b, s:{s:{s:i, s:i}}, s:f, s:n}}", "target", "executed", 1,
                                "families", "gmma", "warps", 4, "threads", 128, "tensor_share", 1.0,
                                "reason");
    report_device(r, device);
    report_gpu(r, timed);
    report_gpu(r, counted);
    assert_string_equal(json_string_value(json_object_get(r, "device_model")), "NVIDIA H200");
    assert_string_equal(json_string_value(at(r, "environment", "uuid", NULL)), "GPU-1");
    assert_int_equal(json_integer_value(at(r, "timing", "blocks", NULL)), 32);
    assert_true(json_is_true(at(r, "target", "executed", NULL)));
    assert_true(json_is_null(at(r, "target", "reason", NULL)));
    assert_int_equal(json_integer_value(at(at(r, "target", "families", "gmma"), "threads", NULL, NULL)), 128);
    assert_true(json_is_null(at(at(r, "target", "families", "mma"), "threads", NULL, NULL)));
    report_end(r, VERDICT_PASSED, 0, "", 1);
    assert_true(json_real_value(at(r, "speedup", "value", NULL)) == 1.5);
    report_end(r, VERDICT_IMPLAUSIBLE, 0, "too fast", 1);
    assert_true(json_is_null(json_object_get(r, "speedup")));
    assert_false(json_is_null(json_object_get(r, "timing")));
    json_decref(device);
    json_decref(timed);
    json_decref(counted);
    json_decref(r);
}

static void sandbox_is_what_all_children_had(void **state)
{
    (void)state;
    json_t *r = begin(NULL);
    struct compile_result compiled = {.sandbox = json_pack("[s, s, s]", "rlimits", "landlock", "seccomp")};
    json_t *answer = json_pack("{s:[s, s]}", "sandbox", "seccomp", "rlimits");
    report_compile(r, &compiled);
    report_check(r, answer, &arch);
    json_t *both = json_pack("[s, s]", "seccomp", "rlimits");
    assert_true(json_equal(json_object_get(r, "sandbox"), both));
    json_decref(both);
    json_decref(answer);
    json_decref(compiled.sandbox);
    json_decref(r);
}

static void forms_belong_to_families(void **state)
{
    (void)state;
    static const struct {
        const char *form, *family;
    } rows[] = {
        {"wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16", "gmma"},
        {"wgmma.commit_group.sync.aligned", NULL},
        {"cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes", "tma"},
        {"cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group", "tma"},
        {"cp.async.bulk.prefetch.tensor.2d.L2.global.tile", NULL},
        {"cp.async.bulk.commit_group", NULL},
        {"cp.async.bulk.wait_group.read", NULL},
        {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes", "bulk"},
        {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "mma"},
        {"fma.rn.f32", NULL},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *got = family_of_form(rows[i].form);
        assert_string_equal(got ? got : "-", rows[i].family ? rows[i].family : "-");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_member_is_there_in_order),
        cmocka_unit_test(stages_are_listed),
        cmocka_unit_test(target_is_executed_only_by_target_families),
        cmocka_unit_test(a_keeper_fills_its_members),
        cmocka_unit_test(sandbox_is_what_all_children_had),
        cmocka_unit_test(forms_belong_to_families),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
