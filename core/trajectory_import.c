// SPDX-License-Identifier: Apache-2.0
// One run out of a file: its documents are read one behind the other, however lines are broken.
#include <string.h>

#include "core/trajectory_parts.h"
#include "core/util.h"

enum { PROMPT_MOST = 4 * MIB };

static const char *const reasons[] = {"turns",  "target",   "context", "cancelled",
                                      "budget", "provider", "infra",   NULL};
static const char *const states[] = {"running", "done", NULL};

/* Of info.ptxbench, less `run` and `others`. */
static const struct json_field own_fields[] = {
    {.name = "trajectory",
     .kind = JSON_INT64,
     .required = true,
     .min = 0,
     .max = RUN_TRAJECTORIES - 1},
    {.name = "variant", .kind = JSON_INT64, .required = true, .min = 0, .max = RUN_VARIANTS - 1},
    {.name = "variant_name", .kind = JSON_TEXT, .min = 1, .max = LIMIT_NAME},
    {.name = "tokens", .kind = JSON_INT64, .min = 0, .max = INT64_C(1) << 31},
    {.name = "estimated", .kind = JSON_YESNO},
    {.name = "state", .kind = JSON_CHOICE, .required = true, .choices = states},
    {.name = "reason", .kind = JSON_CHOICE, .choices = reasons},
    {.name = "detail", .kind = JSON_TEXT, .min = 0, .max = 4096},
};

/* An import under way. */
struct import {
    const struct registry *registry;
    const struct trajectory_import *given;
    struct faults *faults;
    json_t *run; /* NULL before the first document */
    json_t *prompts, *trajectories;
    size_t turns; /* of the longest trajectory */
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

/* ---- prompts ---- */

static json_t *find_prompt(const struct import *in, const char *member, const json_t *value)
{
    size_t i;
    json_t *p;
    json_array_foreach(in->prompts, i,
                       p) if (json_equal(json_object_get(p, member), value)) return p;
    return NULL;
}

/* Of a file that names no variant: trajectories that were sent the same are of the same one. */
static json_t *find_same(const struct import *in, const json_t *system, const json_t *task)
{
    size_t i;
    json_t *p;
    json_array_foreach(in->prompts, i,
                       p) if (json_equal(json_object_get(p, "system"), system) &&
                              json_equal(json_object_get(p, "task"), task)) return p;
    return NULL;
}

/* The variant of a document, which becomes a new one if it is the first of its kind. */
static json_int_t read_prompt(struct import *in, const json_t *own, const json_t *messages,
                              const char *path)
{
    static const char *const roles[] = {"system", "user"};
    json_t *text[2];
    struct json_path list = json_at(path, "messages");
    for (size_t i = 0; i < 2; i++) {
        struct json_path at = json_at_index(list.text, i);
        const json_t *message = json_array_get(messages, i);
        const char *role = text_at(message, "role");
        if (!role || strcmp(role, roles[i]) != 0)
            faults_add(in->faults, json_at(at.text, "role").text, "must be %s", roles[i]);
        text[i] = trajectory_content(message, PROMPT_MOST, at.text, in->faults);
    }
    json_t *number = json_object_get(own, "variant");
    json_t *prompt = own ? find_prompt(in, "variant", number) : find_same(in, text[0], text[1]);
    json_int_t variant =
        own ? json_integer_value(number) : (json_int_t)json_array_size(in->prompts);
    if (prompt && own &&
        (!json_equal(json_object_get(prompt, "system"), text[0]) ||
         !json_equal(json_object_get(prompt, "task"), text[1])))
        faults_add(in->faults, list.text,
                   "begins otherwise than another trajectory of variant %lld", (long long)variant);
    else if (prompt)
        variant = json_integer_value(json_object_get(prompt, "variant"));
    else if (variant >= RUN_VARIANTS)
        faults_add(in->faults, list.text, "begins in a %dth way: a run has %d variants",
                   RUN_VARIANTS + 1, RUN_VARIANTS);
    else if (text[0] && text[1])
        json_array_append_new(
            in->prompts,
            json_pack("{s:I, s:o, s:O, s:O, s:I, s:b}", "variant", variant, "name",
                      has(own, "variant_name") ? json_incref(json_object_get(own, "variant_name"))
                                               : json_sprintf("imported-%lld", (long long)variant),
                      "system", text[0], "task", text[1], "tokens",
                      json_integer_value(json_object_get(own, "tokens")), "estimated",
                      !json_is_false(json_object_get(own, "estimated"))));
    json_decref(text[0]);
    json_decref(text[1]);
    return variant;
}

/* ---- trajectories ---- */

/* Why the paper's agent ended. */
static const char *reason_of(const json_t *info)
{
    const char *status = text_at(info, "exit_status");
    return !status                             ? "cancelled"
           : !strcmp(status, "Submitted")      ? "target"
           : !strcmp(status, "LimitsExceeded") ? "turns"
           : strstr(status, "Context")         ? "context"
                                               : "provider";
}

static void set_end(json_t *trajectory, const json_t *info, const json_t *own, const char *path,
                    struct faults *faults)
{
    const char *state = text_at(own, "state");
    bool running = state && !strcmp(state, "running");
    json_t *reason, *detail = json_incref(json_object_get(own, "detail"));
    if (own && running) {
        reason = json_string("cancelled");
        json_decref(detail);
        detail = json_string("was not done when it was exported");
    } else if (own) {
        reason = json_incref(json_object_get(own, "reason"));
        if (json_is_null(reason))
            faults_add(faults, json_at(path, "reason").text, "is required of what is done");
    } else {
        const char *status = text_at(info, "exit_status");
        reason = json_string(reason_of(info));
        detail = json_sprintf("%.200s", status ? status : "no exit status");
    }
    json_object_set_new(trajectory, "reason", reason);
    json_object_set_new(trajectory, "detail", detail);
}

static void read_trajectory(struct import *in, const json_t *document, size_t line,
                            const char *path)
{
    struct json_path info_at = json_at(path, "info"), own_at = json_at(info_at.text, "ptxbench");
    const json_t *info = json_object_get(document, "info");
    const json_t *messages = json_object_get(document, "messages");
    const json_t *told = json_object_get(info, "ptxbench"), *t;
    json_t *own =
        told ? trajectory_checked(told, own_fields, COUNT_OF(own_fields), own_at.text, in->faults)
             : NULL;
    size_t turns = 0, i;
    json_int_t variant = read_prompt(in, own, messages, path);
    json_t *number =
        own ? json_incref(json_object_get(own, "trajectory")) : json_integer((json_int_t)line);
    json_array_foreach(in->trajectories, i,
                       t) if (json_equal(json_object_get(t, "trajectory"), number))
        faults_add(in->faults, json_at(own_at.text, "trajectory").text,
                   "is that of another document too");
    json_t *trajectory = json_pack("{s:o, s:I}", "trajectory", number, "variant", variant);
    set_end(trajectory, info, own, own_at.text, in->faults);
    json_object_set_new(
        trajectory, "steps",
        trajectory_steps(messages, json_object_get(told, "others"), path, &turns, in->faults));
    json_array_append_new(in->trajectories, trajectory);
    in->turns = turns > in->turns ? turns : in->turns;
    json_decref(own);
}

static void read_document(struct import *in, const json_t *document, size_t line, const char *path)
{
    static const char layout[] = "mini-swe-agent-1";
    const char *format = text_at(document, "trajectory_format");
    const json_t *info = json_object_get(document, "info");
    const json_t *told = json_object_get(info, "ptxbench");
    if (!json_is_object(document) || !json_is_array(json_object_get(document, "messages"))) {
        faults_add(in->faults, path, "must be an object with messages");
        return;
    }
    if (format && strncmp(format, layout, strlen(layout)) != 0)
        faults_add(in->faults, json_at(path, "trajectory_format").text,
                   "must be mini-swe-agent-1.1, not '%.64s'", format);
    json_t *run = trajectory_run(in->registry, in->given, info, path, in->faults);
    if (told && json_integer_value(json_object_get(told, "schema")) != 1)
        faults_add(in->faults, json_at(path, "info.ptxbench.schema").text,
                   "must be 1: nothing newer is known here");
    if (in->run && !json_equal(in->run, run))
        faults_add(in->faults, json_at(path, "info").text,
                   "is of another run than the first document: import each run on its own");
    if (in->run)
        json_decref(run);
    else
        in->run = run;
    read_trajectory(in, document, line, path);
}

/* ---- the whole ---- */

/* The documents of a text, however lines are broken. New reference. */
static json_t *split(const char *text, size_t len, struct faults *faults)
{
    json_t *documents = json_array();
    for (size_t at = 0;;) {
        json_error_t error;
        while (at < len && strchr(" \t\r\n", text[at]) && text[at])
            at++;
        if (at == len)
            break;
        if (json_array_size(documents) == RUN_TRAJECTORIES) {
            faults_add(faults, "$", "are more than %d documents", RUN_TRAJECTORIES);
            break;
        }
        json_t *one =
            json_loadb(text + at, len - at,
                       JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DISABLE_EOF_CHECK, &error);
        if (!one) {
            faults_add(faults, json_at_index("$", json_array_size(documents)).text,
                       "is not JSON: line %d, column %d: %s", error.line, error.column, error.text);
            break;
        }
        json_array_append_new(documents, one);
        at += (size_t)error.position;
    }
    if (!json_array_size(documents) && !faults_any(faults))
        faults_add(faults, "$", "is empty");
    return documents;
}

static json_int_t largest_variant(const json_t *trajectories)
{
    size_t counts[RUN_VARIANTS] = {0}, most = 1, i;
    const json_t *t;
    json_array_foreach(trajectories, i, t)
    {
        json_int_t v = json_integer_value(json_object_get(t, "variant"));
        if (v >= 0 && v < RUN_VARIANTS && ++counts[v] > most)
            most = counts[v];
    }
    return (json_int_t)most;
}

static json_t *finish(struct import *in)
{
    json_int_t told = json_integer_value(json_object_get(in->run, "turns"));
    const char *id = text_at(in->run, "id");
    json_t *run = in->run;
    if (has(run, "turns") && told < (json_int_t)in->turns)
        faults_add(in->faults, "$.info.ptxbench.run.turns", "is %lld, but there are %zu turns",
                   (long long)told, in->turns);
    if (!has(run, "turns"))
        json_object_set_new(run, "turns", json_integer(in->turns ? (json_int_t)in->turns : 1));
    if (!has(run, "per_variant"))
        json_object_set_new(run, "per_variant", json_integer(largest_variant(in->trajectories)));
    json_object_set_new(run, "source",
                        id ? json_sprintf("imported: run %s", id)
                           : json_string("imported: mini-swe-agent 1.1"));
    json_object_set_new(run, "visibility",
                        json_string(in->given->is_private ? "private" : "public"));
    return json_pack("{s:O, s:O, s:O}", "run", run, "prompts", in->prompts, "trajectories",
                     in->trajectories);
}

bool trajectory_import(const struct registry *r, const char *text, size_t len,
                       const struct trajectory_import *given, json_t **out, struct faults *faults)
{
    size_t before = json_array_size(faults->items) + faults->dropped, i;
    struct import in = {.registry = r,
                        .given = given,
                        .faults = faults,
                        .prompts = json_array(),
                        .trajectories = json_array()};
    json_t *documents = NULL, *document;
    *out = NULL;
    if (len > TRAJECTORY_BYTES)
        faults_add(faults, "$", "is over %d bytes", TRAJECTORY_BYTES);
    else
        documents = split(text, len, faults);
    json_array_foreach(documents, i, document)
    {
        bool several = json_array_size(documents) > 1;
        struct json_path path = json_at_index("$", i);
        read_document(&in, document, i, several ? path.text : "$");
    }
    json_t *made = in.run ? finish(&in) : NULL;
    bool good = made && json_array_size(faults->items) + faults->dropped == before;
    if (good)
        *out = json_incref(made);
    else if (json_array_size(faults->items) + faults->dropped == before)
        faults_add(faults, "$", "out of memory");
    json_decref(made);
    json_decref(documents);
    json_decref(in.run);
    json_decref(in.prompts);
    json_decref(in.trajectories);
    return good;
}
