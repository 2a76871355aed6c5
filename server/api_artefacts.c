// SPDX-License-Identifier: Apache-2.0
// What a submission left behind, byte for byte: source, PTX, cubin, log, report.
#include "server/api.h"

#define PLAIN "text/plain; charset=utf-8"

typedef enum err read_fn(struct db *db, const char *id, int64_t viewer, struct buf *out,
                         struct fault *f);

static enum err read_ptx(struct db *db, const char *id, int64_t viewer, struct buf *out,
                         struct fault *f)
{
    return store_submission_artefact(db, id, viewer, "ptx", out, f);
}

static enum err read_cubin(struct db *db, const char *id, int64_t viewer, struct buf *out,
                           struct fault *f)
{
    return store_submission_artefact(db, id, viewer, "cubin", out, f);
}

static enum err read_log(struct db *db, const char *id, int64_t viewer, struct buf *out,
                         struct fault *f)
{
    return store_submission_artefact(db, id, viewer, "log", out, f);
}

static enum err send_bytes(struct request *r, read_fn *read, size_t max, const char *type,
                           const char *ending)
{
    struct buf b;
    buf_init(&b, max);
    enum err e = read(r->db, r->captures[0], request_viewer(r), &b, &r->fault);
    if (e) {
        buf_release(&b);
        return e;
    }
    /* The name holds the id: several downloads do not overwrite each other. */
    answer_header(r, "Content-Disposition",
                  request_printf(r, "inline; filename=\"%s.%s\"", r->captures[0], ending));
    return answer_tag(r, answer_buf(r, 200, type, &b));
}

enum err submission_source(struct request *r)
{
    return send_bytes(r, store_submission_source, LIMIT_SOURCE, PLAIN, "txt");
}

enum err submission_ptx(struct request *r)
{
    return send_bytes(r, read_ptx, LIMIT_PTX, PLAIN, "ptx");
}

enum err submission_cubin(struct request *r)
{
    return send_bytes(r, read_cubin, LIMIT_CUBIN, "application/octet-stream", "cubin");
}

enum err submission_log(struct request *r)
{
    return send_bytes(r, read_log, LIMIT_LOGS, PLAIN, "log");
}

enum err submission_report(struct request *r)
{
    return send_bytes(r, store_submission_report, LIMIT_REPORT, "application/json", "json");
}
