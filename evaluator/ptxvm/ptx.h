/* SPDX-License-Identifier: Apache-2.0
 * PTX text to an immutable, compact intermediate form: ids instead of strings, registers as dense
 * indices, symbols and labels resolved. The grammar is generic. An instruction is a *form* (its
 * mnemonic with all suffix words, interned once per module), an optional guard and a list of
 * operands. What a form means and which operands it takes is not the parser's business: the
 * executor decodes each of the few hundred distinct forms of a module once.
 *
 *     @!%p1 cp.async.bulk.shared::cluster.global [%r1], [%rd2+16], 64, [%r3];
 *     guard form: op cp, words async, bulk, …      four operands
 *
 * Mnemonics, words, types and special registers are rows of ptx_ops.def, ptx_words.def,
 * ptx_types.def, ptx_sregs.def. An unknown one is an error that names it with line and column.
 *
 * Everything lives in one arena that ptx_free() releases; nothing is written after ptx_parse()
 * returned, so a module is shared between threads freely. Memory is at most
 * PTX_ARENA_BASE + PTX_ARENA_FACTOR bytes for each byte of input. */
#ifndef EVALUATOR_PTXVM_PTX_H
#define EVALUATOR_PTXVM_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"

#define PTX_NONE UINT32_MAX /* no register, variable, function */

enum {
    PTX_ARENA_BASE = 16 * 1024 * 1024, /* bytes */
    PTX_ARENA_FACTOR = 32,             /* bytes for each byte of input */
    PTX_MAX_WORDS = 24,                /* suffix words of one instruction */
    PTX_MAX_TYPES = 5,                 /* of them types: d, a, b, c, and of scale factors */
    PTX_MAX_DEPTH = 64,                /* nesting of scopes, expressions, initialisers */
    PTX_MAX_OPERANDS = 255,            /* operands of an instruction, elements of one list */
    PTX_MAX_REGS = 1 << 22,            /* registers of one function */
    PTX_MAX_DIMS = 8,                  /* dimensions of an array */
};

/* PTX_OP_add, PTX_OP_wgmma, … */
enum ptx_op {
#define PTX_OP(name) PTX_OP_##name,
#include "evaluator/ptxvm/ptx_ops.def"
#undef PTX_OP
    PTX_OP_COUNT
};

/* Spelled as in PTX: PTX_TYPE_u32, PTX_TYPE_pred. */
enum ptx_type {
#define PTX_TYPE(name, bits, class) PTX_TYPE_##name,
#include "evaluator/ptxvm/ptx_types.def"
#undef PTX_TYPE
    PTX_TYPE_COUNT,
    PTX_TYPE_NONE = PTX_TYPE_COUNT,
    PTX_TYPE_LAST_VARIABLE = PTX_TYPE_surfref
};

/* Suffix words: PTX_WORD_sync, PTX_WORD_shared__cta ("::" is written "__"). The types come first
 * with the ids of enum ptx_type, so `word < PTX_TYPE_COUNT` asks whether a word is a type. */
enum ptx_word {
    PTX_WORD_FIRST_TYPE = 0,
    PTX_WORD_LAST_TYPE = PTX_TYPE_COUNT - 1,
#define PTX_WORD(name, text) PTX_WORD_##name,
#include "evaluator/ptxvm/ptx_words.def"
#undef PTX_WORD
    PTX_WORD_SHAPE, /* an m…n…k… word: see ptx_form.m, n, k */
    PTX_WORD_COUNT
};

/* Special registers: PTX_SREG_tid_x, PTX_SREG_clock64, PTX_SREG_envreg0, … */
enum ptx_sreg {
#define PTX_SREG(name, text, type) PTX_SREG_##name,
#include "evaluator/ptxvm/ptx_sregs.def"
#undef PTX_SREG
    PTX_SREG_COUNT
};

enum ptx_space {
    PTX_SPACE_NONE,
    PTX_SPACE_REG, /* parameters of a .func only */
    PTX_SPACE_GLOBAL,
    PTX_SPACE_CONST,
    PTX_SPACE_SHARED,
    PTX_SPACE_LOCAL,
    PTX_SPACE_PARAM,
};

enum ptx_linkage {
    PTX_LINK_LOCAL, /* no directive */
    PTX_LINK_VISIBLE,
    PTX_LINK_EXTERN,
    PTX_LINK_WEAK,
    PTX_LINK_COMMON,
};

/* A mnemonic with its suffix words, in order. Equal texts share one form. */
struct ptx_form {
    const char *text; /* as written: "mad.lo.s32" */
    uint16_t op;      /* enum ptx_op */
    uint8_t word_count, type_count;
    uint16_t words[PTX_MAX_WORDS]; /* enum ptx_word */
    uint8_t types[PTX_MAX_TYPES]; /* the words that are types, in order; PTX_TYPE_NONE after them */
    uint16_t m, n, k;             /* shape m64n256k16; k 0 in m8n8; all 0 without a shape */
    uint64_t has[(PTX_WORD_COUNT + 63) / 64]; /* set of words: ask ptx_form_has() */
};

enum ptx_operand_kind {
    PTX_OPERAND_REG,     /* index: register; negated: !p or -r; value: selector of a video
                            instruction (ptx_selector_count …), else 0 */
    PTX_OPERAND_INT,     /* value: 64-bit integer, two's complement; predicates as 0 and 1 */
    PTX_OPERAND_F32,     /* value: bits of 0f… */
    PTX_OPERAND_F64,     /* value: bits of 0d… or of a decimal constant */
    PTX_OPERAND_SREG,    /* index: enum ptx_sreg */
    PTX_OPERAND_SINK,    /* _ */
    PTX_OPERAND_VAR,     /* index: module->vars; value: byte offset added to its address */
    PTX_OPERAND_FUNC,    /* index: module->funcs; its address or the callee */
    PTX_OPERAND_LABEL,   /* index: func->labels */
    PTX_OPERAND_TARGETS, /* index: func->targets (brx.idx, indirect call) */
    PTX_OPERAND_PROTO,   /* index: func->protos (indirect call) */
    PTX_OPERAND_MEM,     /* [base+value]: see `base`; index: register or variable */
    PTX_OPERAND_INDEXED, /* var[reg+i]: list of MEM (var, its value i elements in bytes) and REG:
                            the register counts elements of the variable */
    PTX_OPERAND_VECTOR,  /* {a, b, …}: list */
    PTX_OPERAND_PAIR,    /* d|p: list of two */
    PTX_OPERAND_ADDRESS, /* [base, …]: list of MEM, then coordinates (VECTOR) or others */
    PTX_OPERAND_TUPLE,   /* (a, b): list: arguments or results of a call */
};

/* What stands before the offset in a MEM operand. */
enum ptx_base {
    PTX_BASE_NONE, /* [imm]: value is the address */
    PTX_BASE_REG,  /* [reg+value]; index: register */
    PTX_BASE_VAR,  /* [var+value]; index: module->vars */
};

/* Selector of a video instruction, .b3 or .h32 or .b7654: which bytes or halves of a register, the
 * highest first. Digit 0 is the last one written. */
static inline uint32_t ptx_selector_make(bool halves, uint32_t count, uint32_t digits)
{
    return (halves ? 2u : 1u) << 24 | count << 16 | digits;
}

static inline uint32_t ptx_selector_count(int64_t selector)
{
    return (uint32_t)selector >> 16 & 0xff;
}

static inline bool ptx_selector_halves(int64_t selector)
{
    return (uint32_t)selector >> 24 == 2;
}

static inline uint32_t ptx_selector_digit(int64_t selector, uint32_t i)
{
    return (uint32_t)selector >> 4 * i & 0xf;
}

/* A list has `count` elements at func->operands[index]. */
struct ptx_operand {
    uint8_t kind; /* enum ptx_operand_kind */
    uint8_t base; /* enum ptx_base, MEM only */
    uint8_t negated;
    uint8_t count; /* lists only */
    uint32_t index;
    int64_t value;
};

/* The operands are func->operands[operands … operands + operand_count). `call` is normalised to
 * four: TUPLE of results, callee (FUNC or REG), TUPLE of arguments, PROTO or TARGETS or SINK. */
struct ptx_instr {
    uint32_t form; /* module->forms */
    uint32_t operands;
    uint32_t guard; /* predicate register, or PTX_NONE */
    uint32_t loc;   /* module->locs of the .loc in force; 0: none */
    uint32_t line;  /* in the PTX text, from 1 */
    uint8_t operand_count;
    bool guard_negated; /* @!p */
};

struct ptx_label {
    const char *name;
    uint32_t instr; /* index of the instruction it stands before; instr_count at the end */
};

/* .branchtargets (labels) or .calltargets (functions): operands LABEL or FUNC. */
struct ptx_targets {
    const char *name;
    uint32_t operands, count; /* in func->operands */
};

/* A place in memory that pointers in an initialiser fill: the address of a variable or function. */
struct ptx_reloc {
    uint64_t offset; /* byte in the variable */
    uint8_t bytes;   /* written there: 1 to 8 */
    uint8_t shift;   /* right shift before, for mask(): 0, 8, …, 56 */
    bool is_func;    /* index is into module->funcs */
    bool generic;    /* generic(sym): its generic address */
    uint32_t index;  /* module->vars or module->funcs */
    int64_t addend;
};

/* A variable of the module or of a function, or a parameter. */
struct ptx_var {
    const char *name;
    uint32_t func;     /* owner: module->funcs, or PTX_NONE at module scope */
    uint8_t space;     /* enum ptx_space */
    uint8_t linkage;   /* enum ptx_linkage */
    uint8_t type;      /* enum ptx_type of an element */
    uint8_t vector;    /* 1, 2 or 4 */
    uint32_t align;    /* bytes, a power of two */
    uint64_t count;    /* elements of an array; 0: scalar (or vector), or `unsized` */
    uint64_t size;     /* bytes; 0 when unsized */
    uint64_t offset;   /* parameters: bytes from the start of the parameter buffer */
    bool unsized;      /* .extern .shared .b8 smem[]; or the last, variadic .param[] */
    bool is_ptr;       /* .ptr attribute on a parameter */
    uint8_t ptr_space; /* enum ptx_space; NONE: generic */
    uint32_t ptr_align;
    uint32_t reg; /* first register when space is REG, else PTX_NONE */
    bool managed; /* .attribute(.managed) */
    uint32_t line;
    const uint8_t *init; /* init_bytes of it; the rest up to `size` is zero; NULL: all zero */
    uint64_t init_bytes;
    const struct ptx_reloc *relocs;
    uint32_t reloc_count;
};

/* .callprototype: the shape of an indirect callee. */
struct ptx_proto {
    const char *name;
    const struct ptx_var *returns, *params;
    uint32_t return_count, param_count;
    bool noreturn;
};

/* Registers that were declared together: name, or name0 … name(count-1) when numbered. */
struct ptx_reg_range {
    const char *name;
    uint32_t first, count;
    uint8_t type;   /* enum ptx_type */
    uint8_t vector; /* 1, or 2, 4: count is then a multiple of it, components x y z w */
    bool numbered;
};

/* Performance directives of an entry; 0 where not given. */
struct ptx_directives {
    uint32_t maxntid[3], reqntid[3], reqnctapercluster[3];
    uint32_t minnctapersm, maxnctapersm, maxnreg, maxclusterrank;
    bool explicitcluster, blocksareclusters;
};

struct ptx_func {
    const char *name;
    bool is_entry, has_body, noreturn;
    uint8_t linkage;
    uint32_t alias; /* .alias name, target: module->funcs of the target; else PTX_NONE */
    uint32_t line;
    /* In module->vars from first_var: the returns, the params, the variables of the body. */
    uint32_t first_var, return_count, param_count, local_count;
    uint64_t param_bytes; /* size of the parameter buffer */
    struct ptx_directives directives;

    const struct ptx_instr *instrs;
    uint32_t instr_count;
    const struct ptx_operand *operands;
    uint32_t operand_count;
    const uint8_t *reg_types; /* enum ptx_type of each register */
    uint32_t reg_count;
    const struct ptx_reg_range *reg_ranges; /* ascending .first, covering every register */
    uint32_t reg_range_count;
    const struct ptx_label *labels;
    uint32_t label_count;
    const struct ptx_targets *targets;
    uint32_t target_count;
    const struct ptx_proto *protos;
    uint32_t proto_count;
};

/* A .loc: place in the source the PTX was made from. */
struct ptx_loc {
    uint32_t file; /* number of .file; ptx_file_name() */
    uint32_t line, column;
    uint32_t inlined_at; /* module->locs of the call site; 0: not inlined */
};

struct ptx_file {
    uint32_t number;
    const char *name;
};

struct ptx_module {
    uint32_t version;      /* 10 * major + minor: 90 is PTX 9.0 */
    const char *target;    /* first word of .target: "sm_90a" */
    uint32_t address_size; /* bits: 32 or 64 */
    const struct ptx_form *forms;
    uint32_t form_count;
    const struct ptx_func *funcs;
    uint32_t func_count;
    const struct ptx_var *vars;
    uint32_t var_count;
    const struct ptx_loc *locs; /* locs[0] is "none" */
    uint32_t loc_count;
    const struct ptx_file *files;
    uint32_t file_count;
    size_t memory_bytes; /* held by the arena */
};

/* Parses one module. NULL on error: f->code is ERR_INVALID, ERR_TOO_LARGE or ERR_NO_MEMORY and
 * f->detail begins with "line:column: ". `text` need not be NUL-terminated and is not kept. Free
 * with ptx_free(). */
struct ptx_module *ptx_parse(const char *text, size_t len, struct fault *f);
void ptx_free(struct ptx_module *m); /* NULL is fine */

/* Entries and functions by their name in the PTX (mangled). NULL if there is none. */
const struct ptx_func *ptx_func_find(const struct ptx_module *m, const char *name);
/* A module-scope variable by name, or NULL. */
const struct ptx_var *ptx_var_find(const struct ptx_module *m, const char *name);
/* Name of .file number `number`, or "". */
const char *ptx_file_name(const struct ptx_module *m, uint32_t number);

/* Static strings, as PTX spells them without the leading '.' (or with the '%' of a register). */
const char *ptx_op_name(enum ptx_op op);
const char *ptx_word_name(enum ptx_word w);
const char *ptx_type_name(enum ptx_type t);
const char *ptx_sreg_name(enum ptx_sreg s);
const char *ptx_space_name(enum ptx_space s);

unsigned ptx_type_bits(enum ptx_type t);
unsigned ptx_type_bytes(enum ptx_type t); /* bits rounded up to bytes; pred: 1 */
char ptx_type_class(enum ptx_type t);     /* see ptx_types.def */
enum ptx_type ptx_sreg_type(enum ptx_sreg s);

static inline bool ptx_form_has(const struct ptx_form *form, enum ptx_word w)
{
    return form->has[w / 64] >> (w % 64) & 1;
}

static inline const struct ptx_form *ptx_instr_form(const struct ptx_module *m,
                                                    const struct ptx_instr *i)
{
    return &m->forms[i->form];
}

/* Bits of an INT, F32 or F64 operand as a constant of type `t` (an integer is cut to its size, a
 * floating-point constant is rounded to nearest). */
uint64_t ptx_constant_bits(const struct ptx_operand *o, enum ptx_type t);

/* Writes the register's name ("%r12"); needs at most its declared name + 12 bytes. */
void ptx_format_reg(const struct ptx_func *fn, uint32_t reg, char *out, size_t size);
/* Appends the instruction as PTX, guard to semicolon, without line end: for messages and traces. */
void ptx_format_instr(const struct ptx_module *m, const struct ptx_func *fn, uint32_t instr,
                      struct buf *out);
/* Appends the whole module as PTX that parses to the same module. */
void ptx_format_module(const struct ptx_module *m, struct buf *out);

#endif
