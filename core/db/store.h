/* SPDX-License-Identifier: Apache-2.0
 * What the API reads and writes. Reads give one JSON document built in SQL; nothing here opens a
 * stored report. Ids are UUIDv7 texts that the caller has validated (uuid_is_valid). `viewer` is
 * the owner id of the caller (0: anonymous) or VIEWER_ADMIN; what it may not see is ERR_NOT_FOUND.
 * Documents are new references of the caller. */
#ifndef CORE_DB_STORE_H
#define CORE_DB_STORE_H

#include "core/db/db.h"
#include "core/db/queue.h"
#include "core/submission.h"
#include "core/util.h"

enum { OWNER_ANONYMOUS = 0, VIEWER_ADMIN = -1, DEFAULT_QUEUED_LIMIT = 100, EVALUATION_S = 300 };

/* ---- submissions ---- */

struct new_submission {
    int64_t owner_id;
    const char *request; /* submission_document() as text */
    const void *source;
    size_t source_len;
    const char *problem, *workload, *arch, *language, *device, *mode;
    const char *label, *method; /* NULL: none */
    bool is_private;
    int priority;                /* 0 interactive, 1 normal, 2 batch, 3 re-measure */
    int timeout_s;               /* budget of one evaluation; EVALUATION_S */
    int queued_limit;            /* per owner, unless the owner has a cap of its own */
    const char *idempotency_key; /* NULL: none */
    const char *body_sha256;     /* hex, of the request body; needed with a key */
};

/* What the submission itself says; whose it is, how urgent and how private is the caller's to add.
 * Borrows from both: `request` is submission_document() as text. */
struct new_submission new_submission_of(const struct submission *s, const char *request);

struct created_submission {
    char id[UUID_TEXT];
    int64_t rev;
    bool existing;         /* the key was used before with this body */
    int64_t queued, limit; /* of this owner, for RateLimit-* headers and the 429 answer */
};

/* Stores source and submission and enqueues its first evaluation, all in one transaction.
 * ERR_QUOTA (out->queued and limit are set), ERR_KEY_REUSED. */
enum err store_submission_create(struct db *db, const struct new_submission *s,
                                 struct created_submission *out, struct fault *f);

/* {"id","state":"queued|running|done","rev","problem","workload","arch","language","device","mode","label",
 *  "method","owner","visibility","created_at","source_sha256","evaluation":{"seq","reason","attempt",
 *  "worker"},"evaluations":n,
 *  "position","eta_s","lane":{"name","healthy","workers"},            (position, eta_s null unless
 * queued)
 *  "verdict","detail","flags":[…],"speedup":null|{"value","ci95"},"candidate_us","baseline":null|{…},
 *  "target":{"executed","tensor_share"},"thread_instructions","device_model","epoch","wall_ms",
 *  "finished_at","rank"}            (all null while the latest evaluation has no result)
 *  and "launch", the plan, and "turn": null, or {"run","trajectory","n"} of what a model wrote. */
enum err store_submission_get(struct db *db, const char *id, int64_t viewer, json_t **out,
                              struct fault *f);
/* Only {"id","state","rev"}: for long polls and ETags. */
enum err store_submission_rev(struct db *db, const char *id, int64_t viewer, json_t **out,
                              struct fault *f);
/* The latest report, verbatim, appended. ERR_NOT_FOUND also while there is none. */
enum err store_submission_report(struct db *db, const char *id, int64_t viewer, struct buf *out,
                                 struct fault *f);
enum err store_submission_source(struct db *db, const char *id, int64_t viewer, struct buf *out,
                                 struct fault *f);
/* `kind`: "ptx", "cubin", "log" of the latest evaluation that has a result. */
enum err store_submission_artefact(struct db *db, const char *id, int64_t viewer, const char *kind,
                                   struct buf *out, struct fault *f);
/* Cancel and rerun need the owner (or VIEWER_ADMIN). {"id","state","rev","cancelling":bool}.
 * ERR_CONFLICT if it is already done. A running one is "cancelling" until its worker killed it. */
enum err store_submission_cancel(struct db *db, const char *id, int64_t viewer, json_t **out,
                                 struct fault *f);
/* New evaluation. {"id","state","rev","evaluation"}. ERR_CONFLICT while one is unfinished;
 * ERR_QUOTA. */
enum err store_submission_rerun(struct db *db, const char *id, int64_t viewer, int queued_limit,
                                json_t **out, struct fault *f);
/* Takes a submission off the boards for a reason that everybody may read; NULL puts it back. {"id",
 * "state", "rev", "hidden"}. */
enum err store_submission_hide(struct db *db, const char *id, int64_t viewer, const char *reason,
                               json_t **out, struct fault *f);

struct submission_filter {
    const char *problem, *arch, *device, *state, *verdict, *label; /* NULL: any */
    const char *owner;                                             /* name, NULL: any */
    const char *before; /* cursor: id of the last row of the page before; NULL: first page */
    int limit;          /* 1 to 200 */
};

/* {"items":[rows as in get, without position, eta_s, lane, rank],"next":id|null}, newest first. */
enum err store_submission_list(struct db *db, const struct submission_filter *q, int64_t viewer,
                               json_t **out, struct fault *f);

/* ---- events ---- */

/* Events of many submissions in one query: for each i, those of ids[i] with seq > after[i], at most
 * `limit` per submission. [{"id","seq","at","kind","data"}], ordered by id, seq. Visibility is the
 * caller's matter (it opened the stream). */
enum err store_events_after(struct db *db, size_t count, const char *const *ids,
                            const int64_t *after, int limit, json_t **out, struct fault *f);
/* {"rev","state","oldest":seq|null}: a stream that resumes before `oldest` - 1 gets a reset. */
enum err store_events_head(struct db *db, const char *id, int64_t viewer, json_t **out,
                           struct fault *f);

/* ---- boards and operation ---- */

struct board_filter {
    const char *problem, *workload, *arch; /* required */
    const char *device_model; /* NULL: any; "gpu": any but ptxvm; "h200": a word of it */
    int64_t epoch;            /* 0: newest that has entries */
    const char *baseline;     /* NULL: the vendor's own if it was ever there */
    int limit;                /* 1 to 1000 */
};

/* {"epoch","epochs","baseline","baselines","hidden":[{"id","label","method","owner","reason",
 *  "hidden_at"}],"items":[{"rank"|null,"attempts","id","label","method","owner","speedup",
 *  "candidate_us","baseline","flags","target","thread_instructions","device_model","language",
 *  "created_at"}]}. Untimed entries come last, fewest executed thread instructions
 * first. store_board_text: the same as text, appended to `out` without its opening brace: the caller
 * says what comes before. */
enum err store_leaderboard(struct db *db, const struct board_filter *q, json_t **out,
                           struct fault *f);
enum err store_board_text(struct db *db, const struct board_filter *q, struct buf *out,
                          struct fault *f);

/* {"lanes":[{"name","queued","running","oldest_age_s","workers","healthy","state":"served|paused",
 *  "seconds_per_job"}]}. */
enum err store_queue(struct db *db, json_t **out, struct fault *f);
/* {"items":[{"name","host","device","device_model","device_uuid","driver","device_state",
 *  "device_detail","health":null|{"age_s","temperature_c","sm_mhz","memory_mhz","power_w","throttle",
 *  "ecc_errors"},"lanes","started_at","seen_age_s","healthy","job"}]}. */
enum err store_workers(struct db *db, json_t **out, struct fault *f);
/* {"owner","queued","running","limit"} of one owner. */
enum err store_quota(struct db *db, int64_t owner_id, int queued_limit, json_t **out,
                     struct fault *f);
/* ERR_NONE if the database answers and takes writes. */
enum err store_health(struct db *db, struct fault *f);
/* {"queued":[{"lane","priority","count"}],"oldest_age_s":[{"lane","value"}],"running":[{"lane","count"}],
 *  "jobs":[{"state","count"}],"attempts":[{"outcome","count"}],"workers_healthy":n,"submissions":n,
 *  "blob_bytes":n}. */
enum err store_metrics(struct db *db, json_t **out, struct fault *f);

/* ---- owners and tokens ---- */

enum { TOKEN_TEXT = 48, LIMIT_SCOPES = 64 };

struct token {
    int64_t owner_id;
    char owner[LIMIT_NAME + 1];
    bool submit, read, admin;
};

/* Creates the owner if it is new. Texts: name of the owner, scopes "submit,read,admin", days 0:
 * never expires. `text` receives the token, which is shown once and stored only as SHA-256. */
enum err store_token_create(struct db *db, const char *owner, const char *scopes, int days,
                            const char *note, char text[TOKEN_TEXT], struct fault *f);
/* ERR_UNAUTHORIZED for an unknown, expired or revoked token. */
enum err store_token_lookup(struct db *db, const char *text, struct token *out, struct fault *f);
/* `id` is the first 8 to 64 hex digits of its SHA-256, as the list shows them. ERR_NOT_FOUND. */
enum err store_token_revoke(struct db *db, const char *id, struct fault *f);
/* {"items":[{"id","owner","scopes","note","created_at","expires_at","revoked_at",
 * "last_used_at"}]}. */
enum err store_token_list(struct db *db, json_t **out, struct fault *f);

/* ---- results: what the worker writes ---- */

/* Artefacts of one evaluation; NULL data: none. */
struct artefact {
    const void *data;
    size_t len;
};

struct delivery {
    const struct job *job;
    const char *report; /* JSON text, stored verbatim */
    size_t report_len;
    struct artefact ptx, cubin, log;
    bool infra; /* verdict INFRA_ERROR: the job fails and is retried if it may */
    bool retry; /* with infra: another attempt may help */
};

/* Typed columns of `results` out of a report: new reference; NULL with ERR_BAD_REQUEST if it is not
 * JSON or its verdict is unknown. Pure. */
json_t *result_columns(const char *report, size_t len, struct fault *f);

/* Stores blobs and result and finishes the job in one transaction. *mine false: the lease was lost
 * and nothing was stored. With `infra`, the result is stored only when this was the last attempt.
 * ERR_BAD_REQUEST if the report cannot be stored (not JSON, unknown verdict). */
enum err store_deliver(struct db *db, const struct delivery *d, bool *mine, struct fault *f);

/* ---- fsck ---- */

/* Checks what constraints cannot: blob hashes, references, jobs against results.
 * {"checked":{…counts},"problems":["sentence",…]}. */
enum err store_fsck(struct db *db, json_t **out, struct fault *f);

#endif
