/* SPDX-License-Identifier: Apache-2.0
 * Inside core/db only: opening a libpq connection the way all of ours are opened. */
#ifndef CORE_DB_CONNECT_H
#define CORE_DB_CONNECT_H

#include <libpq-fe.h>

#include "core/err.h"

/* Blocks for at most the connect timeout (5 s unless conninfo says otherwise). NULL with
 * ERR_DATABASE. */
PGconn *pg_connect(const char *conninfo, const char *application, struct fault *f);

/* First line of a libpq message, for a detail or a log. */
const char *pg_message(const char *text, char *out, size_t size);

#endif
