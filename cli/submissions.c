/* SPDX-License-Identifier: Apache-2.0
 * Commands about one submission that the service has: show, watch, cancel, rerun, hide, unhide. */
#include <errno.h>
#include <string.h>

#include "cli/client.h"
#include "cli/commands.h"
#include "cli/follow.h"
#include "cli/table.h"
#include "core/util.h"

enum { JSON = CLIENT_ROW_COUNT, COMMON_ROWS };

#define COMMON {"json", 'j', NULL, NULL, "print the service's answer as it is"}
#define VERDICT_NOTES                                                                              \
    "exit status: by the verdict (ptxbench help); 75 without one, 1 failed, 64 bad command line."

/* "/v1/submissions/ID" and what follows; ids are checked here so that none can name another path. */
static enum err submission_path(struct buf *path, const char *id, const char *tail, struct fault *f)
{
    if (!uuid_is_valid(id))
        return fault_set(f, ERR_BAD_PARAMETER, "%s is not the id of a submission", id);
    buf_addf(path, "/v1/submissions/%s%s", id, tail);
    return ERR_NONE;
}

/* One request about one submission, its answer as JSON. */
static enum err ask(struct client *c, const char *method, const char *id, const char *tail,
                    json_t **out, struct fault *f)
{
    struct buf path;
    buf_init(&path, 4 * KIB);
    enum err e = submission_path(&path, id, tail, f);
    if (!e)
        e = client_json(c, &(struct request){.method = method, .path = path.data}, out, f);
    buf_release(&path);
    return e;
}

/* ---- show ---- */

enum { PART = COMMON_ROWS, SHOW_ROWS };
static const struct option_row show_rows[SHOW_ROWS] = {
    CLIENT_ROWS,
    [JSON] = COMMON,
    [PART] = {"part", 'p', "NAME", NULL, "report, source, ptx, cubin or log instead, to standard output"},
};
static const struct usage show_usage = {"show", "ID", "Shows a submission.", show_rows, SHOW_ROWS, 1, 1,
                                        VERDICT_NOTES};

/* Copies one artefact to standard output, byte for byte. */
static enum err show_part(struct client *c, const char *id, const char *part, struct fault *f)
{
    static const char *const parts[] = {"report", "source", "ptx", "cubin", "log"};
    size_t i = 0;
    while (i < COUNT_OF(parts) && strcmp(part, parts[i]) != 0)
        i++;
    if (i == COUNT_OF(parts))
        return fault_set(f, ERR_BAD_PARAMETER, "there is no part %s", part);
    char tail[16];
    struct buf path, body;
    buf_init(&path, 4 * KIB);
    buf_init(&body, LIMIT_PTX);
    snprintf(tail, sizeof(tail), "/%s", part);
    enum err e = submission_path(&path, id, tail, f);
    if (!e)
        e = client_send(c, &(struct request){.method = "GET", .path = path.data, .accept = "*/*"}, &body,
                        f);
    if (!e && body.len && fwrite(body.data, 1, body.len, stdout) != body.len)
        e = fault_set(f, ERR_IO, "could not write to standard output: %s", strerror(errno));
    buf_release(&path);
    buf_release(&body);
    return e;
}

/* ---- the commands ---- */

/* Prints a submission (or just the service's words about it) and gives the exit code. */
static int finish(const char *command, struct client *c, enum err e, json_t *answer, bool json,
                  bool by_verdict, const struct fault *f)
{
    int code = e ? cli_failed(command, f) : by_verdict ? submission_exit_code(answer) : CLI_OK;
    if (!e && json)
        json_print(stdout, answer);
    else if (!e && answer)
        submission_print(stdout, answer);
    json_decref(answer);
    client_release(c);
    return code;
}

int cmd_show(int argc, char **argv)
{
    const char *values[SHOW_ROWS];
    struct client c = {0};
    struct fault f = {0};
    json_t *answer = NULL;
    int code, operand = options_read(&show_usage, argc, argv, values, &code);
    if (operand < 0)
        return code;
    enum err e = client_open(&c, values, &f);
    if (!e && values[PART])
        e = show_part(&c, argv[operand], values[PART], &f);
    else if (!e)
        e = ask(&c, "GET", argv[operand], "", &answer, &f);
    return finish("show", &c, e, answer, values[JSON] && !values[PART], !values[PART], &f);
}

enum { TIMEOUT = COMMON_ROWS, QUIET, WATCH_ROWS };
static const struct option_row watch_rows[WATCH_ROWS] = {
    CLIENT_ROWS,
    [JSON] = COMMON,
    [TIMEOUT] = {"timeout", 't', "SECONDS", NULL, "give up after that long, 3600 by default"},
    [QUIET] = {"quiet", 'q', NULL, NULL, "no progress on standard error"},
};
static const struct usage watch_usage = {
    "watch", "ID", "Follows a submission until it has a verdict.", watch_rows, WATCH_ROWS, 1, 1,
    VERDICT_NOTES};

int cmd_watch(int argc, char **argv)
{
    const char *values[WATCH_ROWS];
    struct client c = {0};
    struct fault f = {0};
    json_t *answer = NULL;
    long timeout_s = FOLLOW_DEFAULT_S;
    int code, operand = options_read(&watch_usage, argc, argv, values, &code);
    if (operand < 0)
        return code;
    if (values[TIMEOUT] && !option_number("timeout", values[TIMEOUT], 1, 7L * 24 * 3600, &timeout_s))
        return CLI_USAGE;
    const char *id = argv[operand];
    enum err e = client_open(&c, values, &f);
    if (!e && !uuid_is_valid(id))
        e = fault_set(&f, ERR_BAD_PARAMETER, "%s is not the id of a submission", id);
    if (!e)
        e = follow(&c, id, values[QUIET] || values[JSON] ? NULL : stderr, timeout_s, &answer, &f);
    return finish("watch", &c, e, answer, values[JSON], true, &f);
}

static const struct option_row common_rows[COMMON_ROWS] = {CLIENT_ROWS, [JSON] = COMMON};

/* POST …/cancel and …/rerun differ in their name only. */
static int act(const struct usage *u, int argc, char **argv, const char *tail)
{
    const char *values[COMMON_ROWS];
    struct client c = {0};
    struct fault f = {0};
    json_t *answer = NULL;
    int code, operand = options_read(u, argc, argv, values, &code);
    if (operand < 0)
        return code;
    enum err e = client_open(&c, values, &f);
    if (!e)
        e = ask(&c, "POST", argv[operand], tail, &answer, &f);
    return finish(u->command, &c, e, answer, values[JSON], false, &f);
}

int cmd_cancel(int argc, char **argv)
{
    static const struct usage u = {
        "cancel", "ID", "Cancels a submission; a running one ends within seconds.", common_rows,
        COMMON_ROWS, 1, 1, NULL};
    return act(&u, argc, argv, "/cancel");
}

int cmd_rerun(int argc, char **argv)
{
    static const struct usage u = {
        "rerun", "ID", "Evaluates a submission again; earlier results stay.", common_rows, COMMON_ROWS, 1,
        1, NULL};
    return act(&u, argc, argv, "/rerun");
}

enum { REASON = COMMON_ROWS, HIDE_ROWS };

int cmd_hide(int argc, char **argv)
{
    static const struct option_row rows[HIDE_ROWS] = {
        CLIENT_ROWS,
        [JSON] = COMMON,
        [REASON] = {"reason", 'r', "TEXT", NULL, "why; everybody can read it on the board"},
    };
    static const struct usage u = {
        "hide", "ID", "Takes a submission off the boards; needs a token with the scope admin.", rows,
        HIDE_ROWS, 1, 1, NULL};
    const char *values[HIDE_ROWS];
    struct client c = {0};
    struct fault f = {0};
    struct buf tail;
    json_t *answer = NULL;
    int code, operand = options_read(&u, argc, argv, values, &code);
    if (operand < 0)
        return code;
    if (!values[REASON] || !*values[REASON]) {
        fputs("ptxbench hide: --reason TEXT must say why\ntry: ptxbench hide --help\n", stderr);
        return CLI_USAGE;
    }
    buf_init(&tail, 4 * KIB);
    buf_adds(&tail, "/hide");
    path_query(&tail, "reason", values[REASON]);
    enum err e = client_open(&c, values, &f);
    if (!e && tail.failed)
        e = fault_set(&f, ERR_BAD_PARAMETER, "the reason is too long");
    if (!e)
        e = ask(&c, "POST", argv[operand], tail.data, &answer, &f);
    buf_release(&tail);
    return finish("hide", &c, e, answer, values[JSON], false, &f);
}

int cmd_unhide(int argc, char **argv)
{
    static const struct usage u = {
        "unhide", "ID", "Puts a submission that was hidden back; needs a token with the scope admin.",
        common_rows, COMMON_ROWS, 1, 1, NULL};
    return act(&u, argc, argv, "/unhide");
}
