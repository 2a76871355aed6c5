/* SPDX-License-Identifier: Apache-2.0
 * A request target taken apart: decoded path segments and query parameters. Pure, fuzzed; the one
 * place that decodes percent escapes. Knows no routes. */
#ifndef SERVER_URL_H
#define SERVER_URL_H

#include <stdbool.h>
#include <stddef.h>

#include "core/buf.h"
#include "core/err.h"

enum {
    URL_TARGET = 4096, /* bytes of a whole target */
    URL_SEGMENTS = 8,
    URL_PARAMETERS = 32,
};

struct url_parameter {
    const char *name, *value; /* point into url.text */
};

struct url {
    char text[URL_TARGET + 2]; /* storage of everything below; NUL-separated */
    const char *segments[URL_SEGMENTS];
    size_t segment_count; /* "/" has none; "/a/" has two, the second empty */
    struct url_parameter parameters[URL_PARAMETERS];
    size_t parameter_count;
};

/* Takes apart an origin-form target ("/v1/x?y=z"). ERR_BAD_REQUEST for a malformed escape, a NUL,
 * bytes that are not UTF-8, or too much of anything; ERR_BAD_PARAMETER for a parameter given twice;
 * ERR_NOT_FOUND for more segments than any route has. `*out` points into itself: do not copy it. */
enum err url_parse(const char *target, struct url *out, struct fault *f);

/* Value of a parameter, or NULL. Borrowed from `u`. */
const char *url_parameter(const struct url *u, const char *name);

/* Does the path match a pattern such as "/v1/submissions/:uuid/source"? `:uuid`, `:name` and `:int`
 * match one segment of that type, which is stored in captures[0…] (at most `max`; borrowed). */
bool url_matches(const struct url *u, const char *pattern, const char **captures, size_t max);

/* Appends a text percent-encoded, fit for a query value. */
void url_encode(struct buf *out, const char *text);

#endif
