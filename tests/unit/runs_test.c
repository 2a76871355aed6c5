// SPDX-License-Identifier: Apache-2.0
// Runs as the API sees them, against a real PostgreSQL: documents, visibility, quotas, cancel,
// resume, extend, supervision, import, and what fsck finds when somebody tampers.
#include "run_kit.h"

static const json_t *row_of(const json_t *run, size_t i)
{
    return json_array_get(json_object_get(run, "grid"), i);
}

static void a_new_run_says_what_it_is(void **state)
{
    struct db *db = *state;
    char id[UUID_TEXT];
    json_t *made, *doc;
    assert_ok(runs_create(db, 0, run_text(2, 3, 8, ",\"budget\":{\"tokens\":5000,\"usd\":2.5}"), 1,
                          &made, f));
    assert_string_equal(word(made, "state"), "running");
    assert_int_equal(whole(made, "rev"), 1);
    snprintf(id, sizeof(id), "%s", word(made, "id"));
    json_decref(made);
    doc = run_read(db, id);
    assert_string_equal(word(doc, "owner"), "anonymous");
    assert_string_equal(word(json_object_get(doc, "params"), "effort"), "low");
    assert_int_equal(whole(doc, "trajectories"), 6);
    assert_int_equal(whole(doc, "per_variant"), 3);
    assert_int_equal(whole(json_object_get(doc, "budget"), "tokens"), 5000);
    assert_int_equal(whole(json_array_get(json_object_get(doc, "variants"), 1), "tokens"), 11);
    assert_true(json_is_null(json_object_get(doc, "best")));
    assert_int_equal(json_array_size(json_object_get(doc, "grid")), 6);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(whole(row_of(doc, i), "variant"), i / 3);
        assert_string_equal(word(json_object_get(row_of(doc, i), "at"), "state"), "call");
        assert_int_equal(json_array_size(json_object_get(row_of(doc, i), "turns")), 0);
    }
    json_decref(doc);
    assert_ok(runs_rev(db, id, 0, &doc, f));
    assert_int_equal(whole(doc, "rev"), 1);
    json_decref(doc);
    assert_ok(store_events_head(db, id, 0, &doc, f));
    assert_string_equal(word(doc, "state"), "running");
    assert_int_equal(whole(doc, "oldest"), 1);
    json_decref(doc);
    assert_ok(store_queue(db, &doc, f)); /* and nobody serves its lane */
    const json_t *lane = json_array_get(json_object_get(doc, "lanes"), 0);
    assert_string_equal(word(lane, "name"), "llm/p");
    assert_string_equal(word(lane, "state"), "paused");
    json_decref(doc);
    assert_ok(store_quota(db, 0, 5, &doc, f)); /* steps wait for a model and not for a device */
    assert_int_equal(whole(doc, "queued"), 0);
    json_decref(doc);
    assert_sound(db);
}

static void the_list_pages_and_filters(void **state)
{
    struct db *db = *state;
    char ids[3][UUID_TEXT];
    json_t *page;
    for (int i = 0; i < 3; i++)
        run_make(db, 0, run_text(1, 1, 1, ""), ids[i]);
    sql("UPDATE runs SET model = 'other' WHERE id = (SELECT id FROM runs ORDER BY id OFFSET 1 "
        "LIMIT 1)");
    struct run_filter q = {.limit = 2};
    assert_ok(runs_list(db, &q, 0, &page, f));
    assert_int_equal(json_array_size(json_object_get(page, "items")), 2);
    assert_string_equal(word(json_array_get(json_object_get(page, "items"), 0), "id"), ids[2]);
    assert_null(json_object_get(json_array_get(json_object_get(page, "items"), 0), "grid"));
    assert_string_equal(word(page, "next"), ids[1]);
    json_decref(page);
    q.before = ids[1];
    assert_ok(runs_list(db, &q, 0, &page, f));
    assert_int_equal(json_array_size(json_object_get(page, "items")), 1);
    assert_true(json_is_null(json_object_get(page, "next")));
    json_decref(page);
    static const struct {
        struct run_filter q;
        size_t count;
    } cases[] = {
        {{.model = "m"}, 2},         {{.model = "other"}, 1},  {{.problem = "gemm"}, 3},
        {{.problem = "x"}, 0},       {{.state = "done"}, 0},   {{.state = "running"}, 3},
        {{.owner = "anonymous"}, 3}, {{.owner = "nobody"}, 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct run_filter each = cases[i].q;
        each.limit = 9;
        assert_ok(runs_list(db, &each, 0, &page, f));
        assert_int_equal(json_array_size(json_object_get(page, "items")), cases[i].count);
        json_decref(page);
    }
}

static void what_is_private_is_its_owners(void **state)
{
    struct db *db = *state;
    char id[UUID_TEXT];
    json_t *doc;
    sql("INSERT INTO owners (id, name) VALUES (7, 'ann'), (8, 'bob')");
    run_make(db, 7, run_text(1, 1, 1, ",\"visibility\":\"private\""), id);
    whole_turn(db, "correct", 0.5);
    assert_string_equal(sql("SELECT visibility || owner_id FROM submissions"), "private7");
    for (int64_t viewer = 0; viewer <= 8; viewer += 8) {
        assert_int_equal(runs_get(db, id, viewer, &doc, NULL), ERR_NOT_FOUND);
        assert_int_equal(runs_rev(db, id, viewer, &doc, NULL), ERR_NOT_FOUND);
        assert_int_equal(runs_trajectory(db, id, 0, viewer, &doc, NULL), ERR_NOT_FOUND);
        assert_int_equal(runs_messages(db, id, 0, 0, viewer, &doc, NULL), ERR_NOT_FOUND);
        assert_int_equal(store_events_head(db, id, viewer, &doc, NULL), ERR_NOT_FOUND);
        assert_ok(runs_list(db, &(struct run_filter){.limit = 9}, viewer, &doc, f));
        assert_int_equal(json_array_size(json_object_get(doc, "items")), 0);
        json_decref(doc);
    }
    for (int64_t viewer = -1; viewer <= 7; viewer += 8) {
        assert_ok(runs_get(db, id, viewer, &doc, f));
        json_decref(doc);
    }
    sql("UPDATE runs SET visibility = 'public'"); /* to be read, not to be changed */
    assert_ok(runs_get(db, id, 0, &doc, f));
    json_decref(doc);
    assert_int_equal(runs_cancel(db, id, 8, &doc, NULL), ERR_NOT_FOUND);
    assert_int_equal(runs_resume(db, id, 8, -1, -1, &doc, NULL), ERR_NOT_FOUND);
    assert_int_equal(runs_extend(db, id, 8, 9, 0, &doc, NULL), ERR_NOT_FOUND);
    assert_int_equal(runs_supervise(db, id, 0, 0, 8, "x", &doc, NULL), ERR_NOT_FOUND);
}

static void an_owner_has_only_so_many_at_once(void **state)
{
    struct db *db = *state;
    json_t *doc;
    char id[UUID_TEXT];
    sql("INSERT INTO owners (id, name) VALUES (7, 'ann')");
    for (int i = 0; i < 2; i++)
        run_make(db, 7, run_text(1, 1, 1, ""), id);
    assert_int_equal(runs_create(db, 7, run_text(1, 1, 1, ""), 2, &doc, NULL), ERR_QUOTA);
    assert_ok(runs_create(db, 0, run_text(1, 1, 1, ""), 2, &doc, f));
    json_decref(doc);
    assert_ok(runs_cancel(db, id, 7, &doc, f));
    json_decref(doc);
    assert_ok(runs_create(db, 7, run_text(1, 1, 1, ""), 2, &doc, f));
    json_decref(doc);
    assert_string_equal(sql("SELECT count(*) FROM runs"), "4");
}

/* Nothing is left of a run whose document cannot be stored. */
static void a_document_with_a_hole_is_refused_whole(void **state)
{
    json_t *doc;
    assert_int_not_equal(
        runs_create(*state, 0, run_text(1, 1, 1, ",\"device\":\"c\\u0000pu\""), 9, &doc, NULL), 0);
    assert_int_equal(runs_create(*state, 0, "{\"turns\":1}", 9, &doc, NULL), ERR_INVALID);
    assert_string_equal(sql("SELECT count(*) FROM runs"), "0");
    assert_string_equal(sql("SELECT count(*) FROM jobs"), "0");
}

/* ---- cancel, resume, extend ---- */

static void cancelling_ends_every_step_wherever_it_is(void **state)
{
    struct db *db = *state;
    char id[UUID_TEXT];
    struct step_job calling, stored, j;
    int64_t call;
    bool mine;
    json_t *doc, *lost;
    struct call_end end = stored_end("late");
    run_make(db, 0, run_text(1, 5, 2, ""), id);
    assert_true(
        agent_claims(db, &calling)); /* 0: in a call; 1: its answer is stored; 2: evaluating; */
    assert_int_equal(agent_starts(db, &calling, 1, 0, &call), CALL_GO);
    assert_true(agent_claims(db, &stored));
    agent_calls(db, &stored, "one");
    assert_true(agent_claims(db, &j));
    agent_calls(db, &j, "two");
    assert_true(agent_submits(db, &j));
    step_job_release(&j);
    assert_true(agent_claims(db, &j)); /* 3: to be concluded; 4: waits for a call */
    agent_calls(db, &j, "three");
    assert_true(agent_submits(db, &j));
    step_job_release(&j);
    sql("UPDATE jobs SET priority = 0 WHERE id = (SELECT max(id) FROM jobs WHERE kind = "
        "'evaluate')");
    worker_evaluates(db, run_passed);
    assert_string_equal(sql("SELECT string_agg(state, ' ' ORDER BY trajectory) FROM steps"),
                        "call call evaluate conclude call");

    assert_ok(runs_cancel(db, id, 0, &doc, f));
    assert_string_equal(word(doc, "state"), "done");
    json_decref(doc);
    assert_int_equal(runs_cancel(db, id, 0, &doc, NULL), ERR_CONFLICT);
    assert_sound(db);
    assert_string_equal(sql("SELECT reason FROM runs"), "cancelled");
    assert_string_equal(sql("SELECT string_agg(DISTINCT state, ' ') FROM steps"), "left");
    assert_string_equal(
        sql("SELECT string_agg(DISTINCT state::text, ' ') FROM jobs WHERE kind <> 'evaluate'"
            " AND finished_at IS NOT NULL AND state <> 'succeeded'"),
        "cancelled");
    assert_string_equal(sql("SELECT count(*) FROM jobs WHERE state IN ('queued', 'running')"), "0");
    assert_string_equal(sql("SELECT count(*) FROM results WHERE verdict = 'CANCELLED'"), "1");
    assert_string_equal(sql("SELECT count(*) FROM trajectories WHERE left_out = 'cancelled'"), "5");
    assert_string_equal(sql("SELECT count(*) FROM events WHERE topic = (SELECT id FROM runs) AND "
                            "kind = 'trajectory'"),
                        "5");
    char ids[50];
    snprintf(ids, sizeof(ids), "{%lld}", (long long)calling.id);
    assert_ok(step_heartbeat(db, "a:1:1", ids, "{1}", 1000, &lost, f));
    assert_int_equal(json_array_size(lost), 1);
    json_decref(lost);
    assert_false(agent_submits(db, &stored));
    assert_false(agent_claims(db, &j));
    assert_ok(call_finish(db, &calling, call, &end, &mine, f)); /* paid, so kept */
    assert_false(mine);

    assert_ok(runs_resume(db, id, 0, -1, -1, &doc, f));
    assert_string_equal(word(doc, "state"), "running");
    json_decref(doc);
    assert_int_equal(runs_resume(db, id, 0, -1, -1, &doc, NULL), ERR_CONFLICT);
    static const char *const answers[] = {"late", "one", "two", "three", "(none)"};
    for (int i = 0; i < 5; i++) {
        assert_true(agent_claims(db, &j));
        assert_int_equal(j.trajectory, i);
        assert_int_equal(j.try_, 1);
        assert_string_equal(word(json_object_get(j.work, "stored"), "answer"), answers[i]);
        step_job_release(&j);
    }
    assert_string_equal(sql("SELECT calls || ' ' || tokens_out FROM runs"), "4 200");
    assert_sound(db);
    step_job_release(&calling);
    step_job_release(&stored);
}

/* The owner goes on before the answer of the call that was given up is there. */
static void a_late_answer_goes_to_the_try_that_took_over(void **state)
{
    struct db *db = *state;
    char id[UUID_TEXT];
    struct step_job old, j;
    int64_t call, again;
    bool mine;
    json_t *doc;
    struct call_end end = stored_end("late");
    run_make(db, 0, run_text(1, 1, 2, ""), id);
    assert_true(agent_claims(db, &old));
    assert_int_equal(agent_starts(db, &old, 1, 0, &call), CALL_GO);
    assert_ok(runs_cancel(db, id, 0, &doc, f));
    json_decref(doc);
    assert_ok(runs_resume(db, id, 0, -1, -1, &doc, f));
    json_decref(doc);
    assert_true(agent_claims(db, &j));
    assert_ok(call_finish(db, &old, call, &end, &mine, f));
    assert_false(mine);
    assert_int_equal(agent_starts(db, &j, 1, 0, &again), CALL_LOST);
    step_job_release(&j);
    assert_true(agent_claims(db, &j));
    assert_string_equal(word(json_object_get(j.work, "stored"), "answer"), "late");
    assert_true(agent_submits(db, &j));
    assert_string_equal(sql("SELECT calls FROM runs"), "1");
    step_job_release(&j);
    step_job_release(&old);
    assert_sound(db);
}

static void more_turns_leave_the_cell_and_come_back(void **state)
{
    struct db *db = *state;
    char id[UUID_TEXT];
    json_t *doc;
    run_make(db, 0, run_text(1, 1, 1, ""), id);
    assert_int_equal(runs_resume(db, id, 0, -1, -1, &doc, NULL), ERR_CONFLICT);
    whole_turn(db, "correct", 0.5);
    assert_string_equal(sql("SELECT turns FROM turn_counts"), "1");
    assert_int_equal(runs_resume(db, id, 0, -1, -1, &doc, NULL), ERR_CONFLICT);
    assert_int_equal(runs_extend(db, id, 0, 1, 0, &doc, NULL), ERR_CONFLICT);
    assert_int_equal(runs_extend(db, id, 0, 0, 3, &doc, NULL),
                     ERR_CONFLICT); /* no target was met */
    assert_ok(runs_extend(db, id, 0, 3, 0, &doc, f));
    assert_string_equal(word(doc, "state"), "running");
    json_decref(doc);
    assert_string_equal(sql("SELECT count(*) FROM turn_counts"), "0");
    assert_string_equal(sql("SELECT trajectories FROM variant_counts"), "0");
    assert_sound(db);
    whole_turn(db, "correct", 1.25); /* meets the target */
    assert_string_equal(sql("SELECT reason FROM trajectories"), "target");
    assert_string_equal(sql("SELECT sum(turns) || ' ' || max(best) FROM turn_counts"), "2 1.25");
    assert_int_equal(runs_extend(db, id, 0, 0, 1.25, &doc, NULL), ERR_CONFLICT);
    assert_ok(runs_extend(db, id, 0, 0, 1.5, &doc, f));
    json_decref(doc);
    whole_turn(db, "compile", 0);
    assert_string_equal(sql("SELECT concat_ws('/', r.state, t.reason, r.turns, r.target) FROM runs "
                            "r, trajectories t"),
                        "done/turns/3/1.5");
    assert_string_equal(sql("SELECT sum(turns) FROM turn_counts"), "3");
    assert_string_equal(sql("SELECT trajectories FROM variant_counts"), "1");
    assert_string_equal(sql("SELECT count(*) FROM label_counts WHERE prev_label = 'correct'"), "2");
    assert_sound(db);
}

/* ---- words from outside ---- */

static void a_supervisor_is_heard_and_kept_apart(void **state)
{
    struct db *db = *state;
    char id[UUID_TEXT];
    json_t *doc;
    struct step_job j;
    run_make(db, 0, run_text(1, 1, 3, ""), id);
    assert_ok(runs_supervise(db, id, 0, 0, 0, "early", &doc, f)); /* before it is concluded */
    assert_int_equal(whole(doc, "rev"), 2);
    json_decref(doc);
    assert_int_equal(runs_supervise(db, id, 0, 1, 0, "x", &doc, NULL), ERR_NOT_FOUND);
    assert_int_equal(runs_supervise(db, id, 5, 0, 0, "x", &doc, NULL), ERR_NOT_FOUND);
    assert_true(agent_claims(db, &j));
    agent_calls(db, &j, "a");
    assert_true(agent_submits(db, &j));
    step_job_release(&j);
    worker_evaluates(db, run_passed);
    assert_true(agent_claims(db, &j));
    assert_true(agent_concludes(db, &j, "infra", 0)); /* the next try keeps it */
    step_job_release(&j);
    assert_true(agent_claims(db, &j));
    assert_true(agent_concludes(db, &j, "extraction", 0));
    step_job_release(&j);
    assert_ok(runs_supervise(db, id, 0, 0, 0, "late", &doc, f)); /* and behind its end */
    json_decref(doc);
    assert_true(agent_claims(db, &j));
    assert_string_equal(word(json_array_get(json_object_get(j.work, "past"), 0), "feedback"),
                        "so so\n\nearly\n\nlate");
    step_job_release(&j);
    assert_ok(runs_trajectory(db, id, 0, 0, &doc, f));
    const json_t *step = json_array_get(json_object_get(doc, "steps"), 1);
    assert_string_equal(word(step, "feedback_text"), "so so");
    assert_string_equal(word(step, "supervision"), "early\n\nlate");
    json_decref(doc);
    char big[17000];
    memset(big, 'x', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    assert_int_equal(runs_supervise(db, id, 0, 0, 0, big, &doc, NULL), ERR_INVALID);
    assert_sound(db);
}

static void messages_are_those_that_were_sent(void **state)
{
    struct db *db = *state;
    char id[UUID_TEXT];
    json_t *doc;
    run_make(db, 0, run_text(1, 1, 3, ""), id);
    assert_ok(runs_messages(db, id, 0, -1, 0, &doc, f));
    assert_int_equal(whole(doc, "n"), 0);
    assert_true(json_is_null(json_object_get(doc, "messages")));
    assert_string_equal(word(doc, "system"), "sys");
    assert_int_equal(json_array_size(json_object_get(doc, "past")), 0);
    json_decref(doc);
    assert_int_equal(runs_messages(db, id, 0, 1, 0, &doc, NULL), ERR_NOT_FOUND);
    assert_int_equal(runs_messages(db, id, 1, 0, 0, &doc, NULL), ERR_NOT_FOUND);
    whole_turn(db, "compile", 0);
    assert_ok(runs_messages(db, id, 0, 0, 0, &doc, f));
    assert_int_equal(json_array_size(json_object_get(doc, "messages")),
                     1); /* "[1]", as the pretender sends */
    assert_string_equal(word(doc, "sha256"),
                        "080a9ed428559ef602668b4c00f114f1a11c3f6b02a435f0bdc154578e4d7f22");
    json_decref(doc);
    assert_ok(runs_messages(db, id, 0, -1, 0, &doc, f));
    assert_int_equal(whole(doc, "n"), 1);
    assert_string_equal(word(json_array_get(json_object_get(doc, "past"), 0), "answer"),
                        "an answer");
    json_decref(doc);
}

/* ---- from elsewhere ---- */

static const char imported[] =
    "{\"run\":{\"id\":null,\"source\":\"imported: "
    "x\",\"name\":\"old\",\"problem\":\"gemm\",\"workload\":null,"
    "\"arch\":null,\"device\":null,\"provider\":null,\"model\":\"m\",\"condition\":null,\"params\":"
    "null,"
    "\"history\":null,\"feedback\":null,\"per_variant\":null,\"turns\":8,\"target_speedup\":1.2,"
    "\"budget\":null,"
    "\"visibility\":\"public\",\"created_at\":\"2026-01-02T03:04:05Z\",\"finished_at\":null},"
    "\"prompts\":[{\"variant\":0,\"name\":\"v\",\"system\":\"s\",\"task\":\"t\",\"tokens\":1,"
    "\"estimated\":true}],"
    "\"trajectories\":[{\"trajectory\":3,\"variant\":0,\"reason\":\"turns\",\"detail\":null,"
    "\"steps\":["
    "{\"n\":0,\"try\":0,\"state\":\"done\",\"counted\":false,\"label\":\"infra\",\"correct\":false,"
    "\"call\":null,"
    "\"calls\":[{\"id\":4,\"status\":\"failed\",\"error\":\"busy\"}]},"
    "{\"n\":0,\"try\":1,\"state\":\"done\",\"counted\":true,\"label\":\"compile\",\"correct\":"
    "false,\"inst\":null,"
    "\"speedup\":null,\"extraction\":\"kernel\",\"source\":\"k\",\"errors\":null,\"feedback\":{"
    "\"verdict\":"
    "\"COMPILE_ERROR\"},\"feedback_text\":\"no\",\"supervision\":null,\"created_at\":\"2026-01-"
    "02T03:04:05Z\","
    "\"finished_at\":\"2026-01-02T03:05:05Z\",\"call\":{\"id\":5,\"status\":\"stored\",\"finish\":"
    "\"stop\","
    "\"answer\":\"A\",\"reasoning\":null,\"blocks\":null,\"tokens_in\":7,\"tokens_out\":3,"
    "\"reasoning_tokens\":2,"
    "\"usd\":0.5},\"calls\":[{\"id\":5,\"status\":\"stored\"}]},"
    "{\"n\":1,\"try\":0,\"state\":\"done\",\"counted\":true,\"label\":\"correct\",\"correct\":true,"
    "\"inst\":true,"
    "\"speedup\":0.5,\"call\":null,\"calls\":[]}]}]}";

static void a_run_from_elsewhere_is_shown_and_counted_nowhere(void **state)
{
    struct db *db = *state;
    json_t *doc, *made;
    char id[UUID_TEXT];
    assert_ok(runs_import(db, 0, imported, &made, f));
    assert_int_equal(whole(made, "trajectories"), 1);
    assert_int_equal(whole(made, "turns"), 2);
    snprintf(id, sizeof(id), "%s", word(made, "id"));
    json_decref(made);
    doc = run_read(db, id);
    assert_string_equal(word(doc, "source"), "imported: x");
    assert_string_equal(word(doc, "state"), "done");
    assert_string_equal(word(doc, "created_at"), "2026-01-02T03:04:05.000Z");
    assert_int_equal(whole(json_object_get(doc, "spent"), "calls"), 2);
    assert_int_equal(whole(row_of(doc, 0), "trajectory"), 3);
    const json_t *turn = json_array_get(json_object_get(row_of(doc, 0), "turns"), 0);
    assert_int_equal(whole(turn, "try"), 1);
    assert_true(json_number_value(json_object_get(turn, "seconds")) == 60);
    json_decref(doc);
    assert_ok(runs_trajectory(db, id, 3, 0, &doc, f));
    const json_t *step = json_array_get(json_object_get(doc, "steps"), 1);
    assert_string_equal(word(json_object_get(step, "call"), "answer"), "A");
    assert_string_equal(word(json_object_get(step, "feedback"), "verdict"), "COMPILE_ERROR");
    assert_string_equal(word(step, "source"), "k");
    json_decref(doc);
    assert_ok(
        runs_messages(db, id, 3, 1, 0, &doc, f)); /* what it was sent is not known, only what of */
    assert_true(json_is_null(json_object_get(doc, "messages")));
    assert_int_equal(json_array_size(json_object_get(doc, "past")), 1);
    json_decref(doc);
    assert_string_equal(sql("SELECT count(*) FROM cells"), "0");
    assert_string_equal(sql("SELECT string_agg(concat_ws('/', n, try, prev_label), ' ' ORDER BY n, "
                            "try) FROM turns"),
                        "0/0/ 0/1/ 1/0/compile");
    assert_int_equal(runs_extend(db, id, 0, 20, 0, &doc, NULL), ERR_CONFLICT);
    assert_int_equal(runs_cancel(db, id, 0, &doc, NULL), ERR_CONFLICT);
    assert_sound(db);
}

static void an_import_that_is_none_leaves_nothing(void **state)
{
    struct db *db = *state;
    json_t *doc;
    static const char *const bad[] = {
        "{}",
        "{\"run\":{\"problem\":\"p\",\"model\":\"m\\u0000\",\"turns\":1},\"prompts\":[],"
        "\"trajectories\":[]}",
        "{\"run\":{\"problem\":\"p\",\"model\":\"m\",\"turns\":1},\"prompts\":[],\"trajectories\":["
        "{\"variant\":-1,"
        "\"steps\":[]}]}",
        "{\"run\":{\"problem\":\"p\",\"model\":\"m\",\"turns\":1},\"prompts\":[],\"trajectories\":["
        "{\"variant\":0,"
        "\"steps\":[{\"n\":0,\"label\":\"compile\",\"correct\":false,\"speedup\":2}]}]}"};
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_int_equal(runs_import(db, 0, bad[i], &doc, NULL), ERR_INVALID);
    assert_string_equal(sql("SELECT (SELECT count(*) FROM runs) + (SELECT count(*) FROM blobs)"),
                        "0");
}

/* ---- upkeep ---- */

static void pruning_leaves_open_runs_what_they_need(void **state)
{
    struct db *db = *state;
    char id[UUID_TEXT];
    int deleted;
    struct step_job j;
    run_make(db, 0, run_text(1, 2, 2, ""), id);
    assert_true(
        agent_claims(db, &j)); /* one step evaluating, one waiting for its call, both a year old */
    agent_calls(db, &j, "a");
    assert_true(agent_submits(db, &j));
    step_job_release(&j);
    sql("UPDATE jobs SET queued_at = queued_at - interval '1 year', finished_at = finished_at - "
        "interval '1 year';"
        "UPDATE events SET at = at - interval '1 year';"
        "UPDATE idempotency SET created_at = created_at - interval '1 year'");
    assert_ok(queue_prune(db, &deleted, f));
    assert_true(deleted > 0);
    assert_sound(db);
    worker_evaluates(db, run_passed);
    for (int turns = 0; turns < 4; turns++) {
        assert_true(agent_claims(db, &j));
        if (!j.conclude)
            agent_calls(db, &j, "b");
        assert_true(agent_concludes(db, &j, "compile", 0));
        step_job_release(&j);
    }
    assert_string_equal(sql("SELECT state FROM runs"), "done");
    assert_sound(db);
}

static void fsck_finds_what_was_tampered_with(void **state)
{
    static const struct {
        const char *change, *back, *fault;
    } cases[] = {
        {"UPDATE runs SET state = 'done'", "UPDATE runs SET state = 'running'",
         "1 runs whose state"},
        {"UPDATE steps SET state = 'left' WHERE state = 'call'",
         "UPDATE steps SET state = 'call' WHERE state = 'left'",
         "1 running trajectories without an open step"},
        {"UPDATE jobs SET subject_id = -1 WHERE kind = 'call' AND state = 'queued'",
         "UPDATE jobs SET subject_id = (SELECT id FROM steps WHERE state = 'call') WHERE "
         "subject_id = -1",
         "1 steps that wait for a job"},
        {"UPDATE steps SET state = 'conclude' WHERE state = 'call'",
         "UPDATE steps SET state = 'call' WHERE state = 'conclude'",
         "1 jobs of steps that do not wait"},
        {"UPDATE steps SET state = 'evaluate' WHERE state = 'call'",
         "UPDATE steps SET state = 'call' WHERE state = 'evaluate'",
         "1 steps that wait for an evaluation"},
        {"UPDATE steps SET state = 'left' WHERE n = 0 AND state = 'done'",
         "UPDATE steps SET state = 'done' WHERE n = 0 AND state = 'left'",
         "2 turns without the step"},
        {"UPDATE turns SET n = 9 WHERE n = 0", "UPDATE turns SET n = 0 WHERE n = 9",
         "2 steps that are done without"},
        {"UPDATE turns SET prev_label = 'cut'", "UPDATE turns SET prev_label = ''",
         "2 turns whose label before"},
        {"UPDATE runs SET usd = usd + 1", "UPDATE runs SET usd = usd - 1",
         "1 runs that count other"},
        {"UPDATE runs SET calls = calls + 1", "UPDATE runs SET calls = calls - 1",
         "1 runs that count other"},
        {"UPDATE trajectories SET cell_id = (SELECT id FROM cells), left_out = NULL WHERE state = "
         "'running'",
         "UPDATE trajectories SET cell_id = NULL, left_out = 'still running' WHERE state = "
         "'running'",
         "1 trajectories in a cell"},
        {"UPDATE turns SET cell_id = (SELECT id FROM cells) WHERE cell_id IS NULL",
         "UPDATE turns SET cell_id = NULL WHERE trajectory = 1", "1 turns in another cell"},
        {"UPDATE runs SET rev = rev - 1", "UPDATE runs SET rev = rev + 1",
         "1 events numbered past their run"},
        {"UPDATE variant_counts SET trajectories = 7", "UPDATE variant_counts SET trajectories = 1",
         "1 counts of turns"},
    };
    struct db *db = *state;
    char id[UUID_TEXT];
    struct step_job j;
    run_make(db, 0, run_text(1, 2, 2, ""), id);
    for (int i = 0; i < 2; i++) { /* 0 has come to its end, 1 is before its second call */
        assert_true(agent_claims(db, &j));
        agent_calls(db, &j, "a");
        assert_true(agent_concludes(db, &j, i ? "extraction" : "correct", i ? 0 : 1.5));
        step_job_release(&j);
    }
    assert_sound(db);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        json_t *report;
        bool found = false;
        size_t k;
        json_t *problem;
        sql(cases[i].change);
        assert_ok(store_fsck(db, &report, f));
        json_array_foreach(json_object_get(report, "problems"), k, problem) found =
            found || strstr(json_string_value(problem), cases[i].fault);
        if (!found)
            fail_msg("fsck does not say: %s", cases[i].fault);
        json_decref(report);
        sql(cases[i].back);
        assert_sound(db);
    }
}

#define test(fn) cmocka_unit_test_setup_teardown(fn, database_setup, database_teardown)

static const struct CMUnitTest tests[] = {
    test(a_new_run_says_what_it_is),
    test(the_list_pages_and_filters),
    test(what_is_private_is_its_owners),
    test(an_owner_has_only_so_many_at_once),
    test(a_document_with_a_hole_is_refused_whole),
    test(cancelling_ends_every_step_wherever_it_is),
    test(a_late_answer_goes_to_the_try_that_took_over),
    test(more_turns_leave_the_cell_and_come_back),
    test(a_supervisor_is_heard_and_kept_apart),
    test(messages_are_those_that_were_sent),
    test(a_run_from_elsewhere_is_shown_and_counted_nowhere),
    test(an_import_that_is_none_leaves_nothing),
    test(pruning_leaves_open_runs_what_they_need),
    test(fsck_finds_what_was_tampered_with),
};

database_main(tests, NULL, NULL)
