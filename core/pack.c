// SPDX-License-Identifier: Apache-2.0
#include "core/pack.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/util.h"

enum { MAX_FILES = 256, MAX_FILE_BYTES = 1 * MIB };

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct pack_file *)a)->name, ((const struct pack_file *)b)->name);
}

static bool ends_with(const char *s, const char *ending)
{
    size_t n = strlen(s), k = strlen(ending);
    return n >= k && !strcmp(s + n - k, ending);
}

static enum err add_file(struct pack_files *p, const char *path, const char *name, struct fault *f)
{
    struct buf text;
    if (p->count == MAX_FILES || strlen(name) > LIMIT_NAME)
        return fault_set(f, ERR_TOO_LARGE,
                         "cannot read %s: more than %d files or a name over %d bytes", path,
                         MAX_FILES, LIMIT_NAME);
    struct pack_file *items = realloc(p->items, (p->count + 1) * sizeof(*items));
    if (!items)
        return fault_set(f, ERR_NO_MEMORY, "cannot read %s", path);
    p->items = items;
    buf_init(&text, MAX_FILE_BYTES);
    enum err e = read_file(path, &text, f);
    if (e == ERR_NONE) {
        struct pack_file *file = &items[p->count];
        snprintf(file->name, sizeof(file->name), "%s", name);
        file->text = buf_take(&text, &file->len);
        if (file->text)
            p->count++;
        else
            e = fault_set(f, ERR_NO_MEMORY, "cannot read %s", path);
    }
    buf_release(&text);
    return e;
}

enum err pack_add_folder(struct pack_files *p, const char *folder, const char *ending,
                         struct fault *f)
{
    size_t first = p->count;
    enum err e = ERR_NONE;
    DIR *dir = opendir(folder);
    if (!dir)
        return errno == ENOENT
                   ? ERR_NONE
                   : fault_set(f, ERR_IO, "cannot open folder %s: %s", folder, strerror(errno));
    for (struct dirent *entry; e == ERR_NONE && (entry = readdir(dir));) {
        char path[PATH_MAX];
        struct stat s;
        int n = snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.' && n < (int)sizeof(path) && ends_with(entry->d_name, ending) &&
            stat(path, &s) == 0 && S_ISREG(s.st_mode))
            e = add_file(p, path, entry->d_name, f);
    }
    closedir(dir);
    if (p->count > first)
        qsort(p->items + first, p->count - first, sizeof(*p->items), by_name);
    return e;
}

enum err pack_headers(struct pack_files *p, const char *home, const char *arch, struct fault *f)
{
    char common[PATH_MAX], own[PATH_MAX];
    snprintf(common, sizeof(common), "%s/arch/common/ptx", home);
    snprintf(own, sizeof(own), "%s/arch/%s/ptx", home, arch);
    enum err e = pack_add_folder(p, common, ".cuh", f);
    if (e == ERR_NONE)
        e = pack_add_folder(p, own, ".cuh", f);
    for (size_t i = 0; i < p->count && e == ERR_NONE; i++)
        if (pack_find(p, p->items[i].name) != &p->items[i])
            e = fault_set(f, ERR_INVALID, "cannot load headers of %s: %s is there twice", arch,
                          p->items[i].name);
    return e;
}

const struct pack_file *pack_find(const struct pack_files *p, const char *name)
{
    for (size_t i = 0; i < p->count; i++)
        if (!strcmp(p->items[i].name, name))
            return &p->items[i];
    return NULL;
}

void pack_release(struct pack_files *p)
{
    for (size_t i = 0; i < p->count; i++)
        free(p->items[i].text);
    free(p->items);
    *p = (struct pack_files){0};
}
