// SPDX-License-Identifier: Apache-2.0
// Migrations. Its few statements run before there is a schema to prepare anything against, so they
// stand here and not in statements.def.
#include "core/db/migrate.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "core/db/connect.h"
#include "core/util.h"

enum { LIMIT_MIGRATIONS = 999, LIMIT_SQL_FILES = 1000, LIMIT_SQL = 4 * MIB };

/* Any fixed number: all starters of all versions must agree on it. */
#define LOCK_KEY "5070246135"

static const char create_table[] =
    "CREATE TABLE IF NOT EXISTS schema_migrations (version integer PRIMARY KEY, name text NOT "
    "NULL, "
    "sha256 text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())";
static const char list_applied[] =
    "SELECT version, name, sha256 FROM schema_migrations WHERE version > 0 ORDER BY version";
/* Row 0 holds the checksum of all function files together. */
static const char functions_laid[] = "SELECT sha256 FROM schema_migrations WHERE version = 0";
static const char record[] =
    "INSERT INTO schema_migrations (version, name, sha256) VALUES ($1, $2, $3) "
    "ON CONFLICT (version) DO UPDATE SET sha256 = excluded.sha256, applied_at = now()";

struct sql_file {
    int version; /* 0: a function file */
    char name[256], sha256[SHA256_HEX];
    char *text; /* owned */
};

struct sql_files {
    struct sql_file *items;
    size_t count;
};

static void sql_files_release(struct sql_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        free(files->items[i].text);
    free(files->items);
    *files = (struct sql_files){0};
}

static bool is_migration(const char *name)
{
    for (int i = 0; i < 4; i++)
        if (!isdigit((unsigned char)name[i]))
            return false;
    return name[4] == '_';
}

static int is_sql(const struct dirent *d)
{
    size_t n = strlen(d->d_name);
    return n > 4 && d->d_name[0] != '.' && strcmp(d->d_name + n - 4, ".sql") == 0;
}

static enum err sql_file_read(struct sql_file *out, const char *folder, const char *name,
                              struct fault *f)
{
    char path[4096];
    struct buf text;
    buf_init(&text, LIMIT_SQL);
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    enum err e = read_file(path, &text, f);
    if (e != ERR_NONE) {
        buf_release(&text);
        return e;
    }
    snprintf(out->name, sizeof(out->name), "%s", name);
    out->version = is_migration(name) ? (int)strtol(name, NULL, 10) : 0;
    sha256_hex(text.data, text.len, out->sha256);
    out->text = text.data; /* now ours */
    return ERR_NONE;
}

/* All .sql files of a folder, by name. */
static enum err sql_files_read(struct sql_files *files, const char *folder, struct fault *f)
{
    struct dirent **names;
    int n = scandir(folder, &names, is_sql, alphasort);
    if (n < 0)
        return fault_set(f, ERR_IO, "cannot list %s", folder);
    enum err e = ERR_NONE;
    if (n <= LIMIT_SQL_FILES)
        files->items = calloc((size_t)n + 1, sizeof(struct sql_file));
    if (!files->items)
        e = fault_set(f, ERR_NO_MEMORY, "cannot hold the %d files of %s", n, folder);
    for (int i = 0; i < n; i++) {
        if (e == ERR_NONE && files->items) {
            e = sql_file_read(&files->items[i], folder, names[i]->d_name, f);
            files->count += e == ERR_NONE;
        }
        free(names[i]);
    }
    free(names);
    return e;
}

/* sql/NNNN_name.sql: 1, 2, 3 … without a gap. */
static enum err migrations_read(struct sql_files *files, const char *home, struct fault *f)
{
    char folder[4000];
    snprintf(folder, sizeof(folder), "%s/sql", home);
    enum err e = sql_files_read(files, folder, f);
    for (size_t i = 0; e == ERR_NONE && i < files->count; i++)
        if (files->items[i].version != (int)i + 1)
            e = fault_set(f, ERR_CONFLICT, "cannot use %s/%s: its number should be %04zu", folder,
                          files->items[i].name, i + 1);
    if (e == ERR_NONE && !files->count)
        e = fault_set(f, ERR_IO, "there are no migrations in %s", folder);
    return e;
}

int migrate_newest(const char *home, struct fault *f)
{
    struct sql_files files = {0};
    int newest = migrations_read(&files, home, f) == ERR_NONE ? (int)files.count : -1;
    sql_files_release(&files);
    return newest;
}

/* ---- the database side ---- */

static enum err run(PGconn *pg, const char *what, PGresult *res, PGresult **out, struct fault *f)
{
    enum err e = ERR_NONE;
    if (PQresultStatus(res) != PGRES_COMMAND_OK && PQresultStatus(res) != PGRES_TUPLES_OK) {
        char message[300];
        e = fault_set(f, PQstatus(pg) == CONNECTION_OK ? ERR_INTERNAL : ERR_DATABASE,
                      "cannot apply %s: %s", what,
                      pg_message(PQerrorMessage(pg), message, sizeof(message)));
    }
    if (out && e == ERR_NONE)
        *out = res;
    else
        PQclear(res);
    return e;
}

static enum err run_text(PGconn *pg, const char *what, const char *sql, struct fault *f)
{
    return run(pg, what, PQexec(pg, sql), NULL, f);
}

static enum err record_file(PGconn *pg, int version, const char *name, const char *sha256,
                            struct fault *f)
{
    char number[16];
    snprintf(number, sizeof(number), "%d", version);
    return run(
        pg, name,
        PQexecParams(pg, record, 3, NULL, (const char *[]){number, name, sha256}, NULL, NULL, 0),
        NULL, f);
}

/* Scripts and their record, all or nothing. */
static enum err apply(PGconn *pg, const struct sql_file *files, size_t count, int version,
                      const char *name, const char *sha256, struct fault *f)
{
    enum err e = run_text(pg, name, "BEGIN", f);
    for (size_t i = 0; e == ERR_NONE && i < count; i++)
        e = run_text(pg, files[i].name, files[i].text, f);
    if (e == ERR_NONE)
        e = record_file(pg, version, name, sha256, f);
    if (e == ERR_NONE)
        return run_text(pg, name, "COMMIT", f);
    run_text(pg, name, "ROLLBACK", NULL);
    return e;
}

/* Schema version of the database; refuses one that these files cannot have made. */
static enum err compare(PGconn *pg, const struct sql_files *files, int *version, struct fault *f)
{
    PGresult *res = NULL;
    enum err e = run(pg, "schema_migrations", PQexec(pg, list_applied), &res, f);
    if (e != ERR_NONE)
        return e;
    *version = 0;
    for (int i = 0; e == ERR_NONE && i < PQntuples(res); i++) {
        *version = (int)strtol(PQgetvalue(res, i, 0), NULL, 10);
        if ((size_t)*version > files->count || !files->items)
            e = fault_set(
                f, ERR_CONFLICT,
                "the database has schema %d, this program knows only %zu: use a newer program",
                *version, files->count);
        else if (strcmp(PQgetvalue(res, i, 2), files->items[*version - 1].sha256) != 0)
            e = fault_set(f, ERR_CONFLICT,
                          "sql/%s is not the file that was applied to this database",
                          files->items[*version - 1].name);
    }
    PQclear(res);
    return e;
}

static enum err lay_functions(PGconn *pg, const char *home, bool force, int *laid, struct fault *f)
{
    char folder[4000], sum[SHA256_HEX];
    struct sql_files files = {0};
    struct buf all;
    PGresult *res = NULL;
    snprintf(folder, sizeof(folder), "%s/sql/functions", home);
    buf_init(&all, LIMIT_SQL_FILES * SHA256_HEX);
    enum err e = sql_files_read(&files, folder, f);
    for (size_t i = 0; e == ERR_NONE && i < files.count; i++)
        buf_adds(&all, files.items[i].sha256);
    sha256_hex(all.data ? all.data : "", all.len, sum);
    if (e == ERR_NONE)
        e = run(pg, "schema_migrations", PQexec(pg, functions_laid), &res, f);
    bool same = res && PQntuples(res) == 1 && strcmp(PQgetvalue(res, 0, 0), sum) == 0;
    if (e == ERR_NONE && (force || !same)) {
        e = apply(pg, files.items, files.count, 0, "functions", sum, f);
        *laid = (int)files.count;
    }
    PQclear(res);
    buf_release(&all);
    sql_files_release(&files);
    return e;
}

static enum err migrate_locked(PGconn *pg, const char *home, const struct sql_files *files,
                               struct migrate_report *out, struct fault *f)
{
    enum err e = run_text(pg, "schema_migrations", create_table, f);
    if (e == ERR_NONE)
        e = compare(pg, files, &out->from, f);
    out->to = out->from;
    while (e == ERR_NONE && (size_t)out->to < files->count) {
        const struct sql_file *next = &files->items[out->to];
        e = apply(pg, next, 1, next->version, next->name, next->sha256, f);
        if (e == ERR_NONE) {
            out->to++;
            out->applied++;
        }
    }
    return e == ERR_NONE ? lay_functions(pg, home, out->applied > 0, &out->functions, f) : e;
}

enum err migrate(const char *conninfo, const char *home, struct migrate_report *out,
                 struct fault *f)
{
    *out = (struct migrate_report){0};
    struct sql_files files = {0};
    enum err e = migrations_read(&files, home, f);
    PGconn *pg = e == ERR_NONE ? pg_connect(conninfo, "ptxbench migrate", f) : NULL;
    if (e == ERR_NONE && !pg)
        e = ERR_DATABASE;
    if (e == ERR_NONE) /* held until the connection closes; NOTICEs of IF NOT EXISTS say nothing */
        e = run_text(pg, "lock",
                     "SET client_min_messages = warning; SELECT pg_advisory_lock(" LOCK_KEY ")", f);
    if (e == ERR_NONE)
        e = migrate_locked(pg, home, &files, out, f);
    PQfinish(pg);
    sql_files_release(&files);
    return e;
}

enum err migrate_check(const char *conninfo, const char *home, struct fault *f)
{
    struct sql_files files = {0};
    int version = 0;
    enum err e = migrations_read(&files, home, f);
    PGconn *pg = e == ERR_NONE ? pg_connect(conninfo, "ptxbench", f) : NULL;
    if (e == ERR_NONE && !pg)
        e = ERR_DATABASE;
    if (e == ERR_NONE) {
        PGresult *res = PQexec(pg, "SELECT to_regclass('schema_migrations') IS NOT NULL");
        bool there = PQresultStatus(res) == PGRES_TUPLES_OK && PQgetvalue(res, 0, 0)[0] == 't';
        PQclear(res);
        e = there ? compare(pg, &files, &version, f) : ERR_NONE;
    }
    if (e == ERR_NONE && (size_t)version < files.count)
        e = fault_set(f, ERR_CONFLICT,
                      "the database has schema %d, this program needs %zu: run `ptxbench migrate`",
                      version, files.count);
    PQfinish(pg);
    sql_files_release(&files);
    return e;
}
