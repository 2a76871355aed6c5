// SPDX-License-Identifier: Apache-2.0
// Connections: error codes, transactions, healing, LISTEN.
#include "database.h"

#include <string.h>

#include "core/db/listen.h"
#include "core/db/queue.h"

static const char nobody[] = "00000000-0000-7000-8000-000000000000";

static enum err read_one(struct db *db, struct fault *f)
{
    json_t *doc = NULL;
    enum err e = store_submission_rev(db, nobody, 0, &doc, f);
    json_decref(doc);
    return e;
}

static void kill_backends(const char *application)
{
    char text[200];
    snprintf(text, sizeof(text),
             "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity WHERE "
             "pid <> pg_backend_pid() AND datname = current_database() AND application_name = '%s'",
             application);
    sql(text);
}

static void errors_get_their_codes(void **state)
{
    struct db *db = *state;
    struct db_rows rows;
    struct fault f = {0};
    assert_int_equal(read_one(db, &f), ERR_NOT_FOUND);
    assert_int_equal(db_run(db, STMT_SUBMISSION_REV, DB_ARGS(db_text(nobody)), &rows, &f),
                     ERR_INTERNAL);
    assert_non_null(strstr(f.detail, "it takes 2 parameters, not 1"));
    db_rows_release(&rows);
    assert_int_equal(
        db_run(db, STMT_SUBMISSION_REV, DB_ARGS(db_text("no uuid"), db_int(0)), NULL, &f),
        ERR_INTERNAL);
    assert_int_equal(read_one(db, &f), ERR_NOT_FOUND); /* still usable */
}

static void a_slow_statement_meets_its_deadline(void **state)
{
    struct db *slow = db_open(
        &(struct db_options){.conninfo = database_conninfo, .statement_timeout_ms = 200}, NULL);
    PGconn *other = PQconnectdb(database_conninfo);
    PQclear(PQexec(other, "BEGIN; LOCK TABLE submissions IN ACCESS EXCLUSIVE MODE"));
    int64_t begin = now_ms();
    assert_int_equal(read_one(slow, NULL), ERR_DEADLINE);
    assert_in_range(now_ms() - begin, 150, 3000);
    PQfinish(other);
    assert_int_equal(read_one(slow, NULL), ERR_NOT_FOUND);
    db_close(slow);
    (void)state;
}

static void an_idle_connection_that_was_cut_heals_unseen(void **state)
{
    struct db *db = *state;
    kill_backends("ptxbench");
    assert_int_equal(read_one(db, NULL), ERR_NOT_FOUND);
    assert_true(db_connected(db));
}

struct tx {
    int runs;
    int busy_until; /* fails with ERR_BUSY before this run */
    enum err end;
    bool cut;
};

static enum err touch(struct db *db, void *arg, struct fault *f)
{
    struct tx *tx = arg;
    tx->runs++;
    enum err e = queue_worker_start(db,
                                    &(struct worker_info){.name = "w",
                                                          .host = "h",
                                                          .device = "cpu",
                                                          .device_uuid = "u",
                                                          .device_model = "m",
                                                          .lanes = "{a/cpu}",
                                                          .lease_ms = 1000},
                                    f);
    if (e != ERR_NONE)
        return e;
    if (tx->cut)
        kill_backends("ptxbench");
    return tx->runs < tx->busy_until ? fault_set(f, ERR_BUSY, "again") : tx->end;
}

static void a_transaction_is_all_or_nothing(void **state)
{
    struct db *db = *state;
    struct tx bad = {.end = ERR_CONFLICT}, good = {.end = ERR_NONE};
    assert_int_equal(db_tx(db, touch, &bad, NULL), ERR_CONFLICT);
    assert_string_equal(sql("SELECT count(*) FROM workers"), "0");
    assert_int_equal(db_tx(db, touch, &good, NULL), ERR_NONE);
    assert_string_equal(sql("SELECT count(*) FROM workers"), "1");
    assert_int_equal(good.runs, 1);
}

static void a_conflict_is_tried_again_but_not_for_ever(void **state)
{
    struct db *db = *state;
    struct tx third = {.busy_until = 3}, never = {.busy_until = 1000};
    assert_int_equal(db_tx(db, touch, &third, NULL), ERR_NONE);
    assert_int_equal(third.runs, 3);
    assert_int_equal(db_tx(db, touch, &never, NULL), ERR_BUSY);
    assert_int_equal(never.runs, 5);
}

/* A real one: the other side holds w2 and asks for w1, we hold w1 and ask for w2; only we look for
 * deadlocks. */
struct deadlock {
    PGconn *other;
    int runs;
};

static enum err seen_both(struct db *db, void *arg, struct fault *f)
{
    struct deadlock *d = arg;
    enum err e = queue_worker_seen(db, "w1", f);
    if (e == ERR_NONE && ++d->runs == 1) {
        PQsendQuery(d->other, "UPDATE workers SET seen_at = now() WHERE name = 'w1'; COMMIT");
        usleep(200000);
    }
    return e == ERR_NONE ? queue_worker_seen(db, "w2", f) : e;
}

static void a_deadlock_is_resolved_by_trying_again(void **state)
{
    struct db *db = *state;
    struct deadlock d = {.other = PQconnectdb(database_conninfo)};
    sql("INSERT INTO devices (uuid, model) VALUES ('u', 'm'); INSERT INTO workers (name, host, "
        "device, device_uuid, "
        "lanes, lease) SELECT n, 'h', 'cpu', 'u', '{}', '1 s' FROM unnest(ARRAY['w1', 'w2']) n");
    PQclear(PQexec(d.other, "SET deadlock_timeout = '1 min'"));
    PQclear(PQexec(d.other, "BEGIN"));
    PQclear(PQexec(d.other, "UPDATE workers SET seen_at = now() WHERE name = 'w2'"));
    assert_int_equal(db_tx(db, seen_both, &d, NULL), ERR_NONE);
    assert_true(d.runs > 1);
    PQfinish(d.other);
}

static void a_connection_lost_in_a_transaction_is_an_error_once(void **state)
{
    struct db *db = *state;
    struct tx cut = {.cut = true}, whole = {.end = ERR_NONE};
    assert_int_equal(db_tx(db, touch, &cut, NULL), ERR_DATABASE);
    assert_int_equal(cut.runs, 1);
    assert_string_equal(sql("SELECT count(*) FROM workers"), "0");
    assert_int_equal(db_tx(db, touch, &whole, NULL), ERR_NONE);
}

static void an_unreachable_server_is_said_and_not_hammered(void **state)
{
    (void)state;
    struct fault f = {0};
    assert_null(db_open(&(struct db_options){.conninfo = "host=/nonexistent"}, &f));
    assert_int_equal(f.code, ERR_DATABASE);
}

static void numbers_bytes_and_nulls_pass_through(void **state)
{
    (void)state;
    assert_string_equal(db_int(INT64_MIN).number, "-9223372036854775808");
    assert_null(db_text(NULL).data);
    assert_non_null(db_bytes(NULL, 0).data);
    assert_string_equal(db_bool(true).data, "t");
}

/* ---- LISTEN ---- */

struct heard {
    int resets, notified;
    char channel[64], payload[64];
};

static void hear(void *arg, const char *channel, const char *payload)
{
    struct heard *h = arg;
    h->notified++;
    snprintf(h->channel, sizeof(h->channel), "%s", channel);
    snprintf(h->payload, sizeof(h->payload), "%s", payload);
}

static void reset(void *arg)
{
    ((struct heard *)arg)->resets++;
}

static void wait_until(struct listener *l, const int *counter, int wanted)
{
    for (int i = 0; i < 100 && *counter < wanted; i++)
        listener_wait(l, -1, 50);
    assert_int_equal(*counter, wanted);
}

static void a_listener_hears_and_says_when_it_may_have_missed_something(void **state)
{
    static const char *const channels[] = {CHANNEL_JOB_QUEUED, CHANNEL_SUBMISSION_EVENT, NULL};
    struct heard heard = {0};
    struct created_submission c;
    struct new_submission s = a_submission();
    struct db_options o = {.conninfo = database_conninfo, .application = "listener"};
    struct listener *l = listener_new(&o, channels, &(struct listen_hooks){hear, reset, &heard});
    assert_int_equal(listener_socket(l), -1);
    wait_until(l, &heard.resets, 1); /* the first look is a look at everything */
    assert_true(listener_connected(l));
    assert_ok(store_submission_create(*state, &s, &c, f));
    wait_until(l, &heard.notified, 2);
    assert_string_equal(heard.channel, CHANNEL_SUBMISSION_EVENT);
    assert_string_equal(heard.payload, c.id);
    kill_backends("listener");
    wait_until(l, &heard.resets, 2);
    sql("NOTIFY job_queued, 'sm_90a/cpu'");
    wait_until(l, &heard.notified, 3);
    assert_string_equal(heard.payload, "sm_90a/cpu");
    listener_free(l);
}

static void waiting_ends_when_the_wake_descriptor_is_readable(void **state)
{
    (void)state;
    static const char *const channels[] = {CHANNEL_JOB_DONE, NULL};
    struct heard heard = {0};
    struct db_options o = {.conninfo = database_conninfo};
    struct listener *l = listener_new(&o, channels, &(struct listen_hooks){hear, reset, &heard});
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(write(fds[1], "x", 1), 1);
    int64_t begin = now_ms();
    listener_wait(l, fds[0], 10000);
    assert_in_range(now_ms() - begin, 0, 5000);
    close(fds[0]);
    close(fds[1]);
    listener_free(l);
}

#define test(fn) cmocka_unit_test_setup_teardown(fn, database_setup, database_teardown)

static const struct CMUnitTest tests[] = {
    test(errors_get_their_codes),
    test(a_slow_statement_meets_its_deadline),
    test(an_idle_connection_that_was_cut_heals_unseen),
    test(a_transaction_is_all_or_nothing),
    test(a_conflict_is_tried_again_but_not_for_ever),
    test(a_deadlock_is_resolved_by_trying_again),
    test(a_connection_lost_in_a_transaction_is_an_error_once),
    test(an_unreachable_server_is_said_and_not_hammered),
    test(numbers_bytes_and_nulls_pass_through),
    test(a_listener_hears_and_says_when_it_may_have_missed_something),
    test(waiting_ends_when_the_wake_descriptor_is_readable),
};

database_main(tests, NULL, NULL)
