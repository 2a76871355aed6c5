/* SPDX-License-Identifier: Apache-2.0
 * Which board a request asks for, and its entries: the same for JSON, CSV and HTML. */
#ifndef SERVER_BOARD_H
#define SERVER_BOARD_H

#include "server/request.h"

/* The device that stands for `cpu` in results. */
#define BOARD_CPU_MODEL "ptxvm"

/* Reads the query and the board that it names into *document (kept by the request). With `fallback`
 * a query without problem and arch means the first ones of this installation. */
enum err board_read(struct request *r, bool fallback, struct board_filter *q, json_t **document);

#endif
