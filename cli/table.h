/* SPDX-License-Identifier: Apache-2.0
 * What people see: tables of JSON rows, one submission as a few lines, colour on a terminal only. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "core/words.h"

struct column {
    const char *title;
    const char *key; /* member of the row; "a.b" goes one level down */
    int decimals;    /* of a real number */
};

/* One line per row, columns as wide as they need; null and absent are "-", lists are joined by commas.
 * Numbers stand to the right. Prints `nothing` if there is no row. */
void table_print(FILE *out, const struct column *columns, size_t count, const json_t *rows,
                 const char *nothing);

/* "  title     a b c": the members named by `parts`, those that are null left out; nothing if all are. */
void table_line(FILE *out, const char *title, const json_t *doc, const struct column *parts, size_t count);

/* Can the cursor be moved there, and is colour wanted ($NO_COLOR)? */
bool out_is_terminal(FILE *out);
bool out_has_colour(FILE *out);

/* The answer of GET /v1/submissions/{id}. */
void submission_print(FILE *out, const json_t *submission);

/* One progress event, one line. */
void event_print(FILE *out, const char *kind, const json_t *data);

/* Exit code for a submission: by its verdict, CLI_UNFINISHED while it has none. */
int submission_exit_code(const json_t *submission);

void json_print(FILE *out, const json_t *value);

#endif
