/* SPDX-License-Identifier: Apache-2.0
 * One request on a connection: from its first line to its answer. With http.c all that knows
 * libmicrohttpd. */
#ifndef SERVER_EXCHANGE_H
#define SERVER_EXCHANGE_H

#include <microhttpd.h>

#include "server/service.h"
#include "server/sockets.h"

struct exchange;

struct exchange_counts {
    atomic_size_t suspended;  /* connections that nobody may close */
    atomic_size_t active;     /* complete requests whose answers are not yet sent */
    atomic_size_t body_bytes; /* of bodies in memory, all requests together */
};

/* NULL when out of memory. */
struct exchange *exchange_new(const struct service *service, struct exchange_counts *counts,
                              struct peer *peer, struct MHD_Connection *connection,
                              const char *target);
void exchange_free(struct exchange *x); /* NULL is fine */

/* The library calls this with the headers, with every piece of the body, at its end, and after each
 * resume. */
enum MHD_Result exchange_access(struct exchange *x, const char *method, const char *data,
                                size_t *size);

#endif
