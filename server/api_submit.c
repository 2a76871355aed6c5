// SPDX-License-Identifier: Apache-2.0
// POST /v1/submissions: a JSON body, or the bare source with its fields as query parameters.
// Validated here as far as the plan alone goes, stored, and answered with the verdict if the caller
// waits for it.
#include <ctype.h>
#include <string.h>

#include "core/json.h"
#include "core/submission.h"
#include "core/text.h"
#include "server/answer.h"
#include "server/api.h"
#include "server/service.h"

enum {
    KEY_BYTES = 200,
    QUOTA_RESET_S = 5, /* when a refused caller should look again: a place frees with every job */
    PRIORITY_INTERACTIVE = 0,
};

/* Query parameters that are not fields of a submission. */
static const char *const own_parameters[] = {"wait", "dry_run", "visibility"};

/* What one POST asks for beside the submission itself. */
struct posting {
    struct submission submission;
    bool is_private, dry_run;
    char body_sha256[SHA256_HEX];
};

static bool is_own(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(own_parameters); i++)
        if (!strcmp(own_parameters[i], name))
            return true;
    return false;
}

/* ---- reading ---- */

static void read_visibility(struct request *r, const char *path, const json_t *given,
                            struct posting *p)
{
    const char *word = json_string_value(given);
    p->is_private = word && !strcmp(word, "private");
    if (given && !json_is_null(given) && !p->is_private && (!word || strcmp(word, "public")))
        faults_add(&r->faults, path, "must be public or private");
    else if (p->is_private && r->who.owner_id == OWNER_ANONYMOUS)
        faults_add(&r->faults, path, "private needs a token: without one nobody could read it");
}

static enum err read_json(struct request *r, struct posting *p)
{
    for (size_t i = 0; i < r->url.parameter_count; i++)
        if (!is_own(r->url.parameters[i].name) || !strcmp(r->url.parameters[i].name, "visibility"))
            return fault_set(&r->fault, ERR_BAD_PARAMETER,
                             "with a JSON body, '%s' belongs into the body",
                             r->url.parameters[i].name);
    json_t *body = json_parse(r->body.data ? r->body.data : "", r->body.len, &r->fault);
    if (!request_keep_json(r, body))
        return r->fault.code ? r->fault.code : ERR_NO_MEMORY;
    json_t *visibility = json_incref(json_object_get(body, "visibility"));
    request_keep_json(r, visibility);
    json_object_del(body, "visibility");
    submission_parse(&r->service->registry, body, &p->submission, &r->faults);
    read_visibility(r, "$.visibility", visibility, p);
    return ERR_NONE;
}

static enum err read_bare(struct request *r, struct posting *p)
{
    json_t *query = request_keep_json(r, json_object());
    for (size_t i = 0; i < r->url.parameter_count; i++)
        if (!is_own(r->url.parameters[i].name))
            json_object_set_new(query, r->url.parameters[i].name,
                                json_string(r->url.parameters[i].value));
    const char *word = request_query(r, "visibility");
    submission_bare(&r->service->registry, r->body.data ? r->body.data : "", r->body.len, query,
                    &p->submission, &r->faults);
    read_visibility(r, "$.visibility", word ? request_keep_json(r, json_string(word)) : NULL, p);
    return ERR_NONE;
}

/* JSON by its type; multipart has no meaning here; everything else is source, since curl
 * --data-binary calls it a form. */
static enum err read_body(struct request *r, struct posting *p)
{
    char type[FIELD_MEDIA];
    field_media_type(r->headers.content_type, type);
    size_t n = strlen(type);
    if (!strncmp(type, "multipart/", 10))
        return fault_set(&r->fault, ERR_CONTENT_TYPE,
                         "multipart is not taken: send JSON, or the source alone");
    bool json = !strcmp(type, "application/json") || (n > 5 && !strcmp(type + n - 5, "+json"));
    enum err e = json ? read_json(r, p) : read_bare(r, p);
    return e ? e : faults_any(&r->faults) ? ERR_INVALID : ERR_NONE;
}

/* ---- Idempotency-Key ---- */

static enum err check_key(struct request *r)
{
    const char *key = r->headers.idempotency_key;
    size_t n = key ? strlen(key) : 1;
    bool fit = n >= 1 && n <= KEY_BYTES;
    for (size_t i = 0; key && fit && i < n; i++)
        fit = isprint((unsigned char)key[i]);
    return fit ? ERR_NONE
               : fault_set(&r->fault, ERR_BAD_REQUEST,
                           "an Idempotency-Key must be 1 to %d printable ASCII characters",
                           KEY_BYTES);
}

/* "The same body" means body and fields in the query; how long one waits for it does not matter. */
static enum err hash_body(struct request *r, struct posting *p)
{
    struct buf b;
    buf_init(&b, LIMIT_BODY + 4 * URL_TARGET);
    buf_add(&b, r->body.data ? r->body.data : "", r->body.len);
    for (size_t i = 0; i < r->url.parameter_count; i++)
        if (strcmp(r->url.parameters[i].name, "wait"))
            buf_addf(&b, "%c%s=%s", 0, r->url.parameters[i].name, r->url.parameters[i].value);
    bool ok = !b.failed;
    if (ok)
        sha256_hex(b.data, b.len, p->body_sha256);
    buf_release(&b);
    return ok ? ERR_NONE : ERR_NO_MEMORY;
}

/* ---- storing ---- */

static void rate_headers(struct request *r, const struct created_submission *c)
{
    int64_t left = c->limit > c->queued ? c->limit - c->queued : 0;
    answer_header(r, "RateLimit-Limit", request_printf(r, "%lld", (long long)c->limit));
    answer_header(r, "RateLimit-Remaining", request_printf(r, "%lld", (long long)left));
    answer_header(r, "RateLimit-Reset", request_printf(r, "%d", left ? 0 : QUOTA_RESET_S));
}

static enum err store(struct request *r, const struct posting *p)
{
    const struct submission *s = &p->submission;
    json_t *document = request_keep_json(r, submission_document(s));
    char *request = request_keep(r, json_canonical(document), free);
    if (!request)
        return fault_set(&r->fault, ERR_NO_MEMORY, "cannot store the submission");
    struct new_submission n = new_submission_of(s, request);
    n.owner_id = r->who.owner_id;
    n.is_private = p->is_private;
    n.priority = PRIORITY_INTERACTIVE;
    n.queued_limit = r->service->config.queued_limit;
    n.idempotency_key = r->headers.idempotency_key;
    n.body_sha256 = p->body_sha256;
    struct created_submission c = {0};
    enum err e = store_submission_create(r->db, &n, &c, &r->fault);
    if (c.limit)
        rate_headers(r, &c);
    if (e)
        return e;
    memcpy(r->subject, c.id, UUID_TEXT);
    return answer_submission(r, c.existing ? 200 : 201);
}

/* What would be stored, with every default filled in. */
static enum err show_dry(struct request *r, const struct posting *p)
{
    char lane[LANE_TEXT];
    submission_lane(&p->submission, lane);
    return answer_json(r, 200,
                       json_pack("{s:b, s:s, s:o}", "valid", 1, "lane", lane, "submission",
                                 submission_document(&p->submission)));
}

static enum err create(struct request *r, struct posting *p)
{
    enum err e = answer_wait(r);
    if (!e)
        e = request_yesno(r, "dry_run", &p->dry_run);
    if (!e)
        e = check_key(r);
    if (!e)
        e = read_body(r, p);
    if (!e)
        e = hash_body(r, p);
    if (e)
        return e;
    return p->dry_run ? show_dry(r, p) : store(r, p);
}

enum err submissions_create(struct request *r)
{
    struct posting p = {0};
    enum err e = create(r, &p);
    submission_release(&p.submission);
    return e;
}
