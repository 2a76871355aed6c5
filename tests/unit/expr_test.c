// SPDX-License-Identifier: Apache-2.0
// Expressions: values, every kind of error with its reason, and the bounds.
#include "core/expr.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/util.h"

static const struct expr_var vars[] = {{"M", 8192},      {"N", 7168},        {"K", 5120},
                                       {"num_sms", 132}, {"big", INT64_MAX}, {"small", INT64_MIN},
                                       {"M_2", 3}};

static void values(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } rows[] = {
        {"7", 7},
        {" 7 ", 7},
        {"007", 7},
        {"-7", -7},
        {"1+2*3", 7},
        {"(1+2)*3", 9},
        {"10-3-2", 5},
        {"100/5/2", 10},
        {"17%5", 2},
        {"-7/7", -1},
        {"7- -7", 14},
        {"2*M*N*K", INT64_C(2) * 8192 * 7168 * 5120},
        {"M_2", 3},
        {"N/56", 128},
        {"ceil_div(M, 100)", 82},
        {"ceil_div(-7, 2)", -3},
        {"ceil_div(0, 5)", 0},
        {"ceil_div(big, 2)", INT64_MAX / 2 + 1},
        {"align(M+1, 128)", 8320},
        {"align(-1, 8)", 0},
        {"min(3, 1, 2)", 1},
        {"max(3, 1, 2)", 3},
        {"max(M, min(N, K))", 8192},
        {"9223372036854775807", INT64_MAX},
        {"-9223372036854775807 - 1", INT64_MIN},
        {"small % -1", 0},
        {"-3 % 2", -1},
        {"min(1,2,3,4,5,6,7,8)", 1},
        {"\t1\n", 1},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t v = 0;
        struct fault f = {0};
        if (expr_eval(rows[i].text, vars, COUNT_OF(vars), &v, &f) != ERR_NONE)
            fail_msg("%s", f.detail);
        assert_int_equal(v, rows[i].value);
    }
}

static void errors(void **state)
{
    (void)state;
    static const struct {
        const char *text, *reason;
    } rows[] = {
        {"", "expected a value at the end"},
        {"  ", "expected a value"},
        {"1+", "expected a value"},
        {"1 2", "unexpected '2' at column 3"},
        {"(1", "expected ')' at the end"},
        {"(1]", "expected ')' at column 3"},
        {"1)", "unexpected ')'"},
        {"--1", "expected a value"},
        {"Q", "unknown name 'Q'; known: M, N, K"},
        {"M_", "unknown name 'M_'"},
        {"sqrt(4)", "unknown function 'sqrt'"},
        {"M(4)", "unknown function 'M'"},
        {"5/2", "5 / 2 is not exact"},
        {"M/0", "division by zero"},
        {"M%0", "division by zero"},
        {"ceil_div(1, 0)", "must be positive"},
        {"align(1, -4)", "must be positive"},
        {"big+1", "does not fit"},
        {"small-1", "does not fit"},
        {"big*2", "does not fit"},
        {"-small", "does not fit"},
        {"small/-1", "does not fit"},
        {"align(big, 4096)", "does not fit"},
        {"9223372036854775808", "does not fit"},
        {"99999999999999999999999999", "does not fit"},
        {"min(1)", "at least 2"},
        {"min(1,2,3,4,5,6,7,8,9)", "at most 8"},
        {"ceil_div(1,2,3)", "at most 2"},
        {"min()", "expected a value"},
        {"min(1,)", "expected a value"},
        {"1.5", "unexpected '.5'"},
        {"0x10", "unexpected 'x10'"},
        {"2M", "unexpected 'M'"},
        {"M;N", "unexpected ';N'"},
        {"nan", "unknown name"},
        {"1\xff", "unexpected"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t v = 42;
        struct fault f = {0};
        enum err e = expr_eval(rows[i].text, vars, COUNT_OF(vars), &v, &f);
        if (e != ERR_INVALID || !strstr(f.detail, rows[i].reason))
            fail_msg("'%s' gave '%s', not '%s'", rows[i].text, f.detail, rows[i].reason);
        assert_int_equal(v, 42); /* left alone */
        if (rows[i].text[0] && rows[i].text[1] != '\xff')
            assert_non_null(strstr(f.detail, rows[i].text)); /* names the expression */
    }
}

static void bounds(void **state)
{
    (void)state;
    char text[LIMIT_EXPR + 2];
    int64_t v = 0;
    struct fault f = {0};
    memset(text, ' ', sizeof(text));
    text[0] = '1';
    text[LIMIT_EXPR] = '\0';
    assert_int_equal(expr_eval(text, NULL, 0, &v, &f), ERR_NONE);
    text[LIMIT_EXPR] = ' ';
    text[LIMIT_EXPR + 1] = '\0';
    assert_int_equal(expr_eval(text, NULL, 0, &v, &f), ERR_INVALID);
    assert_non_null(strstr(f.detail, "longer than 256"));

    for (int depth = 31; depth <= 32; depth++) {
        memset(text, '(', (size_t)depth);
        text[depth] = '1';
        memset(text + depth + 1, ')', (size_t)depth);
        text[2 * depth + 1] = '\0';
        assert_int_equal(expr_eval(text, NULL, 0, &v, &f), depth == 31 ? ERR_NONE : ERR_INVALID);
    }
    assert_non_null(strstr(f.detail, "nested deeper than 31"));
    assert_int_equal(expr_eval("M", NULL, 0, &v, NULL), ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(values), cmocka_unit_test(errors),
                                       cmocka_unit_test(bounds)};
    return cmocka_run_group_tests_name("expr", tests, NULL, NULL);
}
