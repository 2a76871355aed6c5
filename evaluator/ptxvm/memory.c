/* SPDX-License-Identifier: Apache-2.0
 * The simulated address space: named allocations in ascending order with unmapped gaps between
 * them, and one ceiling for everything a device holds. */
#include "evaluator/ptxvm/vm.h"

#include <stdlib.h>
#include <string.h>

enum { MEMORY_ALIGN = 256, MEMORY_MAX_ITEMS = 1 << 20 };

bool memory_charge(struct memory *m, size_t bytes)
{
    size_t before = atomic_fetch_add(&m->used, bytes);
    if (before <= m->max && bytes <= m->max - before)
        return true;
    atomic_fetch_sub(&m->used, bytes);
    return false;
}

void memory_refund(struct memory *m, size_t bytes)
{
    atomic_fetch_sub(&m->used, bytes);
}

void memory_empty(struct memory *m)
{
    for (size_t i = 0; i < m->count; i++)
        if (m->items[i].owned)
            free(m->items[i].host);
    free(m->items);
    m->items = NULL;
    m->count = m->cap = 0;
}

static bool grow(struct memory *m)
{
    if (m->count < m->cap)
        return true;
    if (m->count >= MEMORY_MAX_ITEMS)
        return false;
    size_t cap = m->cap ? m->cap * 2 : 16;
    struct allocation *items = realloc(m->items, cap * sizeof *items);
    if (!items)
        return false;
    m->items = items;
    m->cap = cap;
    return true;
}

uint64_t memory_add(struct memory *m, const char *name, void *host, size_t bytes, size_t align,
                    bool read_only)
{
    if (align < MEMORY_ALIGN)
        align = MEMORY_ALIGN;
    if ((align & (align - 1)) || align > ((size_t)1 << 30) || bytes > ((size_t)1 << 40) || !grow(m))
        return 0;
    struct allocation a = {.size = bytes, .host = host, .read_only = read_only};
    if (!host) {
        size_t room = (bytes + MEMORY_ALIGN) / MEMORY_ALIGN * MEMORY_ALIGN;
        if (!memory_charge(m, room))
            return 0;
        a.host = aligned_alloc(MEMORY_ALIGN, room);
        if (!a.host) {
            memory_refund(m, room);
            return 0;
        }
        memset(a.host, 0, room);
        a.owned = true;
    }
    a.start = (m->next + align - 1) & ~(uint64_t)(align - 1);
    m->next = a.start + bytes + VM_GUARD;
    snprintf(a.name, sizeof a.name, "%s", name ? name : "");
    m->items[m->count++] = a;
    return a.start;
}

/* Number of allocations that start at or below the address. */
static size_t below(const struct memory *m, uint64_t address)
{
    size_t lo = 0, hi = m->count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (m->items[mid].start <= address)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

struct allocation *memory_find(const struct memory *m, uint64_t address, uint64_t n)
{
    size_t i = below(m, address);
    if (i == 0)
        return NULL;
    struct allocation *a = &m->items[i - 1];
    uint64_t offset = address - a->start;
    return offset <= a->size && n <= a->size - offset ? a : NULL;
}

const struct allocation *memory_nearest(const struct memory *m, uint64_t address)
{
    size_t i = below(m, address);
    if (m->count == 0)
        return NULL;
    if (i == 0)
        return &m->items[0];
    const struct allocation *under = &m->items[i - 1];
    if (i == m->count || address - under->start < under->size)
        return under;
    uint64_t past = address - (under->start + under->size);
    return past <= m->items[i].start - address ? under : &m->items[i];
}
