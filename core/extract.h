/* SPDX-License-Identifier: Apache-2.0
 * Finds the kernel in a model's answer. Pure: bytes in, bytes out.
 *
 * The kernel is the last closed fenced block that holds one (`__global__`, or `.entry` below a
 * `.version`), whatever its info string says; its launch plan is embedded in it, or is the last
 * closed `json` block. Fences are those of CommonMark, three or more backticks or tildes, and some
 * that models write against its rules: indented as deep as they like, and opened again without
 * having been closed, which ends the block before as one that is not closed. A block that is not
 * closed is never taken for a kernel: an answer that was cut off must not be compiled as if it were
 * whole. What a model thought aloud, up to the last
 * `</think>`, is no answer. */
#ifndef CORE_EXTRACT_H
#define CORE_EXTRACT_H

#include "core/buf.h"

enum extract_state {
    EXTRACT_KERNEL,
    EXTRACT_NO_BLOCK,  /* not a single fenced block */
    EXTRACT_NO_KERNEL, /* blocks, but none that holds a kernel */
    EXTRACT_CUT,       /* the only kernel is in a block that is not closed, or such a block ends the
                          answer before a kernel began */
    EXTRACT_TOO_LARGE, /* the kernel is larger than LIMIT_SOURCE */
};

struct extraction {
    enum extract_state state;
    struct buf source; /* EXTRACT_KERNEL: without the fences, owned */
    struct buf plan;   /* the json block beside it, owned; empty: there is none */
    size_t blocks;     /* closed ones */
    bool cut_behind;   /* behind the kernel a further one begins that is not closed */
};

/* Never fails for want of form; out of memory shows as a failed `source`. Release in any case. */
void extract(const char *answer, size_t len, struct extraction *out);
void extraction_release(struct extraction *x);

/* What was wrong with the answer, for who wrote it; "" for EXTRACT_KERNEL. Static. */
const char *extract_state_text(enum extract_state s);

#endif
