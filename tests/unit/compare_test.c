// SPDX-License-Identifier: Apache-2.0
/* The rules of correctness on simulated matrix products: what an honest kernel does passes, what a
 * cheaper one does is seen, and every kind of damage is described. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "evaluator/compare.h"
#include "evaluator/inputs.h"

static const struct distribution normal = {.kind = DISTRIBUTION_NORMAL, .deviation = 1};
static const struct distribution integers = {.kind = DISTRIBUTION_INTEGERS, .low = -16, .high = 16};

enum { M = 192, N = 160, K = 512 };

/* A is M x K, B is N x K; y = A B^T in double; out is what a kernel made of it, in bf16. */
static float a[M * K], b[N * K];
static double y[M * N];
static uint16_t out[M * N];
static const int64_t shape[] = {M, N};

static void make_inputs(const struct distribution *d)
{
    struct seed seed = {1, 2};
    inputs_fill(seed, d, 0, DTYPE_f32, a, M * K);
    inputs_fill(seed, d, 1, DTYPE_f32, b, N * K);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double sum = 0;
            for (int k = 0; k < K; k++)
                sum += (double)a[i * K + k] * (double)b[j * K + k];
            y[i * N + j] = sum;
            dtype_store(DTYPE_bf16, out, (size_t)(i * N + j), sum);
        }
}

static float dot_f32(int i, int j, int from, int to)
{
    float sum = 0;
    for (int k = from; k < to; k++)
        sum += a[i * K + k] * b[j * K + k];
    return sum;
}

static double product_f32(int i, int j)
{
    return (double)dot_f32(i, j, 0, K);
}

/* Tensor core with fp16 accumulators: every 16 products are summed exactly, then rounded to
 * fp16. */
static double product_f16(int i, int j)
{
    double sum = 0;
    for (int k = 0; k < K; k += 16)
        sum = f16_to_double(f16_from_double(sum + (double)dot_f32(i, j, k, k + 16)));
    return sum;
}

/* Split K in four, partial sums kept in bf16. */
static double product_split(int i, int j)
{
    double sum = 0;
    for (int k = 0; k < K; k += K / 4)
        sum += (double)bf16_to_float(bf16_from_float(dot_f32(i, j, k, k + K / 4)));
    return sum;
}

/* Truncates to bf16 instead of rounding to nearest. */
static double product_truncated(int i, int j)
{
    float sum = dot_f32(i, j, 0, K);
    uint32_t bits;
    memcpy(&bits, &sum, sizeof(bits));
    bits &= 0xffff0000u;
    memcpy(&sum, &bits, sizeof(bits));
    return (double)sum;
}

static void fill(double (*product)(int i, int j), int first_row, int last_row)
{
    for (int i = first_row; i < last_row; i++)
        for (int j = 0; j < N; j++)
            dtype_store(DTYPE_bf16, out, (size_t)(i * N + j), product(i, j));
}

static struct compare_result judge(bool exact)
{
    struct compare_task task = {
        .name = "C", .dtype = DTYPE_bf16, .output = out, .oracle_dtype = DTYPE_f64, .oracle = y,
        .ndim = 2, .shape = shape,
        .rule = {.atol = 1e-2, .rtol = 1e-2, .excess_max = 4e-4, .exact = exact},
    };
    struct compare_result r;
    assert_int_equal(compare(&task, &r, NULL), ERR_NONE);
    json_t *json = compare_json(&task, &r);
    assert_non_null(json);
    bool nothing_finite = r.nan + r.inf == r.elements;
    assert_int_equal(json_is_null(json_object_get(json, "max_abs")), nothing_finite);
    assert_int_equal(json_is_null(json_object_get(json, "excess")), nothing_finite);
    json_decref(json);
    return r;
}

static bool hinted(const struct compare_result *r, const char *word)
{
    for (int i = 0; i < r->hint_count; i++)
        if (strstr(r->hints[i], word))
            return true;
    return false;
}

static void honest_kernels_are_strict(void **state)
{
    (void)state;
    make_inputs(&normal);
    struct compare_result r = judge(true);
    assert_true(r.paper && r.strict && r.exact && r.excess == 0);
    fill(product_f32, 0, M);
    r = judge(false);
    assert_true(r.paper && r.strict);
    assert_true(r.excess < 1e-5 && r.worst_tile.excess < 2e-5 && r.worst_row.excess < 1e-4);
    assert_int_equal(r.hint_count, 0);
}

static void downgrades_are_loose(void **state)
{
    (void)state;
    double (*const downgrades[])(int, int) = {product_f16, product_split, product_truncated};
    make_inputs(&normal);
    for (size_t i = 0; i < 3; i++) {
        fill(downgrades[i], 0, M);
        struct compare_result r = judge(false);
        assert_false(r.strict);
        assert_true(r.excess > 2 * 4e-4); /* measured 8.6e-4, 1.8e-3, 1.6e-3 */
        assert_true(r.hint_count > 0);
    }
}

static void a_small_part_done_badly_is_seen(void **state)
{
    (void)state;
    make_inputs(&normal);
    fill(product_f16, 70, 72); /* 2 rows of 192: too little for the tensor's own figure */
    struct compare_result r = judge(false);
    assert_false(r.strict);
    assert_true(r.excess < 4e-4 && r.bad_rows > 0);
    assert_in_range(r.worst_row.row, 70, 71);
    make_inputs(&normal);
    for (int i = 128; i < 192; i++)
        for (int j = 64; j < 128; j++)
            dtype_store(DTYPE_bf16, out, (size_t)(i * N + j), product_f16(i, j));
    r = judge(false);
    assert_false(r.strict);
    assert_int_equal(r.bad_tiles, 1);
    assert_int_equal(r.worst_tile.row, 128);
    assert_int_equal(r.worst_tile.column, 64);
    assert_true(hinted(&r, "less precise than the rest"));
}

static void integers_demand_every_bit(void **state)
{
    (void)state;
    make_inputs(&integers);
    fill(product_f32, 0, M);
    struct compare_result r = judge(true);
    assert_true(r.paper && r.strict && r.exact);
    fill(product_f16, 0, M);
    r = judge(true);
    assert_false(r.exact);
    assert_false(r.strict);
    assert_true(r.mismatches > r.elements / 20);
}

static void one_element_is_enough(void **state)
{
    (void)state;
    make_inputs(&normal);
    dtype_store(DTYPE_bf16, out, 100 * N + 17, y[100 * N + 17] * 1.05 + 0.05);
    struct compare_result r = judge(false);
    assert_false(r.paper);
    assert_int_equal(r.bad, 1);
    assert_int_equal(r.first_bad, 100 * N + 17);
    assert_true(r.want == y[100 * N + 17]);
    assert_int_equal(r.bad_low[0], 100);
    assert_int_equal(r.bad_high[1], 17);
}

static void non_finite_values_are_bad(void **state)
{
    (void)state;
    const uint16_t infinity = 0x7f80, minus_infinity = 0xff80, nan = 0x7fff,
                   poison = 0xffff;
    make_inputs(&normal);
    out[5] = infinity;
    out[6] = nan;
    out[7] = poison;
    out[8] = minus_infinity;
    struct compare_result r = judge(false);
    assert_false(r.paper);
    assert_int_equal(r.bad, 4);
    assert_int_equal(r.inf, 2);
    assert_int_equal(r.nan, 2);
    assert_int_equal(r.unwritten, 1);
    assert_true(isfinite(r.max_abs) && isfinite(r.excess));
    assert_true(hinted(&r, "never written"));
    /* Where the oracle is not finite the output must agree in kind and sign. */
    y[5] = INFINITY;
    y[6] = NAN;
    y[7] = y[8] = -INFINITY;
    r = judge(false);
    assert_int_equal(r.bad, 1);
    assert_int_equal(r.first_bad, 7);
}

static void an_output_without_a_finite_element_has_no_error_to_show(void **state)
{
    (void)state;
    make_inputs(&normal);
    memset(out, 0xff, sizeof(out));
    struct compare_result r = judge(false);
    assert_int_equal(r.nan, r.elements); /* judge() looks at what is shown */
    assert_false(r.paper);
}

static void zeros_have_no_sign(void **state)
{
    (void)state;
    make_inputs(&normal);
    y[9] = 0;
    out[9] = 0x8000;
    struct compare_result r = judge(true);
    assert_true(r.paper && r.exact);
}

static void guesses_name_the_cause(void **state)
{
    (void)state;
    make_inputs(&normal);
    for (int i = 0; i < M * N; i++)
        dtype_store(DTYPE_bf16, out, (size_t)i, y[i] * 2);
    struct compare_result r = judge(false);
    assert_true(hinted(&r, "times the oracle"));
    for (int i = 0; i < M * N; i++)
        dtype_store(DTYPE_bf16, out, (size_t)i, y[i % M * N + i / M]);
    r = judge(false);
    assert_true(hinted(&r, "transpose"));
    memset(out, 0, sizeof(out));
    r = judge(false);
    assert_true(hinted(&r, "whole output is 0"));
    make_inputs(&normal);
    for (int i = 128; i < M; i++)
        memset(&out[i * N + 128], 0, (N - 128) * sizeof(*out));
    r = judge(false);
    assert_true(hinted(&r, "rows 128 to 191, columns 128 to 159: look at the last tile"));
}

static void leading_dimensions_are_counted_through(void **state)
{
    (void)state;
    const int64_t cube[] = {2, 3, 65, 66};
    enum { COUNT = 2 * 3 * 65 * 66 };
    static float o[COUNT], r[COUNT];
    for (int i = 0; i < COUNT; i++)
        o[i] = r[i] = (float)(i % 97) - 48;
    o[COUNT - 1] += 7;
    struct compare_task task = {.name = "O", .dtype = DTYPE_f32, .output = o,
                                .oracle_dtype = DTYPE_f32, .oracle = r, .ndim = 4, .shape = cube,
                                .rule = {.atol = 1e-2, .rtol = 1e-2, .excess_max = 1e-3}};
    struct compare_result got;
    assert_int_equal(compare(&task, &got, NULL), ERR_NONE);
    assert_int_equal(got.tiles, 2 * 3 * 2 * 2);
    assert_int_equal(got.rows, 2 * 3 * 65);
    assert_int_equal(got.bad_tiles, 1);
    assert_int_equal(got.worst_tile.row, 5 * 65 + 64);
    assert_int_equal(got.worst_tile.column, 64);
    assert_int_equal(got.worst_row.row, 5 * 65 + 64);
    json_t *json = compare_json(&task, &got);
    json_t *index = json_object_get(json_object_get(json, "first_bad"), "index");
    assert_int_equal(json_array_size(index), 4);
    assert_int_equal(json_integer_value(json_array_get(index, 0)), 1);
    assert_int_equal(json_integer_value(json_array_get(index, 3)), 65);
    json_decref(json);
    const int64_t line[] = {COUNT};
    task.ndim = 1;
    task.shape = line;
    assert_int_equal(compare(&task, &got, NULL), ERR_NONE);
    assert_int_equal(got.rows, 1);
    assert_int_equal(got.bad, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(honest_kernels_are_strict),
        cmocka_unit_test(downgrades_are_loose),
        cmocka_unit_test(a_small_part_done_badly_is_seen),
        cmocka_unit_test(integers_demand_every_bit),
        cmocka_unit_test(one_element_is_enough),
        cmocka_unit_test(non_finite_values_are_bad),
        cmocka_unit_test(an_output_without_a_finite_element_has_no_error_to_show),
        cmocka_unit_test(zeros_have_no_sign),
        cmocka_unit_test(guesses_name_the_cause),
        cmocka_unit_test(leading_dimensions_are_counted_through),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
