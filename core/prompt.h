/* SPDX-License-Identifier: Apache-2.0
 * Prompts: what a model or a person needs to write a kernel for an architecture, put together from
 * the same files that the service compiles and judges by. A variant
 * (arch/<arch>/variants/<name>.json) says which components, in which order:
 *
 *   parameters      numbers of the GPU                     arch.json
 *   templates       what <ptxbench/….cuh> offers           the headers: comments and declarations
 *   contract        rules, with what breaking them causes  contract.md, of arch/common and its own
 *   hint, guidance  how to build such a kernel             hints/<name>.md
 *   example         one complete kernel with its plan      examples/<name>
 *   problem         what to compute                        problem.json
 *   output_format   what to answer with                    arch/common/output_format.md
 *
 * The text depends on these files and the request alone. */
#ifndef CORE_PROMPT_H
#define CORE_PROMPT_H

#include <stddef.h>
#include <stdint.h>

#include "core/arch.h"
#include "core/buf.h"
#include "core/problem.h"

struct tokenizer;

enum { PROMPT_PARTS = 16 };

struct prompt_request {
    const char *home; /* home_dir() */
    const struct arch *arch;
    const struct problem *problem;
    const struct workload *workload;   /* NULL: the problem's own default */
    const char *variant;               /* NULL: "contract" */
    const struct tokenizer *tokenizer; /* NULL: tokens are estimated */
};

struct prompt_part {
    char component[LIMIT_NAME + 1]; /* "templates" */
    char *text;                     /* owned; ends with a newline */
    size_t len;
    int64_t tokens;
};

struct prompt {
    struct prompt_part parts[PROMPT_PARTS];
    size_t count;
    int64_t tokens;
    bool estimated; /* no tokenizer was given */
};

/* ERR_NOT_FOUND: no such variant. `out` is the caller's to release, after an error too. */
enum err prompt_build(const struct prompt_request *request, struct prompt *out, struct fault *f);
void prompt_release(struct prompt *p);

/* Parts one behind the other. */
void prompt_text(const struct prompt *p, struct buf *out);

/* [{"name", "for", "components"}], by name; new reference or NULL. */
json_t *prompt_variants(const char *home, const struct arch *arch, struct fault *f);

/* Appends what a header offers: comments and declarations without bodies, macros and what is for
 * the header's own use (namespace detail). */
void prompt_declarations(const char *header, struct buf *out);

/* The generated parts. */
void prompt_parameters(const struct arch *arch, struct buf *out);
void prompt_problem(const struct problem *problem, const struct workload *workload, int num_sms,
                    struct buf *out);

#endif
