// SPDX-License-Identifier: Apache-2.0
// Reading by field table; then each name is looked up, each default filled in and each number
// bounded, so that one answer holds every fault.
#include "core/run.h"

#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/lookup.h"
#include "core/text.h"
#include "core/util.h"

enum {
    DEFAULT_VARIANTS = 3,
    VARIANTS_LISTED = 400,
};

#define TOKENS_MOST INT64_C(1000000000000)

static const double usd_most = 1e6, target_least = 0.01, target_most = 1000;

static const char *const histories[] = {"full", "latest-pair", "single-user", NULL};
static const char *const styles[] = {"full", "paper", NULL}; /* enum feedback_style */
static const char *const visibilities[] = {"public", "private", NULL};
static const char *const efforts[] = {"none", "low", "medium", "high", "xhigh", NULL};

struct body {
    const char *problem, *workload, *arch, *device, *name, *provider, *model, *condition;
    json_t *variants, *params, *budget;
    int64_t trajectories, turns;
    double target_speedup;
    int history, feedback, visibility;
};

#define FIELD(f) .name = #f, .offset = offsetof(struct body, f)

static const struct json_field body_fields[] = {
    {FIELD(problem), .kind = JSON_TEXT, .required = true, .min = 1, .max = LIMIT_NAME},
    {FIELD(workload), .kind = JSON_TEXT, .min = 1, .max = LIMIT_NAME},
    {FIELD(arch), .kind = JSON_TEXT, .required = true, .min = 1, .max = LIMIT_NAME},
    {FIELD(device), .kind = JSON_TEXT, .min = 1, .max = LIMIT_DEVICE},
    {FIELD(name), .kind = JSON_TEXT, .min = 0, .max = LIMIT_NAME},
    {FIELD(provider), .kind = JSON_TEXT, .required = true, .min = 1, .max = LIMIT_NAME},
    {FIELD(model), .kind = JSON_TEXT, .required = true, .min = 1, .max = 2 * LIMIT_NAME - 1},
    {FIELD(condition), .kind = JSON_TEXT, .min = 0, .max = 2 * LIMIT_NAME - 1},
    {FIELD(variants), .kind = JSON_LIST, .min = 1, .max = RUN_VARIANTS},
    {FIELD(trajectories), .kind = JSON_INT64, .min = 1, .max = RUN_TRAJECTORIES},
    {FIELD(turns), .kind = JSON_INT64, .min = 1, .max = RUN_TURNS},
    {FIELD(target_speedup), .kind = JSON_DOUBLE},
    {FIELD(history), .kind = JSON_CHOICE, .choices = histories},
    {FIELD(feedback), .kind = JSON_CHOICE, .choices = styles},
    {FIELD(params), .kind = JSON_MEMBER},
    {FIELD(budget), .kind = JSON_MEMBER},
    {FIELD(visibility), .kind = JSON_CHOICE, .choices = visibilities},
};

struct params {
    double temperature, top_p;
    int effort;
    int64_t max_tokens;
};

/* The members of a run's params, all of them: each is a number or one of a few words. */
static const struct json_field params_fields[] = {
    {.name = "temperature", .kind = JSON_DOUBLE, .offset = offsetof(struct params, temperature)},
    {.name = "top_p", .kind = JSON_DOUBLE, .offset = offsetof(struct params, top_p)},
    {.name = "effort",
     .kind = JSON_CHOICE,
     .offset = offsetof(struct params, effort),
     .choices = efforts},
    {.name = "max_tokens",
     .kind = JSON_INT64,
     .offset = offsetof(struct params, max_tokens),
     .min = 1,
     .max = 10000000},
};

static const struct json_field budget_fields[] = {
    {.name = "tokens",
     .kind = JSON_INT64,
     .offset = offsetof(struct run_budget, tokens),
     .min = 0,
     .max = TOKENS_MOST},
    {.name = "usd", .kind = JSON_DOUBLE, .offset = offsetof(struct run_budget, usd)},
};

/* ---- names of providers and models ---- */

static bool is_provider(const char *s)
{
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
    return n && !s[n];
}

/* Providers write these with slashes, colons and what not, but on one line without blanks. */
static bool is_model(const char *s)
{
    for (; *s; s++)
        if (*s <= ' ' || *s > '~')
            return false;
    return true;
}

static void check_names(const struct body *in, struct faults *faults)
{
    if (in->provider && !is_provider(in->provider))
        faults_add(faults, "$.provider",
                   "must be a name of letters, digits, '.', '_' and '-': where a provider is "
                   "stands in the agent's own file");
    if (in->model && !is_model(in->model))
        faults_add(faults, "$.model", "must be printable ASCII without blanks");
}

/* ---- prompt variants ---- */

/* What the variants' "for" calls families of problems. */
static const struct {
    const char *prefix, *use;
} families[] = {{"mha_fwd", "attention forward"}, {"mha_bwd", "attention backward"}};

/* Is the variant for this problem? Ablations are for none: they are asked for by name. */
static bool suits(const json_t *variant, const struct problem *p)
{
    const char *use = json_string_value(json_object_get(variant, "for"));
    if (!use || !strcmp(use, p->name) || !strncmp(use, "every problem", 13))
        return use != NULL;
    for (size_t i = 0; i < COUNT_OF(families); i++)
        if (!strncmp(p->name, families[i].prefix, strlen(families[i].prefix)) &&
            !strcmp(use, families[i].use))
            return true;
    return false;
}

static const char *variant_name(const json_t *variant)
{
    return json_string_value(json_object_get(variant, "name"));
}

static void add_variant(struct run_request *q, const char *name)
{
    snprintf(q->variants[q->variant_count++], LIMIT_NAME + 1, "%s", name);
}

static void default_variants(struct run_request *q, const json_t *known)
{
    size_t i;
    const json_t *v;
    json_array_foreach(known, i, v) if (q->variant_count < DEFAULT_VARIANTS && suits(v, q->problem))
        add_variant(q, variant_name(v));
    if (!q->variant_count)
        add_variant(q, "contract");
}

static const char *list_variants(const json_t *known, char *out, size_t size)
{
    char names[RUN_VARIANTS][LIMIT_NAME + 1];
    size_t i, n = 0;
    const json_t *v;
    json_array_foreach(known, i, v) if (n < RUN_VARIANTS)
        snprintf(names[n++], sizeof(names[0]), "%s", variant_name(v));
    return lookup_list(names, sizeof(names[0]), n, out, size);
}

static bool has_variant(const json_t *known, const char *name)
{
    size_t i;
    const json_t *v;
    json_array_foreach(known, i, v) if (!strcmp(variant_name(v), name)) return true;
    return false;
}

static void given_variants(struct run_request *q, const json_t *given, const json_t *known,
                           struct faults *faults)
{
    size_t i;
    const json_t *entry;
    json_array_foreach(given, i, entry)
    {
        char names[VARIANTS_LISTED];
        struct json_path path = json_at_index("$.variants", i);
        const char *name = json_string_value(entry);
        bool twice = false;
        for (size_t k = 0; name && k < q->variant_count; k++)
            twice = twice || !strcmp(q->variants[k], name);
        if (!name)
            faults_add(faults, path.text, "must be a string");
        else if (!has_variant(known, name))
            faults_add(faults, path.text, "'%.64s' is not a prompt variant of %s; there are: %s",
                       name, q->arch->name, list_variants(known, names, sizeof(names)));
        else if (twice)
            faults_add(faults, path.text, "'%s' is named twice", name);
        else
            add_variant(q, name);
    }
}

static void find_variants(struct run_request *q, const char *home, const json_t *given,
                          struct faults *faults)
{
    struct fault why = {0};
    json_t *known = q->arch ? prompt_variants(home, q->arch, &why) : NULL;
    if (q->arch && !known)
        faults_add(faults, "$.variants", "%s", why.detail);
    if (known && given)
        given_variants(q, given, known, faults);
    else if (known && q->problem)
        default_variants(q, known);
    json_decref(known);
}

/* ---- numbers ---- */

static void check_range(double value, double least, double most, const char *path,
                        struct faults *faults)
{
    if (!(value >= least && value <= most))
        faults_add(faults, path, "must be %.12g to %.12g, not %.12g", least, most, value);
}

bool run_params_check(const json_t *params, const char *path, struct faults *faults)
{
    struct params p = {0};
    size_t before = json_array_size(faults->items) + faults->dropped;
    json_read(params, params_fields, COUNT_OF(params_fields), &p, path, faults);
    check_range(p.temperature, 0, 2, json_at(path, "temperature").text, faults);
    check_range(p.top_p, 0, 1, json_at(path, "top_p").text, faults);
    return json_array_size(faults->items) + faults->dropped == before;
}

static void read_params(struct run_request *q, json_t *given, struct faults *faults)
{
    q->params = given ? json_deep_copy(given) : json_object();
    if (!given || !run_params_check(given, "$.params", faults))
        return;
    const char *name;
    void *next;
    json_t *value;
    json_object_foreach_safe(q->params, next, name, value) if (json_is_null(value))
        json_object_del(q->params, name);
}

bool run_budget_read(const json_t *budget, const char *path, struct run_budget *out,
                     struct faults *faults)
{
    size_t before = json_array_size(faults->items) + faults->dropped;
    json_read(budget, budget_fields, COUNT_OF(budget_fields), out, path, faults);
    if (json_is_number(json_object_get(budget, "usd")))
        check_range(out->usd, 0, usd_most, json_at(path, "usd").text, faults);
    return json_array_size(faults->items) + faults->dropped == before;
}

bool run_target_check(double target, const char *path, struct faults *faults)
{
    size_t before = json_array_size(faults->items) + faults->dropped;
    check_range(target, target_least, target_most, path, faults);
    return json_array_size(faults->items) + faults->dropped == before;
}

static void read_budget(struct run_request *q, const json_t *given, struct faults *faults)
{
    struct run_budget b = {0};
    if (!given || !run_budget_read(given, "$.budget", &b, faults))
        return;
    q->max_tokens = b.tokens;
    q->max_usd = b.usd;
}

static void check_size(const struct run_request *q, struct faults *faults)
{
    int64_t all = (int64_t)q->variant_count * q->per_variant;
    if (all > RUN_TRAJECTORIES)
        faults_add(faults, "$.trajectories",
                   "%d trajectories of each of %zu variants are %lld; a run has at most %d",
                   q->per_variant, q->variant_count, (long long)all, RUN_TRAJECTORIES);
}

/* ---- the request ---- */

static void copy_line(char *out, size_t size, const char *text)
{
    snprintf(out, size, "%s", text ? text : "");
    text_sanitize(out);
}

static void fill(const struct registry *r, const char *home, const struct body *in,
                 struct run_request *q, struct faults *faults)
{
    copy_line(q->device, sizeof(q->device), in->device ? in->device : "gpu");
    copy_line(q->name, sizeof(q->name), in->name);
    copy_line(q->provider, sizeof(q->provider), in->provider);
    copy_line(q->model, sizeof(q->model), in->model);
    copy_line(q->condition, sizeof(q->condition), in->condition);
    q->problem = lookup_problem(r, in->problem, "$.problem", faults);
    if (q->problem)
        q->workload = lookup_workload(q->problem, in->workload, q->device, "$.workload", faults);
    q->arch = lookup_arch(r, in->arch, "$.arch", faults);
    if (q->arch)
        lookup_device(q->arch, q->device, "$.device", faults);
    check_names(in, faults);
    find_variants(q, home, in->variants, faults);
    q->per_variant = (int)in->trajectories;
    q->turns = (int)in->turns;
    q->target_speedup = in->target_speedup;
    run_target_check(q->target_speedup, "$.target_speedup", faults);
    q->history = (enum history)in->history;
    q->style = (enum feedback_style)in->feedback;
    q->is_private = in->visibility == 1;
    read_params(q, in->params, faults);
    read_budget(q, in->budget, faults);
    check_size(q, faults);
}

bool run_parse(const struct registry *r, const char *home, const json_t *body,
               struct run_request *out, struct faults *faults)
{
    size_t before = json_array_size(faults->items) + faults->dropped;
    struct body in = {.trajectories = 4, .turns = 8, .target_speedup = 1.2};
    *out = (struct run_request){0};
    json_read(body, body_fields, COUNT_OF(body_fields), &in, "$", faults);
    if (!json_is_object(body))
        return false;
    fill(r, home, &in, out, faults);
    if (!out->params)
        faults_add(faults, "$", "out of memory");
    return json_array_size(faults->items) + faults->dropped == before;
}

void run_release(struct run_request *q)
{
    json_decref(q->params);
    *q = (struct run_request){0};
}
