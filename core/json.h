/* SPDX-License-Identifier: Apache-2.0
 * JSON in, by field table. A table names each member of an object with its kind and bounds and says
 * where in a C struct the value goes; unknown members are faults. All faults are collected. */
#ifndef CORE_JSON_H
#define CORE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

enum json_kind {
    JSON_TEXT,   /* const char * (borrowed); min and max bound its bytes; no NUL inside */
    JSON_CHOICE, /* int: index into `choices` */
    JSON_INT64,  /* int64_t; min and max bound the value */
    JSON_DOUBLE, /* double; any JSON number */
    JSON_YESNO,  /* bool */
    JSON_MEMBER, /* json_t * (borrowed): an object */
    JSON_LIST,   /* json_t * (borrowed): an array; min and max bound its length */
    JSON_VALUE,  /* json_t * (borrowed): anything */
};

struct json_field {
    const char *name;
    enum json_kind kind;
    bool required;
    size_t offset;              /* offsetof the target in the struct */
    int64_t min, max;           /* see the kinds; both 0: no bounds */
    const char *const *choices; /* JSON_CHOICE: NULL-terminated */
};

/* Reads `object` by the table into `out`. Fields that are absent or null keep what `out` held before.
 * `path` is the JSON path of `object` ("$", "$.launch"). False if anything was added to `faults`. */
bool json_read(const json_t *object, const struct json_field *fields, size_t count, void *out,
               const char *path, struct faults *faults);

/* The JSON path of a member or an entry below `path`: json_at("$", "launch").text is "$.launch". Cut
 * at JSON_PATH - 1 bytes. By value, so that it can be made where it is used. */
enum { JSON_PATH = 512 };
struct json_path {
    char text[JSON_PATH];
};
struct json_path json_at(const char *path, const char *member);
struct json_path json_at_index(const char *path, size_t index);

/* Parses one JSON text: duplicates rejected, depth bounded, no trailing bytes. New reference or NULL. */
json_t *json_parse(const char *text, size_t len, struct fault *f);

/* Compact, sorted keys: equal documents give equal bytes. Caller frees. */
char *json_canonical(const json_t *value);

#endif
