/* SPDX-License-Identifier: Apache-2.0
 * libcurl behind client.h. Redirects are not followed: a token goes to the address the user named. */
#include "cli/client.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/json.h"
#include "core/limits.h"
#include "core/util.h"

enum {
    TOKEN_MAX = 512,
    URL_MAX = 8 * KIB,
    ANSWER_MAX = LIMIT_PTX, /* the largest thing that can be asked for */
    LINE_MAX_BYTES = LIMIT_BODY, /* an event is small, but a reset has a whole run */
    SILENCE_S = 45, /* a stream sends a comment every 15 s */
};

/* ---- opening ---- */

static bool starts_with(const char *s, const char *prefix)
{
    return strncasecmp(s, prefix, strlen(prefix)) == 0;
}

/* May a secret be sent there? HTTPS, or a host that is this machine. */
static bool is_safe_for_token(const char *server)
{
    if (starts_with(server, "https://"))
        return true;
    static const char *const local[] = {"127.0.0.1", "localhost", "[::1]"};
    const char *host = server + strlen("http://");
    for (size_t i = 0; i < COUNT_OF(local); i++) {
        size_t n = strlen(local[i]);
        if (starts_with(host, local[i]) && strchr(":/", host[n])) /* strchr finds the NUL too */
            return true;
    }
    return false;
}

static enum err read_token(const char *file, char **out, struct fault *f)
{
    const char *text = getenv("PTXBENCH_TOKEN");
    struct buf b;
    buf_init(&b, TOKEN_MAX);
    enum err e = ERR_NONE;
    if (file)
        e = read_file(file, &b, f);
    else if (text)
        buf_adds(&b, text);
    if (!e && b.len > 0) {
        *out = buf_take(&b, NULL);
        if (*out)
            (*out)[strcspn(*out, " \t\r\n")] = '\0';
    }
    buf_release(&b);
    return e;
}

enum err client_open(struct client *c, const char *const *values, struct fault *f)
{
    *c = (struct client){0};
    const char *server = values[CLIENT_SERVER] ? values[CLIENT_SERVER] : CLIENT_DEFAULT_SERVER;
    if (!starts_with(server, "http://") && !starts_with(server, "https://"))
        return fault_set(f, ERR_BAD_PARAMETER, "the server must be an http:// or https:// address, not %s",
                         server);
    if (strchr(server, '@'))
        return fault_set(f, ERR_BAD_PARAMETER, "the server's address must not carry a user name");
    enum err e = read_token(values[CLIENT_TOKEN_FILE], &c->token, f);
    if (e)
        return e;
    if (c->token && !is_safe_for_token(server))
        return fault_set(f, ERR_FORBIDDEN,
                         "refusing to send a token over plain http to %s; use https", server);
    c->server = strdup(server);
    if (curl_global_init(CURL_GLOBAL_DEFAULT) || !c->server || !(c->curl = curl_easy_init()))
        return fault_set(f, ERR_NO_MEMORY, "could not set up the HTTP client: out of memory");
    for (size_t n = strlen(c->server); n > 0 && c->server[n - 1] == '/'; n--)
        c->server[n - 1] = '\0';
    return ERR_NONE;
}

void client_release(struct client *c)
{
    if (c->curl) {
        curl_easy_cleanup(c->curl);
        curl_global_cleanup();
    }
    free(c->server);
    free(c->token);
    *c = (struct client){0};
}

/* ---- one request ---- */

static void add_header(struct curl_slist **list, const char *name, const char *value)
{
    struct buf line;
    buf_init(&line, URL_MAX);
    buf_addf(&line, "%s: %s", name, value);
    struct curl_slist *longer = line.failed ? NULL : curl_slist_append(*list, line.data);
    if (longer)
        *list = longer;
    buf_release(&line);
}

/* Everything that requests and streams share. The caller frees *headers. */
static enum err prepare(struct client *c, const char *path, const char *accept,
                        struct curl_slist **headers, struct fault *f)
{
    CURL *curl = c->curl;
    struct buf url;
    buf_init(&url, URL_MAX);
    buf_addf(&url, "%s%s", c->server, path);
    if (url.failed) {
        buf_release(&url);
        return fault_set(f, ERR_BAD_PARAMETER, "the address is too long");
    }
    curl_easy_reset(curl);
    CURLcode e = curl_easy_setopt(curl, CURLOPT_URL, url.data);
    buf_release(&url);
    if (e)
        return fault_set(f, ERR_BAD_PARAMETER, "%s is not an address", c->server);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "ptxbench/" PTXBENCH_VERSION);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, 10L);
    add_header(headers, "Accept", accept);
    add_header(headers, "Expect", ""); /* no round trip before a large body */
    if (c->token) {
        struct buf bearer;
        buf_init(&bearer, TOKEN_MAX + 16);
        buf_addf(&bearer, "Bearer %s", c->token);
        if (!bearer.failed)
            add_header(headers, "Authorization", bearer.data);
        buf_release(&bearer);
    }
    return ERR_NONE;
}

static size_t keep_body(char *data, size_t size, size_t n, void *arg)
{
    struct buf *b = arg;
    buf_add(b, data, size * n);
    return b->failed ? 0 : size * n;
}

static enum err unreachable(const struct client *c, CURLcode code, struct fault *f)
{
    if (code == CURLE_OPERATION_TIMEDOUT)
        return fault_set(f, ERR_DEADLINE, "no answer from %s in time", c->server);
    if (code == CURLE_WRITE_ERROR)
        return fault_set(f, ERR_TOO_LARGE, "the answer of %s is too large", c->server);
    return fault_set(f, ERR_UNAVAILABLE, "cannot reach %s: %s", c->server, curl_easy_strerror(code));
}

/* The server's problem+json: its code, its sentence, and the faults of an invalid submission. */
static enum err refused(long status, const struct buf *body, struct fault *f)
{
    json_t *doc = body->data ? json_parse(body->data, body->len, NULL) : NULL;
    const char *code = json_string_value(json_object_get(doc, "code"));
    const json_t *faults = json_object_get(doc, "errors");
    const char *detail = json_string_value(json_object_get(doc, faults ? "title" : "detail"));
    enum err e = status >= 500 ? ERR_UNAVAILABLE : ERR_BAD_REQUEST;
    for (int i = 1; code && i < ERR_COUNT; i++)
        if (strcmp(err_code((enum err)i), code) == 0)
            e = (enum err)i;

    struct buf text;
    buf_init(&text, LIMIT_DETAIL);
    buf_addf(&text, "%s (%ld)", detail ? detail : "the server refused without a reason", status);
    size_t i;
    json_t *item;
    json_array_foreach(faults, i, item)
        buf_addf(&text, "; %s: %s", json_string_value(json_object_get(item, "path")),
                 json_string_value(json_object_get(item, "detail")));
    fault_set(f, e, "%s", text.data ? text.data : err_title(e));
    buf_release(&text);
    json_decref(doc);
    return e;
}

enum err client_send(struct client *c, const struct request *q, struct buf *out, struct fault *f)
{
    struct curl_slist *headers = NULL;
    enum err e = prepare(c, q->path, q->accept ? q->accept : "application/json", &headers, f);
    if (e)
        goto out;
    if (q->content_type)
        add_header(&headers, "Content-Type", q->content_type);
    if (q->idempotency_key)
        add_header(&headers, "Idempotency-Key", q->idempotency_key);
    struct buf body;
    buf_init(&body, ANSWER_MAX);
    curl_easy_setopt(c->curl, CURLOPT_CUSTOMREQUEST, q->method);
    if (strcmp(q->method, "GET") != 0) {
        curl_easy_setopt(c->curl, CURLOPT_POSTFIELDS, q->body ? q->body : "");
        curl_easy_setopt(c->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)q->body_len);
    }
    curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(c->curl, CURLOPT_TIMEOUT, q->timeout_s ? (long)q->timeout_s : 30L);
    curl_easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, keep_body);
    curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, &body);
    CURLcode code = curl_easy_perform(c->curl);
    long status = 0;
    curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &status);
    if (code)
        e = unreachable(c, code, f);
    else if (status < 200 || status > 299)
        e = refused(status, &body, f);
    else
        buf_add(out, body.data ? body.data : "", body.len);
    buf_release(&body);
    if (!e && out->failed)
        e = fault_set(f, ERR_TOO_LARGE, "the answer of %s is too large", c->server);
out:
    curl_slist_free_all(headers);
    return e;
}

enum err client_json(struct client *c, const struct request *q, json_t **out, struct fault *f)
{
    struct buf body;
    buf_init(&body, ANSWER_MAX);
    enum err e = client_send(c, q, &body, f);
    if (!e && !(*out = json_parse(body.data ? body.data : "", body.len, NULL)))
        e = fault_set(f, ERR_INTERNAL, "%s did not answer with JSON; is it a PTXBench service?", c->server);
    buf_release(&body);
    return e;
}

/* ---- a stream ---- */

struct reading {
    CURL *curl;
    struct stream *stream;
    struct buf line, data, refusal;
    char kind[32];
    bool stopped;
};

static void end_of_event(struct reading *r)
{
    json_t *data = r->data.len ? json_loadb(r->data.data, r->data.len, JSON_DECODE_ANY, NULL) : NULL;
    if (data && !r->stream->event(r->stream->arg, r->kind, data))
        r->stopped = true;
    json_decref(data);
    buf_clear(&r->data);
    r->kind[0] = '\0';
}

/* One line of the event-stream format, without its newline. */
static void take_line(struct reading *r, const char *line)
{
    const char *colon = strchr(line, ':');
    if (!line[0]) {
        end_of_event(r);
        return;
    }
    if (!colon || colon == line) /* a comment, or a field without value */
        return;
    const char *value = colon + 1 + (colon[1] == ' ');
    if (starts_with(line, "id:"))
        r->stream->last_id = strtoll(value, NULL, 10);
    else if (starts_with(line, "event:"))
        snprintf(r->kind, sizeof(r->kind), "%s", value);
    else if (starts_with(line, "data:"))
        buf_adds(&r->data, value);
}

static size_t read_stream(char *bytes, size_t size, size_t count, void *arg)
{
    struct reading *r = arg;
    size_t n = size * count;
    long status = 0;
    curl_easy_getinfo(r->curl, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200) {
        buf_add(&r->refusal, bytes, n);
        return r->refusal.failed ? 0 : n;
    }
    for (size_t i = 0; i < n && !r->stopped; i++) {
        if (bytes[i] == '\n') {
            take_line(r, r->line.data ? r->line.data : "");
            buf_clear(&r->line);
        } else if (bytes[i] != '\r') {
            buf_add(&r->line, &bytes[i], 1);
        }
    }
    return r->stopped || r->line.failed || r->data.failed ? 0 : n;
}

enum err client_stream(struct client *c, struct stream *s, struct fault *f)
{
    struct curl_slist *headers = NULL;
    struct reading r = {.curl = c->curl, .stream = s};
    buf_init(&r.line, LINE_MAX_BYTES);
    buf_init(&r.data, LINE_MAX_BYTES);
    buf_init(&r.refusal, 64 * KIB);
    enum err e = prepare(c, s->path, "text/event-stream", &headers, f);
    if (!e) {
        char id[32];
        snprintf(id, sizeof(id), "%lld", s->last_id);
        if (s->last_id > 0)
            add_header(&headers, "Last-Event-ID", id);
        curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, headers);
        curl_easy_setopt(c->curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
        curl_easy_setopt(c->curl, CURLOPT_LOW_SPEED_TIME, (long)SILENCE_S);
        curl_easy_setopt(c->curl, CURLOPT_TIMEOUT, s->timeout_s);
        curl_easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, read_stream);
        curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, &r);
        CURLcode code = curl_easy_perform(c->curl);
        long status = 0;
        curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &status);
        if (r.stopped)
            e = ERR_NONE;
        else if (!code && status != 200)
            e = refused(status, &r.refusal, f);
        else if (code)
            e = unreachable(c, code, f);
        else
            e = fault_set(f, ERR_UNAVAILABLE, "%s closed the stream", c->server);
    }
    curl_slist_free_all(headers);
    buf_release(&r.line);
    buf_release(&r.data);
    buf_release(&r.refusal);
    return e;
}

void path_query(struct buf *path, const char *name, const char *value)
{
    if (!value)
        return;
    buf_addf(path, "%c%s=", path->data && strchr(path->data, '?') ? '&' : '?', name);
    for (const unsigned char *p = (const unsigned char *)value; *p; p++) {
        bool plain = (*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                     strchr("-._~", *p);
        buf_addf(path, plain ? "%c" : "%%%02X", *p);
    }
}
