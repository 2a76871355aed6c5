// SPDX-License-Identifier: Apache-2.0
// Errors and the closed vocabularies: every row is complete, codes and names are unique, and
// foreign text in a fault is made fit to show.
#include "core/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/text.h"
#include "core/words.h"

static void every_error_has_its_row(void **state)
{
    (void)state;
    assert_string_equal(err_code(ERR_NONE), "ok");
    for (int e = ERR_NONE + 1; e < ERR_COUNT; e++) {
        int status = err_status((enum err)e);
        const char *title = err_title((enum err)e);
        assert_true(status >= 400 && status <= 599);
        assert_true(title[0] && title[strlen(title) - 1] != '.');
        assert_true(text_is_name(err_code((enum err)e)));
        for (int other = 0; other < e; other++)
            assert_string_not_equal(err_code((enum err)e), err_code((enum err)other));
    }
}

static void a_fault_is_fit_to_show(void **state)
{
    (void)state;
    struct fault f = {0};
    assert_int_equal(fault_set(&f, ERR_INVALID, "cannot use '%s'", "a\x1b\n\xff"), ERR_INVALID);
    assert_string_equal(f.detail, "cannot use 'a? ?'");
    assert_int_equal(fault_set(NULL, ERR_IO, "x"), ERR_IO);
    char euro[3 * LIMIT_DETAIL + 1];
    for (int i = 0; i < LIMIT_DETAIL; i++)
        memcpy(euro + 3 * i, "\xe2\x82\xac", 3);
    euro[3 * LIMIT_DETAIL] = '\0';
    fault_set(&f, ERR_IO, "%s", euro);
    assert_int_equal(strlen(f.detail), 510); /* 170 characters of 3 bytes, the cut one dropped */
    assert_true(text_is_utf8(f.detail, strlen(f.detail)));
}

static void faults_are_counted_beyond_the_limit(void **state)
{
    (void)state;
    struct faults faults = {0};
    char first[64];
    assert_false(faults_any(&faults));
    assert_string_equal(faults_first(&faults, first, sizeof(first)), "no fault");
    for (int i = 0; i < LIMIT_FAULTS + 3; i++)
        faults_add(&faults, "$.a", "number %d", i);
    assert_int_equal(json_array_size(faults.items), LIMIT_FAULTS);
    assert_int_equal(faults.dropped, 3);
    assert_string_equal(faults_first(&faults, first, sizeof(first)), "$.a: number 0");
    faults_release(&faults);
    assert_false(faults_any(&faults));
    faults_add(&faults, "$.\xff\x1b", "x"); /* the path is foreign text too */
    assert_string_equal(faults_first(&faults, first, sizeof(first)), "$.??: x");
    faults_release(&faults);
    faults_release(&faults);
}

static void words_both_ways(void **state)
{
    (void)state;
    for (int v = 0; v < VERDICT_COUNT; v++) {
        assert_int_equal(verdict_find(verdict_name((enum verdict)v)), v);
        assert_true(verdict_meaning((enum verdict)v)[0]);
        for (int other = 0; other < v; other++)
            assert_int_not_equal(verdict_exit_code((enum verdict)v),
                                 verdict_exit_code((enum verdict)other));
    }
    assert_int_equal(verdict_exit_code(VERDICT_PASSED), 0);
    assert_int_equal(verdict_find("passed"), -1);
    for (int s = 0; s < STAGE_COUNT; s++)
        assert_true(stage_name((enum stage)s)[0] && stage_summary((enum stage)s)[0]);
    json_t *names = flags_names(FLAG_noisy | FLAG_loose);
    assert_int_equal(json_array_size(names), 2);
    assert_string_equal(json_string_value(json_array_get(names, 0)), "loose");
    assert_string_equal(json_string_value(json_array_get(names, 1)), "noisy");
    json_decref(names);
    names = flags_names(0);
    assert_int_equal(json_array_size(names), 0);
    json_decref(names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_error_has_its_row),
        cmocka_unit_test(a_fault_is_fit_to_show),
        cmocka_unit_test(faults_are_counted_beyond_the_limit),
        cmocka_unit_test(words_both_ways),
    };
    return cmocka_run_group_tests_name("core_err", tests, NULL, NULL);
}
