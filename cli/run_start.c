/* SPDX-License-Identifier: Apache-2.0
 * `ptxbench run start`: options, or a file, or both, as the JSON body of a run. Sent once: a run
 * costs money, and a second try after a lost answer would be a second run. */
#include <stdlib.h>
#include <limits.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/run.h"
#include "cli/table.h"
#include "core/json.h"
#include "core/util.h"

enum {
    PROBLEM = RUN_ROW_COUNT,
    WORKLOAD,
    ARCH,
    DEVICE,
    PROVIDER,
    MODEL,
    NAME,
    CONDITION,
    VARIANTS,
    TRAJECTORIES,
    TURNS,
    TARGET,
    HISTORY,
    FEEDBACK,
    TEMPERATURE,
    TOP_P,
    EFFORT,
    MAX_OUTPUT,
    BUDGET_TOKENS,
    BUDGET_USD,
    PRIVATE,
    BODY,
    DRY_RUN,
    WATCH,
    ROWS
};

static const struct option_row rows[ROWS] = {
    RUN_ROWS,
    [PROBLEM] = {"problem", 'p', "NAME", "PTXBENCH_PROBLEM", "what to compute, such as gemm"},
    [WORKLOAD] = {"workload", 'w', "NAME", NULL, "its size; the problem's own default otherwise"},
    [ARCH] = {"arch", 'a', "NAME", "PTXBENCH_ARCH", "sm_90a, sm_100a"},
    [DEVICE] = {"device", 'd', "NAME", NULL, "gpu (default), cpu, or a device model"},
    [PROVIDER] = {"provider", 0, "NAME", NULL, "who answers: a name of the agents' own file"},
    [MODEL] = {"model", 'm', "NAME", NULL, "which of the provider's models"},
    [NAME] = {"name", 0, "TEXT", NULL, "what the run is called"},
    [CONDITION] = {"condition", 0, "TEXT", NULL,
                   "keeps its metrics apart from those of other runs"},
    [VARIANTS] = {"variants", 'V', "LIST", NULL, "prompt variants, separated by commas"},
    [TRAJECTORIES] = {"trajectories", 0, "N", NULL, "of each variant, 4 by default"},
    [TURNS] = {"turns", 'T', "N", NULL, "of each trajectory, 8 by default"},
    [TARGET] = {"target", 0, "X", NULL, "a speedup that ends a trajectory, 1.2 by default"},
    [HISTORY] = {"history", 0, "WORD", NULL, "full, latest-pair or single-user"},
    [FEEDBACK] = {"feedback", 0, "WORD", NULL, "full, or paper: no more than the paper's"},
    [TEMPERATURE] = {"temperature", 0, "X", NULL, "of the model; its own default otherwise"},
    [TOP_P] = {"top-p", 0, "X", NULL, "likewise"},
    [EFFORT] = {"effort", 0, "WORD", NULL, "how hard the model is to think"},
    [MAX_OUTPUT] = {"max-output", 0, "N", NULL, "tokens of one answer at most"},
    [BUDGET_TOKENS] = {"budget-tokens", 0, "N", NULL,
                       "ends the run; input and output of all calls"},
    [BUDGET_USD] = {"budget-usd", 0, "X", NULL, "ends the run; needs a model with a price"},
    [PRIVATE] = {"private", 0, NULL, NULL, "only for its owner; needs a token"},
    [BODY] = {"file", 'f', "FILE", NULL,
              "the run as JSON, as docs/api.md says; - for standard input"},
    [DRY_RUN] = {"dry-run", 'n', NULL, NULL,
                 "validate only and count the prompts; nothing is stored"},
    [WATCH] = {"watch", 0, NULL, NULL, "follow it until it is done"},
};

static const struct usage usage = {
    .command = "run start",
    .operands = "",
    .summary =
        "Lets a model write kernels for a problem: every answer is evaluated, and what came of it "
        "is\nwhat the next call begins with. Options replace members of --file.",
    .rows = rows,
    .count = ROWS,
    .notes = "exit status: 0 accepted; with --watch as of ptxbench run watch.",
};

/* Where an option goes: "member", or "object.member". */
enum kind { TEXT, WHOLE, REAL };
static const struct {
    int row;
    enum kind kind;
    const char *object, *member; /* object NULL: the body itself */
} members[] = {
    {PROBLEM, TEXT, NULL, "problem"},
    {WORKLOAD, TEXT, NULL, "workload"},
    {ARCH, TEXT, NULL, "arch"},
    {DEVICE, TEXT, NULL, "device"},
    {PROVIDER, TEXT, NULL, "provider"},
    {MODEL, TEXT, NULL, "model"},
    {NAME, TEXT, NULL, "name"},
    {CONDITION, TEXT, NULL, "condition"},
    {TRAJECTORIES, WHOLE, NULL, "trajectories"},
    {TURNS, WHOLE, NULL, "turns"},
    {TARGET, REAL, NULL, "target_speedup"},
    {HISTORY, TEXT, NULL, "history"},
    {FEEDBACK, TEXT, NULL, "feedback"},
    {TEMPERATURE, REAL, "params", "temperature"},
    {TOP_P, REAL, "params", "top_p"},
    {EFFORT, TEXT, "params", "effort"},
    {MAX_OUTPUT, WHOLE, "params", "max_tokens"},
    {BUDGET_TOKENS, WHOLE, "budget", "tokens"},
    {BUDGET_USD, REAL, "budget", "usd"},
};

/* The value as JSON; NULL with a message on stderr if it is none. */
static json_t *value_of(const char *name, enum kind kind, const char *text)
{
    double real;
    long whole;
    if (kind == WHOLE)
        return option_number(name, text, 1, LONG_MAX, &whole) ? json_integer(whole) : NULL;
    if (kind == REAL)
        return run_real(name, text, &real) ? json_real(real) : NULL;
    json_t *value = json_string(text);
    if (!value)
        fprintf(stderr, "ptxbench: --%s is not UTF-8 text\n", name);
    return value;
}

/* Does only the environment say it? What a file says goes before that. */
static bool is_from_environment(int row, const char *value)
{
    return rows[row].env && value == getenv(rows[row].env);
}

static json_t *object_in(json_t *body, const char *name)
{
    json_t *object = json_object_get(body, name);
    if (!json_is_object(object)) {
        object = json_object();
        json_object_set_new(body, name, object);
    }
    return object;
}

static void add_variants(json_t *body, const char *list)
{
    json_t *names = json_array();
    for (const char *p = list; *p;) {
        size_t n = strcspn(p, ",");
        if (n)
            json_array_append_new(names, json_stringn(p, n));
        p += n + (p[n] == ',');
    }
    json_object_set_new(body, "variants", names);
}

/* Puts the options into the body; false with a message on stderr. */
static bool add_options(json_t *body, const char *const *values)
{
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        const char *text = values[members[i].row], *object = members[i].object;
        if (!text ||
            (is_from_environment(members[i].row, text) && json_object_get(body, members[i].member)))
            continue;
        json_t *value = value_of(rows[members[i].row].name, members[i].kind, text);
        if (!value)
            return false;
        json_object_set_new(object ? object_in(body, object) : body, members[i].member, value);
    }
    if (values[VARIANTS])
        add_variants(body, values[VARIANTS]);
    if (values[PRIVATE])
        json_object_set_new(body, "visibility", json_string("private"));
    return true;
}

/* The body of --file, or an empty one. New reference or NULL. */
static json_t *read_body(const char *file, struct fault *f)
{
    if (!file)
        return json_object();
    struct buf b;
    buf_init(&b, LIMIT_BODY);
    enum err e = read_file(strcmp(file, "-") == 0 ? "/dev/stdin" : file, &b, f);
    json_t *body = e ? NULL : json_parse(b.data ? b.data : "", b.len, f);
    buf_release(&b);
    if (body && !json_is_object(body)) {
        fault_set(f, ERR_NOT_JSON, "%s holds no JSON object", file);
        json_decref(body);
        return NULL;
    }
    return body;
}

static enum err post(struct client *c, const json_t *body, bool dry_run, json_t **out,
                     struct fault *f)
{
    char *text = json_canonical(body);
    if (!text)
        return fault_set(f, ERR_NO_MEMORY, "out of memory");
    struct request q = {.method = "POST",
                        .path = dry_run ? "/v1/runs?dry_run=1" : "/v1/runs",
                        .content_type = "application/json",
                        .body = text,
                        .body_len = strlen(text)};
    enum err e = client_json(c, &q, out, f);
    free(text);
    return e;
}

static void print_prompts(const json_t *answer)
{
    static const struct column columns[] = {{"variant", "variant", 0},
                                            {"name", "name", 0},
                                            {"tokens", "tokens", 0},
                                            {"sha256", "sha256", 0}};
    puts("valid");
    table_print(stdout, columns, COUNT_OF(columns), json_object_get(answer, "messages"),
                "no prompt");
}

/* What the service said to the new run; exit code. */
static int finish(struct client *c, const char *const *values, const json_t *answer)
{
    const char *id = json_string_value(json_object_get(answer, "id"));
    if (values[WATCH] && !values[DRY_RUN]) {
        if (!values[RUN_JSON])
            fprintf(stderr, "%s\n", id ? id : "?");
        return run_follow("run start", c, id ? id : "", RUN_WATCH_S, values[RUN_JSON]);
    }
    if (values[RUN_JSON])
        json_print(stdout, answer);
    else if (values[DRY_RUN])
        print_prompts(answer);
    else
        run_print_state(answer);
    return CLI_OK;
}

int run_start(int argc, char **argv)
{
    const char *values[ROWS];
    struct client c = {0};
    struct fault f = {0};
    json_t *answer = NULL, *body;
    int code;
    if (options_read(&usage, argc, argv, values, &code) < 0)
        return code;
    if (!(body = read_body(values[BODY], &f)))
        return cli_failed("run start", &f);
    if (!add_options(body, values)) {
        json_decref(body);
        return CLI_USAGE;
    }
    enum err e = client_open(&c, values, &f);
    if (!e)
        e = post(&c, body, values[DRY_RUN], &answer, &f);
    code = e ? cli_failed("run start", &f) : finish(&c, values, answer);
    json_decref(answer);
    json_decref(body);
    client_release(&c);
    return code;
}
