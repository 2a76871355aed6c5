// SPDX-License-Identifier: Apache-2.0
// The queue against a real PostgreSQL: order, fairness, fencing, retries, leases, many workers that
// die.
#include "database.h"

#include <pthread.h>
#include <string.h>

static const char lanes[] = "{sm_90a/cpu,sm_100a/cpu}";
static const char passed[] = "{\"verdict\":\"PASSED\"}";

static void create_as(struct db *db, int64_t owner, int priority, char id[UUID_TEXT])
{
    struct new_submission s = a_submission();
    struct created_submission c;
    s.owner_id = owner;
    s.priority = priority;
    assert_ok(store_submission_create(db, &s, &c, f));
    if (id)
        memcpy(id, c.id, UUID_TEXT);
}

static bool claim_of(struct db *db, const char *worker, const char *from, struct job *j)
{
    bool got;
    assert_ok(queue_claim(db, worker, from, 30000, j, &got, f));
    return got;
}

static bool claim(struct db *db, struct job *j)
{
    return claim_of(db, "w", lanes, j);
}

static bool deliver(struct db *db, const struct job *j, const char *report)
{
    bool mine;
    struct delivery d = {.job = j, .report = report, .report_len = strlen(report), .retry = true};
    d.infra = strstr(report, "INFRA") != NULL;
    assert_ok(store_deliver(db, &d, &mine, f));
    return mine;
}

static void owners(int count)
{
    char text[100];
    snprintf(text, sizeof(text),
             "INSERT INTO owners (id, name) SELECT n, 'owner' || n FROM generate_series(1, %d) n",
             count);
    sql(text);
}

/* Claims n jobs; their owners as "1 2 3". */
static const char *claim_owners(struct db *db, int n)
{
    static char text[200];
    text[0] = '\0';
    for (int i = 0; i < n; i++) {
        struct job j;
        char query[100];
        assert_true(claim(db, &j));
        snprintf(query, sizeof(query), "SELECT owner_id FROM jobs WHERE id = %lld",
                 (long long)j.id);
        size_t at = strlen(text);
        snprintf(text + at, sizeof(text) - at, "%s%s", at ? " " : "", sql(query));
        job_release_memory(&j);
    }
    return text;
}

static void an_empty_queue_gives_nothing(void **state)
{
    struct job j;
    assert_false(claim(*state, &j));
}

static void lower_priority_runs_first_then_the_older(void **state)
{
    struct db *db = *state;
    char ids[4][UUID_TEXT];
    static const int priorities[] = {2, 1, 0, 1};
    static const int order[] = {2, 1, 3, 0};
    for (int i = 0; i < 4; i++)
        create_as(db, 0, priorities[i], ids[i]);
    for (int i = 0; i < 4; i++) {
        struct job j;
        assert_true(claim(db, &j));
        assert_string_equal(j.submission_id, ids[order[i]]);
        job_release_memory(&j);
    }
}

static void a_worker_takes_only_its_lanes(void **state)
{
    struct job j;
    create_as(*state, 0, 1, NULL);
    assert_false(claim_of(*state, "w", "{sm_90a/gpu,sm_100a/cpu}", &j));
    assert_true(claim_of(*state, "w", "{sm_90a/cpu}", &j));
    job_release_memory(&j);
}

/* Q.3 of the design: owner 1 queues 1,000, 50 are claimed, then 2 adds one and 3 adds three. */
static void a_long_backlog_delays_another_owner_by_one_job(void **state)
{
    struct db *db = *state;
    owners(3);
    for (int i = 0; i < 1000; i++)
        create_as(db, 1, 1, NULL);
    for (int i = 0; i < 50; i += 10)
        assert_string_equal(claim_owners(db, 10), "1 1 1 1 1 1 1 1 1 1");
    create_as(db, 2, 1, NULL);
    for (int i = 0; i < 3; i++)
        create_as(db, 3, 1, NULL);
    assert_string_equal(claim_owners(db, 10), "1 2 3 1 3 1 3 1 1 1");
}

static void yesterdays_use_is_forgotten(void **state)
{
    struct db *db = *state;
    owners(9);
    for (int i = 0; i < 20; i++)
        create_as(db, 1, 1, NULL);
    claim_owners(db, 20); /* drained */
    for (int i = 0; i < 100; i++)
        create_as(db, 9, 1, NULL);
    create_as(db, 1, 1, NULL);
    assert_string_equal(claim_owners(db, 4), "9 1 9 9");
}

static void enqueueing_twice_is_once(void **state)
{
    create_as(*state, 0, 1, NULL);
    assert_string_equal(
        sql("SELECT job_enqueue('evaluate', subject_id, lane, 0) IS NULL FROM jobs"), "t");
    assert_string_equal(sql("SELECT count(*) FROM jobs"), "1");
}

static void a_stale_worker_can_do_nothing(void **state)
{
    struct db *db = *state;
    struct job old, new;
    bool mine, cancel;
    char end[16];
    create_as(db, 0, 1, NULL);
    assert_true(claim_of(db, "old", lanes, &old));
    sql("UPDATE jobs SET lease_until = now() - interval '1 s'");
    int reaped;
    assert_ok(queue_reap(db, &reaped, f));
    assert_int_equal(reaped, 1);
    assert_false(claim(db, &new)); /* it waits before the next attempt */
    sql("UPDATE jobs SET run_after = now()");
    assert_true(claim_of(db, "new", lanes, &new));
    assert_int_equal(new.attempt, 2);
    assert_ok(queue_heartbeat(db, &old, 30000, &mine, &cancel, f));
    assert_false(mine);
    assert_false(deliver(db, &old, passed));
    assert_ok(queue_fail(db, &old, "x", true, end, f));
    assert_string_equal(end, "");
    assert_ok(queue_release(db, &old, &mine, f));
    assert_false(mine);
    assert_ok(queue_event(db, &old, "stage", "{}", f));
    struct buf source;
    buf_init(&source, LIMIT_SOURCE);
    assert_int_equal(queue_source(db, &old, &source, NULL), ERR_NOT_FOUND);
    buf_release(&source);
    assert_string_equal(sql("SELECT count(*) FROM events WHERE kind = 'stage'"), "0");
    assert_string_equal(sql("SELECT count(*) FROM blobs"), "1"); /* nothing but the source */
    assert_true(deliver(db, &new, passed));
    assert_string_equal(sql("SELECT attempt FROM results"), "2");
    job_release_memory(&old);
    job_release_memory(&new);
}

static void a_poison_job_fails_at_last_and_its_owner_sees_it(void **state)
{
    struct db *db = *state;
    char id[UUID_TEXT];
    create_as(db, 0, 1, id);
    for (int attempt = 1; attempt <= 3; attempt++) {
        struct job j;
        int reaped;
        sql("UPDATE jobs SET run_after = now()");
        assert_true(claim(db, &j));
        assert_int_equal(j.attempt, attempt);
        sql("UPDATE jobs SET lease_until = now() - interval '1 s'"); /* its worker dies silently */
        assert_ok(queue_reap(db, &reaped, f));
        assert_string_equal(sql("SELECT state FROM jobs"), attempt < 3 ? "queued" : "failed");
        job_release_memory(&j);
    }
    json_t *doc;
    assert_ok(store_submission_get(db, id, 0, &doc, f));
    assert_string_equal(json_string_value(json_object_get(doc, "state")), "done");
    assert_string_equal(json_string_value(json_object_get(doc, "verdict")), "INFRA_ERROR");
    assert_string_equal(json_string_value(json_object_get(doc, "detail")),
                        "worker w lost: lease expired");
    json_decref(doc);
    struct buf report;
    buf_init(&report, LIMIT_REPORT);
    assert_ok(store_submission_report(db, id, 0, &report, f));
    assert_non_null(strstr(report.data, "\"verdict\" : \"INFRA_ERROR\""));
    buf_release(&report);
    assert_string_equal(sql("SELECT string_agg(outcome, ' ') FROM job_attempts"), "lost lost lost");
}

static void the_last_report_that_blames_us_is_kept(void **state)
{
    struct db *db = *state;
    create_as(db, 0, 1, NULL);
    for (int attempt = 1; attempt <= 3; attempt++) {
        struct job j;
        sql("UPDATE jobs SET run_after = now()");
        assert_true(claim(db, &j));
        assert_true(deliver(db, &j, "{\"verdict\":\"INFRA_ERROR\",\"detail\":\"disk on fire\"}"));
        assert_string_equal(sql("SELECT count(*) FROM results"), attempt < 3 ? "0" : "1");
        job_release_memory(&j);
    }
    assert_string_equal(sql("SELECT state FROM jobs"), "failed");
    assert_string_equal(sql("SELECT convert_from(data, 'UTF8') FROM blobs WHERE kind = 'report'"),
                        "{\"verdict\":\"INFRA_ERROR\",\"detail\":\"disk on fire\"}");
}

static void retries_wait_longer_each_time(void **state)
{
    struct db *db = *state;
    static const double seconds[] = {5, 10, 20, 40, 80, 160, 300, 300};
    create_as(db, 0, 1, NULL);
    sql("UPDATE jobs SET max_attempts = 100");
    for (size_t i = 0; i < COUNT_OF(seconds); i++) {
        struct job j;
        char end[16];
        sql("UPDATE jobs SET run_after = now()");
        assert_true(claim(db, &j));
        assert_ok(queue_fail(db, &j, "x", true, end, f));
        double wait = strtod(sql("SELECT extract(epoch FROM run_after - now()) FROM jobs"), NULL);
        assert_true(wait > 0.85 * seconds[i] && wait < 1.15 * seconds[i]);
        job_release_memory(&j);
    }
}

static void what_is_given_back_costs_no_attempt(void **state)
{
    struct db *db = *state;
    bool mine;
    create_as(db, 0, 1, NULL);
    for (int attempt = 1; attempt <= 5; attempt++) {
        struct job j;
        assert_true(claim(db, &j));
        assert_int_equal(j.attempt, attempt); /* the token grows all the same */
        assert_int_equal(j.max_attempts - j.attempt, 2);
        assert_ok(queue_release(db, &j, &mine, f));
        assert_true(mine);
        job_release_memory(&j);
    }
}

static void a_running_job_is_cancelled_through_its_heartbeat(void **state)
{
    struct db *db = *state;
    char id[UUID_TEXT], end[16];
    struct job j;
    bool mine, cancel;
    json_t *doc;
    create_as(db, 0, 1, id);
    assert_true(claim(db, &j));
    assert_ok(queue_heartbeat(db, &j, 30000, &mine, &cancel, f));
    assert_true(mine && !cancel);
    assert_ok(store_submission_cancel(db, id, 0, &doc, f));
    assert_true(json_is_true(json_object_get(doc, "cancelling")));
    json_decref(doc);
    assert_ok(queue_heartbeat(db, &j, 30000, &mine, &cancel, f));
    assert_true(mine && cancel);
    assert_ok(queue_fail(db, &j, "cancelled on request", true, end, f));
    assert_string_equal(end, "cancelled");
    assert_string_equal(sql("SELECT verdict FROM results"), "CANCELLED");
    assert_string_equal(sql("SELECT outcome FROM job_attempts"), "cancelled");
    job_release_memory(&j);
}

static void a_cancelled_job_of_a_lost_worker_is_not_retried(void **state)
{
    struct db *db = *state;
    char id[UUID_TEXT];
    struct job j;
    int reaped;
    json_t *doc;
    create_as(db, 0, 1, id);
    assert_true(claim(db, &j));
    assert_ok(store_submission_cancel(db, id, 0, &doc, f));
    json_decref(doc);
    sql("UPDATE jobs SET lease_until = now() - interval '1 s'");
    assert_ok(queue_reap(db, &reaped, f));
    assert_string_equal(sql("SELECT verdict FROM results"), "CANCELLED");
    job_release_memory(&j);
}

static void heartbeats_are_heap_only_updates(void **state)
{
    struct db *db = *state;
    struct job j;
    bool mine, cancel;
    create_as(db, 0, 1, NULL);
    assert_true(claim(db, &j));
    for (int i = 0; i < 20; i++)
        assert_ok(queue_heartbeat(db, &j, 30000, &mine, &cancel, f));
    db_close(db); /* a backend reports its counters when it ends */
    *state = NULL;
    long hot = 0;
    for (int i = 0; i < 100 && hot < 20; i++) {
        usleep(50000);
        hot = strtol(sql("SELECT n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'jobs'"),
                     NULL, 10);
    }
    assert_true(hot >= 20);
    job_release_memory(&j);
    *state = db_open(&(struct db_options){.conninfo = database_conninfo}, NULL);
}

static void old_things_are_pruned_and_counters_do_not_fall(void **state)
{
    struct db *db = *state;
    struct job j;
    int deleted;
    create_as(db, 0, 1, NULL);
    assert_true(claim(db, &j));
    assert_true(deliver(db, &j, passed));
    create_as(db, 0, 1, NULL);
    assert_ok(queue_prune(db, &deleted, f));
    assert_int_equal(deleted, 0);
    sql("UPDATE jobs SET finished_at = finished_at - interval '8 days' WHERE finished_at IS NOT "
        "NULL; "
        "UPDATE events SET at = at - interval '8 days'");
    assert_ok(queue_prune(db, &deleted, f));
    assert_int_equal(deleted, 1 + 4);
    assert_string_equal(sql("SELECT state FROM jobs"), "queued");
    json_t *doc;
    assert_ok(store_metrics(db, &doc, f));
    assert_int_equal(json_integer_value(json_object_get(
                         json_array_get(json_object_get(doc, "attempts"), 0), "count")),
                     1);
    json_decref(doc);
    assert_ok(store_fsck(db, &doc, f));
    assert_int_equal(json_array_size(json_object_get(doc, "problems")), 0);
    json_decref(doc);
    job_release_memory(&j);
}

static void the_worker_role_may_call_its_functions_and_nothing_else(void **state)
{
    (void)state;
    create_as(*state, 0, 1, NULL);
    sql("DROP ROLE IF EXISTS gpu_host; CREATE ROLE gpu_host LOGIN; GRANT ptxbench_worker TO "
        "gpu_host");
    char conninfo[160];
    snprintf(conninfo, sizeof(conninfo), "%s user=gpu_host", database_conninfo);
    assert_ok(migrate_check(conninfo, PTXBENCH_SOURCE_DIR, f));
    struct db *db = db_open(&(struct db_options){.conninfo = conninfo}, NULL);
    assert_non_null(db);
    struct worker_info w = {.name = "w",
                            .host = "h",
                            .device = "cpu",
                            .device_uuid = "u",
                            .device_model = "m",
                            .lanes = lanes,
                            .lease_ms = 30000};
    assert_ok(queue_worker_start(db, &w, f));
    struct job j;
    bool mine, cancel;
    int n;
    assert_true(claim(db, &j));
    struct buf source;
    buf_init(&source, LIMIT_SOURCE);
    assert_ok(queue_source(db, &j, &source, f));
    buf_release(&source);
    assert_ok(queue_heartbeat(db, &j, 30000, &mine, &cancel, f));
    assert_ok(queue_event(db, &j, "stage", "{}", f));
    assert_ok(queue_reap(db, &n, f));
    assert_ok(queue_prune(db, &n, f));
    assert_true(deliver(db, &j, passed));
    job_release_memory(&j);

    json_t *doc;
    struct token t;
    struct new_submission s = a_submission();
    struct created_submission c;
    assert_int_not_equal(store_token_list(db, &doc, NULL), ERR_NONE);
    assert_int_equal(store_token_lookup(db, "x", &t, NULL), ERR_INTERNAL);
    assert_int_not_equal(store_submission_create(db, &s, &c, NULL), ERR_NONE);
    assert_int_not_equal(store_submission_list(db, &(struct submission_filter){.limit = 1},
                                               VIEWER_ADMIN, &doc, NULL),
                         ERR_NONE);
    db_close(db);
    assert_string_equal(
        sql("SELECT count(*) FROM pg_proc WHERE prosecdef AND pronamespace = "
            "'public'::regnamespace "
            "AND (proconfig IS NULL OR has_function_privilege('public', oid, 'execute'))"),
        "0");
}

/* ---- chaos ---- */

enum { CHAOS_JOBS = 300, CHAOS_WORKERS = 6 };

struct chaos {
    pthread_t thread;
    int number;
    uint32_t random;
    const bool *over;
};

static bool chance(struct chaos *c, uint32_t percent)
{
    c->random = c->random * 1664525U + 1013904223U;
    return (c->random >> 16) % 100 < percent;
}

/* A worker that dies silently at 15 % of its jobs and stalls past its lease at 10 % of the rest. */
static void *chaotic_worker(void *arg)
{
    struct chaos *c = arg;
    struct db *db = db_open(&(struct db_options){.conninfo = database_conninfo}, NULL);
    char name[32], report[100];
    bool got, mine, cancel;
    int reaped;
    for (int life = 0; db && !__atomic_load_n(c->over, __ATOMIC_RELAXED);) {
        struct job j;
        snprintf(name, sizeof(name), "w%d:%d", c->number, life);
        queue_reap(db, &reaped, NULL);
        if (queue_claim(db, name, lanes, 400, &j, &got, NULL) != ERR_NONE || !got) {
            usleep(20000);
            continue;
        }
        if (chance(c, 15)) {
            life++; /* died: somebody else must find out */
        } else {
            usleep(chance(c, 10) ? 700000 : 2000);
            snprintf(report, sizeof(report), "{\"verdict\":\"PASSED\",\"detail\":\"%d\"}",
                     j.attempt);
            struct delivery d = {.job = &j, .report = report, .report_len = strlen(report)};
            queue_heartbeat(db, &j, 400, &mine, &cancel, NULL);
            store_deliver(db, &d, &mine, NULL);
        }
        job_release_memory(&j);
    }
    db_close(db);
    return NULL;
}

static void workers_that_die_and_stall_lose_and_double_nothing(void **state)
{
    struct db *db = *state;
    struct chaos chaos[CHAOS_WORKERS];
    bool over = false;
    for (int i = 0; i < CHAOS_JOBS; i++)
        create_as(db, 0, 1, NULL);
    sql("UPDATE jobs SET max_attempts = 50");
    for (int i = 0; i < CHAOS_WORKERS; i++) {
        chaos[i] = (struct chaos){.number = i, .random = (uint32_t)i + 7, .over = &over};
        assert_int_equal(pthread_create(&chaos[i].thread, NULL, chaotic_worker, &chaos[i]), 0);
    }
    int64_t end = now_ms() + 60000;
    while (now_ms() < end &&
           strcmp(sql("SELECT count(*) FROM jobs WHERE state <> 'succeeded'"), "0") != 0) {
        sql("UPDATE jobs SET run_after = now() WHERE state = 'queued' AND run_after > now()"); /* no
                                                                                                  backoff
                                                                                                */
        usleep(100000);
    }
    __atomic_store_n(&over, true, __ATOMIC_RELAXED);
    for (int i = 0; i < CHAOS_WORKERS; i++)
        pthread_join(chaos[i].thread, NULL);
    assert_string_equal(sql("SELECT count(*) FROM jobs WHERE state = 'succeeded'"), "300");
    assert_string_equal(sql("SELECT count(*) FROM results"), "300");
    assert_string_equal(
        sql("SELECT count(*) FROM results r JOIN jobs j ON j.subject_id = r.evaluation_id "
            "WHERE r.attempt <> j.attempt OR r.detail <> j.attempt::text"),
        "0");
    assert_string_equal(sql("SELECT count(*) FROM submissions WHERE state = 'done'"), "300");
    assert_string_equal(sql("SELECT count(*) FROM (SELECT topic FROM events GROUP BY topic "
                            "HAVING max(seq) <> count(*)) gaps"),
                        "0");
    assert_true(strtol(sql("SELECT count(*) FROM job_attempts WHERE outcome = 'lost'"), NULL, 10) >
                20);
    json_t *doc;
    assert_ok(store_fsck(db, &doc, f));
    assert_int_equal(json_array_size(json_object_get(doc, "problems")), 0);
    json_decref(doc);
}

#define test(fn) cmocka_unit_test_setup_teardown(fn, database_setup, database_teardown)

static const struct CMUnitTest tests[] = {
    test(an_empty_queue_gives_nothing),
    test(lower_priority_runs_first_then_the_older),
    test(a_worker_takes_only_its_lanes),
    test(a_long_backlog_delays_another_owner_by_one_job),
    test(yesterdays_use_is_forgotten),
    test(enqueueing_twice_is_once),
    test(a_stale_worker_can_do_nothing),
    test(a_poison_job_fails_at_last_and_its_owner_sees_it),
    test(the_last_report_that_blames_us_is_kept),
    test(retries_wait_longer_each_time),
    test(what_is_given_back_costs_no_attempt),
    test(a_running_job_is_cancelled_through_its_heartbeat),
    test(a_cancelled_job_of_a_lost_worker_is_not_retried),
    test(heartbeats_are_heap_only_updates),
    test(old_things_are_pruned_and_counters_do_not_fall),
    test(the_worker_role_may_call_its_functions_and_nothing_else),
    test(workers_that_die_and_stall_lose_and_double_nothing),
};

database_main(tests, NULL, NULL)
