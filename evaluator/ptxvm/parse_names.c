/* SPDX-License-Identifier: Apache-2.0
 * Names of the PTX parser: numbers, scopes, definitions, labels used before they stand. */
#include "evaluator/ptxvm/parse.h"

#include <string.h>

static struct name *info(const struct parser *p, uint32_t name)
{
    return ITEM(p->name_infos, struct name, name);
}

static struct def *def_at(const struct parser *p, uint32_t def)
{
    return ITEM(p->defs, struct def, def);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static uint32_t intern(struct parser *p, const char *text, uint32_t len, uint32_t hash);

/* Splits "%r12" into prefix and number. */
static void split_number(struct parser *p, uint32_t name, const char *text, uint32_t len)
{
    uint32_t digits = len;
    while (digits > 1 && is_digit(text[digits - 1]))
        digits--;
    if (digits == len)
        return;
    uint64_t number = 0;
    for (uint32_t i = digits; i < len && number <= PTX_MAX_REGS; i++)
        number = number * 10 + (uint64_t)(text[i] - '0');
    if (number > PTX_MAX_REGS)
        return;
    uint32_t prefix = intern(p, text, digits, ptx_hash(text, digits));
    info(p, name)->prefix = prefix;
    info(p, name)->number = (uint32_t)number;
}

static uint32_t intern(struct parser *p, const char *text, uint32_t len, uint32_t hash)
{
    uint32_t name = ptx_strings_add(&p->names, &p->arena, text, len, hash);
    if (name == PTX_NONE)
        parse_fail_memory(p);
    if (name == p->name_infos.count) {
        struct name *n = parse_push(p, &p->name_infos, 1);
        *n = (struct name){
            .def = PTX_NONE, .range = PTX_NONE, .numbered = PTX_NONE, .prefix = PTX_NONE};
        split_number(p, name, text, len); /* recurses once: a prefix does not end in a digit */
    }
    return name;
}

uint32_t name_intern(struct parser *p)
{
    return intern(p, p->lex.text, p->lex.len, p->lex.hash);
}

uint32_t name_intern_text(struct parser *p, const char *text, size_t len)
{
    return intern(p, text, (uint32_t)len, ptx_hash(text, len));
}

const char *name_text(const struct parser *p, uint32_t name, int *len)
{
    const struct ptx_string *s = ITEM(p->names.entries, struct ptx_string, name);
    *len = parse_shown(s->len);
    return s->text;
}

/* Innermost range that has the name as a member, or NULL. */
static const struct def *range_lookup(const struct parser *p, const struct name *n)
{
    if (n->prefix == PTX_NONE)
        return NULL;
    for (uint32_t d = info(p, n->prefix)->range; d != PTX_NONE; d = def_at(p, d)->shadowed)
        if (n->number < def_at(p, d)->count)
            return def_at(p, d);
    return NULL;
}

const struct def *name_lookup(const struct parser *p, uint32_t name)
{
    const struct name *n = info(p, name);
    const struct def *range = range_lookup(p, n);
    if (n->def == PTX_NONE)
        return range;
    const struct def *exact = def_at(p, n->def);
    return range && range->depth > exact->depth ? range : exact;
}

/* Is a member of the new range `prefix`0 … defined one by one in this very scope? */
static uint32_t clashing_member(const struct parser *p, uint32_t prefix, uint32_t count)
{
    for (uint32_t d = info(p, prefix)->numbered; d != PTX_NONE; d = def_at(p, d)->sibling) {
        if (def_at(p, d)->depth < p->depth)
            break;
        if (info(p, def_at(p, d)->name)->number < count)
            return def_at(p, d)->name;
    }
    return PTX_NONE;
}

/* Number of the name that `def` would define a second time in this scope, or PTX_NONE. */
static uint32_t find_clash(const struct parser *p, uint32_t name, const struct def *def)
{
    const struct name *n = info(p, name);
    if (def->kind == DEF_RANGE) {
        if (n->range != PTX_NONE && def_at(p, n->range)->depth == p->depth)
            return name;
        return clashing_member(p, name, def->count);
    }
    const struct def *range = range_lookup(p, n);
    bool exact = n->def != PTX_NONE && def_at(p, n->def)->depth == p->depth;
    return exact || (range && range->depth == p->depth) ? name : PTX_NONE;
}

void name_define(struct parser *p, uint32_t name, struct place place, struct def def)
{
    uint32_t clash = find_clash(p, name, &def);
    if (clash != PTX_NONE) {
        int len;
        const char *text = name_text(p, clash, &len);
        parse_fail_at(p, place, "'%.*s' is defined twice", len, text);
    }
    uint32_t index = p->defs.count;
    struct def *d = parse_push(p, &p->defs, 1);
    struct name *n = info(p, name);
    uint32_t *head = def.kind == DEF_RANGE ? &n->range : &n->def;
    *d = def;
    d->name = name;
    d->depth = (uint8_t)p->depth;
    d->shadowed = *head;
    d->sibling = PTX_NONE;
    *head = index;
    if (def.kind != DEF_RANGE && n->prefix != PTX_NONE) {
        struct name *prefix = info(p, n->prefix);
        d->sibling = prefix->numbered;
        prefix->numbered = index;
    }
}

void scope_open(struct parser *p)
{
    if (p->depth + 1 >= PTX_MAX_DEPTH)
        parse_fail(p, "scopes nested deeper than %d", PTX_MAX_DEPTH - 1);
    p->depth++;
    p->scope_defs[p->depth] = p->defs.count;
    p->scope_pending[p->depth] = p->pending.count;
}

/* Gives the waiting operands their label if it stands in this scope; the others wait on. */
static void resolve_pending(struct parser *p)
{
    uint32_t kept = p->scope_pending[p->depth];
    for (uint32_t i = kept; i < p->pending.count; i++) {
        struct pending w = *ITEM(p->pending, struct pending, i);
        uint32_t d = info(p, w.name)->def;
        if (d != PTX_NONE && def_at(p, d)->kind == DEF_LABEL && def_at(p, d)->depth == p->depth)
            ITEM(p->operands, struct ptx_operand, w.operand)->index = def_at(p, d)->index;
        else
            *ITEM(p->pending, struct pending, kept++) = w;
    }
    p->pending.count = kept;
}

void scope_close(struct parser *p)
{
    resolve_pending(p);
    if (p->depth == 1 && p->pending.count) {
        const struct pending *w = ITEM(p->pending, struct pending, 0);
        int len;
        const char *text = name_text(p, w->name, &len);
        parse_fail_at(p, w->place, "undefined name '%.*s'", len, text);
    }
    for (uint32_t i = p->defs.count; i-- > p->scope_defs[p->depth];) {
        const struct def *d = def_at(p, i);
        struct name *n = info(p, d->name);
        *(d->kind == DEF_RANGE ? &n->range : &n->def) = d->shadowed;
        if (d->kind != DEF_RANGE && n->prefix != PTX_NONE)
            info(p, n->prefix)->numbered = d->sibling;
    }
    p->defs.count = p->scope_defs[p->depth];
    p->depth--;
}

void label_await(struct parser *p, uint32_t name, uint32_t operand, struct place place)
{
    struct pending *w = parse_push(p, &p->pending, 1);
    *w = (struct pending){.name = name, .operand = operand, .place = place};
}
