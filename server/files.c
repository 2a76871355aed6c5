// SPDX-License-Identifier: Apache-2.0
#include "server/files.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/util.h"
#include "server/service.h"

enum { FILES = 64, FILE_BYTES = 2 * MIB, ETAG_DIGITS = 16 };

struct file {
    char name[NAME_MAX + 1];
    const char *type;
    char *data;
    size_t len;
    char etag[ETAG_DIGITS + 3]; /* quoted */
};

struct files {
    struct file items[FILES];
    size_t count;
};

static const struct {
    const char *ending, *type;
} types[] = {
    {".html", "text/html; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".svg", "image/svg+xml"},
    {".ico", "image/x-icon"},
    {".txt", "text/plain; charset=utf-8"},
};

static const char *type_of(const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        size_t e = strlen(types[i].ending);
        if (n > e && !strcmp(name + n - e, types[i].ending))
            return types[i].type;
    }
    return NULL;
}

static enum err load_one(struct files *files, const char *folder, const char *name, struct fault *f)
{
    const char *type = type_of(name);
    if (!type || name[0] == '.')
        return ERR_NONE;
    if (files->count == FILES)
        return fault_set(f, ERR_TOO_LARGE, "cannot load %s: more than %d files", folder, FILES);
    char path[PATH_MAX];
    if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path))
        return fault_set(f, ERR_IO, "cannot load %s: the path is too long", name);
    struct buf b;
    buf_init(&b, FILE_BYTES);
    enum err e = read_file(path, &b, f);
    if (e) {
        buf_release(&b);
        return e;
    }
    struct file *file = &files->items[files->count++];
    snprintf(file->name, sizeof(file->name), "%s", name);
    file->type = type;
    file->data = buf_take(&b, &file->len);
    char hex[SHA256_HEX];
    sha256_hex(file->data, file->len, hex);
    snprintf(file->etag, sizeof(file->etag), "\"%.*s\"", ETAG_DIGITS, hex);
    return ERR_NONE;
}

struct files *files_load(const char *home, struct fault *f)
{
    struct files *files = calloc(1, sizeof(*files));
    if (!files) {
        fault_set(f, ERR_NO_MEMORY, "cannot load the page");
        return NULL;
    }
    char folder[PATH_MAX];
    snprintf(folder, sizeof(folder), "%s/static", home);
    DIR *d = opendir(folder);
    if (!d && errno == ENOENT)
        return files;
    enum err e = d ? ERR_NONE : fault_set(f, ERR_IO, "cannot open %s: %s", folder, strerror(errno));
    for (struct dirent *entry; d && !e && (entry = readdir(d));)
        e = load_one(files, folder, entry->d_name, f);
    if (d)
        closedir(d);
    if (!e)
        return files;
    files_free(files);
    return NULL;
}

void files_free(struct files *files)
{
    for (size_t i = 0; files && i < files->count; i++)
        free(files->items[i].data);
    free(files);
}

static const struct file *find(const struct files *files, const struct url *u)
{
    if (u->segment_count > 1)
        return NULL;
    const char *name = u->segment_count ? u->segments[0] : "index.html";
    for (size_t i = 0; i < files->count; i++)
        if (!strcmp(files->items[i].name, name))
            return &files->items[i];
    return NULL;
}

bool files_has(const struct files *files, const struct url *u)
{
    return find(files, u) != NULL;
}

enum err files_get(struct request *r)
{
    const struct file *file = find(r->service->files, &r->url);
    if (!file)
        return fault_set(&r->fault, ERR_NOT_FOUND, "there is no such file");
    if (answer_not_modified(r, file->etag))
        return ERR_NONE;
    r->out.status = 200;
    r->out.type = file->type;
    r->out.body = file->data;
    r->out.len = file->len;
    return ERR_NONE;
}
