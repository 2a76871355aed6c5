// SPDX-License-Identifier: Apache-2.0
// Recursive descent over one short text, evaluated as it is read:
//
//   sum     = product { ("+" | "-") product }
//   product = unary { ("*" | "/" | "%") unary }
//   unary   = [ "-" ] primary
//   primary = integer | name | function "(" sum { "," sum } ")" | "(" sum ")"
//
// The first error wins and ends the walk. Knows nothing of plans or problems.
#include "core/expr.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { MAX_DEPTH = 32, MAX_ARGUMENTS = 8 };

struct parser {
    const char *text, *at;
    const struct expr_var *vars;
    size_t var_count;
    int depth;
    bool failed;
    char reason[160];
};

__attribute__((format(printf, 2, 3))) static int64_t fail(struct parser *p, const char *fmt, ...)
{
    if (!p->failed) {
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(p->reason, sizeof(p->reason), fmt, ap);
        va_end(ap);
        p->failed = true;
    }
    return 0;
}

static int64_t overflow(struct parser *p, int64_t a, const char *op, int64_t b)
{
    return fail(p, "%lld %s %lld does not fit in 64 bits", (long long)a, op, (long long)b);
}

static int64_t add(struct parser *p, int64_t a, int64_t b)
{
    int64_t r;
    return __builtin_add_overflow(a, b, &r) ? overflow(p, a, "+", b) : r;
}

static int64_t subtract(struct parser *p, int64_t a, int64_t b)
{
    int64_t r;
    return __builtin_sub_overflow(a, b, &r) ? overflow(p, a, "-", b) : r;
}

static int64_t multiply(struct parser *p, int64_t a, int64_t b)
{
    int64_t r;
    return __builtin_mul_overflow(a, b, &r) ? overflow(p, a, "*", b) : r;
}

static int64_t divide(struct parser *p, int64_t a, int64_t b)
{
    if (b == 0)
        return fail(p, "division by zero");
    if (b == -1)
        return subtract(p, 0, a);
    if (a % b)
        return fail(p, "%lld / %lld is not exact; ceil_div rounds up", (long long)a, (long long)b);
    return a / b;
}

static int64_t remainder_of(struct parser *p, int64_t a, int64_t b)
{
    if (b == 0)
        return fail(p, "remainder of a division by zero");
    return b == -1 ? 0 : a % b; /* INT64_MIN % -1 traps */
}

static int64_t ceil_div(struct parser *p, const int64_t *v, size_t n)
{
    (void)n;
    if (v[1] <= 0)
        return fail(p, "ceil_div by %lld: the divisor must be positive", (long long)v[1]);
    return v[0] / v[1] + (v[0] % v[1] > 0);
}

static int64_t align_up(struct parser *p, const int64_t *v, size_t n)
{
    if (v[1] <= 0)
        return fail(p, "align to %lld: the step must be positive", (long long)v[1]);
    return multiply(p, ceil_div(p, v, n), v[1]);
}

static int64_t least(struct parser *p, const int64_t *v, size_t n)
{
    (void)p;
    int64_t r = v[0];
    for (size_t i = 1; i < n; i++)
        r = v[i] < r ? v[i] : r;
    return r;
}

static int64_t greatest(struct parser *p, const int64_t *v, size_t n)
{
    (void)p;
    int64_t r = v[0];
    for (size_t i = 1; i < n; i++)
        r = v[i] > r ? v[i] : r;
    return r;
}

static const struct function {
    const char *name;
    size_t least_arguments, most_arguments;
    int64_t (*call)(struct parser *p, const int64_t *v, size_t n);
} functions[] = {
    {"ceil_div", 2, 2, ceil_div},
    {"align", 2, 2, align_up},
    {"min", 2, MAX_ARGUMENTS, least},
    {"max", 2, MAX_ARGUMENTS, greatest},
};

static int64_t sum(struct parser *p);

/* Next character that is not white space; '\0' at the end and after an error, so that loops stop.
 */
static char peek(struct parser *p)
{
    while (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r')
        p->at++;
    return p->failed ? '\0' : *p->at;
}

static bool accept(struct parser *p, char c)
{
    if (peek(p) != c)
        return false;
    p->at++;
    return true;
}

static void expect(struct parser *p, char c)
{
    if (accept(p, c) || p->failed)
        return;
    if (*p->at)
        fail(p, "expected '%c' at column %td, not '%.16s'", c, p->at - p->text + 1, p->at);
    else
        fail(p, "expected '%c' at the end", c);
}

static int64_t integer(struct parser *p)
{
    int64_t v = 0;
    const char *start = p->at;
    for (; isdigit((unsigned char)*p->at); p->at++)
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *p->at - '0', &v))
            return fail(p, "the integer %.24s… does not fit in 64 bits", start);
    return v;
}

static int64_t call(struct parser *p, const struct function *f)
{
    int64_t v[MAX_ARGUMENTS];
    size_t n = 0;
    do {
        if (n == f->most_arguments)
            return fail(p, "%s takes at most %zu arguments", f->name, n);
        v[n++] = sum(p);
    } while (accept(p, ','));
    expect(p, ')');
    if (n < f->least_arguments)
        fail(p, "%s takes at least %zu arguments", f->name, f->least_arguments);
    return p->failed ? 0 : f->call(p, v, n);
}

static int64_t unknown(struct parser *p, const char *name, size_t len)
{
    char known[100] = "";
    size_t n = 0;
    for (size_t i = 0; i < p->var_count && n < sizeof(known); i++)
        n += (size_t)snprintf(known + n, sizeof(known) - n, "%s%s", i ? ", " : "", p->vars[i].name);
    return fail(p, "unknown name '%.*s'; known: %s", (int)(len < 32 ? len : 32), name, known);
}

static int64_t named(struct parser *p)
{
    const char *name = p->at;
    while (isalnum((unsigned char)*p->at) || *p->at == '_')
        p->at++;
    size_t len = (size_t)(p->at - name);
    if (accept(p, '(')) {
        for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
            if (strlen(functions[i].name) == len && !memcmp(functions[i].name, name, len))
                return call(p, &functions[i]);
        return fail(p, "unknown function '%.*s'; known: ceil_div, align, min, max",
                    (int)(len < 32 ? len : 32), name);
    }
    for (size_t i = 0; i < p->var_count; i++)
        if (strlen(p->vars[i].name) == len && !memcmp(p->vars[i].name, name, len))
            return p->vars[i].value;
    return unknown(p, name, len);
}

static int64_t primary(struct parser *p)
{
    char c = peek(p);
    if (isdigit((unsigned char)c))
        return integer(p);
    if (isalpha((unsigned char)c) || c == '_')
        return named(p);
    if (accept(p, '(')) {
        int64_t v = sum(p);
        expect(p, ')');
        return v;
    }
    if (!c)
        return fail(p, "expected a value at the end");
    return fail(p, "expected a value at column %td, not '%.16s'", p->at - p->text + 1, p->at);
}

static int64_t unary(struct parser *p)
{
    bool negative = accept(p, '-');
    int64_t v = primary(p);
    return negative ? subtract(p, 0, v) : v;
}

static int64_t product(struct parser *p)
{
    int64_t v = unary(p);
    for (;;) {
        if (accept(p, '*'))
            v = multiply(p, v, unary(p));
        else if (accept(p, '/'))
            v = divide(p, v, unary(p));
        else if (accept(p, '%'))
            v = remainder_of(p, v, unary(p));
        else
            return v;
        if (p->failed)
            return 0;
    }
}

static int64_t sum(struct parser *p)
{
    if (++p->depth > MAX_DEPTH)
        return fail(p, "nested deeper than %d parentheses", MAX_DEPTH - 1);
    int64_t v = product(p);
    for (;;) {
        if (accept(p, '+'))
            v = add(p, v, product(p));
        else if (accept(p, '-'))
            v = subtract(p, v, product(p));
        else
            break;
    }
    p->depth--;
    return v;
}

enum err expr_eval(const char *text, const struct expr_var *vars, size_t count, int64_t *out,
                   struct fault *f)
{
    if (strlen(text) > LIMIT_EXPR)
        return fault_set(f, ERR_INVALID, "cannot evaluate '%.32s…': longer than %d bytes", text,
                         LIMIT_EXPR);
    struct parser p = {.text = text, .at = text, .vars = vars, .var_count = count};
    int64_t v = sum(&p);
    if (!p.failed && peek(&p))
        fail(&p, "unexpected '%.16s' at column %td", p.at, p.at - p.text + 1);
    if (p.failed)
        return fault_set(f, ERR_INVALID, "cannot evaluate '%s': %s", text, p.reason);
    *out = v;
    return ERR_NONE;
}
