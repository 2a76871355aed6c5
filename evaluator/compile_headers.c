// SPDX-License-Identifier: Apache-2.0
#include "evaluator/compile_headers.h"

#include <dirent.h>
#include <limits.h>
#include <string.h>

#include "core/util.h"

enum { MAX_HEADERS = 256, MAX_HEADER_BYTES = 1 * MIB };

static enum err add(struct headers *h, const char *prefix, const char *name, const char *folder,
                    struct fault *f)
{
    char path[PATH_MAX], full[256];
    struct buf text;
    if (h->count == MAX_HEADERS)
        return fault_set(f, ERR_INTERNAL, "cannot load headers: more than %d", MAX_HEADERS);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    snprintf(full, sizeof full, "%s%s", prefix, name);
    buf_init(&text, MAX_HEADER_BYTES);
    enum err e = read_file(path, &text, f);
    if (e == ERR_NONE) {
        h->names[h->count] = strdup(full);
        h->texts[h->count] = buf_take(&text, NULL);
        if (!h->names[h->count] || !h->texts[h->count])
            return fault_set(f, ERR_NO_MEMORY, "cannot load header %s", name);
        h->count++;
    }
    buf_release(&text);
    return e;
}

static enum err add_folder(struct headers *h, const char *folder, const char *prefix,
                           struct fault *f)
{
    DIR *dir = opendir(folder);
    enum err e = ERR_NONE;
    if (!dir)
        return ERR_NONE;
    for (struct dirent *entry; e == ERR_NONE && (entry = readdir(dir));)
        if (entry->d_name[0] != '.')
            e = add(h, prefix, entry->d_name, folder, f);
    closedir(dir);
    return e;
}

enum err headers_load(struct headers *out, const char *home, const char *arch, struct fault *f)
{
    char shims[PATH_MAX], ptx[PATH_MAX];
    *out = (struct headers){calloc(MAX_HEADERS + 1, sizeof *out->names),
                            calloc(MAX_HEADERS + 1, sizeof *out->texts), 0};
    if (!out->names || !out->texts)
        return fault_set(f, ERR_NO_MEMORY, "cannot load headers");
    snprintf(shims, sizeof shims, "%s/arch/shims", home);
    snprintf(ptx, sizeof ptx, "%s/arch/%s/ptx", home, arch);
    enum err e = add_folder(out, shims, "", f);
    return e == ERR_NONE ? add_folder(out, ptx, "ptxbench/", f) : e;
}
