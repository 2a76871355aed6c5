// SPDX-License-Identifier: Apache-2.0
// Speedups from synthetic launch times whose answers are known.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// cmocka wants the four above first
#include <cmocka.h>

#include "core/words.h"
#include "evaluator/timing_stats.h"

enum { N = 32 };

static const struct timing_limits none = {0};

/* Noise in [-1, 1) that is the same in every run. */
static double noise(unsigned i)
{
    uint32_t x = i * 2654435761u;
    x ^= x >> 15;
    x *= 2246822519u;
    x ^= x >> 13;
    return (double)x / 2147483648.0 - 1;
}

/* Blocks of batches of eight; candidate = baseline / speedup, `wobble` relative noise. */
static void make(struct timing_block *blocks, double baseline, double speedup, double wobble)
{
    for (unsigned i = 0; i < N; i++)
        for (unsigned k = 0; k < 2; k++) {
            blocks[i].opens_batch = i % 8 == 0;
            blocks[i].baseline[k] = baseline * (1 + wobble * noise(4 * i + k));
            blocks[i].candidate[k] = baseline / speedup * (1 + wobble * noise(4 * i + 2 + k));
        }
}

static void exact_times_give_the_exact_ratio(void **state)
{
    (void)state;
    struct timing_block blocks[N];
    struct timing_summary s;
    make(blocks, 1000, 0.8, 0);
    assert_true(timing_summarise(blocks, N, &none, 1, &s));
    assert_true(fabs(s.speedup - 0.8) < 1e-12);
    assert_true(fabs(s.ci_low - 0.8) < 1e-12 && fabs(s.ci_high - 0.8) < 1e-12);
    assert_true(fabs(s.baseline_us - 1000) < 1e-9 && fabs(s.candidate_us - 1250) < 1e-9);
    assert_int_equal(s.flags, 0);
}

static void a_linear_drift_cancels(void **state)
{
    (void)state;
    struct timing_block blocks[N];
    struct timing_summary s;
    for (int i = 0; i < N; i++) { /* the clock falls by 0.1 % with every launch */
        double t = 1000 * (1 + 0.004 * i);
        blocks[i] = (struct timing_block){{t, t + 3}, {t + 1, t + 2}, false};
    }
    assert_true(timing_summarise(blocks, N, &none, 1, &s));
    assert_true(fabs(s.speedup - 1) < 1e-12);
}

static void one_wild_block_does_not_move_the_median(void **state)
{
    (void)state;
    struct timing_block blocks[N];
    struct timing_summary s;
    make(blocks, 1000, 1, 0.001);
    blocks[7].candidate[0] = 9000;
    assert_true(timing_summarise(blocks, N, &none, 1, &s));
    assert_true(fabs(s.speedup - 1) < 1e-3);
    assert_true(s.ci_low < 1 && s.ci_high > 1);
    assert_true(s.flags & FLAG_noisy); /* but the mean tells */
}

static void the_interval_covers_what_it_should_and_is_no_wider_than_the_noise(void **state)
{
    (void)state;
    struct timing_block blocks[N];
    struct timing_summary s;
    make(blocks, 700, 1.05, 0.01);
    assert_true(timing_summarise(blocks, N, &none, 42, &s));
    assert_true(s.ci_low < 1.05 && 1.05 < s.ci_high);
    assert_true(s.ci_low < s.speedup && s.speedup < s.ci_high);
    assert_true(s.ci_high - s.ci_low < 0.02);
    struct timing_summary again;
    assert_true(timing_summarise(blocks, N, &none, 42, &again));
    assert_memory_equal(&s, &again, sizeof(s));
}

static void the_interval_is_never_narrower_than_the_same_kernel_spread(void **state)
{
    (void)state;
    struct timing_block blocks[N];
    struct timing_summary s;
    make(blocks, 700, 1, 0);
    struct timing_limits limits = {.same_kernel_spread = 0.002};
    assert_true(timing_summarise(blocks, N, &limits, 1, &s));
    assert_true(fabs(s.ci_low - exp(-0.002)) < 1e-12 && fabs(s.ci_high - exp(0.002)) < 1e-12);
}

static void slow_first_launches_are_stateful(void **state)
{
    (void)state;
    struct timing_block blocks[N];
    struct timing_summary s;
    make(blocks, 1000, 1, 0.001);
    for (int i = 0; i < N; i += 8)
        blocks[i].candidate[0] *= 1.04;
    assert_true(timing_summarise(blocks, N, &none, 1, &s));
    assert_int_equal(s.flags, FLAG_stateful);
    make(blocks, 1000, 1, 0.001);
    for (int i = 0; i < N; i += 8)
        blocks[i].candidate[0] *= 1.02;
    assert_true(timing_summarise(blocks, N, &none, 1, &s));
    assert_int_equal(s.flags, 0);
}

static void floor_and_roofline_raise_their_flags(void **state)
{
    (void)state;
    static const struct {
        double floor_us, roofline_us;
        bool slowed_down, implausible;
        unsigned flags;
    } cases[] = {
        {100, 500, false, false, 0},
        {300, 500, false, false, FLAG_launch_bound},
        {0, 960, false, false, FLAG_implausible_close},
        {0, 1040, false, false, FLAG_implausible_close},
        {0, 1060, false, true, 0},
        {0, 0, true, false, FLAG_noisy},
    };
    struct timing_block blocks[N];
    make(blocks, 1000, 1, 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct timing_limits limits = {0, cases[i].floor_us, cases[i].roofline_us, cases[i].slowed_down};
        struct timing_summary s;
        assert_true(timing_summarise(blocks, N, &limits, 1, &s));
        assert_int_equal(s.flags, cases[i].flags);
        assert_int_equal(s.implausible, cases[i].implausible);
    }
}

static void times_that_are_no_times_are_refused(void **state)
{
    (void)state;
    struct timing_block blocks[N];
    struct timing_summary s;
    static const double bad[] = {0, -1, NAN, INFINITY};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        make(blocks, 1000, 1, 0);
        blocks[N - 1].candidate[1] = bad[i];
        assert_false(timing_summarise(blocks, N, &none, 1, &s));
    }
    assert_false(timing_summarise(blocks, 0, &none, 1, &s));
    assert_false(timing_summarise(blocks, TIMING_BLOCKS_MAX + 1, &none, 1, &s));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_times_give_the_exact_ratio),
        cmocka_unit_test(a_linear_drift_cancels),
        cmocka_unit_test(one_wild_block_does_not_move_the_median),
        cmocka_unit_test(the_interval_covers_what_it_should_and_is_no_wider_than_the_noise),
        cmocka_unit_test(the_interval_is_never_narrower_than_the_same_kernel_spread),
        cmocka_unit_test(slow_first_launches_are_stateful),
        cmocka_unit_test(floor_and_roofline_raise_their_flags),
        cmocka_unit_test(times_that_are_no_times_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
