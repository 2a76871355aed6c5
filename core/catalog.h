/* SPDX-License-Identifier: Apache-2.0
 * A catalogue is a folder whose sub-folders each hold one document: arch/<name>/arch.json,
 * problems/<name>/problem.json. A new entry is a new folder; nothing else changes. */
#ifndef CORE_CATALOG_H
#define CORE_CATALOG_H

#include "core/err.h"

struct catalog_kind {
    const char *room, *file; /* "arch", "arch.json" */
    const char *entry;       /* "architecture": for messages */
    size_t size;             /* of the struct that holds one entry */
    /* Reads a document into a zeroed struct and keeps the reference there. `folder` is the entry's. */
    void (*read)(void *into, const char *folder, json_t *document, struct faults *faults);
};

/* Loads every entry of home/room, by name. A room that is not there or empty is an error, as is a
 * document that is not valid or whose "name" is not that of its folder. *entries (an array that the
 * caller frees) and *count hold what was read, after an error too. */
enum err catalog_load(const struct catalog_kind *kind, const char *home, void **entries,
                      size_t *count, struct fault *f);

#endif
