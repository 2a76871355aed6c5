// SPDX-License-Identifier: Apache-2.0
#include "evaluator/cuda/keeper_spares.h"

#include "core/log.h"

enum { READY_MS = 40 * 1000 };

static const char *const roles[] = {[KEEPER_RUNNER] = "runner", [KEEPER_VERIFIER] = "verifier"};

void keeper_spares_init(struct keeper_spares *s, int ordinal)
{
    *s = (struct keeper_spares){.ordinal = ordinal};
}

void keeper_spares_stop(struct keeper_spares *s)
{
    for (int i = 0; i < KEEPER_ROLES; i++)
        keeper_child_stop(&s->children[i]);
}

static enum err start(struct keeper_spares *s, enum keeper_role role, struct fault *f)
{
    struct keeper_child *c = &s->children[role];
    if (c->pid && keeper_child_alive(c))
        return ERR_NONE;
    keeper_child_stop(c);
    return keeper_child_start(c, roles[role], s->ordinal, f);
}

void keeper_spares_start(struct keeper_spares *s)
{
    struct fault f = {0};
    for (int i = 0; i < KEEPER_ROLES; i++)
        if (start(s, (enum keeper_role)i, &f) != ERR_NONE)
            log_warn("cannot start a spare", "role=%s detail=\"%s\"", roles[i], f.detail);
}

void keeper_spares_settle(struct keeper_spares *s, const struct keeper_watch *watch)
{
    for (int i = 0; i < KEEPER_ROLES; i++) {
        struct keeper_end end = {0};
        if (s->children[i].pid && !keeper_child_ready(&s->children[i], READY_MS, watch, &end) &&
            end.verdict != VERDICT_CANCELLED)
            keeper_child_stop(&s->children[i]);
        keeper_end_release(&end);
    }
}

bool keeper_spares_ready(struct keeper_spares *s)
{
    bool ready = true;
    for (int i = 0; i < KEEPER_ROLES; i++) {
        struct keeper_child *c = &s->children[i];
        struct keeper_end end = {0};
        ready =
            ready && (!c->pid || !keeper_child_alive(c) || keeper_child_ready(c, 0, NULL, &end));
        keeper_end_release(&end);
    }
    return ready;
}

bool keeper_spares_take(struct keeper_spares *s, enum keeper_role role,
                        const struct keeper_watch *watch, struct keeper_child *out,
                        struct keeper_end *end)
{
    struct fault f = {0};
    struct keeper_child *c = &s->children[role];
    if (start(s, role, &f) != ERR_NONE)
        return keeper_end_set(end, VERDICT_INFRA_ERROR, "%s", f.detail);
    if (!keeper_child_ready(c, READY_MS, watch, end)) {
        keeper_child_stop(c);
        return false;
    }
    *out = *c;
    *c = (struct keeper_child){.fd = -1, .print = -1};
    return true;
}
