/* SPDX-License-Identifier: Apache-2.0
 * Tables as CSV (RFC 4180) from the same documents that JSON answers show. */
#ifndef SERVER_CSV_H
#define SERVER_CSV_H

#include "server/request.h"

/* A column: its heading is also the path of its member, such as "speedup.value" or
 * "speedup.ci95.0". */
enum err answer_csv(struct request *r, const char *const *columns, size_t count,
                    const json_t *rows);

/* "csv" or absent; anything else is ERR_BAD_PARAMETER. */
enum err csv_wanted(struct request *r, bool *wanted);

#endif
