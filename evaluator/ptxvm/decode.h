/* SPDX-License-Identifier: Apache-2.0
 * From PTX instructions to ops. Each exec_*.c brings its rows: which forms it executes, by which
 * handler. A new family of instructions is one more exec_*.c and its line in decode_rows.c.
 *
 * While a function is decoded, references carry a tag and name virtual registers; regalloc.c turns
 * them into places. Anything about an operand that does not fit is an error, never a wild access.
 */
#ifndef EVALUATOR_PTXVM_DECODE_H
#define EVALUATOR_PTXVM_DECODE_H

#include "evaluator/ptxvm/vm.h"

/* Tags of references. */
enum { REF_SHIFT = 30, REF_MASK = (1 << REF_SHIFT) - 1 };
#define REF_NONE UINT32_C(0)
#define REF_VREG(i) (UINT32_C(1) << REF_SHIFT | (i))
#define REF_CONST(offset) (UINT32_C(2) << REF_SHIFT | (offset))
#define REF_FIXED(value) (UINT32_C(3) << REF_SHIFT | (value)) /* kept as it is */
#define REF_TAG(ref) ((ref) >> REF_SHIFT)

enum width { WIDTH_PRED = 0, WIDTH_32 = 4, WIDTH_64 = 8, WIDTH_128 = 16 };

struct decoder;
struct row;
typedef bool decode_fn(struct decoder *d, const struct row *row);

/* What a form is. `form` is either a whole form without ".rn" (then `shape` and `run` say all) or
 * the beginning of one, up to a '.', with a `decode` function; the longest that fits is taken.
 *
 * Shape: results, ':', operands. p predicate, h 16 bits, w 32, f 32 as float, d 64, g 64 as double,
 * q 128, i immediate (into imm). "w:ww" is d = row, a, b = rows. */
struct row {
    const char *form, *shape;
    handler *run;
    decode_fn *decode;
    uint32_t aux;
};

#define ROWS_END                                                                                   \
    {                                                                                              \
        NULL, NULL, NULL, NULL, 0                                                                  \
    }

/* Row for a form, or NULL: not executed. */
const struct row *row_find(const struct ptx_form *form);
/* Why a form is not executed: a reason for people, after "is not executed: ". */
const char *rejected_reason(const struct ptx_form *form);

enum { DECODE_PENDING = 512 }; /* references of the arguments of one call */

/* Pending conversion of a result into a wider register. */
struct widen {
    uint32_t from, to;
    bool is_signed;
};

struct decoder {
    struct ptxvm *vm;
    struct program *program;
    const struct ptx_module *module;
    const struct ptx_func *fn;
    struct function *out;
    const struct ptx_instr *instr;
    const struct ptx_form *form;
    const struct ptx_operand *operands; /* of instr */
    uint32_t instr_index, func_index;
    struct op *ops;
    uint32_t op_count, op_cap;
    uint32_t *lists;
    uint32_t list_count, list_cap;
    uint8_t *widths; /* of virtual registers: enum width */
    uint32_t vreg_count, vreg_cap;
    uint32_t *first_op; /* by instruction; instr_count entries and one */
    uint32_t carry;     /* virtual predicate of CC.CF */
    struct widen widens[16];
    int widen_count;
    uint32_t pending[DECODE_PENDING];
    uint32_t pending_count;
    bool counted; /* the running instruction has its counting op */
    struct fault *fault;
};

/* Records the first error (located) and returns false. */
__attribute__((format(printf, 2, 3))) bool decode_error(struct decoder *d, const char *fmt, ...);

/* Appends an op under the guard of the instruction; NULL on error. The pointer holds until the next
 * call. The first op of an instruction counts as the instruction, later ones count nothing. */
struct op *decode_emit(struct decoder *d, handler *run);
/* Appends a reference to the list of the op emitted last. */
bool decode_list(struct decoder *d, uint32_t ref, bool is_result);
uint32_t decode_temp(struct decoder *d, enum width width);
/* Row of a constant. REF_NONE on error. */
uint32_t decode_constant(struct decoder *d, uint64_t lo, uint64_t hi, enum width width);

/* Operands. Each returns REF_NONE after decode_error. `type` is what the instruction reads:
 * registers must have its width (or, `relaxed`, may be wider). */
uint32_t decode_source(struct decoder *d, const struct ptx_operand *o, enum ptx_type type);
uint32_t decode_source_relaxed(struct decoder *d, const struct ptx_operand *o, enum ptx_type type);
uint32_t decode_result(struct decoder *d, const struct ptx_operand *o, enum ptx_type type);
/* Results that may go to a wider register; call decode_widen after the op. */
uint32_t decode_result_relaxed(struct decoder *d, const struct ptx_operand *o, enum ptx_type type);
bool decode_widen(struct decoder *d);
uint32_t decode_pred(struct decoder *d, const struct ptx_operand *o);
uint32_t decode_pred_result(struct decoder *d, const struct ptx_operand *o);
/* An operand that must be known now. */
bool decode_immediate(struct decoder *d, const struct ptx_operand *o, int64_t *value);
/* Elements of a {…} or (…) list; a single operand is a list of itself. */
const struct ptx_operand *decode_elements(struct decoder *d, const struct ptx_operand *o,
                                          uint32_t *count);

/* Where a variable lies: an address, or (`frame_relative`) an offset from the frame's local base.
 */
bool decode_variable(struct decoder *d, uint32_t var, uint64_t *address, bool *frame_relative);
/* Base register and offset of a memory operand into op fields a and imm. */
struct place {
    uint32_t base; /* REF_NONE: absolute */
    int64_t offset;
    bool narrow; /* base is a 32-bit register */
    bool frame_relative;
    enum ptx_space space; /* of the variable named; NONE for a register */
};
bool decode_place(struct decoder *d, const struct ptx_operand *o, struct place *out);

/* The error of an access to a variable by a space that it does not lie in. */
bool decode_space_error(struct decoder *d);

bool decode_by_shape(struct decoder *d, const struct row *row);
bool decode_count_is(struct decoder *d, uint32_t count);
static inline bool form_has(const struct decoder *d, enum ptx_word w)
{
    return ptx_form_has(d->form, w);
}
enum width width_of(enum ptx_type t);

/* Moves .reg parameters of a function from its parameter slots to their registers. */
bool decode_register_params(struct decoder *d);
/* And its .reg results to their slots, before it returns. */
bool decode_register_results(struct decoder *d);
/* Decodes all functions of a program that was laid out. */
bool decode_program(struct ptxvm *vm, struct program *p, struct fault *f);

/* regalloc.c: virtual registers to slots; fills out->row_bytes and out->preds. */
bool regalloc(struct decoder *d);

/* Ops that others put in front of or behind theirs. */
extern handler run_unsupported, run_end, run_pred_not, run_zext_64, run_sext_64, run_trunc_32,
    run_local_address, run_sreg, run_mov_32, run_mov_64, run_mov_128, run_pred_and, run_pred_or,
    run_pred_xor, run_bra, run_brx, run_exit, run_ret;

#endif
