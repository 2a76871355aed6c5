/* SPDX-License-Identifier: Apache-2.0
 * Directives of a PTX module: its head, files and sections, aliases, and what leads to functions
 * and variables. */
#include "evaluator/ptxvm/parse.h"

#include <stdlib.h>
#include <string.h>

#include "core/util.h"

static void parse_file(struct parser *p)
{
    uint32_t number = parse_u32(p, "a file number");
    if (!parse_is(p, TOK_STRING))
        parse_fail(p, "expected the name of a file, not '%.*s'", TOKEN_ARGS(p));
    struct ptx_file *file = parse_push(p, &p->files, 1);
    *file = (struct ptx_file){number, parse_text(p, p->lex.text, p->lex.len)};
    parse_next(p);
    while (parse_accept(p, ',')) /* time stamp and size */
        parse_integer(p, "a property of the file");
}

/* Debug information: not needed to execute. */
static void parse_section(struct parser *p)
{
    if (!parse_is(p, TOK_WORD) && !parse_is(p, TOK_NAME) && !parse_is(p, TOK_STRING))
        parse_fail(p, "expected the name of a section, not '%.*s'", TOKEN_ARGS(p));
    parse_next(p);
    struct place place = parse_place(p);
    if (!parse_is(p, '{'))
        parse_fail(p, "expected '{' of a section, not '%.*s'", TOKEN_ARGS(p));
    if (!ptx_lex_skip_block(&p->lex))
        parse_fail_at(p, place, "this section does not end");
    if (parse_is(p, TOK_ERROR))
        parse_fail(p, "%s", p->lex.error);
}

static uint32_t parse_alias_name(struct parser *p)
{
    const struct def *d = parse_is(p, TOK_NAME) ? name_lookup(p, name_intern(p)) : NULL;
    if (!d || d->kind != DEF_FUNC)
        parse_fail(p, "'%.*s' is no function declared before", TOKEN_ARGS(p));
    uint32_t func = d->index;
    parse_next(p);
    return func;
}

static void parse_alias(struct parser *p)
{
    struct place place = parse_place(p);
    uint32_t alias = parse_alias_name(p);
    parse_expect(p, ',', "','");
    uint32_t target = parse_alias_name(p);
    parse_expect(p, ';', "';' after an alias");
    const struct ptx_func *t = ITEM(p->funcs, struct ptx_func, target);
    if (!t->has_body || ITEM(p->funcs, struct ptx_func, alias)->has_body)
        parse_fail_at(p, place, "an alias names a function without a body for one with a body");
    ITEM(p->funcs, struct ptx_func, alias)->alias = target;
}

static void parse_module_pragma(struct parser *p)
{
    do
        parse_expect(p, TOK_STRING, "the string of a .pragma");
    while (parse_accept(p, ','));
    parse_expect(p, ';', "';' after a .pragma");
}

static void parse_module_loc(struct parser *p)
{
    parse_loc(p);
}

static const struct {
    const char *word;
    void (*parse)(struct parser *p);
} simple[] = {
    {"file", parse_file},      {"section", parse_section},
    {"alias", parse_alias},    {"pragma", parse_module_pragma},
    {"loc", parse_module_loc},
};

static enum ptx_linkage parse_linkage(struct parser *p)
{
    return parse_accept_word(p, "visible")  ? PTX_LINK_VISIBLE
           : parse_accept_word(p, "extern") ? PTX_LINK_EXTERN
           : parse_accept_word(p, "weak")   ? PTX_LINK_WEAK
           : parse_accept_word(p, "common") ? PTX_LINK_COMMON
                                            : PTX_LINK_LOCAL;
}

static void parse_top(struct parser *p)
{
    for (size_t i = 0; i < COUNT_OF(simple); i++)
        if (parse_accept_word(p, simple[i].word)) {
            simple[i].parse(p);
            return;
        }
    enum ptx_linkage linkage = parse_linkage(p);
    bool is_entry = parse_is_word(p, "entry");
    if (is_entry || parse_is_word(p, "func")) {
        parse_next(p);
        parse_function(p, is_entry, linkage);
        return;
    }
    enum ptx_space space = parse_is(p, TOK_WORD) ? space_of_word(p) : PTX_SPACE_NONE;
    if (space == PTX_SPACE_NONE)
        parse_fail(p, "unknown directive '%.*s' of a module", TOKEN_ARGS(p));
    parse_next(p);
    if (space == PTX_SPACE_REG)
        parse_registers(p);
    else
        parse_variables(p, space, linkage);
}

/* ".version 9.0", ".target sm_90a, debug", ".address_size 64" */
static void parse_head(struct parser *p)
{
    if (!parse_accept_word(p, "version"))
        parse_fail(p, "a module must begin with .version");
    const char *dot = memchr(p->lex.text, '.', p->lex.len);
    if (!parse_is(p, TOK_F64) || !dot || p->lex.len > 8 || p->lex.text + p->lex.len - dot != 2)
        parse_fail(p, "expected a version such as 9.0, not '%.*s'", TOKEN_ARGS(p));
    p->module.version = (uint32_t)(strtoul(p->lex.text, NULL, 10) * 10) + (uint32_t)(dot[1] - '0');
    parse_next(p);
    if (!parse_accept_word(p, "target"))
        parse_fail(p, "expected .target after .version, not '%.*s'", TOKEN_ARGS(p));
    do {
        if (!parse_is(p, TOK_NAME))
            parse_fail(p, "expected a target, not '%.*s'", TOKEN_ARGS(p));
        if (!p->module.target)
            p->module.target = parse_text(p, p->lex.text, p->lex.len);
        parse_next(p);
    } while (parse_accept(p, ','));
    p->module.address_size = 32;
    if (parse_accept_word(p, "address_size")) {
        struct place place = parse_place(p);
        p->module.address_size = parse_u32(p, "the address size");
        if (p->module.address_size != 32 && p->module.address_size != 64)
            parse_fail_at(p, place, "the address size must be 32 or 64");
    }
}

void parse_directives(struct parser *p)
{
    parse_head(p);
    while (!parse_is(p, TOK_END))
        parse_top(p);
}
