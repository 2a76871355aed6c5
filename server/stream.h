/* SPDX-License-Identifier: Apache-2.0
 * Event streams: what was said about a submission, copied to everybody who listens. One query
 * serves all streams that want a look. Knows nothing of HTTP but how to suspend and resume what
 * sends the bytes. */
#ifndef SERVER_STREAM_H
#define SERVER_STREAM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/db/store.h"

struct streams;
struct stream;

/* `wake(arg)` is called when the thread that feeds should look at once. */
struct streams *streams_new(void (*wake)(void *arg), void *arg);
/* None may be open. NULL is fine. */
void streams_free(struct streams *all);

/* A stream of the events of one submission after event `after`, for one client. `opening` (may be
 * empty) is sent first. `last`: end after the opening. NULL with ERR_BUSY or ERR_DRAINING. Free
 * with stream_close. */
struct stream *stream_open(struct streams *all, const char *topic, int64_t after,
                           const uint8_t address[16], const char *opening, bool last,
                           struct fault *f);
void stream_close(struct stream *s);

/* How the HTTP side stops and restarts the connection of a stream. */
struct stream_hooks {
    void (*suspend)(void *connection);
    void (*resume)(void *connection);
    void *connection;
};
void stream_attach(struct stream *s, const struct stream_hooks *hooks);

enum { STREAM_END = -1 };
/* Copies at most `max` bytes. 0: nothing now, and the connection was suspended; STREAM_END: all is
 * said. */
ssize_t stream_read(struct stream *s, char *out, size_t max);

/* ---- for the thread that feeds ---- */

/* Something happened to a topic (NULL: perhaps to any): its streams want a look. */
void streams_notice(struct streams *all, const char *topic);
/* Looks and delivers. `db` is asked only if some stream wants a look. */
enum err streams_feed(struct streams *all, struct db *db, struct fault *f);
/* Does any stream want a look now? */
bool streams_hungry(struct streams *all);
/* A comment on those that were silent for long: it finds out who has left. */
void streams_beat(struct streams *all);
/* The earlier of `due_ms` and the time (now_ms) at which some stream needs attention. */
int64_t streams_due(struct streams *all, int64_t due_ms);
/* Ends all with `event: bye`, and those still to come. */
void streams_drain(struct streams *all);
size_t streams_count(struct streams *all);

#endif
