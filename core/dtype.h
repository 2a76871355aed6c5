/* SPDX-License-Identifier: Apache-2.0
 * Element types and exact conversions of single elements. Pure. */
#ifndef CORE_DTYPE_H
#define CORE_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dtype {
#define DTYPE(name, bytes, ptx, is_float) DTYPE_##name,
#include "core/dtypes.def"
#undef DTYPE
    DTYPE_COUNT
};

const char *dtype_name(enum dtype t);
size_t dtype_bytes(enum dtype t);
bool dtype_is_float(enum dtype t);
int dtype_find(const char *name); /* enum dtype, or -1 */

/* Element i of an array as a double (exact for every type but 64-bit integers over 2^53). */
double dtype_load(enum dtype t, const void *array, size_t i);
/* Stores a double, rounded to nearest even for floats, truncated and clamped for integers. */
void dtype_store(enum dtype t, void *array, size_t i, double v);

/* IEEE 754 binary16 and bfloat16, round to nearest even, NaN kept quiet. */
uint16_t f16_from_double(double v);
double f16_to_double(uint16_t bits);
uint16_t bf16_from_float(float v);
uint16_t bf16_from_double(double v); /* one rounding, not through float */
float bf16_to_float(uint16_t bits);

#endif
