// SPDX-License-Identifier: Apache-2.0
// Element conversions, exhaustively for the 16-bit floats: every pattern comes back, every midpoint
// between neighbours goes to the even one, and anything beside a midpoint goes to the nearer one.
#include "core/dtype.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/util.h"

struct half {
    enum dtype dtype;
    uint16_t infinity, quiet;
    uint16_t (*narrow)(double);
};

static const struct half halves[] = {
    {DTYPE_f16, 0x7c00, 0x0200, f16_from_double},
    {DTYPE_bf16, 0x7f80, 0x0040, bf16_from_double},
};

static double widen(const struct half *h, uint16_t bits)
{
    return dtype_load(h->dtype, &bits, 0);
}

static void every_pattern_round_trips(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT_OF(halves); k++) {
        const struct half *h = &halves[k];
        for (unsigned bits = 0; bits < 0x10000; bits++) {
            double v = widen(h, (uint16_t)bits);
            uint16_t back = h->narrow(v);
            if ((bits & 0x7fff) > h->infinity) { /* NaN: stays one, and quiet */
                assert_true(isnan(v));
                assert_true((back & 0x7fff) > h->infinity);
                assert_true(back & h->quiet);
            } else {
                assert_int_equal(back, bits);
            }
        }
    }
}

static void ties_go_to_even_and_neighbours_to_the_nearer(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT_OF(halves); k++) {
        const struct half *h = &halves[k];
        for (unsigned bits = 0; bits + 1 < h->infinity; bits++) {
            double low = widen(h, (uint16_t)bits), high = widen(h, (uint16_t)(bits + 1));
            double middle = low + (high - low) / 2; /* exact in double */
            unsigned even = bits & 1 ? bits + 1 : bits;
            assert_int_equal(h->narrow(middle), even);
            assert_int_equal(h->narrow(-middle), even | 0x8000);
            assert_int_equal(h->narrow(nextafter(middle, 0)), bits);
            assert_int_equal(h->narrow(nextafter(middle, INFINITY)), bits + 1);
        }
    }
}

static void the_ends_of_the_range(void **state)
{
    (void)state;
    assert_int_equal(f16_from_double(65504), 0x7bff);
    assert_int_equal(f16_from_double(65519.999), 0x7bff);
    assert_int_equal(f16_from_double(65520), 0x7c00); /* tie between 65504 and 2^16 */
    assert_int_equal(f16_from_double(ldexp(1, -25)), 0);
    assert_int_equal(f16_from_double(nextafter(ldexp(1, -25), 1)), 1);
    assert_int_equal(f16_from_double(ldexp(3, -26)), 1);
    assert_int_equal(bf16_from_double(ldexp(1, -134)), 0);
    assert_int_equal(bf16_from_double(nextafter(ldexp(1, -134), 1)), 1);
    assert_int_equal(bf16_from_double(0x1.ffp127), 0x7f80);
    assert_int_equal(bf16_from_double(nextafter(0x1.ffp127, 0)), 0x7f7f);
    for (size_t k = 0; k < COUNT_OF(halves); k++) {
        const struct half *h = &halves[k];
        assert_int_equal(h->narrow(1e300), h->infinity);
        assert_int_equal(h->narrow(-1e300), h->infinity | 0x8000);
        assert_int_equal(h->narrow((double)INFINITY), h->infinity);
        assert_int_equal(h->narrow(4.9e-324), 0);
        assert_int_equal(h->narrow(-4.9e-324), 0x8000);
        assert_int_equal(h->narrow(-0.0), 0x8000);
    }
}

static void bf16_rounds_once(void **state)
{
    (void)state;
    /* Through float, 1 + 2^-8 + 2^-40 would first become the tie 1 + 2^-8 and then go down. */
    assert_int_equal(bf16_from_double(1 + ldexp(1, -8) + ldexp(1, -40)), 0x3f81);
    assert_int_equal(bf16_from_float(1 + 0x1p-8f), 0x3f80);
    assert_int_equal(bf16_from_float(-3.5f), 0xc060);
    /* Every float pattern whose low half is a corner rounds as the bits say. */
    static const uint32_t lows[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};
    for (uint32_t high = 0; high < 0x7f80; high++)
        for (size_t i = 0; i < COUNT_OF(lows); i++) {
            uint32_t bits = high << 16 | lows[i];
            float f;
            memcpy(&f, &bits, sizeof(f));
            assert_int_equal(bf16_from_float(f), (bits + 0x7fff + (high & 1)) >> 16);
        }
}

static void integers_truncate_and_clamp(void **state)
{
    (void)state;
    static const struct {
        enum dtype dtype;
        double in, out;
    } rows[] = {
        {DTYPE_i8, 127.9, 127},
        {DTYPE_i8, 128, 127},
        {DTYPE_i8, -129, -128},
        {DTYPE_i8, -1.9, -1},
        {DTYPE_u8, -1, 0},
        {DTYPE_u8, 300, 255},
        {DTYPE_i32, 1e10, INT32_MAX},
        {DTYPE_i32, -1e10, INT32_MIN},
        {DTYPE_u32, 1e10, UINT32_MAX},
        {DTYPE_i64, 1e30, 0x1p63},
        {DTYPE_i64, -1e30, -0x1p63},
        {DTYPE_u64, 1e30, 0x1p64},
        {DTYPE_u64, -5, 0},
        {DTYPE_i32, (double)NAN, 0},
        {DTYPE_u8, (double)NAN, 0},
        {DTYPE_f32, 0.1, (double)0.1f},
        {DTYPE_f64, 0.1, 0.1},
        {DTYPE_i64, -3.7, -3},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        uint8_t array[3 * 8 + 1] = {0};
        dtype_store(rows[i].dtype, array + 1, 2, rows[i].in); /* unaligned on purpose */
        assert_true(dtype_load(rows[i].dtype, array + 1, 2) == rows[i].out);
        for (size_t k = 0; k < 1 + 2 * dtype_bytes(rows[i].dtype); k++)
            assert_int_equal(array[k], 0);
    }
}

static void names(void **state)
{
    (void)state;
    for (int t = 0; t < DTYPE_COUNT; t++)
        assert_int_equal(dtype_find(dtype_name((enum dtype)t)), t);
    assert_int_equal(dtype_find("f128"), -1);
    assert_int_equal(dtype_find(""), -1);
    assert_int_equal(dtype_bytes(DTYPE_bf16), 2);
    assert_true(dtype_is_float(DTYPE_f16) && !dtype_is_float(DTYPE_u8));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pattern_round_trips),
        cmocka_unit_test(ties_go_to_even_and_neighbours_to_the_nearer),
        cmocka_unit_test(the_ends_of_the_range),
        cmocka_unit_test(bf16_rounds_once),
        cmocka_unit_test(integers_truncate_and_clamp),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests_name("dtype", tests, NULL, NULL);
}
