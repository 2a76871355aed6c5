/* SPDX-License-Identifier: Apache-2.0
 * Commands that show a table the service gives: one row below each. */
#include <string.h>

#include "cli/client.h"
#include "cli/commands.h"
#include "cli/run.h"
#include "cli/table.h"
#include "core/util.h"

enum { FILTERS_MAX = 12, COLUMNS_MAX = 14 };

/* GET path?filters, then the rows under `items` as a table. Options are the client's, --json, and one
 * per filter, named as the query parameter; all in one array so that --help shows them. */
struct board {
    struct usage usage;
    const char *path, *items, *nothing;
    struct column columns[COLUMNS_MAX]; /* ended by a NULL title */
};

enum { JSON = CLIENT_ROW_COUNT, FIRST_FILTER, ROWS_MAX = FIRST_FILTER + FILTERS_MAX };
#define COMMON_ROWS CLIENT_ROWS, {"json", 'j', NULL, NULL, "print the service's answer as it is"}

static int run(const struct board *b, int argc, char **argv)
{
    const char *values[ROWS_MAX] = {NULL};
    struct client c = {0};
    struct fault f = {0};
    json_t *answer = NULL;
    int code;
    if (b->usage.count > ROWS_MAX)
        abort();
    if (options_read(&b->usage, argc, argv, values, &code) < 0)
        return code;

    struct buf path;
    buf_init(&path, 4 * KIB);
    buf_adds(&path, b->path);
    for (size_t i = FIRST_FILTER; i < b->usage.count; i++)
        path_query(&path, b->usage.rows[i].name, values[i]);
    enum err e = client_open(&c, values, &f);
    if (!e && path.failed)
        e = fault_set(&f, ERR_BAD_PARAMETER, "the filters are too long");
    if (!e)
        e = client_json(&c, &(struct request){.method = "GET", .path = path.data}, &answer, &f);
    size_t columns = 0;
    while (b->columns[columns].title)
        columns++;
    if (!e && values[JSON])
        json_print(stdout, answer);
    else if (!e)
        table_print(stdout, b->columns, columns, json_object_get(answer, b->items), b->nothing);
    code = e ? cli_failed(b->usage.command, &f) : CLI_OK;
    json_decref(answer);
    buf_release(&path);
    client_release(&c);
    return code;
}

int cmd_list(int argc, char **argv)
{
    static const struct option_row rows[] = {
        COMMON_ROWS,
        {"problem", 'p', "NAME", NULL, "only this problem"},
        {"arch", 'a', "NAME", NULL, "only this architecture"},
        {"state", 0, "STATE", NULL, "only queued, running or done"},
        {"verdict", 0, "NAME", NULL, "only this verdict"},
        {"label", 0, "TEXT", NULL, "only this label"},
        {"limit", 'n', "N", NULL, "how many, 1 to 200"},
        {"device", 'd', "NAME", NULL, "only this device"},
        {"owner", 0, "NAME", NULL, "only this owner's"},
        {"cursor", 0, "CURSOR", NULL, "the next page: `next` of --json"},
    };
    static const struct board b = {
        {"list", "", "Lists submissions, newest first.", rows, COUNT_OF(rows), 0, 0, NULL},
        "/v1/submissions", "items", "no submission matches",
        {{"id", "id", 0}, {"state", "state", 0}, {"verdict", "verdict", 0}, {"problem", "problem", 0},
         {"workload", "workload", 0}, {"arch", "arch", 0}, {"device", "device", 0}, {"label", "label", 0},
         {"created", "created_at", 0}}};
    return run(&b, argc, argv);
}

int run_list(int argc, char **argv)
{
    static const struct option_row rows[] = {
        COMMON_ROWS,
        {"problem", 'p', "NAME", NULL, "only this problem"},
        {"model", 'm', "NAME", NULL, "only this model"},
        {"state", 0, "STATE", NULL, "only running or done"},
        {"owner", 0, "NAME", NULL, "only this owner's"},
        {"limit", 'n', "N", NULL, "how many, 1 to 200"},
        {"cursor", 0, "CURSOR", NULL, "the next page: `next` of --json"},
    };
    static const struct board b = {
        {"run list", "", "Lists runs, newest first.", rows, COUNT_OF(rows), 0, 0, NULL},
        "/v1/runs", "items", "no run matches",
        {{"id", "id", 0}, {"state", "state", 0}, {"reason", "reason", 0}, {"name", "name", 0},
         {"problem", "problem", 0}, {"arch", "arch", 0}, {"model", "model", 0}, {"calls", "spent.calls", 0},
         {"usd", "spent.usd", 2}, {"best", "best.speedup", 3}, {"created", "created_at", 0}}};
    return run(&b, argc, argv);
}

int cmd_board(int argc, char **argv)
{
    static const struct option_row rows[] = {
        COMMON_ROWS,
        {"problem", 'p', "NAME", "PTXBENCH_PROBLEM", "the problem"},
        {"workload", 'w', "NAME", NULL, "its size; the problem's default otherwise"},
        {"arch", 'a', "NAME", "PTXBENCH_ARCH", "the architecture"},
        {"device", 'd', "NAME", NULL, "only results of this device model"},
        {"limit", 'n', "N", NULL, "how many, 1 to 1000"},
        {"epoch", 'e', "N", NULL, "of that version of the evaluator; the newest otherwise"},
        {"baseline", 'b', "NAME", NULL, "speedups over this one; the vendor's own otherwise"},
    };
    static const struct board b = {
        {"board", "", "Shows the leaderboard of a problem.", rows, COUNT_OF(rows), 0, 0, NULL},
        "/v1/leaderboard", "items", "the board is empty",
        {{"rank", "rank", 0}, {"speedup", "speedup.value", 3}, {"95 %", "speedup.ci95", 3},
         {"us", "candidate_us", 2}, {"tensor", "target.tensor_share", 2},
         {"instructions", "thread_instructions", 0}, {"label", "label", 0}, {"method", "method", 0},
         {"tries", "attempts", 0}, {"owner", "owner", 0}, {"flags", "flags", 0},
         {"device", "device_model", 0}, {"id", "id", 0}}};
    return run(&b, argc, argv);
}

int cmd_queue(int argc, char **argv)
{
    static const struct option_row rows[] = {COMMON_ROWS};
    static const struct board b = {
        {"queue", "", "Shows what waits and what runs, by lane.", rows, COUNT_OF(rows), 0, 0, NULL},
        "/v1/queue", "lanes", "no lane has a job or a worker",
        {{"lane", "name", 0}, {"queued", "queued", 0}, {"running", "running", 0},
         {"oldest s", "oldest_age_s", 0}, {"workers", "workers", 0}, {"state", "state", 0},
         {"s/job", "seconds_per_job", 1}}};
    return run(&b, argc, argv);
}

int cmd_workers(int argc, char **argv)
{
    static const struct option_row rows[] = {COMMON_ROWS};
    static const struct board b = {
        {"workers", "", "Shows the workers and whether they are alive.", rows, COUNT_OF(rows), 0, 0, NULL},
        "/v1/workers", "items", "no worker has shown up yet",
        {{"name", "name", 0}, {"device", "device", 0}, {"model", "device_model", 0}, {"lanes", "lanes", 0},
         {"healthy", "healthy", 0}, {"state", "device_state", 0}, {"C", "health.temperature_c", 0},
         {"MHz", "health.sm_mhz", 0}, {"seen s", "seen_age_s", 0}, {"job", "job.submission", 0},
         {"why", "device_detail", 0}}};
    return run(&b, argc, argv);
}
