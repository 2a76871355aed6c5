/* SPDX-License-Identifier: Apache-2.0
 * What an architecture's folder holds beside arch.json: headers, contract, hints, examples. Text
 * files are read whole, by name; what several architectures share lies in arch/common. */
#ifndef CORE_PACK_H
#define CORE_PACK_H

#include <stddef.h>

#include "core/err.h"

struct pack_file {
    char name[LIMIT_NAME + 1]; /* without its folder */
    char *text;                /* owned, NUL-terminated */
    size_t len;
};

/* `{0}` is an empty list. */
struct pack_files {
    struct pack_file *items;
    size_t count;
};

/* Adds the files of a folder whose names end in `ending` ("" takes every one; hidden ones and
 * folders are left out), sorted by name among themselves. A folder that is not there adds nothing.
 */
enum err pack_add_folder(struct pack_files *p, const char *folder, const char *ending,
                         struct fault *f);

/* The headers that kernels for `arch` include as <ptxbench/NAME>: those of arch/common/ptx, then
 * its own. The same name twice is an error. */
enum err pack_headers(struct pack_files *p, const char *home, const char *arch, struct fault *f);

/* NULL if there is none of that name. Borrowed. */
const struct pack_file *pack_find(const struct pack_files *p, const char *name);
void pack_release(struct pack_files *p);

#endif
