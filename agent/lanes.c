// SPDX-License-Identifier: Apache-2.0
#include "agent/lanes.h"

enum { MINUTE_MS = 60000 };

void lane_init(struct lane *l, const struct provider *p)
{
    *l = (struct lane){.provider = p};
    snprintf(l->name, sizeof(l->name), "llm/%s", p->name);
}

int64_t lane_opens(const struct lane *l)
{
    return l->next_ms > l->paused_ms ? l->next_ms : l->paused_ms;
}

bool lane_open(const struct lane *l, int64_t now)
{
    return l->running < l->provider->concurrency && lane_opens(l) <= now;
}

/* A bucket of one call that fills within a minute's share: calls are that far apart, and one that
 * came a little late does not make all others late. */
void lane_take(struct lane *l, int64_t now)
{
    l->running++;
    if (!l->provider->requests_per_minute)
        return;
    int64_t share = MINUTE_MS / l->provider->requests_per_minute;
    l->next_ms = (l->next_ms > now - share ? l->next_ms : now) + share;
}

void lane_leave(struct lane *l)
{
    l->running--;
}

int64_t lane_busy(struct lane *l, int64_t asked_s, int64_t now)
{
    int64_t pause = asked_s < LANE_ASKED_MAX_S ? asked_s * 1000 : LANE_ASKED_MAX_S * 1000;
    bool anew = now >= l->paused_ms;
    if (asked_s <= 0) {
        int doublings = l->pauses < 16 ? l->pauses : 16;
        pause = (int64_t)LANE_PAUSE_FIRST_MS << doublings;
        pause = pause < LANE_PAUSE_MAX_MS ? pause : LANE_PAUSE_MAX_MS;
    }
    l->pauses += anew;
    if (!anew && asked_s <= 0) /* the others were told the same */
        return l->paused_ms - now;
    if (now + pause > l->paused_ms)
        l->paused_ms = now + pause;
    return pause;
}

void lane_well(struct lane *l)
{
    l->pauses = 0;
}
