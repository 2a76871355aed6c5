/* SPDX-License-Identifier: Apache-2.0
 * Takes back what dead workers held, so that a job is not "running" for ever when no worker is left
 * to do it. Called by main between signals; workers do the same, any number at once. */
#ifndef SERVER_REAPER_H
#define SERVER_REAPER_H

#include <stdint.h>

#include "server/service.h"

struct reaper {
    const struct config *config; /* borrowed */
    struct db *db;               /* NULL until the first sweep and after an outage */
    int64_t due_ms;              /* next sweep, of now_ms() */
};

/* The first sweep is a lease away: after a restart of everything, leases look lost that are not. */
void reaper_init(struct reaper *r, const struct config *config);
/* Sweeps if it is due. Returns the milliseconds until the next sweep. */
int reaper_turn(struct reaper *r);
void reaper_release(struct reaper *r);

#endif
