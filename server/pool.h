/* SPDX-License-Identifier: Apache-2.0
 * Database threads: a bounded queue of requests and a few threads, each with a connection of its
 * own, that run handlers. The only place where a request meets SQL. */
#ifndef SERVER_POOL_H
#define SERVER_POOL_H

#include "server/request.h"
#include "server/service.h"

struct pool *pool_start(const struct service *service, struct fault *f);
/* Queues a request: it belongs to the pool until its `done`. False if the queue is full. */
bool pool_submit(struct pool *p, struct request *r);
/* Queues a parked request again: never refused, since it was admitted before. */
void pool_requeue(struct pool *p, struct request *r);
/* Ends the threads after the work in hand. No request may be queued any more. NULL is fine. */
void pool_stop(struct pool *p);

struct pool_state {
    size_t queued, threads, busy, connected;
};
struct pool_state pool_state(struct pool *p);

#endif
