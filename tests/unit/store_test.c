// SPDX-License-Identifier: Apache-2.0
// The store against a real PostgreSQL: create, read, visibility, keys, quotas, results, boards,
// tokens.
#include "database.h"
#include "submitted.h"

#include <pthread.h>
#include <string.h>

static const char report_passed[] =
    "{\"schema\":1,  "
    "\"verdict\":\"PASSED\",\"flags\":[\"loose\"],\"detail\":null,\"device_model\":\"ptxvm\","
    "\"speedup\":null,\"target\":{\"executed\":true,\"tensor_share\":0.5,\"families\":{\"gmma\":"
    "{\"static\":2,\"warps\":64,\"threads\":2048},\"tma\":{\"static\":1,\"warps\":0,\"threads\":0}}"
    "},"
    "\"counts\":{\"thread_instructions\":12345},\"wall_ms\":7.5,\"epoch\":1}";

static void a_submission_is_followed_from_queue_to_result(void **state)
{
    struct db *db = *state;
    struct created_submission c;
    create(db, a_submission(), &c);
    assert_int_equal(c.rev, 1);
    json_t *doc;
    assert_ok(store_submission_get(db, c.id, 0, &doc, f));
    assert_string_equal(text_of(doc, "state"), "queued");
    assert_int_equal(json_integer_value(json_object_get(doc, "position")), 1);
    assert_true(json_is_false(json_object_get(json_object_get(doc, "lane"), "healthy")));
    assert_true(json_is_null(json_object_get(doc, "flags")));
    json_decref(doc);

    struct job j;
    assert_true(claim(db, &j));
    assert_string_equal(j.request, "{\"problem\":\"gemm\"}");
    struct buf b;
    buf_init(&b, LIMIT_SOURCE);
    assert_ok(queue_source(db, &j, &b, f));
    assert_string_equal(b.data, "__global__ void k() {}");
    assert_ok(queue_event(db, &j, "stage", "{\"kind\":\"stage\",\"stage\":\"compile\"}", f));
    assert_true(deliver(db, &j, report_passed));
    assert_ok(store_submission_get(db, c.id, 0, &doc, f));
    assert_string_equal(text_of(doc, "state"), "done");
    assert_string_equal(text_of(doc, "verdict"), "PASSED");
    assert_string_equal(json_string_value(json_array_get(json_object_get(doc, "flags"), 0)),
                        "loose");
    assert_int_equal(json_integer_value(json_object_get(doc, "thread_instructions")), 12345);
    assert_true(json_is_true(json_object_get(json_object_get(doc, "target"), "executed")));
    const json_t *counts = json_object_get(json_object_get(doc, "target"), "counts"); /* what ran */
    assert_int_equal(json_object_size(counts), 1);
    assert_int_equal(json_integer_value(json_object_get(counts, "gmma")), 64);
    assert_int_equal(json_integer_value(json_object_get(doc, "rev")), 4);
    json_decref(doc);

    buf_clear(&b);
    assert_ok(store_submission_report(db, c.id, 0, &b, f));
    assert_string_equal(b.data, report_passed);
    buf_clear(&b);
    assert_ok(store_submission_artefact(db, c.id, 0, "cubin", &b, f));
    assert_int_equal(b.len, 6);
    assert_memory_equal(b.data, "\177ELF\0\1", 6);
    assert_int_equal(store_submission_artefact(db, c.id, 0, "log", &b, NULL), ERR_NOT_FOUND);
    buf_release(&b);
    job_release_memory(&j);
}

static void events_are_numbered_by_rev_without_a_gap(void **state)
{
    struct db *db = *state;
    struct created_submission a, b;
    evaluated(db, a_submission(), report_passed, &a);
    create(db, a_submission(), &b);
    json_t *events;
    assert_ok(store_events_after(db, 2, (const char *const[]){a.id, b.id}, (const int64_t[]){1, 0},
                                 100, &events, f));
    assert_int_equal(json_array_size(events), 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(json_integer_value(json_object_get(json_array_get(events, i), "seq")),
                         i < 2 ? i + 2 : 1);
    json_t *last = json_object_get(json_array_get(events, 1), "data");
    assert_string_equal(text_of(last, "state"), "done");
    assert_string_equal(text_of(last, "verdict"), "PASSED");
    json_decref(events);
    json_t *head;
    assert_ok(store_events_head(db, a.id, 0, &head, f));
    assert_int_equal(json_integer_value(json_object_get(head, "rev")), 3);
    assert_int_equal(json_integer_value(json_object_get(head, "oldest")), 1);
    json_decref(head);
}

static void an_event_over_its_limit_is_refused(void **state)
{
    struct db *db = *state;
    struct created_submission c;
    struct job j;
    char big[LIMIT_EVENT + 64];
    memset(big, 'x', sizeof(big));
    memcpy(big, "{\"a\":\"", 6);
    memcpy(big + sizeof(big) - 3, "\"}", 3);
    create(db, a_submission(), &c);
    assert_true(claim(db, &j));
    assert_int_not_equal(queue_event(db, &j, "stage", big, NULL), ERR_NONE);
    assert_string_equal(sql("SELECT rev FROM submissions"), "2");
    job_release_memory(&j);
}

static void what_is_private_does_not_exist_for_others(void **state)
{
    struct db *db = *state;
    sql("INSERT INTO owners (id, name) VALUES (7, 'ann'), (8, 'bob')");
    struct new_submission s = a_submission();
    s.owner_id = 7;
    s.is_private = true;
    struct created_submission c;
    evaluated(db, s, report_passed, &c);
    json_t *doc;
    struct buf b;
    buf_init(&b, LIMIT_SOURCE);
    for (int64_t viewer = 0; viewer <= 8; viewer += 8) {
        assert_int_equal(store_submission_get(db, c.id, viewer, &doc, NULL), ERR_NOT_FOUND);
        assert_int_equal(store_submission_rev(db, c.id, viewer, &doc, NULL), ERR_NOT_FOUND);
        assert_int_equal(store_submission_source(db, c.id, viewer, &b, NULL), ERR_NOT_FOUND);
        assert_int_equal(store_submission_report(db, c.id, viewer, &b, NULL), ERR_NOT_FOUND);
        assert_int_equal(store_submission_cancel(db, c.id, viewer, &doc, NULL), ERR_NOT_FOUND);
        assert_int_equal(store_submission_rerun(db, c.id, viewer, 9, &doc, NULL), ERR_NOT_FOUND);
        assert_int_equal(store_events_head(db, c.id, viewer, &doc, NULL), ERR_NOT_FOUND);
        assert_ok(
            store_submission_list(db, &(struct submission_filter){.limit = 10}, viewer, &doc, f));
        assert_int_equal(json_array_size(json_object_get(doc, "items")), 0);
        json_decref(doc);
    }
    for (int64_t viewer = -1; viewer <= 7; viewer += 8) {
        assert_ok(store_submission_get(db, c.id, viewer, &doc, f));
        json_decref(doc);
        assert_ok(
            store_submission_list(db, &(struct submission_filter){.limit = 10}, viewer, &doc, f));
        assert_int_equal(json_array_size(json_object_get(doc, "items")), 1);
        json_decref(doc);
    }
    buf_release(&b);
}

static void others_may_read_but_not_change_what_is_public(void **state)
{
    struct db *db = *state;
    sql("INSERT INTO owners (id, name) VALUES (7, 'ann')");
    struct new_submission s = a_submission();
    s.owner_id = 7;
    struct created_submission c;
    create(db, s, &c);
    json_t *doc;
    assert_ok(store_submission_get(db, c.id, 0, &doc, f));
    json_decref(doc);
    assert_int_equal(store_submission_cancel(db, c.id, 0, &doc, NULL), ERR_NOT_FOUND);
    assert_ok(store_submission_cancel(db, c.id, 7, &doc, f));
    assert_string_equal(text_of(doc, "state"), "done");
    json_decref(doc);
}

static void the_list_pages_backwards_and_filters(void **state)
{
    struct db *db = *state;
    struct created_submission c[5];
    for (int i = 0; i < 5; i++) {
        struct new_submission s = a_submission();
        s.arch = i % 2 ? "sm_100a" : "sm_90a";
        create(db, s, &c[i]);
    }
    json_t *page;
    struct submission_filter q = {.limit = 2};
    int seen = 4;
    for (int pages = 0; pages < 3; pages++) {
        assert_ok(store_submission_list(db, &q, 0, &page, f));
        size_t i;
        json_t *item;
        json_array_foreach(json_object_get(page, "items"), i, item)
            assert_string_equal(text_of(item, "id"), c[seen--].id);
        static char before[UUID_TEXT];
        snprintf(before, sizeof(before), "%.36s", text_of(page, "next"));
        q.before = before;
        assert_int_equal(json_is_null(json_object_get(page, "next")), pages == 2);
        json_decref(page);
    }
    assert_int_equal(seen, -1);
    assert_ok(store_submission_list(db, &(struct submission_filter){.limit = 9, .arch = "sm_100a"},
                                    0, &page, f));
    assert_int_equal(json_array_size(json_object_get(page, "items")), 2);
    json_decref(page);
    assert_ok(store_submission_list(db, &(struct submission_filter){.limit = 9, .state = "done"}, 0,
                                    &page, f));
    assert_int_equal(json_array_size(json_object_get(page, "items")), 0);
    json_decref(page);
}

static void a_key_gives_the_same_submission_once(void **state)
{
    struct db *db = *state;
    char sha[SHA256_HEX], other[SHA256_HEX];
    sha256_hex("a", 1, sha);
    sha256_hex("b", 1, other);
    struct new_submission s = a_submission();
    s.idempotency_key = "k";
    s.body_sha256 = sha;
    struct created_submission first, again;
    create(db, s, &first);
    assert_false(first.existing);
    s.queued_limit = 1; /* what exists needs no room */
    create(db, s, &again);
    assert_true(again.existing);
    assert_string_equal(first.id, again.id);
    s.body_sha256 = other;
    assert_int_equal(store_submission_create(db, &s, &again, NULL), ERR_KEY_REUSED);
    assert_string_equal(sql("SELECT count(*) FROM submissions"), "1");
    assert_string_equal(sql("SELECT count(*) FROM jobs"), "1");
}

struct racer {
    pthread_t thread;
    struct new_submission s;
    enum err got;
    char id[UUID_TEXT];
};

static void *race(void *arg)
{
    struct racer *r = arg;
    struct created_submission c;
    struct db *db = db_open(&(struct db_options){.conninfo = database_conninfo}, NULL);
    r->got = db ? store_submission_create(db, &r->s, &c, NULL) : ERR_DATABASE;
    if (r->got == ERR_NONE)
        memcpy(r->id, c.id, sizeof(r->id));
    db_close(db);
    return NULL;
}

static int run_race(struct racer *racers, int count, struct new_submission s, enum err other)
{
    int created = 0;
    for (int i = 0; i < count; i++) {
        racers[i].s = s;
        assert_int_equal(pthread_create(&racers[i].thread, NULL, race, &racers[i]), 0);
    }
    for (int i = 0; i < count; i++) {
        pthread_join(racers[i].thread, NULL);
        created += racers[i].got == ERR_NONE;
        assert_true(racers[i].got == ERR_NONE || racers[i].got == other);
    }
    return created;
}

static void a_limit_of_5_lets_5_of_50_at_once_in(void **state)
{
    (void)state;
    struct racer racers[50];
    struct new_submission s = a_submission();
    s.queued_limit = 5;
    assert_int_equal(run_race(racers, 50, s, ERR_QUOTA), 5);
    assert_string_equal(sql("SELECT count(*) FROM submissions"), "5");
}

static void one_key_used_by_20_at_once_makes_one_submission(void **state)
{
    (void)state;
    char sha[SHA256_HEX];
    sha256_hex("a", 1, sha);
    struct racer racers[20];
    struct new_submission s = a_submission();
    s.idempotency_key = "k";
    s.body_sha256 = sha;
    assert_int_equal(run_race(racers, 20, s, ERR_NONE), 20);
    for (int i = 1; i < 20; i++)
        assert_string_equal(racers[i].id, racers[0].id);
    assert_string_equal(sql("SELECT count(*) FROM jobs"), "1");
}

static void an_owner_may_have_a_cap_of_its_own(void **state)
{
    struct db *db = *state;
    sql("INSERT INTO owners (id, name) VALUES (7, 'ann'); INSERT INTO quotas VALUES (7, 'queued', "
        "1)");
    struct new_submission s = a_submission();
    s.owner_id = 7;
    struct created_submission c;
    create(db, s, &c);
    assert_int_equal(store_submission_create(db, &s, &c, NULL), ERR_QUOTA);
    assert_int_equal(c.queued, 1);
    assert_int_equal(c.limit, 1);
    json_t *doc;
    assert_ok(store_quota(db, 7, 100, &doc, f));
    assert_int_equal(json_integer_value(json_object_get(doc, "limit")), 1);
    json_decref(doc);
}

static void a_cancelled_one_gives_its_place_back(void **state)
{
    struct db *db = *state;
    struct new_submission s = a_submission();
    s.queued_limit = 1;
    struct created_submission c;
    create(db, s, &c);
    json_t *doc;
    assert_ok(store_submission_cancel(db, c.id, 0, &doc, f));
    assert_true(json_is_false(json_object_get(doc, "cancelling")));
    json_decref(doc);
    assert_int_equal(store_submission_cancel(db, c.id, 0, &doc, NULL), ERR_CONFLICT);
    assert_ok(store_submission_get(db, c.id, 0, &doc, f));
    assert_string_equal(text_of(doc, "verdict"), "CANCELLED");
    json_decref(doc);
    create(db, s, &c);
}

static void nothing_half_is_left_when_an_insert_fails(void **state)
{
    struct db *db = *state;
    struct created_submission c;
    struct new_submission s = a_submission();
    sql("CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "RAISE EXCEPTION 'no space left' USING ERRCODE = 'disk_full'; END $$; "
        "CREATE TRIGGER full_disk BEFORE INSERT ON jobs FOR EACH ROW EXECUTE FUNCTION full_disk()");
    assert_int_equal(store_submission_create(db, &s, &c, NULL), ERR_DATABASE);
    assert_string_equal(
        sql("SELECT (SELECT count(*) FROM submissions) + (SELECT count(*) FROM blobs) "
            "+ (SELECT count(*) FROM evaluations) + (SELECT count(*) FROM events)"),
        "0");
    sql("DROP TRIGGER full_disk ON jobs");
    create(db, s, &c);
}

static void a_rerun_is_a_new_evaluation(void **state)
{
    struct db *db = *state;
    struct created_submission c;
    json_t *doc;
    create(db, a_submission(), &c);
    assert_int_equal(store_submission_rerun(db, c.id, 0, 100, &doc, NULL), ERR_CONFLICT);
    struct job j;
    assert_true(claim(db, &j));
    assert_true(deliver(db, &j, report_passed));
    job_release_memory(&j);
    assert_ok(store_submission_rerun(db, c.id, 0, 100, &doc, f));
    assert_int_equal(json_integer_value(json_object_get(doc, "evaluation")), 2);
    assert_string_equal(text_of(doc, "state"), "queued");
    json_decref(doc);
    assert_true(claim(db, &j));
    assert_true(deliver(db, &j, "{\"verdict\":\"COMPILE_ERROR\",\"detail\":\"no\"}"));
    job_release_memory(&j);
    assert_string_equal(sql("SELECT string_agg(verdict, ' ' ORDER BY evaluation_id) FROM results"),
                        "PASSED COMPILE_ERROR");
    assert_ok(store_submission_get(db, c.id, 0, &doc, f));
    assert_string_equal(text_of(doc, "verdict"), "COMPILE_ERROR");
    json_decref(doc);
}

static void a_report_that_is_none_is_not_stored(void **state)
{
    struct db *db = *state;
    struct created_submission c;
    struct job j;
    create(db, a_submission(), &c);
    assert_true(claim(db, &j));
    static const char *const bad[] = {
        "", "[]", "{}", "{\"verdict\":\"SPLENDID\"}", "{\"verdict\":1}", "{\"verdict\":"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        bool mine;
        struct delivery d = {.job = &j, .report = bad[i], .report_len = strlen(bad[i])};
        assert_int_equal(store_deliver(db, &d, &mine, NULL), ERR_BAD_REQUEST);
    }
    assert_string_equal(sql("SELECT state FROM jobs"), "running");
    assert_string_equal(sql("SELECT count(*) FROM blobs"), "1");
    job_release_memory(&j);
}

static void a_worker_tells_of_its_device(void **state)
{
    struct db *db = *state;
    struct worker_info w = {.name = "h:1:1",
                            .host = "h",
                            .device = "cuda:0",
                            .device_uuid = "cuda:0:h",
                            .device_model = "unknown",
                            .lanes = "{}",
                            .lease_ms = 30000};
    assert_ok(queue_worker_start(db, &w, f));
    assert_ok(queue_worker_health(db, w.name, "out", "no driver", NULL, f));
    assert_string_equal(sql("SELECT count(*) FROM workers w WHERE is_healthy(w)"), "0");
    w.device_uuid = "GPU-1";
    w.device_model = "NVIDIA H200";
    w.lanes = "{sm_90a/gpu,sm_90a/h200}";
    assert_ok(queue_worker_start(db, &w, f));
    assert_ok(queue_worker_health(
        db, w.name, "ok", NULL,
        "{\"temperature_c\":41.5,\"throttle\":[\"sw_power_cap\"],\"sm_mhz\":null}", f));
    assert_string_equal(sql("SELECT count(*) FROM workers w WHERE is_healthy(w)"), "1");
    json_t *doc;
    assert_ok(store_workers(db, &doc, f));
    json_t *item = json_array_get(json_object_get(doc, "items"), 0);
    json_t *health = json_object_get(item, "health");
    assert_string_equal(text_of(item, "device_model"), "NVIDIA H200");
    assert_true(json_number_value(json_object_get(health, "temperature_c")) == 41.5);
    assert_int_equal(json_array_size(json_object_get(health, "throttle")), 1);
    assert_true(json_is_null(json_object_get(health, "sm_mhz")));
    json_decref(doc);
    assert_ok(queue_worker_health(db, w.name, "hot", "slowed down", NULL, f));
    assert_string_equal(sql("SELECT count(*) FROM workers w WHERE is_healthy(w)"), "0");
    assert_string_equal(sql("SELECT temperature_c FROM devices WHERE uuid = 'GPU-1'"), "41.5");
}

static void a_rerun_that_fails_leaves_the_board(void **state)
{
    struct db *db = *state;
    struct created_submission c;
    struct job j;
    json_t *doc;
    evaluated(db, a_submission(), report_passed, &c);
    assert_ok(store_submission_rerun(db, c.id, 0, 9, &doc, f));
    json_decref(doc);
    assert_true(claim(db, &j));
    assert_string_equal(sql("SELECT count(*) FROM board_entries"), "1"); /* still what was judged */
    assert_true(deliver(db, &j, "{\"verdict\":\"RUNTIME_ERROR\"}"));
    assert_string_equal(sql("SELECT count(*) FROM board_entries"), "0");
    job_release_memory(&j);
}

static void a_token_works_until_it_is_revoked(void **state)
{
    struct db *db = *state;
    char text[TOKEN_TEXT];
    struct token t;
    assert_ok(store_token_create(db, "ann", "submit,read", 0, "laptop", text, f));
    assert_ok(store_token_lookup(db, text, &t, f));
    assert_string_equal(t.owner, "ann");
    assert_true(t.submit && t.read && !t.admin);
    assert_int_equal(store_token_lookup(db, "ptxb_0", &t, NULL), ERR_UNAUTHORIZED);
    assert_int_not_equal(store_token_create(db, "ann", "submit,root", 0, NULL, text, NULL),
                         ERR_NONE);
    assert_int_equal(store_token_create(db, "anonymous", "read", 0, NULL, text, NULL),
                     ERR_CONFLICT);
    json_t *list;
    assert_ok(store_token_list(db, &list, f));
    const json_t *item = json_array_get(json_object_get(list, "items"), 0);
    assert_string_equal(text_of(item, "note"), "laptop");
    char id[17];
    snprintf(id, sizeof(id), "%s", text_of(item, "id"));
    json_decref(list);
    assert_ok(store_token_create(db, "bob", "read", 1, NULL, text, f));
    assert_ok(store_token_revoke(db, id, f));
    assert_int_equal(store_token_revoke(db, id, NULL), ERR_NOT_FOUND);
    assert_ok(store_token_lookup(db, text, &t, f));
    sql("UPDATE tokens SET expires_at = now() - interval '1 s' WHERE expires_at IS NOT NULL");
    assert_int_equal(store_token_lookup(db, text, &t, NULL), ERR_UNAUTHORIZED);
    assert_string_equal(sql("SELECT string_agg(action, ' ' ORDER BY id) FROM audit"),
                        "token_create token_create token_revoke");
}

static void fsck_is_content_until_something_is_broken(void **state)
{
    struct db *db = *state;
    struct created_submission c;
    json_t *doc;
    evaluated(db, a_submission(), report_passed, &c);
    create(db, a_submission(), &c);
    assert_ok(store_fsck(db, &doc, f));
    assert_int_equal(json_array_size(json_object_get(doc, "problems")), 0);
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(doc, "checked"), "submissions")), 2);
    json_decref(doc);
    sql("UPDATE blobs SET data = '\\x00'::bytea, size = 1 WHERE kind = 'report'");
    sql("DELETE FROM jobs WHERE state = 'queued'");
    assert_ok(store_fsck(db, &doc, f));
    assert_int_equal(json_array_size(json_object_get(doc, "problems")), 2);
    json_decref(doc);
}

static void the_operators_documents_answer(void **state)
{
    struct db *db = *state;
    struct created_submission c;
    assert_ok(queue_worker_start(db,
                                 &(struct worker_info){.name = "h:1:1",
                                                       .host = "h",
                                                       .device = "cpu",
                                                       .device_uuid = "cpu:h",
                                                       .device_model = "ptxvm",
                                                       .lanes = "{sm_90a/cpu}",
                                                       .lease_ms = 30000},
                                 f));
    evaluated(db, a_submission(), report_passed, &c);
    create(db, a_submission(), &c);
    json_t *doc;
    assert_ok(store_queue(db, &doc, f));
    const json_t *lane = json_array_get(json_object_get(doc, "lanes"), 0);
    assert_string_equal(text_of(lane, "name"), "sm_90a/cpu");
    assert_int_equal(json_integer_value(json_object_get(lane, "queued")), 1);
    assert_true(json_is_true(json_object_get(lane, "healthy")));
    json_decref(doc);
    assert_ok(store_submission_get(db, c.id, 0, &doc, f));
    assert_true(json_is_number(json_object_get(doc, "eta_s")));
    json_decref(doc);
    assert_ok(store_workers(db, &doc, f));
    assert_int_equal(json_array_size(json_object_get(doc, "items")), 1);
    json_decref(doc);
    assert_ok(store_metrics(db, &doc, f));
    assert_int_equal(json_integer_value(json_object_get(doc, "workers_healthy")), 1);
    assert_int_equal(json_integer_value(json_object_get(
                         json_array_get(json_object_get(doc, "attempts"), 0), "count")),
                     1);
    json_decref(doc);
    assert_ok(store_health(db, f));
    sql("UPDATE workers SET seen_at = now() - interval '31 s'");
    assert_ok(store_queue(db, &doc, f));
    assert_true(json_is_false(
        json_object_get(json_array_get(json_object_get(doc, "lanes"), 0), "healthy")));
    json_decref(doc);
}

#define test(fn) cmocka_unit_test_setup_teardown(fn, database_setup, database_teardown)

static const struct CMUnitTest tests[] = {
    test(a_submission_is_followed_from_queue_to_result),
    test(events_are_numbered_by_rev_without_a_gap),
    test(an_event_over_its_limit_is_refused),
    test(what_is_private_does_not_exist_for_others),
    test(others_may_read_but_not_change_what_is_public),
    test(the_list_pages_backwards_and_filters),
    test(a_key_gives_the_same_submission_once),
    test(a_limit_of_5_lets_5_of_50_at_once_in),
    test(one_key_used_by_20_at_once_makes_one_submission),
    test(an_owner_may_have_a_cap_of_its_own),
    test(a_cancelled_one_gives_its_place_back),
    test(nothing_half_is_left_when_an_insert_fails),
    test(a_rerun_is_a_new_evaluation),
    test(a_report_that_is_none_is_not_stored),
    test(a_worker_tells_of_its_device),
    test(a_rerun_that_fails_leaves_the_board),
    test(a_token_works_until_it_is_revoked),
    test(fsck_is_content_until_something_is_broken),
    test(the_operators_documents_answer),
};

database_main(tests, NULL, NULL)
