// SPDX-License-Identifier: Apache-2.0
/* What is said of a wrong attention kernel: every mistake of a host model is named by a hint, and
 * what is right is not talked about. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/util.h"
#include "evaluator/compare.h"
#include "evaluator/inputs.h"
#include "tests/unit/attention_model.h"

enum { B = 2, H = 2, S = 256, D = 64 };

static const int64_t shape[] = {B, H, S, D};

static struct attention open_model(bool causal, enum mistake mistake)
{
    static const struct distribution normal = {.kind = DISTRIBUTION_NORMAL, .deviation = 1};
    struct attention a = {.B = B, .H = H, .S = S, .D = D, .causal = causal, .mistake = mistake};
    attention_open(&a);
    double *inputs[] = {a.Q, a.K, a.V, a.dO};
    for (unsigned i = 0; i < COUNT_OF(inputs); i++)
        inputs_fill((struct seed){5, 6}, &normal, i, DTYPE_f64, inputs[i], B * H * S * D);
    attention_forward(&a);
    return a;
}

/* Holds O, or LSE, of one model against another's. */
static struct compare_result hold(const double *got, const double *want, bool is_lse)
{
    int64_t n = is_lse ? B * H * S : B * H * S * D;
    enum dtype t = is_lse ? DTYPE_f32 : DTYPE_bf16;
    void *out = malloc((size_t)n * 4);
    for (int64_t i = 0; i < n; i++)
        dtype_store(t, out, (size_t)i, got[i]);
    struct compare_task task = {
        .name = is_lse ? "LSE" : "O",
        .dtype = t,
        .output = out,
        .oracle_dtype = DTYPE_f64,
        .oracle = want,
        .ndim = is_lse ? 3 : 4,
        .shape = shape,
        .rule = {.atol = 1e-2, .rtol = 1e-2, .excess_max = 2.4e-3, .part_max = 0.04},
    };
    struct compare_result r;
    assert_int_equal(compare(&task, &r, NULL), ERR_NONE);
    free(out);
    return r;
}

static bool hinted(const struct compare_result *r, const char *word)
{
    for (int i = 0; i < r->hint_count; i++)
        if (strstr(r->hints[i], word))
            return true;
    return false;
}

static void expect(const struct compare_result *r, const char *word, int row)
{
    if (!word) {
        assert_true(r->paper && r->strict);
        assert_int_equal(r->hint_count, 0);
        return;
    }
    assert_false(r->paper);
    if (hinted(r, word))
        return;
    for (int i = 0; i < r->hint_count; i++)
        print_error("%s\n", r->hints[i]);
    fail_msg("row %d: no hint says '%s'", row, word);
}

static void mistakes_of_a_forward_are_named(void **state)
{
    (void)state;
    static const struct {
        bool causal;
        enum mistake mistake;
        const char *of_O, *of_LSE; /* NULL: it is right */
    } rows[] = {
        {false, NO_MISTAKE, NULL, NULL},
        {true, NO_MISTAKE, NULL, NULL},
        {true, EDGE_MORE, "edge of the causal mask", "edge of the causal mask"},
        {true, EDGE_LESS, "edge of the causal mask", "edge of the causal mask"},
        {false, NO_SCALE, "scores not scaled by 1/sqrt(D)", "scores not scaled by 1/sqrt(D)"},
        {false, SCALE_TWICE, "scores scaled twice", "scores scaled twice"},
        {false, LSE_LOG2, NULL, "logarithm to base 2"},
        {true, LSE_LOG2, NULL, "logarithm to base 2"},
        {false, LAST_BLOCK, "keys missing", "0.75 times the terms"},
        {true, LAST_BLOCK, "only rows 192 to 255 are wrong: look at the last tile", "rows 0 to 3"},
        {false, ONE_HEAD, "only 1 of 4 heads are wrong, the first is [1, 0]", NULL},
        {true, ONE_HEAD, "only 1 of 4 heads are wrong, the first is [1, 0]", NULL},
        {false, TRANSPOSED, "each head of the output is the transpose", NULL},
        {true, TRANSPOSED, "each head of the output is the transpose", NULL},
        {false, NO_RESCALE, "rescaled when a later block", NULL},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct attention right = open_model(rows[i].causal, NO_MISTAKE);
        struct attention wrong = open_model(rows[i].causal, rows[i].mistake);
        struct compare_result O = hold(wrong.O, right.O, false);
        struct compare_result LSE = hold(wrong.LSE, right.LSE, true);
        expect(&O, rows[i].of_O, (int)i);
        expect(&LSE, rows[i].of_LSE, (int)i);
        attention_close(&wrong);
        attention_close(&right);
    }
}

static void the_last_keys_gradients_are_named(void **state)
{
    (void)state;
    struct attention right = open_model(false, NO_MISTAKE), wrong = open_model(false, NO_MISTAKE);
    attention_backward(&right);
    wrong.mistake = LAST_BLOCK;
    attention_backward(&wrong);
    struct compare_result dK = hold(wrong.dK, right.dK, false);
    expect(&dK, "only rows 192 to 255 are wrong: look at the last tile", 0);
    struct compare_result dV = hold(wrong.dV, right.dV, false);
    expect(&dV, "only rows 192 to 255 are wrong: look at the last tile", 1);
    struct compare_result dQ = hold(wrong.dQ, right.dQ, false);
    expect(&dQ, "keys missing", 2);
    attention_close(&wrong);
    attention_close(&right);
}

static void what_is_not_finite_is_counted(void **state)
{
    (void)state;
    struct attention right = open_model(false, NO_MISTAKE), wrong = open_model(false, NO_MISTAKE);
    for (int d = 0; d < D; d++)
        wrong.O[(S + 3) * D + d] = NAN; /* a query without a key: 0 / 0 */
    wrong.O[5] = INFINITY;
    struct compare_result r = hold(wrong.O, right.O, false);
    expect(&r, "NaN at 64 places", 0);
    expect(&r, "infinite at 1 places", 1);
    assert_int_equal(r.first_bad, 5);
    assert_int_equal(r.bad, 65);
    attention_close(&wrong);
    attention_close(&right);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_of_a_forward_are_named),
        cmocka_unit_test(the_last_keys_gradients_are_named),
        cmocka_unit_test(what_is_not_finite_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
