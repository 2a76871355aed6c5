/* SPDX-License-Identifier: Apache-2.0
 * Functions of the PTX parser: head, performance directives, body, source locations. */
#include "evaluator/ptxvm/parse.h"

#include <string.h>

#include "core/util.h"

enum { LOC_LOOK_BACK = 16 };

/* Up to three numbers, the absent ones 1. */
static void parse_extent(struct parser *p, uint32_t out[3])
{
    out[0] = out[1] = out[2] = 1;
    for (int i = 0; i < 3; i++) {
        out[i] = parse_u32(p, "an extent");
        if (!parse_accept(p, ','))
            return;
    }
    parse_fail(p, "more than three extents");
}

static void parse_pragma(struct parser *p)
{
    do
        parse_expect(p, TOK_STRING, "the string of a .pragma");
    while (parse_accept(p, ','));
    parse_expect(p, ';', "';' after a .pragma");
}

/* Directives between head and body: each with where it goes. */
static const struct directive {
    const char *word;
    enum { EXTENT, NUMBER, YES, PRAGMA, NORETURN, IGNORED_NUMBER } kind;
    size_t offset; /* in struct ptx_directives */
} directives[] = {
    {"maxntid", EXTENT, offsetof(struct ptx_directives, maxntid)},
    {"reqntid", EXTENT, offsetof(struct ptx_directives, reqntid)},
    {"reqnctapercluster", EXTENT, offsetof(struct ptx_directives, reqnctapercluster)},
    {"minnctapersm", NUMBER, offsetof(struct ptx_directives, minnctapersm)},
    {"maxnctapersm", NUMBER, offsetof(struct ptx_directives, maxnctapersm)},
    {"maxnreg", NUMBER, offsetof(struct ptx_directives, maxnreg)},
    {"maxclusterrank", NUMBER, offsetof(struct ptx_directives, maxclusterrank)},
    {"explicitcluster", YES, offsetof(struct ptx_directives, explicitcluster)},
    {"blocksareclusters", YES, offsetof(struct ptx_directives, blocksareclusters)},
    {"noreturn", NORETURN, 0},
    {"pragma", PRAGMA, 0},
    {"abi_preserve", IGNORED_NUMBER, 0},
    {"abi_preserve_control", IGNORED_NUMBER, 0},
};

static void parse_directive(struct parser *p, struct ptx_func *f)
{
    const struct directive *d = directives;
    while (d < directives + COUNT_OF(directives) && !parse_is_word(p, d->word))
        d++;
    if (d == directives + COUNT_OF(directives))
        parse_fail(p, "unknown directive '.%.*s' of a function", TOKEN_ARGS(p));
    parse_next(p);
    void *target = (char *)&f->directives + d->offset;
    switch (d->kind) {
    case EXTENT:
        parse_extent(p, target);
        break;
    case NUMBER:
        *(uint32_t *)target = parse_u32(p, "a count");
        break;
    case YES:
        *(bool *)target = true;
        break;
    case PRAGMA:
        parse_pragma(p);
        break;
    case NORETURN:
        f->noreturn = true;
        break;
    case IGNORED_NUMBER:
        parse_u32(p, "a number of registers");
        break;
    }
}

/* "file line column": a new entry of locs, or a recent equal one when `reuse`. */
static uint32_t parse_position(struct parser *p, bool reuse)
{
    struct ptx_loc loc = {.file = parse_u32(p, "a file number")};
    loc.line = parse_u32(p, "a line");
    loc.column = parse_u32(p, "a column");
    for (uint32_t i = p->locs.count; reuse && i-- > 1 && p->locs.count - i <= LOC_LOOK_BACK;) {
        const struct ptx_loc *old = ITEM(p->locs, struct ptx_loc, i);
        if (old->file == loc.file && old->line == loc.line && old->column == loc.column)
            return i;
    }
    *(struct ptx_loc *)parse_push(p, &p->locs, 1) = loc;
    return p->locs.count - 1;
}

uint32_t parse_loc(struct parser *p)
{
    uint32_t loc = parse_position(p, false);
    if (!parse_accept(p, ','))
        return loc;
    if (!parse_is(p, TOK_NAME) || p->lex.len != 13 || memcmp(p->lex.text, "function_name", 13) != 0)
        parse_fail(p, "expected function_name, not '%.*s'", TOKEN_ARGS(p));
    parse_next(p);
    parse_expect(p, TOK_NAME, "a label of debug information"); /* in a skipped section */
    if (parse_is(p, '+'))
        parse_integer(p, "an offset");
    parse_expect(p, ',', "','");
    if (!parse_is(p, TOK_NAME) || p->lex.len != 10 || memcmp(p->lex.text, "inlined_at", 10) != 0)
        parse_fail(p, "expected inlined_at, not '%.*s'", TOKEN_ARGS(p));
    parse_next(p);
    uint32_t at = parse_position(p, true);
    ITEM(p->locs, struct ptx_loc, loc)->inlined_at = at == loc ? 0 : at;
    return loc;
}

static void parse_body_directive(struct parser *p)
{
    if (parse_accept_word(p, "loc")) {
        p->loc = parse_loc(p);
        return;
    }
    if (parse_accept_word(p, "reg")) {
        parse_registers(p);
        return;
    }
    if (parse_accept_word(p, "pragma")) {
        parse_pragma(p);
        return;
    }
    enum ptx_linkage linkage = parse_accept_word(p, "extern") ? PTX_LINK_EXTERN : PTX_LINK_LOCAL;
    enum ptx_space space = parse_is(p, TOK_WORD) ? space_of_word(p) : PTX_SPACE_NONE;
    if (space == PTX_SPACE_NONE)
        parse_fail(p, "unknown directive '.%.*s' in a function", TOKEN_ARGS(p));
    parse_next(p);
    parse_variables(p, space, linkage);
}

/* Defines the parameters in the scope of the body. */
static void define_params(struct parser *p, const struct ptx_func *f, struct place place)
{
    for (uint32_t i = 0; i < f->return_count + f->param_count; i++) {
        struct ptx_var *v = ITEM(p->vars, struct ptx_var, f->first_var + i);
        size_t len = strlen(v->name);
        if (strcmp(v->name, "_") == 0)
            parse_fail_at(p, place, "a parameter of a function with a body needs a name");
        if (v->space == PTX_SPACE_REG)
            v->reg = reg_declare(p, v->name, v->type, v->vector, 1, false);
        uint32_t name = name_intern_text(p, v->name, len);
        name_define(p, name, place, (struct def){.kind = DEF_VAR, .index = f->first_var + i});
    }
}

static void keep_body(struct parser *p, struct ptx_func *f)
{
    f->instr_count = p->instrs.count;
    f->instrs = parse_keep(p, &p->instrs, 0);
    f->operand_count = p->operands.count;
    f->operands = parse_keep(p, &p->operands, 0);
    f->reg_count = p->reg_types.count;
    f->reg_types = parse_keep(p, &p->reg_types, 0);
    f->reg_range_count = p->reg_ranges.count;
    f->reg_ranges = parse_keep(p, &p->reg_ranges, 0);
    f->label_count = p->labels.count;
    f->labels = parse_keep(p, &p->labels, 0);
    f->target_count = p->targets.count;
    f->targets = parse_keep(p, &p->targets, 0);
    f->proto_count = p->protos.count;
    f->protos = parse_keep(p, &p->protos, 0);
}

/* At '{'. */
static void parse_body(struct parser *p, struct ptx_func *f, struct place place)
{
    scope_open(p);
    define_params(p, f, place);
    parse_next(p);
    p->loc = 0;
    while (p->depth) {
        if (parse_is(p, '{')) {
            scope_open(p);
            parse_next(p);
        } else if (parse_is(p, '}')) {
            scope_close(p);
            parse_next(p);
        } else if (parse_is(p, TOK_WORD)) {
            parse_body_directive(p);
        } else if (parse_is(p, TOK_END)) {
            parse_fail_at(p, place, "function '%s' does not end", f->name);
        } else {
            parse_statement(p);
        }
    }
    f->has_body = true;
    f->local_count = p->vars.count - f->first_var - f->return_count - f->param_count;
    keep_body(p, f);
}

/* Number of the function named by the current token: declared before, or new. */
static uint32_t declare_function(struct parser *p, bool is_entry, enum ptx_linkage linkage)
{
    uint32_t name = name_intern(p);
    const struct def *d = name_lookup(p, name);
    if (d && d->kind == DEF_FUNC) {
        struct ptx_func *f = ITEM(p->funcs, struct ptx_func, d->index);
        if (f->is_entry != is_entry)
            parse_fail(p, "'%s' is declared differently before", f->name);
        if (linkage != PTX_LINK_LOCAL && f->linkage == PTX_LINK_LOCAL)
            f->linkage = (uint8_t)linkage;
        return d->index;
    }
    uint32_t index = p->funcs.count;
    struct ptx_func *f = parse_push(p, &p->funcs, 1);
    *f = (struct ptx_func){.name = parse_text(p, p->lex.text, p->lex.len),
                           .is_entry = is_entry,
                           .linkage = (uint8_t)linkage,
                           .alias = PTX_NONE,
                           .first_var = PTX_NONE,
                           .line = p->lex.token_line};
    name_define(p, name, parse_place(p), (struct def){.kind = DEF_FUNC, .index = index});
    return index;
}

/* Do the parameters from `a` and `b` on agree in kind and size? */
static bool same_params(const struct parser *p, uint32_t a, uint32_t b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct ptx_var *x = ITEM(p->vars, struct ptx_var, a + i);
        const struct ptx_var *y = ITEM(p->vars, struct ptx_var, b + i);
        if (x->space != y->space || x->type != y->type || x->size != y->size ||
            x->align != y->align)
            return false;
    }
    return true;
}

static uint64_t param_bytes(const struct parser *p, uint32_t first, uint32_t count)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct ptx_var *v = ITEM(p->vars, struct ptx_var, first + i);
        if (v->space == PTX_SPACE_PARAM)
            bytes = v->offset + v->size;
    }
    return bytes;
}

void parse_function(struct parser *p, bool is_entry, enum ptx_linkage linkage)
{
    uint32_t first = p->vars.count, returns = 0, params = 0;
    p->func = p->funcs.count; /* owner of the results, which stand before the name */
    if (parse_accept_word(p, "attribute"))
        parse_attributes(p, &(struct var_spec){0});
    if (!is_entry && parse_is(p, '('))
        returns = parse_params(p);
    if (!parse_is(p, TOK_NAME))
        parse_fail(p, "expected the name of a function, not '%.*s'", TOKEN_ARGS(p));
    struct place place = parse_place(p);
    p->func = declare_function(p, is_entry, linkage);
    parse_next(p);
    if (parse_is(p, '('))
        params = parse_params(p);
    for (uint32_t i = first; i < p->vars.count; i++)
        ITEM(p->vars, struct ptx_var, i)->func = p->func;
    struct ptx_func *f = ITEM(p->funcs, struct ptx_func, p->func);
    if (f->first_var != PTX_NONE && (f->return_count != returns || f->param_count != params ||
                                     !same_params(p, f->first_var, first, returns + params)))
        parse_fail_at(p, place, "'%s' is declared differently before", f->name);
    while (parse_is(p, TOK_WORD))
        parse_directive(p, f);
    f->first_var = first;
    f->return_count = returns;
    f->param_count = params;
    f->param_bytes = param_bytes(p, first + returns, params);
    if (parse_is(p, '{')) {
        if (f->has_body)
            parse_fail_at(p, place, "function '%s' is defined twice", f->name);
        f->line = place.line;
        parse_body(p, f, place);
    } else {
        parse_expect(p, ';', "'{' or ';' after the head of a function");
    }
    p->func = PTX_NONE;
}
