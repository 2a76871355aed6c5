// SPDX-License-Identifier: Apache-2.0
// Steps as agents work on them: sql/functions/steps.sql and step_calls.sql. What changes something
// is one transaction that a deadlock repeats.
#include <stdlib.h>
#include <string.h>

#include "core/db/runs.h"
#include "core/util.h"

void step_job_release(struct step_job *j)
{
    json_decref(j->work);
    *j = (struct step_job){0};
}

static struct db_arg number(double v)
{
    struct db_arg a = {0};
    snprintf(a.number, sizeof(a.number), "%.17g", v);
    return a;
}

/* A count that may not be known: then null. */
static struct db_arg known(int64_t v)
{
    return v < 0 ? db_text(NULL) : db_int(v);
}

/* ---- statements in transactions ---- */

struct asking {
    enum statement statement;
    const struct db_arg *args;
    size_t count;
    struct db_rows rows;
};

static enum err ask_once(struct db *db, void *arg, struct fault *f)
{
    struct asking *a = arg;
    db_rows_release(&a->rows); /* of the try before, whose commit failed */
    return db_run(db, a->statement, a->args, a->count, &a->rows, f);
}

/* Rows are to be released by the caller in any case. */
static enum err ask(struct db *db, enum statement s, const struct db_arg *args, size_t count,
                    struct db_rows *rows, struct fault *f)
{
    struct asking a = {.statement = s, .args = args, .count = count};
    enum err e = db_tx(db, ask_once, &a, f);
    *rows = a.rows;
    return e;
}

/* A statement that answers whether the lease is the caller's. */
static enum err ask_mine(struct db *db, enum statement s, const struct db_arg *args, size_t count,
                         bool *mine, struct fault *f)
{
    struct db_rows rows;
    enum err e = ask(db, s, args, count, &rows, f);
    *mine = e == ERR_NONE && rows.count == 1 && db_get_bool(&rows, 0, 0);
    db_rows_release(&rows);
    return e;
}

/* ---- jobs ---- */

static enum err read_job(const struct db_rows *rows, struct step_job *j, struct fault *f)
{
    const char *work = db_get(rows, 0, 10);
    *j = (struct step_job){.id = db_get_int(rows, 0, 0),
                           .attempt = (int)db_get_int(rows, 0, 1),
                           .max_attempts = (int)db_get_int(rows, 0, 2),
                           .conclude = !strcmp(db_get(rows, 0, 3), "conclude"),
                           .step = db_get_int(rows, 0, 4),
                           .trajectory = (int)db_get_int(rows, 0, 6),
                           .n = (int)db_get_int(rows, 0, 7),
                           .try_ = (int)db_get_int(rows, 0, 8),
                           .work = work ? json_loads(work, 0, NULL) : NULL};
    snprintf(j->run, sizeof(j->run), "%s", db_get(rows, 0, 5));
    snprintf(j->provider, sizeof(j->provider), "%s", db_get(rows, 0, 9));
    return j->work ? ERR_NONE : fault_set(f, ERR_INTERNAL, "cannot read the work of a step");
}

enum err step_claim(struct db *db, const char *agent, const char *lanes, int lease_ms,
                    struct step_job *j, bool *got, struct fault *f)
{
    struct db_rows rows;
    *j = (struct step_job){0};
    enum err e = ask(db, STMT_STEP_CLAIM, DB_ARGS(db_text(agent), db_text(lanes), db_int(lease_ms)),
                     &rows, f);
    *got = e == ERR_NONE && rows.count == 1;
    if (*got)
        e = read_job(&rows, j, f);
    db_rows_release(&rows);
    return e;
}

enum err step_heartbeat(struct db *db, const char *agent, const char *ids, const char *attempts,
                        int lease_ms, json_t **lost, struct fault *f)
{
    struct db_rows rows;
    enum err e =
        ask(db, STMT_STEP_HEARTBEAT,
            DB_ARGS(db_text(agent), db_text(ids), db_text(attempts), db_int(lease_ms)), &rows, f);
    *lost = e == ERR_NONE ? json_loads(db_get(&rows, 0, 0), 0, NULL) : NULL;
    db_rows_release(&rows);
    if (e == ERR_NONE && !*lost)
        e = fault_set(f, ERR_INTERNAL, "cannot read which leases were lost");
    return e;
}

enum err step_delay(struct db *db, const struct step_job *j, int64_t delay_ms, const char *why,
                    bool *mine, struct fault *f)
{
    return ask_mine(db, STMT_STEP_DELAY,
                    DB_ARGS(db_int(j->id), db_int(j->attempt), db_int(delay_ms), db_text(why)),
                    mine, f);
}

enum err step_fail(struct db *db, const struct step_job *j, const char *why, bool retry, bool *mine,
                   struct fault *f)
{
    return ask_mine(db, STMT_STEP_FAIL,
                    DB_ARGS(db_int(j->id), db_int(j->attempt), db_text(why), db_bool(retry)), mine,
                    f);
}

enum err step_stop(struct db *db, const struct step_job *j, const char *reason, const char *detail,
                   bool *mine, struct fault *f)
{
    return ask_mine(db, STMT_STEP_STOP,
                    DB_ARGS(db_int(j->id), db_int(j->attempt), db_text(reason), db_text(detail)),
                    mine, f);
}

/* ---- calls ---- */

enum err call_start(struct db *db, const struct step_job *j, const char *agent,
                    const char *messages, size_t len, int64_t hold_tokens, double hold_usd,
                    enum call_leave *leave, int64_t *call, struct fault *f)
{
    static const char *const leaves[] = {
        [CALL_GO] = "go", [CALL_WAIT] = "wait", [CALL_BUDGET] = "budget", [CALL_LOST] = "lost"};
    struct db_rows rows;
    enum err e = ask(db, STMT_CALL_START,
                     DB_ARGS(db_int(j->id), db_int(j->attempt), db_text(agent),
                             db_bytes(messages, len), db_int(hold_tokens), number(hold_usd)),
                     &rows, f);
    const char *word = e == ERR_NONE ? db_get(&rows, 0, 0) : NULL;
    *leave = CALL_LOST;
    for (size_t i = 0; word && i < COUNT_OF(leaves); i++)
        if (!strcmp(word, leaves[i]))
            *leave = (enum call_leave)i;
    *call = word ? db_get_int(&rows, 0, 1) : 0;
    db_rows_release(&rows);
    return e;
}

enum err call_progress(struct db *db, const struct step_job *j, int64_t text, int64_t reasoning,
                       bool *mine, struct fault *f)
{
    return ask_mine(db, STMT_CALL_PROGRESS,
                    DB_ARGS(db_int(j->id), db_int(j->attempt), db_int(text), db_int(reasoning)),
                    mine, f);
}

static void put_count(json_t *o, const char *name, int64_t v)
{
    if (v >= 0)
        json_object_set_new(o, name, json_integer(v));
}

/* Columns of llm_calls, by name; what is not known is left out. */
static json_t *columns_of(const struct call_end *end)
{
    json_t *o = json_object();
    json_object_set_new(o, "status", json_string(end->status));
    if (end->finish)
        json_object_set_new(o, "finish", json_string(end->finish));
    put_count(o, "tokens_in", end->tokens_in);
    put_count(o, "cached", end->cached);
    put_count(o, "cache_write", end->cache_write);
    put_count(o, "tokens_out", end->tokens_out);
    put_count(o, "reasoning_tokens", end->reasoning_tokens);
    if (end->usd >= 0)
        json_object_set_new(o, "usd", json_real(end->usd));
    if (end->http_status)
        json_object_set_new(o, "http_status", json_integer(end->http_status));
    if (end->error)
        json_object_set_new(o, "error", json_string(end->error));
    return o;
}

enum err call_finish(struct db *db, const struct step_job *j, int64_t call,
                     const struct call_end *end, bool *mine, struct fault *f)
{
    json_t *columns = columns_of(end);
    char *text = json_dumps(columns, JSON_COMPACT);
    json_decref(columns);
    *mine = false;
    if (!text)
        return fault_set(f, ERR_NO_MEMORY, "cannot store the end of a call: out of memory");
    enum err e = ask_mine(
        db, STMT_CALL_FINISH,
        DB_ARGS(db_int(j->id), db_int(j->attempt), db_int(call), db_text(text),
                end->answer ? db_bytes(end->answer, end->answer_len) : db_text(NULL),
                end->reasoning ? db_bytes(end->reasoning, end->reasoning_len) : db_text(NULL),
                db_text(end->blocks)),
        mine, f);
    free(text);
    return e;
}

/* ---- what becomes of an answer ---- */

struct submitting {
    const struct step_job *job;
    const char *extraction;
    struct new_submission submission;
    bool lost;
};

static enum err submit_once(struct db *db, void *arg, struct fault *f)
{
    struct submitting *s = arg;
    struct created_submission made;
    struct db_rows rows = {0};
    s->lost = false;
    enum err e = store_submission_create(db, &s->submission, &made, f);
    if (e == ERR_NONE)
        e = db_run(db, STMT_STEP_SUBMITTED,
                   DB_ARGS(db_int(s->job->id), db_int(s->job->attempt), db_text(made.id),
                           db_text(s->extraction)),
                   &rows, f);
    if (e == ERR_NONE && !db_get_bool(&rows, 0, 0)) {
        s->lost = true;
        e = fault_set(f, ERR_CONFLICT, "the lease was lost"); /* takes the submission back */
    }
    db_rows_release(&rows);
    return e;
}

enum err step_submit(struct db *db, const struct step_job *j, const char *extraction,
                     const struct new_submission *s, bool *mine, struct fault *f)
{
    char key[32], sha[SHA256_HEX];
    struct submitting all = {.job = j, .extraction = extraction, .submission = *s};
    snprintf(key, sizeof(key), "run:%lld", (long long)j->step);
    sha256_hex(s->request, strlen(s->request), sha);
    all.submission.idempotency_key = key;
    all.submission.body_sha256 = sha;
    enum err e = db_tx(db, submit_once, &all, f);
    *mine = e == ERR_NONE;
    return e == ERR_CONFLICT && all.lost ? ERR_NONE : e;
}

enum err step_conclude(struct db *db, const struct step_job *j, const struct conclusion *c,
                       bool *mine, struct fault *f)
{
    return ask_mine(db, STMT_STEP_CONCLUDE,
                    DB_ARGS(db_int(j->id), db_int(j->attempt), db_text(c->label),
                            db_bool(c->correct), db_bool(c->infra),
                            c->inst < 0 ? db_text(NULL) : db_bool(c->inst),
                            c->speedup > 0 ? number(c->speedup) : db_text(NULL),
                            known(c->reasoning_tokens), db_text(c->extraction),
                            c->source ? db_bytes(c->source, c->source_len) : db_text(NULL),
                            db_text(c->errors), db_text(c->feedback), db_text(c->feedback_text)),
                    mine, f);
}
