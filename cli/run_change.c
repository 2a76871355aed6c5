/* SPDX-License-Identifier: Apache-2.0
 * Subcommands of `ptxbench run` that change a run: cancel, resume, extend, supervise. */
#include <limits.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/run.h"
#include "cli/table.h"
#include "core/util.h"

/* Sends `body` (taken) and prints what the run is now; exit code. */
static int change(const struct usage *u, const char *const *values, const char *id,
                  const char *tail, json_t *body)
{
    struct client c = {0};
    struct fault f = {0};
    json_t *answer = NULL;
    enum err e = client_open(&c, values, &f);
    if (!e)
        e = run_post(&c, id, tail, body, &answer, &f);
    if (!e && values[RUN_JSON])
        json_print(stdout, answer);
    else if (!e)
        run_print_state(answer);
    json_decref(answer);
    json_decref(body);
    client_release(&c);
    return e ? cli_failed(u->command, &f) : CLI_OK;
}

int run_cancel(int argc, char **argv)
{
    static const struct option_row rows[] = {RUN_ROWS};
    static const struct usage u = {"run cancel",
                                   "ID",
                                   "Ends every trajectory of a run at once. Answers under way are "
                                   "kept when they come: they are\n"
                                   "paid. ptxbench run resume goes on with it.",
                                   rows,
                                   COUNT_OF(rows),
                                   1,
                                   1,
                                   NULL};
    const char *values[COUNT_OF(rows)];
    int code, operand = options_read(&u, argc, argv, values, &code);
    return operand < 0 ? code : change(&u, values, argv[operand], "/cancel", NULL);
}

int run_resume(int argc, char **argv)
{
    enum { TOKENS = RUN_ROW_COUNT, USD, ROWS };
    static const struct option_row rows[ROWS] = {
        RUN_ROWS,
        [TOKENS] = {"budget-tokens", 0, "N", NULL, "the new budget of tokens; 0: none"},
        [USD] = {"budget-usd", 0, "X", NULL, "the new budget of dollars; 0: none"},
    };
    static const struct usage u = {
        "run resume",
        "ID",
        "Goes on with the trajectories of a run that were cancelled, out of budget, or failed by "
        "provider\n"
        "or service. Budgets are of the whole run, with what it has spent; unless given they stay.",
        rows,
        ROWS,
        1,
        1,
        NULL};
    const char *values[ROWS];
    long tokens = 0;
    double usd = 0;
    int code, operand = options_read(&u, argc, argv, values, &code);
    if (operand < 0)
        return code;
    if ((values[TOKENS] && !option_number("budget-tokens", values[TOKENS], 0, LONG_MAX, &tokens)) ||
        (values[USD] && !run_real("budget-usd", values[USD], &usd)))
        return CLI_USAGE;
    json_t *body = json_object(), *budget = json_object();
    if (values[TOKENS])
        json_object_set_new(budget, "tokens", json_integer(tokens));
    if (values[USD])
        json_object_set_new(budget, "usd", json_real(usd));
    if (json_object_size(budget))
        json_object_set(body, "budget", budget);
    json_decref(budget);
    return change(&u, values, argv[operand], "/resume", body);
}

int run_extend(int argc, char **argv)
{
    enum { TURNS = RUN_ROW_COUNT, TARGET, ROWS };
    static const struct option_row rows[ROWS] = {
        RUN_ROWS,
        [TURNS] = {"turns", 'T', "N", NULL, "so many turns of each trajectory, with those it has"},
        [TARGET] = {"target", 0, "X", NULL, "the speedup that ends a trajectory"},
    };
    static const struct usage u = {
        "run extend",
        "ID",
        "Goes on with the trajectories of a run that had no turn left, or had met a lower target.",
        rows,
        ROWS,
        1,
        1,
        NULL};
    const char *values[ROWS];
    long turns;
    double target;
    int code, operand = options_read(&u, argc, argv, values, &code);
    if (operand < 0)
        return code;
    if (!values[TURNS] && !values[TARGET]) {
        fputs("ptxbench run extend: --turns N or --target X must say how far\n"
              "try: ptxbench run extend --help\n",
              stderr);
        return CLI_USAGE;
    }
    if ((values[TURNS] && !option_number("turns", values[TURNS], 1, RUN_INDEX_MAX, &turns)) ||
        (values[TARGET] && !run_real("target", values[TARGET], &target)))
        return CLI_USAGE;
    json_t *body = json_object();
    if (values[TURNS])
        json_object_set_new(body, "turns", json_integer(turns));
    if (values[TARGET])
        json_object_set_new(body, "target_speedup", json_real(target));
    return change(&u, values, argv[operand], "/extend", body);
}

int run_supervise(int argc, char **argv)
{
    static const struct option_row rows[] = {RUN_ROWS};
    static const struct usage u = {"run supervise",
                                   "ID TRAJECTORY TURN TEXT",
                                   "Adds a text (- for standard input) to what the model is told "
                                   "about a turn. It stands behind what\n"
                                   "the service says, is kept apart from it, and changes no label.",
                                   rows,
                                   COUNT_OF(rows),
                                   4,
                                   4,
                                   NULL};
    const char *values[COUNT_OF(rows)];
    char tail[RUN_TAIL];
    struct fault f = {0};
    struct buf text;
    int trajectory, n, code, operand = options_read(&u, argc, argv, values, &code);
    if (operand < 0)
        return code;
    char **operands = argv + operand;
    if (!run_index("TRAJECTORY", operands[1], &trajectory) || !run_index("TURN", operands[2], &n))
        return CLI_USAGE;
    snprintf(tail, sizeof(tail), "/trajectories/%d/supervision", trajectory);
    buf_init(&text, LIMIT_LOG);
    enum err e = ERR_NONE;
    if (strcmp(operands[3], "-") == 0)
        e = read_file("/dev/stdin", &text, &f);
    else
        buf_adds(&text, operands[3]);
    json_t *body = json_pack("{s:i, s:s%}", "n", n, "text", text.data ? text.data : "", text.len);
    if (!e && (text.failed || !body))
        e = fault_set(&f, ERR_INVALID, "the text is longer than %d bytes or not UTF-8", LIMIT_LOG);
    buf_release(&text);
    if (e) {
        json_decref(body);
        return cli_failed(u.command, &f);
    }
    return change(&u, values, operands[0], tail, body);
}
