// SPDX-License-Identifier: Apache-2.0
// The error registry and the two ways to report one. Knows nothing of HTTP beyond the status
// column.
#include "core/err.h"

#include <stdio.h>

#include "core/text.h"

static const struct {
    const char *code;
    int status;
    const char *title;
} errors[ERR_COUNT] = {
    [ERR_NONE] = {"ok", 200, "no error"},
#define ERROR(name, code, status, title) [ERR_##name] = {code, status, title},
#include "core/errors.def"
#undef ERROR
};

const char *err_code(enum err e)
{
    return errors[e].code;
}

int err_status(enum err e)
{
    return errors[e].status;
}

const char *err_title(enum err e)
{
    return errors[e].title;
}

__attribute__((format(printf, 2, 0))) static void format_detail(char out[LIMIT_DETAIL],
                                                                const char *fmt, va_list ap)
{
    vsnprintf(out, LIMIT_DETAIL, fmt, ap);
    text_sanitize(out);
}

enum err fault_set(struct fault *f, enum err code, const char *fmt, ...)
{
    if (f) {
        va_list ap;
        va_start(ap, fmt);
        f->code = code;
        format_detail(f->detail, fmt, ap);
        va_end(ap);
    }
    return code;
}

void faults_add(struct faults *f, const char *path, const char *fmt, ...)
{
    if (!f->items)
        f->items = json_array();
    if (json_array_size(f->items) >= LIMIT_FAULTS) {
        f->dropped++;
        return;
    }
    char detail[LIMIT_DETAIL];
    va_list ap;
    va_start(ap, fmt);
    format_detail(detail, fmt, ap);
    va_end(ap);
    char where[LIMIT_DETAIL];
    snprintf(where, sizeof(where), "%s", path);
    text_sanitize(where); /* member names are foreign too */
    json_t *item = json_object();
    json_object_set_new(item, "path", json_string(where));
    json_object_set_new(item, "detail", json_string(detail));
    if (json_array_append_new(f->items, item) != 0)
        f->dropped++; /* out of memory: that there is a fault must not be lost */
}

bool faults_any(const struct faults *f)
{
    return json_array_size(f->items) > 0 || f->dropped > 0;
}

const char *faults_first(const struct faults *f, char *out, size_t size)
{
    const json_t *item = json_array_get(f->items, 0);
    if (!item)
        return f->dropped ? "$: out of memory" : "no fault";
    snprintf(out, size, "%s: %s", json_string_value(json_object_get(item, "path")),
             json_string_value(json_object_get(item, "detail")));
    return out;
}

void faults_release(struct faults *f)
{
    json_decref(f->items);
    *f = (struct faults){0};
}
