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

/* Holds an output of one model against another's. */
static struct compare_result hold(const char *name, const double *got, const double *want)
{
    bool is_lse = !strcmp(name, "LSE");
    int64_t n = is_lse ? B * H * S : B * H * S * D;
    enum dtype t = is_lse ? DTYPE_f32 : DTYPE_bf16;
    void *out = malloc((size_t)n * 4);
    for (int64_t i = 0; i < n; i++)
        dtype_store(t, out, (size_t)i, got[i]);
    struct compare_task task = {
        .name = name,
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
        {true, LAST_BLOCK, "only rows 192 to 255 are wrong: look at the last tile", "heads 0 to 3"},
        {false, ONE_HEAD, "only 1 of 4 heads is wrong, the first is [1, 0]", NULL},
        {true, ONE_HEAD, "only 1 of 4 heads is wrong, the first is [1, 0]", NULL},
        {false, TRANSPOSED, "each head of the output is the transpose", NULL},
        {true, TRANSPOSED, "each head of the output is the transpose", NULL},
        {false, NO_RESCALE, "rescaled when a later block", NULL},
        {true, NO_RESCALE, "rows 64 to 255 are wrong: is what was summed rescaled", NULL},
        {true, NO_SCALE, "scores not scaled by 1/sqrt(D)", "scores not scaled by 1/sqrt(D)"},
        {false, TILE_LEFT, "in every wrong head only rows 64 to 127",
         "heads 1 to 1, rows 64 to 127"},
        {true, TILE_LEFT, "only 1 of 4 heads is wrong, the first is [0, 1]", "rows 64 to 127"},
        {false, ROW_LEFT, "only 1 of 1024 rows is wrong, the worst is row 244 of head [0, 1]",
         "heads 1 to 1, rows 244 to 244"},
        {true, ROW_LEFT, "only 1 of 1024 rows is wrong, the worst is row 244 of head [0, 1]",
         "heads 1 to 1, rows 244 to 244"},
    };
    struct attention right[2] = {open_model(false, NO_MISTAKE), open_model(true, NO_MISTAKE)};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct attention *want = &right[rows[i].causal];
        struct attention wrong = open_model(rows[i].causal, rows[i].mistake);
        struct compare_result O = hold("O", wrong.O, want->O);
        struct compare_result LSE = hold("LSE", wrong.LSE, want->LSE);
        expect(&O, rows[i].of_O, (int)i);
        expect(&LSE, rows[i].of_LSE, (int)i);
        attention_close(&wrong);
    }
    attention_close(&right[0]);
    attention_close(&right[1]);
}

/* The backward's own mistakes, and the forward's that are possible there: the forward before it is
 * right. */
static void mistakes_of_a_backward_are_named(void **state)
{
    (void)state;
    static const char tile[] = "in every wrong head only rows 64 to 127 are wrong";
    static const char last[] = "only rows 192 to 255 are wrong: look at the last tile";
    static const char head[] = "only 1 of 4 heads is wrong, the first is [1, 0]";
    static const char row[] = "only 1 of 1024 rows is wrong, the worst is row 244 of head [0, 1]";
    static const char edge[] = "is the edge of the causal mask off by one";
    static const char turned[] = "each head of the output is the transpose";
    static const char base[] = "natural log-sum-exp taken to base 2";
    static const char scale[] = "scores not scaled by 1/sqrt(D)",
                      twice[] = "are scores scaled twice";
    static const char delta[] = "if dV is right: is rowsum(dO O) left out";
    static const char keys[] = "rows missing or taken twice",
                      later[] = "keys that only these see missing";
    static const struct {
        bool causal;
        enum mistake mistake;
        const char *of_dQ, *of_dK, *of_dV; /* NULL: it is right */
    } rows[] = {
        {false, NO_MISTAKE, NULL, NULL, NULL},
        {true, NO_MISTAKE, NULL, NULL, NULL},
        {true, EDGE_MORE, edge, edge, edge},
        {true, EDGE_LESS, edge, "the edge of a mask off by one", "the edge of a mask off by one"},
        {false, NO_SCALE, scale, scale, scale},
        {true, NO_SCALE, scale, scale, scale},
        {false, SCALE_TWICE, twice, twice, twice},
        {true, SCALE_TWICE, twice, twice, twice},
        {false, LAST_BLOCK, keys, last, last},
        {true, LAST_BLOCK, last, last, last},
        {false, ONE_HEAD, head, head, NULL}, /* another head's V */
        {true, ONE_HEAD, head, head, NULL},
        {false, TRANSPOSED, turned, turned, turned},
        {true, TRANSPOSED, turned, turned, turned},
        {false, TILE_LEFT, tile, tile, tile},
        {true, TILE_LEFT, tile, tile, tile},
        {false, ROW_LEFT, row, row, row},
        {true, ROW_LEFT, row, row, row},
        {false, OUTER_SCALE, "is 1/sqrt(D) missing", "is 1/sqrt(D) missing", NULL},
        {true, OUTER_SCALE, "is 1/sqrt(D) missing", "is 1/sqrt(D) missing", NULL},
        {false, NO_DELTA, delta, delta, NULL},
        {true, NO_DELTA, delta, delta, NULL},
        {false, L_BASE_2, base, base, base},
        {true, L_BASE_2, base, base, base},
        {false, PART_LEFT, keys, NULL, NULL},
        {true, PART_LEFT, later, NULL, NULL},
        {false, ADDED_TWICE, keys, NULL, NULL},
        {true, ADDED_TWICE, later, NULL, NULL},
    };
    struct attention right[2], wrong[2];
    for (int causal = 0; causal < 2; causal++) {
        right[causal] = open_model(causal, NO_MISTAKE);
        wrong[causal] = open_model(causal, NO_MISTAKE);
        attention_backward(&right[causal]);
    }
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct attention *got = &wrong[rows[i].causal], *want = &right[rows[i].causal];
        got->mistake = rows[i].mistake;
        attention_backward(got);
        struct compare_result dQ = hold("dQ", got->dQ, want->dQ);
        struct compare_result dK = hold("dK", got->dK, want->dK);
        struct compare_result dV = hold("dV", got->dV, want->dV);
        expect(&dQ, rows[i].of_dQ, (int)i);
        expect(&dK, rows[i].of_dK, (int)i);
        expect(&dV, rows[i].of_dV, (int)i);
    }
    for (int causal = 0; causal < 2; causal++) {
        attention_close(&right[causal]);
        attention_close(&wrong[causal]);
    }
}

static void what_is_not_finite_is_counted(void **state)
{
    (void)state;
    struct attention right = open_model(false, NO_MISTAKE), wrong = open_model(false, NO_MISTAKE);
    for (int d = 0; d < D; d++)
        wrong.O[(S + 3) * D + d] = NAN; /* a query without a key: 0 / 0 */
    wrong.O[5] = INFINITY;
    struct compare_result r = hold("O", wrong.O, right.O);
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
        cmocka_unit_test(mistakes_of_a_backward_are_named),
        cmocka_unit_test(what_is_not_finite_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
