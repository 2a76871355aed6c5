/* SPDX-License-Identifier: Apache-2.0
 * ptxas as a confined program: PTX in, cubin out, through a private folder or, where there is none,
 * through descriptors of memory. */
#ifndef EVALUATOR_COMPILE_PTXAS_H
#define EVALUATOR_COMPILE_PTXAS_H

#include "core/buf.h"
#include "core/err.h"
#include "evaluator/cuda_paths.h"

enum { PTXAS_NEEDS = 16 };

/* Files that ptxas needs to start: itself, the loader, its libraries. NULL-terminated into `out`;
 * static texts. Loads libraries to learn where they are: call before confinement. */
void ptxas_needs(const struct cuda_paths *paths, const char *out[PTXAS_NEEDS]);

struct ptxas_job {
    const char *program;  /* path */
    const char *arch;     /* "sm_90a" */
    const char *ptx, *name; /* name shown in messages instead of the path */
    size_t ptx_len;
    const char *const *options;
    size_t option_count;
};

struct ptxas_output {
    enum err error;         /* NONE; INVALID: does not assemble; TOO_LARGE; INTERNAL: it could not be run */
    char why[LIMIT_DETAIL];
    struct buf log, cubin;  /* log is raw text, NUL-terminated once anything was printed */
};

/* After sandbox_enter(SANDBOX_ASSEMBLE). Blocks until ptxas is gone; the caller's own parent holds the
 * deadline. */
void ptxas_assemble(const struct ptxas_job *job, struct ptxas_output *out);
void ptxas_output_release(struct ptxas_output *out);

/* Version inside a cubin's note ("V13.0.88" gives "13.0.88"), "" if it has none. */
void ptxas_version_of(const void *cubin, size_t len, char *out, size_t size);

#endif
