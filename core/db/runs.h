/* SPDX-License-Identifier: Apache-2.0
 * Agent runs in the database. Documents are made by sql/functions/runs.sql (what the API shows) and
 * steps.sql (what agents work on). New references of the caller. A viewer is an owner id;
 * VIEWER_ADMIN sees and changes everything. What a viewer may not see is ERR_NOT_FOUND. Texts are
 * UTF-8 without NUL; a document with \u0000 in it is refused (ERR_INTERNAL; runs_import:
 * ERR_INVALID). */
#ifndef CORE_DB_RUNS_H
#define CORE_DB_RUNS_H

#include "core/db/db.h"
#include "core/db/store.h"

/* ---- what the API does ---- */

/* `document`: run_document() as text. {"id", "rev", "state"}. ERR_QUOTA: the owner has `open_limit`
 * running ones. */
enum err runs_create(struct db *db, int64_t owner, const char *document, int open_limit,
                     json_t **out, struct fault *f);

struct run_filter {
    const char *problem, *model, *state, *owner; /* NULL: any */
    const char *before;                          /* cursor: id of the last of the page before */
    int limit;                                   /* 1 to 200 */
};
/* {"items": [run as in runs_get without "grid"], "next"}; newest first. */
enum err runs_list(struct db *db, const struct run_filter *q, int64_t viewer, json_t **out,
                   struct fault *f);

/* {"id","name","owner","state","reason","rev","problem","workload","arch","device","provider","model",
 *  "condition","params","history","feedback","source": null, or where it was imported from,
 *  "variants":[{"variant","name","tokens","estimated"}],"per_variant","trajectories","turns",
 *  "target_speedup","budget":{"tokens","usd"},"spent":{"calls","tokens_in","tokens_out","usd"},
 *  "visibility","created_at","finished_at","done": turns that count so far,
 *  "best":null|{"trajectory","n","speedup","submission"},
 *  "grid":[{"trajectory","variant","state","reason","detail","at":{"n","try","state"}|null,
 *           "turns":[{"n","try","label","correct","inst","speedup","submission","usd","tokens_out",
 *                     "seconds"}]}]}
 * Turns of the grid are those that count: one with "try" over 0 was redone. A running trajectory
 * has a detail while its calls fail. */
enum err runs_get(struct db *db, const char *id, int64_t viewer, json_t **out, struct fault *f);
/* {"id","state","rev"} */
enum err runs_rev(struct db *db, const char *id, int64_t viewer, json_t **out, struct fault *f);
/* One trajectory with every text:
 * {"run","trajectory","variant","variant_name","state","reason","detail","left_out","system",
 *  "task","history","steps":[{"n","try","state","counted","label","correct","inst","speedup","extraction","source",
 *  "errors","submission","verdict","feedback","feedback_text","supervision","created_at","finished_at",
 *  "call":null|{"id","status","finish","answer","reasoning","blocks","tokens_in","cached","cache_write","tokens_out",
 *  "reasoning_tokens","usd","http_status","provider","model","request_sha256","started_at","finished_at","error"},
 *  "calls":[the same without answer, reasoning, blocks: all of the step]}]} */
enum err runs_trajectory(struct db *db, const char *id, int trajectory, int64_t viewer,
                         json_t **out, struct fault *f);

/* The messages of the call of turn n, n < 0: of the turn after the last that counts.
 * {"run","trajectory","n","history","call": id | null,"sha256","messages": as they were sent,
 *  "system","task","past":[{"answer","blocks","feedback"}]: what run_messages() makes them of}
 * call, sha256 and messages are null if no call was made yet. ERR_NOT_FOUND: it cannot be told. */
enum err runs_messages(struct db *db, const char *id, int trajectory, int n, int64_t viewer,
                       json_t **out, struct fault *f);

/* Need the owner. {"id","state","rev"}. ERR_CONFLICT: nothing to do. Cancel ends every trajectory
 * at once and cancels its submission; answers under way are stored when they come (they are paid).
 * Runs from elsewhere do not go on. Resume goes on with the trajectories that were cancelled, out
 * of budget, or failed by provider or machinery; new budgets replace the old (0: none, < 0: as they
 * are). Extend gives every trajectory that ran out of turns more of them, up to `turns` each, and
 * goes on with those that met a target below `target` (0: as it is). */
enum err runs_cancel(struct db *db, const char *id, int64_t viewer, json_t **out, struct fault *f);
enum err runs_resume(struct db *db, const char *id, int64_t viewer, int64_t max_tokens,
                     double max_usd, json_t **out, struct fault *f);
enum err runs_extend(struct db *db, const char *id, int64_t viewer, int turns, double target,
                     json_t **out, struct fault *f);
/* Adds a text, 16 KiB in all (else ERR_INVALID), to the feedback of a step that is not concluded
 * yet, or (a note) of one that is: kept apart from what the service says, shown to the model behind
 * it, never read for a label. */
enum err runs_supervise(struct db *db, const char *id, int trajectory, int n, int64_t viewer,
                        const char *text, json_t **out, struct fault *f);
/* A finished run from elsewhere: core/trajectory.h makes the document; ERR_INVALID: it is not one.
 * Its submissions are not evaluated again, and it is in no cell: {"id","trajectories","turns"}. */
enum err runs_import(struct db *db, int64_t owner, const char *document, json_t **out,
                     struct fault *f);

/* ---- what agents do; all carry the lease of their job ---- */

struct step_job {
    int64_t id; /* of the job */
    int attempt, max_attempts;
    int64_t step;
    bool conclude; /* kind 'conclude', else 'call' */
    char run[UUID_TEXT];
    int trajectory, n, try_; /* n counts from 0 */
    char provider[LIMIT_NAME + 1];
    json_t *work; /* owned; see step_claim */
};
void step_job_release(struct step_job *j);

/* Claims a job of any of the lanes ("{llm/a,llm/b}"). `work` of a call:
 *  {"run","owner": id,"name": or the first 8 of the run's
 * id,"visibility","budget":{"tokens","usd"},
 *   "trajectory","variant","n","try","turns","problem","workload","arch","device","provider",
 *   "model","params","history","feedback","target","system","task",
 *   "past":[{"answer","blocks","feedback"}],
 *   "stored": null | {"call","answer","finish","reasoning_tokens"},
 *   "best": null | {"turn","speedup"}, "last": null | {"verdict","speedup"}}
 * Turns in these two count from 1. Of a conclusion the same with "stored" and beside it {"verdict",
 * "source","report","log"}, texts or null. */
enum err step_claim(struct db *db, const char *agent, const char *lanes, int lease_ms,
                    struct step_job *j, bool *got, struct fault *f);
/* Renews all leases of an agent at once, of jobs {ids} with {attempts} (array texts); *lost: the
 * ids that are not ours any more or are to be stopped. Also the agent's sign of life. */
enum err step_heartbeat(struct db *db, const char *agent, const char *ids, const char *attempts,
                        int lease_ms, json_t **lost, struct fault *f);
/* Back to the queue, not before `delay_ms`; spends no attempt. */
enum err step_delay(struct db *db, const struct step_job *j, int64_t delay_ms, const char *why,
                    bool *mine, struct fault *f);
/* Another attempt after a pause, or, when there is none left or `retry` is false, the end of the
 * trajectory for reason 'provider' (calls) or 'infra' (conclusions). */
enum err step_fail(struct db *db, const struct step_job *j, const char *why, bool retry, bool *mine,
                   struct fault *f);

enum call_leave { CALL_GO, CALL_WAIT, CALL_BUDGET, CALL_LOST };
/* Before a call: an older one of this step that was never finished becomes 'failed', and what this
 * one may cost at most is held back from the budgets. CALL_WAIT: calls under way hold so much that
 * this one must wait; CALL_BUDGET: it cannot be afforded any more: the trajectory has ended and so
 * has the job. */
enum err call_start(struct db *db, const struct step_job *j, const char *agent,
                    const char *messages, size_t len, int64_t hold_tokens, double hold_usd,
                    enum call_leave *leave, int64_t *call, struct fault *f);
/* Progress of a call under way, an event of the run; false in *mine: stop it. */
enum err call_progress(struct db *db, const struct step_job *j, int64_t text, int64_t reasoning,
                       bool *mine, struct fault *f);

struct call_end {
    const char *status; /* "stored", "partial", "failed" */
    const char *answer, *reasoning;
    size_t answer_len, reasoning_len;
    const char *blocks;                                                   /* JSON text or NULL */
    const char *finish;                                                   /* NULL: not known */
    int64_t tokens_in, cached, cache_write, tokens_out, reasoning_tokens; /* -1: not known */
    double usd;                                                           /* < 0: not known */
    int http_status;
    const char *error;
};
/* Stores how a call ended, once, whoever holds the lease by now: it is paid. *mine: the step goes
 * on with it. What a partial one may have cost at most stays held back from the budgets if its
 * usage is not known. */
enum err call_finish(struct db *db, const struct step_job *j, int64_t call,
                     const struct call_end *end, bool *mine, struct fault *f);

/* The answer held a kernel: creates its submission (the key is set here: run:<step>) and ends the
 * job, in one transaction. ERR_QUOTA: nothing changed, try again later. */
enum err step_submit(struct db *db, const struct step_job *j, const char *extraction,
                     const struct new_submission *s, bool *mine, struct fault *f);

struct conclusion {
    const char *label;   /* core/labels.def */
    bool correct, infra; /* infra: this try does not count, another begins with the same answer */
    int inst;            /* 1, 0; -1: not known */
    double speedup;      /* 0: none */
    int64_t reasoning_tokens;
    const char *extraction; /* of a call's job; NULL otherwise */
    const char *source;
    size_t source_len;    /* kept although it was not taken; NULL: none */
    const char *errors;   /* JSON text or NULL */
    const char *feedback; /* JSON text */
    const char *feedback_text;
};
/* Writes the turn, decides what comes next (the next step, or the end of the trajectory and perhaps
 * of the run) and ends the job, in one transaction. */
enum err step_conclude(struct db *db, const struct step_job *j, const struct conclusion *c,
                       bool *mine, struct fault *f);
/* Ends the trajectory and the job: reason "context", or one of those that can be resumed. */
enum err step_stop(struct db *db, const struct step_job *j, const char *reason, const char *detail,
                   bool *mine, struct fault *f);

#endif
