/* SPDX-License-Identifier: Apache-2.0
 * Answers that many ask for and that only an event can change, such as boards. An entry is good
 * until the hub hears of any event, and never for long: what the hub cannot hear shows after
 * CACHE_MS. */
#ifndef SERVER_CACHE_H
#define SERVER_CACHE_H

#include "server/request.h"

struct cache;

struct cache *cache_new(void);
void cache_free(struct cache *c);

/* Fills r->out if there is a good answer to this route and query. Public answers only. */
bool cache_answer(struct request *r);
/* Keeps the 200 answer in r->out for others. */
void cache_keep(struct request *r);

#endif
