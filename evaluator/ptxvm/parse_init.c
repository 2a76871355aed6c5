/* SPDX-License-Identifier: Apache-2.0
 * Initialisers of the PTX parser: scalars and nested lists to bytes, addresses to relocations. */
#include "evaluator/ptxvm/parse.h"

#include <string.h>

/* One initialiser being read. `dims` are those of the array, and the vector as the innermost. */
struct init {
    uint32_t var;
    enum ptx_type type;
    unsigned element_bytes;
    uint64_t dims[PTX_MAX_DIMS + 1];
    uint64_t strides[PTX_MAX_DIMS + 1]; /* bytes from one item of a dimension to the next */
    unsigned dim_count;
};

static _Noreturn void fail_too_big(struct parser *p)
{
    p->arena.spent = true;
    parse_fail_memory(p);
}

/* Puts the value at a byte offset; what lies between is zero. */
static void put(struct parser *p, uint64_t offset, uint64_t value, unsigned bytes)
{
    uint64_t end = offset + bytes;
    if (end > UINT32_MAX)
        fail_too_big(p);
    if (end > p->bytes.count)
        parse_push(p, &p->bytes, (uint32_t)end - p->bytes.count);
    for (unsigned i = 0; i < bytes; i++)
        *ITEM(p->bytes, uint8_t, offset + i) = i < 8 ? (uint8_t)(value >> 8 * i) : 0;
}

/* sym, sym+4, generic(sym), generic(sym)+4 */
static struct ptx_reloc parse_address(struct parser *p)
{
    struct ptx_reloc r = {0};
    if (p->lex.len == 7 && memcmp(p->lex.text, "generic", 7) == 0 && ptx_lex_peek(&p->lex) == '(') {
        r.generic = true;
        parse_next(p);
        parse_next(p);
    }
    if (!parse_is(p, TOK_NAME))
        parse_fail(p, "expected the name of a variable, not '%.*s'", TOKEN_ARGS(p));
    const struct def *d = name_lookup(p, name_intern(p));
    if (!d)
        parse_fail(p, "undefined name '%.*s'", TOKEN_ARGS(p));
    if (d->kind != DEF_VAR && d->kind != DEF_FUNC)
        parse_fail(p, "'%.*s' has no address", TOKEN_ARGS(p));
    r.is_func = d->kind == DEF_FUNC;
    r.index = d->index;
    parse_next(p);
    if (r.generic)
        parse_expect(p, ')', "')' after generic(…");
    if (parse_is(p, '+') || parse_is(p, '-'))
        r.addend = parse_integer(p, "an offset");
    return r;
}

static void add_reloc(struct parser *p, const struct init *in, uint64_t offset, struct ptx_reloc r)
{
    r.offset = offset;
    if (!r.bytes)
        r.bytes = (uint8_t)in->element_bytes;
    put(p, offset, 0, in->element_bytes);
    *(struct ptx_reloc *)parse_push(p, &p->relocs, 1) = r;
}

/* 0xff00(sym): one byte of an address. The mask has been read. */
static void parse_masked(struct parser *p, const struct init *in, uint64_t offset, uint64_t mask)
{
    unsigned shift = 0;
    while (shift < 64 && mask != (uint64_t)0xff << shift)
        shift += 8;
    if (shift == 64)
        parse_fail(p, "a mask must select one byte of an address");
    parse_next(p);
    struct ptx_reloc r = parse_address(p);
    r.bytes = 1;
    r.shift = (uint8_t)shift;
    parse_expect(p, ')', "')' after a masked address");
    add_reloc(p, in, offset, r);
}

static void parse_element(struct parser *p, const struct init *in, uint64_t offset)
{
    struct place place = parse_place(p);
    if (!parse_at_constant(p)) {
        if (!parse_is(p, TOK_NAME))
            parse_fail(p, "expected an initial value, not '%.*s'", TOKEN_ARGS(p));
        struct ptx_reloc r = parse_address(p);
        if (in->element_bytes < 4 || in->element_bytes > 8)
            parse_fail_at(p, place, "an address does not fit a .%s", ptx_type_name(in->type));
        add_reloc(p, in, offset, r);
        return;
    }
    if (parse_is(p, TOK_INT) && ptx_lex_peek(&p->lex) == '(') {
        uint64_t mask = p->lex.value;
        parse_next(p);
        parse_masked(p, in, offset, mask);
        return;
    }
    struct constant c = parse_constant(p);
    if ((c.kind == PTX_OPERAND_INT) == (ptx_type_class(in->type) == 'f') &&
        ptx_type_class(in->type) != 'b')
        parse_fail_at(p, place, "this value does not fit the type .%s", ptx_type_name(in->type));
    struct ptx_operand o = {.kind = c.kind, .value = (int64_t)c.bits};
    put(p, offset, ptx_constant_bits(&o, in->type), in->element_bytes);
}

/* The items of dimension `dim` in braces. The number of them. */
static uint64_t parse_items(struct parser *p, const struct init *in, unsigned dim, uint64_t offset)
{
    uint64_t n = 0;
    parse_expect(p, '{', "'{' of an initial value");
    if (parse_accept(p, '}'))
        return 0;
    do {
        if (in->dims[dim] && n == in->dims[dim])
            parse_fail(p, "more than %llu initial values", (unsigned long long)n);
        if (n > UINT32_MAX || (n && in->strides[dim] > UINT32_MAX / n))
            fail_too_big(p);
        uint64_t at = offset + n++ * in->strides[dim];
        if (dim + 1 < in->dim_count)
            parse_items(p, in, dim + 1, at); /* no deeper than PTX_MAX_DIMS + 1 */
        else
            parse_element(p, in, at);
    } while (parse_accept(p, ','));
    parse_expect(p, '}', "',' or '}' after an initial value");
    return n;
}

/* Properties of a sampler ({addr_mode_0 = clamp, …}): textures do not run here. */
static void skip_properties(struct parser *p)
{
    parse_expect(p, '{', "'{' of an initial value");
    while (!parse_is(p, '}')) {
        if (parse_is(p, TOK_END) || parse_is(p, ';') || parse_is(p, '{'))
            parse_fail(p, "expected '}' after the properties of a sampler");
        parse_next(p);
    }
    parse_next(p);
}

static struct init init_of(const struct ptx_var *v, uint32_t var, const uint64_t *dims,
                           unsigned dim_count)
{
    struct init in = {.var = var, .type = v->type, .element_bytes = ptx_type_bytes(v->type)};
    memcpy(in.dims, dims, dim_count * sizeof *dims);
    in.dim_count = dim_count;
    if (v->vector > 1)
        in.dims[in.dim_count++] = v->vector;
    uint64_t stride = in.element_bytes;
    for (unsigned i = in.dim_count; i-- > 0; stride *= in.dims[i])
        in.strides[i] = stride;
    return in;
}

void parse_initialiser(struct parser *p, uint32_t var, const uint64_t *dims, unsigned dim_count)
{
    struct ptx_var *v = ITEM(p->vars, struct ptx_var, var);
    if (v->space != PTX_SPACE_GLOBAL && v->space != PTX_SPACE_CONST)
        parse_fail(p, "a .%s variable cannot have an initial value", ptx_space_name(v->space));
    if (ptx_type_class(v->type) == 'f' && ptx_type_bits(v->type) != 32 &&
        ptx_type_bits(v->type) != 64)
        parse_fail(p, "a .%s variable cannot have an initial value", ptx_type_name(v->type));
    if (ptx_type_class(v->type) == 'o') {
        skip_properties(p);
        return;
    }
    struct init in = init_of(v, var, dims, dim_count);
    p->bytes.count = 0;
    if (!in.dim_count) {
        parse_element(p, &in, 0);
    } else {
        uint64_t n = parse_items(p, &in, 0, 0);
        if (v->unsized) { /* the list says how many */
            v->unsized = false;
            v->count = n * (in.strides[0] / ((uint64_t)in.element_bytes * v->vector));
            v->size = n * in.strides[0];
            if (!n)
                parse_fail(p, "'%s' needs a size", v->name);
        }
    }
    v->init_bytes = p->bytes.count;
    v->init = parse_keep(p, &p->bytes, 0);
    v->reloc_count = p->relocs.count;
    v->relocs = parse_keep(p, &p->relocs, 0);
}
