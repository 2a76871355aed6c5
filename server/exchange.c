// SPDX-License-Identifier: Apache-2.0
// Life of an exchange: the target arrives (exchange_new), then the headers (judge), then the body
// (receive), then it is handled: at once, or suspended and handed to the database threads, whose
// `done` resumes it. While a connection is suspended nothing here touches its exchange.
#include "server/exchange.h"

#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/util.h"
#include "server/cache.h"
#include "server/door.h"
#include "server/hub.h"
#include "server/metrics.h"
#include "server/pool.h"
#include "server/routes.h"
#include "server/stream.h"

enum {
    HEADERS_MS =
        10000, /* from connect to the last header; from the request line for a later request */
    BODY_MS = 60000,
    SEND_MS = 300000,
    DISCARD = 64 * MIB, /* a refused body is read up to here, so that the answer arrives */
};

enum phase { PHASE_NEW, PHASE_BODY, PHASE_HANDLED, PHASE_SENT };

struct exchange {
    struct request request;
    const struct service *service;
    struct exchange_counts *counts;
    struct MHD_Connection *connection;
    struct peer *peer;
    enum phase phase;
    enum err refused;        /* judged before or while the body came */
    bool active;             /* counted as such */
    bool close;              /* framing in doubt: nothing more on this connection */
    size_t received, stored; /* bytes of the body; stored ones are counted in all */
    char allow[ROUTES_ALLOW];
    char *target; /* as sent; owned */
};

struct exchange *exchange_new(const struct service *service, struct exchange_counts *counts,
                              struct peer *peer, struct MHD_Connection *connection,
                              const char *target)
{
    struct exchange *x = calloc(1, sizeof(*x));
    if (!x)
        return NULL;
    x->service = service;
    x->counts = counts;
    x->connection = connection;
    x->peer = peer;
    x->target = strdup(target);
    x->request.service = service;
    x->request.connection = x;
    sweep_hasten(peer, HEADERS_MS); /* a line that trickles in wins no time */
    return x;
}

void exchange_free(struct exchange *x)
{
    if (!x)
        return;
    x->counts->active -= x->active;
    x->counts->body_bytes -= x->stored;
    request_release(&x->request);
    free(x->target);
    free(x);
}

/* ---- suspending ---- */

static void resume(struct exchange *x)
{
    struct exchange_counts *counts = x->counts;
    MHD_resume_connection(x->connection); /* from here the exchange belongs to the HTTP thread */
    counts->suspended--;
}

static void suspend_stream(void *connection)
{
    struct exchange *x = connection;
    x->counts->suspended++;
    MHD_suspend_connection(x->connection);
}

static void resume_stream(void *connection)
{
    resume(connection);
}

static void on_done(struct request *r)
{
    resume(r->connection);
}

/* ---- answers ---- */

static ssize_t read_stream(void *cls, uint64_t position, char *out, size_t max)
{
    (void)position;
    ssize_t n = stream_read(cls, out, max);
    return n == STREAM_END ? MHD_CONTENT_READER_END_OF_STREAM : n;
}

static void free_stream(void *cls)
{
    stream_close(cls);
}

static struct MHD_Response *build_response(struct exchange *x)
{
    struct response *out = &x->request.out;
    if (!out->stream)
        return MHD_create_response_from_buffer(out->len, (void *)(uintptr_t)out->body,
                                               MHD_RESPMEM_PERSISTENT);
    struct stream_hooks hooks = {suspend_stream, resume_stream, x};
    stream_attach(out->stream, &hooks);
    struct MHD_Response *response = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, 4 * KIB, read_stream, out->stream, free_stream);
    if (!response)
        stream_close(out->stream);
    return response;
}

static void add_headers(struct exchange *x, struct MHD_Response *response)
{
    struct request *r = &x->request;
    for (size_t i = 0; i < r->out.header_count; i++)
        MHD_add_response_header(response, r->out.headers[i].name, r->out.headers[i].value);
    for (size_t i = 0; i < door_header_count; i++)
        MHD_add_response_header(response, door_headers[i].name, door_headers[i].value);
    if (r->out.type)
        MHD_add_response_header(response, "Content-Type", r->out.type);
    MHD_add_response_header(response, "X-Request-Id", r->id);
    if (x->close || atomic_load(&x->service->draining))
        MHD_add_response_header(response, "Connection", "close");
}

static enum MHD_Result send_answer(struct exchange *x)
{
    struct request *r = &x->request;
    x->phase = PHASE_SENT;
    metrics_request(x->service->metrics, r->route ? route_index(r->route) : route_count,
                    r->out.status, r->busy_ms);
    log_line(r->out.status >= 500 ? LOG_WARN : LOG_DEBUG, "request",
             "id=%s method=%s route=\"%s\" status=%d busy_ms=%lld detail=\"%s\"", r->id,
             method_name(r->method), r->route ? r->route->pattern : "-", r->out.status,
             (long long)r->busy_ms, r->out.status >= 400 ? r->fault.detail : "");
    bool stream = r->out.stream;
    sweep_allow(x->peer, stream ? 0 : SEND_MS);
    struct MHD_Response *response = build_response(x);
    if (!response)
        return MHD_NO;
    add_headers(x, response);
    enum MHD_Result queued = MHD_queue_response(x->connection, (unsigned)r->out.status, response);
    MHD_destroy_response(response);
    return queued;
}

static enum MHD_Result send_problem(struct exchange *x, enum err e)
{
    if (x->allow[0])
        answer_header(&x->request, "Allow", x->allow);
    answer_problem(&x->request, e);
    return send_answer(x);
}

/* ---- judging the headers ---- */

static void set_id(struct request *r)
{
    const char *given = r->headers.request_id;
    static const char fit[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    size_t n = given ? strspn(given, fit) : 0;
    if (n && n < REQUEST_ID && !given[n])
        memcpy(r->id, given, n + 1);
    else
        uuid7(r->id);
}

static enum MHD_Result on_header(void *cls, enum MHD_ValueKind kind, const char *name,
                                 const char *value)
{
    (void)kind;
    door_header(cls, name, value);
    return MHD_YES;
}

/* Everything that can be said before the body. */
static enum err judge(struct exchange *x, const char *method, struct door *door)
{
    struct request *r = &x->request;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(x->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    *door = (struct door){.headers = &r->headers};
    MHD_get_connection_values(x->connection, MHD_HEADER_KIND, on_header, door);
    set_id(r);
    r->method = method_find(method);
    buf_init(&r->body, 0);
    if (!info || !address_of(info->client_addr, r->address))
        return fault_set(&r->fault, ERR_INTERNAL, "cannot tell the client's address");
    x->close = door->framing_bad;
    enum err e = door_check(door, r);
    if (!e)
        e = x->target ? url_parse(x->target, &r->url, &r->fault) : ERR_NO_MEMORY;
    if (!e)
        e = routes_find(r, x->allow);
    if (e)
        return e;
    buf_init(&r->body, r->route->body);
    if (door->content_length > (int64_t)r->route->body)
        return door_too_large(r);
    return ERR_NONE;
}

/* ---- the body ---- */

/* Keeps a piece of the body. One limit holds for each request, another for all together. */
static enum err keep(struct exchange *x, const char *data, size_t size)
{
    struct request *r = &x->request;
    x->stored += size;
    if (atomic_fetch_add(&x->counts->body_bytes, size) + size > SERVICE_BODIES)
        return fault_set(&r->fault, ERR_BUSY, "too many large requests are being received");
    buf_add(&r->body, data, size);
    return r->body.failed ? door_too_large(r) : ERR_NONE;
}

static enum MHD_Result receive(struct exchange *x, const char *data, size_t *size)
{
    x->received += *size;
    if (!x->refused && (x->refused = keep(x, data, *size))) {
        buf_release(&x->request.body);
        x->counts->body_bytes -= x->stored;
        x->stored = 0;
    }
    *size = 0;
    return x->received <= DISCARD ? MHD_YES : MHD_NO;
}

static enum MHD_Result begin(struct exchange *x, const char *method)
{
    struct door door;
    x->phase = PHASE_BODY;
    x->refused = judge(x, method, &door);
    sweep_allow(x->peer, BODY_MS);
    bool read_on = (door.content_length > 0 || door.chunked) && !door.expects_continue &&
                   !x->close && door.content_length <= DISCARD;
    return x->refused && !read_on ? send_problem(x, x->refused) : MHD_YES;
}

/* Suspends the connection and queues the request. Counting before looking at `draining` leaves no
 * gap in which http_settle sees nothing suspended and then something is. */
static enum MHD_Result hand_over(struct exchange *x)
{
    struct request *r = &x->request;
    x->counts->suspended++;
    if (atomic_load(&x->service->draining)) {
        x->counts->suspended--;
        return send_problem(x, fault_set(&r->fault, ERR_DRAINING, "the service is shutting down"));
    }
    x->phase = PHASE_HANDLED;
    r->done = on_done;
    sweep_allow(x->peer, 0);
    MHD_suspend_connection(x->connection);
    if (!pool_submit(x->service->pool, r)) {
        fault_set(&r->fault, ERR_BUSY, "too many requests are waiting for the database");
        answer_problem(r, ERR_BUSY);
        resume(x);
    }
    return MHD_YES;
}

/* Is there a kept answer? A token, were it a bad one, goes the long way. */
static bool answer_kept(struct request *r)
{
    if (!r->route->cached || r->headers.authorization)
        return false;
    r->ticket = hub_ticket(r->service->hub);
    return cache_answer(r);
}

/* The request is complete. */
static enum MHD_Result handle(struct exchange *x)
{
    struct request *r = &x->request;
    x->active = true;
    x->counts->active++;
    r->queued_ms = now_ms();
    if (x->refused)
        return send_problem(x, x->refused);
    if (r->method == METHOD_OPTIONS) {
        answer_header(r, "Allow", x->allow);
        r->out.status = MHD_HTTP_NO_CONTENT;
        return send_answer(x);
    }
    if (r->route->on_spot) {
        enum err e = r->route->handler(r);
        return e ? send_problem(x, e) : send_answer(x);
    }
    return answer_kept(r) ? send_answer(x) : hand_over(x);
}

enum MHD_Result exchange_access(struct exchange *x, const char *method, const char *data,
                                size_t *size)
{
    switch (x->phase) {
    case PHASE_NEW:
        return begin(x, method);
    case PHASE_BODY:
        return *size ? receive(x, data, size) : handle(x);
    case PHASE_HANDLED:
        return send_answer(x);
    case PHASE_SENT:
        *size = 0;
        return MHD_YES;
    }
    return MHD_NO;
}
