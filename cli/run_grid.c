/* SPDX-License-Identifier: Apache-2.0
 * The table of a run: trajectories by turns. */
#include "cli/run_grid.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/limits.h"
#include "core/text.h"
#include "core/util.h"

enum {
    TURN_WIDTH = 11, /* of a turn's column, the space before it included */
    HEAD_WIDTH = 34, /* of what stands before the turns */
    CELL_MAX = 4 * TURN_WIDTH,
    LINE_TEXT = 1024,
    TURNS_MAX = 64,
    FRAME_LINES = 6, /* three above, the titles, one below, one for the cursor */
};

#define GREEN "\033[32m"
#define RED "\033[31m"
#define YELLOW "\033[33m"
#define BOLD "\033[1m"
#define PLAIN "\033[0m"

/* Every label in a word that fits a column; in the order of core/labels.def, whose rows without a
 * word here do not compile. */
static const char *short_label(const char *label)
{
    static const struct {
        const char *name, *word;
    } words[] = {{"correct", "ok"},
                 {"numerical", "wrong"},
                 {"compile", "compile"},
                 {"sanitize_timeout", "san-time"},
                 {"profile_timeout", "prof-time"},
                 {"timeout", "timeout"},
                 {"extraction", "extract"},
                 {"runtime", "fault"},
                 {"other", "other"},
                 {"plan", "plan"},
                 {"cut", "cut"},
                 {"infra", "infra"}};
#define LABEL(name, title) +1
    enum {
        LABELS = 0
#include "core/labels.def"
    };
#undef LABEL
    _Static_assert(COUNT_OF(words) == LABELS, "a word for every label");
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (strcmp(label, words[i].name) == 0)
            return words[i].word;
    return label;
}

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

static bool is_number(const json_t *object, const char *name)
{
    return json_is_number(json_object_get(object, name));
}

static double number_of(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

/* "950", "12.3k", "4.5M". */
static const char *count_text(double n, char out[16])
{
    if (n < 1000)
        snprintf(out, 16, "%.0f", n);
    else if (n < 999950)
        snprintf(out, 16, "%.1fk", n / 1e3);
    else
        snprintf(out, 16, "%.1fM", n / 1e6);
    return out;
}

/* ---- lines ---- */

struct screen {
    struct buf *out;
    const struct grid_room *room;
    int lines;
};

/* Length in bytes of the first `most` characters. */
static size_t fit(const char *s, int most)
{
    size_t n = 0;
    for (; s[n] && (most > 0 || ((unsigned char)s[n] & 0xC0) == 0x80); n++)
        most -= ((unsigned char)s[n] & 0xC0) != 0x80;
    return s[n] ? n : strlen(s);
}

static int width_of(const char *s)
{
    int n = 0;
    for (; *s; s++)
        n += ((unsigned char)*s & 0xC0) != 0x80;
    return n;
}

/* `text` made fit for a terminal, cut and filled up to `width` (0: as long as it is), in a colour.
 */
static void put(struct screen *s, const char *text, int width, const char *colour)
{
    char line[LINE_TEXT];
    snprintf(line, sizeof(line), "%s", text);
    text_sanitize(line);
    if (width)
        line[fit(line, width)] = '\0';
    bool painted = s->room->colour && colour;
    buf_addf(s->out, "%s%s%s%*s", painted ? colour : "", line, painted ? PLAIN : "",
             width > width_of(line) ? width - width_of(line) : 0, "");
}

static void end_line(struct screen *s)
{
    while (s->out->len && s->out->data[s->out->len - 1] == ' ')
        s->out->data[--s->out->len] = '\0';
    buf_adds(s->out, "\n");
    s->lines++;
}

/* One line that is cut where the room ends. */
__attribute__((format(printf, 3, 4))) static void say(struct screen *s, const char *colour,
                                                      const char *fmt, ...)
{
    char line[LINE_TEXT];
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    put(s, line, s->room->columns, colour);
    end_line(s);
}

/* ---- cells ---- */

/* What a turn came to: "ok 0.871*", the star for executed target instructions. */
static const char *turn_cell(const json_t *turn, char out[CELL_MAX])
{
    bool correct = json_is_true(json_object_get(turn, "correct"));
    double speedup = number_of(turn, "speedup");
    size_t n = (size_t)snprintf(out, CELL_MAX, "%.24s", short_label(text_of(turn, "label")));
    if (correct && speedup > 0)
        n += (size_t)snprintf(out + n, CELL_MAX - n, " %.*f", speedup < 10 ? 3 : 1, speedup);
    if (correct && json_is_true(json_object_get(turn, "inst")))
        snprintf(out + n, CELL_MAX - n, "*");
    return !json_is_false(json_object_get(turn, "counted")) && correct ? GREEN : RED;
}

/* Where a turn stands that is under way: characters of the answer so far, or the stage. */
static const char *place_cell(const json_t *at, char out[CELL_MAX])
{
    char count[16];
    const char *state = text_of(at, "state"), *stage = text_of(at, "stage");
    if (strcmp(state, "call") == 0 && is_number(at, "text"))
        snprintf(out, CELL_MAX, "~%s",
                 count_text(number_of(at, "text") + number_of(at, "reasoning"), count));
    else
        snprintf(out, CELL_MAX, "%.24s",
                 strcmp(state, "evaluate") == 0 ? (*stage ? stage : "queued") : state);
    return YELLOW;
}

/* The last try of turn n: tries before it did not count. NULL: none yet. */
static const json_t *turn_of(const json_t *row, json_int_t n)
{
    const json_t *found = NULL;
    size_t i;
    json_t *turn;
    json_array_foreach(json_object_get(row, "turns"), i,
                       turn) if (json_integer_value(json_object_get(turn, "n")) == n) found = turn;
    return found;
}

static double best_of(const json_t *row)
{
    double best = 0;
    size_t i;
    json_t *turn;
    json_array_foreach(json_object_get(row, "turns"), i,
                       turn) if (json_is_true(json_object_get(turn, "correct")) &&
                                 number_of(turn, "speedup") > best) best =
        number_of(turn, "speedup");
    return best;
}

/* ---- the parts ---- */

/* The turns that are shown: all, or those that fit up to the furthest one that anybody is at. */
struct span {
    json_int_t first, end;
};

static struct span shown_turns(const json_t *run, const struct grid_room *room)
{
    json_int_t turns = json_integer_value(json_object_get(run, "turns")), furthest = 0;
    json_int_t most = room->columns ? (room->columns - HEAD_WIDTH) / TURN_WIDTH : turns;
    size_t i, j;
    json_t *row, *turn;
    if (turns > TURNS_MAX)
        turns = TURNS_MAX;
    most = most < 1 ? 1 : most;
    json_array_foreach(json_object_get(run, "grid"), i, row)
    {
        json_int_t n = json_integer_value(json_object_get(json_object_get(row, "at"), "n"));
        json_array_foreach(json_object_get(row, "turns"), j, turn) n =
            json_integer_value(json_object_get(turn, "n")) > n
                ? json_integer_value(json_object_get(turn, "n"))
                : n;
        furthest = n > furthest ? n : furthest;
    }
    json_int_t end = furthest + 1 > most ? furthest + 1 : most;
    end = end < turns ? end : turns;
    return (struct span){end > most ? end - most : 0, end};
}

static void draw_head(struct screen *s, const json_t *run)
{
    const char *state = text_of(run, "state"), *reason = text_of(run, "reason");
    const json_t *lane = json_object_get(run, "lane");
    bool done = strcmp(state, "done") == 0;
    say(s,
        !done     ? BOLD
        : *reason ? RED
                  : GREEN,
        "%s%s%s  %s  %s", state, *reason ? ": " : "", reason, text_of(run, "id"),
        text_of(run, "name"));
    say(s, NULL, "%s %s %s on %s  by %s %s  target %.4g", text_of(run, "problem"),
        text_of(run, "workload"), text_of(run, "arch"), text_of(run, "device"),
        text_of(run, "provider"), text_of(run, "model"), number_of(run, "target_speedup"));
    if (json_is_false(json_object_get(lane, "healthy")))
        say(s, YELLOW, "nobody serves %s: no agent with that provider is running",
            text_of(lane, "name"));
}

static const char *variant_name(const json_t *run, const json_t *row)
{
    const json_t *variants = json_object_get(run, "variants");
    size_t n = (size_t)json_integer_value(json_object_get(row, "variant"));
    return text_of(json_array_get(variants, n), "name");
}

static void draw_row(struct screen *s, const json_t *run, const json_t *row, struct span span)
{
    char text[CELL_MAX], best[16] = "-";
    const json_t *at = json_object_get(row, "at");
    bool running = strcmp(text_of(row, "state"), "done") != 0;
    const char *reason = text_of(row, "reason");
    snprintf(text, sizeof(text), "%lld",
             (long long)json_integer_value(json_object_get(row, "trajectory")));
    if (best_of(row) > 0)
        snprintf(best, sizeof(best), "%.3f", best_of(row));
    put(s, text, 4, NULL);
    put(s, variant_name(run, row), 12, NULL);
    put(s, "  ", 1, NULL);
    put(s, running || !*reason ? text_of(row, "state") : reason, 10, NULL);
    put(s, best, 6, NULL);
    for (json_int_t n = span.first; n < span.end; n++) {
        const json_t *turn = turn_of(row, n);
        bool here = json_is_object(at) && json_integer_value(json_object_get(at, "n")) == n;
        const char *colour = NULL;
        snprintf(text, sizeof(text), " ");
        if (here)
            colour = place_cell(at, text);
        else if (turn)
            colour = turn_cell(turn, text);
        put(s, " ", 1, NULL);
        put(s, text, TURN_WIDTH - 1, colour);
    }
    end_line(s);
}

static void draw_titles(struct screen *s, struct span span)
{
    put(s, "t", 4, NULL);
    put(s, "variant", 13, NULL);
    put(s, "state", 10, NULL);
    put(s, "best", 6, NULL);
    for (json_int_t n = span.first; n < span.end; n++) {
        char title[24];
        snprintf(title, sizeof(title), " n%lld", (long long)n);
        put(s, title, TURN_WIDTH, NULL);
    }
    end_line(s);
}

static void draw_foot(struct screen *s, const json_t *run)
{
    const json_t *spent = json_object_get(run, "spent"), *budget = json_object_get(run, "budget");
    const json_t *best = json_object_get(run, "best");
    char in[16], out[16], most[16], limit[64] = "", money[32] = "", top[64] = "";
    if (number_of(budget, "tokens") > 0)
        snprintf(limit, sizeof(limit), " of %s", count_text(number_of(budget, "tokens"), most));
    if (number_of(budget, "usd") > 0)
        snprintf(money, sizeof(money), " of $%.2f", number_of(budget, "usd"));
    if (json_is_object(best))
        snprintf(top, sizeof(top), "  best %.3f (t%lld n%lld)", number_of(best, "speedup"),
                 (long long)json_integer_value(json_object_get(best, "trajectory")),
                 (long long)json_integer_value(json_object_get(best, "n")));
    say(s, NULL, "%.0f calls  tokens %s in, %s out%s  $%.2f%s%s", number_of(spent, "calls"),
        count_text(number_of(spent, "tokens_in"), in),
        count_text(number_of(spent, "tokens_out"), out), limit, number_of(spent, "usd"), money,
        top);
}

int grid_draw(struct buf *out, const json_t *run, const struct grid_room *room)
{
    struct screen s = {.out = out, .room = room};
    struct span span = shown_turns(run, room);
    const json_t *grid = json_object_get(run, "grid");
    size_t rows = json_array_size(grid), shown = rows;
    if (room->lines && rows + FRAME_LINES > (size_t)room->lines) /* and a line that says so */
        shown = room->lines > FRAME_LINES + 1 ? (size_t)room->lines - FRAME_LINES - 1 : 1;
    draw_head(&s, run);
    draw_titles(&s, span);
    for (size_t i = 0; i < shown && i < rows; i++)
        draw_row(&s, run, json_array_get(grid, i), span);
    if (shown < rows)
        say(&s, NULL, "… and %zu more", rows - shown);
    draw_foot(&s, run);
    return s.lines;
}
