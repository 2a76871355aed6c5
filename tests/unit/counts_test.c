/* SPDX-License-Identifier: Apache-2.0
 * Dynamic counts: families, FLOPs of tensor instructions, and how a report shows them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/util.h"
#include "evaluator/runner_families.h"

static void shapes_weigh_tensor_instructions(void **state)
{
    (void)state;
    /* Four warps share a warpgroup's instruction. */
    assert_true(flops_of_form("wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16") ==
                2.0 * 64 * 256 * 16 / 4);
    assert_true(flops_of_form("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32") ==
                2.0 * 16 * 8 * 16);
    assert_true(flops_of_form("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32") ==
                2.0 * 16 * 16 * 16);
    assert_true(flops_of_form("ldmatrix.sync.aligned.m8n8.x4.shared.b16") == 0);
    assert_true(flops_of_form("mul.lo.u32") == 0);
}

static json_int_t number(const json_t *o, const char *a, const char *b)
{
    return json_integer_value(json_object_get(json_object_get(o, a), b));
}

static void launches_add_up(void **state)
{
    (void)state;
    struct archs archs;
    struct fault f = {0};
    assert_int_equal(archs_load(&archs, PTXBENCH_SOURCE_DIR, &f), ERR_NONE);
    const struct arch *arch = archs_find(&archs, "sm_90a");
    struct ptxvm_count rows[] = {
        {"wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16", 8, 256},
        {"add.s32", 10, 300},
        {"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes", 2, 2},
    };
    const struct ptxvm_counts launch = {.thread_instructions = 558,
                                        .warp_instructions = 20,
                                        .ctas = 1,
                                        .rows = rows,
                                        .row_count = COUNT_OF(rows)};
    struct rig_counts counts = {0};
    families_add(&counts, arch, &launch);
    families_add(&counts, arch, &launch);
    assert_true(counts.tensor_flops == 2 * 8 * 2.0 * 64 * 64 * 16 / 4);
    json_t *json = rig_counts_json(&counts, arch), *family = json_object_get(json, "by_family");
    assert_int_equal(number(family, "gmma", "warps"), 16);
    assert_int_equal(number(family, "tma", "threads"), 4);
    assert_int_equal(number(family, "other", "warps"), 20);
    assert_int_equal(number(family, "other", "threads"), 600);
    const json_t *first = json_array_get(json_object_get(json, "by_instruction"), 0);
    assert_string_equal(json_string_value(json_object_get(first, "name")), "add.s32");
    assert_int_equal(json_integer_value(json_object_get(first, "threads")), 600);
    assert_int_equal(json_array_size(json_object_get(json, "by_instruction")), 3);
    json_decref(json);
    json_decref(counts.forms);
    archs_release(&archs);
}

static void a_report_names_the_most_frequent(void **state)
{
    (void)state;
    struct arch arch = {.family_count = 0};
    struct rig_counts counts = {0};
    struct ptxvm_count rows[COUNTED_FORMS + 9];
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        rows[i] = (struct ptxvm_count){.warps = 1, .threads = i};
        snprintf(rows[i].name, sizeof(rows[i].name), "op%zu", i);
    }
    snprintf(rows[2].name, sizeof(rows[2].name), "cp.async.bulk.tensor.2d.global");
    const struct ptxvm_counts launch = {.rows = rows, .row_count = COUNT_OF(rows)};
    families_add(&counts, &arch, &launch);
    json_t *json = rig_counts_json(&counts, &arch), *list = json_object_get(json, "by_instruction");
    assert_int_equal(json_array_size(list), COUNTED_FORMS + 1);
    assert_int_equal(
        json_integer_value(json_object_get(json_array_get(list, COUNTED_FORMS), "threads")), 2);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(list, 0), "threads")),
                     COUNTED_FORMS + 8);
    json_decref(json);
    json_decref(counts.forms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_weigh_tensor_instructions),
        cmocka_unit_test(launches_add_up),
        cmocka_unit_test(a_report_names_the_most_frequent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
