/* SPDX-License-Identifier: Apache-2.0
 * Everything that waits: parked requests, and the feeding of event streams. One thread and one
 * LISTEN connection per process, however many wait. A notification is a hint that saves time; the
 * truth is read again every few seconds, jittered. Nothing that waits holds a database thread or an
 * HTTP thread. */
#ifndef SERVER_HUB_H
#define SERVER_HUB_H

#include <stdbool.h>
#include <stdint.h>

#include "server/request.h"
#include "server/service.h"
#include "server/stream.h"

struct hub *hub_start(const struct service *service, struct fault *f);
/* Ends every wait: parked requests run a last time, streams say `event: bye` and end. */
void hub_drain(struct hub *h);
/* Ends the thread. Nothing may be parked or streaming any more. NULL is fine. */
void hub_stop(struct hub *h);

/* Where the hub stands in what it hears. A request notes it before it reads the tables, so that
 * what is said between its reading and its parking is not lost. */
uint64_t hub_ticket(struct hub *h);
/* Does the hub hear what happens? Costs no lock. */
bool hub_listens(struct hub *h);
/* Takes a request that asked for it (request_park) and queues it again when its topic moves, when
 * its time for a look has come, or when its wait is over. */
void hub_park(struct hub *h, struct request *r);
/* Where streams are opened. Borrowed. */
struct streams *hub_streams(struct hub *h);

struct hub_state {
    size_t parked, streams;
    bool listening;
};
struct hub_state hub_state(struct hub *h);

#endif
