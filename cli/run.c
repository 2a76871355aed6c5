/* SPDX-License-Identifier: Apache-2.0
 * `ptxbench run`: finds the subcommand and runs it. */
#include "cli/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "core/json.h"
#include "core/text.h"
#include "core/util.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
} actions[] = {
    {"start", run_start, "let a model write kernels for a problem, turn by turn"},
    {"list", run_list, "list runs, newest first"},
    {"show", run_show, "show a run, one of its trajectories or a turn"},
    {"watch", run_watch, "follow a run until it is done"},
    {"messages", run_print_messages, "print what the model is sent"},
    {"supervise", run_supervise, "add a text to what the model is told about a turn"},
    {"cancel", run_cancel, "end a run; answers under way are kept"},
    {"resume", run_resume, "go on with what was cancelled, out of budget or failed"},
    {"extend", run_extend, "give a run more turns or a higher target"},
    {"export", run_export, "write a run, or one trajectory, to a file"},
    {"import", run_import, "take a run from elsewhere in"},
};

static const struct usage usage = {
    .command = "run",
    .operands = "SUBCOMMAND …",
    .summary = "Agent runs: a model answers a problem in trajectories of turns, each evaluated.",
    .min = 1,
    .max = 1,
};

int cmd_run(int argc, char **argv)
{
    const char *values[1];
    int code;
    for (size_t i = 0; argc > 1 && i < COUNT_OF(actions); i++)
        if (strcmp(argv[1], actions[i].name) == 0)
            return actions[i].run(argc - 1, argv + 1);
    int operand = options_read(&usage, argc, argv, values, &code);
    if (operand >= 0) {
        fprintf(stderr, "ptxbench run: there is no subcommand %s\ntry: ptxbench run --help\n",
                argv[operand]);
        return CLI_USAGE;
    }
    if (code == CLI_OK) {
        puts("\nsubcommands:");
        for (size_t i = 0; i < COUNT_OF(actions); i++)
            printf("  %-10s %s\n", actions[i].name, actions[i].summary);
        puts("\nptxbench run SUBCOMMAND --help says more. Trajectories and turns are counted from "
             "0.");
    }
    return code;
}

int run_exit_code(const json_t *run)
{
    static const struct {
        const char *reason;
        int code;
    } ends[] = {{"cancelled", RUN_CANCELLED},
                {"budget", RUN_BUDGET},
                {"provider", RUN_PROVIDER},
                {"infra", RUN_INFRA}};
    const char *state = json_string_value(json_object_get(run, "state"));
    const char *reason = json_string_value(json_object_get(run, "reason"));
    if (!state || strcmp(state, "done") != 0)
        return CLI_UNFINISHED;
    for (size_t i = 0; reason && i < COUNT_OF(ends); i++)
        if (strcmp(reason, ends[i].reason) == 0)
            return ends[i].code;
    return CLI_OK;
}

enum err run_path(struct buf *path, const char *id, const char *tail, struct fault *f)
{
    if (!uuid_is_valid(id))
        return fault_set(f, ERR_BAD_PARAMETER, "%s is not the id of a run", id);
    buf_addf(path, "/v1/runs/%s%s", id, tail);
    return ERR_NONE;
}

static enum err ask(struct client *c, struct request *q, const char *id, const char *tail,
                    json_t **out, struct fault *f)
{
    struct buf path;
    buf_init(&path, 4 * KIB);
    enum err e = run_path(&path, id, tail, f);
    q->path = path.data;
    if (!e)
        e = client_json(c, q, out, f);
    buf_release(&path);
    return e;
}

enum err run_get(struct client *c, const char *id, const char *tail, json_t **out, struct fault *f)
{
    return ask(c, &(struct request){.method = "GET", .timeout_s = LIMIT_WAIT_S + 30}, id, tail, out,
               f);
}

enum err run_post(struct client *c, const char *id, const char *tail, const json_t *body,
                  json_t **out, struct fault *f)
{
    char *text = body ? json_canonical(body) : NULL;
    if (body && !text)
        return fault_set(f, ERR_NO_MEMORY, "out of memory");
    struct request q = {.method = "POST",
                        .content_type = text ? "application/json" : NULL,
                        .body = text,
                        .body_len = text ? strlen(text) : 0};
    enum err e = ask(c, &q, id, tail, out, f);
    free(text);
    return e;
}

bool run_real(const char *name, const char *text, double *out)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value)) {
        fprintf(stderr, "ptxbench: --%s must be a number, not '%s'\n", name, text);
        return false;
    }
    *out = value;
    return true;
}

bool run_index(const char *what, const char *text, int *out)
{
    char *end;
    long n = strtol(text, &end, 10);
    if (end == text || *end || n < 0 || n > RUN_INDEX_MAX) {
        fprintf(stderr, "ptxbench: %s must be a whole number from 0 to %d, not '%s'\n", what,
                RUN_INDEX_MAX, text);
        return false;
    }
    *out = (int)n;
    return true;
}

void run_print_state(const json_t *answer)
{
    static const char *const keys[] = {"state", "id"};
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        char word[LIMIT_NAME + 1];
        const char *text = json_string_value(json_object_get(answer, keys[i]));
        snprintf(word, sizeof(word), "%s", text ? text : "?");
        text_sanitize(word);
        printf("%s%s", word, i ? "\n" : "  ");
    }
}
