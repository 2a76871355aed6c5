// SPDX-License-Identifier: Apache-2.0
// Rates, intervals and Fast_p, against numbers worked out by hand and those the paper prints.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/turn_metrics.h"

static void percents_round_half_to_even(void **state)
{
    static const struct {
        int64_t part, of;
        const char *want;
    } cases[] = {
        {3, 48, "6.2"},   {39, 48, "81.2"}, {54, 96, "56.2"},  {57, 96, "59.4"}, {1, 96, "1.0"},
        {18, 96, "18.8"}, {0, 12, "0.0"},   {12, 12, "100.0"}, {1, 3, "33.3"},   {0, 0, ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[PERCENT_TEXT];
        percent_text(cases[i].part, cases[i].of, text);
        assert_string_equal(text, cases[i].want);
    }
}

/* Worked out with 30 digits from the formula. */
static void wilson_is_wilsons(void **state)
{
    static const struct {
        int64_t k, n;
        double low, high;
    } cases[] = {
        {0, 10, 0, 0.27753280},
        {10, 10, 0.72246720, 1},
        {5, 10, 0.23659309, 0.76340691},
        {57, 96, 0.49373885, 0.68654698},
        {0, 0, 0, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        double low, high;
        wilson95(cases[i].k, cases[i].n, &low, &high);
        assert_true(fabs(low - cases[i].low) < 1e-7);
        assert_true(fabs(high - cases[i].high) < 1e-7);
    }
}

static double at(const json_t *points, size_t point, const char *which, const char *member)
{
    const json_t *p = json_array_get(points, point);
    return json_real_value(json_object_get(json_object_get(p, which), member));
}

static void fast_p_is_strict(void **state)
{
    static const double p[] = {0, 0.5, 0.999, 1, 2};
    static const double first[] = {3. / 8, 2. / 8, 2. / 8, 0, 0},
                        second[] = {.25, .25, .25, .25, 0};
    static const double target[] = {2. / 8, 2. / 8, 2. / 8, 0, 0};
    double reached[] = {0.5, 1, 1}, one[] = {2};
    struct fast_p_variant variants[] = {
        {.number = 0,
         .of = 8,
         .correct = 3,
         .target = 2,
         .reached = reached,
         .reached_count = 3,
         .reached_target = reached + 1,
         .reached_target_count = 2},
        {.number = 1, .of = 4, .correct = 1, .target = 0, .reached = one, .reached_count = 1}};
    (void)state;
    json_t *points = fast_p_points(variants, 2, p, 5);
    assert_int_equal(json_array_size(points), 5);
    for (size_t i = 0; i < 5; i++) {
        assert_true(json_real_value(json_object_get(json_array_get(points, i), "p")) == p[i]);
        assert_true(at(points, i, "all", "mean") == (first[i] + second[i]) / 2);
        assert_true(at(points, i, "all", "low") == fmin(first[i], second[i]));
        assert_true(at(points, i, "all", "high") == fmax(first[i], second[i]));
        assert_true(at(points, i, "target", "high") == target[i]);
        assert_true(at(points, i, "target", "low") == 0);
    }
    json_decref(points);
    points = fast_p_points(NULL, 0, p, 1); /* a cell without trajectories */
    assert_true(json_is_null(json_object_get(json_array_get(points, 0), "all")));
    json_decref(points);
}

/* 4 quantiles of 100 correct turns in 200: each stands for 25. */
static void quantiles_stand_for_equal_shares(void **state)
{
    static const double p[] = {0, 1.5};
    double reached[] = {1, 1.25, 1.75, 2};
    struct fast_p_variant v = {.of = 200, .correct = 100, .reached = reached, .reached_count = 4};
    (void)state;
    json_t *points = fast_p_points(&v, 1, p, 2);
    assert_true(at(points, 0, "all", "mean") == 0.5);
    assert_true(at(points, 1, "all", "mean") == 0.25);
    json_decref(points);
}

static void many_speedups_are_thinned_to_middles_of_shares(void **state)
{
    enum { MANY = 10 * FAST_P_QUANTILES };
    struct fast_p_variant v = {.reached = malloc(MANY * sizeof(double))};
    (void)state;
    for (size_t i = 0; i < MANY; i++)
        v.reached[i] = (double)i;
    assert_int_equal(fast_p_quantiles(v.reached, FAST_P_QUANTILES), FAST_P_QUANTILES);
    assert_true(v.reached[FAST_P_QUANTILES - 1] ==
                FAST_P_QUANTILES - 1); /* not more than that: as they are */
    assert_int_equal(fast_p_quantiles(v.reached, MANY), FAST_P_QUANTILES);
    for (size_t i = 0; i < FAST_P_QUANTILES; i++)
        assert_true(v.reached[i] == (double)(10 * i + 5));
    fast_p_variant_release(&v);
    assert_null(v.reached);
    fast_p_variant_release(&v); /* twice is harmless */
}

static void correctness_gets_rates(void **state)
{
    (void)state;
    json_t *document = json_loads(
        "{\"items\": [{\"at\": [{\"of\": 96, \"correct\": 57, \"target\": 54, \"variants\": ["
        "{\"of\": 48, \"correct\": 24, \"target\": 24},"
        "{\"of\": 48, \"correct\": 33, \"target\": 30}]}]}]}",
        0, NULL);
    turn_correctness_shape(document);
    const json_t *item = json_array_get(json_object_get(document, "items"), 0);
    const json_t *entry = json_array_get(json_object_get(item, "at"), 0);
    assert_string_equal(json_string_value(json_object_get(entry, "correct_percent")), "59.4");
    assert_string_equal(json_string_value(json_object_get(entry, "target_percent")), "56.2");
    const json_t *band = json_object_get(entry, "correct_band");
    assert_true(json_real_value(json_object_get(band, "low")) == 0.5);
    assert_true(json_real_value(json_object_get(band, "high")) == 33. / 48);
    assert_true(fabs(json_real_value(json_object_get(band, "mean")) - 57. / 96) < 1e-15);
    json_decref(document);
}

static void labels_are_the_papers(void **state)
{
    (void)state;
    assert_string_equal(label_title("timeout"), "Kernel Execution Timeout");
    assert_string_equal(label_of_title("Correct"), "correct");
    assert_null(label_title("Correct"));
    assert_null(label_of_title("correct"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(percents_round_half_to_even),
        cmocka_unit_test(wilson_is_wilsons),
        cmocka_unit_test(fast_p_is_strict),
        cmocka_unit_test(quantiles_stand_for_equal_shares),
        cmocka_unit_test(many_speedups_are_thinned_to_middles_of_shares),
        cmocka_unit_test(correctness_gets_rates),
        cmocka_unit_test(labels_are_the_papers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
