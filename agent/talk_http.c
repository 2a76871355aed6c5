// SPDX-License-Identifier: Apache-2.0
// A call over HTTP: the answer is a stream of events, or one JSON body where a provider does not
// stream or says that it failed.
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "agent/sse.h"
#include "agent/talk_parts.h"
#include "core/util.h"

enum {
    REQUEST_MAX = 64 * MIB,
    ERROR_BODY = 64 * KIB, /* of an answer that is none, so much is read */
    SHOWN = 200,           /* of it, so much is told where it is not JSON */
    EVENT_MAX = 2 * LLM_ANSWER_MAX,
    HEADERS = 7,
};

struct http {
    struct talk *talk;
    const struct llm_format *format;
    struct fetch_call *call; /* NULL: it has ended */
    struct buf url, body;    /* of the request */
    struct sse sse;
    struct buf raw;       /* a body that is no stream */
    char head[SHOWN + 1]; /* of one that is: how it begins */
    bool began, streams;
    size_t events;
    struct fault fault; /* what came is no answer */
};

/* What a status that is not 2xx means; those that are not here: 5xx broken, others refused. */
static const struct {
    int status;
    enum talk_end end;
} statuses[] = {{429, TALK_BUSY},   {503, TALK_BUSY},   {529, TALK_BUSY},
                {408, TALK_BROKEN}, {425, TALK_BROKEN}, {-1, TALK_REFUSED}};

static enum talk_end end_of_status(int status)
{
    size_t i = 0;
    while (statuses[i].status >= 0 && statuses[i].status != status)
        i++;
    return statuses[i].status < 0 && status >= 500 ? TALK_BROKEN : statuses[i].end;
}

/* ---- what comes ---- */

static bool on_event(void *arg, const char *name, const char *data, size_t len)
{
    struct http *h = arg;
    h->events++;
    return llm_read_event(h->format, &h->talk->answer, name, data, len, &h->fault);
}

static bool take_stream(struct http *h, const char *bytes, size_t n)
{
    size_t kept = strlen(h->head), room = SHOWN - kept;
    if (!h->events)
        snprintf(h->head + kept, room + 1, "%.*s", (int)(n < room ? n : room), bytes);
    bool more = sse_feed(&h->sse, bytes, n);
    h->talk->progressed = true;
    if (!more && !h->fault.code)
        fault_set(&h->fault, ERR_TOO_LARGE, "the provider sent an event that is too large");
    return more;
}

static bool on_bytes(void *arg, int status, const char *bytes, size_t n)
{
    struct http *h = arg;
    const struct provider *p = h->talk->request.provider;
    h->talk->due_ms = now_ms() + p->stall_s * 1000;
    h->talk->result.status = status;
    if (status / 100 != 2) {
        buf_add(&h->raw, bytes, n < ERROR_BODY ? n : ERROR_BODY);
        return h->raw.len < ERROR_BODY;
    }
    while (!h->began && n && isspace((unsigned char)*bytes))
        bytes++, n--;
    if (!h->began && n) {
        h->began = true;
        h->streams = *bytes != '{' && *bytes != '[';
    }
    if (h->streams)
        return take_stream(h, bytes, n);
    buf_add(&h->raw, bytes, n);
    return !h->raw.failed;
}

/* ---- how it ends ---- */

static void end_with_status(struct http *h, int status)
{
    struct talk *k = h->talk;
    struct fault ignored = {0};
    const char *raw = h->raw.len ? h->raw.data : "";
    llm_read_body(h->format, &k->answer, raw, h->raw.len, &ignored);
    const char *why = k->answer.error[0] ? k->answer.error : raw;
    talk_ended(k, end_of_status(status), "provider %s answered %d%s%.*s", k->request.provider->name,
               status, *why ? ": " : "", why == raw ? SHOWN : LLM_ERROR, why);
}

/* The provider failed before its answer began. */
static enum talk_end end_of_failure(const struct llm_answer *a)
{
    return a->busy ? TALK_BUSY : TALK_BROKEN;
}

static void end_of_body(struct http *h)
{
    struct talk *k = h->talk;
    const char *name = k->request.provider->name;
    if (!h->raw.len)
        talk_ended(k, TALK_BROKEN, "provider %s sent nothing", name);
    else if (!llm_read_body(h->format, &k->answer, h->raw.data, h->raw.len, &h->fault))
        talk_ended(k, TALK_BROKEN, "provider %s: %s", name, h->fault.detail);
    else if (k->answer.error[0])
        talk_ended(k, end_of_failure(&k->answer), "provider %s failed: %s", name, k->answer.error);
    else
        talk_ended(k, TALK_ANSWERED, "%s", "");
}

static void end_of_stream(struct http *h, enum fetch_end end, const char *why)
{
    struct talk *k = h->talk;
    struct llm_answer *a = &k->answer;
    const char *name = k->request.provider->name;
    bool some = a->text.len || a->reasoning.len;
    if (a->error[0])
        talk_ended(k, some ? TALK_CUT : end_of_failure(a), "provider %s failed: %s", name,
                   a->error);
    else if (a->done || a->finish != LLM_NONE)
        talk_ended(k, TALK_ANSWERED, "%s", "");
    else if (h->events)
        talk_ended(k, TALK_CUT, "the answer of provider %s broke off: %s", name,
                   end == FETCH_DONE ? "the stream ended without saying that it was all" : why);
    else
        talk_ended(k, TALK_BROKEN, "provider %s sent no answer: %s", name,
                   end == FETCH_DONE ? h->head : why);
}

static void conclude(struct http *h, enum fetch_end end, int status, const char *why)
{
    struct talk *k = h->talk;
    const char *name = k->request.provider->name;
    if (status && status / 100 != 2)
        end_with_status(h, status);
    else if (h->fault.code)
        talk_ended(k, TALK_BROKEN, "provider %s: %s", name, h->fault.detail);
    else if (end == FETCH_TOO_LARGE || h->raw.failed)
        talk_ended(k, TALK_BROKEN, "provider %s: the answer is larger than %d MiB", name,
                   LLM_RAW_MAX / MIB);
    else if (h->streams)
        end_of_stream(h, end, why);
    else if (end == FETCH_DONE)
        end_of_body(h);
    else
        talk_ended(k, TALK_BROKEN, "provider %s: %s", name, why);
}

static void on_done(void *arg, const struct fetch_result *r)
{
    struct http *h = arg;
    h->call = NULL;
    h->talk->result.status = r->status;
    h->talk->result.retry_after_s = r->retry_after_s;
    conclude(h, r->end, r->status, r->detail);
}

/* Nothing came for too long. */
static void due(struct talk *k)
{
    struct http *h = k->own;
    char why[64];
    snprintf(why, sizeof(why), "nothing came for %lld s", (long long)k->request.provider->stall_s);
    fetch_cancel(k->talker->fetcher, h->call);
    h->call = NULL;
    conclude(h, FETCH_TIMEOUT, k->result.status, why);
}

/* ---- the request ---- */

static void add_escaped(struct buf *b, const char *s)
{
    for (; *s; s++)
        if (isalnum((unsigned char)*s) || strchr("-._~/:@", *s))
            buf_add(b, s, 1);
        else
            buf_addf(b, "%%%02X", (unsigned char)*s);
}

static void write_url(struct buf *b, const struct provider *p, const struct llm_format *format,
                      const char *model)
{
    const char *at = strstr(format->path, "%s");
    size_t n = strlen(p->url);
    while (n && p->url[n - 1] == '/')
        n--;
    buf_add(b, p->url, n);
    buf_add(b, format->path, at ? (size_t)(at - format->path) : strlen(format->path));
    if (at) {
        add_escaped(b, model);
        buf_adds(b, at + 2);
    }
}

static void write_body(struct buf *b, const struct llm_format *format, const struct talk_request *r)
{
    json_t *body = format->body(&(struct llm_request){.model = r->model->name,
                                                      .messages = r->messages,
                                                      .params = r->params,
                                                      .max_output = r->max_output});
    char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    json_decref(body);
    if (text)
        buf_adds(b, text);
    b->failed = b->failed || !text;
    free(text);
}

static enum err send_request(struct talk *k, struct http *h, struct fault *f)
{
    const struct provider *p = k->request.provider;
    struct buf key;
    buf_init(&key, PROVIDER_KEY_MAX + 256);
    buf_room(&key, PROVIDER_KEY_MAX + 255); /* never moved: no copy is left behind */
    if (k->key.len)
        buf_addf(&key, "%s: %s%s", h->format->key_header, h->format->key_prefix, k->key.data);
    const char *headers[HEADERS] = {"Content-Type: application/json",
                                    "Accept: text/event-stream, application/json", "Expect:"};
    size_t n = 3;
    if (h->format->header)
        headers[n++] = h->format->header;
    if (key.len)
        headers[n++] = key.data;
    h->call = fetch_start(k->talker->fetcher,
                          &(struct fetch_request){.url = h->url.data,
                                                  .headers = headers,
                                                  .body = h->body.data,
                                                  .body_len = h->body.len,
                                                  .timeout_s = p->timeout_s,
                                                  .stall_s = p->timeout_s,
                                                  .max_bytes = LLM_RAW_MAX,
                                                  .on_bytes = on_bytes,
                                                  .on_done = on_done,
                                                  .arg = h},
                          f);
    provider_key_wipe(&key);
    return h->call ? ERR_NONE : ERR_INTERNAL;
}

static enum err start(struct talk *k, struct fault *f)
{
    struct http *h = calloc(1, sizeof(*h));
    if (!h)
        return fault_set(f, ERR_NO_MEMORY, "cannot call a model: out of memory");
    k->own = h;
    h->talk = k;
    h->format = llm_format_find(k->request.provider->format);
    buf_init(&h->url, 8 * KIB);
    buf_init(&h->body, REQUEST_MAX);
    buf_init(&h->raw, LLM_RAW_MAX);
    sse_init(&h->sse, EVENT_MAX, on_event, h);
    write_url(&h->url, k->request.provider, h->format, k->request.model->name);
    write_body(&h->body, h->format, &k->request);
    if (h->url.failed || h->body.failed)
        return fault_set(f, ERR_TOO_LARGE, "cannot call a model: the request is too large");
    return send_request(k, h, f);
}

static void release(struct talk *k)
{
    struct http *h = k->own;
    if (!h)
        return;
    if (h->call)
        fetch_cancel(k->talker->fetcher, h->call);
    buf_release(&h->url);
    buf_release(&h->body);
    buf_release(&h->raw);
    sse_release(&h->sse);
    free(h);
    k->own = NULL;
}

const struct talk_way talk_http = {.start = start, .due = due, .release = release};
