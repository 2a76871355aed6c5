/* SPDX-License-Identifier: Apache-2.0
 * Subcommands of `ptxbench run` that print what there is: show, messages. */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/run.h"
#include "cli/run_grid.h"
#include "cli/table.h"
#include "core/text.h"
#include "core/util.h"

enum { SCREEN_BYTES = 4 * MIB };

void run_print(FILE *out, const json_t *run)
{
    struct winsize size = {0};
    struct buf b;
    buf_init(&b, SCREEN_BYTES);
    if (out_is_terminal(out))
        ioctl(fileno(out), TIOCGWINSZ, &size);
    grid_draw(&b, run, &(struct grid_room){0, size.ws_col, out_has_colour(out)});
    if (!b.failed)
        fwrite(b.data, 1, b.len, out);
    buf_release(&b);
}

/* A text of many lines as it is; line by line made fit for it where the output is a terminal. */
static void print_text(FILE *out, const char *title, const json_t *value)
{
    const char *text = json_string_value(value);
    if (!text)
        return;
    fprintf(out, "--- %s ---\n", title);
    if (!out_is_terminal(out)) {
        fprintf(out, "%s%s", text, text[0] && text[strlen(text) - 1] != '\n' ? "\n" : "");
        return;
    }
    while (*text) {
        size_t n = strcspn(text, "\n");
        char *line = strndup(text, n);
        if (line)
            text_sanitize(line);
        fprintf(out, "%s\n", line ? line : "?");
        free(line);
        text += n + (text[n] == '\n');
    }
}

/* ---- show ---- */

enum { TRAJECTORY = RUN_ROW_COUNT, TURN, SHOW_ROWS };
static const struct option_row show_rows[SHOW_ROWS] = {
    RUN_ROWS,
    [TRAJECTORY] = {"trajectory", 't', "N", NULL, "the steps of this one instead"},
    [TURN] = {"turn", 'n', "N", NULL, "answer and feedback of this turn of it"},
};
static const struct usage show_usage = {
    "run show", "ID",      "Shows a run, the steps of a trajectory, or what was said in a turn.",
    show_rows,  SHOW_ROWS, 1,
    1,          RUN_NOTES};

static void print_steps(const json_t *doc)
{
    static const struct column columns[] = {{"n", "n", 0},
                                            {"try", "try", 0},
                                            {"state", "state", 0},
                                            {"counted", "counted", 0},
                                            {"label", "label", 0},
                                            {"speedup", "speedup", 3},
                                            {"target", "inst", 0},
                                            {"answer", "extraction", 0},
                                            {"finish", "call.finish", 0},
                                            {"in", "call.tokens_in", 0},
                                            {"out", "call.tokens_out", 0},
                                            {"usd", "call.usd", 3},
                                            {"submission", "submission", 0}};
    static const struct column head[] = {
        {"", "variant_name", 0}, {"", "state", 0}, {"", "reason", 0}, {"", "detail", 0}};
    char title[32];
    snprintf(title, sizeof(title), "t%lld",
             (long long)json_integer_value(json_object_get(doc, "trajectory")));
    table_line(stdout, title, doc, head, COUNT_OF(head));
    table_print(stdout, columns, COUNT_OF(columns), json_object_get(doc, "steps"), "no step yet");
}

/* The last try of turn n. Borrowed; NULL: there is none. */
static json_t *step_of(const json_t *doc, long n)
{
    json_t *found = NULL, *step;
    size_t i;
    json_array_foreach(json_object_get(doc, "steps"), i,
                       step) if (json_integer_value(json_object_get(step, "n")) == n) found = step;
    return found;
}

static void print_step(const json_t *step)
{
    static const struct column head[] = {{"", "state", 0},
                                         {"", "label", 0},
                                         {"speedup ", "speedup", 3},
                                         {"submission ", "submission", 0}};
    const json_t *call = json_object_get(step, "call");
    table_line(stdout, "turn", step, head, COUNT_OF(head));
    print_text(stdout, "reasoning", json_object_get(call, "reasoning"));
    print_text(stdout, "answer", json_object_get(call, "answer"));
    print_text(stdout, "feedback", json_object_get(step, "feedback_text"));
    print_text(stdout, "supervision", json_object_get(step, "supervision"));
}

/* The whole run; exit code. */
static int show_run(struct client *c, const char *id, bool json)
{
    struct fault f = {0};
    json_t *run = NULL;
    if (run_get(c, id, "", &run, &f))
        return cli_failed("run show", &f);
    if (json)
        json_print(stdout, run);
    else
        run_print(stdout, run);
    int code = run_exit_code(run);
    json_decref(run);
    return code;
}

/* One trajectory, or (turn >= 0) one turn of it; exit code. */
static int show_trajectory(struct client *c, const char *id, long trajectory, long turn, bool json)
{
    struct fault f = {0};
    json_t *doc = NULL, *step = NULL;
    char tail[RUN_TAIL];
    snprintf(tail, sizeof(tail), "/trajectories/%ld", trajectory);
    enum err e = run_get(c, id, tail, &doc, &f);
    if (!e && turn >= 0 && !(step = step_of(doc, turn)))
        e = fault_set(&f, ERR_NOT_FOUND, "trajectory %ld has no turn %ld yet", trajectory, turn);
    if (!e && json)
        json_print(stdout, step ? step : doc);
    else if (!e && step)
        print_step(step);
    else if (!e)
        print_steps(doc);
    json_decref(doc);
    return e ? cli_failed("run show", &f) : CLI_OK;
}

int run_show(int argc, char **argv)
{
    const char *values[SHOW_ROWS];
    struct client c = {0};
    struct fault f = {0};
    long trajectory = 0, turn = -1;
    int code, operand = options_read(&show_usage, argc, argv, values, &code);
    if (operand < 0)
        return code;
    if (values[TURN] && !values[TRAJECTORY]) {
        fputs("ptxbench run show: --turn needs --trajectory\ntry: ptxbench run show --help\n",
              stderr);
        return CLI_USAGE;
    }
    if ((values[TRAJECTORY] &&
         !option_number("trajectory", values[TRAJECTORY], 0, RUN_INDEX_MAX, &trajectory)) ||
        (values[TURN] && !option_number("turn", values[TURN], 0, RUN_INDEX_MAX, &turn)))
        return CLI_USAGE;
    if (client_open(&c, values, &f))
        code = cli_failed("run show", &f);
    else if (values[TRAJECTORY])
        code = show_trajectory(&c, argv[operand], trajectory, turn, values[RUN_JSON]);
    else
        code = show_run(&c, argv[operand], values[RUN_JSON]);
    client_release(&c);
    return code;
}

/* ---- messages ---- */

int run_print_messages(int argc, char **argv)
{
    static const struct option_row rows[] = {RUN_ROWS};
    static const struct usage u = {
        "run messages",
        "ID TRAJECTORY [TURN]",
        "Prints the messages of the call of a turn, or of the next call: what the model is sent.",
        rows,
        COUNT_OF(rows),
        2,
        3,
        NULL};
    const char *values[COUNT_OF(rows)];
    struct client c = {0};
    struct fault f = {0};
    json_t *answer = NULL, *message;
    char tail[RUN_TAIL];
    size_t i;
    int trajectory, turn = -1, code, operand = options_read(&u, argc, argv, values, &code);
    if (operand < 0)
        return code;
    if (!run_index("TRAJECTORY", argv[operand + 1], &trajectory) ||
        (argc - operand > 2 && !run_index("TURN", argv[operand + 2], &turn)))
        return CLI_USAGE;
    size_t n = (size_t)snprintf(tail, sizeof(tail), "/trajectories/%d/messages", trajectory);
    if (turn >= 0)
        snprintf(tail + n, sizeof(tail) - n, "?n=%d", turn);
    enum err e = client_open(&c, values, &f);
    if (!e)
        e = run_get(&c, argv[operand], tail, &answer, &f);
    if (!e && values[RUN_JSON])
        json_print(stdout, answer);
    json_array_foreach(e || values[RUN_JSON] ? NULL : json_object_get(answer, "messages"), i,
                       message)
    {
        const char *role = json_string_value(json_object_get(message, "role"));
        print_text(stdout, role ? role : "?", json_object_get(message, "content"));
    }
    json_decref(answer);
    client_release(&c);
    return e ? cli_failed(u.command, &f) : CLI_OK;
}
