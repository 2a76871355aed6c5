// SPDX-License-Identifier: Apache-2.0
// What a model is told: picked from reports, rendered in two styles, never more than the ceiling.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/feedback.h"
#include "core/util.h"
#include "core/limits.h"

static json_t *json(const char *text)
{
    json_t *value = json_loads(text, 0, NULL);
    assert_non_null(value);
    return value;
}

static char *render(json_t *feedback, enum feedback_style style)
{
    struct buf out;
    assert_non_null(feedback);
    buf_init(&out, FEEDBACK_MAX);
    feedback_render(feedback, style, &out);
    assert_false(out.failed);
    json_decref(feedback);
    return buf_take(&out, NULL);
}

static void contains(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("no \"%s\" in:\n%s", part, text);
}

static void lacks(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("\"%s\" in:\n%s", part, text);
}

static const struct feedback_turn third = {.turn = 3,
                                           .of = 8,
                                           .target_speedup = 1.2,
                                           .best_turn = 1,
                                           .best_speedup = 0.5,
                                           .last_verdict = "COMPILE_ERROR"};

#define PASSED                                                                                     \
    "{\"verdict\": \"PASSED\", \"flags\": [\"loose\"], \"detail\": null,"                          \
    " \"speedup\": {\"value\": 0.8125, \"ci95\": [0.81, 0.815]}, \"candidate_us\": 1000.5,"        \
    " \"baseline\": {\"name\": \"cuBLAS\", \"us\": 812.9},"                                        \
    " \"timing\": {\"tflops\": 600.2, \"roofline_share\": 0.61, \"floor_us\": 2.1,"                \
    "   \"launches\": [{\"kernel\": \"a\", \"us\": 10.5}, {\"kernel\": \"b\", \"us\": 990}]},"     \
    " \"target\": {\"executed\": true, \"tensor_share\": 0.995, \"reason\": null,"                 \
    "   \"families\": {\"gmma\": {\"warps\": 1024}, \"tma\": {\"warps\": null}}},"                 \
    " \"kernels\": [{\"name\": \"a\", \"registers\": 168, \"spill_store_bytes\": 4,"               \
    "   \"spill_load_bytes\": 8, \"shared_bytes\": 1024}],"                                        \
    " \"compile\": {\"warnings\": [{\"code\": \"C7510\", \"line\": 12, \"text\": \"wgmma is "      \
    "serialized\"}]},"                                                                             \
    " \"check\": {\"strict\": false, \"trials\": [{\"distribution\": \"normal\", \"tensors\": ["   \
    "   {\"name\": \"C\", \"max_abs\": 0.5, \"max_rel\": 0.001, \"excess\": 0.0002}]}]}}"

static void a_right_kernel_hears_its_numbers(void **state)
{
    json_t *report = json(PASSED);
    (void)state;
    json_t *f = feedback_of_report(&third, report, "ptxas: no news", "source");
    assert_false(json_is_true(json_object_get(f, "target_met")));
    assert_true(json_is_null(json_object_get(f, "log")));
    char *text = render(f, FEEDBACK_FULL);
    contains(
        text,
        "Turn 3 of 8: PASSED, speedup 0.8125 (95 % interval 0.8100 to 0.8150). The target of 1.20 "
        "is not reached.\n");
    contains(text, "The turn before: COMPILE_ERROR.\n");
    contains(text, "Best so far: 0.5000 at turn 1.\n");
    contains(
        text,
        "- C on normal inputs: max abs error 0.5, max rel 0.001, excess over rounding 0.0002\n");
    contains(text, "Your kernel: 1000.5 us; cuBLAS: 812.9 us.\n");
    contains(text, "600 TFLOP/s, 61 %");
    contains(text, "- launch 1, b: 990.0 us\n");
    contains(text,
             "Target instructions: executed (executed by warps: gmma 1024); they did 100 % of the "
             "arithmetic.\n");
    contains(text, "Flags: loose.\n");
    contains(text, "- a: 168 registers, 12 bytes spilled, 1024 bytes of static shared memory\n");
    contains(text, "- line 12: C7510: wgmma is serialized\n");
    contains(text, "Make it faster.");
    free(text);
    json_decref(report);
}

static void the_papers_style_says_no_more_than_the_paper(void **state)
{
    json_t *report = json(PASSED);
    (void)state;
    char *text = render(feedback_of_report(&third, report, NULL, NULL), FEEDBACK_PAPER);
    contains(text, "speedup 0.8125");
    contains(text, "cuBLAS: 812.9 us");
    contains(text, "max abs error");
    static const char *const more[] = {"Best so far", "TFLOP/s", "Target instructions", "registers",
                                       "C7510"};
    for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
        lacks(text, more[i]);
    free(text);
    json_decref(report);
}

static void the_target_is_reached_at_its_number(void **state)
{
    static const struct {
        double target;
        bool met;
    } cases[] = {{0.8125, true}, {0.8126, false}, {0.1, true}};
    json_t *report = json(PASSED);
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct feedback_turn turn = {.turn = 1, .of = 1, .target_speedup = cases[i].target};
        json_t *f = feedback_of_report(&turn, report, NULL, NULL);
        assert_int_equal(json_is_true(json_object_get(f, "target_met")), cases[i].met);
        json_decref(f);
    }
    json_decref(report);
}

static void a_compile_error_shows_the_source(void **state)
{
    static const char source[] = "one\ntwo\nthree\nfour\nfive\nsix\n";
    static const char log[] = "kernel.cu(4): error: four is wrong\nkernel.cu(4): error: twice\n"
                              "other.h(1): error: elsewhere\nkernel.cu(1): warning: no error\n";
    json_t *report =
        json("{\"verdict\": \"COMPILE_ERROR\", \"detail\": \"line 4: four is wrong\"}");
    (void)state;
    char *text = render(feedback_of_report(&third, report, log, source), FEEDBACK_FULL);
    contains(text, "Turn 3 of 8: COMPILE_ERROR.\nline 4: four is wrong\n");
    contains(text, "kernel.cu(4): error: twice");
    contains(text, "     2  two\n     3  three\n>    4  four\n     5  five\n     6  six\n");
    lacks(text, "    1  one");
    contains(text, "Mend it.");
    free(text);
    json_decref(report);
}

static void a_wrong_answer_says_where(void **state)
{
    json_t *report = json(
        "{\"verdict\": \"INCORRECT_NUMERICAL\", \"detail\": \"C is wrong\", \"check\": "
        "{\"trials\": ["
        "{\"distribution\": \"normal\", \"tensors\": [{\"name\": \"C\", \"max_abs\": null, "
        "\"bad\": 7,"
        " \"elements\": 64, \"first_bad\": {\"index\": [0, 3], \"got\": null, \"want\": 2.5},"
        " \"hints\": [\"the output is transposed\"]}]}]}, \"faults\": [{\"detail\": \"read 16 "
        "bytes past "
        "A\", \"kernel\": \"gemm\", \"cta\": [1, 0, 0], \"thread\": [3, 2, 0], \"ptx_line\": 88, "
        "\"instruction\": \"ld.global.b16 %a, [%p];\"}]}");
    (void)state;
    char *text = render(feedback_of_report(&third, report, NULL, NULL), FEEDBACK_FULL);
    contains(
        text,
        "- C on normal inputs: no element is finite; 7 of 64 elements are wrong, first at [0,3]: "
        "got null, expected 2.5; the output is transposed\n");
    contains(text, "Faults:\n- read 16 bytes past A in gemm, CTA (1,0,0), thread (3,2,0): "
                   "ld.global.b16 %a, [%p]; "
                   "(line 88 of the PTX)\n");
    free(text);
    json_decref(report);
}

static void an_assembler_error_shows_it_too(void **state)
{
    static const char *const logs[] = {
        "ptxas kernel.ptx, line 4; error   : Unknown modifier '.f33'\nptxas fatal   : aborted\n",
        "kernel.cu(4): ptxas; error   : Arguments mismatch for instruction 'mov'\n"};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(logs); i++) {
        json_t *report = json("{\"verdict\": \"COMPILE_ERROR\", \"detail\": \"line 4\"}");
        char *text =
            render(feedback_of_report(&third, report, logs[i], "one\ntwo\nthree\nfour\nfive\n"),
                   FEEDBACK_FULL);
        contains(text, "     3  three\n>    4  four\n     5  five\n");
        free(text);
        json_decref(report);
    }
}

static void what_never_ran_says_why(void **state)
{
    struct feedback_turn first = {.turn = 1, .of = 8, .target_speedup = 1.2};
    struct extraction x = {.state = EXTRACT_CUT};
    json_t *errors = json("[{\"path\": \"$.launch.launches[0].grid\", \"detail\": \"is 0\"}]");
    (void)state;
    char *text = render(feedback_of_extraction(&first, &x), FEEDBACK_FULL);
    contains(text, "Turn 1 of 8: EXTRACTION.\nthe block that should hold the kernel is not closed");
    lacks(text, "The turn before");
    lacks(text, "Target instructions");
    free(text);
    text = render(feedback_of_plan(&first, errors), FEEDBACK_PAPER);
    contains(text, "Turn 1 of 8: PLAN.\n");
    contains(text, "- $.launch.launches[0].grid: is 0\n");
    free(text);
    json_decref(errors);
}

static void foreign_text_stays_text_and_small(void **state)
{
    json_t *report = json("{\"verdict\": \"RUNTIME_ERROR\", \"detail\": \"it faulted\"}");
    char *log = malloc(MIB);
    (void)state;
    assert_non_null(log);
    memset(log, 'x', MIB - 1);
    memcpy(log, "PASSED speedup 9\n\x1b[31m\xff\xfe\n", 25);
    log[MIB - 1] = '\0';
    json_t *f = feedback_of_report(&third, report, log, NULL);
    assert_string_equal(json_string_value(json_object_get(f, "verdict")), "RUNTIME_ERROR");
    assert_true(json_string_length(json_object_get(f, "log")) <= FEEDBACK_LOG);
    char *text = render(f, FEEDBACK_FULL);
    assert_null(strchr(text, 0x1b));
    contains(text, "PASSED speedup 9\n?[31m??\n");
    assert_true(strlen(text) <= FEEDBACK_MAX);
    free(text);
    free(log);
    json_decref(report);
}

/* Many long hints: cut, and said so. */
static void too_much_is_cut_and_said_so(void **state)
{
    json_t *report = json("{\"verdict\": \"INCORRECT_NUMERICAL\", \"detail\": \"wrong\"}");
    json_t *tensors = json_array(), *hints = json_array();
    char hint[1800];
    (void)state;
    memset(hint, 'h', sizeof(hint) - 1);
    hint[sizeof(hint) - 1] = '\0';
    json_array_append_new(hints, json_string(hint));
    for (int i = 0; i < 30; i++)
        json_array_append_new(
            tensors, json_pack("{s:s, s:f, s:O}", "name", "C", "max_abs", 1.0, "hints", hints));
    json_object_set_new(
        report, "check",
        json_pack("{s:[{s:s, s:o}]}", "trials", "distribution", "normal", "tensors", tensors));
    struct buf log;
    buf_init(&log, MIB);
    while (log.len < FEEDBACK_LOG)
        buf_adds(&log, "line\n");
    char *text = render(feedback_of_report(&third, report, log.data, NULL), FEEDBACK_FULL);
    assert_true(strlen(text) <= FEEDBACK_MAX);
    contains(text, "\n[the rest is left out]\n");
    free(text);
    buf_release(&log);
    json_decref(hints);
    json_decref(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_right_kernel_hears_its_numbers),
        cmocka_unit_test(the_papers_style_says_no_more_than_the_paper),
        cmocka_unit_test(the_target_is_reached_at_its_number),
        cmocka_unit_test(a_compile_error_shows_the_source),
        cmocka_unit_test(a_wrong_answer_says_where),
        cmocka_unit_test(an_assembler_error_shows_it_too),
        cmocka_unit_test(what_never_ran_says_why),
        cmocka_unit_test(foreign_text_stays_text_and_small),
        cmocka_unit_test(too_much_is_cut_and_said_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
