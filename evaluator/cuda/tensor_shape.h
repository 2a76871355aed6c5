/* SPDX-License-Identifier: Apache-2.0
 * What a tensor instruction multiplies, read from its bits. The fields were found by assembling every PTX
 * form with ptxas 13.0 and comparing; tests/gpu/opcodes holds them against nvdisasm. Pure. */
#ifndef EVALUATOR_CUDA_TENSOR_SHAPE_H
#define EVALUATOR_CUDA_TENSOR_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

/* m x n times n x k: 2 m n k operations. */
struct tensor_shape {
    int m, n, k;
    int warps; /* that do it together: 4 for a warpgroup's */
};

/* False if the instruction is none, or of a form whose bits do not say it (sparse operands; tcgen05.mma,
 * whose shape is in a register). */
bool tensor_shape(const uint8_t instruction[16], struct tensor_shape *out);

/* Floating-point (or integer) operations of one execution by one warp. */
double tensor_shape_flops(const struct tensor_shape *s);

#endif
