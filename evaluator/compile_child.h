/* SPDX-License-Identifier: Apache-2.0
 * The other end of compile_run: the program ptxbench-compile, one request and one answer a process.
 *     ptxbench-compile LANGUAGE ARCH SECONDS
 * The arguments are ours, so that everything is loaded and confinement is complete before the first
 * foreign byte is read. Then FRAME_REQUEST (compile_wire.h) and FRAME_SOURCE come in, and out go
 * FRAME_EVENT {"phase": "ready" | "compiling" | "inspecting", …}, FRAME_PTX, FRAME_CUBIN, FRAME_LOG and
 * FRAME_RESULT. Dying while "compiling" is the source's fault, at any other time ours. */
#ifndef EVALUATOR_COMPILE_CHILD_H
#define EVALUATOR_COMPILE_CHILD_H

#include "core/buf.h"
#include "core/words.h"
#include "evaluator/compile_headers.h"
#include "evaluator/compile_nvrtc.h"
#include "evaluator/compile_wire.h"

enum { COMPILE_MEMORY_MIB = 6144 };

/* What is loaded before confinement. */
struct toolchain {
    bool cuda;                   /* language */
    const struct arch *arch;
    struct cuda_paths paths;
    struct headers headers;      /* cuda */
    const struct nvrtc *nvrtc;   /* cuda; NULL: unavailable, see `missing` */
    char includes[CUDA_INCLUDES][CUDA_PATH + 8]; /* as seen from inside, with "-I" before */
    char nvrtc_version[16];
    struct fault missing;
};

/* The answer while it is made. */
struct answer {
    enum verdict verdict;
    enum stage stage;
    enum err error;              /* of an INFRA_ERROR */
    char detail[LIMIT_DETAIL];
    char no_cubin[LIMIT_DETAIL]; /* "" if there is one */
    char compiler[64];           /* "NVRTC 13.0" */
    char *raw_log;               /* owned */
    size_t raw_log_len;
    struct buf ptx, cubin;
    char **symbols;              /* of the request's names; owned */
    json_t *versions, *options;  /* owned */
    int64_t compile_ms, inspect_ms;
};

/* Fill the answer: artefacts, log and symbols, or a verdict. */
void compile_cuda(const struct toolchain *t, const struct wire_request *r, const char *source,
                  struct answer *out);
void compile_ptx(const struct toolchain *t, const struct wire_request *r, const char *source,
                 size_t len, struct answer *out);

__attribute__((format(printf, 4, 5))) void answer_fail(struct answer *a, enum verdict verdict,
                                                       enum stage stage, const char *fmt, ...);

int compile_role(int argc, char **argv);

#endif
