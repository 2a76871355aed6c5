/* SPDX-License-Identifier: Apache-2.0
 * Memory that is filled where it is first touched, so that the tensors of the paper's sizes cost
 * what a few CTAs touch of them. Which parts were touched is known afterwards.
 *
 * One signal handler (SIGSEGV) serves all of them, from any thread; another fault goes where it
 * went before. */
#ifndef EVALUATOR_TOOL_LAZY_H
#define EVALUATOR_TOOL_LAZY_H

#include <stdbool.h>
#include <stddef.h>

#include "core/err.h"

enum { LAZY_CHUNK = 64 * 1024, LAZY_MAX = 64 };

/* Writes bytes [offset, offset + n) to `to`. Runs in a signal handler: it computes, nothing else.
 */
typedef void lazy_fill(void *arg, void *to, size_t offset, size_t n);

struct lazy;

/* NULL with ERR_NO_MEMORY. At most LAZY_MAX at a time. */
struct lazy *lazy_new(size_t bytes, lazy_fill *fill, void *arg, struct fault *f);
void lazy_free(struct lazy *l); /* NULL is fine */
void *lazy_data(struct lazy *l);
/* Untouched again. No thread may be using it. */
void lazy_reset(struct lazy *l);

/* Chunks of LAZY_CHUNK bytes, the last one shorter; was this one touched? */
size_t lazy_chunks(const struct lazy *l);
bool lazy_touched(const struct lazy *l, size_t chunk);

#endif
