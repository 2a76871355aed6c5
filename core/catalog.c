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

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

enum err catalog_open(struct catalog *c, const char *folder, const char *file, struct fault *f)
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
        catalog_release(c);
    else if (c->count)
        qsort(c->names, c->count, sizeof(c->names[0]), by_name);
    return e;
}

void catalog_release(struct catalog *c)
{
    for (size_t i = 0; i < c->count; i++)
        free(c->names[i]);
    *c = (struct catalog){0};
}

json_t *catalog_document(const char *folder, const char *name, const char *file, struct fault *f)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s/%s", folder, name, file);
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

enum err catalog_verdict(const char *folder, const char *name, const char *file,
                         struct faults *faults, struct fault *f)
{
    enum err e = ERR_NONE;
    char first[2 * LIMIT_DETAIL];
    if (faults_any(faults))
        e = fault_set(f, ERR_INVALID, "cannot use %s/%s/%s: %s", folder, name, file,
                      faults_first(faults, first, sizeof(first)));
    faults_release(faults);
    return e;
}
