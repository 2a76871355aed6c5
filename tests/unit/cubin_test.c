/* SPDX-License-Identifier: Apache-2.0
 * core/cubin against modules that tests/unit/cubin/regenerate.sh assembled: what ptxas says about
 * them must be what the reader says. */
#include "core/cubin.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "core/util.h"

#define CORPUS PTXBENCH_SOURCE_DIR "/tests/fuzz/corpus/fuzz_cubin/"

static struct archs archs;

static int load_archs(void **state)
{
    (void)state;
    return archs_load(&archs, PTXBENCH_SOURCE_DIR, NULL) == ERR_NONE ? 0 : -1;
}

static int drop_archs(void **state)
{
    (void)state;
    archs_release(&archs);
    return 0;
}

static void load(struct buf *b, struct cubin *c, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, CORPUS "%s", name);
    buf_init(b, LIMIT_CUBIN);
    assert_int_equal(read_file(path, b, NULL), ERR_NONE);
    struct fault f = {0};
    if (cubin_open(c, b->data, b->len, &f) != ERR_NONE)
        fail_msg("%s", f.detail);
}

static void reads_a_linked_module(void **state)
{
    (void)state;
    struct buf b;
    struct cubin c;
    struct cubin_function fn;
    load(&b, &c, "module_sm_90a.cubin");
    assert_int_equal(c.sm, 90);
    assert_int_equal(cubin_global_bytes(&c), 400);
    assert_true(cubin_find(&c, "calls", &fn));
    assert_true(fn.entry);
    assert_int_equal(fn.registers, 30);
    assert_int_equal(fn.shared_bytes, 256);
    assert_int_equal(fn.local_bytes, 0);
    assert_int_equal(fn.param_bytes, 0xb1);
    assert_int_equal(fn.param_count, 3);
    static const struct cubin_param want[] = {{0, 0x0, 8}, {1, 0x30, 128}, {2, 0xb0, 1}};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(fn.params[i].ordinal, want[i].ordinal);
        assert_int_equal(fn.params[i].offset, want[i].offset);
        assert_int_equal(fn.params[i].size, want[i].size);
    }

    assert_true(fn.exact_threads);
    assert_int_equal(fn.max_threads[0], 128);
    assert_true(fn.explicit_cluster);
    assert_int_equal(fn.cluster[0], 2);
    assert_true(cubin_find(&c, "other", &fn));
    assert_false(fn.exact_threads);
    assert_int_equal(fn.max_threads[0], 256);
    assert_int_equal(fn.cluster[0], 0);
    assert_false(cubin_find(&c, "third", &fn));
    buf_release(&b);
}

static uint64_t gmma(const struct cubin *c, const char *entry)
{
    const struct arch *a = archs_find(&archs, "sm_90a");
    assert_non_null(a);
    struct cubin_reach reach;
    cubin_reach(c, &entry, 1, &reach);
    uint64_t counts[COUNT_OF(a->families)] = {0};
    struct cubin_function fn;
    for (unsigned at = 0; cubin_next(c, &at, &fn);)
        if (cubin_reached(&reach, fn.section))
            cubin_count(&fn, a, counts);
    for (size_t i = 0; i < a->family_count; i++)
        if (!strcmp(a->families[i].name, "gmma"))
            return counts[i];
    fail_msg("sm_90a has no family gmma");
    return 0;
}

static void counts_only_what_a_kernel_reaches(void **state)
{
    (void)state;
    struct buf b;
    struct cubin c;
    load(&b, &c, "module_sm_90a.cubin");
    assert_int_equal(gmma(&c, "calls"), 1);
    assert_int_equal(gmma(&c, "other"), 2);
    assert_int_equal(gmma(&c, "third"), 0);
    buf_release(&b);
}

static void follows_calls_in_a_relocatable_module(void **state)
{
    (void)state;
    struct buf b;
    struct cubin c;
    struct cubin_function callee;
    struct cubin_reach reach;
    load(&b, &c, "module_sm_90a_relocatable.cubin");
    assert_true(cubin_find(&c, "addone", &callee));
    assert_false(callee.entry);
    cubin_reach(&c, (const char *const[]){"calls"}, 1, &reach);
    assert_true(cubin_reached(&reach, callee.section));
    cubin_reach(&c, (const char *const[]){"other"}, 1, &reach);
    assert_false(cubin_reached(&reach, callee.section));
    assert_true(cubin_find(&c, "calls", &callee));
    assert_int_equal(callee.shared_bytes, 256);
    buf_release(&b);
}

static void names_what_is_undefined(void **state)
{
    (void)state;
    struct buf b;
    struct cubin c;
    load(&b, &c, "heap_sm_100a.cubin");
    assert_int_equal(c.sm, 100);
    assert_int_equal(cubin_global_bytes(&c), 60000000000);
    const char *name = NULL;
    bool malloc_seen = false;
    for (uint64_t at = 0; cubin_next_undefined(&c, &at, &name);)
        malloc_seen |= !strcmp(name, "malloc");
    assert_true(malloc_seen);
    buf_release(&b);
}

/* Everything the reader offers, on bytes that may be anything. */
static void exercise(const uint8_t *data, size_t len)
{
    struct cubin c;
    struct cubin_function fn;
    struct cubin_reach reach;
    struct fault f;
    if (cubin_open(&c, data, len, &f) != ERR_NONE) {
        assert_non_null(strstr(f.detail, "cannot read cubin"));
        return;
    }
    cubin_reach(&c, (const char *const[]){"calls"}, 1, &reach);
    uint64_t counts[16] = {0}, at = 0;
    const char *name;
    for (unsigned i = 0; cubin_next(&c, &i, &fn);)
        cubin_count(&fn, &archs.items[0], counts);
    cubin_find(&c, "calls", &fn);
    while (cubin_next_undefined(&c, &at, &name))
        ;
}

static void survives_every_cut_and_flipped_header(void **state)
{
    (void)state;
    struct buf b;
    struct cubin c;
    load(&b, &c, "module_sm_90a_relocatable.cubin");
    for (size_t len = 0; len < b.len; len += 7) {
        uint8_t *copy = malloc(len + 1); /* so that a read past the end is seen */
        memcpy(copy, b.data, len);
        exercise(copy, len);
        free(copy);
    }
    uint64_t table;
    memcpy(&table, b.data + 40, sizeof table);
    uint8_t *copy = malloc(b.len);
    for (size_t at = 0; at < b.len; at = at == 63 ? (size_t)table : at + 1) {
        memcpy(copy, b.data, b.len);
        copy[at] ^= 0xff;
        exercise(copy, b.len);
    }
    free(copy);
    buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_linked_module),
        cmocka_unit_test(counts_only_what_a_kernel_reaches),
        cmocka_unit_test(follows_calls_in_a_relocatable_module),
        cmocka_unit_test(names_what_is_undefined),
        cmocka_unit_test(survives_every_cut_and_flipped_header),
    };
    return cmocka_run_group_tests(tests, load_archs, drop_archs);
}
