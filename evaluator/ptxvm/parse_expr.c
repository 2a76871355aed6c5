/* SPDX-License-Identifier: Apache-2.0
 * Constant expressions: the operators of C on 64-bit integers and doubles, casts (.s64) and (.u64),
 * and WARP_SZ. Signed overflow wraps; a shift by 64 or more is 64 shifts by one. */
#include "evaluator/ptxvm/parse.h"

#include <string.h>

#include "core/util.h"

enum { WARP_SIZE = 32, LOWEST = 1, TERNARY = 0 };

/* Binary operators by binding strength, as in C. */
static const struct binary {
    int token;
    int strength;
} binaries[] = {
    {TOK_OR_OR, 1}, {TOK_AND_AND, 2}, {'|', 3}, {'^', 4},    {'&', 5},    {TOK_EQ, 6},
    {TOK_NE, 6},    {'<', 7},         {'>', 7}, {TOK_LE, 7}, {TOK_GE, 7}, {TOK_SHL, 8},
    {TOK_SHR, 8},   {'+', 9},         {'-', 9}, {'*', 10},   {'/', 10},   {'%', 10},
};

static bool is_warp_size(const struct parser *p)
{
    return p->lex.kind == TOK_NAME && p->lex.len == 7 && memcmp(p->lex.text, "WARP_SZ", 7) == 0;
}

static int strength_of(int token)
{
    for (size_t i = 0; i < COUNT_OF(binaries); i++)
        if (binaries[i].token == token)
            return binaries[i].strength;
    return -1;
}

static double as_double(struct constant c)
{
    if (c.kind == PTX_OPERAND_INT)
        return c.is_unsigned ? (double)c.bits : (double)(int64_t)c.bits;
    if (c.kind == PTX_OPERAND_F32) {
        uint32_t bits = (uint32_t)c.bits;
        float value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    double value;
    memcpy(&value, &c.bits, sizeof value);
    return value;
}

static struct constant from_double(double value)
{
    struct constant c = {.kind = PTX_OPERAND_F64};
    memcpy(&c.bits, &value, sizeof value);
    return c;
}

static struct constant from_int(uint64_t bits, bool is_unsigned)
{
    return (struct constant){.kind = PTX_OPERAND_INT, .is_unsigned = is_unsigned, .bits = bits};
}

static bool truth(struct constant c)
{
    return c.kind == PTX_OPERAND_INT ? c.bits != 0 : as_double(c) != 0;
}

static struct constant float_binary(struct parser *p, int op, double a, double b)
{
    switch (op) {
    case '+':
        return from_double(a + b);
    case '-':
        return from_double(a - b);
    case '*':
        return from_double(a * b);
    case '/':
        return from_double(a / b); /* by zero: infinity or NaN, as IEEE 754 has it */
    case '<':
        return from_int(a < b, false);
    case '>':
        return from_int(a > b, false);
    case TOK_LE:
        return from_int(a <= b, false);
    case TOK_GE:
        return from_int(a >= b, false);
    case TOK_EQ:
        return from_int(a == b, false);
    case TOK_NE:
        return from_int(a != b, false);
    }
    parse_fail(p, "this operator needs integers");
}

static uint64_t divide(struct parser *p, int op, uint64_t a, uint64_t b, bool is_unsigned)
{
    if (b == 0)
        parse_fail(p, "division by zero");
    if (is_unsigned)
        return op == '/' ? a / b : a % b;
    if (b == UINT64_MAX) /* -1: avoids the one overflow of signed division */
        return op == '/' ? 0 - a : 0;
    return (uint64_t)(op == '/' ? (int64_t)a / (int64_t)b : (int64_t)a % (int64_t)b);
}

static uint64_t shift(int op, uint64_t a, uint64_t by, bool is_unsigned)
{
    bool negative = !is_unsigned && a >> 63;
    if (op == TOK_SHL)
        return by < 64 ? a << by : 0;
    if (by >= 64)
        return negative ? UINT64_MAX : 0;
    return by && negative ? a >> by | UINT64_MAX << (64 - by) : a >> by;
}

static struct constant int_binary(struct parser *p, int op, struct constant x, struct constant y)
{
    uint64_t a = x.bits, b = y.bits;
    bool u = x.is_unsigned || y.is_unsigned;
    bool less = u ? a < b : (int64_t)a < (int64_t)b;
    switch (op) {
    case '+':
        return from_int(a + b, u);
    case '-':
        return from_int(a - b, u);
    case '*':
        return from_int(a * b, u);
    case '/':
    case '%':
        return from_int(divide(p, op, a, b, u), u);
    case '&':
        return from_int(a & b, u);
    case '|':
        return from_int(a | b, u);
    case '^':
        return from_int(a ^ b, u);
    case TOK_SHL:
    case TOK_SHR:
        return from_int(shift(op, a, b, x.is_unsigned), x.is_unsigned);
    case '<':
        return from_int(less, false);
    case '>':
        return from_int(!less && a != b, false);
    case TOK_LE:
        return from_int(less || a == b, false);
    case TOK_GE:
        return from_int(!less, false);
    case TOK_EQ:
        return from_int(a == b, false);
    default:
        return from_int(a != b, false);
    }
}

static struct constant apply(struct parser *p, int op, struct constant a, struct constant b)
{
    if (op == TOK_AND_AND)
        return from_int(truth(a) && truth(b), false);
    if (op == TOK_OR_OR)
        return from_int(truth(a) || truth(b), false);
    if (a.kind != PTX_OPERAND_INT || b.kind != PTX_OPERAND_INT)
        return float_binary(p, op, as_double(a), as_double(b));
    return int_binary(p, op, a, b);
}

static struct constant expression(struct parser *p, int strength, int depth);

static struct constant unary(struct parser *p, int op, struct constant c)
{
    bool is_int = c.kind == PTX_OPERAND_INT;
    if (op == '!')
        return from_int(!truth(c), false);
    if (op == '~' && !is_int)
        parse_fail(p, "'~' needs an integer");
    if (op == '~')
        return from_int(~c.bits, c.is_unsigned);
    if (op == '-' && c.kind == PTX_OPERAND_F32)
        c.bits ^= 0x80000000u;
    else if (op == '-')
        c.bits = is_int ? 0 - c.bits : c.bits ^ (uint64_t)1 << 63;
    return c;
}

/* After '(': a cast or a parenthesised expression. */
static struct constant parenthesis(struct parser *p, int depth)
{
    bool to_signed = parse_is_word(p, "s64"), to_unsigned = parse_is_word(p, "u64");
    if (to_signed || to_unsigned) {
        parse_next(p);
        parse_expect(p, ')', "')' after the type of a cast");
        struct constant c = expression(p, PTX_MAX_DEPTH, depth); /* binds like a unary operator */
        if (c.kind != PTX_OPERAND_INT)
            parse_fail(p, "only integers can be cast");
        return from_int(c.bits, to_unsigned);
    }
    struct constant c = expression(p, TERNARY, depth);
    parse_expect(p, ')', "')'");
    return c;
}

static struct constant primary(struct parser *p, int depth)
{
    int kind = p->lex.kind;
    if (kind == TOK_INT || kind == TOK_F32 || kind == TOK_F64) {
        struct constant c = {.bits = p->lex.value,
                             .is_unsigned = kind == TOK_INT && p->lex.is_unsigned,
                             .kind = kind == TOK_INT   ? PTX_OPERAND_INT
                                     : kind == TOK_F32 ? PTX_OPERAND_F32
                                                       : PTX_OPERAND_F64};
        parse_next(p);
        return c;
    }
    if (kind == '-' || kind == '+' || kind == '!' || kind == '~') {
        parse_next(p);
        return unary(p, kind, expression(p, PTX_MAX_DEPTH, depth));
    }
    if (parse_accept(p, '('))
        return parenthesis(p, depth);
    if (is_warp_size(p)) {
        parse_next(p);
        return from_int(WARP_SIZE, false);
    }
    parse_fail(p, "expected a constant, not '%.*s'", TOKEN_ARGS(p));
}

/* Operators that bind at least as strongly as `strength`; TERNARY includes ?:. */
static struct constant expression(struct parser *p, int strength, int depth)
{
    if (depth >= PTX_MAX_DEPTH)
        parse_fail(p, "expression nested deeper than %d", PTX_MAX_DEPTH);
    struct constant left = primary(p, depth + 1);
    for (;;) {
        int op = p->lex.kind;
        int binds = strength_of(op);
        if (binds < LOWEST || binds < strength)
            break;
        parse_next(p);
        left = apply(p, op, left, expression(p, binds + 1, depth + 1));
    }
    if (strength == TERNARY && parse_accept(p, '?')) {
        struct constant yes = expression(p, TERNARY, depth + 1);
        parse_expect(p, ':', "':' of a conditional expression");
        struct constant no = expression(p, TERNARY, depth + 1);
        return truth(left) ? yes : no;
    }
    return left;
}

struct constant parse_constant(struct parser *p)
{
    return expression(p, TERNARY, 0);
}

int64_t parse_integer(struct parser *p, const char *what)
{
    struct place place = parse_place(p);
    struct constant c = parse_constant(p);
    if (c.kind != PTX_OPERAND_INT)
        parse_fail_at(p, place, "%s must be an integer", what);
    return (int64_t)c.bits;
}

bool parse_at_constant(const struct parser *p)
{
    int kind = p->lex.kind;
    return kind == TOK_INT || kind == TOK_F32 || kind == TOK_F64 || kind == '-' || kind == '+' ||
           kind == '!' || kind == '~' || kind == '(' || is_warp_size(p);
}
