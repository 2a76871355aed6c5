/* SPDX-License-Identifier: Apache-2.0
 * A throw-away PostgreSQL for one test program: database_main() starts a cluster in a temporary
 * folder, runs the tests, and removes it; without PostgreSQL the program says so and counts as
 * skipped. */
#ifndef TESTS_UNIT_DATABASE_H
#define TESTS_UNIT_DATABASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "cluster.h"
#include "core/db/db.h"
#include "core/db/migrate.h"
#include "core/db/store.h"

/* First value of any statement, as text in a static buffer ("" for none or null); fails the test on
 * error. */
static const char *sql_at(const char *conninfo, const char *statement)
{
    static char value[4096];
    PGconn *pg = PQconnectdb(conninfo);
    PGresult *res = PQexec(pg, statement);
    ExecStatusType status = PQresultStatus(res);
    value[0] = '\0';
    if (status == PGRES_TUPLES_OK && PQntuples(res) > 0)
        snprintf(value, sizeof(value), "%s", PQgetvalue(res, 0, 0));
    else if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
        fprintf(stderr, "%s: %s", statement, PQerrorMessage(pg));
    PQclear(res);
    PQfinish(pg);
    assert_true(status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK);
    return value;
}

__attribute__((unused)) static const char *sql(const char *statement)
{
    return sql_at(database_conninfo, statement);
}

/* Makes an empty database of that name and points database_conninfo at it. */
static void database_create(const char *name)
{
    char text[100];
    snprintf(database_conninfo, sizeof(database_conninfo),
             "host=%s/pg user=ptxbench dbname=postgres", database_folder);
    snprintf(text, sizeof(text), "CREATE DATABASE %s", name);
    sql_at(database_conninfo, text);
    snprintf(database_conninfo, sizeof(database_conninfo), "host=%s/pg user=ptxbench dbname=%s",
             database_folder, name);
}

/* Setup of a test: a migrated database of its own, an open connection in *state. */
__attribute__((unused)) static int database_setup(void **state)
{
    static int number;
    char name[32];
    struct migrate_report report;
    struct fault f = {0};
    snprintf(name, sizeof(name), "t%d", ++number);
    database_create(name);
    if (migrate(database_conninfo, PTXBENCH_SOURCE_DIR, &report, &f) != ERR_NONE)
        fprintf(stderr, "%s\n", f.detail);
    *state = db_open(&(struct db_options){.conninfo = database_conninfo}, &f);
    if (!*state)
        fprintf(stderr, "%s\n", f.detail);
    return *state ? 0 : -1;
}

__attribute__((unused)) static int database_teardown(void **state)
{
    db_close(*state);
    return 0;
}

/* A submission that anybody may see; change what the test is about. */
__attribute__((unused)) static struct new_submission a_submission(void)
{
    return (struct new_submission){.request = "{\"problem\":\"gemm\"}",
                                   .source = "__global__ void k() {}",
                                   .source_len = 22,
                                   .problem = "gemm",
                                   .workload = "small",
                                   .arch = "sm_90a",
                                   .language = "cuda",
                                   .device = "cpu",
                                   .mode = "rank",
                                   .priority = 1,
                                   .timeout_s = 60,
                                   .queued_limit = 10000};
}

#define assert_ok(call)                                                                            \
    do {                                                                                           \
        struct fault fault_ = {0};                                                                 \
        struct fault *f = &fault_;                                                                 \
        enum err err_ = (call);                                                                    \
        if (err_ != ERR_NONE)                                                                      \
            fail_msg("%s: %s", err_code(err_), fault_.detail);                                     \
    } while (0)

#define database_main(tests, setup, teardown)                                                      \
    int main(void)                                                                                 \
    {                                                                                              \
        if (!database_start(false)) {                                                              \
            printf("1..0 # SKIP PostgreSQL is not installed\n");                                   \
            database_stop();                                                                       \
            return 0;                                                                              \
        }                                                                                          \
        int failed = cmocka_run_group_tests(tests, setup, teardown);                               \
        database_stop();                                                                           \
        return failed;                                                                             \
    }

#endif
