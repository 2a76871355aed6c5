/* SPDX-License-Identifier: Apache-2.0
 * What fuzz targets hold the code to: a promise that is broken ends the process. */
#ifndef FUZZ_PROMISE_H
#define FUZZ_PROMISE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/err.h"

static inline void check(bool promise)
{
    if (!promise)
        abort();
}

/* There is at least one, and each has a path and says something. Releases them. */
static inline void check_faults(struct faults *faults)
{
    size_t i;
    json_t *v;
    check(faults_any(faults));
    json_array_foreach(faults->items, i, v)
    {
        const char *path = json_string_value(json_object_get(v, "path"));
        const char *detail = json_string_value(json_object_get(v, "detail"));
        check(path && (path[0] == '$') && detail && detail[0]);
    }
    faults_release(faults);
}

#endif
