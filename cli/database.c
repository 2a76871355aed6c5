/* SPDX-License-Identifier: Apache-2.0
 * Commands of the operator, who reaches the database itself: token, migrate, fsck. */
#include <string.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/table.h"
#include "core/db/db.h"
#include "core/db/migrate.h"
#include "core/db/store.h"
#include "core/util.h"

enum { DATABASE, DATABASE_ROW_COUNT };
#define DATABASE_ROW                                                                               \
    {                                                                                              \
        "database", 'd', "CONNINFO", "PTXBENCH_DATABASE",                                          \
            "PostgreSQL connection string; libpq's own default otherwise"                          \
    }
enum { STATEMENT_TIMEOUT_MS = 60 * 1000, FSCK_TIMEOUT_MS = 60 * 60 * 1000 };

static const char *conninfo(const char *const *values)
{
    return values[DATABASE] ? values[DATABASE] : "";
}

static struct db *open_database(const char *const *values, int timeout_ms, struct fault *f)
{
    return db_open(&(struct db_options){.conninfo = conninfo(values),
                                        .application = "ptxbench",
                                        .statement_timeout_ms = timeout_ms},
                   f);
}

/* ---- migrate ---- */

int cmd_migrate(int argc, char **argv)
{
    static const struct option_row rows[] = {DATABASE_ROW};
    static const struct usage u = {
        "migrate", "", "Brings the database to the schema of this version. Running it twice is harmless.",
        rows, COUNT_OF(rows), 0, 0, NULL};
    const char *values[COUNT_OF(rows)];
    struct migrate_report r = {0};
    struct fault f = {0};
    int code;
    if (options_read(&u, argc, argv, values, &code) < 0)
        return code;
    if (migrate(conninfo(values), home_dir(), &r, &f))
        return cli_failed("migrate", &f);
    printf("schema %d -> %d, %d migration(s) applied, %d function file(s) laid\n", r.from, r.to, r.applied,
           r.functions);
    return CLI_OK;
}

/* ---- fsck ---- */

int cmd_fsck(int argc, char **argv)
{
    enum { JSON = DATABASE_ROW_COUNT };
    static const struct option_row rows[] = {DATABASE_ROW,
                                             {"json", 'j', NULL, NULL, "print the findings as JSON"}};
    static const struct usage u = {
        "fsck", "", "Checks stored hashes, references, and jobs against results. Changes nothing.", rows,
        COUNT_OF(rows), 0, 0, "exit status: 0 sound, 1 something is wrong, 64 bad command line."};
    const char *values[COUNT_OF(rows)], *name;
    struct fault f = {0};
    json_t *found = NULL, *item;
    size_t i;
    int code;
    if (options_read(&u, argc, argv, values, &code) < 0)
        return code;
    struct db *db = open_database(values, FSCK_TIMEOUT_MS, &f);
    if (!db || store_fsck(db, &found, &f)) {
        db_close(db);
        return cli_failed("fsck", &f);
    }
    const json_t *problems = json_object_get(found, "problems");
    code = json_array_size(problems) ? CLI_FAILED : CLI_OK;
    if (values[JSON]) {
        json_print(stdout, found);
    } else {
        json_object_foreach(json_object_get(found, "checked"), name, item)
            printf("checked %lld %s\n", (long long)json_integer_value(item), name);
        json_array_foreach(problems, i, item)
            printf("problem: %s\n", json_string_value(item));
        puts(code ? "not sound" : "sound");
    }
    json_decref(found);
    db_close(db);
    return code;
}

/* ---- token ---- */

enum { OWNER = DATABASE_ROW_COUNT, SCOPES, DAYS, NOTE, JSON_ROW, TOKEN_ROWS };
static const struct option_row token_rows[TOKEN_ROWS] = {
    DATABASE_ROW,
    [OWNER] = {"owner", 'o', "NAME", NULL, "create: whose it is; made if new"},
    [SCOPES] = {"scopes", 0, "LIST", NULL, "create: submit, read, admin; submit,read by default"},
    [DAYS] = {"days", 0, "N", NULL, "create: expires after that long; never by default"},
    [NOTE] = {"note", 0, "TEXT", NULL, "create: what it is for"},
    [JSON_ROW] = {"json", 'j', NULL, NULL, "list: print JSON"},
};
static const struct usage token_usage = {
    .command = "token",
    .operands = "create | list | revoke ID",
    .summary = "Creates, lists or revokes access tokens. A new token is printed once, alone, on standard "
               "output;\nthe database keeps only its hash.",
    .rows = token_rows,
    .count = TOKEN_ROWS,
    .min = 1,
    .max = 2,
};

static int token_usage_error(const char *problem)
{
    fprintf(stderr, "ptxbench token: %s\ntry: ptxbench token --help\n", problem);
    return CLI_USAGE;
}

static int token_create(struct db *db, const char *const *values, const char *id)
{
    struct fault f = {0};
    char text[TOKEN_TEXT];
    long days = 0;
    if (id)
        return token_usage_error("create takes no operand; see --owner");
    if (!values[OWNER])
        return token_usage_error("create needs --owner NAME");
    if (values[DAYS] && !option_number("days", values[DAYS], 1, 36500, &days))
        return CLI_USAGE;
    if (store_token_create(db, values[OWNER], values[SCOPES] ? values[SCOPES] : "submit,read", (int)days,
                           values[NOTE], text, &f))
        return cli_failed("token create", &f);
    puts(text);
    explicit_bzero(text, sizeof(text));
    return CLI_OK;
}

static int token_list(struct db *db, const char *const *values, const char *id)
{
    static const struct column columns[] = {
        {"id", "id", 0}, {"owner", "owner", 0}, {"scopes", "scopes", 0}, {"note", "note", 0},
        {"created", "created_at", 0}, {"expires", "expires_at", 0}, {"revoked", "revoked_at", 0},
        {"last used", "last_used_at", 0}};
    struct fault f = {0};
    json_t *list = NULL;
    if (id)
        return token_usage_error("list takes no operand");
    if (store_token_list(db, &list, &f))
        return cli_failed("token list", &f);
    if (values[JSON_ROW])
        json_print(stdout, list);
    else
        table_print(stdout, columns, COUNT_OF(columns), json_object_get(list, "items"), "no tokens");
    json_decref(list);
    return CLI_OK;
}

static int token_revoke(struct db *db, const char *const *values, const char *id)
{
    (void)values;
    struct fault f = {0};
    if (!id)
        return token_usage_error("revoke needs the id that list shows");
    if (store_token_revoke(db, id, &f))
        return cli_failed("token revoke", &f);
    printf("revoked %s\n", id);
    return CLI_OK;
}

int cmd_token(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(struct db *db, const char *const *values, const char *id);
    } actions[] = {{"create", token_create}, {"list", token_list}, {"revoke", token_revoke}};
    const char *values[TOKEN_ROWS];
    struct fault f = {0};
    int code, operand = options_read(&token_usage, argc, argv, values, &code);
    if (operand < 0)
        return code;
    size_t i = 0;
    while (i < COUNT_OF(actions) && strcmp(argv[operand], actions[i].name) != 0)
        i++;
    if (i == COUNT_OF(actions))
        return token_usage_error("expected create, list or revoke");
    struct db *db = open_database(values, STATEMENT_TIMEOUT_MS, &f);
    if (!db)
        return cli_failed("token", &f);
    code = actions[i].run(db, values, operand + 1 < argc ? argv[operand + 1] : NULL);
    db_close(db);
    return code;
}
