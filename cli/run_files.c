/* SPDX-License-Identifier: Apache-2.0
 * Runs as files: `ptxbench run export` and `import`. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/commands.h"
#include "cli/run.h"
#include "cli/table.h"
#include "core/util.h"

enum { EXPORT_S = 300, TRAJECTORY = CLIENT_ROW_COUNT, OUTPUT, EXPORT_ROWS };

/* Writes to a file (NULL or "-": standard output), which is not left there half. */
static enum err write_out(const char *file, const struct buf *b, struct fault *f)
{
    bool is_file = file && strcmp(file, "-") != 0;
    struct stat st = {0};
    FILE *out = is_file ? fopen(file, "wb") : stdout;
    if (!out)
        return fault_set(f, ERR_IO, "could not write %s: %s", file, strerror(errno));
    bool is_regular = fstat(fileno(out), &st) == 0 && S_ISREG(st.st_mode); /* not /dev/null */
    bool whole = fwrite(b->data ? b->data : "", 1, b->len, out) == b->len;
    whole = (is_file ? fclose(out) : fflush(out)) == 0 && whole;
    int reason = errno;
    if (whole)
        return ERR_NONE;
    if (is_file && is_regular)
        remove(file);
    return fault_set(f, ERR_IO, "could not write %s: %s", is_file ? file : "to standard output",
                     strerror(reason));
}

int run_export(int argc, char **argv)
{
    static const struct option_row rows[EXPORT_ROWS] = {
        CLIENT_ROWS,
        [TRAJECTORY] = {"trajectory", 't', "N", NULL, "only this one, as one JSON document"},
        [OUTPUT] = {"output", 'o', "FILE", NULL, "where to; standard output otherwise"},
    };
    static const struct usage u = {"run export",
                                   "ID",
                                   "Writes a run as JSON lines, a trajectory each, with prompts, "
                                   "answers, feedback and verdicts, in the\n"
                                   "layout of mini-swe-agent 1.1.",
                                   rows,
                                   EXPORT_ROWS,
                                   1,
                                   1,
                                   NULL};
    const char *values[EXPORT_ROWS];
    struct client c = {0};
    struct fault f = {0};
    struct buf path, body;
    char tail[RUN_TAIL] = "/export";
    long trajectory;
    int code, operand = options_read(&u, argc, argv, values, &code);
    if (operand < 0)
        return code;
    if (values[TRAJECTORY] &&
        !option_number("trajectory", values[TRAJECTORY], 0, RUN_INDEX_MAX, &trajectory))
        return CLI_USAGE;
    if (values[TRAJECTORY])
        snprintf(tail, sizeof(tail), "/trajectories/%ld/export", trajectory);
    buf_init(&path, 4 * KIB);
    buf_init(&body, LIMIT_PTX);
    enum err e = client_open(&c, values, &f);
    if (!e)
        e = run_path(&path, argv[operand], tail, &f);
    if (!e)
        e = client_send(
            &c,
            &(struct request){
                .method = "GET", .path = path.data, .accept = "*/*", .timeout_s = EXPORT_S},
            &body, &f);
    if (!e)
        e = write_out(values[OUTPUT], &body, &f);
    buf_release(&path);
    buf_release(&body);
    client_release(&c);
    return e ? cli_failed(u.command, &f) : CLI_OK;
}

/* What a file from elsewhere may not tell goes into the query, by the names of the options. */
static void import_path(struct buf *path, const struct usage *u, const char *const *values)
{
    buf_adds(path, "/v1/runs/import");
    for (size_t i = RUN_ROW_COUNT; i < u->count; i++)
        path_query(path, u->rows[i].name, values[i]);
}

int run_import(int argc, char **argv)
{
    static const struct option_row rows[] = {
        RUN_ROWS,
        {"problem", 'p', "NAME", NULL, "what the kernels compute"},
        {"workload", 'w', "NAME", NULL, "its size; the problem's own default otherwise"},
        {"arch", 'a', "NAME", NULL, "for which architecture they are"},
        {"device", 'd', "NAME", NULL, "where they ran"},
        {"model", 'm', "NAME", NULL, "who wrote them"},
        {"condition", 0, "TEXT", NULL, "what was done differently"},
        {"name", 0, "TEXT", NULL, "what the run is called"},
        {"visibility", 0, "WORD", NULL, "public or private; private needs a token"},
    };
    static const struct usage u = {"run import",
                                   "FILE",
                                   "Takes a run from elsewhere in (- for standard input): JSON "
                                   "lines or one document, as export\n"
                                   "writes them or another agent in the layout of mini-swe-agent "
                                   "1.1. Options say what such a file\n"
                                   "does not tell. Its kernels are not evaluated again.",
                                   rows,
                                   COUNT_OF(rows),
                                   1,
                                   1,
                                   NULL};
    const char *values[COUNT_OF(rows)];
    struct client c = {0};
    struct fault f = {0};
    struct buf b, path;
    json_t *answer = NULL;
    int code, operand = options_read(&u, argc, argv, values, &code);
    if (operand < 0)
        return code;
    buf_init(&b, LIMIT_PTX);
    buf_init(&path, 4 * KIB);
    import_path(&path, &u, values);
    enum err e = read_file(strcmp(argv[operand], "-") == 0 ? "/dev/stdin" : argv[operand], &b, &f);
    if (!e && path.failed)
        e = fault_set(&f, ERR_BAD_PARAMETER, "the names are too long");
    if (!e)
        e = client_open(&c, values, &f);
    if (!e)
        e = client_json(&c,
                        &(struct request){.method = "POST",
                                          .path = path.data,
                                          .content_type = "application/x-ndjson",
                                          .body = b.data,
                                          .body_len = b.len,
                                          .timeout_s = EXPORT_S},
                        &answer, &f);
    if (!e && values[RUN_JSON])
        json_print(stdout, answer);
    else if (!e)
        table_line(stdout, "run", answer,
                   (const struct column[]){
                       {"", "id", 0}, {"trajectories ", "trajectories", 0}, {"turns ", "turns", 0}},
                   3);
    json_decref(answer);
    buf_release(&b);
    buf_release(&path);
    client_release(&c);
    return e ? cli_failed(u.command, &f) : CLI_OK;
}
