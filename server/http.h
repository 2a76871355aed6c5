/* SPDX-License-Identifier: Apache-2.0
 * The HTTP side: connections, their limits and sweeps, start and stop. exchange.h is one request on
 * one of them. */
#ifndef SERVER_HTTP_H
#define SERVER_HTTP_H

#include "server/service.h"

struct http;

/* Binds (searching for a free port if asked to) and begins to answer. `url` gets the address. */
enum { HTTP_URL = 128 };
struct http *http_start(const struct service *service, char url[HTTP_URL], struct fault *f);
/* Stops accepting; connections that are open go on. */
void http_quiesce(struct http *h);
/* Waits at most timeout_ms until every answer is sent. False if some connection is still suspended:
 * the daemon must not be stopped then. */
bool http_settle(struct http *h, int timeout_ms);
/* Closes what is open and frees everything. NULL is fine. */
void http_stop(struct http *h);
size_t http_connections(const struct http *h);

#endif
