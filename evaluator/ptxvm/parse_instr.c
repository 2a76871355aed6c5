/* SPDX-License-Identifier: Apache-2.0
 * Statements of the PTX parser: labels, target lists, call prototypes, instructions. The mnemonic
 * with its words is looked up as one text; only a text not met before is taken apart. */
#include "evaluator/ptxvm/parse.h"

#include <string.h>

/* m64n256k16, m8n8: a shape. False if the text is none. */
static bool parse_shape(const char *text, size_t len, struct ptx_form *form)
{
    uint16_t *sizes[] = {&form->m, &form->n, &form->k};
    size_t at = 0;
    for (int i = 0; i < 3 && at < len; i++) {
        if (text[at++] != "mnk"[i])
            return false;
        size_t digits = at;
        unsigned value = 0;
        for (; at < len && at - digits < 4 && text[at] >= '0' && text[at] <= '9'; at++)
            value = value * 10 + (unsigned)(text[at] - '0');
        if (at == digits || !value)
            return false;
        *sizes[i] = (uint16_t)value;
    }
    return at == len && form->n;
}

static void form_add_word(struct parser *p, struct ptx_form *form, const char *text, size_t len,
                          struct place place)
{
    uint32_t word = ptx_strings_find(&p->words, text, len, ptx_hash(text, len));
    if (word == PTX_NONE && !form->m && parse_shape(text, len, form))
        word = PTX_WORD_SHAPE;
    if (word == PTX_NONE)
        parse_fail_at(p, place, "unknown word '.%.*s' of instruction '%s'",
                      parse_shown((uint32_t)len), text, ptx_op_name(form->op));
    if (form->word_count == PTX_MAX_WORDS)
        parse_fail_at(p, place, "more than %d words in one instruction", PTX_MAX_WORDS);
    form->words[form->word_count++] = (uint16_t)word;
    form->has[word / 64] |= (uint64_t)1 << (word % 64);
    if (word < PTX_TYPE_COUNT) {
        if (form->type_count == PTX_MAX_TYPES)
            parse_fail_at(p, place, "more than %d types in one instruction", PTX_MAX_TYPES);
        form->types[form->type_count++] = (uint8_t)word;
    }
}

/* "mad.lo.s32" to a form, appended to parser.forms. `text` is in the arena and NUL-terminated. */
static void form_read(struct parser *p, const char *text, struct place place)
{
    struct ptx_form form = {.text = text};
    memset(form.types, PTX_TYPE_NONE, sizeof form.types);
    size_t len = strcspn(text, ".");
    uint32_t op = ptx_strings_find(&p->ops, text, len, ptx_hash(text, len));
    if (op == PTX_NONE)
        parse_fail_at(p, place, "unknown instruction '%.*s'", parse_shown((uint32_t)len), text);
    form.op = (uint16_t)op;
    for (const char *at = text + len; *at; at += len) {
        struct place word = {place.line, place.column + (uint32_t)(at - text)};
        at++; /* '.' */
        len = strcspn(at, ".");
        form_add_word(p, &form, at, len, word);
    }
    *(struct ptx_form *)parse_push(p, &p->forms, 1) = form;
}

/* Adds the words after blanks, "wgmma.mma_async .sync", to the text of the mnemonic in p->text. */
static void join_words(struct parser *p, const char *text, uint32_t len)
{
    p->text.count = 0;
    do {
        memcpy(parse_push(p, &p->text, len), text, len);
        text = p->lex.at;
        len = 0;
        if (ptx_lex_peek(&p->lex) == '.') {
            text = p->lex.at;
            len = ptx_lex_suffix(&p->lex);
        }
    } while (len);
}

/* The current token begins a mnemonic. Number of the form; the token after it is current. */
static uint32_t parse_form(struct parser *p)
{
    struct place place = parse_place(p);
    const char *text = p->lex.text;
    uint32_t len = p->lex.len;
    if (ptx_lex_touches_suffix(&p->lex))
        len += ptx_lex_suffix(&p->lex);
    if (ptx_lex_peek(&p->lex) == '.') {
        join_words(p, text, len);
        text = p->text.items;
        len = p->text.count;
    }
    uint32_t hash = ptx_hash(text, len);
    uint32_t form = ptx_strings_find(&p->form_texts, text, len, hash);
    if (form == PTX_NONE) {
        const char *copy = parse_text(p, text, len);
        form_read(p, copy, place);
        form = ptx_strings_add(&p->form_texts, &p->arena, copy, len, hash);
        if (form == PTX_NONE)
            parse_fail_memory(p);
    }
    parse_next(p);
    return form;
}

/* After "@": the guard's register. */
static uint32_t parse_guard(struct parser *p, bool *negated)
{
    *negated = parse_accept(p, '!');
    struct place place = parse_place(p);
    uint32_t base = p->stack.count;
    parse_operand(p);
    const struct ptx_operand *o = ITEM(p->stack, struct ptx_operand, base);
    if (o->kind != PTX_OPERAND_REG || o->negated || o->value ||
        *ITEM(p->reg_types, uint8_t, o->index) != PTX_TYPE_pred)
        parse_fail_at(p, place, "a guard must be a predicate register");
    p->stack.count = base;
    return o->index;
}

static void parse_instruction(struct parser *p, uint32_t guard, bool guard_negated)
{
    struct ptx_instr i = {
        .guard = guard, .guard_negated = guard_negated, .loc = p->loc, .line = p->lex.token_line};
    i.form = parse_form(p);
    if (ITEM(p->forms, struct ptx_form, i.form)->op == PTX_OP_call) {
        parse_call_operands(p);
    } else if (!parse_is(p, ';')) {
        do
            parse_operand(p);
        while (parse_accept(p, ','));
    }
    if (!parse_is(p, ';'))
        parse_fail(p, "expected ',' or ';' after an operand of '%s', not '%.*s'",
                   ITEM(p->forms, struct ptx_form, i.form)->text, TOKEN_ARGS(p));
    if (p->stack.count > PTX_MAX_OPERANDS)
        parse_fail(p, "more than %d operands", PTX_MAX_OPERANDS);
    i.operand_count = (uint8_t)p->stack.count;
    i.operands = operands_flush(p, 0);
    *(struct ptx_instr *)parse_push(p, &p->instrs, 1) = i;
    parse_next(p);
}

/* ".branchtargets A, B;" or ".calltargets f, g;" */
static void parse_targets(struct parser *p, const char *name, enum ptx_operand_kind wanted)
{
    parse_next(p);
    do {
        if (!parse_is(p, TOK_NAME))
            parse_fail(p, "expected a target, not '%.*s'", TOKEN_ARGS(p));
        struct place place = parse_place(p);
        uint32_t base = p->stack.count;
        parse_operand(p);
        if (ITEM(p->stack, struct ptx_operand, base)->kind != wanted)
            parse_fail_at(p, place, "this is no %s",
                          wanted == PTX_OPERAND_LABEL ? "label" : "function");
    } while (parse_accept(p, ','));
    uint32_t count = p->stack.count;
    uint32_t first = operands_flush(p, 0);
    struct ptx_targets *t = parse_push(p, &p->targets, 1);
    *t = (struct ptx_targets){.name = name, .operands = first, .count = count};
}

/* ".callprototype (results) _ (parameters) .noreturn;" */
static void parse_prototype(struct parser *p, const char *name)
{
    struct ptx_proto proto = {.name = name};
    uint32_t first = p->vars.count;
    parse_next(p);
    if (parse_is(p, '('))
        proto.return_count = parse_params(p);
    if (!parse_accept(p, '_')) {
        if (!parse_is(p, TOK_NAME))
            parse_fail(p, "expected '_' in a call prototype, not '%.*s'", TOKEN_ARGS(p));
        parse_next(p);
    }
    if (parse_is(p, '('))
        proto.param_count = parse_params(p);
    for (;;) {
        if (parse_accept_word(p, "noreturn")) {
            proto.noreturn = true;
        } else if (parse_accept_word(p, "abi_preserve") ||
                   parse_accept_word(p, "abi_preserve_control")) {
            parse_u32(p, "a number of registers");
        } else {
            break;
        }
    }
    const struct ptx_var *vars = parse_keep(p, &p->vars, first);
    proto.returns = vars;
    proto.params = vars ? vars + proto.return_count : NULL;
    *(struct ptx_proto *)parse_push(p, &p->protos, 1) = proto;
}

/* The current name and the ':' after it, and what it names. */
static void parse_label(struct parser *p)
{
    struct place place = parse_place(p);
    uint32_t name = name_intern(p);
    const char *text = parse_text(p, p->lex.text, p->lex.len);
    parse_next(p);
    parse_next(p);
    struct def def = {.kind = DEF_LABEL, .index = p->labels.count};
    bool branches = parse_is_word(p, "branchtargets"), calls = parse_is_word(p, "calltargets");
    if (branches || calls) {
        def = (struct def){.kind = DEF_TARGETS, .index = p->targets.count};
        parse_targets(p, text, branches ? PTX_OPERAND_LABEL : PTX_OPERAND_FUNC);
    } else if (parse_is_word(p, "callprototype")) {
        def = (struct def){.kind = DEF_PROTO, .index = p->protos.count};
        parse_prototype(p, text);
    }
    name_define(p, name, place, def);
    if (def.kind != DEF_LABEL) {
        parse_expect(p, ';', "';'");
        return;
    }
    struct ptx_label *label = parse_push(p, &p->labels, 1);
    *label = (struct ptx_label){.name = text, .instr = p->instrs.count};
}

void parse_statement(struct parser *p)
{
    uint32_t guard = PTX_NONE;
    bool negated = false;
    if (parse_accept(p, '@')) {
        guard = parse_guard(p, &negated);
    } else if (parse_is(p, TOK_NAME) && ptx_lex_peek(&p->lex) == ':') {
        parse_label(p);
        return;
    }
    if (!parse_is(p, TOK_NAME))
        parse_fail(p, "expected an instruction, not '%.*s'", TOKEN_ARGS(p));
    parse_instruction(p, guard, negated);
}
