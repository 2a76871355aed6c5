/* SPDX-License-Identifier: Apache-2.0
 * Plain text from JSON. Texts come from a server and are made fit for a terminal before they are shown. */
#include "cli/table.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/options.h"
#include "core/buf.h"
#include "core/limits.h"
#include "core/text.h"

enum { CELL_MAX = 120, COLUMNS_MAX = 16 };

/* ---- cells ---- */

static const json_t *member(const json_t *row, const char *key)
{
    char first[LIMIT_NAME + 1];
    const char *dot = strchr(key, '.');
    if (!dot)
        return json_object_get(row, key);
    snprintf(first, sizeof(first), "%.*s", (int)(dot - key), key);
    return member(json_object_get(row, first), dot + 1);
}

static void add_cell(struct buf *b, const json_t *v, int decimals)
{
    size_t i;
    json_t *item;
    if (json_is_string(v))
        buf_adds(b, json_string_value(v));
    else if (json_is_integer(v))
        buf_addf(b, "%lld", (long long)json_integer_value(v));
    else if (json_is_real(v))
        buf_addf(b, "%.*f", decimals, json_real_value(v));
    else if (json_is_boolean(v))
        buf_adds(b, json_is_true(v) ? "yes" : "no");
    json_array_foreach(v, i, item) {
        buf_adds(b, i ? "," : "");
        add_cell(b, item, decimals);
    }
}

/* The cell as text of at most `max` bytes; caller frees. */
static char *cell_text(const json_t *v, int decimals, size_t max)
{
    struct buf b;
    buf_init(&b, LIMIT_REPORT);
    add_cell(&b, v, decimals);
    char *text = b.len ? buf_take(&b, NULL) : strdup("-");
    buf_release(&b);
    if (!text)
        return NULL;
    text[text_cut(text, strlen(text), max)] = '\0';
    text_sanitize(text);
    return text;
}

/* Characters, not bytes: good enough for a column. */
static int width_of(const char *s)
{
    int n = 0;
    for (; *s; s++)
        n += ((unsigned char)*s & 0xC0) != 0x80;
    return n;
}

static void print_padded(FILE *out, const char *text, int width, bool right, bool last)
{
    int pad = width - width_of(text);
    if (right)
        fprintf(out, "%*s%s", pad, "", text);
    else
        fprintf(out, "%s%*s", text, last ? 0 : pad, "");
    fputs(last ? "\n" : "  ", out);
}

void table_print(FILE *out, const struct column *columns, size_t count, const json_t *rows,
                 const char *nothing)
{
    int widths[COLUMNS_MAX] = {0};
    size_t n = json_array_size(rows);
    char **cells = n ? calloc(n * count, sizeof(*cells)) : NULL;
    if (!cells || count > COLUMNS_MAX) {
        fprintf(out, "%s\n", nothing);
        free(cells);
        return;
    }
    for (size_t c = 0; c < count; c++)
        widths[c] = width_of(columns[c].title);
    for (size_t i = 0; i < n * count; i++) {
        const struct column *column = &columns[i % count];
        cells[i] = cell_text(member(json_array_get(rows, i / count), column->key), column->decimals,
                             CELL_MAX);
        int width = cells[i] ? width_of(cells[i]) : 0;
        if (width > widths[i % count])
            widths[i % count] = width;
    }
    for (size_t c = 0; c < count; c++)
        print_padded(out, columns[c].title, widths[c], false, c + 1 == count);
    for (size_t i = 0; i < n * count; i++) {
        size_t c = i % count;
        bool right = json_is_number(member(json_array_get(rows, i / count), columns[c].key));
        print_padded(out, cells[i] ? cells[i] : "?", widths[c], right, c + 1 == count);
        free(cells[i]);
    }
    free(cells);
}

/* ---- one submission ---- */

bool out_is_terminal(FILE *out)
{
    const char *term = getenv("TERM");
    return isatty(fileno(out)) && term && strcmp(term, "dumb") != 0;
}

bool out_has_colour(FILE *out)
{
    const char *no = getenv("NO_COLOR");
    return !(no && no[0]) && out_is_terminal(out);
}

static const char *paint(FILE *out, const char *colour)
{
    return out_has_colour(out) ? colour : "";
}

void table_line(FILE *out, const char *title, const json_t *doc, const struct column *parts,
                size_t count)
{
    bool begun = false;
    for (size_t i = 0; i < count; i++) {
        const json_t *v = member(doc, parts[i].key);
        if (!v || json_is_null(v) || (json_is_array(v) && !json_array_size(v)) ||
            (json_is_string(v) && !json_string_length(v)))
            continue;
        char *text = cell_text(v, parts[i].decimals, LIMIT_DETAIL);
        if (!begun)
            fprintf(out, "  %-9s", title);
        fprintf(out, " %s%s", parts[i].title, text ? text : "?");
        free(text);
        begun = true;
    }
    if (begun)
        fputc('\n', out);
}

#define PRINT_LINE(out, title, doc, ...)                                                           \
    table_line(out, title, doc, (const struct column[]){__VA_ARGS__},                              \
               sizeof((const struct column[]){__VA_ARGS__}) / sizeof(struct column))

void submission_print(FILE *out, const json_t *s)
{
    const char *verdict = json_string_value(json_object_get(s, "verdict"));
    char *head = cell_text(json_object_get(s, verdict ? "verdict" : "state"), 0, CELL_MAX);
    char *id = cell_text(json_object_get(s, "id"), 0, CELL_MAX);
    bool passed = verdict && strcmp(verdict, "PASSED") == 0;
    fprintf(out, "%s%s%s  %s\n", paint(out, !verdict ? "\033[1m" : passed ? "\033[1;32m" : "\033[1;31m"),
            head ? head : "?", paint(out, "\033[0m"), id ? id : "?");
    free(head);
    free(id);

    PRINT_LINE(out, "why", s, {"", "detail", 0});
    PRINT_LINE(out, "what", s, {"", "problem", 0}, {"", "workload", 0}, {"", "arch", 0},
               {"on ", "device", 0}, {"", "device_model", 0}, {"in ", "language", 0});
    PRINT_LINE(out, "who", s, {"", "label", 0}, {"", "method", 0}, {"owner ", "owner", 0});
    if (!verdict)
        PRINT_LINE(out, "queue", s, {"position ", "position", 0}, {"seconds left about ", "eta_s", 0},
                   {"lane ", "lane.name", 0}, {"workers ", "lane.workers", 0});
    PRINT_LINE(out, "speed", s, {"speedup ", "speedup.value", 3}, {"95% ", "speedup.ci95", 3},
               {"us ", "candidate_us", 2}, {"against ", "baseline.name", 0}, {"us ", "baseline.us", 2});
    PRINT_LINE(out, "target", s, {"executed ", "target.executed", 0},
               {"tensor share ", "target.tensor_share", 3});
    PRINT_LINE(out, "counted", s, {"thread instructions ", "thread_instructions", 0});
    PRINT_LINE(out, "flags", s, {"", "flags", 0});
    PRINT_LINE(out, "rank", s, {"", "rank", 0});
    PRINT_LINE(out, "took", s, {"ms ", "wall_ms", 0});
}

void event_print(FILE *out, const char *kind, const json_t *data)
{
    static const struct column parts[] = {{"", "stage", 0},  {"", "state", 0},     {"", "done", 0},
                                          {"of ", "total", 0}, {"ms ", "wall_ms", 1}, {"", "verdict", 0}};
    table_line(out, kind, data, parts, sizeof(parts) / sizeof(parts[0]));
}

int submission_exit_code(const json_t *submission)
{
    const char *name = json_string_value(json_object_get(submission, "verdict"));
    int v = name ? verdict_find(name) : -1;
    return v >= 0 ? verdict_exit_code((enum verdict)v) : CLI_UNFINISHED;
}

void json_print(FILE *out, const json_t *value)
{
    json_dumpf(value, out, JSON_INDENT(2) | JSON_ENCODE_ANY);
    fputc('\n', out);
}
