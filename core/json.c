// SPDX-License-Identifier: Apache-2.0
#include "core/json.h"

#include <stdio.h>
#include <string.h>

static const char *const kind_names[] = {
    [JSON_TEXT] = "a string",   [JSON_CHOICE] = "a string",     [JSON_INT64] = "an integer",
    [JSON_DOUBLE] = "a number", [JSON_YESNO] = "true or false", [JSON_MEMBER] = "an object",
    [JSON_LIST] = "an array",   [JSON_VALUE] = "a value",
};

static bool kind_matches(enum json_kind kind, const json_t *v)
{
    switch (kind) {
    case JSON_TEXT:
    case JSON_CHOICE:
        return json_is_string(v);
    case JSON_INT64:
        return json_is_integer(v);
    case JSON_DOUBLE:
        return json_is_number(v);
    case JSON_YESNO:
        return json_is_boolean(v);
    case JSON_MEMBER:
        return json_is_object(v);
    case JSON_LIST:
        return json_is_array(v);
    case JSON_VALUE:
        return true;
    }
    return false;
}

static void choices_text(const char *const *choices, char *out, size_t size)
{
    size_t n = 0;
    out[0] = '\0';
    for (; *choices && n < size; choices++)
        n += (size_t)snprintf(out + n, size - n, "%s%s", n ? ", " : "", *choices);
}

/* The measure that min and max bound: bytes of a string, length of a list, value of an integer. */
static int64_t measure(const struct json_field *field, const json_t *v)
{
    return field->kind == JSON_TEXT   ? (int64_t)json_string_length(v)
           : field->kind == JSON_LIST ? (int64_t)json_array_size(v)
                                      : json_integer_value(v);
}

static void read_field(const struct json_field *field, json_t *v, void *out, const char *path,
                       struct faults *faults)
{
    char *to = (char *)out + field->offset;
    if (!kind_matches(field->kind, v)) {
        faults_add(faults, path, "must be %s", kind_names[field->kind]);
        return;
    }
    bool bounded = field->min || field->max;
    if (bounded &&
        (field->kind == JSON_TEXT || field->kind == JSON_LIST || field->kind == JSON_INT64)) {
        int64_t n = measure(field, v);
        const char *what = field->kind == JSON_TEXT   ? "bytes"
                           : field->kind == JSON_LIST ? "entries"
                                                      : "";
        if (n < field->min || n > field->max) {
            faults_add(faults, path, "must be %s%lld to %lld%s%s, not %lld",
                       field->kind == JSON_INT64 ? "" : "of ", (long long)field->min,
                       (long long)field->max, *what ? " " : "", what, (long long)n);
            return;
        }
    }
    switch (field->kind) {
    case JSON_TEXT:
        if (strlen(json_string_value(v)) != json_string_length(v)) {
            faults_add(faults, path, "must not hold a NUL");
            return;
        }
        *(const char **)(void *)to = json_string_value(v);
        break;
    case JSON_CHOICE:
        for (int i = 0; field->choices[i]; i++)
            if (strlen(field->choices[i]) == json_string_length(v) && /* a NUL inside is no end */
                !strcmp(field->choices[i], json_string_value(v))) {
                *(int *)(void *)to = i;
                return;
            }
        char names[256];
        choices_text(field->choices, names, sizeof(names));
        faults_add(faults, path, "must be one of %s, not '%.64s'", names, json_string_value(v));
        break;
    case JSON_INT64:
        *(int64_t *)(void *)to = json_integer_value(v);
        break;
    case JSON_DOUBLE:
        *(double *)(void *)to = json_number_value(v);
        break;
    case JSON_YESNO:
        *(bool *)(void *)to = json_is_true(v);
        break;
    case JSON_MEMBER:
    case JSON_LIST:
    case JSON_VALUE:
        *(json_t **)(void *)to = v;
        break;
    }
}

bool json_read(const json_t *object, const struct json_field *fields, size_t count, void *out,
               const char *path, struct faults *faults)
{
    size_t before = json_array_size(faults->items) + faults->dropped;
    if (!json_is_object(object)) {
        faults_add(faults, path, "must be an object");
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        json_t *v = json_object_get(object, fields[i].name);
        if (v && !json_is_null(v))
            read_field(&fields[i], v, out, json_at(path, fields[i].name).text, faults);
        else if (fields[i].required)
            faults_add(faults, json_at(path, fields[i].name).text, "is required");
    }
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)object, key, v)
    {
        bool known = false;
        for (size_t i = 0; i < count && !known; i++)
            known = !strcmp(key, fields[i].name);
        if (!known)
            faults_add(faults, json_at(path, key).text, "is not a known field");
    }
    return json_array_size(faults->items) + faults->dropped == before;
}

struct json_path json_at(const char *path, const char *member)
{
    struct json_path child;
    snprintf(child.text, sizeof(child.text), "%s.%.64s", path, member);
    return child;
}

struct json_path json_at_index(const char *path, size_t index)
{
    struct json_path child;
    snprintf(child.text, sizeof(child.text), "%s[%zu]", path, index);
    return child;
}

json_t *json_parse(const char *text, size_t len, struct fault *f)
{
    json_error_t error;
    json_t *v =
        json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY, &error);
    if (!v)
        fault_set(f, ERR_NOT_JSON, "line %d, column %d: %s", error.line, error.column, error.text);
    return v;
}

char *json_canonical(const json_t *value)
{
    return json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
}
