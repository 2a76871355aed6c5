/* SPDX-License-Identifier: Apache-2.0
 * Shared by the tests of plans and submissions: the registry of the source tree, and faults as
 * text. */
#ifndef TESTS_UNIT_DOMAIN_H
#define TESTS_UNIT_DOMAIN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/json.h"
#include "core/submission.h"
#include "core/util.h"

static struct registry registry;

static inline int registry_setup(void **state)
{
    (void)state;
    struct fault f = {0};
    if (registry_load(&registry, PTXBENCH_SOURCE_DIR, &f) != ERR_NONE)
        fprintf(stderr, "%s\n", f.detail);
    return f.code != ERR_NONE;
}

static inline int registry_teardown(void **state)
{
    (void)state;
    registry_release(&registry);
    return 0;
}

/* JSON written with ' for ", since plans are full of quotes. New reference. */
static inline json_t *quoted(const char *text)
{
    char *copy = strdup(text);
    for (char *c = copy; *c; c++)
        if (*c == '\'')
            *c = '"';
    struct fault f = {0};
    json_t *v = json_parse(copy, strlen(copy), &f);
    free(copy);
    if (!v)
        fail_msg("test JSON: %s: %s", f.detail, text);
    return v;
}

/* Does one of the faults have this path and a detail that contains this text? */
static inline bool has_fault(const struct faults *faults, const char *path, const char *part)
{
    size_t i;
    json_t *v;
    json_array_foreach(faults->items, i, v)
    {
        const char *at = json_string_value(json_object_get(v, "path"));
        const char *detail = json_string_value(json_object_get(v, "detail"));
        if (at && detail && !strcmp(at, path) && strstr(detail, part))
            return true;
    }
    return false;
}

static inline void expect_fault(const struct faults *faults, const char *path, const char *part)
{
    if (has_fault(faults, path, part))
        return;
    char *all = json_dumps(faults->items, JSON_INDENT(1) | JSON_ENCODE_ANY);
    fail_msg("no fault '%s: …%s…' in %s", path, part, all ? all : "none");
}

#endif
