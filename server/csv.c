// SPDX-License-Identifier: Apache-2.0
#include "server/csv.h"

#include <stdlib.h>
#include <string.h>

enum { CSV_BYTES = 8 * MIB };

enum err csv_wanted(struct request *r, bool *wanted)
{
    const char *format = request_query(r, "format");
    *wanted = format && !strcmp(format, "csv");
    if (format && !*wanted && strcmp(format, "json"))
        return fault_set(&r->fault, ERR_BAD_PARAMETER, "format must be csv or json, not '%.64s'",
                         format);
    return ERR_NONE;
}

/* The member a dotted path names; a number is an index into an array. */
static const json_t *member(const json_t *v, const char *path)
{
    while (v && *path) {
        char name[LIMIT_NAME + 1];
        size_t n = strcspn(path, ".");
        snprintf(name, sizeof(name), "%.*s", (int)n, path);
        int64_t index;
        if (json_is_array(v))
            v = field_number(name, INT32_MAX, &index) ? json_array_get(v, (size_t)index) : NULL;
        else
            v = json_object_get(v, name);
        path += n + (path[n] == '.');
    }
    return v;
}

/* A text that a spreadsheet would run as a formula gets an apostrophe before it. */
static void add_text(struct buf *b, const char *s)
{
    bool formula = *s && strchr("=+-@\t\r", *s);
    bool quote = formula || s[strcspn(s, ",\"\r\n")];
    if (!quote) {
        buf_adds(b, s);
        return;
    }
    buf_adds(b, formula ? "\"'" : "\"");
    for (; *s; s++)
        buf_add(b, *s == '"' ? "\"\"" : s, *s == '"' ? 2 : 1);
    buf_adds(b, "\"");
}

static void add_value(struct buf *b, const json_t *v)
{
    if (!v || json_is_null(v))
        return;
    if (json_is_string(v)) {
        add_text(b, json_string_value(v));
        return;
    }
    if (json_is_array(v)) { /* flags: words with spaces between */
        size_t i;
        json_t *item;
        json_array_foreach(v, i, item)
        {
            buf_adds(b, i ? " " : "");
            add_value(b, item);
        }
        return;
    }
    if (json_is_object(v)) { /* counts: name=number with spaces between; names are ours */
        const char *name;
        json_t *item;
        size_t i = 0;
        json_object_foreach((json_t *)v, name, item)
        {
            buf_addf(b, "%s%s=", i++ ? " " : "", name);
            add_value(b, item);
        }
        return;
    }
    char *text = json_dumps(v, ANSWER_JSON);
    buf_adds(b, text ? text : "");
    free(text);
}

enum err answer_csv(struct request *r, const char *const *columns, size_t count, const json_t *rows)
{
    struct buf b;
    buf_init(&b, CSV_BYTES);
    for (size_t c = 0; c < count; c++)
        buf_addf(&b, "%s%s", c ? "," : "", columns[c]);
    buf_adds(&b, "\r\n");
    size_t i;
    json_t *row;
    json_array_foreach(rows, i, row)
    {
        for (size_t c = 0; c < count; c++) {
            buf_adds(&b, c ? "," : "");
            add_value(&b, member(row, columns[c]));
        }
        buf_adds(&b, "\r\n");
    }
    return answer_buf(r, 200, "text/csv; charset=utf-8", &b);
}
