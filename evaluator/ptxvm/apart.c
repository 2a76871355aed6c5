/* SPDX-License-Identifier: Apache-2.0
 * Borrows the lanes of other frames for one op: what the running frame has in their columns is put
 * aside (a lane may have called from it), theirs is laid there, and results go back to them. */
#include "evaluator/ptxvm/apart.h"

enum { APART_PARTS = 8 };

/* What lies in the columns of one part: values by lane, bit i of a predicate in [i]. */
typedef uint64_t columns[VM_LANES];

static bool is_there(const struct apart_part *p)
{
    return p->ref || p->width != WIDTH_PRED;
}

/* References to constants are odd: these are the same in all frames. */
static bool is_constant(const struct apart_part *p)
{
    return p->width != WIDTH_PRED && (p->ref & 1);
}

static uint64_t load(const struct frame *f, const struct apart_part *p, int lane)
{
    if (p->width == WIDTH_PRED)
        return f->preds[p->ref] >> lane & 1;
    const void *row = f->rows + p->ref;
    return p->width == WIDTH_64 ? ((const uint64_t *)row)[lane] : ((const uint32_t *)row)[lane];
}

static void store(struct frame *f, const struct apart_part *p, int lane, uint64_t value)
{
    void *row = f->rows + p->ref;
    if (p->width == WIDTH_PRED)
        f->preds[p->ref] = (f->preds[p->ref] & ~(UINT32_C(1) << lane)) | (uint32_t)value << lane;
    else if (p->width == WIDTH_64)
        ((uint64_t *)row)[lane] = value;
    else
        ((uint32_t *)row)[lane] = (uint32_t)value;
}

/* Frames by lane of the groups that have met at op, but in another frame; NULL elsewhere. */
static uint32_t find_apart(const struct warp *w, const struct op *op,
                           struct frame *frames[VM_LANES])
{
    uint32_t lanes = 0;
    for (int k = 0; k < w->group_count; k++) {
        const struct group *g = &w->groups[k];
        if (g == w->group || !g->resumed || g->pc != op || g->frame == w->frame ||
            g->wait_for != w->group->wait_for)
            continue;
        lanes |= g->mask;
        for (int i = 0; i < VM_LANES; i++)
            if (g->mask >> i & 1)
                frames[i] = g->frame;
    }
    return lanes;
}

static void go_on(struct warp *w, const struct op *op, uint32_t lanes)
{
    for (int k = 0; k < w->group_count; k++) {
        struct group *g = &w->groups[k];
        if (!(g->mask & lanes))
            continue;
        g->resumed = false;
        g->pc = op + 1;
    }
    w->worker->tallies[op->id].threads += vm_count(lanes);
}

static void run_with(struct warp *w, const struct op *op, uint32_t exec, apart_run_fn *run,
                     const struct apart_part *parts, uint32_t count)
{
    struct frame *frames[VM_LANES] = {NULL};
    columns aside[APART_PARTS];
    uint32_t lanes = find_apart(w, op, frames);
    for (uint32_t k = 0; k < count; k++)
        for (int i = 0; i < VM_LANES && is_there(&parts[k]) && !is_constant(&parts[k]); i++)
            if (frames[i])
                aside[k][i] = load(w->frame, &parts[k], i);
    for (uint32_t k = 0; k < count; k++)
        for (int i = 0; i < VM_LANES && is_there(&parts[k]) && !is_constant(&parts[k]); i++)
            if (frames[i] && !parts[k].is_result)
                store(w->frame, &parts[k], i, load(frames[i], &parts[k], i));
    run(w, op, exec | lanes);
    for (uint32_t k = 0; k < count; k++)
        for (int i = 0; i < VM_LANES && is_there(&parts[k]) && parts[k].is_result; i++)
            if (frames[i])
                store(frames[i], &parts[k], i, load(w->frame, &parts[k], i));
    for (uint32_t k = 0; k < count; k++)
        for (int i = 0; i < VM_LANES && is_there(&parts[k]) && !is_constant(&parts[k]); i++)
            if (frames[i])
                store(w->frame, &parts[k], i, aside[k][i]);
    go_on(w, op, lanes);
}

void apart_run(struct warp *w, const struct op *op, uint32_t exec, apart_run_fn *run,
               const struct apart_part *parts, uint32_t count)
{
    bool apart = false;
    for (int k = 0; k < w->group_count && w->group_count > 1; k++)
        apart |= w->groups[k].resumed && w->groups[k].pc == op && w->groups[k].frame != w->frame;
    if (apart && count <= APART_PARTS)
        run_with(w, op, exec, run, parts, count);
    else
        run(w, op, exec);
}
