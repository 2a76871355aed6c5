// SPDX-License-Identifier: Apache-2.0
// Steps of runs against a real PostgreSQL, worked on by agents that only pretend: the whole life of
// a run, and every place where an agent can be lost.
#include "run_kit.h"

/* Kinds of the events of a run in their order, "state turn answer …". */
static const char *events_of(const char *id)
{
    char query[200];
    snprintf(query, sizeof(query),
             "SELECT string_agg(kind, ' ' ORDER BY seq) FROM events WHERE topic = '%s'", id);
    return sql(query);
}

static void a_run_lives_its_whole_life(void **state)
{
    struct db *db = *state;
    char id[UUID_TEXT];
    struct step_job j;
    run_make(db, 0, run_text(1, 1, 3, ""), id);
    whole_turn(db, "compile", 0);
    assert_true(agent_claims(db, &j));
    assert_string_equal(word(j.work, "name"), "mine");
    assert_string_equal(word(j.work, "system"), "sys");
    assert_string_equal(word(j.work, "task"), "task zero");
    assert_string_equal(j.provider, "p");
    assert_int_equal(j.n, 1);
    const json_t *past = json_object_get(j.work, "past");
    assert_int_equal(json_array_size(past), 1);
    assert_string_equal(word(json_array_get(past, 0), "answer"), "an answer");
    assert_string_equal(word(json_array_get(past, 0), "feedback"), "so so");
    assert_int_equal(json_array_size(json_object_get(json_array_get(past, 0), "blocks")), 1);
    assert_string_equal(word(json_object_get(j.work, "last"), "verdict"), "PASSED");
    assert_true(json_is_null(json_object_get(j.work, "best")));
    agent_calls(db, &j, "second");
    assert_true(agent_submits(db, &j));
    step_job_release(&j);
    worker_evaluates(db, run_passed);
    assert_true(agent_claims(db, &j));
    assert_true(j.conclude);
    assert_string_equal(word(j.work, "verdict"), "PASSED");
    assert_string_equal(word(j.work, "source"), kernel);
    assert_string_equal(word(j.work, "report"), run_passed);
    assert_string_equal(word(j.work, "log"), "log??x"); /* a NUL and a byte that is not UTF-8 */
    assert_string_equal(word(json_object_get(j.work, "stored"), "answer"), "second");
    assert_true(agent_concludes(db, &j, "correct", 0.5));
    step_job_release(&j);
    assert_sound(db);
    assert_string_equal(sql("SELECT count(*) FROM turn_counts"),
                        "0"); /* it may still be given up */
    whole_turn(db, "numerical", 0);
    assert_false(agent_claims(db, &j));

    json_t *doc = run_read(db, id);
    assert_string_equal(word(doc, "state"), "done");
    assert_true(json_is_null(json_object_get(doc, "reason")));
    assert_int_equal(whole(doc, "done"), 3);
    assert_int_equal(whole(json_object_get(doc, "best"), "n"), 1);
    assert_int_equal(whole(json_object_get(doc, "spent"), "tokens_in"), 300);
    const json_t *row = json_array_get(json_object_get(doc, "grid"), 0);
    assert_string_equal(word(row, "reason"), "turns");
    assert_true(json_is_null(json_object_get(row, "at")));
    assert_string_equal(word(json_array_get(json_object_get(row, "turns"), 2), "label"),
                        "numerical");
    json_decref(doc);
    assert_string_equal(
        sql("SELECT string_agg(concat_ws('/', n, prev_label, label), ' ' ORDER BY n) FROM turns"),
        "0//compile 1/compile/correct 2/correct/numerical");
    assert_string_equal(
        sql("SELECT concat_ws('/', origin, model, device_model, problem, workload, condition)"
            " FROM cells"),
        "local/m/ptxvm/gemm/small/");
    assert_string_equal(sql("SELECT string_agg(concat_ws('/', n, turns, correct, inst_unknown, "
                            "best), ' ' ORDER BY n)"
                            " FROM turn_counts"),
                        "0/1/0/0 1/1/1/1/0.5 2/1/0/0");
    assert_string_equal(sql("SELECT trajectories FROM variant_counts"), "1");
    assert_sound(db);
}

static void events_tell_what_happens(void **state)
{
    struct db *db = *state;
    char id[UUID_TEXT];
    struct step_job j;
    bool mine;
    int64_t call;
    struct call_end end = stored_end("x");
    run_make(db, 0, run_text(1, 1, 1, ""), id);
    assert_true(agent_claims(db, &j));
    assert_int_equal(agent_starts(db, &j, 1, 0, &call), CALL_GO);
    assert_ok(call_progress(db, &j, 10, 20, &mine, f));
    assert_true(mine);
    assert_ok(call_finish(db, &j, call, &end, &mine, f));
    assert_true(agent_submits(db, &j));
    step_job_release(&j);
    worker_evaluates(db, run_passed);
    assert_true(agent_claims(db, &j));
    assert_true(agent_concludes(db, &j, "correct", 1.5));
    step_job_release(&j);
    /* stage: claimed by a worker, compiled, done */
    assert_string_equal(
        events_of(id),
        "state turn tokens answer submitted stage stage stage feedback trajectory state");
    assert_string_equal(
        sql("SELECT count(*) = max(seq) AND max(seq) = (SELECT rev FROM runs) FROM events"
            " WHERE topic = (SELECT id FROM runs)"),
        "t");
    assert_string_equal(sql("SELECT string_agg(concat_ws('/', data ->> 'stage', data ->> 'state'), "
                            "' ' ORDER BY seq)"
                            " FROM events WHERE kind = 'stage' AND topic = (SELECT id FROM runs)"),
                        "running compile/passed done");
    assert_string_equal(sql("SELECT data ->> 'reasoning' FROM events WHERE kind = 'tokens'"), "20");
    assert_string_equal(sql("SELECT data ->> 'reason' FROM events WHERE kind = 'trajectory'"),
                        "target");
}

/* What is wrong with an answer is concluded in the job of its call. */
static void an_answer_without_a_kernel_is_a_turn(void **state)
{
    struct db *db = *state;
    char id[UUID_TEXT];
    struct step_job j;
    bool mine;
    run_make(db, 0, run_text(1, 1, 2, ""), id);
    assert_true(agent_claims(db, &j));
    agent_calls(db, &j, "no kernel");
    struct conclusion c = concluded("plan", 0);
    c.extraction = "kernel";
    c.source = kernel;
    c.source_len = strlen(kernel);
    c.errors = "[{\"path\":\"$.grid\",\"detail\":\"missing\"}]";
    assert_ok(step_conclude(db, &j, &c, &mine, f));
    assert_true(mine);
    step_job_release(&j);
    json_t *doc;
    assert_ok(runs_trajectory(db, id, 0, 0, &doc, f));
    const json_t *step = json_array_get(json_object_get(doc, "steps"), 0);
    assert_string_equal(word(step, "label"), "plan");
    assert_string_equal(word(step, "source"), kernel);
    assert_string_equal(word(json_array_get(json_object_get(step, "errors"), 0), "path"), "$.grid");
    assert_string_equal(word(json_object_get(step, "call"), "reasoning"), "hm");
    assert_true(json_is_null(json_object_get(step, "submission")));
    assert_null(json_object_get(json_array_get(json_object_get(step, "calls"), 0), "answer"));
    json_decref(doc);
    assert_true(agent_claims(db, &j));
    assert_int_equal(j.n, 1);
    step_job_release(&j);
    assert_sound(db);
}

static void a_stored_answer_is_never_paid_again(void **state)
{
    struct db *db = *state;
    char id[UUID_TEXT];
    struct step_job old, j;
    int64_t call;
    run_make(db, 0, run_text(1, 1, 1, ""), id);
    assert_true(agent_claims(db, &old));
    agent_calls(db, &old, "kept");
    leases_end(db);
    assert_true(agent_claims(db, &j));
    assert_int_equal(j.step, old.step);
    assert_string_equal(word(json_object_get(j.work, "stored"), "answer"), "kept");
    assert_int_equal(agent_starts(db, &j, 1, 0, &call),
                     CALL_LOST); /* whoever calls nevertheless may not */
    step_job_release(&j);
    assert_true(agent_claims(db, &j));
    assert_true(agent_submits(db, &j));
    assert_false(agent_submits(db, &old));
    assert_string_equal(sql("SELECT count(*) FROM submissions"), "1");
    assert_string_equal(sql("SELECT calls || ' ' || usd FROM runs"), "1 0.25");
    step_job_release(&j);
    step_job_release(&old);
    assert_sound(db);
}

static void a_call_of_a_lost_agent_fails_and_is_made_again(void **state)
{
    struct db *db = *state;
    char id[UUID_TEXT];
    struct step_job old, j;
    int64_t first, second;
    bool mine;
    struct call_end end = stored_end("late");
    run_make(db, 0, run_text(1, 1, 1, ""), id);
    assert_true(agent_claims(db, &old));
    assert_int_equal(agent_starts(db, &old, 1, 0, &first), CALL_GO);
    leases_end(db);
    assert_true(agent_claims(db, &j));
    assert_int_equal(j.attempt, 2);
    assert_true(json_is_null(json_object_get(j.work, "stored")));
    assert_ok(call_progress(db, &old, 1, 1, &mine, f));
    assert_false(mine);
    assert_int_equal(agent_starts(db, &j, 1, 0, &second), CALL_GO);
    assert_string_equal(
        sql("SELECT string_agg(concat_ws('/', status, error), ' ' ORDER BY id) FROM llm_calls"),
        "failed/the agent was lost started");
    /* It was not dead, only slow. What it got is paid for and kept, but the lease is another's. */
    assert_ok(call_finish(db, &old, first, &end, &mine, f));
    assert_false(mine);
    assert_string_equal(sql("SELECT tokens_out FROM runs"), "50");
    end = stored_end("mine");
    assert_ok(call_finish(db, &j, second, &end, &mine, f));
    assert_true(mine);
    assert_ok(call_finish(db, &j, second, &end, &mine,
                          f)); /* the answer to the first try got lost: nothing twice */
    assert_true(mine);
    assert_string_equal(sql("SELECT tokens_out FROM runs"), "100");
    assert_true(agent_submits(db, &j));
    step_job_release(&j);
    step_job_release(&old);
    assert_sound(db);
}

static void a_lost_lease_writes_nothing(void **state)
{
    struct db *db = *state;
    char id[UUID_TEXT];
    struct step_job old, j;
    bool mine;
    int64_t call;
    run_make(db, 0, run_text(1, 1, 2, ""), id);
    assert_true(agent_claims(db, &old));
    agent_calls(db, &old, "a");
    leases_end(db);
    assert_false(agent_submits(db, &old));
    assert_false(agent_concludes(db, &old, "compile", 0));
    assert_ok(step_delay(db, &old, 1000, "x", &mine, f));
    assert_false(mine);
    assert_ok(step_fail(db, &old, "x", false, &mine, f));
    assert_false(mine);
    assert_ok(step_stop(db, &old, "context", "x", &mine, f));
    assert_false(mine);
    assert_int_equal(agent_starts(db, &old, 1, 0, &call), CALL_LOST);
    assert_string_equal(sql("SELECT count(*) FROM submissions"), "0");
    assert_string_equal(sql("SELECT count(*) FROM turns"), "0");
    assert_true(agent_claims(db, &j));
    assert_true(agent_concludes(db, &j, "extraction", 0));
    assert_false(agent_concludes(db, &j, "extraction", 0)); /* nor does a job that is over */
    assert_string_equal(sql("SELECT count(*) FROM turns"), "1");
    step_job_release(&j);
    step_job_release(&old);
    assert_sound(db);
}

/* One try at the evaluation of the next step, which fails for no fault of the kernel. */
static void evaluation_fails(struct db *db, bool stored)
{
    struct step_job j;
    assert_true(agent_claims(db, &j));
    assert_int_equal(json_is_object(json_object_get(j.work, "stored")), stored);
    if (!stored)
        agent_calls(db, &j, "dear");
    assert_true(agent_submits(db, &j));
    step_job_release(&j);
    sql("UPDATE jobs SET max_attempts = 1 WHERE kind = 'evaluate'");
    worker_evaluates(db, "{\"verdict\":\"INFRA_ERROR\",\"detail\":\"fire\"}");
    assert_true(agent_claims(db, &j));
    assert_string_equal(word(j.work, "verdict"), "INFRA_ERROR");
    assert_true(agent_concludes(db, &j, "infra", 0));
    step_job_release(&j);
}

static void a_turn_that_the_service_spoilt_is_redone(void **state)
{
    struct db *db = *state;
    char id[UUID_TEXT];
    json_t *doc;
    run_make(db, 0, run_text(1, 1, 1, ""), id);
    evaluation_fails(db, false);
    evaluation_fails(db, true);
    assert_sound(db);
    assert_string_equal(sql("SELECT state FROM runs"), "running");
    evaluation_fails(db, true);
    assert_string_equal(
        sql("SELECT concat_ws(' ', r.state, r.reason, t.reason, t.left_out, r.calls)"
            " FROM runs r JOIN trajectories t ON t.run_id = r.id"),
        "done infra infra the service failed 1");
    assert_string_equal(sql("SELECT count(*) FROM turn_counts"), "0");
    assert_sound(db);
    assert_ok(runs_resume(db, id, 0, -1, -1, &doc, f));
    json_decref(doc);
    evaluation_fails(db, true); /* three more */
    assert_string_equal(sql("SELECT state FROM runs"), "running");
    struct step_job j;
    assert_true(agent_claims(db, &j));
    assert_int_equal(j.try_, 4);
    assert_true(agent_submits(db, &j));
    step_job_release(&j);
    worker_evaluates(db, run_passed);
    assert_true(agent_claims(db, &j));
    assert_true(agent_concludes(db, &j, "correct", 0.5));
    step_job_release(&j);
    assert_string_equal(
        sql("SELECT string_agg(try || label || counted, ' ' ORDER BY try) FROM turns"),
        "0infrafalse 1infrafalse 2infrafalse 3infrafalse 4correcttrue");
    assert_string_equal(sql("SELECT calls || ' ' || usd FROM runs"), "1 0.25");
    assert_string_equal(sql("SELECT turns FROM turn_counts"), "1");
    doc = run_read(db, id);
    const json_t *row = json_array_get(json_object_get(doc, "grid"), 0);
    assert_int_equal(json_array_size(json_object_get(row, "turns")), 1);
    assert_int_equal(whole(json_array_get(json_object_get(row, "turns"), 0), "try"), 4);
    json_decref(doc);
    assert_sound(db);
}

static void calls_keep_within_the_budget(void **state)
{
    struct db *db = *state;
    char id[UUID_TEXT];
    struct step_job a, b, j;
    int64_t call, other;
    bool mine;
    struct call_end end = stored_end("x");
    run_make(db, 0, run_text(1, 2, 4, ",\"budget\":{\"tokens\":1000,\"usd\":null}"), id);
    assert_true(agent_claims(db, &a));
    assert_true(agent_claims(db, &b));
    assert_int_equal(agent_starts(db, &a, 600, 0, &call), CALL_GO);
    assert_int_equal(agent_starts(db, &b, 401, 0, &other),
                     CALL_WAIT);                          /* a's may cost less than it can */
    assert_ok(call_finish(db, &a, call, &end, &mine, f)); /* 150 */
    assert_int_equal(agent_starts(db, &b, 851, 0, &other), CALL_BUDGET);
    assert_false(agent_submits(db, &b)); /* the job is over */
    assert_string_equal(
        sql("SELECT concat_ws('/', state, reason, left_out) FROM trajectories WHERE n = 1"),
        "done/budget/out of budget");
    assert_non_null(
        strstr(sql("SELECT detail FROM trajectories WHERE n = 1"), "851 tokens; 850 of 1000"));
    assert_true(agent_concludes(db, &a, "extraction", 0));
    step_job_release(&a);
    step_job_release(&b);
    /* What a cut answer cost nobody knows: it is held back for good. */
    assert_true(agent_claims(db, &j));
    assert_int_equal(agent_starts(db, &j, 500, 0, &call), CALL_GO);
    struct call_end cut = {.status = "partial",
                           .answer = "he",
                           .answer_len = 2,
                           .tokens_in = -1,
                           .cached = -1,
                           .cache_write = -1,
                           .tokens_out = -1,
                           .reasoning_tokens = -1,
                           .usd = -1};
    assert_ok(call_finish(db, &j, call, &cut, &mine, f));
    assert_true(mine);
    assert_int_equal(agent_starts(db, &j, 351, 0, &call), CALL_BUDGET);
    step_job_release(&j);
    assert_string_equal(
        sql("SELECT concat_ws('/', state, reason, tokens_in, tokens_out, calls) FROM runs"),
        "done/budget/100/50/2");
    assert_sound(db);
    json_t *doc;
    assert_ok(runs_resume(db, id, 0, 2000, 0.5, &doc, f));
    json_decref(doc);
    assert_true(agent_claims(db, &j));
    assert_int_equal(agent_starts(db, &j, 351, 0.3, &call),
                     CALL_BUDGET); /* 0.25 of 0.5 dollars are spent */
    step_job_release(&j);
    assert_true(agent_claims(db, &j));
    assert_int_equal(agent_starts(db, &j, 351, 0.25, &call), CALL_GO);
    step_job_release(&j);
    assert_sound(db);
}

static void a_busy_provider_costs_no_attempt_and_a_broken_one_does(void **state)
{
    struct db *db = *state;
    char id[UUID_TEXT];
    struct step_job j;
    bool mine;
    int64_t call;
    run_make(db, 0, run_text(1, 1, 1, ""), id);
    struct call_end failed = {.status = "failed",
                              .tokens_in = -1,
                              .cached = -1,
                              .cache_write = -1,
                              .tokens_out = -1,
                              .reasoning_tokens = -1,
                              .usd = -1,
                              .http_status = 429,
                              .error = "slow down"};
    for (int i = 0; i < 10; i++) {
        assert_true(agent_claims(db, &j));
        assert_int_equal(agent_starts(db, &j, 1, 0, &call), CALL_GO);
        assert_ok(call_finish(db, &j, call, &failed, &mine, f));
        assert_ok(step_delay(db, &j, 60000, "slow down", &mine, f));
        assert_true(mine);
        step_job_release(&j);
        assert_false(agent_claims(db, &j));
        sql("UPDATE jobs SET run_after = now()");
    }
    assert_string_equal(sql("SELECT detail FROM trajectories"), "slow down");
    for (int i = 0; i < 6; i++) {
        sql("UPDATE jobs SET run_after = now() WHERE state = 'queued'");
        assert_true(agent_claims(db, &j));
        assert_ok(step_fail(db, &j, "no route", true, &mine, f));
        assert_true(mine);
        step_job_release(&j);
        assert_string_equal(sql("SELECT state FROM runs"), i < 5 ? "running" : "done");
    }
    assert_string_equal(
        sql("SELECT concat_ws('/', r.reason, t.reason, t.detail) FROM runs r, trajectories t"),
        "provider/provider/no route");
    assert_string_equal(sql("SELECT state FROM steps"), "left");
    assert_sound(db);
}

static void what_will_never_work_ends_at_once(void **state)
{
    struct db *db = *state;
    char id[UUID_TEXT];
    struct step_job j;
    bool mine;
    int64_t call;
    run_make(db, 0, run_text(1, 3, 2, ""), id);
    assert_true(agent_claims(db, &j));
    assert_ok(step_fail(db, &j, "wrong key", false, &mine, f));
    step_job_release(&j);
    assert_true(agent_claims(db, &j));
    agent_calls(db, &j, "one");
    assert_true(agent_concludes(db, &j, "extraction", 0));
    step_job_release(&j);
    assert_true(
        agent_claims(db, &j)); /* an agent is lost with its call until nobody tries any more */
    assert_int_equal(agent_starts(db, &j, 1, 0, &call), CALL_GO);
    sql("UPDATE jobs SET max_attempts = 1 WHERE state = 'running'");
    leases_end(db);
    step_job_release(&j);
    assert_string_equal(sql("SELECT detail FROM trajectories WHERE n = 2"),
                        "worker a:1:1 lost: lease expired");
    assert_string_equal(sql("SELECT status FROM llm_calls ORDER BY id DESC LIMIT 1"), "failed");
    assert_true(agent_claims(db, &j));
    assert_int_equal(j.n, 1);
    assert_ok(step_stop(db, &j, "context", "too long", &mine, f));
    assert_true(mine);
    step_job_release(&j);
    assert_string_equal(sql("SELECT string_agg(concat_ws('/', n, reason, left_out), ' ' ORDER BY "
                            "n) FROM trajectories"),
                        "0/provider/the provider failed 1/context 2/provider/the provider failed");
    assert_string_equal(sql("SELECT state || reason FROM runs"), "doneprovider");
    assert_string_equal(sql("SELECT device_model FROM cells"),
                        "ptxvm"); /* nothing was measured: what would have */
    assert_string_equal(sql("SELECT turns FROM turn_counts"), "1");
    assert_sound(db);
}

static void one_heartbeat_renews_all_leases(void **state)
{
    struct db *db = *state;
    char id[UUID_TEXT], ids[100], attempts[100];
    struct step_job j[3];
    json_t *lost;
    run_make(db, 0, run_text(1, 3, 2, ""), id);
    for (int i = 0; i < 3; i++)
        assert_true(agent_claims(db, &j[i]));
    sql("UPDATE jobs SET lease_until = now() + interval '1 s'");
    snprintf(ids, sizeof(ids), "{%lld,%lld,%lld,999}", (long long)j[0].id, (long long)j[1].id,
             (long long)j[2].id);
    snprintf(attempts, sizeof(attempts), "{1,7,1,1}");
    assert_ok(step_heartbeat(db, "a:1:1", ids, attempts, 60000, &lost, f));
    assert_int_equal(json_array_size(lost), 2);
    assert_int_equal(json_integer_value(json_array_get(lost, 0)), j[1].id);
    assert_int_equal(json_integer_value(json_array_get(lost, 1)), 999);
    json_decref(lost);
    assert_string_equal(
        sql("SELECT count(*) FROM jobs WHERE lease_until > now() + interval '50 s'"), "2");
    assert_ok(step_heartbeat(db, "a:1:1", "{}", "{}", 60000, &lost, f));
    assert_int_equal(json_array_size(lost), 0);
    json_decref(lost);
    for (int i = 0; i < 3; i++)
        step_job_release(&j[i]);
}

/* A worker need not be trusted with more than evaluations. */
static void a_worker_has_no_hold_on_steps(void **state)
{
    struct db *db = *state;
    char id[UUID_TEXT];
    struct job j;
    struct step_job s;
    bool got, mine;
    run_make(db, 0, run_text(1, 1, 2, ""), id);
    assert_ok(queue_claim(db, "w", "{llm/p}", 30000, &j, &got, f));
    assert_false(got);
    assert_true(agent_claims(db, &s));
    j = (struct job){.id = s.id, .attempt = s.attempt, .max_attempts = 9};
    struct delivery d = {.job = &j, .report = run_passed, .report_len = strlen(run_passed)};
    assert_ok(store_deliver(db, &d, &mine, f));
    assert_false(mine);
    assert_string_equal(sql("SELECT state FROM jobs"), "running");
    step_job_release(&s);
    assert_ok(step_claim(db, "a:1:1", "{sm_90a/cpu}", 30000, &s, &got, f));
    assert_false(got);
}

/* Nothing is stored of a submission that does not fit the owner's limit; later it does. */
static void a_full_queue_is_waited_for(void **state)
{
    struct db *db = *state;
    char id[UUID_TEXT];
    struct step_job j;
    bool mine;
    run_make(db, 0, run_text(1, 1, 1, ""), id);
    assert_true(agent_claims(db, &j));
    agent_calls(db, &j, "a");
    struct new_submission s = run_submission(&j);
    s.queued_limit = 0;
    assert_int_equal(step_submit(db, &j, "kernel", &s, &mine, NULL), ERR_QUOTA);
    assert_false(mine);
    assert_string_equal(sql("SELECT count(*) FROM submissions"), "0");
    assert_string_equal(sql("SELECT state FROM steps"), "call");
    assert_ok(step_delay(db, &j, 0, "full", &mine, f));
    assert_true(mine);
    step_job_release(&j);
    assert_true(agent_claims(db, &j));
    assert_true(json_is_object(json_object_get(j.work, "stored")));
    assert_true(agent_submits(db, &j));
    assert_string_equal(sql("SELECT key || ' ' || (SELECT id FROM steps) FROM idempotency"),
                        "run:1 1");
    step_job_release(&j);
    assert_sound(db);
}

/* An owner who cancels an evaluation of a run that goes on only has it done again. */
static void a_cancelled_evaluation_is_redone_and_a_rerun_changes_nothing(void **state)
{
    struct db *db = *state;
    char id[UUID_TEXT], submission[UUID_TEXT];
    struct step_job j;
    json_t *doc;
    run_make(db, 0, run_text(1, 1, 2, ""), id);
    assert_true(agent_claims(db, &j));
    agent_calls(db, &j, "a");
    assert_true(agent_submits(db, &j));
    step_job_release(&j);
    snprintf(submission, sizeof(submission), "%s", sql("SELECT id FROM submissions"));
    assert_ok(store_submission_cancel(db, submission, 0, &doc, f));
    json_decref(doc);
    assert_true(agent_claims(db, &j));
    assert_string_equal(word(j.work, "verdict"), "CANCELLED");
    assert_true(agent_concludes(db, &j, "infra", 0));
    step_job_release(&j);
    whole_turn(db, "correct", 0.5);
    snprintf(submission, sizeof(submission), "%s",
             sql("SELECT submission_id FROM steps WHERE state = 'done' AND "
                 "try = 1"));
    int64_t rev = strtoll(sql("SELECT rev FROM runs"), NULL, 10);
    assert_ok(store_submission_rerun(db, submission, 0, 9, &doc, f));
    json_decref(doc);
    worker_evaluates(db, run_passed);
    assert_int_equal(strtoll(sql("SELECT rev FROM runs"), NULL, 10), rev);
    assert_string_equal(sql("SELECT string_agg(kind || state, ' ' ORDER BY kind) FROM jobs WHERE "
                            "finished_at IS NULL"),
                        "callqueued");
    assert_sound(db);
}

#define test(fn) cmocka_unit_test_setup_teardown(fn, database_setup, database_teardown)

static const struct CMUnitTest tests[] = {
    test(a_run_lives_its_whole_life),
    test(events_tell_what_happens),
    test(an_answer_without_a_kernel_is_a_turn),
    test(a_stored_answer_is_never_paid_again),
    test(a_call_of_a_lost_agent_fails_and_is_made_again),
    test(a_lost_lease_writes_nothing),
    test(a_turn_that_the_service_spoilt_is_redone),
    test(calls_keep_within_the_budget),
    test(a_busy_provider_costs_no_attempt_and_a_broken_one_does),
    test(what_will_never_work_ends_at_once),
    test(one_heartbeat_renews_all_leases),
    test(a_worker_has_no_hold_on_steps),
    test(a_full_queue_is_waited_for),
    test(a_cancelled_evaluation_is_redone_and_a_rerun_changes_nothing),
};

database_main(tests, NULL, NULL)
