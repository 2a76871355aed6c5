// SPDX-License-Identifier: Apache-2.0
#include "server/files.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "core/util.h"
#include "server/compress.h"
#include "server/fields.h"
#include "server/service.h"

enum { FILES = 256, FILE_NAME = 128, FILE_BYTES = 2 * MIB, TAG_DIGITS = 16 };

/* What a client gets: the bytes and their entity tag, which differs by encoding. */
struct body {
    char *data;
    size_t len;
    char etag[TAG_DIGITS + 8]; /* quoted */
};

struct file {
    char name[FILE_NAME]; /* address without the first slash */
    const char *type;
    struct body plain, gzip; /* gzip.data is NULL where it would not be smaller */
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
    {".json", "application/json"},
    {".svg", "image/svg+xml"},
    {".ico", "image/x-icon"},
    {".txt", "text/plain; charset=utf-8"},
    {".cu", "text/plain; charset=utf-8"},
    {".ptx", "text/plain; charset=utf-8"},
};

/* Folders below <home>, and the address that their files get. */
static const struct {
    const char *folder, *prefix;
} sources[] = {
    {"static", ""},
    {"static/views", "views/"},
    {"static/vendor", "vendor/"},
    {"published", "published/"},
};

/* The views of the page, as static/router.js reads addresses. */
static const char *const views[] = {
    "/",
    "/fast-p",
    "/turns",
    "/tables",
    "/submissions",
    "/submissions/:uuid",
    "/submissions/:uuid/diff/:uuid",
    "/runs",
    "/runs/new",
    "/runs/:uuid",
    "/runs/:uuid/trajectories/:int",
    "/submit",
    "/problems",
    "/problems/:name",
    "/system",
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

/* ---- loading ---- */

static void tag(struct body *b, const char *hex, const char *encoding)
{
    snprintf(b->etag, sizeof(b->etag), "\"%.*s%s\"", TAG_DIGITS, hex, encoding);
}

/* Takes the bytes of `b` under this address. */
static enum err keep_file(struct files *files, const char *name, struct buf *b, struct fault *f)
{
    if (files->count == FILES || strlen(name) >= FILE_NAME) {
        buf_release(b);
        return fault_set(f, ERR_TOO_LARGE, "cannot load %s: more than %d files, or a long name",
                         name, FILES);
    }
    struct file *file = &files->items[files->count++];
    snprintf(file->name, sizeof(file->name), "%s", name);
    file->type = type_of(name);
    file->plain.data = buf_take(b, &file->plain.len);
    if (!file->plain.data)
        return fault_set(f, ERR_NO_MEMORY, "cannot load %s", name);
    char hex[SHA256_HEX];
    sha256_hex(file->plain.data, file->plain.len, hex);
    tag(&file->plain, hex, "");
    tag(&file->gzip, hex, "-gz");
    return compress_bytes(file->plain.data, file->plain.len, COMPRESS_BEST, &file->gzip.data,
                          &file->gzip.len, f);
}

static enum err load_one(struct files *files, const char *folder, const char *prefix,
                         const char *name, struct fault *f)
{
    char path[PATH_MAX], address[PATH_MAX];
    if (!type_of(name) || name[0] == '.')
        return ERR_NONE;
    if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path))
        return fault_set(f, ERR_IO, "cannot load %s: the path is too long", name);
    snprintf(address, sizeof(address), "%s%s", prefix, name);
    struct buf b;
    buf_init(&b, FILE_BYTES);
    enum err e = read_file(path, &b, f);
    if (!e)
        return keep_file(files, address, &b, f);
    buf_release(&b);
    return e;
}

static enum err load_folder(struct files *files, const char *folder, const char *prefix,
                            struct fault *f)
{
    DIR *d = opendir(folder);
    if (!d)
        return errno == ENOENT
                   ? ERR_NONE
                   : fault_set(f, ERR_IO, "cannot open %s: %s", folder, strerror(errno));
    enum err e = ERR_NONE;
    for (struct dirent *entry; !e && (entry = readdir(d));)
        e = load_one(files, folder, prefix, entry->d_name, f);
    closedir(d);
    return e;
}

/* The examples of every problem, and "examples.json" that lists them: {"gemm": ["naive.cu", …]}. */
static enum err load_examples(struct files *files, const char *home, struct fault *f)
{
    char folder[PATH_MAX], prefix[NAME_MAX + 32];
    snprintf(folder, sizeof(folder), "%s/problems", home);
    DIR *d = opendir(folder);
    if (!d)
        return ERR_NONE;
    json_t *list = json_object();
    enum err e = list ? ERR_NONE : fault_set(f, ERR_NO_MEMORY, "cannot load the examples");
    for (struct dirent *entry; !e && (entry = readdir(d));) {
        const char *problem = entry->d_name;
        if (!text_is_name(problem) ||
            snprintf(folder, sizeof(folder), "%s/problems/%s/examples", home, problem) >= PATH_MAX)
            continue;
        size_t first = files->count;
        snprintf(prefix, sizeof(prefix), "problems/%s/examples/", problem);
        e = load_folder(files, folder, prefix, f);
        json_t *names = json_array();
        for (size_t i = first; i < files->count; i++)
            json_array_append_new(names, json_string(files->items[i].name + strlen(prefix)));
        json_object_set_new(list, problem, names);
    }
    closedir(d);
    struct buf b;
    buf_init(&b, FILE_BYTES);
    char *text = json_dumps(list, JSON_SORT_KEYS);
    if (!e && text)
        buf_adds(&b, text);
    free(text);
    json_decref(list);
    return e ? e : keep_file(files, "examples.json", &b, f);
}

struct files *files_load(const char *home, struct fault *f)
{
    struct files *files = calloc(1, sizeof(*files));
    if (!files) {
        fault_set(f, ERR_NO_MEMORY, "cannot load the page");
        return NULL;
    }
    enum err e = ERR_NONE;
    for (size_t i = 0; !e && i < COUNT_OF(sources); i++) {
        char folder[PATH_MAX];
        if (snprintf(folder, sizeof(folder), "%s/%s", home, sources[i].folder) >= PATH_MAX)
            e = fault_set(f, ERR_IO, "cannot load %s: the path is too long", home);
        else
            e = load_folder(files, folder, sources[i].prefix, f);
    }
    if (!e)
        e = load_examples(files, home, f);
    if (!e)
        return files;
    files_free(files);
    return NULL;
}

void files_free(struct files *files)
{
    for (size_t i = 0; files && i < files->count; i++) {
        free(files->items[i].plain.data);
        free(files->items[i].gzip.data);
    }
    free(files);
}

/* ---- answering ---- */

static bool is_view(const struct url *u)
{
    const char *captures[REQUEST_CAPTURES];
    for (size_t i = 0; i < COUNT_OF(views); i++)
        if (url_matches(u, views[i], captures, REQUEST_CAPTURES))
            return true;
    return false;
}

static const struct file *find_name(const struct files *files, const char *name)
{
    for (size_t i = 0; i < files->count; i++)
        if (!strcmp(files->items[i].name, name))
            return &files->items[i];
    return NULL;
}

static const struct file *find(const struct files *files, const struct url *u)
{
    char name[FILE_NAME] = "";
    size_t n = 0;
    for (size_t i = 0; i < u->segment_count && n < sizeof(name); i++)
        n += (size_t)snprintf(name + n, sizeof(name) - n, "%s%s", i ? "/" : "", u->segments[i]);
    return find_name(files, is_view(u) ? "index.html" : name);
}

bool files_has(const struct files *files, const struct url *u)
{
    return find(files, u) != NULL;
}

bool files_wants_page(const struct request *r)
{
    const char *accept = r->headers.accept;
    bool get = r->method == METHOD_GET || r->method == METHOD_HEAD;
    bool api = r->url.segment_count > 0 && !strcmp(r->url.segments[0], "v1");
    return get && !api && accept &&
           field_accept_weight(accept, "text/html") >
               field_accept_weight(accept, "application/json");
}

enum err files_get(struct request *r)
{
    const struct file *file = find(r->service->files, &r->url);
    bool missing = !file;
    if (missing && files_wants_page(r))
        file = find_name(r->service->files, "index.html");
    if (!file)
        return fault_set(&r->fault, ERR_NOT_FOUND, "there is no such file");
    bool gzip = file->gzip.data && compress_wanted(r);
    const struct body *body = gzip ? &file->gzip : &file->plain;
    if (gzip)
        answer_header(r, "Content-Encoding", "gzip");
    if (!missing && answer_not_modified(r, body->etag))
        return ERR_NONE;
    r->out.status = missing ? 404 : 200;
    r->out.type = file->type;
    r->out.body = body->data;
    r->out.len = body->len;
    return ERR_NONE;
}
