// SPDX-License-Identifier: Apache-2.0
/* The input generator: known answers for its bits, moments and range of its values, and the promise
 * that an element depends on nothing but (seed, tensor, index). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/util.h"
#include "evaluator/inputs.h"

static const struct distribution normal = {.kind = DISTRIBUTION_NORMAL, .deviation = 1};
static const struct distribution integers = {.kind = DISTRIBUTION_INTEGERS, .low = -16, .high = 16};
static const struct distribution spiky = {
    .kind = DISTRIBUTION_SPIKY, .deviation = 1, .spike_deviation = 10, .spikes = 66};
static const struct seed seed = {0x0123456789abcdef, 0xfedcba9876543210};

/* Philox4x32-10 known answers of the Random123 distribution (kat_vectors), seen through the
 * integers: key and counter all zero give 6627e8d5 e169c58d bc57ac4c 9b00dbd8. */
static void bits_are_philox(void **state)
{
    (void)state;
    static const uint32_t words[4] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    double got[8];
    inputs_fill((struct seed){0, 0}, &integers, 0, DTYPE_f64, got, 8);
    for (int i = 0; i < 8; i++) {
        uint32_t u = words[i / 2] >> (16 * (i % 2)) & 0xffff;
        assert_int_equal((int)got[i], (int)(u * 33 >> 16) - 16);
    }
}

static void values_do_not_depend_on_the_length(void **state)
{
    (void)state;
    uint16_t whole[1000], part[1000];
    inputs_fill(seed, &normal, 1, DTYPE_bf16, whole, 1000);
    for (int n = 1; n < 40; n++) {
        memset(part, 0, sizeof(part));
        inputs_fill(seed, &normal, 1, DTYPE_bf16, part, n);
        assert_memory_equal(part, whole, (size_t)n * 2);
        assert_int_equal(part[n], 0);
    }
}

static void tensors_and_seeds_differ(void **state)
{
    (void)state;
    enum { N = 4096 };
    static uint16_t a[N], b[N];
    const struct seed others[] = {{seed.high ^ 1, seed.low}, {seed.high, seed.low ^ 1},
                                  {seed.high ^ 1ull << 63, seed.low}, {seed.high, seed.low ^ 1ull << 63}};
    inputs_fill(seed, &normal, 0, DTYPE_bf16, a, N);
    for (size_t o = 0; o <= COUNT_OF(others); o++) {
        bool other_tensor = o == COUNT_OF(others);
        inputs_fill(other_tensor ? seed : others[o], &normal, other_tensor, DTYPE_bf16, b, N);
        int equal = 0;
        for (int i = 0; i < N; i++)
            equal += a[i] == b[i];
        assert_true(equal < 100); /* by chance: about 20 */
    }
}

static void normal_has_the_moments_of_a_normal(void **state)
{
    (void)state;
    enum { N = 1 << 20 };
    float *x = malloc(N * sizeof(*x));
    assert_non_null(x);
    inputs_fill(seed, &normal, 0, DTYPE_f32, x, N);
    double m1 = 0, m2 = 0, m4 = 0, beyond = 0;
    for (int i = 0; i < N; i++) {
        double v = (double)x[i];
        m1 += v;
        m2 += v * v;
        m4 += v * v * v * v;
        beyond += fabs(v) > 1.959964;
        assert_true(fabs(v) < 4.4);
        assert_true(bf16_to_float(bf16_from_float(x[i])) == x[i]);
    }
    assert_true(fabs(m1 / N) < 0.005);
    assert_true(fabs(m2 / N - 1) < 0.01);
    assert_true(fabs(m4 / N - 3) < 0.06);
    assert_true(fabs(beyond / N - 0.05) < 0.002);
    free(x);
}

/* The table comes from the host's erfc: any libm must round to the same 65,536 bf16 values,
 * because a published seed has to mean the same tensor everywhere. */
static void normal_table_is_frozen(void **state)
{
    (void)state;
    enum { N = 1 << 16 };
    static uint16_t x[N];
    char hex[SHA256_HEX];
    inputs_fill(seed, &normal, 7, DTYPE_bf16, x, N);
    sha256_hex(x, sizeof(x), hex);
    assert_string_equal(hex, "1974836f8577b9f17d1cabbf2d6ad198f682fd716e55c16b616dd47af1fddef4");
}

static void integers_are_uniform(void **state)
{
    (void)state;
    enum { N = 330000 };
    int32_t *x = malloc(N * sizeof(*x));
    int count[33] = {0};
    assert_non_null(x);
    inputs_fill(seed, &integers, 0, DTYPE_i32, x, N);
    for (int i = 0; i < N; i++) {
        assert_in_range(x[i] + 16, 0, 32);
        count[x[i] + 16]++;
    }
    for (int v = 0; v < 33; v++)
        assert_in_range(count[v], 9500, 10500);
    free(x);
}

static void seeds_survive_text(void **state)
{
    (void)state;
    char text[SEED_TEXT];
    struct seed back;
    seed_text(seed, text);
    assert_string_equal(text, "0123456789abcdeffedcba9876543210");
    assert_true(seed_parse(text, &back));
    assert_true(back.high == seed.high && back.low == seed.low);
    assert_false(seed_parse("0123", &back));
    assert_false(seed_parse("x123456789abcdeffedcba9876543210", &back));
    struct seed one = seed_draw(), two = seed_draw();
    assert_false(one.high == two.high && one.low == two.low);
}

static void poison_is_not_a_number(void **state)
{
    (void)state;
    double cell;
    inputs_poison(&cell, sizeof(cell));
    assert_true(isnan(dtype_load(DTYPE_f64, &cell, 0)));
    assert_true(isnan(dtype_load(DTYPE_f32, &cell, 1)));
    assert_true(isnan(dtype_load(DTYPE_f16, &cell, 3)));
    assert_true(isnan(dtype_load(DTYPE_bf16, &cell, 2)));
    assert_true(dtype_load(DTYPE_i32, &cell, 0) == -1);
}

/* Spiky inputs are the normal ones of the same seed, and a few of them have something added: 66 of
 * 65,536 on average, of deviation 10. */
static void spikes_are_rare_and_large(void **state)
{
    (void)state;
    enum { N = 1 << 20 };
    static float plain[N], x[N];
    double sum = 0, square = 0, fourth = 0, cross = 0;
    int spikes = 0, last = -1000, neighbours = 0;
    inputs_fill(seed, &normal, 0, DTYPE_f32, plain, N);
    inputs_fill(seed, &spiky, 0, DTYPE_f32, x, N);
    for (int i = 0; i < N; i++) {
        double added = (double)x[i] - (double)plain[i];
        if (added == 0) /* no quantile is 0 */
            continue;
        spikes++;
        neighbours += i == last + 1;
        last = i;
        sum += added;
        square += added * added;
        fourth += added * added * added * added;
        cross += added * (double)plain[i];
    }
    double expected = N * 66.0 / 65536;
    assert_true(fabs(spikes - expected) < 4 * sqrt(expected));
    assert_true(neighbours < 8);
    assert_true(fabs(sum / spikes) < 4 * 10 / sqrt(spikes));
    assert_true(fabs(square / spikes - 100) < 4 * 100 * sqrt(2.0 / spikes));
    assert_true(fabs(fourth / spikes - 30000) < 15000);
    assert_true(fabs(cross / spikes) < 4 * 10 / sqrt(spikes));
}

static void spikes_do_not_depend_on_the_length(void **state)
{
    (void)state;
    enum { N = 40000, FROM = 16008 };
    static uint16_t whole[N], part[N - FROM], f64_rounded[N];
    static double exact[N];
    inputs_fill(seed, &spiky, 3, DTYPE_bf16, whole, N);
    inputs_fill_range(seed, &spiky, 3, DTYPE_bf16, part, FROM, N - FROM);
    assert_memory_equal(part, whole + FROM, sizeof(part));
    inputs_fill(seed, &spiky, 3, DTYPE_f64, exact, N); /* rounded once, from the exact sum */
    for (size_t i = 0; i < N; i++)
        f64_rounded[i] = bf16_from_double(exact[i]);
    assert_memory_equal(f64_rounded, whole, sizeof(whole));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_are_philox),
        cmocka_unit_test(values_do_not_depend_on_the_length),
        cmocka_unit_test(tensors_and_seeds_differ),
        cmocka_unit_test(normal_has_the_moments_of_a_normal),
        cmocka_unit_test(normal_table_is_frozen),
        cmocka_unit_test(integers_are_uniform),
        cmocka_unit_test(seeds_survive_text),
        cmocka_unit_test(poison_is_not_a_number),
        cmocka_unit_test(spikes_are_rare_and_large),
        cmocka_unit_test(spikes_do_not_depend_on_the_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
