/* SPDX-License-Identifier: Apache-2.0
 * One connection that only listens. A notification is a hint: after every (re)connect the owner is
 * told to look at the tables again (`reset`), because what was sent in between is lost. Never
 * through a transaction pooler. */
#ifndef CORE_DB_LISTEN_H
#define CORE_DB_LISTEN_H

#include <stdbool.h>

#include "core/db/db.h"

/* Channels in use. Payloads: lane; job id; job id; submission id. */
#define CHANNEL_JOB_QUEUED "job_queued"
#define CHANNEL_JOB_CANCEL "job_cancel"
#define CHANNEL_JOB_DONE "job_done"
#define CHANNEL_SUBMISSION_EVENT "submission_event"

struct listener;

struct listen_hooks {
    void (*notified)(void *arg, const char *channel, const char *payload);
    void (*reset)(void *arg); /* connected again: anything may have been missed */
    void *arg;
};

/* `channels` is NULL-terminated and must outlive the listener. Does not connect yet. */
struct listener *listener_new(const struct db_options *o, const char *const *channels,
                              const struct listen_hooks *hooks);
void listener_free(struct listener *l);

/* For an own poll loop: the socket (-1 while down), and after poll() or a timeout the pump, which
 * reads what is there, calls the hooks, pings an idle connection and reconnects with backoff.
 * Returns the longest time in ms until it wants to be pumped again. */
int listener_socket(const struct listener *l);
int listener_pump(struct listener *l);

/* For a thread of its own: waits up to timeout_ms (or until `wake_fd`, if not -1, is readable),
 * pumps. */
void listener_wait(struct listener *l, int wake_fd, int timeout_ms);
bool listener_connected(const struct listener *l);

#endif
