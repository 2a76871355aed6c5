// SPDX-License-Identifier: Apache-2.0
// When a call may begin: calls under way, calls per minute, pauses of a busy provider.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/lanes.h"

enum { T0 = 1000000 };

static struct lane lane_with(struct provider *p, int64_t concurrency, int64_t per_minute)
{
    struct lane l;
    *p = (struct provider){
        .name = "near", .concurrency = concurrency, .requests_per_minute = per_minute};
    lane_init(&l, p);
    return l;
}

static void as_many_as_the_provider_takes(void **state)
{
    struct provider p;
    struct lane l = lane_with(&p, 2, 0);
    (void)state;
    assert_string_equal(l.name, "llm/near");
    assert_true(lane_open(&l, T0));
    lane_take(&l, T0);
    assert_true(lane_open(&l, T0));
    lane_take(&l, T0);
    assert_false(lane_open(&l, T0 + 3600000));
    lane_leave(&l);
    assert_true(lane_open(&l, T0));
}

static void calls_per_minute(void **state)
{
    struct provider p;
    struct lane l = lane_with(&p, 1000, 60);
    int taken = 0;
    (void)state;
    for (int64_t t = T0; t < T0 + 60000; t += 10)
        if (lane_open(&l, t)) {
            lane_take(&l, t);
            taken++;
        }
    assert_int_equal(taken, 60);
}

/* A loop that looks seldom must not lose half of its calls, nor catch up by a burst. */
static void a_late_call_does_not_delay_the_next(void **state)
{
    struct provider p;
    struct lane l = lane_with(&p, 1000, 60);
    (void)state;
    lane_take(&l, T0);
    assert_false(lane_open(&l, T0 + 999));
    assert_int_equal(lane_opens(&l), T0 + 1000);
    lane_take(&l, T0 + 1900);
    assert_true(lane_open(&l, T0 + 2000));
    lane_take(&l, T0 + 100000);
    assert_false(lane_open(&l, T0 + 100999));
    assert_true(lane_open(&l, T0 + 101000));
}

static void a_busy_provider_is_left_alone_for_longer_each_time(void **state)
{
    struct provider p;
    struct lane l = lane_with(&p, 10, 0);
    int64_t t = T0, sum = 0;
    (void)state;
    static const int64_t pauses[] = {5000, 10000, 20000, 40000, 80000, 160000, 300000, 300000};
    for (size_t i = 0; i < sizeof(pauses) / sizeof(pauses[0]); i++) {
        assert_int_equal(lane_busy(&l, 0, t), pauses[i]);
        assert_false(lane_open(&l, t + pauses[i] - 1));
        assert_true(lane_open(&l, t + pauses[i]));
        t += pauses[i];
        sum += pauses[i];
    }
    assert_int_equal(t, T0 + sum);
    lane_well(&l);
    assert_int_equal(lane_busy(&l, 0, t), 5000);
}

static void calls_that_were_under_way_together_count_once(void **state)
{
    struct provider p;
    struct lane l = lane_with(&p, 10, 0);
    (void)state;
    assert_int_equal(lane_busy(&l, 0, T0), 5000);
    assert_int_equal(lane_busy(&l, 0, T0 + 100), 4900);
    assert_int_equal(lane_busy(&l, 0, T0 + 200), 4800);
    assert_int_equal(lane_busy(&l, 0, T0 + 5000), 10000);
}

static void a_provider_may_say_when(void **state)
{
    struct provider p;
    struct lane l = lane_with(&p, 10, 0);
    (void)state;
    assert_int_equal(lane_busy(&l, 7, T0), 7000);
    assert_false(lane_open(&l, T0 + 6999));
    assert_true(lane_open(&l, T0 + 7000));
    assert_int_equal(lane_busy(&l, 1, T0 + 10), 1000); /* that does not shorten the pause */
    assert_false(lane_open(&l, T0 + 6999));
    assert_int_equal(lane_busy(&l, 86400, T0 + 8000), 600000);
    assert_true(lane_open(&l, T0 + 608000));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_as_the_provider_takes),
        cmocka_unit_test(calls_per_minute),
        cmocka_unit_test(a_late_call_does_not_delay_the_next),
        cmocka_unit_test(a_busy_provider_is_left_alone_for_longer_each_time),
        cmocka_unit_test(calls_that_were_under_way_together_count_once),
        cmocka_unit_test(a_provider_may_say_when),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
