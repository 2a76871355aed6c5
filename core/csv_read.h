/* SPDX-License-Identifier: Apache-2.0
 * Reads CSV (RFC 4180): commas, double quotes, a doubled quote inside quotes, CRLF or LF. */
#ifndef CORE_CSV_READ_H
#define CORE_CSV_READ_H

#include <stdbool.h>
#include <stddef.h>

#include "core/err.h"

enum { CSV_FIELDS = 64 };

struct csv_reader {
    char *at, *end;
    size_t line;              /* where the row that was read ends, from 1 */
    char *fields[CSV_FIELDS]; /* into the text, NUL-terminated */
    size_t count;
};

/* Fields are cut and unquoted in place: the text, its NUL at text[len] included, is changed.
 * ERR_INVALID if there is a NUL before. */
enum err csv_open(struct csv_reader *r, char *text, size_t len, struct fault *f);

/* The next row; blank lines are skipped. *got false: the end. ERR_INVALID names the line: more than
 * CSV_FIELDS fields, a quote that is not closed or has text behind it. */
enum err csv_next(struct csv_reader *r, bool *got, struct fault *f);

#endif
