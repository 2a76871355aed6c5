// SPDX-License-Identifier: Apache-2.0
// Agents, workers, reapers and owners all at once on the same runs, against a real PostgreSQL:
// nobody waits for ever, nothing is lost, nothing is doubled.
#include "run_kit.h"

#include <pthread.h>
#include <stdatomic.h>

enum { RUNS = 3, AGENTS = 3, WORKERS = 2, REAPERS = 2, OWNERS = 2, BUSY_MS = 6000, END_MS = 90000 };

static struct {
    char ids[RUNS][UUID_TEXT];
    atomic_bool calm; /* nobody disturbs any more */
    atomic_bool over;
    atomic_int faults, turns;
    atomic_uint seed;
} crowd;

static struct db *connect_one(void)
{
    struct fault f = {0};
    return db_open(&(struct db_options){.conninfo = database_conninfo}, &f);
}

/* Errors that somebody at once with others may see; any other is a fault of ours. */
static void expect(enum err e, const struct fault *f)
{
    if (e == ERR_NONE || e == ERR_CONFLICT || e == ERR_NOT_FOUND)
        return;
    fprintf(stderr, "%s: %s\n", err_code(e), f->detail);
    atomic_fetch_add(&crowd.faults, 1);
}

static void answer(struct db *db, struct step_job *j, bool *mine)
{
    struct fault f = {0};
    struct call_end end = stored_end("x");
    enum call_leave leave;
    int64_t call;
    expect(call_start(db, j, "a:1:1", "[]", 2, 1, 0, &leave, &call, &f), &f);
    *mine = leave == CALL_GO;
    if (!*mine)
        return;
    expect(call_progress(db, j, 1, 1, mine, &f), &f);
    expect(call_finish(db, j, call, &end, mine, &f), &f);
}

static enum err conclude(struct db *db, struct step_job *j, const struct conclusion *c,
                         struct fault *f)
{
    bool mine;
    enum err e = step_conclude(db, j, c, &mine, f);
    atomic_fetch_add(&crowd.turns, e == ERR_NONE && mine);
    return e;
}

static void work(struct db *db, struct step_job *j, int forget)
{
    struct fault f = {0};
    bool mine = true;
    struct conclusion c = concluded(forget % 5 ? "compile" : "infra", 0);
    struct new_submission s = run_submission(j);
    if (!j->conclude && !json_is_object(json_object_get(j->work, "stored")))
        answer(db, j, &mine);
    if (!mine || forget == 0)
        return;
    if (j->conclude)
        expect(conclude(db, j, &c, &f), &f);
    else if (forget == 1)
        expect(step_fail(db, j, "broken", true, &mine, &f), &f);
    else if (forget == 2)
        expect(step_delay(db, j, 1, "busy", &mine, &f), &f);
    else
        expect(step_submit(db, j, "kernel", &s, &mine, &f), &f);
}

static void *agent(void *arg)
{
    (void)arg;
    struct db *db = connect_one();
    unsigned seed = atomic_fetch_add(&crowd.seed, 1);
    while (!atomic_load(&crowd.over)) {
        struct fault f = {0};
        struct step_job j;
        bool got;
        expect(step_claim(db, "a:1:1", "{llm/p}", 30000, &j, &got, &f), &f);
        if (got) {
            json_t *lost = NULL;
            char ids[40], attempts[40];
            snprintf(ids, sizeof(ids), "{%lld}", (long long)j.id);
            snprintf(attempts, sizeof(attempts), "{%d}", j.attempt);
            expect(step_heartbeat(db, "a:1:1", ids, attempts, 30000, &lost, &f), &f);
            json_decref(lost);
            work(db, &j, atomic_load(&crowd.calm) ? 9 : rand_r(&seed) % 12);
        } else {
            usleep(2000);
        }
        step_job_release(&j);
    }
    db_close(db);
    return NULL;
}

static void *worker(void *arg)
{
    (void)arg;
    struct db *db = connect_one();
    while (!atomic_load(&crowd.over)) {
        struct fault f = {0};
        struct job j = {0};
        bool got, mine;
        expect(queue_claim(db, "w:1:1", "{sm_90a/cpu}", 30000, &j, &got, &f), &f);
        if (got) {
            struct delivery d = {.job = &j, .report = run_passed, .report_len = strlen(run_passed)};
            expect(queue_event(db, &j, "stage", "{\"kind\":\"stage\",\"stage\":\"check\"}", &f),
                   &f);
            expect(store_deliver(db, &d, &mine, &f), &f);
        } else {
            usleep(2000);
        }
        job_release_memory(&j);
    }
    db_close(db);
    return NULL;
}

/* Takes leases away from the living, and what has failed often is given more tries. */
static void *reaper(void *arg)
{
    (void)arg;
    struct db *db = connect_one();
    PGconn *pg = PQconnectdb(database_conninfo);
    while (!atomic_load(&crowd.over)) {
        struct fault f = {0};
        int reaped;
        if (!atomic_load(&crowd.calm))
            PQclear(PQexec(pg,
                           "UPDATE jobs SET lease_until = now() - interval '1 s' WHERE id IN "
                           "(SELECT id FROM jobs "
                           "WHERE state = 'running' AND random() < 0.2 FOR UPDATE SKIP LOCKED)"));
        expect(queue_reap(db, &reaped, &f), &f);
        PQclear(PQexec(pg, "UPDATE jobs SET run_after = now(), max_attempts = 1000 WHERE id IN "
                           "(SELECT id FROM jobs "
                           "WHERE state = 'queued' FOR UPDATE SKIP LOCKED)"));
        usleep(15000);
    }
    PQfinish(pg);
    db_close(db);
    return NULL;
}

static void *owner(void *arg)
{
    (void)arg;
    struct db *db = connect_one();
    unsigned seed = atomic_fetch_add(&crowd.seed, 1);
    while (!atomic_load(&crowd.calm)) {
        struct fault f = {0};
        json_t *doc = NULL;
        const char *id = crowd.ids[rand_r(&seed) % RUNS];
        switch (rand_r(&seed) % 6) {
        case 0:
            expect(runs_cancel(db, id, 0, &doc, &f), &f);
            break;
        case 1:
            expect(runs_extend(db, id, 0, 1 + rand_r(&seed) % 12, 0, &doc, &f), &f);
            break;
        case 2:
            expect(runs_supervise(db, id, rand_r(&seed) % 4, 0, 0, "x", &doc, &f), &f);
            break;
        case 3:
            expect(runs_get(db, id, 0, &doc, &f), &f);
            break;
        default:
            expect(runs_resume(db, id, 0, -1, -1, &doc, &f), &f);
        }
        json_decref(doc);
        usleep(10000);
    }
    db_close(db);
    return NULL;
}

/* Brings every run to its own end. */
static void settle(struct db *db)
{
    int64_t end = now_ms() + END_MS;
    for (bool open = true; open && now_ms() < end;) {
        json_t *doc;
        for (int i = 0; i < RUNS; i++)
            if (runs_resume(db, crowd.ids[i], 0, -1, -1, &doc, NULL) == ERR_NONE)
                json_decref(doc);
        open =
            strcmp(sql("SELECT count(*) FROM trajectories WHERE reason IS DISTINCT FROM 'turns'"),
                   "0") != 0;
        usleep(50000);
    }
}

static void everybody_at_once_loses_nothing(void **state)
{
    static void *(*const roles[])(void *) = {agent,  agent,  agent, worker, worker,
                                             reaper, reaper, owner, owner};
    _Static_assert(COUNT_OF(roles) == AGENTS + WORKERS + REAPERS + OWNERS, "one role each");
    struct db *db = *state;
    pthread_t threads[COUNT_OF(roles)];
    for (int i = 0; i < RUNS; i++)
        run_make(db, 0, run_text(2, 2, 4, ""), crowd.ids[i]);
    for (size_t i = 0; i < COUNT_OF(roles); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, roles[i], NULL), 0);
    usleep(BUSY_MS * 1000);
    atomic_store(&crowd.calm, true);
    settle(db);
    atomic_store(&crowd.over, true);
    for (size_t i = 0; i < COUNT_OF(roles); i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&crowd.faults), 0);
    assert_string_equal(sql("SELECT count(*) FROM runs WHERE state = 'done' AND reason IS NULL"),
                        "3");
    assert_string_equal(
        sql("SELECT count(*) FROM trajectories t JOIN runs r ON r.id = t.run_id WHERE (SELECT "
            "count(*) FROM turns x WHERE x.run_id = t.run_id AND x.trajectory = t.n AND x.counted) "
            "<> r.turns"),
        "0");
    assert_string_equal(
        sql("SELECT count(*) FROM steps s JOIN turns t USING (run_id, trajectory, n, try)"
            " WHERE s.call_id IS NULL"),
        "0");
    assert_string_equal(
        sql("SELECT sum(turns) = (SELECT count(*) FROM turns WHERE counted) FROM turn_counts"),
        "t");
    assert_int_equal(atomic_load(&crowd.turns),
                     strtoll(sql("SELECT count(*) FROM turns"), NULL, 10));
    assert_sound(db);
    printf("# %s deadlocks\n",
           sql("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"));
}

#define test(fn) cmocka_unit_test_setup_teardown(fn, database_setup, database_teardown)

static const struct CMUnitTest tests[] = {
    test(everybody_at_once_loses_nothing),
};

database_main(tests, NULL, NULL)
