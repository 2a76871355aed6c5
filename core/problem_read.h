/* SPDX-License-Identifier: Apache-2.0
 * From problem.json to struct problem. Used by core/problem.c alone. */
#ifndef CORE_PROBLEM_READ_H
#define CORE_PROBLEM_READ_H

#include "core/problem.h"

/* Reads and validates p->document into the other fields of `p` (all zero but `folder`). Whatever
 * was read before a fault stays owned by `p`. */
void problem_read(struct problem *p, struct faults *faults);

#endif
