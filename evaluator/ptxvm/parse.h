/* SPDX-License-Identifier: Apache-2.0
 * State shared by the parts of the PTX parser (parse*.c); nobody else includes this.
 *
 * Errors leave by parse_fail(), which jumps back to ptx_parse(): no part checks another's success,
 * and everything that must be released hangs on `struct parser`.
 *
 * Names are numbered once (parser.names) and a name knows its innermost definition, so that looking
 * one up is an array access; closing a scope pops its definitions. Only labels may be used before
 * they are defined: such operands wait in `pending` until their scope closes. */
#ifndef EVALUATOR_PTXVM_PARSE_H
#define EVALUATOR_PTXVM_PARSE_H

#include <setjmp.h>

#include "evaluator/ptxvm/lex.h"
#include "evaluator/ptxvm/parse_memory.h"
#include "evaluator/ptxvm/ptx.h"

enum def_kind {
    DEF_REG,     /* index: register; width: components */
    DEF_RANGE,   /* name0 … name(count-1); index: first register; width: components of each */
    DEF_VAR,     /* index: vars */
    DEF_FUNC,    /* index: funcs */
    DEF_LABEL,   /* index: labels of the function */
    DEF_TARGETS, /* index: targets of the function */
    DEF_PROTO,   /* index: protos of the function */
};

struct def {
    uint32_t name;
    uint32_t shadowed; /* outer definition of the same name (or range of the same prefix) */
    uint32_t sibling;  /* previous definition of a name with the same prefix and a number */
    uint32_t index, count;
    uint8_t kind, width, depth;
};

/* What the parser knows of name number i, beside its text in parser.names. */
struct name {
    uint32_t def;      /* innermost definition, or PTX_NONE */
    uint32_t range;    /* innermost DEF_RANGE with this name as prefix, or PTX_NONE */
    uint32_t numbered; /* last definition of a name that is this one with a number, or PTX_NONE */
    uint32_t prefix;   /* "%r12": number of the name "%r"; PTX_NONE if it does not end in digits */
    uint32_t number;   /* "%r12": 12 */
};

struct place {
    uint32_t line, column;
};

/* An operand that names something not defined yet. */
struct pending {
    uint32_t name;
    uint32_t operand; /* parser.operands */
    struct place place;
};

struct parser {
    struct ptx_lex lex;
    jmp_buf bail;
    struct fault *fault;
    struct ptx_arena arena;

    struct ptx_strings ops, words, sregs; /* the vocabularies: string number = enum value */
    struct ptx_strings names, form_texts; /* form_texts: string number = index of forms */
    struct ptx_list name_infos;           /* struct name, parallel to names */
    struct ptx_list defs, pending;
    uint32_t scope_defs[PTX_MAX_DEPTH], scope_pending[PTX_MAX_DEPTH]; /* counts at each opening */
    uint32_t depth;                                                   /* 0: module scope */

    struct ptx_list forms, funcs, vars, locs, files; /* of the module */

    uint32_t func; /* being read, or PTX_NONE */
    uint32_t loc;  /* in force */
    /* Of `func`. */
    struct ptx_list instrs, operands, reg_types, reg_ranges, labels, targets, protos;

    struct ptx_list stack; /* operands of unfinished lists and of the unfinished instruction */
    struct ptx_list bytes, relocs; /* of the initialiser being read */
    struct ptx_list text;          /* a form whose words are not adjacent */

    struct ptx_module module;
};

/* Ends the parse with "line:column: " and the message, at the current token or at `place`. */
_Noreturn void parse_fail(struct parser *p, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
_Noreturn void parse_fail_at(struct parser *p, struct place place, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Ends the parse because the memory budget (or the machine's memory) is spent. */
_Noreturn void parse_fail_memory(struct parser *p);

/* `%.*s` of the current token, cut to a length fit to show. */
#define TOKEN_ARGS(p) parse_shown((p)->lex.len), (p)->lex.text
int parse_shown(uint32_t len);

struct place parse_place(const struct parser *p); /* of the current token */
void parse_next(struct parser *p);
bool parse_is(const struct parser *p, int kind);
bool parse_is_word(const struct parser *p, const char *word); /* is the token ".word"? */
bool parse_accept(struct parser *p, int kind);                /* moves on if it is */
bool parse_accept_word(struct parser *p, const char *word);
void parse_expect(struct parser *p, int kind, const char *what);
uint32_t parse_u32(struct parser *p, const char *what); /* an integer constant that fits */

void *parse_alloc(struct parser *p, size_t bytes);
char *parse_text(struct parser *p, const char *text, size_t len); /* copy into the arena */
/* `n` > 0 more zeroed items at the end of a list; valid until the next push. */
void *parse_push(struct parser *p, struct ptx_list *l, uint32_t n);
/* Moves the items from `first` on into the arena. NULL if there are none. */
void *parse_keep(struct parser *p, struct ptx_list *l, uint32_t first);
#define ITEM(list, type, i) (&((type *)(list).items)[i])

void parse_directives(struct parser *p); /* parse_module.c: the whole text */

/* parse_names.c */
uint32_t name_intern(struct parser *p); /* number of the current TOK_NAME */
uint32_t name_intern_text(struct parser *p, const char *text, size_t len); /* text is borrowed */
const char *name_text(const struct parser *p, uint32_t name, int *len);    /* for "%.*s" */
/* Innermost definition that covers the name (a register of a range included), or NULL. */
const struct def *name_lookup(const struct parser *p, uint32_t name);
void name_define(struct parser *p, uint32_t name, struct place place, struct def def);
void scope_open(struct parser *p);
void scope_close(struct parser *p);
/* Makes operand number `operand` of the function wait for the label `name`. */
void label_await(struct parser *p, uint32_t name, uint32_t operand, struct place place);

/* parse_expr.c: a constant expression; the token after it is current. */
struct constant {
    uint8_t kind; /* PTX_OPERAND_INT, F32 or F64 */
    bool is_unsigned;
    uint64_t bits;
};
struct constant parse_constant(struct parser *p);
int64_t parse_integer(struct parser *p, const char *what); /* it must be an integer */
bool parse_at_constant(const struct parser *p);            /* can one begin here? */

/* parse_var.c */
struct var_spec {
    enum ptx_type type;
    uint8_t vector;
    uint32_t align;
    bool is_ptr, managed;
    uint8_t ptr_space;
    uint32_t ptr_align;
};
struct var_spec parse_spec(struct parser *p); /* .align, .v4, .b32, .ptr, …: up to the name */
void parse_attributes(struct parser *p, struct var_spec *spec); /* after .attribute */
/* After the space directive, up to and with the ';'. */
void parse_variables(struct parser *p, enum ptx_space space, enum ptx_linkage linkage);
void parse_registers(struct parser *p); /* after .reg, up to and with the ';' */
/* "(.param .u32 a, …)", appended to parser.vars; the number of them. Defines nothing. */
uint32_t parse_params(struct parser *p);
uint32_t reg_declare(struct parser *p, const char *name, enum ptx_type type, uint8_t width,
                     uint32_t count, bool numbered);  /* first register */
enum ptx_space space_of_word(const struct parser *p); /* of the current TOK_WORD, or NONE */

/* parse_init.c: the initialiser of var `var` after '='; dims[0] may be 0 for "count them". */
void parse_initialiser(struct parser *p, uint32_t var, const uint64_t *dims, unsigned dim_count);

/* parse_instr.c, parse_operand.c */
void parse_statement(struct parser *p); /* label or instruction, guard included */
void parse_operand(struct parser *p);   /* pushes one on the stack */
/* Moves the stack's elements from `base` on to the function's operands; index of the first. */
uint32_t operands_flush(struct parser *p, uint32_t base);
void parse_call_operands(struct parser *p);

/* parse_func.c: after .entry or .func. */
void parse_function(struct parser *p, bool is_entry, enum ptx_linkage linkage);
uint32_t parse_loc(struct parser *p); /* after .loc */

#endif
