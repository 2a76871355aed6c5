// SPDX-License-Identifier: Apache-2.0
// The shipped architectures load with the numbers we rely on; a document with any one mistake does
// not.
#include "tests/unit/catalogue.h"

static void shipped(void **state)
{
    (void)state;
    const struct arch *h = archs_find(&registry.archs, "sm_90a");
    const struct arch *b = archs_find(&registry.archs, "sm_100a");
    assert_non_null(h);
    assert_non_null(b);
    assert_null(archs_find(&registry.archs, "sm_80"));
    assert_int_equal(h->sm, 90);
    assert_int_equal(b->sm, 100);
    assert_int_equal(h->max_shared_bytes, 227 * 1024);
    assert_int_equal(h->num_sms, 132);
    assert_int_equal(b->num_sms, 148);
    assert_int_equal(h->max_grid[0], INT32_MAX);
    assert_int_equal(h->max_block[2], 64);
    assert_true(h->dense_bf16_flops > 1.06e15 && h->dense_bf16_flops < 1.08e15);
    assert_true(h->device_count == 2);
    assert_string_equal(h->cuda_options[0], "-std=c++20");
    assert_string_equal(b->ptx_options[0], "-lineinfo");
    assert_null(h->ptx_options[1]);
}

static void families(void **state)
{
    (void)state;
    const struct arch *h = archs_find(&registry.archs, "sm_90a");
    const struct arch *b = archs_find(&registry.archs, "sm_100a");
    static const struct {
        unsigned opcode;
        const char *hopper, *blackwell;
    } rows[] = {
        {0x1f0, "gmma", NULL},
        {0x1f3, "gmma", NULL},
        {0x1b4, "tma", "tma"},
        {0x1b6, "tma", "tma"},
        {0x1b7, NULL, NULL},
        {0x1b9, NULL, NULL},
        {0x1ba, "bulk", "bulk"},
        {0x03c, "mma", "mma"},
        {0x1ea, NULL, "tcgen05_mma"},
        {0x1ee, NULL, "tcgen05_move"},
        {0x1e9, NULL, "tcgen05_control"},
        {0x000, NULL, NULL},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct sass_family *x = arch_family(h, rows[i].opcode);
        const struct sass_family *y = arch_family(b, rows[i].opcode);
        assert_string_equal(x ? x->name : "", rows[i].hopper ? rows[i].hopper : "");
        assert_string_equal(y ? y->name : "", rows[i].blackwell ? rows[i].blackwell : "");
    }
    /* The paper: on Hopper gmma or tma qualifies, on Blackwell tcgen05 alone. */
    assert_true(arch_family(h, 0x1b4)->target && !arch_family(b, 0x1b4)->target);
    assert_true(arch_family(h, 0x1f0)->tensor && !arch_family(h, 0x1b4)->tensor);
    assert_true(arch_family(b, 0x1e3)->target && !arch_family(b, 0x1e3)->tensor);
    assert_string_equal(arch_family(h, 0x1f0)->mnemonics[0], "HGMMA");
}

static void mistakes(void **state)
{
    (void)state;
    static const struct broken rows[] = {
        {"name", "'sm_91a'", "$.name must be 'sm_90a' like the folder"},
        {"sm", NULL, "$.sm: is required"},
        {"sm", "'90'", "$.sm: must be an integer"},
        {"surprise", "1", "$.surprise: is not a known field"},
        {"num_sms", "0", "$.num_sms"},
        {"max_grid.1", "0", "$.max_grid: entry 1 must be a positive integer"},
        {"max_grid", "[1, 2]", "$.max_grid"},
        {"max_clock_mhz", "0", "must be positive"},
        {"devices.0", "7", "$.devices: entry 0 must be a string"},
        {"families.0.opcodes.HGMMA", "'1f0'", "must be text like"},
        {"families.0.opcodes.HGMMA", "'0x200'", "must be text like"},
        {"families.0.opcodes.HGMMA", "496", "must be text like"},
        {"families.0.opcodes.HGMMA", "'0x1b4'", "in another family or twice"},
        {"families.1.name", "'gmma'", "given twice"},
        {"families.0.target", NULL, "$.families[0].target: is required"},
        {"sources.num_sms", NULL, "says nothing of 'num_sms'"},
        {"sources.l2", "'x'", "'l2' is not a field"},
        {"sources.l2_bytes", NULL, "says nothing of 'l2_bytes'"},
        {"parameters.l2_bytes", "0", "'l2_bytes' must be a positive number"},
        {"latency_cycles.l2", "'x'", "'l2' must be a positive number"},
        {"peak_flops_per_cycle_per_sm", NULL, "is required"},
        {"compile_options", NULL, "$.compile_options: is required"},
        {"compile_options.ptx", NULL, "$.compile_options.ptx: is required"},
        {"compile_options.cuda.0", "7", "$.compile_options.cuda: entry 0 must be a string"},
        {"compile_options.cuda.0", "'std=c++20'", "entry 0 must be one option"},
        {"compile_options.cuda.0", "'-I /etc'", "entry 0 must be one option"},
        {"compile_options.ptx.0", "'-arch=sm_90'", "-arch is the architecture's name"},
    };
    const struct arch *h = archs_find(&registry.archs, "sm_90a");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        json_t *document = json_deep_copy(h->document);
        char wrapped[64];
        snprintf(wrapped, sizeof(wrapped), "[%s]", rows[i].value ? rows[i].value : "0");
        json_t *list = quoted(wrapped);
        edit(document, rows[i].where, rows[i].value ? json_incref(json_array_get(list, 0)) : NULL);
        json_decref(list);
        char *text = json_dumps(document, 0);
        scratch_write("arch", "sm_90a", "arch.json", text);
        struct archs archs;
        struct fault f = {0};
        assert_int_equal(archs_load(&archs, scratch_home, &f), ERR_INVALID);
        if (!strstr(f.detail, rows[i].fault))
            fail_msg("%s=%s: '%s'", rows[i].where, rows[i].value, f.detail);
        assert_null(archs.items);
        free(text);
        json_decref(document);
        scratch_remove("arch", "sm_90a", "arch.json");
    }
}

static void nothing_to_load(void **state)
{
    (void)state;
    struct archs archs;
    struct fault f = {0};
    assert_int_equal(archs_load(&archs, "/nonexistent", &f), ERR_IO);
    assert_non_null(strstr(f.detail, "/nonexistent/arch"));
    scratch_write("arch", "sm_90a", "other.json", "{}");
    assert_int_equal(archs_load(&archs, scratch_home, &f), ERR_NOT_FOUND);
    scratch_write("arch", "sm_90a", "arch.json", "{\"name\": ");
    assert_int_equal(archs_load(&archs, scratch_home, &f), ERR_INVALID);
    assert_non_null(strstr(f.detail, "line 1"));
    scratch_remove("arch", "sm_90a", "other.json");
    scratch_remove("arch", "sm_90a", "arch.json");
    archs_release(&archs); /* safe after a failure */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shipped),
        cmocka_unit_test(families),
        cmocka_unit_test_setup_teardown(mistakes, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(nothing_to_load, scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests_name("arch", tests, registry_setup, registry_teardown);
}
