// SPDX-License-Identifier: Apache-2.0
/* Counts per instruction joined with a cubin: families, shares, and that whatever was not watched
 * is unknown, never zero. The module is tests/unit/cubin/module.ptx. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#ifdef HAVE_CUDA
#include <stdlib.h>
#include <string.h>

#include "core/util.h"
#include "evaluator/cuda/sass_count.h"
#include "evaluator/cuda/tensor_shape.h"

#define CUBIN PTXBENCH_SOURCE_DIR "/tests/fuzz/corpus/fuzz_cubin/module_sm_90a.cubin"

enum { GMMA_FLOPS = 2 * 16 * 8 * 16 }; /* of one warp's m64n8k16 */

static struct archs archs;
static struct buf bytes;
static struct cubin cubin;
static const struct arch *arch;

static int set_up(void **state)
{
    (void)state;
    buf_init(&bytes, LIMIT_CUBIN);
    if (archs_load(&archs, PTXBENCH_SOURCE_DIR, NULL) != ERR_NONE ||
        read_file(CUBIN, &bytes, NULL) != ERR_NONE ||
        cubin_open(&cubin, bytes.data, bytes.len, NULL) != ERR_NONE)
        return -1;
    arch = archs_find(&archs, "sm_90a");
    return arch ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    buf_release(&bytes);
    archs_release(&archs);
    return 0;
}

/* What CUPTI says of a function that `warps` warps ran through: a record per metric, last one
 * first. */
static void run_through(struct sass_records *r, const char *function, uint64_t warps)
{
    struct cubin_function fn;
    assert_true(cubin_find(&cubin, function, &fn));
    size_t n = fn.code_len / 16;
    r->items = realloc(r->items, (r->count + 2 * n) * sizeof(r->items[0]));
    assert_non_null(r->items);
    for (size_t i = n; i-- > 0;) {
        r->items[r->count++] = (struct sass_record){fn.name, (uint32_t)i * 16, warps, 0};
        r->items[r->count++] = (struct sass_record){fn.name, (uint32_t)i * 16, 0, 32 * warps};
    }
}

static const struct sass_count *family(const struct sass_summary *s, const char *name)
{
    for (size_t i = 0; i < arch->family_count; i++)
        if (!strcmp(arch->families[i].name, name))
            return &s->families[i];
    fail_msg("no family %s", name);
    return NULL;
}

static enum err summarise(struct sass_records *r, const char *kernel, uint64_t warps,
                          struct sass_summary *out, struct fault *f)
{
    const struct sass_launch launch = {kernel, warps};
    *f = (struct fault){0};
    sass_records_sort(r);
    return sass_summarise(&cubin, arch, &launch, 1, r, out, f);
}

static void counts_by_family(void **state)
{
    (void)state;
    struct sass_records r = {0};
    struct sass_summary s;
    struct fault f;
    struct cubin_function fn;
    run_through(&r, "other", 5);
    assert_true(cubin_find(&cubin, "other", &fn));
    assert_int_equal(summarise(&r, "other", 5, &s, &f), ERR_NONE);
    assert_int_equal(s.patched, fn.code_len / 16);
    assert_int_equal(s.total.warps, 5 * (fn.code_len / 16));
    assert_int_equal(s.total.threads, 32 * s.total.warps);
    assert_int_equal(family(&s, "gmma")->warps, 2 * 5); /* it holds two */
    assert_int_equal(family(&s, "gmma")->threads, 2 * 5 * 32);
    assert_int_equal(family(&s, "tma")->warps, 0);
    assert_true(s.tensor_flops == 2.0 * 5 * GMMA_FLOPS);
    assert_null(s.shapeless);
    assert_true(s.target);
    sass_records_release(&r);
    sass_records_release(&r);
}

static void counts_predicates_not_passes(void **state)
{
    (void)state;
    struct sass_records r = {0};
    struct sass_summary s;
    struct fault f;
    run_through(&r, "other", 5);
    for (size_t i = 0; i < r.count; i++)
        r.items[i].threads = 0;
    assert_int_equal(summarise(&r, "other", 5, &s, &f), ERR_NONE);
    assert_int_equal(family(&s, "gmma")->warps, 10);
    assert_false(s.target);
    assert_true(s.tensor_flops == 0);
    sass_records_release(&r);
}

static void follows_calls(void **state)
{
    (void)state;
    struct sass_records r = {0};
    struct sass_summary s;
    struct fault f;
    unsigned at = 0;
    uint64_t all = 0;
    for (struct cubin_function fn; cubin_next(&cubin, &at, &fn);)
        if (!strcmp(fn.name, "calls") || !fn.entry) {
            run_through(&r, fn.name, 3);
            all += fn.code_len / 16;
        }
    run_through(&r, "other", 100); /* somebody else's */
    assert_int_equal(summarise(&r, "calls", 3, &s, &f), ERR_NONE);
    assert_int_equal(s.patched, all);
    assert_int_equal(family(&s, "gmma")->warps, 3);
    sass_records_release(&r);
}

static void drop(struct sass_records *r, const char *function, uint32_t pc)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->count; i++)
        if (strcmp(r->items[i].function, function) != 0 || r->items[i].pc != pc)
            r->items[kept++] = r->items[i];
    assert_true(kept < r->count);
    r->count = kept;
}

static uint32_t pc_of_family(const char *function)
{
    struct cubin_function fn;
    assert_true(cubin_find(&cubin, function, &fn));
    for (uint32_t pc = 0; pc < fn.code_len; pc += 16)
        if (arch_family(arch, cubin_opcode(fn.code + pc)))
            return pc;
    fail();
    return 0;
}

static void unwatched_is_unknown(void **state)
{
    (void)state;
    struct sass_records none = {0}, r = {0};
    struct sass_summary s;
    struct fault f;
    assert_int_equal(summarise(&none, "other", 1, &s, &f), ERR_UNAVAILABLE);
    assert_non_null(strstr(f.detail, "0 of 1 warps of other were watched"));
    run_through(&r, "other", 4);
    assert_int_equal(summarise(&r, "other", 8, &s, &f), ERR_UNAVAILABLE); /* launched twice */
    assert_non_null(strstr(f.detail, "4 of 8 warps"));
    assert_int_equal(summarise(&r, "other", 4, &s, &f), ERR_NONE);
    drop(&r, "other", pc_of_family("other"));
    assert_int_equal(summarise(&r, "other", 4, &s, &f), ERR_UNAVAILABLE);
    assert_non_null(strstr(f.detail, "was not watched"));
    sass_records_release(&r);
}

static void padding_may_go_unwatched(void **state)
{
    (void)state;
    struct sass_records r = {0};
    struct sass_summary s;
    struct fault f;
    struct cubin_function fn;
    assert_true(cubin_find(&cubin, "other", &fn));
    run_through(&r, "other", 4);
    drop(&r, "other", (uint32_t)fn.code_len - 16);
    assert_int_equal(summarise(&r, "other", 4, &s, &f), ERR_NONE);
    assert_int_equal(s.patched, fn.code_len / 16 - 1);
    sass_records_release(&r);
}

static void two_launches_of_one_kernel_add_up(void **state)
{
    (void)state;
    struct sass_records r = {0};
    struct sass_summary s;
    struct fault f = {0};
    const struct sass_launch launches[] = {{"other", 4}, {"unbounded", 1}, {"other", 3}};
    run_through(&r, "other", 7);
    run_through(&r, "unbounded", 1);
    sass_records_sort(&r);
    assert_int_equal(sass_summarise(&cubin, arch, launches, 3, &r, &s, &f), ERR_NONE);
    assert_int_equal(family(&s, "gmma")->warps, 14);
    sass_records_release(&r);
}

/* ---- shapes ---- */

static const struct word {
    uint64_t first, second;
    const char *shape; /* "": none */
} words[] = {
#define WORD(first, second, shape) {UINT64_C(first), UINT64_C(second), shape},
#include "tests/unit/cubin/tensor_words.def"
#undef WORD
};

static void reads_every_shape(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        uint8_t instruction[16];
        char got[32] = "";
        struct tensor_shape s;
        memcpy(instruction, &words[i].first, 8);
        memcpy(instruction + 8, &words[i].second, 8);
        if (tensor_shape(instruction, &s))
            snprintf(got, sizeof(got), "%dx%dx%d", s.m, s.n, s.k);
        if (strcmp(got, words[i].shape) != 0)
            print_message("row %zu\n", i);
        assert_string_equal(got, words[i].shape);
    }
}

static void counts_operations_of_a_warp(void **state)
{
    (void)state;
    assert_true(tensor_shape_flops(&(struct tensor_shape){64, 256, 16, 4}) == 131072);
    assert_true(tensor_shape_flops(&(struct tensor_shape){16, 8, 16, 1}) == 4096);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_by_family),
        cmocka_unit_test(counts_predicates_not_passes),
        cmocka_unit_test(follows_calls),
        cmocka_unit_test(unwatched_is_unknown),
        cmocka_unit_test(padding_may_go_unwatched),
        cmocka_unit_test(two_launches_of_one_kernel_add_up),
        cmocka_unit_test(reads_every_shape),
        cmocka_unit_test(counts_operations_of_a_warp),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
#else
#include <stdio.h>

int main(void)
{
    printf("1..0 # SKIP built without the headers of CUDA\n");
    return 0;
}
#endif
