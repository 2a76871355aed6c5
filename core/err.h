/* SPDX-License-Identifier: Apache-2.0
 * Errors: a code from errors.def and a sentence. A function that can fail returns `enum err` and
 * fills a `struct fault` its caller gave it (which may be NULL). Functions that judge foreign input
 * collect every fault with its JSON path in a `struct faults` instead, so that one answer names all.
 *
 * Message style: lower case, no full stop, what could not be done, with which thing, and why. */
#ifndef CORE_ERR_H
#define CORE_ERR_H

#include <jansson.h>
#include <stdbool.h>
#include <stdarg.h>

#include "core/limits.h"

enum err {
    ERR_NONE = 0,
#define ERROR(name, code, status, title) ERR_##name,
#include "core/errors.def"
#undef ERROR
    ERR_COUNT
};

/* Machine-readable code, HTTP status and title of an error. Static strings. */
const char *err_code(enum err e);
int err_status(enum err e);
const char *err_title(enum err e);

/* One error. `{0}` means none. */
struct fault {
    enum err code;
    char detail[LIMIT_DETAIL];
};

/* Writes the fault (if f is not NULL) and returns `code`, so that `return fault_set(f, …)` reads well.
 * A text over LIMIT_DETAIL is cut at a UTF-8 boundary; control characters become '?'. */
__attribute__((format(printf, 3, 4))) enum err fault_set(struct fault *f, enum err code,
                                                         const char *fmt, ...);

/* Every fault of one foreign input. `{0}` is an empty list. */
struct faults {
    json_t *items; /* array of {"path", "detail"}; NULL while empty */
    size_t dropped; /* those past LIMIT_FAULTS */
};

/* Appends one fault; `path` is a JSON path such as "$.launch.launches[0].grid". */
__attribute__((format(printf, 3, 4))) void faults_add(struct faults *f, const char *path,
                                                      const char *fmt, ...);
bool faults_any(const struct faults *f);
/* First fault as "path: detail" (static text when there is none). Valid until `f` changes. */
const char *faults_first(const struct faults *f, char *out, size_t size);
void faults_release(struct faults *f);

#endif
