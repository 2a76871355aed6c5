/* SPDX-License-Identifier: Apache-2.0
 * Tests of loaders: a throw-away catalogue with one document, made from a shipped one by an edit.
 */
#ifndef TESTS_UNIT_CATALOGUE_H
#define TESTS_UNIT_CATALOGUE_H

#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/domain.h"

static char scratch_home[64];

static inline int scratch_setup(void **state)
{
    (void)state;
    snprintf(scratch_home, sizeof(scratch_home), "/tmp/ptxbench-test-XXXXXX");
    return mkdtemp(scratch_home) ? 0 : -1;
}

/* Writes <scratch>/<kind>/<name>/<file>. */
static inline void scratch_write(const char *kind, const char *name, const char *file,
                                 const char *text)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", scratch_home, kind);
    mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s/%s/%s", scratch_home, kind, name);
    mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s/%s/%s/%s", scratch_home, kind, name, file);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static inline void scratch_remove(const char *kind, const char *name, const char *file)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s/%s/%s", scratch_home, kind, name, file);
    unlink(path);
    snprintf(path, sizeof(path), "%s/%s/%s", scratch_home, kind, name);
    rmdir(path);
    snprintf(path, sizeof(path), "%s/%s", scratch_home, kind);
    rmdir(path);
}

static inline int scratch_teardown(void **state)
{
    (void)state;
    return rmdir(scratch_home);
}

/* Sets the member at a path such as "tensors.0.dtype" to `value` (stolen), or removes it if NULL.
 */
static inline void edit(json_t *document, const char *where, json_t *value)
{
    char key[128];
    json_t *at = document;
    for (;;) {
        size_t n = strcspn(where, ".");
        snprintf(key, sizeof(key), "%.*s", (int)n, where);
        where += n;
        if (!*where)
            break;
        where++;
        at = json_is_array(at) ? json_array_get(at, (size_t)strtoul(key, NULL, 10))
                               : json_object_get(at, key);
        assert_non_null(at);
    }
    if (!value && json_is_array(at))
        json_array_remove(at, (size_t)strtoul(key, NULL, 10));
    else if (!value)
        json_object_del(at, key);
    else if (json_is_array(at) && strtoul(key, NULL, 10) == json_array_size(at))
        json_array_append_new(at, value);
    else if (json_is_array(at))
        json_array_set_new(at, (size_t)strtoul(key, NULL, 10), value);
    else
        json_object_set_new(at, key, value);
}

/* One edit of a shipped document and the fault it must cause. */
struct broken {
    const char *where, *value; /* value: JSON with ' for ", NULL: remove */
    const char *fault;
};

#endif
