// SPDX-License-Identifier: Apache-2.0
#include "core/csv_read.h"

#include <string.h>

enum err csv_open(struct csv_reader *r, char *text, size_t len, struct fault *f)
{
    *r = (struct csv_reader){.at = text, .end = text + len};
    const char *nul = memchr(text, '\0', len);
    return nul ? fault_set(f, ERR_INVALID, "cannot read the table: byte %zu is a NUL",
                           (size_t)(nul - text))
               : ERR_NONE;
}

static enum err refuse(const struct csv_reader *r, struct fault *f, const char *why)
{
    return fault_set(f, ERR_INVALID, "cannot read line %zu: %s", r->line, why);
}

/* Unquotes the field at r->at, which begins behind its opening quote; r->at goes behind the closing
 * one. */
static enum err read_quoted(struct csv_reader *r, struct fault *f)
{
    char *to = r->at;
    size_t lines = 0;
    for (; r->at < r->end; r->at++) {
        if (*r->at == '"' && (r->at + 1 == r->end || r->at[1] != '"')) {
            r->at++;
            *to = '\0';
            r->line += lines;
            return ERR_NONE;
        }
        if (*r->at == '"')
            r->at++;
        lines += *r->at == '\n';
        *to++ = *r->at;
    }
    return refuse(r, f, "a quote is not closed");
}

static char *skip_plain(char *s, const char *end)
{
    while (s < end && *s != ',' && *s != '\n' && *s != '\r')
        s++;
    return s;
}

/* Cuts the field off; *more says whether another one follows in this row. */
static enum err read_field(struct csv_reader *r, bool *more, struct fault *f)
{
    if (r->count == CSV_FIELDS)
        return refuse(r, f, "there are too many fields");
    bool quoted = r->at < r->end && *r->at == '"';
    if (quoted)
        r->at++;
    r->fields[r->count++] = r->at;
    enum err e = quoted ? read_quoted(r, f) : ERR_NONE;
    if (e != ERR_NONE)
        return e;
    char *stop = skip_plain(r->at, r->end);
    if (quoted && stop != r->at)
        return refuse(r, f, "there is text behind a quoted field");
    *more = stop < r->end && *stop == ',';
    r->at = stop < r->end ? stop + 1 : stop;
    if (stop < r->end && *stop == '\r' && r->at < r->end && *r->at == '\n')
        r->at++;
    *stop = '\0';
    return ERR_NONE;
}

enum err csv_next(struct csv_reader *r, bool *got, struct fault *f)
{
    r->count = 0;
    do {
        r->line++;
        *got = r->at < r->end;
        if (!*got)
            return ERR_NONE;
        if (*r->at != '\n' && *r->at != '\r')
            break;
        r->at += *r->at == '\r' && r->at + 1 < r->end && r->at[1] == '\n' ? 2 : 1;
    } while (true);
    enum err e = ERR_NONE;
    for (bool more = true; more && e == ERR_NONE;)
        e = read_field(r, &more, f);
    return e;
}
