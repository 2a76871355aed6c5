// SPDX-License-Identifier: Apache-2.0
// What a turn came to: every verdict and every way in which an answer is none has a label that is
// in the list.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/labels.h"
#include "core/turn_metrics.h"
#include "core/util.h"
#include "core/words.h"

static void verdicts(void **state)
{
    static const struct {
        const char *verdict, *stage, *label;
    } rows[] = {
        {"PASSED", NULL, "correct"},
        {"INCORRECT_NUMERICAL", "check", "numerical"},
        {"COMPILE_ERROR", "compile", "compile"},
        {"LAUNCH_ERROR", "inspect", "plan"},
        {"RUNTIME_ERROR", "check", "runtime"},
        {"SANITIZER_ERROR", "sanitize", "runtime"},
        {"TIMEOUT", "check", "timeout"},
        {"TIMEOUT", "time", "timeout"},
        {"TIMEOUT", "sanitize", "sanitize_timeout"},
        {"TIMEOUT", NULL, "timeout"},
        {"REJECTED", "inspect", "other"},
        {"IMPLAUSIBLE", "time", "other"},
        {"INFRA_ERROR", NULL, "infra"},
        {"CANCELLED", NULL, "infra"},
        {"A_NEW_ONE", NULL, "other"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        json_t *report =
            json_pack("{s:[{s:s, s:s}, {s:s?, s:s}]}", "stages", "name", "first", "state", "passed",
                      "name", rows[i].stage, "state", rows[i].stage ? "failed" : "skipped");
        assert_string_equal(label_of_verdict(rows[i].verdict, report), rows[i].label);
        json_decref(report);
    }
}

static void without_a_report(void **state)
{
    (void)state;
    assert_string_equal(label_of_verdict("TIMEOUT", NULL), "timeout");
    assert_string_equal(label_of_verdict("PASSED", NULL), "correct");
    assert_string_equal(label_of_verdict(NULL, NULL), "infra");
}

static void every_verdict_has_a_label_of_the_list(void **state)
{
    (void)state;
    for (int v = 0; v < VERDICT_COUNT; v++)
        assert_non_null(label_title(label_of_verdict(verdict_name((enum verdict)v), NULL)));
}

static void extractions(void **state)
{
    static const struct {
        enum extract_state state;
        const char *name, *label;
    } rows[] = {
        {EXTRACT_KERNEL, "kernel", "plan"},
        {EXTRACT_NO_BLOCK, "no_block", "extraction"},
        {EXTRACT_NO_KERNEL, "no_kernel", "extraction"},
        {EXTRACT_CUT, "cut", "cut"},
        {EXTRACT_TOO_LARGE, "too_large", "extraction"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_string_equal(extraction_name(rows[i].state), rows[i].name);
        assert_string_equal(label_of_extraction(rows[i].state), rows[i].label);
        assert_non_null(label_title(rows[i].label));
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdicts),
        cmocka_unit_test(without_a_report),
        cmocka_unit_test(every_verdict_has_a_label_of_the_list),
        cmocka_unit_test(extractions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
