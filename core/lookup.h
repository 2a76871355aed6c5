/* SPDX-License-Identifier: Apache-2.0
 * Names that somebody asked for, looked up in the registry. What is not there becomes a fault at
 * `path` that lists what is. A NULL name is none: no fault, nothing found. */
#ifndef CORE_LOOKUP_H
#define CORE_LOOKUP_H

#include "core/submission.h"

const struct problem *lookup_problem(const struct registry *r, const char *name, const char *path,
                                     struct faults *faults);
/* Of a NULL name: the problem's paper workload, or its cpu workload on device cpu. */
const struct workload *lookup_workload(const struct problem *p, const char *name,
                                       const char *device, const char *path, struct faults *faults);
const struct arch *lookup_arch(const struct registry *r, const char *name, const char *path,
                               struct faults *faults);
/* "cpu", "gpu", or a device model of the architecture. */
bool lookup_device(const struct arch *a, const char *device, const char *path,
                   struct faults *faults);

/* "a, b, c and 80 more" of the names at items[0], items[step] …, each an array of char. Returns
 * `out`. */
const char *lookup_list(const void *items, size_t step, size_t count, char *out, size_t size);

#endif
