// SPDX-License-Identifier: Apache-2.0
// The paper's tables as a plain page, for browsers without scripts: what a fresh installation has to show.
#include <limits.h>

#include "core/json.h"
#include "core/util.h"
#include "server/api.h"
#include "server/html.h"

enum { FILE_BYTES = 2 * MIB, PAGE_BYTES = 2 * MIB, LIMITS = 3 };
static const int limits[LIMITS] = {1, 4, 8};

static const char *text_of(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

static bool same(const json_t *object, const char *name, const json_t *value)
{
    return json_equal(json_object_get(object, name), value);
}

static const json_t *named(const json_t *list, const char *name)
{
    size_t i;
    const json_t *item;
    json_array_foreach(list, i, item)
    {
        const char *its = text_of(item, "name");
        if (its && name && !strcmp(its, name))
            return item;
    }
    return NULL;
}

/* The cell of a row of a table on a device and problem; NULL: the paper has none. */
static const json_t *cell_of(const json_t *file, const json_t *row, const json_t *device,
                             const json_t *problem)
{
    size_t i;
    const json_t *c;
    json_array_foreach(json_object_get(file, "items"), i, c)
    {
        if (same(c, "model", json_object_get(row, "model")) &&
            same(c, "condition", json_object_get(row, "condition")) &&
            same(c, "device_model", json_object_get(device, "name")) &&
            same(c, "problem", json_object_get(problem, "name")) &&
            same(c, "workload", json_object_get(problem, "workload")))
            return c;
    }
    return NULL;
}

static const json_t *entry_at(const json_t *cell, int turns)
{
    size_t i;
    const json_t *e;
    json_array_foreach(json_object_get(cell, "at"), i,
                       e) if (json_integer_value(json_object_get(e, "turns")) == turns) return e;
    return NULL;
}

/* "33.3 / 60.4 / –": of `side` ("correct", "target"), in per cent or as the best speedup. */
static void add_triple(struct buf *b, const json_t *cell, const char *side, bool speedup)
{
    for (int i = 0; i < LIMITS; i++) {
        const json_t *e = entry_at(cell, limits[i]);
        bool target = !strcmp(side, "target");
        const json_t *best = json_object_get(e, target ? "best_target" : "best");
        buf_adds(b, i ? " / " : "");
        if (speedup && json_is_number(best))
            buf_addf(b, "%.3f", json_number_value(best));
        else if (!speedup && json_integer_value(json_object_get(e, side)) > 0)
            html_add_text(b, text_of(e, target ? "target_percent" : "correct_percent"));
        else
            buf_adds(b, "–");
    }
}

static void add_cell(struct buf *b, const json_t *cell, bool speedup)
{
    buf_adds(b, "<td>");
    if (cell) {
        add_triple(b, cell, "target", speedup);
        buf_adds(b, "<small>(");
        add_triple(b, cell, "correct", speedup);
        buf_adds(b, ")</small>");
    } else {
        buf_adds(b, "no data");
    }
    buf_adds(b, "</td>");
}

static void add_rows(struct buf *b, const json_t *file, const json_t *table, const json_t *device,
                     const json_t *problems, bool speedup)
{
    size_t i, j;
    const json_t *row, *problem;
    json_array_foreach(json_object_get(table, "rows"), i, row)
    {
        const char *condition = text_of(row, "condition");
        buf_adds(b, "<tr><th scope=\"row\">");
        html_add_text(b, text_of(row, "model"));
        buf_adds(b, condition ? " " : "");
        html_add_text(b, condition);
        buf_adds(b, "</th>");
        json_array_foreach(problems, j, problem)
            add_cell(b, cell_of(file, row, device, problem), speedup);
        buf_adds(b, "</tr>\n");
    }
}

static void add_measure(struct buf *b, const json_t *file, const json_t *table,
                        const json_t *device, const json_t *problems, bool speedup)
{
    size_t i;
    const json_t *problem;
    buf_addf(b, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table %lld, ",
             (long long)json_integer_value(json_array_get(json_object_get(table, "numbers"), 0)));
    html_add_text(b, text_of(device, "title"));
    buf_addf(b, ": %s\"><table class=\"paper\"><thead><tr><th scope=\"col\">%s</th>",
             speedup ? "best speedup" : "turn correctness",
             speedup ? "Best speedup" : "Turn correctness, %");
    json_array_foreach(problems, i, problem)
    {
        buf_adds(b, "<th scope=\"col\">");
        html_add_text(b, text_of(problem, "title"));
        buf_adds(b, "</th>");
    }
    buf_adds(b, "</tr></thead><tbody>\n");
    add_rows(b, file, table, device, problems, speedup);
    buf_adds(b, "</tbody></table></div>\n");
}

/* The problems that a table is of: those it names, or all. The caller owns the array. */
static json_t *problems_of(const json_t *file, const json_t *table)
{
    const json_t *all = json_object_get(file, "problems"),
                 *names = json_object_get(table, "problems");
    json_t *list = json_array();
    size_t i;
    const json_t *p;
    json_array_foreach(names ? names : all, i, p)
    {
        const json_t *problem = names ? named(all, json_string_value(p)) : p;
        if (problem)
            json_array_append(list, (json_t *)problem);
    }
    return list;
}

static void add_table(struct buf *b, const json_t *file, const json_t *table, const json_t *device)
{
    size_t i;
    const json_t *n;
    json_t *problems = problems_of(file, table);
    const json_t *numbers = json_object_get(table, "numbers");
    buf_adds(b, json_array_size(numbers) > 1 ? "<section><h2>Tables" : "<section><h2>Table");
    json_array_foreach(numbers, i, n)
        buf_addf(b, "%s %lld", i ? " and" : "", (long long)json_integer_value(n));
    buf_adds(b, ": ");
    html_add_text(b, text_of(table, "title"));
    buf_adds(b, ", ");
    html_add_text(b, text_of(device, "title"));
    buf_adds(b, "</h2>\n");
    add_measure(b, file, table, device, problems, false);
    add_measure(b, file, table, device, problems, true);
    buf_adds(b, "</section>\n");
    json_decref(problems);
}

static void add_page(struct buf *b, const json_t *file)
{
    size_t i, j;
    const json_t *table, *device;
    html_begin(b, "the paper's tables", "/board", "Board of this service");
    buf_adds(b,
             "<h1>The paper's tables</h1>\n<p>Speedup over cuBLAS and cuDNN on the same GPU: 1.0 "
             "is as fast. Each cell has T = 1 / 4 / 8 turns: with target instructions executed, "
             "and in parentheses of all correct turns. A dash: nothing qualifies.</p>\n");
    json_array_foreach(json_object_get(file, "tables"), i, table)
        json_array_foreach(json_object_get(table, "devices"), j, device) add_table(
            b, file, table, named(json_object_get(file, "devices"), json_string_value(device)));
    buf_adds(b, "<p class=\"quiet\">Source: ");
    html_add_text(b, text_of(file, "source"));
    buf_adds(b, " (");
    html_add_text(b, text_of(file, "date"));
    buf_adds(b, ").</p>");
    html_end(b);
}

enum err published_html_get(struct request *r)
{
    char path[PATH_MAX];
    struct buf text, page;
    snprintf(path, sizeof(path), "%s/published/tables.json", home_dir());
    buf_init(&text, FILE_BYTES);
    enum err e = read_file(path, &text, &r->fault);
    json_t *file = e ? NULL : json_parse(text.data, text.len, &r->fault);
    buf_release(&text);
    if (!file)
        return fault_set(&r->fault, ERR_NOT_FOUND, "this installation has no published results");
    buf_init(&page, PAGE_BYTES);
    add_page(&page, file);
    json_decref(file);
    return answer_tag(r, answer_buf(r, 200, "text/html; charset=utf-8", &page));
}
