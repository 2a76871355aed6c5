// SPDX-License-Identifier: Apache-2.0
#include "evaluator/compile_headers.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/pack.h"

/* Takes the texts out of `files`. */
static enum err take(struct headers *h, struct pack_files *files, const char *prefix,
                     struct fault *f)
{
    for (size_t i = 0; i < files->count; i++) {
        char full[LIMIT_NAME + 16];
        snprintf(full, sizeof full, "%s%s", prefix, files->items[i].name);
        h->names[h->count] = strdup(full);
        if (!h->names[h->count])
            return fault_set(f, ERR_NO_MEMORY, "cannot load header %s", full);
        h->texts[h->count++] = files->items[i].text;
        files->items[i].text = NULL;
    }
    return ERR_NONE;
}

enum err headers_load(struct headers *out, const char *home, const char *arch, struct fault *f)
{
    char folder[PATH_MAX];
    struct pack_files shims = {0}, own = {0};
    *out = (struct headers){0};
    snprintf(folder, sizeof folder, "%s/arch/shims", home);
    enum err e = pack_add_folder(&shims, folder, "", f);
    if (e == ERR_NONE)
        e = pack_headers(&own, home, arch, f);
    size_t room = shims.count + own.count + 1;
    out->names = calloc(room, sizeof *out->names);
    out->texts = calloc(room, sizeof *out->texts);
    if (e == ERR_NONE && (!out->names || !out->texts))
        e = fault_set(f, ERR_NO_MEMORY, "cannot load headers");
    if (e == ERR_NONE)
        e = take(out, &shims, "", f);
    if (e == ERR_NONE)
        e = take(out, &own, "ptxbench/", f);
    pack_release(&shims);
    pack_release(&own);
    return e;
}
