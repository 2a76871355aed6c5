// SPDX-License-Identifier: Apache-2.0
#include "evaluator/cuda/keeper_spares.h"

#include <poll.h>

#include "core/log.h"

enum { READY_MS = 40 * 1000 };

static const char *const roles[] = {[KEEPER_RUNNER] = "runner", [KEEPER_VERIFIER] = "verifier"};

void keeper_spares_init(struct keeper_spares *s, int ordinal)
{
    *s = (struct keeper_spares){.ordinal = ordinal};
}

void keeper_spares_stop(struct keeper_spares *s)
{
    for (int i = 0; i < KEEPER_ROLES * KEEPER_SPARES; i++)
        keeper_child_stop(&s->children[i / KEEPER_SPARES][i % KEEPER_SPARES]);
}

static enum err start(struct keeper_child *c, enum keeper_role role, int ordinal, struct fault *f)
{
    if (c->pid && keeper_child_alive(c))
        return ERR_NONE;
    keeper_child_stop(c);
    return keeper_child_start(c, roles[role], ordinal, f);
}

void keeper_spares_start(struct keeper_spares *s)
{
    for (int i = 0; i < KEEPER_ROLES * KEEPER_SPARES; i++) {
        enum keeper_role role = (enum keeper_role)(i / KEEPER_SPARES);
        struct fault f = {0};
        if (start(&s->children[role][i % KEEPER_SPARES], role, s->ordinal, &f) != ERR_NONE)
            log_warn("cannot start a spare", "role=%s detail=\"%s\"", roles[role], f.detail);
    }
}

void keeper_spares_settle(struct keeper_spares *s, const struct keeper_watch *watch)
{
    for (int i = 0; i < KEEPER_ROLES * KEEPER_SPARES; i++) {
        struct keeper_child *c = &s->children[i / KEEPER_SPARES][i % KEEPER_SPARES];
        struct keeper_end end = {0};
        if (c->pid && !keeper_child_ready(c, READY_MS, watch, &end) &&
            end.verdict != VERDICT_CANCELLED)
            keeper_child_stop(c);
        keeper_end_release(&end);
    }
}

/* Has it said that it is ready? Does not wait; one that will never be is done away with. */
static bool is_ready(struct keeper_child *c)
{
    struct keeper_end end = {0};
    struct pollfd said = {.fd = c->fd, .events = POLLIN};
    if (!keeper_child_alive(c) || (!c->ready && poll(&said, 1, 0) <= 0))
        return false;
    bool ready = keeper_child_ready(c, READY_MS, NULL, &end);
    if (!ready) {
        log_warn("a spare did not start", "detail=\"%s\"", end.detail);
        keeper_child_stop(c);
    }
    keeper_end_release(&end);
    return ready;
}

bool keeper_spares_ready(struct keeper_spares *s)
{
    bool ready = true;
    for (int i = 0; ready && i < KEEPER_ROLES * KEEPER_SPARES; i++) {
        struct keeper_child *c = &s->children[i / KEEPER_SPARES][i % KEEPER_SPARES];
        ready = is_ready(c) || !c->pid;
    }
    return ready;
}

/* One that is ready, or else one that has been started, or else any. */
static struct keeper_child *choose(struct keeper_spares *s, enum keeper_role role)
{
    struct keeper_child *best = &s->children[role][0];
    for (int i = 0; i < KEEPER_SPARES; i++) {
        struct keeper_child *c = &s->children[role][i];
        if (is_ready(c))
            return c;
        if (!best->pid)
            best = c;
    }
    return best;
}

bool keeper_spares_take(struct keeper_spares *s, enum keeper_role role,
                        const struct keeper_watch *watch, struct keeper_child *out,
                        struct keeper_end *end)
{
    struct fault f = {0};
    struct keeper_child *c = choose(s, role);
    if (start(c, role, s->ordinal, &f) != ERR_NONE)
        return keeper_end_set(end, VERDICT_INFRA_ERROR, "%s", f.detail);
    if (!keeper_child_ready(c, READY_MS, watch, end)) {
        keeper_child_stop(c);
        return false;
    }
    *out = *c;
    *c = (struct keeper_child){.fd = -1, .print = -1};
    return true;
}
