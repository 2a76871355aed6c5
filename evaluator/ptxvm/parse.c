/* SPDX-License-Identifier: Apache-2.0
 * The PTX parser: its entry point and the tools its parts share. */
#include "evaluator/ptxvm/parse.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/util.h"

enum { SHOWN_MAX = 60 }; /* bytes of a name shown in a message */

/* The module as the caller sees it, with what it lives in. */
struct module_box {
    struct ptx_module module;
    struct ptx_arena arena;
};

/* ---- errors ---- */

static void record(struct parser *p, enum err code, struct place place, const char *text)
{
    fault_set(p->fault, code, "%u:%u: %s", place.line, place.column, text);
}

static const char *lexer_error(const struct parser *p)
{
    return p->lex.kind == TOK_ERROR ? p->lex.error : NULL;
}

_Noreturn void parse_fail(struct parser *p, const char *fmt, ...)
{
    char text[LIMIT_DETAIL];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    bool at_end = p->lex.kind == TOK_END;
    if (at_end)
        snprintf(text, sizeof text, "the text ends too early");
    record(p, ERR_INVALID, parse_place(p), lexer_error(p) ? lexer_error(p) : text);
    longjmp(p->bail, 1);
}

_Noreturn void parse_fail_at(struct parser *p, struct place place, const char *fmt, ...)
{
    char text[LIMIT_DETAIL];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    record(p, ERR_INVALID, place, text);
    longjmp(p->bail, 1);
}

_Noreturn void parse_fail_memory(struct parser *p)
{
    if (p->arena.spent)
        record(p, ERR_TOO_LARGE, parse_place(p),
               "this module needs more memory than its length allows");
    else
        record(p, ERR_NO_MEMORY, parse_place(p), "no memory to parse PTX");
    longjmp(p->bail, 1);
}

int parse_shown(uint32_t len)
{
    return (int)(len < SHOWN_MAX ? len : SHOWN_MAX);
}

struct place parse_place(const struct parser *p)
{
    return (struct place){p->lex.token_line, p->lex.token_column};
}

/* ---- tokens ---- */

void parse_next(struct parser *p)
{
    ptx_lex_next(&p->lex);
    if (p->lex.kind == TOK_ERROR)
        parse_fail(p, "%s", p->lex.error);
}

bool parse_is(const struct parser *p, int kind)
{
    return p->lex.kind == kind;
}

bool parse_is_word(const struct parser *p, const char *word)
{
    size_t len = strlen(word);
    return p->lex.kind == TOK_WORD && p->lex.len == len && memcmp(p->lex.text, word, len) == 0;
}

bool parse_accept(struct parser *p, int kind)
{
    if (p->lex.kind != kind)
        return false;
    parse_next(p);
    return true;
}

bool parse_accept_word(struct parser *p, const char *word)
{
    if (!parse_is_word(p, word))
        return false;
    parse_next(p);
    return true;
}

void parse_expect(struct parser *p, int kind, const char *what)
{
    if (!parse_accept(p, kind))
        parse_fail(p, "expected %s, not '%.*s'", what, TOKEN_ARGS(p));
}

uint32_t parse_u32(struct parser *p, const char *what)
{
    struct place place = parse_place(p);
    int64_t value = parse_integer(p, what);
    if (value < 0 || value > UINT32_MAX)
        parse_fail_at(p, place, "%s must be from 0 to 2^32-1", what);
    return (uint32_t)value;
}

/* ---- memory ---- */

void *parse_alloc(struct parser *p, size_t bytes)
{
    void *out = ptx_arena_alloc(&p->arena, bytes);
    if (!out)
        parse_fail_memory(p);
    return out;
}

char *parse_text(struct parser *p, const char *text, size_t len)
{
    char *out = parse_alloc(p, len + 1); /* zeroed */
    memcpy(out, text, len);
    return out;
}

void *parse_push(struct parser *p, struct ptx_list *l, uint32_t n)
{
    if (!ptx_list_reserve(l, &p->arena, n))
        parse_fail_memory(p);
    char *out = (char *)l->items + (size_t)l->count * l->item_bytes;
    memset(out, 0, (size_t)n * l->item_bytes);
    l->count += n;
    return out;
}

void *parse_keep(struct parser *p, struct ptx_list *l, uint32_t first)
{
    size_t bytes = (size_t)(l->count - first) * l->item_bytes;
    if (!bytes)
        return NULL;
    void *out = parse_alloc(p, bytes);
    memcpy(out, (char *)l->items + (size_t)first * l->item_bytes, bytes);
    l->count = first;
    return out;
}

/* ---- the parse ---- */

static void load_vocabulary(struct parser *p, struct ptx_strings *t, const char *(*name)(unsigned),
                            unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const char *text = name(i);
        size_t len = strlen(text);
        if (ptx_strings_add(t, &p->arena, text, len, ptx_hash(text, len)) != i)
            parse_fail_memory(p);
    }
}

static const char *op_text(unsigned i)
{
    return ptx_op_name((enum ptx_op)i);
}

static const char *word_text(unsigned i)
{
    return ptx_word_name((enum ptx_word)i);
}

static const char *sreg_text(unsigned i)
{
    return ptx_sreg_name((enum ptx_sreg)i);
}

static void init_lists(struct parser *p)
{
    const struct {
        struct ptx_list *list;
        size_t item_bytes;
    } lists[] = {
        {&p->name_infos, sizeof(struct name)},
        {&p->defs, sizeof(struct def)},
        {&p->pending, sizeof(struct pending)},
        {&p->forms, sizeof(struct ptx_form)},
        {&p->funcs, sizeof(struct ptx_func)},
        {&p->vars, sizeof(struct ptx_var)},
        {&p->locs, sizeof(struct ptx_loc)},
        {&p->files, sizeof(struct ptx_file)},
        {&p->instrs, sizeof(struct ptx_instr)},
        {&p->operands, sizeof(struct ptx_operand)},
        {&p->reg_types, sizeof(uint8_t)},
        {&p->reg_ranges, sizeof(struct ptx_reg_range)},
        {&p->labels, sizeof(struct ptx_label)},
        {&p->targets, sizeof(struct ptx_targets)},
        {&p->protos, sizeof(struct ptx_proto)},
        {&p->stack, sizeof(struct ptx_operand)},
        {&p->bytes, sizeof(uint8_t)},
        {&p->relocs, sizeof(struct ptx_reloc)},
        {&p->text, sizeof(char)},
    };
    for (size_t i = 0; i < COUNT_OF(lists); i++)
        lists[i].list->item_bytes = (uint32_t)lists[i].item_bytes;
}

static void release(struct parser *p)
{
    struct ptx_list *lists[] = {&p->name_infos, &p->defs,     &p->pending,   &p->forms,
                                &p->funcs,      &p->vars,     &p->locs,      &p->files,
                                &p->instrs,     &p->operands, &p->reg_types, &p->reg_ranges,
                                &p->labels,     &p->targets,  &p->protos,    &p->stack,
                                &p->bytes,      &p->relocs,   &p->text};
    struct ptx_strings *tables[] = {&p->ops, &p->words, &p->sregs, &p->names, &p->form_texts};
    for (size_t i = 0; i < COUNT_OF(lists); i++)
        ptx_list_release(lists[i], &p->arena);
    for (size_t i = 0; i < COUNT_OF(tables); i++)
        ptx_strings_release(tables[i], &p->arena);
}

/* Reads the whole text; the module's arrays move into the arena. */
static void parse_module(struct parser *p)
{
    load_vocabulary(p, &p->ops, op_text, PTX_OP_COUNT);
    load_vocabulary(p, &p->words, word_text, PTX_WORD_SHAPE);
    load_vocabulary(p, &p->sregs, sreg_text, PTX_SREG_COUNT);
    parse_push(p, &p->locs, 1); /* number 0: none */
    parse_next(p);
    parse_directives(p);
    struct ptx_module *m = &p->module;
    m->form_count = p->forms.count;
    m->forms = parse_keep(p, &p->forms, 0);
    m->func_count = p->funcs.count;
    m->funcs = parse_keep(p, &p->funcs, 0);
    m->var_count = p->vars.count;
    m->vars = parse_keep(p, &p->vars, 0);
    m->loc_count = p->locs.count;
    m->locs = parse_keep(p, &p->locs, 0);
    m->file_count = p->files.count;
    m->files = parse_keep(p, &p->files, 0);
}

struct ptx_module *ptx_parse(const char *text, size_t len, struct fault *f)
{
    if (len > LIMIT_PTX) {
        fault_set(f, ERR_TOO_LARGE, "1:1: PTX of more than %d bytes", LIMIT_PTX);
        return NULL;
    }
    struct module_box *box = calloc(1, sizeof *box);
    struct parser *p = calloc(1, sizeof *p);
    if (!box || !p) {
        fault_set(f, ERR_NO_MEMORY, "1:1: no memory to parse PTX");
        free(box);
        free(p);
        return NULL;
    }
    p->fault = f;
    p->func = PTX_NONE;
    p->arena.max = PTX_ARENA_BASE + PTX_ARENA_FACTOR * len;
    ptx_lex_init(&p->lex, text, len);
    init_lists(p);
    volatile bool done = false; /* survives the jump */
    if (setjmp(p->bail) == 0) {
        parse_module(p);
        done = true;
    }
    release(p);
    box->module = p->module;
    box->module.memory_bytes = p->arena.used;
    box->arena = p->arena;
    free(p);
    if (done)
        return &box->module;
    ptx_free(&box->module);
    return NULL;
}

void ptx_free(struct ptx_module *m)
{
    if (!m)
        return;
    struct module_box *box = (struct module_box *)m; /* its first member */
    ptx_arena_release(&box->arena);
    free(box);
}
