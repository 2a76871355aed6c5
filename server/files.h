/* SPDX-License-Identifier: Apache-2.0
 * The page: every file of <home>/static, read into memory at start. A request can only name an
 * entry of this table, so no path leads anywhere else. */
#ifndef SERVER_FILES_H
#define SERVER_FILES_H

#include "server/request.h"

struct files;

/* A missing folder gives an empty table: the API works without the page. */
struct files *files_load(const char *home, struct fault *f);
void files_free(struct files *files);

/* Is there a file for this address ("/" is index.html)? */
bool files_has(const struct files *files, const struct url *u);
handler_fn files_get;

#endif
