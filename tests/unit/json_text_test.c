// SPDX-License-Identifier: Apache-2.0
// JSON text without objects is the text that jansson writes of them.
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "core/json_text.h"

static void is_as_jansson_writes(double v)
{
    struct buf b;
    char want[64];
    json_t *real = json_real(v);
    size_t n = json_dumpb(real, want, sizeof(want), JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    json_decref(real);
    buf_init(&b, sizeof(want));
    json_add_real(&b, v);
    if (b.len != n || memcmp(b.data, want, n) != 0)
        fail_msg("%a is %s, not %.*s", v, b.data, (int)n, want);
    buf_release(&b);
}

static uint64_t random_bits(uint64_t *state) /* splitmix64 */
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

static void reals_are_written_as_jansson_does(void **state)
{
    static const double edges[] = {0,
                                   -0.0,
                                   1,
                                   -1,
                                   0.1,
                                   0.5,
                                   1.5,
                                   100,
                                   123456,
                                   1e-4,
                                   9.99999999999999e-5,
                                   9.999999999999999e-5,
                                   0.00012345,
                                   1e14,
                                   999999999999999,
                                   999999999999999.4,
                                   999999999999999.5,
                                   1e15,
                                   1e22,
                                   1e-7,
                                   1.5e300,
                                   5e-324,
                                   0.1234567890123445,
                                   1.000000000000005,
                                   2.5000000000000049,
                                   9.9999999999999991,
                                   99.99999999999999,
                                   1. / 3,
                                   2. / 3,
                                   20000000000000.5,
                                   200000000000000.5,
                                   200000000000001.5};
    (void)state;
    for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++)
        is_as_jansson_writes(edges[i]);
    for (int e = -20; e <= 20; e++)
        for (int i = -2; i <= 2; i++) {
            double v = pow(10, e);
            for (int k = 0; k < abs(i); k++)
                v = nextafter(v, i < 0 ? 0 : INFINITY);
            is_as_jansson_writes(v);
            is_as_jansson_writes(-v);
        }
}

static void any_real_is_written_as_jansson_does(void **state)
{
    uint64_t seed = 7;
    (void)state;
    for (int i = 0; i < 100000; i++) {
        uint64_t bits = random_bits(&seed);
        double v, unit = (double)(bits >> 11) * 0x1p-53;
        memcpy(&v, &bits, sizeof(v));
        if (isfinite(v))
            is_as_jansson_writes(v);
        is_as_jansson_writes(unit * pow(10, (int)(bits % 22) - 5));
        is_as_jansson_writes(unit + 0.01);
        is_as_jansson_writes((double)(bits % 2000000) / 1000);  /* few digits */
        is_as_jansson_writes((double)(bits >> 20) / 0x1p+14);   /* many ties */
        is_as_jansson_writes(rint(unit * 1e15) / 1e15 + 5e-16); /* nearly a tie */
    }
}

static void what_is_no_number_is_null(void **state)
{
    struct buf b;
    (void)state;
    buf_init(&b, 64);
    json_add_real(&b, NAN);
    json_add_real(&b, INFINITY);
    json_add_real(&b, -INFINITY);
    assert_string_equal(b.data, "nullnullnull");
    buf_release(&b);
}

static void integers(void **state)
{
    static const int64_t values[] = {0, 7, -1, 10, 1234567890, INT64_MAX, INT64_MIN};
    (void)state;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        struct buf b;
        char want[32];
        snprintf(want, sizeof(want), "%" PRId64, values[i]);
        buf_init(&b, sizeof(want));
        json_add_integer(&b, values[i]);
        assert_string_equal(b.data, want);
        buf_release(&b);
    }
}

static void strings_are_escaped(void **state)
{
    struct buf b;
    (void)state;
    buf_init(&b, 128);
    json_add_string(&b, "a \"b\" \\ \n \x01 é");
    json_add_string(&b, NULL);
    json_add_string(&b, "\xff");
    assert_string_equal(b.data, "\"a \\\"b\\\" \\\\ \\n \\u0001 é\"nullnull");
    buf_release(&b);
    buf_init(&b, 4); /* a full buffer says so */
    json_add_string(&b, "abcdef");
    assert_true(b.failed);
    buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reals_are_written_as_jansson_does),
        cmocka_unit_test(any_real_is_written_as_jansson_does),
        cmocka_unit_test(what_is_no_number_is_null),
        cmocka_unit_test(integers),
        cmocka_unit_test(strings_are_escaped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
