/* SPDX-License-Identifier: Apache-2.0
 * `ptxbench run watch`: a run as it goes on. What is shown comes from events; the truth, and where
 * streams do not get through everything, from GET. */
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/follow.h"
#include "cli/run.h"
#include "cli/run_grid.h"
#include "cli/table.h"
#include "core/util.h"

enum {
    OUTAGE_MS = 60 * 1000,
    POLL_S = 10,
    DRAWN_MS = 200,
    READ_MS = 10 * 1000,
    SCREEN_BYTES = 4 * MIB
};

struct watch {
    json_t *run; /* owned */
    bool quiet, terminal;
    int lines; /* of what stands on the terminal */
    int64_t drawn_ms, read_ms;
};

/* In place of what was drawn last, in one write. */
static void draw(struct watch *w)
{
    struct winsize size = {0};
    struct buf b;
    if (w->quiet || !w->terminal)
        return;
    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    buf_init(&b, SCREEN_BYTES);
    if (w->lines)
        buf_addf(&b, "\033[%dA\r\033[J", w->lines);
    w->lines = grid_draw(&b, w->run,
                         &(struct grid_room){size.ws_row, size.ws_col, out_has_colour(stdout)});
    if (!b.failed)
        fwrite(b.data, 1, b.len, stdout);
    fflush(stdout);
    buf_release(&b);
    w->drawn_ms = now_ms();
}

static void print_event(const char *kind, const json_t *data)
{
    struct buf b;
    buf_init(&b, 4 * KIB);
    grid_event_line(&b, kind, data);
    if (!b.failed)
        printf("%s\n", b.data);
    fflush(stdout);
    buf_release(&b);
}

/* Events that come many times for one turn. */
static bool is_progress(const char *kind)
{
    return strcmp(kind, "tokens") == 0 || strcmp(kind, "stage") == 0;
}

/* Stops the stream once the run is done, and now and then, so that what events do not say (tokens
 * read, repaired counts) is read again. */
static bool on_event(void *arg, const char *kind, const json_t *data)
{
    struct watch *w = arg;
    if (strcmp(kind, "reset") == 0) {
        json_decref(w->run);
        w->run = json_deep_copy(data);
    } else {
        grid_apply(w->run, kind, data);
    }
    if (!w->terminal && !w->quiet && strcmp(kind, "tokens") != 0)
        print_event(kind, data);
    if (w->terminal && (!is_progress(kind) || now_ms() - w->drawn_ms >= DRAWN_MS))
        draw(w);
    bool stale = w->terminal && !is_progress(kind) && now_ms() - w->read_ms >= READ_MS;
    return !stale && run_exit_code(w->run) == CLI_UNFINISHED;
}

static bool may_pass(enum err e)
{
    return e == ERR_UNAVAILABLE || e == ERR_DEADLINE || e == ERR_DATABASE || e == ERR_BUSY ||
           e == ERR_DRAINING;
}

/* Reads the run, waiting up to `wait_s` for its end. */
static enum err read_run(struct watch *w, struct client *c, const char *id, int wait_s,
                         struct fault *f)
{
    char tail[RUN_TAIL] = "";
    json_t *run = NULL;
    if (wait_s > 0)
        snprintf(tail, sizeof(tail), "?wait=%d", wait_s);
    enum err e = run_get(c, id, tail, &run, f);
    if (e)
        return e;
    json_decref(w->run);
    w->run = run;
    w->read_ms = now_ms();
    return ERR_NONE;
}

/* Until the run is done or the time is over; then the run is in w. */
static enum err watch_run(struct watch *w, struct client *c, const char *id, long timeout_s,
                          struct fault *f)
{
    char events[RUN_TAIL];
    int64_t deadline_ms = now_ms() + timeout_s * 1000, answered_ms = now_ms();
    int wait_s = 0;
    struct stream s = {.path = events, .event = on_event, .arg = w};
    snprintf(events, sizeof(events), "/v1/runs/%s/events", id);
    for (;;) {
        enum err e = read_run(w, c, id, wait_s, f);
        if (e && (!w->run || !may_pass(e) || now_ms() - answered_ms > OUTAGE_MS))
            return e;
        if (!e) {
            answered_ms = now_ms();
            draw(w);
            if (run_exit_code(w->run) != CLI_UNFINISHED || now_ms() >= deadline_ms)
                return ERR_NONE;
            if (w->terminal) /* the document has what came before; line by line everything is said
                              */
                s.last_id = json_integer_value(json_object_get(w->run, "rev"));
        } else {
            sleep(1);
        }
        s.timeout_s = 1 + (deadline_ms - now_ms()) / 1000;
        enum err streamed = client_stream(c, &s, NULL);
        int64_t left_s = (deadline_ms - now_ms()) / 1000;
        wait_s = streamed == ERR_NONE || left_s <= 0 ? 0 : (int)(left_s < POLL_S ? left_s : POLL_S);
    }
}

int run_follow(const char *command, struct client *c, const char *id, long timeout_s, bool json)
{
    struct fault f = {0};
    struct watch w = {.quiet = json, .terminal = !json && out_is_terminal(stdout)};
    enum err e = watch_run(&w, c, id, timeout_s, &f);
    int code = e ? cli_failed(command, &f) : run_exit_code(w.run);
    if (!e && json)
        json_print(stdout, w.run);
    else if (!e && !w.terminal)
        run_print(stdout, w.run);
    json_decref(w.run);
    return code;
}

int run_watch(int argc, char **argv)
{
    enum { TIMEOUT = RUN_ROW_COUNT, ROWS };
    static const struct option_row rows[ROWS] = {
        RUN_ROWS,
        [TIMEOUT] = {"timeout", 't', "SECONDS", NULL, "give up after that long, a week by default"},
    };
    static const struct usage u = {
        "run watch",
        "ID",
        "Follows a run until it is done: a row per trajectory, a column per turn. A star says that "
        "the\n"
        "target instructions were executed, ~ how many characters of an answer have come. Where "
        "the output\n"
        "is no terminal, one line per event instead, and the table at the end.",
        rows,
        ROWS,
        1,
        1,
        RUN_NOTES};
    const char *values[ROWS];
    struct client c = {0};
    struct fault f = {0};
    long timeout_s = RUN_WATCH_S;
    int code, operand = options_read(&u, argc, argv, values, &code);
    if (operand < 0)
        return code;
    if (values[TIMEOUT] && !option_number("timeout", values[TIMEOUT], 1, RUN_WATCH_S, &timeout_s))
        return CLI_USAGE;
    code = client_open(&c, values, &f)
               ? cli_failed(u.command, &f)
               : run_follow(u.command, &c, argv[operand], timeout_s, values[RUN_JSON]);
    client_release(&c);
    return code;
}
