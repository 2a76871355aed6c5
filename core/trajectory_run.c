// SPDX-License-Identifier: Apache-2.0
// The run that a file tells of, checked name by name and number by number.
#include <string.h>

#include "core/text.h"
#include "core/trajectory_parts.h"
#include "core/util.h"

enum { NAME_MOST = 2 * LIMIT_NAME - 1 };

static const struct json_field run_fields[] = {
    {.name = "id", .kind = JSON_TEXT, .min = UUID_TEXT - 1, .max = UUID_TEXT - 1},
    {.name = "name", .kind = JSON_TEXT, .min = 0, .max = LIMIT_NAME},
    {.name = "problem", .kind = JSON_TEXT, .min = 1, .max = LIMIT_NAME},
    {.name = "workload", .kind = JSON_TEXT, .min = 1, .max = LIMIT_NAME},
    {.name = "arch", .kind = JSON_TEXT, .min = 1, .max = LIMIT_NAME},
    {.name = "device", .kind = JSON_TEXT, .min = 1, .max = LIMIT_DEVICE},
    {.name = "provider", .kind = JSON_TEXT, .min = 1, .max = LIMIT_NAME},
    {.name = "model", .kind = JSON_TEXT, .min = 1, .max = NAME_MOST},
    {.name = "condition", .kind = JSON_TEXT, .min = 0, .max = NAME_MOST},
    {.name = "params", .kind = JSON_MEMBER},
    {.name = "history", .kind = JSON_TEXT, .min = 1, .max = LIMIT_NAME},
    {.name = "feedback", .kind = JSON_TEXT, .min = 1, .max = LIMIT_NAME},
    {.name = "per_variant", .kind = JSON_INT64, .min = 1, .max = RUN_TRAJECTORIES},
    {.name = "turns", .kind = JSON_INT64, .min = 1, .max = RUN_TURNS},
    {.name = "target_speedup", .kind = JSON_DOUBLE},
    {.name = "budget", .kind = JSON_MEMBER},
    {.name = "created_at", .kind = JSON_TEXT, .min = 1, .max = 64},
    {.name = "finished_at", .kind = JSON_TEXT, .min = 1, .max = 64},
};

static const struct json_field budget_fields[] = {
    {.name = "tokens", .kind = JSON_INT64, .min = 0, .max = INT64_C(1) << 53},
    {.name = "usd", .kind = JSON_DOUBLE},
};

static const char *text_at(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

static bool has(const json_t *object, const char *name)
{
    const json_t *v = json_object_get(object, name);
    return v && !json_is_null(v);
}

/* Only what a run's params may be: others (addresses, keys) are nobody's business here. */
static json_t *known_params(const json_t *told)
{
    static const char *const names[] = {"temperature", "top_p", "effort", "max_tokens"};
    json_t *kept = json_object();
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct faults faults = {0};
        json_t *one = json_object();
        json_object_set(one, names[i], json_object_get(told, names[i]));
        if (run_params_check(one, "$", &faults))
            json_object_update(kept, one);
        json_decref(one);
        faults_release(&faults);
    }
    return kept;
}

/* Of a file of the paper's agent: what its config says. */
static json_t *run_of_config(const json_t *info)
{
    const json_t *config = json_object_get(info, "config");
    const json_t *model = json_object_get(config, "model");
    json_t *run = json_object();
    json_object_set(run, "model", json_object_get(model, "model_name"));
    json_object_set_new(run, "params", known_params(json_object_get(model, "model_kwargs")));
    return run;
}

static void fill(json_t *run, const char *name, const char *given)
{
    if (given && *given && !has(run, name))
        json_object_set_new(run, name, json_string(given));
}

static bool is_plain(const char *s)
{
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
    return !s[n];
}

static void check_run_names(const json_t *run, const char *path, struct faults *faults)
{
    static const char *const plain[] = {"problem", "workload", "arch", "device", "provider"};
    static const char *const lines[] = {"name", "model", "condition"};
    const char *id = text_at(run, "id"), *history = text_at(run, "history");
    const char *style = text_at(run, "feedback");
    for (size_t i = 0; i < COUNT_OF(plain); i++)
        if (has(run, plain[i]) && text_at(run, plain[i]) && !is_plain(text_at(run, plain[i])))
            faults_add(faults, json_at(path, plain[i]).text,
                       "must be a name of letters, digits, '.', '_' and '-'");
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        char line[2 * LIMIT_NAME];
        const char *text = text_at(run, lines[i]);
        snprintf(line, sizeof(line), "%s", text ? text : "");
        text_sanitize(line);
        if (text && strlen(text) < sizeof(line) && strcmp(line, text) != 0)
            faults_add(faults, json_at(path, lines[i]).text, "must be one line of printable text");
    }
    if (id && !uuid_is_valid(id))
        faults_add(faults, json_at(path, "id").text, "must be the id of a run");
    if (history && history_find(history) < 0)
        faults_add(faults, json_at(path, "history").text, "'%.64s' is no history policy", history);
    if (style && feedback_style_find(style) < 0)
        faults_add(faults, json_at(path, "feedback").text, "'%.64s' is no style of feedback",
                   style);
}

static void check_run_numbers(json_t *run, const char *path, struct faults *faults)
{
    const json_t *target = json_object_get(run, "target_speedup");
    struct json_path budget = json_at(path, "budget");
    trajectory_check_time(run, "created_at", path, faults);
    trajectory_check_time(run, "finished_at", path, faults);
    if (json_is_number(target) && !(json_number_value(target) > 0))
        faults_add(faults, json_at(path, "target_speedup").text, "must be over 0");
    if (has(run, "params"))
        run_params_check(json_object_get(run, "params"), json_at(path, "params").text, faults);
    if (json_is_object(json_object_get(run, "budget")))
        json_object_set_new(run, "budget",
                            trajectory_checked(json_object_get(run, "budget"), budget_fields,
                                               COUNT_OF(budget_fields), budget.text, faults));
}

json_t *trajectory_run(const struct registry *r, const struct trajectory_import *g,
                       const json_t *info, const char *path, struct faults *faults)
{
    struct json_path at = json_at(path, "info"), own = json_at(at.text, "ptxbench");
    struct json_path run_at = json_at(own.text, "run");
    const json_t *told = json_object_get(info, "ptxbench");
    json_t *source = told ? json_incref(json_object_get(told, "run")) : run_of_config(info);
    json_t *run = trajectory_checked(source, run_fields, COUNT_OF(run_fields), run_at.text, faults);
    json_decref(source);
    const char *const values[][2] = {{"problem", g->problem}, {"workload", g->workload},
                                     {"arch", g->arch},       {"device", g->device},
                                     {"model", g->model},     {"condition", g->condition},
                                     {"name", g->name}};
    for (size_t i = 0; i < COUNT_OF(values); i++)
        fill(run, values[i][0], values[i][1]);
    const char *problem = text_at(run, "problem");
    const struct problem *known = problem ? problems_find(&r->problems, problem) : NULL;
    if (known && known->paper_workload)
        fill(run, "workload", known->paper_workload->name);
    check_run_names(run, run_at.text, faults);
    check_run_numbers(run, run_at.text, faults);
    for (size_t i = 0; i < COUNT_OF(values); i++)
        if ((!strcmp(values[i][0], "problem") || !strcmp(values[i][0], "model")) &&
            !has(run, values[i][0]))
            faults_add(faults, json_at(run_at.text, values[i][0]).text,
                       "is not told: say it with the query parameter %s", values[i][0]);
    return run;
}
