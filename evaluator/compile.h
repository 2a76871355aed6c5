/* SPDX-License-Identifier: Apache-2.0
 * Compile one submission and hold its plan against the module, in a confined child
 * (ptxbench-compile). This side knows no compiler: it frames the request, bounds the answer, and turns
 * the child's death into a verdict. */
#ifndef EVALUATOR_COMPILE_H
#define EVALUATOR_COMPILE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/arch.h"
#include "core/buf.h"
#include "core/plan.h"
#include "core/words.h"

struct compile_request {
    const char *language;            /* "cuda" or "ptx" */
    const struct arch *arch;
    const char *source;
    size_t source_len;
    const char *const *options;      /* submitter's, NULL-terminated, allow-listed; NULL: none */
    const struct plan *plan;         /* defines, kernels, launches; NULL: only compile */
    const char *const *names;        /* further name expressions, NULL-terminated; NULL: none */
    int64_t timeout_ms;              /* 0: COMPILE_TIMEOUT_MS */
    /* As in struct child_spec: how a caller cancels. */
    bool (*tick)(void *arg);
    int wake_fd; /* -1 (or 0): none */
    void *arg;
};

enum { COMPILE_TIMEOUT_MS = 60 * 1000 };

/* A kernel the plan launches. */
struct compile_kernel {
    char *name;   /* name expression, as in the plan */
    char *symbol; /* name in the PTX and the cubin */
};

struct compile_result {
    enum verdict verdict;   /* PASSED, COMPILE_ERROR, LAUNCH_ERROR, REJECTED, INFRA_ERROR, CANCELLED */
    enum stage stage;       /* which one failed: STAGE_compile or STAGE_inspect */
    enum err error;         /* INFRA_ERROR: ERR_UNAVAILABLE if no compiler is installed, else ERR_INTERNAL */
    char *detail;           /* one sentence unless PASSED; else NULL */
    struct buf ptx;         /* "cuda": what NVRTC made; "ptx": the source. NUL-terminated */
    struct buf cubin;       /* empty if there is no assembler here: see no_cubin_reason */
    struct buf log;         /* compiler's words, UTF-8, escaped, at most LIMIT_LOG */
    bool log_cut;
    char *no_cubin_reason;  /* NULL if there is a cubin */
    struct compile_kernel *kernels; /* distinct kernels of the plan, then of `names` */
    size_t kernel_count;
    /* Parts of the report, owned, never NULL after compile_run: */
    json_t *compiler;       /* {"compiler":"NVRTC 13.0","options":[…],"warnings":[{code,line,text}],
                             *  "log_truncated":b} */
    json_t *kernel_table;   /* [{"name","symbol","registers","spill_store_bytes",…}] */
    json_t *families;       /* {"gmma":{"static":n}, …}: one member per family of the arch; {} without cubin */
    json_t *sandbox;        /* ["seccomp", …] */
    json_t *versions;       /* {"nvrtc":"13.0","ptxas":"13.0.88"} */
    int64_t compile_ms, inspect_ms, wall_ms, max_rss_bytes;
};

/* Never fails otherwise than in `out`. Release `out` afterwards. */
void compile_run(const struct compile_request *request, struct compile_result *out);
void compile_result_release(struct compile_result *r);
/* Symbol of a name expression, or NULL. Borrowed. */
const char *compile_symbol(const struct compile_result *r, const char *name);

/* {symbol: registers of a thread} of the kernels that were assembled; new reference. */
json_t *compile_registers(const struct compile_result *r);

/* What this host can compile: {"nvrtc":"13.0"|null,"ptxas":…|null,"cuda":"<folder>"|null}; for
 * start-up messages and /v1/workers. Looks at files only; caller owns it. */
json_t *compile_capabilities(void);

#endif
