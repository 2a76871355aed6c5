/* SPDX-License-Identifier: Apache-2.0
 * What cuTensorMapEncodeTiled demands of its parameters (CUDA 13.0 driver API), so that a plan is
 * judged without a GPU. Pure. */
#ifndef CORE_TENSOR_MAP_H
#define CORE_TENSOR_MAP_H

#include "core/plan.h"

/* Value of CUtensorMapDataType of a name such as "bf16" or "tf32_ftz", or -1. */
int tensor_map_type_find(const char *name);
/* The type that reads an element type as it is. 8-bit integers read as u8. */
int tensor_map_type_of(enum dtype t);
int tensor_map_type_bits(int data_type); /* of one element in memory */
/* All names with commas between, for messages. Static text. */
const char *tensor_map_type_names(void);

/* Bytes in memory that `elements` elements take, rounded up. */
uint64_t tensor_map_bytes(const struct plan_tensor_map *m, uint64_t elements);

/* Adds a fault for each rule that `m` breaks on an architecture; the base of its tensor counts as
 * aligned. `path` is the JSON path of the map. Stricter than the driver in two points: a 32B
 * interleave needs the 32B swizzle, as documented, and a box must fit in shared memory however its
 * steps round. */
void tensor_map_check(const struct plan_tensor_map *m, const struct arch *a, const char *path,
                      struct faults *faults);

#endif
