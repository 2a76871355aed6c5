/* SPDX-License-Identifier: Apache-2.0
 * Divergence. Lanes that stand at different places are groups. The group with the deepest frame and
 * then the lowest address runs, until it reaches another group and they merge: for structured code
 * that reconverges at the post-dominator. A group whose slice runs out lets the one that waited
 * longest go first, so every lane makes progress, even while another spins. */
#include "evaluator/ptxvm/vm.h"

void group_split(struct warp *w, uint32_t mask, struct frame *frame, const struct op *pc)
{
    int i = 0;
    while (i < w->group_count && (w->groups[i].mask || &w->groups[i] == w->group))
        i++;
    if (i == w->group_count)
        w->group_count++;
    w->groups[i] = (struct group){.frame = frame, .pc = pc, .mask = mask, .last_run = w->turn};
    w->group->mask &= ~mask;
}

void group_narrow(struct warp *w, const struct op *op, uint32_t exec)
{
    uint32_t rest = w->group->mask & ~exec;
    if (rest)
        group_split(w, rest, w->frame, op + 1);
    w->mask = exec;
}

static bool is_ready(const struct group *g)
{
    return g->mask && g->wait == WAIT_NONE;
}

static bool same_place(const struct group *a, const struct group *b)
{
    return a->frame == b->frame && a->pc == b->pc && a->resumed == b->resumed &&
           a->impatient == b->impatient;
}

/* Merges ready groups at the same place and drops empty ones. */
static void compact(struct warp *w)
{
    int n = 0;
    for (int i = 0; i < w->group_count; i++) {
        struct group *g = &w->groups[i];
        if (!g->mask)
            continue;
        int k = 0;
        while (k < n && !(is_ready(g) && is_ready(&w->groups[k]) && same_place(g, &w->groups[k])))
            k++;
        if (k < n)
            w->groups[k].mask |= g->mask;
        else
            w->groups[n++] = *g;
    }
    w->group_count = n;
}

static bool before(const struct warp *w, const struct group *a, const struct group *b)
{
    if (w->expired)
        return a->last_run < b->last_run;
    if (a->frame->depth != b->frame->depth)
        return a->frame->depth > b->frame->depth;
    if (a->frame != b->frame)
        return a->last_run < b->last_run;
    return a->pc < b->pc;
}

static void enter(struct warp *w, struct group *g)
{
    w->group = g;
    w->mask = g->mask;
    w->frame = g->frame;
    w->preds = g->frame->preds;
    w->base[0] = g->frame->rows;
    g->last_run = ++w->turn;
}

bool group_pick(struct warp *w)
{
    if (w->group_count > 1 || (w->group_count == 1 && !w->groups[0].mask))
        compact(w);
    struct group *best = NULL;
    for (int i = 0; i < w->group_count; i++)
        if (is_ready(&w->groups[i]) && (!best || before(w, &w->groups[i], best)))
            best = &w->groups[i];
    w->expired = false;
    if (!best)
        return false;
    enter(w, best);
    return true;
}

const struct op *group_fence(const struct warp *w)
{
    const struct op *fence = NULL;
    for (int i = 0; i < w->group_count; i++) {
        const struct group *g = &w->groups[i];
        bool ahead = g != w->group && is_ready(g) && g->frame == w->frame && g->pc > w->group->pc;
        if (ahead && (!fence || g->pc < fence))
            fence = g->pc;
    }
    return fence;
}

/* Wakes the groups that wait for `members` if all live ones of these are parked. */
static void release(struct warp *w, uint32_t members)
{
    uint32_t here = 0;
    for (int i = 0; i < w->group_count; i++)
        if (w->groups[i].wait == WAIT_WARP && w->groups[i].wait_for == members)
            here |= w->groups[i].mask;
    if (members & w->live & ~here)
        return;
    for (int i = 0; i < w->group_count; i++)
        if (w->groups[i].wait == WAIT_WARP && w->groups[i].wait_for == members) {
            w->groups[i].wait = WAIT_NONE;
            w->groups[i].resumed = true;
        }
}

bool group_meet(struct warp *w, const struct op *op, uint32_t exec, uint32_t members)
{
    if (w->group->resumed) {
        w->group->resumed = false;
        return true;
    }
    w->group->wait_for = members;
    if (!(members & w->live & ~exec))
        return true;
    group_narrow(w, op, exec);
    w->group->wait = WAIT_WARP;
    w->group->pc = op;
    w->event = EVENT_BLOCK;
    w->next = op;
    release(w, members);
    return false;
}

void group_uncount(struct warp *w, const struct op *op, uint32_t lanes)
{
    w->worker->tallies[op->id].threads -= vm_count(lanes);
}

const struct op *group_together(struct warp *w, const struct op *op, uint32_t exec, uint32_t mask,
                                void (*run)(struct warp *, const struct op *, uint32_t))
{
    const uint32_t *masks = vm_row(w, mask);
    uint32_t members = masks[__builtin_ctz(exec)], same = 0;
    for (int i = 0; i < VM_LANES; i++)
        same |= (uint32_t)(masks[i] == members) << i;
    same &= exec;
    if (same != exec) {
        group_split(w, exec & ~same, w->frame, op);
        group_uncount(w, op, exec & ~same);
        w->mask = w->group->mask;
    }
    if (!group_meet(w, op, same, members))
        return NULL;
    run(w, op, same);
    if (same == exec)
        return op + 1;
    w->event = EVENT_RESCHEDULE;
    w->next = op + 1;
    return NULL;
}

void group_recheck(struct warp *w)
{
    for (int i = 0; i < w->group_count; i++)
        if (w->groups[i].mask && w->groups[i].wait == WAIT_WARP)
            release(w, w->groups[i].wait_for);
}
