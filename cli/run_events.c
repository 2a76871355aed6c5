/* SPDX-License-Identifier: Apache-2.0
 * How events change what is known of a run. */
#include <string.h>

#include "cli/run_grid.h"
#include "core/text.h"
#include "core/util.h"

static json_t *row_of(const json_t *run, const json_t *data)
{
    json_int_t n = json_integer_value(json_object_get(data, "trajectory"));
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(run, "grid"), i,
                       row) if (json_integer_value(json_object_get(row, "trajectory")) ==
                                n) return row;
    return NULL;
}

/* Copies members that the event has. */
static void copy(json_t *to, const json_t *from, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        json_t *value = json_object_get(from, names[i]);
        if (value)
            json_object_set(to, names[i], value);
    }
}
#define COPY(to, from, ...)                                                                        \
    copy(to, from, (const char *const[]){__VA_ARGS__},                                             \
         sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* The place of the trajectory, made if it stands nowhere. */
static json_t *place_of(json_t *row)
{
    json_t *at = json_object_get(row, "at");
    if (json_is_object(at))
        return at;
    json_object_set_new(row, "at", at = json_object());
    return at;
}

static void on_turn(json_t *row, const json_t *data)
{
    json_t *at = json_object();
    COPY(at, data, "n", "try");
    json_object_set_new(at, "state", json_string("call"));
    json_object_set_new(row, "at", at);
}

static void add_number(json_t *to, const char *name, const json_t *more)
{
    json_t *have = json_object_get(to, name);
    if (json_is_integer(more) && !json_is_real(have))
        json_object_set_new(to, name,
                            json_integer(json_integer_value(have) + json_integer_value(more)));
    else if (json_is_number(more))
        json_object_set_new(to, name, json_real(json_number_value(have) + json_number_value(more)));
}

static void on_answer(json_t *run, json_t *row, const json_t *data)
{
    json_t *spent = json_object_get(run, "spent"), *one = json_integer(1);
    add_number(spent, "calls", one);
    add_number(spent, "tokens_out", json_object_get(data, "tokens_out"));
    add_number(spent, "usd", json_object_get(data, "usd"));
    json_decref(one);
    COPY(place_of(row), data, "tokens_out", "usd");
}

/* A turn has its label: the same turn of the row is replaced, as a try that did not count is. */
static void on_feedback(json_t *run, json_t *row, const json_t *data)
{
    json_t *turns = json_object_get(row, "turns"), *turn = json_object(), *old;
    const json_t *best = json_object_get(run, "best");
    double speedup = json_number_value(json_object_get(data, "speedup"));
    size_t i;
    COPY(turn, json_object_get(row, "at"), "tokens_out", "usd", "submission");
    COPY(turn, data, "n", "try", "counted", "label", "correct", "inst", "speedup");
    json_array_foreach(
        turns, i, old) if (json_equal(json_object_get(old, "n"), json_object_get(turn, "n"))) break;
    if (i < json_array_size(turns))
        json_array_set(turns, i, turn);
    else
        json_array_append(turns, turn);
    json_object_set_new(row, "at", json_null());
    if (json_is_true(json_object_get(data, "correct")) &&
        speedup > json_number_value(json_object_get(best, "speedup"))) {
        json_t *now = json_object();
        COPY(now, turn, "n", "speedup", "submission");
        COPY(now, data, "trajectory");
        json_object_set_new(run, "best", now);
    }
    json_decref(turn);
}

void grid_apply(json_t *run, const char *kind, const json_t *data)
{
    if (strcmp(kind, "state") == 0) {
        COPY(run, data, "state", "reason");
        return;
    }
    json_t *row = row_of(run, data);
    if (!row)
        return;
    if (strcmp(kind, "turn") == 0) {
        on_turn(row, data);
    } else if (strcmp(kind, "tokens") == 0) {
        COPY(place_of(row), data, "text", "reasoning");
    } else if (strcmp(kind, "answer") == 0) {
        on_answer(run, row, data);
    } else if (strcmp(kind, "submitted") == 0) {
        COPY(place_of(row), data, "submission");
        json_object_set_new(place_of(row), "state", json_string("evaluate"));
    } else if (strcmp(kind, "stage") == 0) {
        COPY(place_of(row), data, "stage");
    } else if (strcmp(kind, "feedback") == 0) {
        on_feedback(run, row, data);
    } else if (strcmp(kind, "trajectory") == 0) {
        COPY(row, data, "state", "reason", "detail");
        json_object_set_new(row, "at", json_null());
    }
}

void grid_event_line(struct buf *out, const char *kind, const json_t *data)
{
    static const struct {
        const char *before, *name;
    } parts[] = {{" ", "stage"},
                 {" ", "state"},
                 {" ", "reason"},
                 {" ", "label"},
                 {" ", "speedup"},
                 {" ", "finish"},
                 {" tokens ", "tokens_out"},
                 {" usd ", "usd"},
                 {" submission ", "submission"},
                 {": ", "detail"}};
    size_t begin = out->len;
    const json_t *trajectory = json_object_get(data, "trajectory"), *n = json_object_get(data, "n");
    if (trajectory)
        buf_addf(out, "t%lld ", (long long)json_integer_value(trajectory));
    if (n)
        buf_addf(out, "n%lld ", (long long)json_integer_value(n));
    buf_adds(out, kind);
    if (json_is_false(json_object_get(data, "counted")))
        buf_adds(out, " (not counted)");
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        const json_t *v = json_object_get(data, parts[i].name);
        if (json_is_string(v))
            buf_addf(out, "%s%s", parts[i].before, json_string_value(v));
        else if (json_is_integer(v))
            buf_addf(out, "%s%lld", parts[i].before, (long long)json_integer_value(v));
        else if (json_is_real(v))
            buf_addf(out, "%s%.4g", parts[i].before, json_real_value(v));
    }
    if (!out->failed)
        text_sanitize(out->data + begin);
}
