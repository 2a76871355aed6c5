// SPDX-License-Identifier: Apache-2.0
#include "server/request.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/util.h"
#include "server/service.h"

enum { ANSWER_BYTES = 16 * MIB };

struct kept {
    struct kept *next;
    void *p;
    void (*release)(void *);
};

void request_release(struct request *r)
{
    while (r->kept) {
        struct kept *k = r->kept;
        r->kept = k->next;
        k->release(k->p);
        free(k);
    }
    buf_release(&r->body);
    faults_release(&r->faults);
}

void *request_keep(struct request *r, void *p, void (*release)(void *))
{
    struct kept *k = p ? malloc(sizeof(*k)) : NULL;
    if (!k) {
        if (p)
            release(p);
        return NULL;
    }
    *k = (struct kept){r->kept, p, release};
    r->kept = k;
    return p;
}

const char *request_printf(struct request *r, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *text = NULL;
    if (vasprintf(&text, fmt, ap) < 0)
        text = NULL;
    va_end(ap);
    const char *kept = request_keep(r, text, free);
    return kept ? kept : "";
}

static void release_json(void *p)
{
    json_decref(p);
}

json_t *request_keep_json(struct request *r, json_t *taken)
{
    return request_keep(r, taken, release_json);
}

const char *request_query(const struct request *r, const char *name)
{
    return url_parameter(&r->url, name);
}

enum err request_number(struct request *r, const char *name, int64_t min, int64_t max,
                        int64_t fallback, int64_t *out)
{
    const char *text = request_query(r, name);
    *out = fallback;
    if (text && (!field_number(text, max, out) || *out < min))
        return fault_set(&r->fault, ERR_BAD_PARAMETER,
                         "%s must be a whole number from %lld to %lld, not '%.64s'", name,
                         (long long)min, (long long)max, text);
    return ERR_NONE;
}

enum err request_yesno(struct request *r, const char *name, bool *out)
{
    const char *text = request_query(r, name);
    *out = text && (!strcmp(text, "1") || !strcmp(text, "true"));
    if (text && !*out && strcmp(text, "0") && strcmp(text, "false"))
        return fault_set(&r->fault, ERR_BAD_PARAMETER, "%s must be 1 or 0, not '%.64s'", name,
                         text);
    return ERR_NONE;
}

int64_t jittered_ms(int64_t ms, int64_t part)
{
    uint32_t random;
    random_bytes(&random, sizeof(random));
    return now_ms() + ms - (int64_t)(random % (uint32_t)(ms / part + 1));
}

int64_t request_viewer(const struct request *r)
{
    return r->who.admin ? VIEWER_ADMIN : r->who.owner_id;
}

bool request_may_wait(const struct request *r)
{
    return r->wait_ms > 0 && (!r->deadline_ms || now_ms() < r->deadline_ms) &&
           !atomic_load(&r->service->draining);
}

enum err request_park(struct request *r, const char *topic, handler_fn *again)
{
    if (!r->deadline_ms)
        r->deadline_ms = now_ms() + r->wait_ms;
    snprintf(r->topic, sizeof(r->topic), "%s", topic);
    r->again = again;
    return ERR_NONE;
}

void answer_header(struct request *r, const char *name, const char *value)
{
    if (r->out.header_count < RESPONSE_HEADERS)
        r->out.headers[r->out.header_count++] = (struct response_header){name, value};
}

static enum err answer_owned(struct request *r, int status, const char *type, char *body,
                             size_t len)
{
    if (!request_keep(r, body, free))
        return fault_set(&r->fault, ERR_NO_MEMORY, "cannot build the answer");
    r->out.status = status;
    r->out.type = type;
    r->out.body = body;
    r->out.len = len;
    return ERR_NONE;
}

enum err answer_buf(struct request *r, int status, const char *type, struct buf *taken)
{
    size_t len = 0;
    char *body = buf_take(taken, &len);
    return answer_owned(r, status, type, body, len);
}

static int add_to_buf(const char *bytes, size_t n, void *b)
{
    buf_add(b, bytes, n);
    return 0;
}

enum err answer_json(struct request *r, int status, json_t *document)
{
    struct buf b;
    buf_init(&b, ANSWER_BYTES);
    if (!document || json_dump_callback(document, add_to_buf, &b, ANSWER_JSON))
        b.failed = true;
    json_decref(document);
    buf_adds(&b, "\n");
    return answer_buf(r, status, "application/json", &b);
}

enum err answer_text(struct request *r, int status, const char *type, const char *text)
{
    char *copy = strdup(text);
    return answer_owned(r, status, type, copy, strlen(text));
}

bool answer_not_modified(struct request *r, const char *etag)
{
    answer_header(r, "ETag", etag);
    if (!field_etag_matches(r->headers.if_none_match, etag))
        return false;
    r->out.status = 304;
    return true;
}

/* What was half built before the error must not leak into the answer; headers such as RateLimit
 * stay. */
static void forget_body(struct response *out)
{
    out->type = NULL;
    out->body = NULL;
    out->len = 0;
}

enum err answer_tag(struct request *r, enum err e)
{
    if (e || r->out.status != 200)
        return e;
    char hex[SHA256_HEX];
    sha256_hex(r->out.body, r->out.len, hex);
    if (answer_not_modified(r, request_printf(r, "\"%.16s\"", hex)))
        forget_body(&r->out);
    return ERR_NONE;
}

void answer_problem(struct request *r, enum err e)
{
    forget_body(&r->out);
    json_t *p = json_pack("{s:s, s:s, s:i, s:s, s:s}", "type", "about:blank", "title", err_title(e),
                          "status", err_status(e), "code", err_code(e), "detail",
                          r->fault.detail[0] ? r->fault.detail : err_title(e));
    if (p && faults_any(&r->faults)) {
        char first[LIMIT_DETAIL + 128];
        if (!r->fault.detail[0])
            json_object_set_new(p, "detail",
                                json_string(faults_first(&r->faults, first, sizeof(first))));
        json_object_set(p, "errors", r->faults.items);
        if (r->faults.dropped)
            json_object_set_new(p, "errors_dropped", json_integer((json_int_t)r->faults.dropped));
    }
    if (p)
        json_object_set_new(p, "instance", json_string(request_printf(r, "urn:request:%s", r->id)));
    if (err_status(e) == 503 || err_status(e) == 429)
        answer_header(r, "Retry-After", e == ERR_QUOTA ? "5" : "1");
    if (e == ERR_UNAUTHORIZED)
        answer_header(r, "WWW-Authenticate", "Bearer realm=\"ptxbench\"");
    if (answer_json(r, err_status(e), p)) {
        r->out.status = 500;
        return;
    }
    r->out.type = "application/problem+json";
}
