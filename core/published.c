// SPDX-License-Identifier: Apache-2.0
#include "core/published.h"

#include <errno.h>
#include <float.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/csv_read.h"
#include "core/turn_metrics.h"
#include "core/util.h"

enum column {
    MODEL,
    GPU,
    DEFINITION,
    RUN,
    TRAJECTORY,
    TURN,
    REASONING,
    OUTCOME,
    SPEEDUP,
    TARGET,
    COLUMNS
};

static const char *const column_names[COLUMNS] = {
    "model",   "gpu",     "definition",         "run", "trajectory", "turn", "reasoning_tokens",
    "outcome", "speedup", "target_instruction",
};

struct importing {
    const json_t *rules;
    struct csv_reader csv;
    size_t at[COLUMNS];           /* where each column stands */
    json_t *cells, *runs, *turns; /* owned; by key and by name until they become arrays */
    int64_t per_variant;
};

static const char *text_of(const json_t *object, const char *member)
{
    return json_string_value(json_object_get(object, member));
}

static enum err refuse(const struct importing *m, struct fault *f, const char *what,
                       const char *value)
{
    return fault_set(f, ERR_INVALID, "cannot read line %zu: %s '%.64s'", m->csv.line, what, value);
}

static const char *field(const struct importing *m, enum column c)
{
    return m->csv.fields[m->at[c]];
}

static enum err read_heading(struct importing *m, struct fault *f)
{
    bool got;
    enum err e = csv_next(&m->csv, &got, f);
    for (int c = 0; c < COLUMNS && e == ERR_NONE; c++) {
        m->at[c] = CSV_FIELDS;
        for (size_t i = 0; got && i < m->csv.count; i++)
            if (!strcmp(m->csv.fields[i], column_names[c]))
                m->at[c] = i;
        if (m->at[c] == CSV_FIELDS)
            e = fault_set(f, ERR_INVALID, "cannot read the table: it has no column %s",
                          column_names[c]);
    }
    return e;
}

static bool whole_number(const char *text, long most, long *out)
{
    char *end;
    errno = 0;
    *out = strtol(text, &end, 10);
    return *text && !*end && !errno && *out >= 0 && *out <= most;
}

/* The rule for a run: the first whose pattern matches. */
static const json_t *selection_of(const struct importing *m, const char *run)
{
    size_t i;
    json_t *rule;
    json_array_foreach(json_object_get(m->rules, "selections"), i, rule)
    {
        const char *pattern = text_of(rule, "run");
        if (pattern && fnmatch(pattern, run, 0) == 0)
            return rule;
    }
    return NULL;
}

/* The entry of "cells" that holds the variant, or NULL. */
static const json_t *cell_rule(const json_t *selection, long variant)
{
    size_t i, j;
    json_t *cell, *v;
    json_array_foreach(json_object_get(selection, "cells"), i, cell)
    {
        const json_t *variants = json_object_get(cell, "variants");
        if (!variants)
            return cell;
        json_array_foreach(variants, j, v) if (json_integer_value(v) == variant) return cell;
    }
    return NULL;
}

/* What the paper's name means to us, and the name itself where the rules do not say. */
static const char *named(const json_t *entry, const char *member, const char *fallback)
{
    const char *text = json_is_string(entry) ? json_string_value(entry) : text_of(entry, member);
    return text ? text : fallback;
}

/* Adds the cell of the current row if it is new; its key. */
static const char *cell_key(struct importing *m, const json_t *rule)
{
    const json_t *model = json_object_get(json_object_get(m->rules, "models"), field(m, MODEL));
    const json_t *definition =
        json_object_get(json_object_get(m->rules, "definitions"), field(m, DEFINITION));
    const json_t *gpu = json_object_get(json_object_get(m->rules, "gpus"), field(m, GPU));
    const char *condition = named(rule, "condition", named(model, "condition", ""));
    char key[512];
    snprintf(key, sizeof(key), "%.128s|%.32s|%.128s|%.128s", named(model, "model", field(m, MODEL)),
             field(m, GPU), field(m, DEFINITION), condition);
    if (!json_object_get(m->cells, key))
        json_object_set_new(m->cells, key,
                            json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "key", key, "model",
                                      named(model, "model", field(m, MODEL)), "device_model",
                                      named(gpu, "", field(m, GPU)), "problem",
                                      named(definition, "problem", field(m, DEFINITION)),
                                      "workload", named(definition, "workload", ""), "condition",
                                      condition));
    return text_of(json_object_get(m->cells, key), "key");
}

static enum err add_trajectory(struct importing *m, json_t *run, const char *number, long n,
                               struct fault *f)
{
    const char *name = field(m, RUN);
    const json_t *selection = selection_of(m, name);
    if (!selection)
        return refuse(m, f, "no rule selects run", name);
    long variant = n / m->per_variant;
    const json_t *rule = cell_rule(selection, variant);
    const char *why = text_of(selection, "why");
    json_t *trajectory =
        rule ? json_pack("{s:I, s:I, s:s}", "n", (json_int_t)n, "variant", (json_int_t)variant,
                         "cell", cell_key(m, rule))
             : json_pack("{s:I, s:I, s:s}", "n", (json_int_t)n, "variant", (json_int_t)variant,
                         "left_out", why ? why : "not selected");
    json_object_set_new(run, number, trajectory);
    return ERR_NONE;
}

static enum err add_turn(struct importing *m, struct fault *f)
{
    long trajectory, turn, tokens = 0, target = 0;
    const char *label = label_of_title(field(m, OUTCOME)), *speedup = field(m, SPEEDUP);
    bool correct = label && !strcmp(label, "correct");
    char *end = NULL;
    double value = strtod(speedup, &end);
    if (!label)
        return refuse(m, f, "there is no outcome", field(m, OUTCOME));
    if (!whole_number(field(m, TRAJECTORY), 100000, &trajectory) ||
        !whole_number(field(m, TURN), 1000, &turn))
        return refuse(m, f, "not a trajectory and turn:", field(m, TRAJECTORY));
    if (*field(m, REASONING) && !whole_number(field(m, REASONING), INT32_MAX, &tokens))
        return refuse(m, f, "not a number of tokens:", field(m, REASONING));
    if (*field(m, TARGET) && !whole_number(field(m, TARGET), 1, &target))
        return refuse(m, f, "target_instruction is not 0 or 1:", field(m, TARGET));
    if (*speedup && (*end || !(value > 0) || value > DBL_MAX))
        return refuse(m, f, "not a speedup:", speedup);
    json_t *run = json_object_get(m->runs, field(m, RUN));
    if (!run) {
        run = json_object();
        json_object_set_new(m->runs, field(m, RUN), run);
    }
    if (!json_object_get(run, field(m, TRAJECTORY))) {
        enum err e = add_trajectory(m, run, field(m, TRAJECTORY), trajectory, f);
        if (e != ERR_NONE)
            return e;
    }
    json_t *row = json_array();
    json_array_append_new(row, json_string(field(m, RUN)));
    json_array_append_new(row, json_integer(trajectory));
    json_array_append_new(row, json_integer(turn));
    json_array_append_new(row, json_string(label));
    json_array_append_new(row, json_boolean(correct));
    json_array_append_new(row, *field(m, TARGET) ? json_boolean(target == 1) : json_null());
    json_array_append_new(row, correct && *speedup ? json_real(value) : json_null());
    json_array_append_new(row, *field(m, REASONING) ? json_integer(tokens) : json_null());
    json_array_append_new(m->turns, row);
    return ERR_NONE;
}

/* The key of the only cell that the trajectories of a run are in. */
static const char *only_cell(const json_t *run)
{
    const char *key = NULL, *number;
    json_t *trajectory;
    json_object_foreach((json_t *)run, number, trajectory) if (!key) key =
        text_of(trajectory, "cell");
    return key;
}

/* A rule for a run that the table does not have is about another table. */
static json_t *overrides_of(const struct importing *m)
{
    json_t *out = json_array(), *rule;
    size_t i;
    json_array_foreach(json_object_get(m->rules, "overrides"), i, rule)
    {
        const char *name = text_of(rule, "run");
        const char *key = name ? only_cell(json_object_get(m->runs, name)) : NULL;
        if (!key)
            continue;
        json_t *override = json_deep_copy(rule);
        json_object_del(override, "run");
        json_object_set_new(override, "cell", json_string(key));
        json_array_append_new(out, override);
    }
    return out;
}

static json_t *values_of(json_t *object)
{
    json_t *out = json_array(), *value;
    const char *key;
    json_object_foreach(object, key, value) json_array_append(out, value);
    return out;
}

static json_t *runs_of(const struct importing *m)
{
    json_t *out = json_array(), *run;
    const char *name;
    json_object_foreach(m->runs, name, run) json_array_append_new(
        out, json_pack("{s:s, s:o}", "name", name, "trajectories", values_of(run)));
    return out;
}

json_t *published_document(const json_t *rules, char *csv, size_t len, struct fault *f)
{
    struct importing m = {
        .rules = rules, .cells = json_object(), .runs = json_object(), .turns = json_array()};
    m.per_variant = json_integer_value(json_object_get(rules, "trajectories_per_variant"));
    enum err e =
        m.per_variant > 0 && json_is_integer(json_object_get(rules, "turns_per_trajectory"))
            ? csv_open(&m.csv, csv, len, f)
            : fault_set(f, ERR_INVALID, "the rules do not say how many turns and trajectories");
    if (e == ERR_NONE)
        e = read_heading(&m, f);
    size_t width = m.csv.count;
    for (bool got = true; e == ERR_NONE && got;) {
        e = csv_next(&m.csv, &got, f);
        if (e == ERR_NONE && got && m.csv.count != width)
            e = refuse(&m, f,
                       "the heading has another number of fields than this row, which begins",
                       m.csv.fields[0]);
        if (e == ERR_NONE && got)
            e = add_turn(&m, f);
    }
    json_t *document = NULL;
    if (e == ERR_NONE)
        document =
            json_pack("{s:O?, s:O, s:o, s:o, s:O, s:o}", "source", json_object_get(rules, "source"),
                      "turns_per_trajectory", json_object_get(rules, "turns_per_trajectory"),
                      "cells", values_of(m.cells), "runs", runs_of(&m), "turns", m.turns,
                      "overrides", overrides_of(&m));
    json_decref(m.cells);
    json_decref(m.runs);
    json_decref(m.turns);
    return document;
}
