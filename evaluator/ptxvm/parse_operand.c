/* SPDX-License-Identifier: Apache-2.0
 * Operands of the PTX parser. An operand goes on a stack; the elements of a list leave it for the
 * function's operands once the list is complete, so that they lie side by side there. */
#include "evaluator/ptxvm/parse.h"

#include <string.h>

#include "core/util.h"

/* `base` of a LABEL operand on the stack: `index` is a name that awaits its label, `value` a place.
 */
enum { AWAITS_LABEL = 0xff };

static void push(struct parser *p, struct ptx_operand o)
{
    *(struct ptx_operand *)parse_push(p, &p->stack, 1) = o;
}

uint32_t operands_flush(struct parser *p, uint32_t base)
{
    uint32_t first = p->operands.count, n = p->stack.count - base;
    if (!n)
        return first;
    struct ptx_operand *out = parse_push(p, &p->operands, n);
    memcpy(out, ITEM(p->stack, struct ptx_operand, base), n * sizeof *out);
    p->stack.count = base;
    for (uint32_t i = 0; i < n; i++)
        if (out[i].kind == PTX_OPERAND_LABEL && out[i].base == AWAITS_LABEL) {
            struct place place = {(uint32_t)(out[i].value >> 32), (uint32_t)out[i].value};
            label_await(p, out[i].index, first + i, place);
            out[i].base = 0;
            out[i].value = 0;
        }
    return first;
}

/* Replaces the stack's operands from `base` on by one list of them. */
static void make_list(struct parser *p, enum ptx_operand_kind kind, uint32_t base)
{
    uint32_t n = p->stack.count - base;
    if (n > PTX_MAX_OPERANDS)
        parse_fail(p, "more than %d elements in a list", PTX_MAX_OPERANDS);
    uint32_t first = operands_flush(p, base);
    push(p, (struct ptx_operand){.kind = (uint8_t)kind, .count = (uint8_t)n, .index = first});
}

static void push_constant(struct parser *p)
{
    struct constant c = parse_constant(p);
    push(p, (struct ptx_operand){.kind = c.kind, .value = (int64_t)c.bits});
}

/* A suffix that touches the name: ".x" of a vector or a video selector. Its length, without '.'. */
static uint32_t component(struct parser *p, const char **text)
{
    if (!ptx_lex_touches_suffix(&p->lex))
        return 0;
    *text = p->lex.at + 1;
    uint32_t len = ptx_lex_suffix(&p->lex);
    if (len < 2)
        parse_fail(p, "expected a component after '.'");
    return len - 1;
}

/* ".b20", ".h1": 0 unless it is one. */
static uint32_t selector(const char *text, uint32_t len)
{
    uint32_t count = len - 1, digits = 0;
    if ((text[0] != 'b' && text[0] != 'h') || count < 1 || count > (text[0] == 'b' ? 4 : 2))
        return 0;
    for (uint32_t i = 1; i < len; i++) {
        if (text[i] < '0' || text[i] > (text[0] == 'b' ? '7' : '3'))
            return 0;
        digits = digits << 4 | (uint32_t)(text[i] - '0');
    }
    return ptx_selector_make(text[0] == 'h', count, digits);
}

/* Pushes register `reg` of `width` components: whole, a component of it, or with a selector. */
static void push_register(struct parser *p, uint32_t reg, uint8_t width, uint8_t negated)
{
    const char *text = NULL;
    uint32_t len = component(p, &text);
    struct ptx_operand o = {.kind = PTX_OPERAND_REG, .index = reg, .negated = negated};
    if (len == 1 && width > 1) {
        static const char letters[] = "xrygzbwa"; /* x or r, y or g, … */
        const char *found = strchr(letters, *text);
        if (!found || (found - letters) / 2 >= width)
            parse_fail(p, "a vector of %u has no component '%c'", width, *text);
        o.index += (uint32_t)((found - letters) / 2);
    } else if (len) {
        o.value = selector(text, len);
        if (!o.value)
            parse_fail(p, "unknown selector '.%.*s'", parse_shown(len), text);
    } else if (width > 1) {
        uint32_t base = p->stack.count;
        for (uint32_t i = 0; i < width; i++)
            push(p, (struct ptx_operand){.kind = PTX_OPERAND_REG, .index = reg + i});
        make_list(p, PTX_OPERAND_VECTOR, base);
        parse_next(p);
        return;
    }
    push(p, o);
    parse_next(p);
}

/* Number of the special register, "%tid.r" for "%tid.x" included, or PTX_NONE. */
static uint32_t find_sreg(const struct parser *p, const char *text, uint32_t len)
{
    static const char colours[] = "rgba";
    char copy[16];
    if (len > 2 && len < sizeof copy && text[len - 2] == '.' && strchr(colours, text[len - 1])) {
        memcpy(copy, text, len);
        copy[len - 1] = "xyzw"[strchr(colours, text[len - 1]) - colours];
        text = copy;
    }
    return ptx_strings_find(&p->sregs, text, len, ptx_hash(text, len));
}

/* The current name has no definition that could stand here: a special register or a label to come.
 */
static void push_unknown(struct parser *p, uint32_t name)
{
    struct place place = parse_place(p);
    if (*p->lex.text == '%') {
        const char *text = p->lex.text;
        uint32_t len = p->lex.len;
        if (ptx_lex_touches_suffix(&p->lex)) /* %tid.x */
            len += ptx_lex_suffix(&p->lex);
        uint32_t sreg = find_sreg(p, text, len);
        if (sreg == PTX_NONE)
            parse_fail(p, "undefined name '%.*s'", parse_shown(len), text);
        push(p, (struct ptx_operand){.kind = PTX_OPERAND_SREG, .index = sreg});
    } else {
        push(p,
             (struct ptx_operand){.kind = PTX_OPERAND_LABEL,
                                  .base = AWAITS_LABEL,
                                  .index = name,
                                  .value = (int64_t)((uint64_t)place.line << 32 | place.column)});
    }
    parse_next(p);
}

/* After the name of a variable: its address, sym+4, sym[4], sym[reg], sym[reg+4]. */
static void push_variable(struct parser *p, uint32_t var)
{
    parse_next(p);
    struct ptx_operand o = {.kind = PTX_OPERAND_VAR, .index = var};
    if (!parse_accept(p, '[')) {
        if (parse_is(p, '+') || parse_is(p, '-'))
            o.value = parse_integer(p, "an offset");
        push(p, o);
        return;
    }
    const struct ptx_var *v = ITEM(p->vars, struct ptx_var, var);
    uint64_t element = (uint64_t)ptx_type_bytes(v->type) * v->vector;
    uint32_t base = p->stack.count;
    const struct def *d = parse_is(p, TOK_NAME) ? name_lookup(p, name_intern(p)) : NULL;
    bool has_reg = d && (d->kind == DEF_REG || d->kind == DEF_RANGE);
    o.kind = PTX_OPERAND_MEM;
    o.base = PTX_BASE_VAR;
    push(p, o);
    if (has_reg)
        parse_operand(p);
    if (!has_reg || parse_is(p, '+') || parse_is(p, '-')) {
        uint64_t offset = (uint64_t)parse_integer(p, "an index") * element;
        ITEM(p->stack, struct ptx_operand, base)->value = (int64_t)offset;
    }
    if (has_reg && ITEM(p->stack, struct ptx_operand, base + 1)->kind != PTX_OPERAND_REG)
        parse_fail(p, "an index must be one register or a constant");
    if (has_reg)
        make_list(p, PTX_OPERAND_INDEXED, base);
    parse_expect(p, ']', "']' after an index");
}

static void parse_name_operand(struct parser *p, uint8_t negated)
{
    uint32_t name = name_intern(p);
    const struct def *d = name_lookup(p, name);
    /* A label of an outer scope gives way to one that this scope may still define. */
    if (!d || (d->kind == DEF_LABEL && d->depth != p->depth)) {
        if (negated)
            parse_fail(p, "undefined register '%.*s'", TOKEN_ARGS(p));
        push_unknown(p, name);
        return;
    }
    if (negated && d->kind != DEF_REG && d->kind != DEF_RANGE)
        parse_fail(p, "'%.*s' is no register to negate", TOKEN_ARGS(p));
    static const uint8_t kinds[] = {
        [DEF_FUNC] = PTX_OPERAND_FUNC,
        [DEF_LABEL] = PTX_OPERAND_LABEL,
        [DEF_TARGETS] = PTX_OPERAND_TARGETS,
        [DEF_PROTO] = PTX_OPERAND_PROTO,
    };
    switch ((enum def_kind)d->kind) {
    case DEF_REG:
        push_register(p, d->index, d->width, negated);
        return;
    case DEF_RANGE:
        push_register(p, d->index + ITEM(p->name_infos, struct name, name)->number * d->width,
                      d->width, negated);
        return;
    case DEF_VAR: {
        const struct ptx_var *v = ITEM(p->vars, struct ptx_var, d->index);
        if (v->space == PTX_SPACE_REG)
            push_register(p, v->reg, v->vector, negated);
        else
            push_variable(p, d->index);
        return;
    }
    default:
        push(p, (struct ptx_operand){.kind = kinds[d->kind], .index = d->index});
        parse_next(p);
    }
}

/* After '[': the base and its offset. */
static void parse_base(struct parser *p)
{
    struct ptx_operand o = {.kind = PTX_OPERAND_MEM};
    if (parse_at_constant(p)) {
        o.value = parse_integer(p, "an address");
        push(p, o);
        return;
    }
    if (!parse_is(p, TOK_NAME))
        parse_fail(p, "expected an address, not '%.*s'", TOKEN_ARGS(p));
    struct place place = parse_place(p);
    const char *text = p->lex.text;
    int len = parse_shown(p->lex.len);
    uint32_t at = p->stack.count;
    parse_name_operand(p, false); /* takes the offset after a variable */
    const struct ptx_operand *base = ITEM(p->stack, struct ptx_operand, at);
    if (base->kind != PTX_OPERAND_REG && base->kind != PTX_OPERAND_VAR)
        parse_fail_at(p, place,
                      base->kind == PTX_OPERAND_LABEL ? "undefined name '%.*s'"
                                                      : "'%.*s' is no address",
                      len, text);
    o.base = base->kind == PTX_OPERAND_REG ? PTX_BASE_REG : PTX_BASE_VAR;
    o.index = base->index;
    o.value = base->kind == PTX_OPERAND_VAR ? base->value : 0;
    p->stack.count = at;
    if (parse_is(p, '+') || parse_is(p, '-'))
        o.value = parse_integer(p, "an offset");
    push(p, o);
}

/* "[base+offset]", "[base, {x, y}]", "[texture, sampler, {x, y}]" */
static void parse_address(struct parser *p)
{
    uint32_t base = p->stack.count;
    parse_next(p);
    parse_base(p);
    while (parse_accept(p, ',')) {
        if (parse_is(p, '['))
            parse_fail(p, "an address within an address");
        parse_operand(p);
    }
    if (p->stack.count > base + 1)
        make_list(p, PTX_OPERAND_ADDRESS, base);
    parse_expect(p, ']', "']' after an address");
}

static void parse_vector(struct parser *p)
{
    uint32_t base = p->stack.count;
    parse_next(p);
    do {
        if (parse_is(p, '{') || parse_is(p, '['))
            parse_fail(p, "a vector holds registers and constants");
        struct place place = parse_place(p);
        uint32_t element = p->stack.count;
        parse_operand(p);
        if (ITEM(p->stack, struct ptx_operand, element)->kind >= PTX_OPERAND_MEM)
            parse_fail_at(p, place, "a vector holds registers and constants");
    } while (parse_accept(p, ','));
    parse_expect(p, '}', "',' or '}' in a vector");
    make_list(p, PTX_OPERAND_VECTOR, base);
}

/* "!%p", "-%r": a negated register, and not a constant expression. */
static bool at_negated_register(struct parser *p)
{
    if (p->lex.kind != '!' && p->lex.kind != '-')
        return false;
    char c = ptx_lex_peek(&p->lex);
    bool is_name = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c && strchr("%_$", c));
    bool is_constant = p->lex.end - p->lex.at >= 7 && memcmp(p->lex.at, "WARP_SZ", 7) == 0;
    return is_name && !is_constant;
}

static void parse_single(struct parser *p)
{
    if (at_negated_register(p)) {
        parse_next(p);
        parse_name_operand(p, true);
    } else if (parse_at_constant(p)) {
        push_constant(p);
    } else if (parse_is(p, TOK_NAME)) {
        parse_name_operand(p, false);
    } else if (parse_is(p, '[')) {
        parse_address(p);
    } else if (parse_is(p, '{')) {
        parse_vector(p);
    } else if (parse_accept(p, '_')) {
        push(p, (struct ptx_operand){.kind = PTX_OPERAND_SINK});
    } else {
        parse_fail(p, "expected an operand, not '%.*s'", TOKEN_ARGS(p));
    }
}

void parse_operand(struct parser *p)
{
    uint32_t base = p->stack.count;
    parse_single(p);
    uint8_t kind = ITEM(p->stack, struct ptx_operand, base)->kind;
    bool can_pair =
        kind == PTX_OPERAND_REG || kind == PTX_OPERAND_SINK || kind == PTX_OPERAND_VECTOR;
    if (can_pair && parse_accept(p, '|')) {
        parse_single(p);
        make_list(p, PTX_OPERAND_PAIR, base);
    }
}

/* "(a, b)" or "()"; without '(' an empty list. */
static void parse_tuple(struct parser *p)
{
    uint32_t base = p->stack.count;
    if (parse_accept(p, '(') && !parse_accept(p, ')')) {
        do
            parse_operand(p);
        while (parse_accept(p, ','));
        parse_expect(p, ')', "',' or ')' in the arguments of a call");
    }
    make_list(p, PTX_OPERAND_TUPLE, base);
}

void parse_call_operands(struct parser *p)
{
    bool has_results = parse_is(p, '(');
    parse_tuple(p);
    if (has_results)
        parse_expect(p, ',', "',' after the results of a call");
    uint32_t callee = p->stack.count;
    struct place place = parse_place(p);
    parse_operand(p);
    uint8_t kind = ITEM(p->stack, struct ptx_operand, callee)->kind;
    if (kind != PTX_OPERAND_FUNC && kind != PTX_OPERAND_REG)
        parse_fail_at(p, place, "call of something that is no function declared before");
    bool more = parse_accept(p, ',');
    bool has_arguments = more && parse_is(p, '(');
    parse_tuple(p);
    if (has_arguments)
        more = parse_accept(p, ',');
    if (!more) {
        push(p, (struct ptx_operand){.kind = PTX_OPERAND_SINK});
        return;
    }
    uint32_t shape = p->stack.count;
    place = parse_place(p);
    parse_operand(p);
    kind = ITEM(p->stack, struct ptx_operand, shape)->kind;
    if (kind != PTX_OPERAND_PROTO && kind != PTX_OPERAND_TARGETS)
        parse_fail_at(p, place, "expected a call prototype or call targets declared before");
}
