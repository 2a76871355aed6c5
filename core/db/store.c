// SPDX-License-Identifier: Apache-2.0
// Thin calls of the API's SQL functions. Documents are built in SQL; only flags become words here,
// since core/flags.def owns their names.
#include "core/db/store.h"

#include <string.h>

#include "core/words.h"

/* "flag_bits": 5 becomes "flags": ["loose", …], null while there is no result. */
static void name_flags(json_t *item)
{
    json_t *bits = json_object_get(item, "flag_bits");
    if (!bits)
        return;
    json_object_set_new(item, "flags",
                        json_is_integer(bits) ? flags_names((unsigned)json_integer_value(bits))
                                              : json_null());
    json_object_del(item, "flag_bits");
}

static void name_flags_of_items(json_t *page)
{
    size_t i;
    json_t *item;
    json_array_foreach(json_object_get(page, "items"), i, item) name_flags(item);
}

/* ---- submissions ---- */

static enum err created(const struct db_rows *rows, struct created_submission *out, struct fault *f)
{
    const char *id = db_get(rows, 0, 0), *outcome = db_get(rows, 0, 2);
    if (id)
        snprintf(out->id, sizeof(out->id), "%s", id);
    out->rev = db_get_int(rows, 0, 1);
    out->queued = db_get_int(rows, 0, 3);
    out->limit = db_get_int(rows, 0, 4);
    out->existing = strcmp(outcome, "existing") == 0;
    if (strcmp(outcome, "reused") == 0)
        return fault_set(f, ERR_KEY_REUSED,
                         "this Idempotency-Key belongs to submission %s of another body", out->id);
    if (strcmp(outcome, "quota") == 0)
        return fault_set(f, ERR_QUOTA, "%d evaluations of this owner wait, the limit is %d",
                         (int)out->queued, (int)out->limit);
    return ERR_NONE;
}

struct new_submission new_submission_of(const struct submission *s, const char *request)
{
    return (struct new_submission){
        .request = request,
        .source = s->source,
        .source_len = s->source_len,
        .problem = s->problem->name,
        .workload = s->workload->name,
        .arch = s->arch->name,
        .language = language_name(s->language),
        .device = s->device,
        .mode = mode_name(s->mode),
        .label = *s->label ? s->label : NULL,
        .method = *s->method ? s->method : NULL,
        .timeout_s = EVALUATION_S,
    };
}

enum err store_submission_create(struct db *db, const struct new_submission *s,
                                 struct created_submission *out, struct fault *f)
{
    char id[UUID_TEXT];
    uuid7(id);
    *out = (struct created_submission){0};
    struct db_rows rows;
    enum err e =
        db_run(db, STMT_SUBMISSION_CREATE,
               DB_ARGS(db_text(id), db_int(s->owner_id), db_text(s->request),
                       db_bytes(s->source, s->source_len), db_text(s->problem),
                       db_text(s->workload), db_text(s->arch), db_text(s->language),
                       db_text(s->device), db_text(s->mode), db_text(s->label), db_text(s->method),
                       db_text(s->is_private ? "private" : "public"), db_int(s->priority),
                       db_int(s->timeout_s), db_int(s->queued_limit), db_text(s->idempotency_key),
                       db_text(s->idempotency_key ? s->body_sha256 : NULL)),
               &rows, f);
    if (e == ERR_NONE)
        e = created(&rows, out, f);
    db_rows_release(&rows);
    return e;
}

enum err store_submission_get(struct db *db, const char *id, int64_t viewer, json_t **out,
                              struct fault *f)
{
    enum err e = db_json(db, STMT_SUBMISSION_GET, DB_ARGS(db_text(id), db_int(viewer)), out, f);
    name_flags(*out);
    return e;
}

enum err store_submission_rev(struct db *db, const char *id, int64_t viewer, json_t **out,
                              struct fault *f)
{
    return db_json(db, STMT_SUBMISSION_REV, DB_ARGS(db_text(id), db_int(viewer)), out, f);
}

enum err store_submission_report(struct db *db, const char *id, int64_t viewer, struct buf *out,
                                 struct fault *f)
{
    return db_read_bytes(db, STMT_SUBMISSION_REPORT, DB_ARGS(db_text(id), db_int(viewer)), out, f);
}

enum err store_submission_source(struct db *db, const char *id, int64_t viewer, struct buf *out,
                                 struct fault *f)
{
    return db_read_bytes(db, STMT_SUBMISSION_SOURCE, DB_ARGS(db_text(id), db_int(viewer)), out, f);
}

enum err store_submission_artefact(struct db *db, const char *id, int64_t viewer, const char *kind,
                                   struct buf *out, struct fault *f)
{
    return db_read_bytes(db, STMT_SUBMISSION_ARTEFACT,
                         DB_ARGS(db_text(id), db_int(viewer), db_text(kind)), out, f);
}

enum err store_submission_cancel(struct db *db, const char *id, int64_t viewer, json_t **out,
                                 struct fault *f)
{
    return db_json(db, STMT_SUBMISSION_CANCEL, DB_ARGS(db_text(id), db_int(viewer)), out, f);
}

enum err store_submission_rerun(struct db *db, const char *id, int64_t viewer, int queued_limit,
                                json_t **out, struct fault *f)
{
    return db_json(db, STMT_SUBMISSION_RERUN,
                   DB_ARGS(db_text(id), db_int(viewer), db_int(queued_limit)), out, f);
}

enum err store_submission_hide(struct db *db, const char *id, int64_t viewer, const char *reason,
                               json_t **out, struct fault *f)
{
    return db_json(db, STMT_SUBMISSION_HIDE, DB_ARGS(db_text(id), db_int(viewer), db_text(reason)),
                   out, f);
}

enum err store_submission_list(struct db *db, const struct submission_filter *q, int64_t viewer,
                               json_t **out, struct fault *f)
{
    enum err e =
        db_json(db, STMT_SUBMISSION_LIST,
                DB_ARGS(db_int(q->limit), db_text(q->before), db_int(viewer), db_text(q->problem),
                        db_text(q->arch), db_text(q->device), db_text(q->state),
                        db_text(q->verdict), db_text(q->label), db_text(q->owner)),
                out, f);
    name_flags_of_items(*out);
    return e;
}

/* ---- events ---- */

enum err store_events_after(struct db *db, size_t count, const char *const *ids,
                            const int64_t *after, int limit, json_t **out, struct fault *f)
{
    struct buf topics, revs; /* array texts: ids are checked UUIDs, so nothing needs quoting */
    buf_init(&topics, 2 + (UUID_TEXT + 1) * count);
    buf_init(&revs, 2 + 22 * count);
    buf_adds(&topics, "{");
    buf_adds(&revs, "{");
    for (size_t i = 0; i < count; i++) {
        buf_addf(&topics, "%s%s", i ? "," : "", ids[i]);
        buf_addf(&revs, "%s%lld", i ? "," : "", (long long)after[i]);
    }
    buf_adds(&topics, "}");
    buf_adds(&revs, "}");
    enum err e =
        topics.failed || revs.failed
            ? fault_set(f, ERR_NO_MEMORY, "cannot ask for the events of %zu submissions", count)
            : db_json(db, STMT_EVENTS_AFTER,
                      DB_ARGS(db_text(topics.data), db_text(revs.data), db_int(limit)), out, f);
    buf_release(&topics);
    buf_release(&revs);
    return e;
}

enum err store_events_head(struct db *db, const char *id, int64_t viewer, json_t **out,
                           struct fault *f)
{
    return db_json(db, STMT_EVENTS_HEAD, DB_ARGS(db_text(id), db_int(viewer)), out, f);
}

/* ---- operation ---- */

enum err store_queue(struct db *db, json_t **out, struct fault *f)
{
    return db_json(db, STMT_QUEUE_STATE, DB_NO_ARGS, out, f);
}

enum err store_workers(struct db *db, json_t **out, struct fault *f)
{
    return db_json(db, STMT_WORKER_LIST, DB_NO_ARGS, out, f);
}

enum err store_quota(struct db *db, int64_t owner_id, int queued_limit, json_t **out,
                     struct fault *f)
{
    return db_json(db, STMT_QUOTA_STATE, DB_ARGS(db_int(owner_id), db_int(queued_limit)), out, f);
}

enum err store_health(struct db *db, struct fault *f)
{
    struct db_rows rows;
    enum err e = db_run(db, STMT_HEALTH, DB_NO_ARGS, &rows, f);
    if (e == ERR_NONE && !db_get_bool(&rows, 0, 0))
        e = fault_set(f, ERR_DATABASE, "the database does not take writes");
    db_rows_release(&rows);
    return e;
}

enum err store_metrics(struct db *db, json_t **out, struct fault *f)
{
    return db_json(db, STMT_METRICS, DB_NO_ARGS, out, f);
}

enum err store_fsck(struct db *db, json_t **out, struct fault *f)
{
    return db_json(db, STMT_FSCK, DB_NO_ARGS, out, f);
}
