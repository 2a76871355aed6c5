/* SPDX-License-Identifier: Apache-2.0
 * One lane of the queue for each provider, and whether a call of it may begin now: its calls under
 * way, its calls per minute, and the pauses it asked for. Pure; times are now_ms(). */
#ifndef AGENT_LANES_H
#define AGENT_LANES_H

#include "agent/providers.h"
#include "core/buf.h"

enum {
    LANE_NAME = LIMIT_NAME + 5,
    LANE_PAUSE_FIRST_MS = 5000,
    LANE_PAUSE_MAX_MS = 300000, /* of our own choice */
    LANE_ASKED_MAX_S = 600,     /* as a provider may ask for */
};

struct lane {
    const struct provider *provider;
    char name[LANE_NAME]; /* "llm/NAME" */
    int64_t running;      /* calls under way */
    int64_t next_ms;      /* no call before, for the sake of calls per minute */
    int64_t paused_ms;    /* nor before this, since the provider was busy */
    int pauses;           /* in a row */
};

void lane_init(struct lane *l, const struct provider *p);
/* May one more call begin? */
bool lane_open(const struct lane *l, int64_t now);
/* When it will be open, calls under way aside; <= now: it is. */
int64_t lane_opens(const struct lane *l);
/* A call begins; it ends with lane_leave(). */
void lane_take(struct lane *l, int64_t now);
void lane_leave(struct lane *l);
/* The provider is busy: how long its calls wait now, in ms. What it asks for (0: nothing), else 5
 * s, then twice as long each time until lane_well(). Calls that were under way together count as
 * one. */
int64_t lane_busy(struct lane *l, int64_t asked_s, int64_t now);
void lane_well(struct lane *l);

#endif
