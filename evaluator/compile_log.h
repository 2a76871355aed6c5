/* SPDX-License-Identifier: Apache-2.0
 * What a compiler printed, made safe to show and read for facts. Pure. The text is foreign twice over:
 * it quotes the submission, and #line lets the submission choose the file names in it. */
#ifndef EVALUATOR_COMPILE_LOG_H
#define EVALUATOR_COMPILE_LOG_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/buf.h"

/* Names the compiler may put before "(line): ". Any other came from #line and is shown as such. */
struct log_names {
    const char *source;              /* "kernel.cu" */
    const char *const *headers;      /* NULL-terminated: headers from memory; NULL: none */
    const char *const *folders;      /* NULL-terminated: folders of visible headers; NULL: none */
    const char *ptx;                 /* made from the source: assembler errors in it are given the
                                      * source's line; NULL: none */
};

/* Appends `raw` to `out` until it holds `max` bytes: lines of no use dropped, control characters,
 * invalid UTF-8 and characters that reorder text escaped, foreign file names marked. Returns whether
 * something had to be cut. */
bool compile_log_show(const char *raw, size_t len, const struct log_names *names, size_t max,
                      struct buf *out);

/* Every warning as {"code","line","text"}, at most 64; "line" is null where unknown. A line that the
 * assembler counts in the PTX is turned into the source's by the .loc lines of `ptx` when that is not
 * NULL. New reference. */
json_t *compile_log_warnings(const char *raw, size_t len, const char *ptx);

/* Bytes of spills that the assembler reported for a function. False if it said nothing of it. */
bool compile_log_spills(const char *raw, const char *symbol, long *stores, long *loads);

/* First error for a one-sentence answer, escaped, with its line if it is in the source; "" if there is
 * none. */
void compile_log_first_error(const char *raw, size_t len, const struct log_names *names, char *out,
                             size_t size);

/* Most shared memory that the assembler reported for a function, bytes. */
long compile_log_shared(const char *raw);

/* Is `name` one of the name expressions the log calls bad? */
bool compile_log_rejects_name(const char *raw, const char *name);

/* Source line of a line of the PTX: the last .loc before it; 0 if there is none. */
long compile_log_source_line(const char *ptx, long ptx_line);

#endif
