/* SPDX-License-Identifier: Apache-2.0
 * Declarations of the PTX parser: registers, variables of every space, parameters. */
#include "evaluator/ptxvm/parse.h"

#include <string.h>

#include "core/util.h"

enum { ALIGN_MAX = 1 << 20 };

static const struct {
    const char *word;
    enum ptx_space space;
} spaces[] = {{"reg", PTX_SPACE_REG},       {"param", PTX_SPACE_PARAM},
              {"shared", PTX_SPACE_SHARED}, {"local", PTX_SPACE_LOCAL},
              {"global", PTX_SPACE_GLOBAL}, {"const", PTX_SPACE_CONST}};

enum ptx_space space_of_word(const struct parser *p)
{
    for (size_t i = 0; i < COUNT_OF(spaces); i++)
        if (parse_is_word(p, spaces[i].word))
            return spaces[i].space;
    return PTX_SPACE_NONE;
}

static uint32_t parse_align(struct parser *p)
{
    struct place place = parse_place(p);
    uint32_t align = parse_u32(p, "an alignment");
    if (!align || align & (align - 1) || align > ALIGN_MAX)
        parse_fail_at(p, place, "alignment %u is not a power of two up to %d", align, ALIGN_MAX);
    return align;
}

/* After .ptr: the space it points to, if said, and the alignment there. */
static void parse_ptr(struct parser *p, struct var_spec *spec)
{
    spec->is_ptr = true;
    spec->ptr_align = 4;
    enum ptx_space space = p->lex.kind == TOK_WORD ? space_of_word(p) : PTX_SPACE_NONE;
    if (space == PTX_SPACE_REG || space == PTX_SPACE_PARAM)
        parse_fail(p, "a pointer cannot point to .%s", ptx_space_name(space));
    if (space != PTX_SPACE_NONE)
        parse_next(p);
    spec->ptr_space = (uint8_t)space;
    if (parse_accept_word(p, "align"))
        spec->ptr_align = parse_align(p);
}

void parse_attributes(struct parser *p, struct var_spec *spec)
{
    parse_expect(p, '(', "'(' after .attribute");
    do {
        if (parse_accept_word(p, "managed")) {
            spec->managed = true;
        } else if (parse_accept_word(p, "unified")) {
            parse_expect(p, '(', "'(' after .unified");
            parse_integer(p, "an identifier");
            parse_expect(p, ',', "','");
            parse_integer(p, "an identifier");
            parse_expect(p, ')', "')'");
        } else {
            parse_fail(p, "unknown attribute '%.*s'", TOKEN_ARGS(p));
        }
    } while (parse_accept(p, ','));
    parse_expect(p, ')', "')' after the attributes");
}

static uint8_t vector_of_word(const struct parser *p)
{
    return parse_is_word(p, "v2") ? 2 : parse_is_word(p, "v4") ? 4 : 0;
}

static void parse_type(struct parser *p, struct var_spec *spec)
{
    uint32_t word =
        ptx_strings_find(&p->words, p->lex.text, p->lex.len, ptx_hash(p->lex.text, p->lex.len));
    if (word >= PTX_TYPE_COUNT)
        parse_fail(p, "unknown directive or type '.%.*s'", TOKEN_ARGS(p));
    if (word > PTX_TYPE_LAST_VARIABLE)
        parse_fail(p, "type .%.*s is for instructions only", TOKEN_ARGS(p));
    if (spec->type != PTX_TYPE_NONE)
        parse_fail(p, "a second type '.%.*s'", TOKEN_ARGS(p));
    spec->type = (enum ptx_type)word;
    parse_next(p);
}

struct var_spec parse_spec(struct parser *p)
{
    struct var_spec spec = {.type = PTX_TYPE_NONE, .vector = 1};
    while (parse_is(p, TOK_WORD)) {
        uint8_t vector = vector_of_word(p);
        if (vector) {
            spec.vector = vector;
            parse_next(p);
        } else if (parse_accept_word(p, "align")) {
            spec.align = parse_align(p);
        } else if (parse_accept_word(p, "ptr")) {
            parse_ptr(p, &spec);
        } else if (parse_accept_word(p, "attribute")) {
            parse_attributes(p, &spec);
        } else {
            parse_type(p, &spec);
        }
    }
    if (spec.type == PTX_TYPE_NONE)
        parse_fail(p, "expected a type, not '%.*s'", TOKEN_ARGS(p));
    if (!spec.align)
        spec.align = ptx_type_bytes(spec.type) * spec.vector;
    return spec;
}

/* "[4][]…": dimensions; only the first may be empty (0). The number of them. */
static unsigned parse_dims(struct parser *p, uint64_t dims[PTX_MAX_DIMS])
{
    unsigned count = 0;
    while (parse_accept(p, '[')) {
        if (count == PTX_MAX_DIMS)
            parse_fail(p, "more than %d dimensions", PTX_MAX_DIMS);
        dims[count] = 0;
        if (!parse_is(p, ']')) {
            struct place place = parse_place(p);
            int64_t n = parse_integer(p, "a dimension");
            if (n <= 0)
                parse_fail_at(p, place, "dimension %lld is not positive", (long long)n);
            dims[count] = (uint64_t)n;
        } else if (count) {
            parse_fail(p, "only the first dimension may be left open");
        }
        count++;
        parse_expect(p, ']', "']' after a dimension");
    }
    return count;
}

/* Sets count and size of an array. The open first dimension leaves it unsized. */
static void set_size(struct parser *p, struct ptx_var *v, const uint64_t *dims, unsigned dim_count)
{
    uint64_t element = (uint64_t)ptx_type_bytes(v->type) * v->vector;
    uint64_t count = 1;
    for (unsigned i = 0; i < dim_count; i++) {
        if (dims[i] && count > INT64_MAX / element / dims[i])
            parse_fail(p, "'%s' is too big", v->name);
        count *= dims[i];
    }
    v->unsized = dim_count && !dims[0];
    v->count = dim_count ? count : 0;
    v->size = count * element;
}

/* The name and dimensions of one variable or parameter, appended to parser.vars. */
static uint32_t parse_declarator(struct parser *p, const struct var_spec *spec,
                                 enum ptx_space space, uint64_t dims[PTX_MAX_DIMS],
                                 unsigned *dim_count)
{
    if (!parse_is(p, TOK_NAME) && !parse_is(p, '_'))
        parse_fail(p, "expected a name, not '%.*s'", TOKEN_ARGS(p));
    uint32_t index = p->vars.count;
    struct ptx_var *v = parse_push(p, &p->vars, 1);
    *v = (struct ptx_var){.name = parse_text(p, p->lex.text, p->lex.len),
                          .func = p->func,
                          .space = (uint8_t)space,
                          .type = (uint8_t)spec->type,
                          .vector = spec->vector,
                          .align = spec->align,
                          .is_ptr = spec->is_ptr,
                          .managed = spec->managed,
                          .ptr_space = spec->ptr_space,
                          .ptr_align = spec->ptr_align,
                          .reg = PTX_NONE,
                          .line = p->lex.token_line};
    parse_next(p);
    *dim_count = parse_dims(p, dims);
    set_size(p, v, dims, *dim_count);
    return index;
}

/* An extern variable may be declared again, or at last defined: the newest description counts.
 * Number of the variable that stays. */
static uint32_t merge_redeclared(struct parser *p, uint32_t name, uint32_t var)
{
    const struct def *d = name_lookup(p, name);
    if (!d || d->kind != DEF_VAR || p->depth || d->depth)
        return var;
    struct ptx_var *old = ITEM(p->vars, struct ptx_var, d->index);
    const struct ptx_var *new = ITEM(p->vars, struct ptx_var, var);
    if (old->linkage != PTX_LINK_EXTERN && new->linkage != PTX_LINK_EXTERN)
        return var; /* name_define() will refuse */
    if (old->space != new->space || old->type != new->type)
        parse_fail(p, "'%s' is declared differently before", new->name);
    if (new->linkage != PTX_LINK_EXTERN)
        *old = *new;
    p->vars.count--;
    return d->index;
}

void parse_variables(struct parser *p, enum ptx_space space, enum ptx_linkage linkage)
{
    if (!p->depth && (space == PTX_SPACE_LOCAL || space == PTX_SPACE_PARAM))
        parse_fail(p, "a .%s variable needs a function around it", ptx_space_name(space));
    struct var_spec spec = parse_spec(p);
    if (spec.type == PTX_TYPE_pred)
        parse_fail(p, "a predicate cannot be in memory");
    do {
        struct place place = parse_place(p);
        uint32_t name = parse_is(p, TOK_NAME) ? name_intern(p) : PTX_NONE;
        if (name == PTX_NONE)
            parse_fail(p, "expected a name, not '%.*s'", TOKEN_ARGS(p));
        uint64_t dims[PTX_MAX_DIMS];
        unsigned dim_count;
        uint32_t var = parse_declarator(p, &spec, space, dims, &dim_count);
        ITEM(p->vars, struct ptx_var, var)->linkage = (uint8_t)linkage;
        uint32_t kept = merge_redeclared(p, name, var);
        if (kept == var)
            name_define(p, name, place, (struct def){.kind = DEF_VAR, .index = var});
        if (parse_accept(p, '='))
            parse_initialiser(p, kept, dims, dim_count);
        else if (linkage != PTX_LINK_EXTERN && ITEM(p->vars, struct ptx_var, kept)->unsized &&
                 space != PTX_SPACE_PARAM)
            parse_fail_at(p, place, "'%s' needs a size", ITEM(p->vars, struct ptx_var, kept)->name);
    } while (parse_accept(p, ','));
    parse_expect(p, ';', "',' or ';' after a variable");
}

uint32_t reg_declare(struct parser *p, const char *name, enum ptx_type type, uint8_t width,
                     uint32_t count, bool numbered)
{
    uint64_t total = (uint64_t)count * width;
    uint32_t first = p->reg_types.count;
    if (total > PTX_MAX_REGS - first)
        parse_fail(p, "more than %d registers in one function", PTX_MAX_REGS);
    if (!total)
        return first;
    memset(parse_push(p, &p->reg_types, (uint32_t)total), (int)type, (size_t)total);
    struct ptx_reg_range *r = parse_push(p, &p->reg_ranges, 1);
    *r = (struct ptx_reg_range){.name = name,
                                .first = first,
                                .count = (uint32_t)total,
                                .type = (uint8_t)type,
                                .vector = width,
                                .numbered = numbered};
    return first;
}

void parse_registers(struct parser *p)
{
    if (!p->depth)
        parse_fail(p, "registers at module scope are not supported");
    struct var_spec spec = parse_spec(p);
    if (ptx_type_class(spec.type) == 'o')
        parse_fail(p, "a register cannot be a .%s", ptx_type_name(spec.type));
    do {
        if (!parse_is(p, TOK_NAME))
            parse_fail(p, "expected the name of a register, not '%.*s'", TOKEN_ARGS(p));
        struct place place = parse_place(p);
        uint32_t name = name_intern(p);
        const char *text = parse_text(p, p->lex.text, p->lex.len);
        parse_next(p);
        struct def def = {.kind = DEF_REG, .width = spec.vector, .count = 1};
        if (parse_accept(p, '<')) {
            def.kind = DEF_RANGE;
            if (!parse_is(p, TOK_INT)) /* a plain number: '>' would end an expression badly */
                parse_fail(p, "expected the number of registers, not '%.*s'", TOKEN_ARGS(p));
            if (p->lex.value > PTX_MAX_REGS)
                parse_fail(p, "more than %d registers in one function", PTX_MAX_REGS);
            def.count = (uint32_t)p->lex.value;
            parse_next(p);
            parse_expect(p, '>', "'>'");
        }
        def.index = reg_declare(p, text, spec.type, spec.vector, def.count, def.kind == DEF_RANGE);
        name_define(p, name, place, def);
    } while (parse_accept(p, ','));
    parse_expect(p, ';', "',' or ';' after a register");
}

uint32_t parse_params(struct parser *p)
{
    uint32_t count = 0;
    uint64_t offset = 0;
    parse_expect(p, '(', "'(' before parameters");
    if (parse_accept(p, ')'))
        return 0;
    do {
        enum ptx_space space = parse_is(p, TOK_WORD) ? space_of_word(p) : PTX_SPACE_NONE;
        if (space != PTX_SPACE_PARAM && space != PTX_SPACE_REG)
            parse_fail(p, "expected .param or .reg, not '%.*s'", TOKEN_ARGS(p));
        parse_next(p);
        struct var_spec spec = parse_spec(p);
        uint64_t dims[PTX_MAX_DIMS];
        unsigned dim_count;
        uint32_t index = parse_declarator(p, &spec, space, dims, &dim_count);
        struct ptx_var *v = ITEM(p->vars, struct ptx_var, index);
        offset = (offset + v->align - 1) / v->align * v->align;
        v->offset = offset;
        if (v->size > UINT32_MAX)
            parse_fail(p, "parameter '%s' is too big", v->name);
        offset += space == PTX_SPACE_PARAM ? v->size : 0;
        count++;
    } while (parse_accept(p, ','));
    parse_expect(p, ')', "',' or ')' after a parameter");
    return count;
}
