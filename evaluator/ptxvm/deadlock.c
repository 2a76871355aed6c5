/* SPDX-License-Identifier: Apache-2.0
 * Who waits for what, when nobody can go on. Warps of a CTA that wait for the same thing at the
 * same place are one entry. */
#include <string.h>

#include "evaluator/ptxvm/mbarrier.h"
#include "evaluator/ptxvm/vm.h"

/* One more entry would not fit behind this. */
enum { ENOUGH = PTXVM_DETAIL - 400 };

static bool waits(const struct group *g)
{
    return g->mask && g->wait != WAIT_NONE;
}

static bool same_wait(const struct group *a, const struct group *b)
{
    return waits(b) && a->wait == b->wait && a->pc == b->pc &&
           (a->wait == WAIT_WARP ? a->mask == b->mask : a->wait_for == b->wait_for);
}

/* The first group of warp w that waits as g does, or NULL. */
static const struct group *alike(const struct warp *w, const struct group *g)
{
    for (int k = 0; k < w->group_count; k++)
        if (same_wait(g, &w->groups[k]))
            return &w->groups[k];
    return NULL;
}

static bool is_told(const struct cta *c, uint32_t warp, const struct group *g)
{
    for (uint32_t i = 0; i < warp; i++)
        if (alike(&c->warps[i], g))
            return true;
    return false;
}

/* "warp 3" or "warps 0-2, 5", those from `first` on that wait as g does. */
static void add_warps(struct buf *text, const struct cta *c, uint32_t first, const struct group *g)
{
    uint32_t count = 0, begin;
    for (uint32_t i = first; i < c->warp_count; i++)
        count += alike(&c->warps[i], g) != NULL;
    buf_addf(text, "warp%s", count > 1 ? "s" : "");
    const char *before = " ";
    for (uint32_t i = first; i < c->warp_count; i++) {
        if (!alike(&c->warps[i], g))
            continue;
        for (begin = i; i + 1 < c->warp_count && alike(&c->warps[i + 1], g);)
            i++;
        buf_addf(text, i > begin ? "%s%u-%u" : "%s%u", before, begin, i);
        before = ", ";
    }
}

static void add_barrier(struct buf *text, const struct cta *c, uint32_t number)
{
    const struct barrier *b = &c->barriers[number];
    uint32_t arrived = b->extra;
    for (uint32_t i = 0; i < c->warp_count; i++)
        arrived += vm_count(b->arrived[i]);
    if (number == VM_BARRIER_CLUSTER)
        buf_addf(text, "at the barrier of the cluster (%u of %u threads of this CTA)", arrived,
                 c->run->threads);
    else
        buf_addf(text, "at barrier %u (%u of %u threads)", number, arrived,
                 b->expected ? b->expected : c->run->threads);
}

static void add_mbarrier(struct buf *text, const struct cta *c, uint32_t address)
{
    struct mbarrier b;
    uint64_t bits;
    buf_addf(text, "for the mbarrier at 0x%x", address);
    if (address < VM_SHARED_START || address - VM_SHARED_START + sizeof bits > c->shared_bytes)
        return;
    memcpy(&bits, c->shared + (address - VM_SHARED_START), sizeof bits);
    if (mbarrier_decode(bits, &b))
        buf_addf(text, " (%u of %u arrivals and %d bytes are missing)", b.pending, b.expected,
                 b.tx);
}

static void add_wait(struct buf *text, const struct warp *w, const struct group *g)
{
    switch (g->wait) {
    case WAIT_BARRIER:
        add_barrier(text, w->cta, g->wait_for);
        break;
    case WAIT_WARPGROUP:
        buf_adds(text, "for the other warps of its warpgroup");
        break;
    case WAIT_REGISTERS:
        buf_addf(text, "for %u more registers a thread (%u are spare)", g->wait_for,
                 w->cta->spare_registers / VM_LANES);
        break;
    case WAIT_MBARRIER:
        add_mbarrier(text, w->cta, g->wait_for);
        break;
    default:
        buf_addf(text, "for lanes 0x%08x of the warp", g->wait_for & w->live & ~g->mask);
    }
}

static void add_entry(struct buf *text, struct warp *w, const struct group *g)
{
    struct ptxvm_fault at = {0};
    const struct cta *c = w->cta;
    fault_locate(&at, w, g->pc, __builtin_ctz(g->mask));
    buf_adds(text, "; ");
    if (c->cluster->count > 1)
        buf_addf(text, "CTA (%u,%u,%u) ", c->id[0], c->id[1], c->id[2]);
    add_warps(text, c, w->index, g);
    if (g->mask != w->lanes)
        buf_addf(text, " lanes 0x%08x", g->mask);
    buf_adds(text, " ");
    add_wait(text, w, g);
    buf_addf(text, ", PTX line %u", at.ptx_line);
    if (at.source_line)
        buf_addf(text, " (%.80s:%u)", at.file, at.source_line);
}

const struct group *cta_describe_waits(struct cta *c, struct buf *text, struct warp **who)
{
    const struct group *first = NULL;
    for (uint32_t i = 0; i < c->warp_count; i++)
        for (int k = 0; k < c->warps[i].group_count; k++) {
            const struct group *g = &c->warps[i].groups[k];
            if (!waits(g) || is_told(c, i, g))
                continue;
            if (!first)
                first = g, *who = &c->warps[i];
            if (text->len < ENOUGH)
                add_entry(text, &c->warps[i], g);
        }
    return first;
}
