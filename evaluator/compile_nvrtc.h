/* SPDX-License-Identifier: Apache-2.0
 * NVRTC, loaded with dlopen and by our own declarations, so that the tree builds without a toolkit. */
#ifndef EVALUATOR_COMPILE_NVRTC_H
#define EVALUATOR_COMPILE_NVRTC_H

#include "core/buf.h"
#include "core/err.h"
#include "evaluator/compile_headers.h"
#include "evaluator/cuda_paths.h"

struct nvrtc; /* the library */

/* Loads the library and its builtins, which it would otherwise look for at the first compilation, when no
 * file can be seen any more. NULL with ERR_UNAVAILABLE. Never unloaded. */
struct nvrtc *nvrtc_load(const struct cuda_paths *paths, struct fault *f);
void nvrtc_version(const struct nvrtc *n, char *out, size_t size); /* "13.0" */

struct nvrtc_job {
    const char *source, *source_name;
    const struct headers *headers;
    const char *const *options;
    size_t option_count;
    const char *const *names;  /* name expressions */
    size_t name_count;
};

struct nvrtc_output {
    enum err error;         /* NONE; INVALID: the source does not compile; TOO_LARGE: see `why` */
    char why[LIMIT_DETAIL]; /* NVRTC's word for the failure */
    char *log;              /* owned; never NULL */
    struct buf ptx, cubin;  /* ptx is NUL-terminated, and there too if only the assembler failed */
    char **lowered;         /* name_count symbols; owned, NULL entries where there is none */
    size_t lowered_count;
};

void nvrtc_compile(const struct nvrtc *n, const struct nvrtc_job *job, struct nvrtc_output *out);
void nvrtc_output_release(struct nvrtc_output *out);

#endif
