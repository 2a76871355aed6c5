/* SPDX-License-Identifier: Apache-2.0
 * Memory of one parse: an arena that lives as long as the module, lists that grow while a thing of
 * unknown length is read, and a table that gives equal strings equal numbers. All draw on one
 * budget, so that no input makes the parser hold more than a stated multiple of its length. */
#ifndef EVALUATOR_PTXVM_PARSE_MEMORY_H
#define EVALUATOR_PTXVM_PARSE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ptx_arena {
    struct ptx_chunk *chunks; /* owned; the newest first */
    char *at, *end;           /* free part of the newest */
    bool spent;               /* something was refused because of `max`, not for want of memory */
    size_t used, max;         /* bytes held by chunks and lists together, and their ceiling */
};

/* Zeroed and aligned for any type; NULL when the budget or the machine has no more. */
void *ptx_arena_alloc(struct ptx_arena *a, size_t bytes);
void ptx_arena_release(struct ptx_arena *a);

/* A growing array of items of equal size. `{.item_bytes = n}` is an empty one. */
struct ptx_list {
    void *items; /* owned */
    uint32_t count, capacity;
    uint32_t item_bytes;
};

/* Makes room for `n` more items at once (see ptx_list_push in parse.h for the checked form). */
bool ptx_list_reserve(struct ptx_list *l, struct ptx_arena *a, uint32_t n);
void ptx_list_release(struct ptx_list *l, struct ptx_arena *a);

/* Strings, numbered 0, 1, 2, … in the order of their first appearance. They are borrowed. */
struct ptx_strings {
    struct ptx_list entries; /* struct ptx_string */
    uint32_t *slots;         /* owned; number + 1, 0 when free; a power of two of them */
    uint32_t slot_count;
};

struct ptx_string {
    const char *text;
    uint32_t len, hash;
};

uint32_t ptx_hash(const char *text, size_t len);
/* PTX_NONE when the string is not there. */
uint32_t ptx_strings_find(const struct ptx_strings *t, const char *text, size_t len, uint32_t hash);
/* Its number, new or not. PTX_NONE when memory is short or too many strings collide. */
uint32_t ptx_strings_add(struct ptx_strings *t, struct ptx_arena *a, const char *text, size_t len,
                         uint32_t hash);
void ptx_strings_release(struct ptx_strings *t, struct ptx_arena *a);

#endif
