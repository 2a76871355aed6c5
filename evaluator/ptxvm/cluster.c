/* SPDX-License-Identifier: Apache-2.0
 * Clusters: CTAs that run together on one host thread and see each other's shared memory. A launch
 * without clusters has clusters of one. */
#include "evaluator/ptxvm/vm.h"

enum {
    CLUSTER_BITS = 16,
    CLUSTER_STEPS = 1 << CLUSTER_BITS, /* warp instructions before the next CTA of a cluster */
    PATIENCE = 1000                    /* polls in vain before waiting counts as a deadlock */
};

/* Number of the CTA at place `rank` of cluster `index`, in the order of the grid. */
static uint64_t linear_of(const struct run *run, uint64_t index, uint32_t rank)
{
    uint64_t at[3], linear = 0;
    for (int i = 0; i < 3; i++) {
        uint64_t clusters = run->grid[i] / run->cluster[i];
        at[i] = index % clusters * run->cluster[i] + rank % run->cluster[i];
        index /= clusters;
        rank /= run->cluster[i];
    }
    for (int i = 2; i >= 0; i--)
        linear = linear * run->grid[i] + at[i];
    return linear;
}

struct cluster *cluster_new(struct worker *worker, uint64_t index)
{
    struct cluster *k = calloc(1, sizeof *k);
    if (!k)
        return NULL;
    const struct run *run = worker->run;
    for (uint32_t size = run->cluster[0] * run->cluster[1] * run->cluster[2]; k->count < size;) {
        struct cta *c = cta_new(worker, linear_of(run, index, k->count));
        if (!c) {
            cluster_free(k);
            return NULL;
        }
        c->cluster = k;
        c->rank = k->count;
        k->ctas[k->count++] = c;
    }
    return k;
}

void cluster_free(struct cluster *k)
{
    for (uint32_t i = 0; k && i < k->count; i++)
        cta_free(k->ctas[i]);
    free(k);
}

/* A CTA that is stuck may be woken by another, so the cluster is stuck only when none took a step.
 */
static enum cta_state one_round(struct cluster *k, uint64_t *steps)
{
    enum cta_state all = CTA_DONE;
    struct cta *first = k->ctas[0];
    uint64_t before = first->worker->steps;
    uint32_t begin = sched_draw(first, k->count);
    for (uint32_t i = 0; i < k->count; i++) {
        struct cta *c = k->ctas[(begin + i) % k->count];
        if (!c->live_warps)
            continue;
        enum cta_state state = cta_run(c, CLUSTER_STEPS >> sched_draw(first, CLUSTER_BITS));
        if (state == CTA_STOPPED)
            return state;
        if (state != CTA_DONE)
            all = CTA_RUNNING;
    }
    *steps = first->worker->steps - before;
    return all == CTA_RUNNING && *steps == 0 ? CTA_STUCK : all;
}

enum cta_state cluster_run(struct cluster *k, int64_t steps)
{
    if (k->count == 1)
        return cta_run(k->ctas[0], steps);
    for (uint64_t done = 0, more = 0; done < (uint64_t)steps; done += more) {
        enum cta_state state = one_round(k, &more);
        if (state != CTA_RUNNING)
            return state;
    }
    return CTA_RUNNING;
}

/* The hardware's try_wait says "not yet" after a while. A thread may do then what others, or it
 * itself, wait for. */
bool cluster_lose_patience(struct cluster *k)
{
    bool any = false;
    if (k->impatience++ == PATIENCE)
        return false;
    for (uint32_t i = 0; i < k->count; i++)
        for (uint32_t j = 0; j < k->ctas[i]->warp_count; j++) {
            struct warp *w = &k->ctas[i]->warps[j];
            for (int n = 0; n < w->group_count; n++)
                if (w->groups[n].mask && w->groups[n].wait == WAIT_MBARRIER) {
                    w->groups[n].wait = WAIT_NONE;
                    w->groups[n].impatient = any = true;
                }
        }
    return any;
}

void cluster_report_deadlock(struct cluster *k)
{
    struct buf text;
    struct warp *who = NULL;
    const struct group *at = NULL;
    buf_init(&text, PTXVM_DETAIL * 2);
    for (uint32_t i = 0; i < k->count; i++) {
        struct warp *w = NULL;
        const struct group *g = cta_describe_waits(k->ctas[i], &text, &w);
        if (g && !at)
            at = g, who = w;
    }
    const char *all = k->count > 1 ? "cluster" : "CTA";
    if (at)
        stop_at(who, at->pc, __builtin_ctz(at->mask), PTXVM_DEADLOCK, PTXVM_KIND_NONE,
                "every live warp of the %s waits%s", all, text.data ? text.data : "");
    else
        stop_run(k->ctas[0]->run, PTXVM_DEADLOCK, "no warp of a %s can go on", all);
    buf_release(&text);
}

struct cta *cluster_shared(struct cta *c, uint64_t *address)
{
    uint64_t window = *address >> VM_PEER_SHIFT;
    if (!window)
        return c;
    if (window > c->cluster->count)
        return NULL;
    *address &= (UINT64_C(1) << VM_PEER_SHIFT) - 1;
    return c->cluster->ctas[window - 1];
}
