/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/body.h"

#include <string.h>

#include "core/buf.h"
#include "core/json.h"
#include "core/util.h"

static enum err add_source(const char *file, json_t *body, struct fault *f)
{
    struct buf b;
    buf_init(&b, LIMIT_SOURCE);
    enum err e = read_file(strcmp(file, "-") == 0 ? "/dev/stdin" : file, &b, f);
    if (!e && json_object_set_new(body, "source", json_stringn(b.data ? b.data : "", b.len)))
        e = fault_set(f, ERR_INVALID, "%s is not UTF-8 text", file);
    buf_release(&b);
    return e;
}

static enum err add_plan(const char *file, json_t *body, struct fault *f)
{
    struct buf b;
    buf_init(&b, LIMIT_BODY);
    enum err e = read_file(file, &b, f);
    json_t *plan = e ? NULL : json_parse(b.data ? b.data : "", b.len, f);
    buf_release(&b);
    if (plan)
        json_object_set_new(body, "launch", plan);
    return e ? e : plan ? ERR_NONE : ERR_NOT_JSON;
}

/* "a,b" as a list. */
static void add_options(const char *list, json_t *body)
{
    json_t *array = json_array();
    for (const char *p = list; *p;) {
        size_t n = strcspn(p, ",");
        if (n)
            json_array_append_new(array, json_stringn(p, n));
        p += n + (p[n] == ',');
    }
    json_object_set_new(body, "options", array);
}

enum err body_build(const struct body_files *files, const struct body_text *texts, size_t count,
                    const char *const *values, json_t *body, struct fault *f)
{
    for (size_t i = 0; i < count; i++) {
        const char *value = values[texts[i].row] ? values[texts[i].row] : texts[i].otherwise;
        if (value && json_object_set_new(body, texts[i].member, json_string(value)))
            return fault_set(f, ERR_INVALID, "--%s is not UTF-8 text", texts[i].member);
    }
    if (files->options)
        add_options(files->options, body);
    enum err e = files->launch ? add_plan(files->launch, body, f) : ERR_NONE;
    return e ? e : add_source(files->source, body, f);
}
