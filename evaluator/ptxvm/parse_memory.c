/* SPDX-License-Identifier: Apache-2.0
 * Arena, lists and string numbers of the PTX parser: see parse_memory.h. */
#include "evaluator/ptxvm/parse_memory.h"

#include <stdlib.h>
#include <string.h>

#include "evaluator/ptxvm/ptx.h"

enum {
    ALIGN = 16,
    CHUNK_BYTES = 64 * 1024,
    PROBES_MAX = 1024, /* a table at most half full never needs as many, unless attacked */
};

struct ptx_chunk {
    struct ptx_chunk *next;
    size_t bytes;
};

static bool budget_take(struct ptx_arena *a, size_t bytes)
{
    if (bytes > a->max - a->used) {
        a->spent = true;
        return false;
    }
    a->used += bytes;
    return true;
}

void *ptx_arena_alloc(struct ptx_arena *a, size_t bytes)
{
    if (bytes > a->max) { /* also keeps the sums below from overflowing */
        a->spent = true;
        return NULL;
    }
    bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    if (bytes > (size_t)(a->end - a->at)) {
        size_t head = (sizeof(struct ptx_chunk) + ALIGN - 1) / ALIGN * ALIGN;
        size_t total = head + (bytes > CHUNK_BYTES / 4 ? bytes : CHUNK_BYTES);
        if (!budget_take(a, total))
            return NULL;
        struct ptx_chunk *chunk = calloc(1, total);
        if (!chunk)
            return NULL;
        chunk->next = a->chunks;
        chunk->bytes = total;
        a->chunks = chunk;
        char *start = (char *)chunk + head;
        if (bytes > CHUNK_BYTES / 4)
            return start; /* a big thing has its own chunk: the open one stays in use */
        a->at = start;
        a->end = (char *)chunk + total;
    }
    void *out = a->at;
    a->at += bytes;
    return out;
}

void ptx_arena_release(struct ptx_arena *a)
{
    while (a->chunks) {
        struct ptx_chunk *next = a->chunks->next;
        free(a->chunks);
        a->chunks = next;
    }
    *a = (struct ptx_arena){0};
}

bool ptx_list_reserve(struct ptx_list *l, struct ptx_arena *a, uint32_t n)
{
    uint64_t want = (uint64_t)l->count + n;
    if (want <= l->capacity)
        return true;
    uint64_t capacity = l->capacity ? l->capacity : 16;
    while (capacity < want)
        capacity *= 2;
    uint64_t more = (capacity - l->capacity) * l->item_bytes;
    if (!budget_take(a, capacity > UINT32_MAX ? SIZE_MAX : more))
        return false;
    void *items = realloc(l->items, capacity * l->item_bytes);
    if (!items) {
        a->used -= more;
        return false;
    }
    l->items = items;
    l->capacity = (uint32_t)capacity;
    return true;
}

void ptx_list_release(struct ptx_list *l, struct ptx_arena *a)
{
    a->used -= (size_t)l->capacity * l->item_bytes;
    free(l->items);
    *l = (struct ptx_list){.item_bytes = l->item_bytes};
}

/* FNV-1a; lex.c computes the same on the fly. */
uint32_t ptx_hash(const char *text, size_t len)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < len; i++)
        h = (h ^ (unsigned char)text[i]) * 16777619u;
    return h;
}

static const struct ptx_string *entry(const struct ptx_strings *t, uint32_t number)
{
    return (const struct ptx_string *)t->entries.items + number;
}

/* The slot that holds the string or where it would go; PTX_NONE after PROBES_MAX tries. */
static uint32_t slot_of(const struct ptx_strings *t, const char *text, size_t len, uint32_t hash)
{
    uint32_t mask = t->slot_count - 1;
    for (uint32_t i = 0; i < PROBES_MAX; i++) {
        uint32_t slot = ((hash ^ hash >> 15) + i) & mask;
        if (!t->slots[slot])
            return slot;
        const struct ptx_string *s = entry(t, t->slots[slot] - 1);
        if (s->hash == hash && s->len == len && memcmp(s->text, text, len) == 0)
            return slot;
    }
    return PTX_NONE;
}

uint32_t ptx_strings_find(const struct ptx_strings *t, const char *text, size_t len, uint32_t hash)
{
    if (!t->slot_count)
        return PTX_NONE;
    uint32_t slot = slot_of(t, text, len, hash);
    return slot == PTX_NONE || !t->slots[slot] ? PTX_NONE : t->slots[slot] - 1;
}

/* Doubles the slots once half of them are in use. */
static bool slots_grow(struct ptx_strings *t, struct ptx_arena *a)
{
    if (t->slot_count && t->entries.count < t->slot_count / 2)
        return true;
    uint32_t count = t->slot_count ? t->slot_count * 2 : 256;
    if (!budget_take(a, (count - t->slot_count) * sizeof *t->slots))
        return false;
    uint32_t *slots = calloc(count, sizeof *slots);
    if (!slots) {
        a->used -= (count - t->slot_count) * sizeof *t->slots;
        return false;
    }
    free(t->slots);
    t->slots = slots;
    t->slot_count = count;
    for (uint32_t i = 0; i < t->entries.count; i++) {
        const struct ptx_string *s = entry(t, i);
        uint32_t slot = slot_of(t, s->text, s->len, s->hash);
        if (slot == PTX_NONE)
            return false;
        slots[slot] = i + 1;
    }
    return true;
}

uint32_t ptx_strings_add(struct ptx_strings *t, struct ptx_arena *a, const char *text, size_t len,
                         uint32_t hash)
{
    if (!slots_grow(t, a))
        return PTX_NONE;
    uint32_t slot = slot_of(t, text, len, hash);
    if (slot == PTX_NONE) {
        a->spent = true;
        return PTX_NONE;
    }
    if (t->slots[slot])
        return t->slots[slot] - 1;
    t->entries.item_bytes = sizeof(struct ptx_string);
    if (!ptx_list_reserve(&t->entries, a, 1))
        return PTX_NONE;
    uint32_t number = t->entries.count++;
    ((struct ptx_string *)t->entries.items)[number] =
        (struct ptx_string){.text = text, .len = (uint32_t)len, .hash = hash};
    t->slots[slot] = number + 1;
    return number;
}

void ptx_strings_release(struct ptx_strings *t, struct ptx_arena *a)
{
    a->used -= t->slot_count * sizeof *t->slots;
    free(t->slots);
    t->slots = NULL;
    t->slot_count = 0;
    ptx_list_release(&t->entries, a);
}
