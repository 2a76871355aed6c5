// SPDX-License-Identifier: Apache-2.0
// Migrations: all, twice, by many at once, and every way to refuse.
#include "database.h"

#include <pthread.h>
#include <string.h>

static const char home[] = PTXBENCH_SOURCE_DIR;

static int empty_database(void **state)
{
    static int number;
    char name[32];
    (void)state;
    snprintf(name, sizeof(name), "m%d", ++number);
    database_create(name);
    return 0;
}

static enum err run(const char *from, struct migrate_report *r)
{
    struct fault f = {0};
    enum err e = migrate(database_conninfo, from, r, &f);
    if (e != ERR_NONE)
        printf("%s\n", f.detail);
    return e;
}

/* ---- a home of our own: a copy of sql/, to be changed ---- */

static char other_home[64];

static void copy_folder(const char *from, const char *to)
{
    pid_t pid = fork();
    if (pid == 0) {
        execl("/bin/cp", "cp", "-r", from, to, (char *)NULL);
        _exit(127);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static int own_home(void **state)
{
    snprintf(other_home, sizeof(other_home), "/tmp/ptxm.XXXXXX");
    if (!mkdtemp(other_home))
        return -1;
    copy_folder(PTXBENCH_SOURCE_DIR "/sql", other_home);
    return empty_database(state);
}

static int drop_home(void **state)
{
    (void)state;
    return nftw(other_home, database_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void write_file(const char *name, const char *mode, const char *text)
{
    char path[200];
    snprintf(path, sizeof(path), "%s/sql/%s", other_home, name);
    FILE *file = fopen(path, mode);
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* Name of the migration after the newest: "0002_next.sql". */
static const char *next_name(void)
{
    static char name[32];
    snprintf(name, sizeof(name), "%04d_next.sql", migrate_newest(other_home, NULL) + 1);
    return name;
}

/* ---- tests ---- */

static void an_empty_database_gets_everything_and_then_nothing(void **state)
{
    (void)state;
    struct migrate_report r;
    int newest = migrate_newest(home, NULL);
    assert_true(newest >= 1);
    assert_int_equal(run(home, &r), ERR_NONE);
    assert_int_equal(r.from, 0);
    assert_int_equal(r.to, newest);
    assert_int_equal(r.applied, newest);
    assert_true(r.functions > 0);
    assert_int_equal(run(home, &r), ERR_NONE);
    assert_int_equal(r.from, newest);
    assert_int_equal(r.applied, 0);
    assert_int_equal(r.functions, 0);
    assert_int_equal(migrate_check(database_conninfo, home, NULL), ERR_NONE);
}

struct starter {
    pthread_t thread;
    enum err got;
    struct migrate_report report;
};

static void *start(void *arg)
{
    struct starter *s = arg;
    s->got = migrate(database_conninfo, home, &s->report, NULL);
    return NULL;
}

static void many_starters_at_once_are_one(void **state)
{
    (void)state;
    struct starter starters[8];
    int applied = 0;
    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&starters[i].thread, NULL, start, &starters[i]), 0);
    for (int i = 0; i < 8; i++) {
        pthread_join(starters[i].thread, NULL);
        assert_int_equal(starters[i].got, ERR_NONE);
        applied += starters[i].report.applied;
    }
    assert_int_equal(applied, migrate_newest(home, NULL));
}

static void an_older_or_newer_schema_is_refused_with_a_reason(void **state)
{
    (void)state;
    struct migrate_report r;
    struct fault f = {0};
    assert_int_equal(migrate_check(database_conninfo, home, &f), ERR_CONFLICT);
    assert_non_null(strstr(f.detail, "run `ptxbench migrate`"));
    assert_int_equal(run(home, &r), ERR_NONE);
    sql("INSERT INTO schema_migrations (version, name, sha256) VALUES (500, 'future', '')");
    assert_int_equal(migrate_check(database_conninfo, home, &f), ERR_CONFLICT);
    assert_non_null(strstr(f.detail, "the database has schema 500"));
    assert_int_equal(migrate(database_conninfo, home, &r, &f), ERR_CONFLICT);
}

static void a_file_that_changed_after_it_was_applied_is_refused(void **state)
{
    (void)state;
    struct migrate_report r;
    assert_int_equal(run(other_home, &r), ERR_NONE);
    write_file("0001_schema.sql", "a", "-- one more line\n");
    assert_int_equal(run(other_home, &r), ERR_CONFLICT);
    assert_int_equal(migrate_check(database_conninfo, other_home, NULL), ERR_CONFLICT);
}

static void a_gap_in_the_numbers_is_refused(void **state)
{
    (void)state;
    struct migrate_report r;
    write_file("0777_far.sql", "w", "SELECT 1;\n");
    assert_int_equal(run(other_home, &r), ERR_CONFLICT);
    assert_string_equal(sql("SELECT to_regclass('jobs') IS NULL"), "t");
}

static void a_migration_that_fails_leaves_nothing(void **state)
{
    (void)state;
    struct migrate_report r;
    write_file(next_name(), "w", "CREATE TABLE half (x int);\nSELECT no_such_function();\n");
    int newest = migrate_newest(other_home, NULL);
    assert_int_not_equal(run(other_home, &r), ERR_NONE);
    assert_int_equal(r.to, newest - 1); /* those before it stay */
    assert_string_equal(sql("SELECT to_regclass('half') IS NULL"), "t");
    assert_int_equal(migrate_check(database_conninfo, other_home, NULL), ERR_CONFLICT);
}

static void a_new_migration_keeps_what_is_there(void **state)
{
    (void)state;
    struct migrate_report r;
    assert_int_equal(run(home, &r), ERR_NONE);
    sql("INSERT INTO owners (id, name) VALUES (7, 'ann')");
    write_file(next_name(), "w", "ALTER TABLE owners ADD COLUMN motto text;\n");
    assert_int_equal(run(other_home, &r), ERR_NONE);
    assert_int_equal(r.applied, 1);
    assert_true(r.functions > 0); /* laid again on top of the new tables */
    assert_string_equal(sql("SELECT name FROM owners WHERE id = 7 AND motto IS NULL"), "ann");
    assert_int_equal(migrate_check(database_conninfo, home, NULL),
                     ERR_CONFLICT); /* the old program */
}

static void functions_are_laid_when_they_changed_and_all_or_none(void **state)
{
    (void)state;
    struct migrate_report r;
    assert_int_equal(run(other_home, &r), ERR_NONE);
    write_file(
        "functions/a.sql", "w",
        "CREATE OR REPLACE FUNCTION answer() RETURNS int LANGUAGE sql AS $$ SELECT 42 $$;\n");
    assert_int_equal(run(other_home, &r), ERR_NONE);
    assert_int_equal(r.applied, 0);
    assert_true(r.functions > 0);
    assert_string_equal(sql("SELECT answer()"), "42");
    write_file(
        "functions/a.sql", "w",
        "CREATE OR REPLACE FUNCTION answer() RETURNS int LANGUAGE sql AS $$ SELECT 43 $$;\n");
    write_file("functions/b.sql", "w", "SELECT no_such_function();\n");
    assert_int_not_equal(run(other_home, &r), ERR_NONE);
    assert_string_equal(sql("SELECT answer()"), "42");
}

static void a_server_that_is_not_there_is_said(void **state)
{
    (void)state;
    struct fault f = {0};
    struct migrate_report r;
    assert_int_equal(migrate("host=/nonexistent dbname=x", home, &r, &f), ERR_DATABASE);
    assert_non_null(strstr(f.detail, "cannot connect to the database"));
    assert_int_equal(migrate_check("host=/nonexistent dbname=x", home, &f), ERR_DATABASE);
    assert_int_equal(migrate_newest("/nonexistent", &f), -1);
}

#define test(fn) cmocka_unit_test_setup_teardown(fn, empty_database, NULL)
#define own(fn) cmocka_unit_test_setup_teardown(fn, own_home, drop_home)

static const struct CMUnitTest tests[] = {
    test(an_empty_database_gets_everything_and_then_nothing),
    test(many_starters_at_once_are_one),
    test(an_older_or_newer_schema_is_refused_with_a_reason),
    own(a_file_that_changed_after_it_was_applied_is_refused),
    own(a_gap_in_the_numbers_is_refused),
    own(a_migration_that_fails_leaves_nothing),
    own(a_new_migration_keeps_what_is_there),
    own(functions_are_laid_when_they_changed_and_all_or_none),
    test(a_server_that_is_not_there_is_said),
};

database_main(tests, NULL, NULL)
