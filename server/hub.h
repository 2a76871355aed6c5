/* SPDX-License-Identifier: Apache-2.0
 * Everything that waits: parked requests and event streams. One thread and one LISTEN connection per
 * process, however many wait. A notification is a hint that saves time; the truth is read again every few
 * seconds, jittered. Nothing that waits holds a database thread or an HTTP thread. */
#ifndef SERVER_HUB_H
#define SERVER_HUB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "server/request.h"
#include "server/service.h"

struct hub *hub_start(const struct service *service, struct fault *f);
/* Ends every wait: parked requests run a last time, streams say `event: bye` and end. */
void hub_drain(struct hub *h);
/* Ends the thread. Nothing may be parked or streaming any more. NULL is fine. */
void hub_stop(struct hub *h);

/* Where the hub stands in what it hears. A request notes it before it reads the tables, so that what is
 * said between its reading and its parking is not lost. */
uint64_t hub_ticket(struct hub *h);
/* Takes a request that asked for it (request_park) and queues it again when its topic moves, when its time
 * for a look has come, or when its wait is over. */
void hub_park(struct hub *h, struct request *r);

/* A stream of the events of one submission after event `after`, for one client. `opening` (may be empty)
 * is sent first. `last`: end after the opening. NULL with ERR_BUSY or ERR_DRAINING. Belongs to the HTTP side:
 * stream_close frees it. */
struct stream *stream_open(struct hub *h, const char *topic, int64_t after, const uint8_t address[16],
                           const char *opening, bool last, struct fault *f);
void stream_close(struct stream *s);

/* How the HTTP side stops and restarts the connection of a stream. */
struct stream_hooks {
    void (*suspend)(void *connection);
    void (*resume)(void *connection);
    void *connection;
};
void stream_attach(struct stream *s, const struct stream_hooks *hooks);

enum { STREAM_END = -1 };
/* Copies at most `max` bytes. 0: nothing now, and the connection was suspended; STREAM_END: all is said. */
ssize_t stream_read(struct stream *s, char *out, size_t max);

struct hub_state {
    size_t parked, streams;
    bool listening;
};
struct hub_state hub_state(struct hub *h);

#endif
