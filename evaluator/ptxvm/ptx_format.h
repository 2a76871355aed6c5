/* SPDX-License-Identifier: Apache-2.0
 * Between ptx_format.c and ptx_format_module.c. A whole module is written canonically: its scopes
 * are gone, so registers, labels and variables of a function get names made of their numbers
 * ("%r0_12",
 * "$L3", "$v1"), and writing, parsing and writing again gives the same text. */
#ifndef EVALUATOR_PTXVM_PTX_FORMAT_H
#define EVALUATOR_PTXVM_PTX_FORMAT_H

#include "evaluator/ptxvm/ptx.h"

void ptx_format_instr_canonical(const struct ptx_module *m, const struct ptx_func *fn,
                                uint32_t instr, struct buf *out);
/* `count` operands from fn->operands[first] on, separated by commas. */
void ptx_format_operands_canonical(const struct ptx_module *m, const struct ptx_func *fn,
                                   uint32_t first, uint32_t count, struct buf *out);

/* Which parameter (counted from the first result) the register `reg` belongs to as its first, or
 * PTX_NONE: such a register is declared in the function's head. */
uint32_t ptx_param_of_reg(const struct ptx_module *m, const struct ptx_func *fn, uint32_t reg);

#endif
