/* SPDX-License-Identifier: Apache-2.0
 * Answers that many ask for and that only an event can change, such as boards: those of routes with
 * `cached`. An entry is good until the hub hears of any event, and never for long: what the hub
 * cannot hear shows after CACHE_MS. Kept as they are sent, compressed or not, so that the HTTP
 * thread can answer at once. */
#ifndef SERVER_CACHE_H
#define SERVER_CACHE_H

#include "server/request.h"

struct cache;

struct cache *cache_new(void);
void cache_free(struct cache *c);

/* Fills r->out (200, or 304 for what the client has) if there is a good answer to this route and
 * query. Only what anybody may see is kept. r->ticket must be set. */
bool cache_answer(struct request *r);
/* Gives the finished 200 answer in r->out its entity tag, compresses it where that is worth it,
 * keeps it for others, and turns it into 304 for a client that has it. */
void cache_finish(struct request *r);

#endif
