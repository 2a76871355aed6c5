/* SPDX-License-Identifier: Apache-2.0
 * `ptxbench import`: results of others into the database. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "core/db/turns.h"
#include "core/json.h"
#include "core/published.h"
#include "core/util.h"

enum { DATABASE, ROWS };
enum { STATEMENT_TIMEOUT_MS = 10 * 60 * 1000, RULES_BYTES = MIB };

static const struct option_row rows[ROWS] = {
    [DATABASE] = {"database", 'd', "CONNINFO", "PTXBENCH_DATABASE",
                  "PostgreSQL connection string; libpq's own default otherwise"},
};

static const struct usage usage = {
    .command = "import",
    .operands = "published FOLDER",
    .summary = "Takes the paper's turns (FOLDER/published_turns.csv) in as published results, by "
               "the rules of\n"
               "published/turns.json. What was imported before is replaced.",
    .rows = rows,
    .count = ROWS,
    .min = 2,
    .max = 2,
};

static json_t *read_rules(struct fault *f)
{
    char path[PATH_MAX];
    struct buf text;
    buf_init(&text, RULES_BYTES);
    snprintf(path, sizeof(path), "%s/published/turns.json", home_dir());
    json_t *rules =
        read_file(path, &text, f) == ERR_NONE ? json_parse(text.data, text.len, f) : NULL;
    buf_release(&text);
    return rules;
}

static json_t *read_document(const char *folder, struct fault *f)
{
    char path[PATH_MAX];
    struct buf csv;
    buf_init(&csv, PUBLISHED_BYTES);
    snprintf(path, sizeof(path), "%s/published_turns.csv", folder);
    json_t *rules = read_rules(f), *document = NULL;
    if (rules && read_file(path, &csv, f) == ERR_NONE)
        document = published_document(rules, csv.data, csv.len, f);
    json_decref(rules);
    buf_release(&csv);
    return document;
}

static enum err import(const char *conninfo, const char *folder, json_t **counts, struct fault *f)
{
    const struct db_options options = {.conninfo = conninfo ? conninfo : "",
                                       .application = "ptxbench",
                                       .statement_timeout_ms = STATEMENT_TIMEOUT_MS};
    json_t *document = read_document(folder, f);
    struct db *db = document ? db_open(&options, f) : NULL;
    enum err e = db ? turns_import(db, document, counts, f) : f->code;
    db_close(db);
    json_decref(document);
    return e;
}

int cmd_import(int argc, char **argv)
{
    const char *values[ROWS], *name;
    struct fault f = {0};
    json_t *counts = NULL, *n;
    int code, operand = options_read(&usage, argc, argv, values, &code);
    if (operand < 0)
        return code;
    if (strcmp(argv[operand], "published") != 0) {
        fprintf(stderr,
                "ptxbench import: expected published, not '%s'\ntry: ptxbench import --help\n",
                argv[operand]);
        return CLI_USAGE;
    }
    if (import(values[DATABASE], argv[operand + 1], &counts, &f) != ERR_NONE)
        return cli_failed("import", &f);
    json_object_foreach(counts, name, n)
        printf("%lld %s\n", (long long)json_integer_value(n), name);
    json_decref(counts);
    return CLI_OK;
}
