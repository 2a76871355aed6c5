/* SPDX-License-Identifier: Apache-2.0
 * The page: every file of <home>/static and its folders, and the data of <home>/published, read
 * into memory at start and compressed there once. A request can only name an entry of this table,
 * so no path leads anywhere else. The addresses of the page's views all give index.html: the page
 * shows what its address says. */
#ifndef SERVER_FILES_H
#define SERVER_FILES_H

#include "server/request.h"

struct files;

/* A missing folder gives an empty table: the API works without the page. */
struct files *files_load(const char *home, struct fault *f);
void files_free(struct files *files);

/* Is there a file for this address, or a view of the page? */
bool files_has(const struct files *files, const struct url *u);
/* Does a browser ask for a page at an address outside /v1 that is nothing? files_get answers the page
 * with 404, which says so to people; programs get a problem. */
bool files_wants_page(const struct request *r);
handler_fn files_get;

#endif
