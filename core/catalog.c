// SPDX-License-Identifier: Apache-2.0
// Finds and reads the documents of a catalogue folder. What they must contain is their owner's
// business.
#include "core/catalog.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include "core/json.h"
#include "core/util.h"

enum { LIMIT_CATALOG = 256 };

/* Names of the folders that hold the file. */
struct catalog {
    char *names[LIMIT_CATALOG]; /* sorted; owned */
    size_t count;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void release(struct catalog *c)
{
    for (size_t i = 0; i < c->count; i++)
        free(c->names[i]);
    *c = (struct catalog){0};
}

static enum err list(struct catalog *c, const char *folder, const char *file, struct fault *f)
{
    *c = (struct catalog){0};
    DIR *dir = opendir(folder);
    if (!dir)
        return fault_set(f, ERR_IO, "cannot open folder %s: %s", folder, strerror(errno));
    enum err e = ERR_NONE;
    for (struct dirent *entry; e == ERR_NONE && (entry = readdir(dir));) {
        char path[PATH_MAX];
        int n = snprintf(path, sizeof(path), "%s/%s/%s", folder, entry->d_name, file);
        if (entry->d_name[0] == '.' || n >= (int)sizeof(path) || access(path, F_OK) != 0)
            continue;
        if (c->count == LIMIT_CATALOG)
            e = fault_set(f, ERR_TOO_LARGE, "cannot load %s: more than %d folders", folder,
                          LIMIT_CATALOG);
        else if (!(c->names[c->count++] = strdup(entry->d_name)))
            e = fault_set(f, ERR_NO_MEMORY, "cannot list folder %s", folder);
    }
    closedir(dir);
    if (e != ERR_NONE)
        release(c);
    else if (c->count)
        qsort(c->names, c->count, sizeof(c->names[0]), by_name);
    return e;
}

/* New reference. */
static json_t *document_of(const char *path, const char *name, struct fault *f)
{
    struct buf text;
    buf_init(&text, MIB);
    json_t *document = NULL;
    struct fault why = {0};
    if (read_file(path, &text, f) == ERR_NONE) {
        document = json_parse(text.data, text.len, &why);
        if (!document)
            fault_set(f, ERR_INVALID, "cannot use %s: %s", path, why.detail);
    }
    buf_release(&text);
    const char *own = json_string_value(json_object_get(document, "name"));
    if (document && (!own || strcmp(own, name) != 0)) {
        fault_set(f, ERR_INVALID, "cannot use %s: $.name must be '%s' like the folder", path, name);
        json_decref(document);
        return NULL;
    }
    return document;
}

/* Turns collected faults into one and releases them. */
static enum err verdict(const char *path, struct faults *faults, struct fault *f)
{
    enum err e = ERR_NONE;
    char first[2 * LIMIT_DETAIL];
    if (faults_any(faults))
        e = fault_set(f, ERR_INVALID, "cannot use %s: %s", path,
                      faults_first(faults, first, sizeof(first)));
    faults_release(faults);
    return e;
}

static enum err load_entry(const struct catalog_kind *kind, const char *room, const char *name,
                           void *into, size_t *count, struct fault *f)
{
    char folder[PATH_MAX], path[PATH_MAX];
    if (snprintf(folder, sizeof(folder), "%s/%s", room, name) >= (int)sizeof(folder) ||
        snprintf(path, sizeof(path), "%s/%s", folder, kind->file) >= (int)sizeof(path))
        return fault_set(f, ERR_INVALID, "cannot load %s: the path is too long", name);
    json_t *document = document_of(path, name, f);
    if (!document)
        return ERR_INVALID;
    struct faults faults = {0};
    ++*count;
    kind->read(into, folder, document, &faults);
    return verdict(path, &faults, f);
}

enum err catalog_load(const struct catalog_kind *kind, const char *home, void **entries,
                      size_t *count, struct fault *f)
{
    struct catalog c;
    char room[PATH_MAX];
    *entries = NULL;
    *count = 0;
    snprintf(room, sizeof(room), "%s/%s", home, kind->room);
    enum err e = list(&c, room, kind->file, f);
    if (e != ERR_NONE)
        return e;
    *entries = calloc(c.count + 1, kind->size);
    if (!*entries)
        e = fault_set(f, ERR_NO_MEMORY, "no memory to load %s", room);
    else if (!c.count)
        e = fault_set(f, ERR_NOT_FOUND, "no %s in %s", kind->entry, room);
    for (size_t i = 0; e == ERR_NONE && i < c.count; i++)
        e = load_entry(kind, room, c.names[i], (char *)*entries + i * kind->size, count, f);
    release(&c);
    return e;
}
