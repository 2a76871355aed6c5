/* SPDX-License-Identifier: Apache-2.0
 * Barriers of a CTA: bar, barrier with sync, arrive, red. Threads are counted; lanes of a warp that
 * arrives and that exited or never existed count with it, as the hardware counts whole warps. */
#include "evaluator/ptxvm/lanes.h"

#include <string.h>

enum { BAR_SYNC, BAR_ARRIVE, BAR_POPC, BAR_AND, BAR_OR };

/* ---- completion ---- */

static bool is_complete(const struct cta *c, const struct barrier *b)
{
    uint32_t threads = b->extra;
    bool all = true;
    for (uint32_t i = 0; i < c->warp_count; i++) {
        const struct warp *w = &c->warps[i];
        all &= (w->live & ~b->arrived[i]) == 0;
        if (b->arrived[i])
            threads += vm_count(b->arrived[i] | ~w->live);
    }
    return b->expected ? threads >= b->expected : all;
}

static uint32_t result_of(const struct barrier *b, uint32_t kind)
{
    return kind == BAR_POPC ? b->popc : kind == BAR_AND ? b->and_value : b->or_value;
}

static void complete(struct cta *c, uint32_t number)
{
    struct barrier *b = &c->barriers[number];
    for (uint32_t i = 0; i < c->warp_count; i++)
        for (int k = 0; k < c->warps[i].group_count; k++) {
            struct group *g = &c->warps[i].groups[k];
            if (!g->mask || g->wait != WAIT_BARRIER || g->wait_for != number)
                continue;
            g->wait = WAIT_NONE;
            g->resumed = true;
            g->result = result_of(b, g->pc->aux);
        }
    memset(b, 0, sizeof *b);
    c->cluster->impatience = 0;
}

/* The cluster's barrier is complete when it is so in every CTA. */
static void cluster_complete(struct cluster *k)
{
    for (uint32_t i = 0; i < k->count; i++)
        if (!is_complete(k->ctas[i], &k->ctas[i]->barriers[VM_BARRIER_CLUSTER]))
            return;
    for (uint32_t i = 0; i < k->count; i++)
        complete(k->ctas[i], VM_BARRIER_CLUSTER);
}

void barrier_recheck(struct cta *c)
{
    for (uint32_t i = 0; c->live_warps && i < VM_BARRIER_CLUSTER; i++)
        if (c->barriers[i].active && is_complete(c, &c->barriers[i]))
            complete(c, i);
    cluster_complete(c->cluster);
}

/* ---- arrival ---- */

static bool arrive(struct warp *w, const struct op *op, uint32_t exec, uint32_t number,
                   uint32_t expected)
{
    struct barrier *b = &w->cta->barriers[number];
    if (b->active && b->expected != expected) {
        stop_at(w, op, __builtin_ctz(exec), PTXVM_FAULT, PTXVM_BAD_BARRIER,
                "barrier %u is used with %u and with %u threads", number, b->expected, expected);
        return false;
    }
    uint32_t value = w->preds[op->b] & exec;
    if (!b->active)
        b->and_value = 1;
    b->active = true;
    b->expected = expected;
    b->extra += vm_count(b->arrived[w->index] & exec);
    b->arrived[w->index] |= exec;
    b->popc += vm_count(value);
    b->or_value |= value != 0;
    b->and_value &= value == exec;
    return true;
}

/* Value that all lanes must share, or a fault. */
static bool uniform(struct warp *w, const struct op *op, uint32_t exec, uint32_t ref,
                    uint32_t *value)
{
    const uint32_t *row = vm_row(w, ref);
    int first = __builtin_ctz(exec);
    EACH_LANE if (ACTIVE(exec, i) && row[i] != row[first])
    {
        stop_at(w, op, i, PTXVM_FAULT, PTXVM_BAD_BARRIER,
                "lanes of a warp name different barriers or counts (%u and %u)", row[first],
                row[i]);
        return false;
    }
    *value = row[first];
    return true;
}

static const struct op *finish(struct warp *w, const struct op *op, uint32_t exec)
{
    uint32_t result = w->group->result;
    w->group->resumed = false;
    if (op->aux == BAR_POPC) {
        uint32_t *d = vm_row(w, op->d);
        EACH_LANE if (ACTIVE(exec, i)) d[i] = result;
    } else if (op->aux == BAR_AND || op->aux == BAR_OR) {
        vm_set_pred(w, op->d, exec, result ? VM_FULL : 0);
    }
    return op + 1;
}

/* a: number, c: threads (0: all), b: predicate of red. */
HANDLER(barrier)
{
    uint32_t number, expected;
    if (w->group->resumed)
        return finish(w, op, exec);
    if (!uniform(w, op, exec, op->a, &number) || !uniform(w, op, exec, op->c, &expected))
        return NULL;
    if (number >= VM_BARRIER_CLUSTER || expected % VM_LANES || expected > VM_MAX_THREADS ||
        (op->aux == BAR_ARRIVE && !expected))
        return stop_at(
            w, op, __builtin_ctz(exec), PTXVM_FAULT, PTXVM_BAD_BARRIER,
            "barrier %u for %u threads: barriers are 0 to %d, threads a multiple of %d up to %d",
            number, expected, VM_BARRIER_CLUSTER - 1, VM_LANES, VM_MAX_THREADS);
    if (!arrive(w, op, exec, number, expected))
        return NULL;
    if (op->aux != BAR_ARRIVE) {
        group_narrow(w, op, exec);
        w->group->pc = op;
        w->group->wait = WAIT_BARRIER;
        w->group->wait_for = number;
        w->event = EVENT_BLOCK;
        w->next = op;
    }
    if (is_complete(w->cta, &w->cta->barriers[number]))
        complete(w->cta, number);
    return op->aux == BAR_ARRIVE ? op + 1 : NULL;
}

/* ---- bar.warp.sync ---- */

static void nothing(struct warp *w, const struct op *op, uint32_t exec)
{
    (void)w, (void)op, (void)exec;
}

HANDLER(warp_sync)
{
    return group_together(w, op, exec, op->a, nothing);
}

/* The cluster barrier: arrive and wait apart, all threads of all CTAs. */
HANDLER(cluster_arrive)
{
    if (!arrive(w, op, exec, VM_BARRIER_CLUSTER, 0))
        return NULL;
    cluster_complete(w->cta->cluster);
    return op + 1;
}

HANDLER(cluster_wait)
{
    const struct barrier *b = &w->cta->barriers[VM_BARRIER_CLUSTER];
    if (w->group->resumed || !b->active || !(b->arrived[w->index] & exec)) {
        w->group->resumed = false;
        return op + 1;
    }
    group_narrow(w, op, exec);
    w->group->pc = op;
    w->group->wait = WAIT_BARRIER;
    w->group->wait_for = VM_BARRIER_CLUSTER;
    w->event = EVENT_BLOCK;
    w->next = op;
    return NULL;
}

/* ---- decoding ---- */

static int kind_of(const struct decoder *d)
{
    if (form_has(d, PTX_WORD_arrive))
        return BAR_ARRIVE;
    if (form_has(d, PTX_WORD_red))
        return form_has(d, PTX_WORD_popc) ? BAR_POPC : form_has(d, PTX_WORD_and) ? BAR_AND : BAR_OR;
    return BAR_SYNC;
}

static bool decode_barrier(struct decoder *d, const struct row *row)
{
    int kind = kind_of(d);
    bool reduces = kind >= BAR_POPC;
    uint32_t n = d->instr->operand_count, at = reduces ? 1 : 0, last = reduces ? n - 1 : n;
    if (n < (reduces ? 3u : 1u) || last - at > 2 || last <= at)
        return decode_error(d, "%u operands", n);
    uint32_t number = decode_source(d, &d->operands[at], PTX_TYPE_u32);
    uint32_t count = !number          ? REF_NONE
                     : last - at == 2 ? decode_source(d, &d->operands[at + 1], PTX_TYPE_u32)
                                      : decode_constant(d, 0, 0, WIDTH_32);
    uint32_t pred =
        reduces && count ? decode_pred(d, &d->operands[n - 1]) : REF_FIXED(VM_PRED_FALSE);
    uint32_t result = !reduces || !pred  ? REF_NONE
                      : kind == BAR_POPC ? decode_result(d, &d->operands[0], PTX_TYPE_u32)
                                         : decode_pred_result(d, &d->operands[0]);
    if (!count || !pred || (reduces && !result))
        return false;
    struct op *op = decode_emit(d, row->run);
    if (!op)
        return false;
    op->a = number, op->b = pred, op->c = count, op->d = result;
    op->aux = (uint32_t)kind;
    return true;
}

static bool decode_warp_sync(struct decoder *d, const struct row *row)
{
    uint32_t mask =
        decode_count_is(d, 1) ? decode_source(d, &d->operands[0], PTX_TYPE_b32) : REF_NONE;
    struct op *op = mask ? decode_emit(d, row->run) : NULL;
    if (op)
        op->a = mask;
    return op != NULL;
}

static bool decode_cluster(struct decoder *d, const struct row *row)
{
    struct op *op = decode_emit(d, row->run);
    if (op)
        op->b = REF_FIXED(VM_PRED_FALSE);
    return op != NULL;
}

const struct row rows_barrier[] = {
    {"bar", NULL, barrier, decode_barrier, 0},
    {"barrier", NULL, barrier, decode_barrier, 0},
    {"bar.warp.sync", NULL, warp_sync, decode_warp_sync, 0},
    {"barrier.cluster.arrive", NULL, cluster_arrive, decode_cluster, 0},
    {"barrier.cluster.wait", NULL, cluster_wait, decode_cluster, 0},
    ROWS_END,
};
