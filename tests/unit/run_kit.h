/* SPDX-License-Identifier: Apache-2.0
 * Runs of a test and an agent that only pretends: it answers what it is told to and asks no model.
 */
#ifndef TESTS_UNIT_RUN_KIT_H
#define TESTS_UNIT_RUN_KIT_H

#include <string.h>

#include "core/db/runs.h"
#include "database.h"

/* A run of `per_variant` trajectories of each of 1 or 2 variants; `more` is further members, each
 * behind a comma. */
__attribute__((unused)) static const char *run_text(int variants, int per_variant, int turns,
                                                    const char *more)
{
    static char text[2000];
    static const char second[] = ",{\"variant\":1,\"name\":\"hints\",\"system\":\"sys\",\"task\":"
                                 "\"task one\",\"tokens\":11,\"estimated\":true}";
    snprintf(text, sizeof(text),
             "{\"problem\":\"gemm\",\"workload\":\"small\",\"arch\":\"sm_90a\",\"device\":\"cpu\","
             "\"name\":\"mine\",\"provider\":\"p\",\"model\":\"m\",\"condition\":\"\","
             "\"trajectories\":%d,\"turns\":%d,\"target_speedup\":1.2,\"history\":\"full\","
             "\"feedback\":\"full\",\"params\":{\"effort\":\"low\"},\"prompts\":[{\"variant\":0,"
             "\"name\":\"contract\",\"system\":\"sys\",\"task\":\"task zero\",\"tokens\":9,"
             "\"estimated\":false}%s]%s}",
             per_variant, turns, variants > 1 ? second : "", more);
    return text;
}

__attribute__((unused)) static void run_make(struct db *db, int64_t owner, const char *document,
                                             char id[UUID_TEXT])
{
    json_t *made;
    assert_ok(runs_create(db, owner, document, 1000, &made, f));
    snprintf(id, UUID_TEXT, "%s", json_string_value(json_object_get(made, "id")));
    json_decref(made);
}

__attribute__((unused)) static json_t *run_read(struct db *db, const char *id)
{
    json_t *document;
    assert_ok(runs_get(db, id, VIEWER_ADMIN, &document, f));
    return document;
}

__attribute__((unused)) static const char *word(const json_t *object, const char *member)
{
    const char *text = json_string_value(json_object_get(object, member));
    return text ? text : "(none)";
}

__attribute__((unused)) static int64_t whole(const json_t *object, const char *member)
{
    return json_integer_value(json_object_get(object, member));
}

__attribute__((unused)) static bool agent_claims(struct db *db, struct step_job *j)
{
    bool got;
    assert_ok(step_claim(db, "a:1:1", "{llm/p}", 30000, j, &got, f));
    return got;
}

/* The lease of everything that runs has ended, and that is seen to; what was put back may be
 * claimed at once. */
__attribute__((unused)) static void leases_end(struct db *db)
{
    int reaped;
    sql("UPDATE jobs SET lease_until = now() - interval '1 s' WHERE state = 'running'");
    assert_ok(queue_reap(db, &reaped, f));
    sql("UPDATE jobs SET run_after = now() WHERE state = 'queued'");
}

static const char kernel[] = "__global__ void k() {}";

__attribute__((unused)) static struct call_end stored_end(const char *answer)
{
    return (struct call_end){.status = "stored",
                             .answer = answer,
                             .answer_len = strlen(answer),
                             .reasoning = "hm",
                             .reasoning_len = 2,
                             .blocks = "[{\"signature\":\"s\"}]",
                             .finish = "stop",
                             .tokens_in = 100,
                             .cached = 20,
                             .cache_write = -1,
                             .tokens_out = 50,
                             .reasoning_tokens = 30,
                             .usd = 0.25,
                             .http_status = 200};
}

__attribute__((unused)) static enum call_leave
agent_starts(struct db *db, const struct step_job *j, int64_t tokens, double usd, int64_t *call)
{
    enum call_leave leave;
    assert_ok(call_start(db, j, "a:1:1", "[1]", 3, tokens, usd, &leave, call, f));
    return leave;
}

/* Calls the model, whose answer is stored. */
__attribute__((unused)) static void agent_calls(struct db *db, const struct step_job *j,
                                                const char *answer)
{
    int64_t call;
    bool mine;
    struct call_end end = stored_end(answer);
    assert_int_equal(agent_starts(db, j, 1000, 1, &call), CALL_GO);
    assert_ok(call_finish(db, j, call, &end, &mine, f));
    assert_true(mine);
}

__attribute__((unused)) static struct new_submission run_submission(const struct step_job *j)
{
    struct new_submission s = a_submission();
    s.owner_id = whole(j->work, "owner");
    s.is_private = !strcmp(word(j->work, "visibility"), "private");
    s.source = kernel;
    s.source_len = strlen(kernel);
    s.method = "m";
    return s;
}

__attribute__((unused)) static bool agent_submits(struct db *db, const struct step_job *j)
{
    bool mine;
    struct new_submission s = run_submission(j);
    assert_ok(step_submit(db, j, "kernel", &s, &mine, f));
    return mine;
}

__attribute__((unused)) static struct conclusion concluded(const char *label, double speedup)
{
    return (struct conclusion){.label = label,
                               .correct = !strcmp(label, "correct"),
                               .infra = !strcmp(label, "infra"),
                               .inst = -1,
                               .speedup = speedup,
                               .reasoning_tokens = 30,
                               .feedback = "{\"verdict\":\"PASSED\"}",
                               .feedback_text = "so so"};
}

__attribute__((unused)) static bool agent_concludes(struct db *db, const struct step_job *j,
                                                    const char *label, double speedup)
{
    bool mine;
    struct conclusion c = concluded(label, speedup);
    assert_ok(step_conclude(db, j, &c, &mine, f));
    return mine;
}

/* A worker takes the next evaluation and delivers. */
__attribute__((unused)) static void worker_evaluates(struct db *db, const char *report)
{
    struct job j;
    bool got, mine;
    assert_ok(queue_claim(db, "w:1:1", "{sm_90a/cpu}", 30000, &j, &got, f));
    assert_true(got);
    assert_ok(queue_event(db, &j, "stage",
                          "{\"kind\":\"stage\",\"stage\":\"compile\",\"state\":\"passed\"}", f));
    struct delivery d = {.job = &j, .report = report, .report_len = strlen(report)};
    d.infra = strstr(report, "INFRA_ERROR") != NULL;
    d.log = (struct artefact){"log\0\377x", 6};
    assert_ok(store_deliver(db, &d, &mine, f));
    assert_true(mine);
    job_release_memory(&j);
}

static const char run_passed[] = "{\"verdict\":\"PASSED\",\"device_model\":\"ptxvm\"}";

/* One whole turn of whatever trajectory is next: call, kernel, evaluation, conclusion. */
__attribute__((unused)) static void whole_turn(struct db *db, const char *label, double speedup)
{
    struct step_job j;
    assert_true(agent_claims(db, &j));
    assert_false(j.conclude);
    if (!json_is_object(json_object_get(j.work, "stored")))
        agent_calls(db, &j, "an answer");
    assert_true(agent_submits(db, &j));
    step_job_release(&j);
    worker_evaluates(db, run_passed);
    assert_true(agent_claims(db, &j));
    assert_true(j.conclude);
    assert_true(agent_concludes(db, &j, label, speedup));
    step_job_release(&j);
}

__attribute__((unused)) static void assert_sound(struct db *db)
{
    json_t *report;
    assert_ok(store_fsck(db, &report, f));
    json_t *problems = json_object_get(report, "problems");
    if (json_array_size(problems))
        fail_msg("fsck: %s", json_string_value(json_array_get(problems, 0)));
    json_decref(report);
}

#endif
