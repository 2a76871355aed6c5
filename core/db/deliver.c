// SPDX-License-Identifier: Apache-2.0
// Results: the typed columns of a report, and the one transaction that stores them with the
// artefacts and finishes the job.
#include <stdlib.h>
#include <string.h>

#include "core/db/store.h"
#include "core/words.h"

static const struct {
    const char *name;
    unsigned bit;
} flag_bits[] = {
#define FLAG(name, bit, meaning) {#name, 1U << (bit)},
#include "core/flags.def"
#undef FLAG
};

/* Columns of `results` that are one member of the report: where it is, what it is called there. */
static const struct {
    const char *column, *parent, *member;
} copied[] = {
    {"verdict", NULL, "verdict"},
    {"detail", NULL, "detail"},
    {"speedup", "speedup", "value"},
    {"cand_us", NULL, "candidate_us"},
    {"base_us", "baseline", "us"},
    {"base_name", "baseline", "name"},
    {"base_version", "baseline", "version"},
    {"inst", "target", "executed"},
    {"tensor_share", "target", "tensor_share"},
    {"thread_instructions", "counts", "thread_instructions"},
    {"wall_ms", NULL, "wall_ms"},
    {"device_model", NULL, "device_model"},
    {"epoch", NULL, "epoch"},
};

static unsigned bits_of(const json_t *names)
{
    unsigned bits = 0;
    size_t i;
    json_t *name;
    json_array_foreach(names, i,
                       name) for (size_t k = 0; json_is_string(name) && k < COUNT_OF(flag_bits);
                                  k++) if (strcmp(json_string_value(name), flag_bits[k].name) == 0)
        bits |= flag_bits[k].bit;
    return bits;
}

/* {family: warps' instructions} of the families of which some were executed; NULL: nothing was counted. */
static json_t *counts_of(const json_t *families)
{
    json_t *counts = NULL, *family;
    const char *name;
    json_object_foreach((json_t *)families, name, family)
    {
        json_t *warps = json_object_get(family, "warps");
        if (!json_is_integer(warps))
            continue;
        counts = counts ? counts : json_object();
        if (json_integer_value(warps) > 0)
            json_object_set(counts, name, warps);
    }
    return counts;
}

json_t *result_columns(const char *report, size_t len, struct fault *f)
{
    json_error_t why;
    json_t *r = json_loadb(report, len, JSON_REJECT_DUPLICATES, &why);
    const char *verdict = json_string_value(json_object_get(r, "verdict"));
    if (!verdict || verdict_find(verdict) < 0) {
        fault_set(f, ERR_BAD_REQUEST, "cannot store the report: %s",
                  !r        ? why.text
                  : verdict ? "its verdict is unknown"
                            : "it has no verdict");
        json_decref(r);
        return NULL;
    }
    json_t *columns = json_object();
    for (size_t i = 0; i < COUNT_OF(copied); i++) {
        const json_t *from = copied[i].parent ? json_object_get(r, copied[i].parent) : r;
        json_t *value = json_object_get(from, copied[i].member);
        if (value && !json_is_object(value) && !json_is_array(value))
            json_object_set(columns, copied[i].column, value);
    }
    const json_t *ci95 = json_object_get(json_object_get(r, "speedup"), "ci95");
    if (json_array_size(ci95) == 2) {
        json_object_set(columns, "ci_lo", json_array_get(ci95, 0));
        json_object_set(columns, "ci_hi", json_array_get(ci95, 1));
    }
    json_t *counts = counts_of(json_object_get(json_object_get(r, "target"), "families"));
    if (counts)
        json_object_set_new(columns, "target_counts", counts);
    json_object_set_new(columns, "flags", json_integer(bits_of(json_object_get(r, "flags"))));
    json_decref(r);
    return columns;
}

/* ---- the transaction ---- */

struct deliver_tx {
    const struct delivery *d;
    json_t *columns;
    bool mine;
};

/* Stores one artefact and names it in the columns. ERR_CONFLICT: the lease was lost. */
static enum err put_blob(struct db *db, struct deliver_tx *tx, const char *kind, const void *data,
                         size_t len, struct fault *f)
{
    struct db_rows rows;
    enum err e = db_run(db, STMT_RESULT_BLOB,
                        DB_ARGS(db_int(tx->d->job->id), db_int(tx->d->job->attempt), db_text(kind),
                                db_bytes(data, len)),
                        &rows, f);
    const char *sha = e == ERR_NONE ? db_get(&rows, 0, 0) : NULL;
    if (sha) {
        char column[16], value[SHA256_HEX + 2];
        snprintf(column, sizeof(column), "%s_sha", kind);
        snprintf(value, sizeof(value), "\\x%s", sha);
        json_object_set_new(tx->columns, column, json_string(value));
    } else if (e == ERR_NONE) {
        e = fault_set(f, ERR_CONFLICT, "the lease was lost");
    }
    db_rows_release(&rows);
    return e;
}

static enum err put_columns(struct db *db, struct deliver_tx *tx, struct fault *f)
{
    char *text = json_dumps(tx->columns, JSON_COMPACT);
    if (!text)
        return fault_set(f, ERR_NO_MEMORY, "cannot write a result");
    struct db_rows rows;
    enum err e = db_run(db, STMT_RESULT_DELIVER,
                        DB_ARGS(db_int(tx->d->job->id), db_int(tx->d->job->attempt), db_text(text),
                                db_bool(tx->d->infra), db_bool(tx->d->retry)),
                        &rows, f);
    if (e == ERR_NONE && !db_get_bool(&rows, 0, 0))
        e = fault_set(f, ERR_CONFLICT, "the lease was lost");
    db_rows_release(&rows);
    free(text);
    return e;
}

static enum err deliver(struct db *db, void *arg, struct fault *f)
{
    struct deliver_tx *tx = arg;
    const struct delivery *d = tx->d;
    /* Blobs of an attempt that will be retried would only be litter. */
    bool kept = !d->infra || !d->retry || d->job->attempt >= d->job->max_attempts;
    const struct {
        const char *kind;
        const void *data;
        size_t len;
    } blobs[] = {{"report", d->report, d->report_len},
                 {"ptx", d->ptx.data, d->ptx.len},
                 {"cubin", d->cubin.data, d->cubin.len},
                 {"log", d->log.data, d->log.len}};
    enum err e = ERR_NONE;
    for (size_t i = 0; kept && e == ERR_NONE && i < COUNT_OF(blobs); i++)
        if (blobs[i].data)
            e = put_blob(db, tx, blobs[i].kind, blobs[i].data, blobs[i].len, f);
    if (e == ERR_NONE)
        e = put_columns(db, tx, f);
    tx->mine = e != ERR_CONFLICT;
    return e;
}

enum err store_deliver(struct db *db, const struct delivery *d, bool *mine, struct fault *f)
{
    *mine = false;
    struct deliver_tx tx = {.d = d, .columns = result_columns(d->report, d->report_len, f)};
    if (!tx.columns)
        return ERR_BAD_REQUEST;
    enum err e = db_tx(db, deliver, &tx, f);
    json_decref(tx.columns);
    *mine = e == ERR_NONE;
    return e == ERR_CONFLICT && !tx.mine ? ERR_NONE : e;
}
