// SPDX-License-Identifier: Apache-2.0
// Life of an exchange: the target arrives (on_target), then the headers (judge), then the body (receive), then
// it is handled: at once, or suspended and handed to the database threads, whose `done` resumes it. While
// a connection is suspended nothing here touches its exchange.
#include "server/http.h"

#include <errno.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/log.h"
#include "server/door.h"
#include "server/files.h"
#include "server/hub.h"
#include "server/metrics.h"
#include "server/pool.h"
#include "server/routes.h"
#include "server/sockets.h"

enum {
    CONNECTION_MEMORY = 16 * KIB, /* headers and send buffer of one connection */
    STALL_S = 30,                 /* nothing moves on a connection */
    HEADERS_MS = 10000,           /* from connect to the last header; from the request line for a later request */
    IDLE_MS = 30000,              /* between two requests of one connection */
    BODY_MS = 60000,
    SEND_MS = 300000,
    SWEEP_MS = 500,
    DISCARD = 64 * MIB,           /* a refused body is read up to here, so that the answer arrives */
};

struct http {
    const struct service *service;
    struct MHD_Daemon *daemon;
    int listener;
    struct sweep sweep;
    atomic_size_t suspended, connections;
    atomic_size_t active; /* complete requests whose answers are not yet sent */
    pthread_t sweeper;
    atomic_bool stopping;
};

enum phase { PHASE_NEW, PHASE_BODY, PHASE_HANDLED, PHASE_SENT };

/* One request on a connection. */
struct exchange {
    struct request request; /* first: a request is its exchange */
    struct http *http;
    struct MHD_Connection *connection;
    struct peer *peer;
    enum phase phase;
    enum err refused;   /* judged before or while the body came */
    bool active;        /* counted as such */
    bool close;         /* framing in doubt: nothing more on this connection */
    size_t received;
    char allow[ROUTES_ALLOW];
    char *target;       /* as sent; owned */
};

/* ---- connections ---- */

static struct peer *peer_of(struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

static void exchange_free(struct exchange *x)
{
    if (!x)
        return;
    request_release(&x->request);
    free(x->target);
    free(x);
}

static void on_connection(void *cls, struct MHD_Connection *c, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct http *h = cls;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
        struct peer *p = calloc(1, sizeof(*p));
        *context = p;
        if (p && info) {
            sweep_add(&h->sweep, p, info->connect_fd);
            sweep_allow(p, HEADERS_MS);
        }
        h->connections++;
    } else {
        struct peer *p = *context;
        h->connections--;
        if (!p)
            return;
        sweep_remove(&h->sweep, p);
        exchange_free(p->exchange); /* one whose headers never came to an end */
        free(p);
    }
}

/* The request line is here: the exchange begins. */
static void *on_target(void *cls, const char *target, struct MHD_Connection *c)
{
    struct http *h = cls;
    struct peer *p = peer_of(c);
    struct exchange *x = p ? calloc(1, sizeof(*x)) : NULL;
    if (!x)
        return NULL;
    x->http = h;
    x->connection = c;
    x->peer = p;
    x->target = strdup(target);
    x->request.service = h->service;
    x->request.connection = x;
    exchange_free(p->exchange);
    p->exchange = x;
    sweep_hasten(p, HEADERS_MS); /* a line that trickles in wins no time */
    return x;
}

static void on_completed(void *cls, struct MHD_Connection *c, void **context,
                         enum MHD_RequestTerminationCode why)
{
    (void)cls;
    (void)c;
    (void)why;
    struct exchange *x = *context;
    if (!x)
        return;
    *context = NULL;
    x->http->active -= x->active;
    x->peer->exchange = NULL;
    sweep_allow(x->peer, IDLE_MS);
    exchange_free(x);
}

/* ---- suspending ---- */

static void resume(struct exchange *x)
{
    struct http *h = x->http;
    MHD_resume_connection(x->connection); /* from here the exchange belongs to the HTTP thread */
    h->suspended--;
}

static void suspend_stream(void *connection)
{
    struct exchange *x = connection;
    x->http->suspended++;
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
    if (x->close || atomic_load(&x->http->service->draining))
        MHD_add_response_header(response, "Connection", "close");
}

static enum MHD_Result send_answer(struct exchange *x)
{
    struct request *r = &x->request;
    x->phase = PHASE_SENT;
    metrics_request(x->http->service->metrics, r->route ? route_index(r->route) : route_count,
                    r->out.status, r->busy_ms);
    log_line(r->out.status >= 500 ? LOG_WARN : LOG_DEBUG, "request",
             "id=%s method=%s route=\"%s\" status=%d busy_ms=%lld detail=\"%s\"", r->id, method_name(r->method),
             r->route ? r->route->pattern : "-", r->out.status, (long long)r->busy_ms,
             r->out.status >= 400 ? r->fault.detail : "");
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

static enum MHD_Result on_header(void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
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

static enum MHD_Result receive(struct exchange *x, const char *data, size_t *size)
{
    x->received += *size;
    if (!x->refused) {
        buf_add(&x->request.body, data, *size);
        if (x->request.body.failed)
            x->refused = door_too_large(&x->request);
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
    bool read_on = (door.content_length > 0 || door.chunked) && !door.expects_continue && !x->close &&
                   door.content_length <= DISCARD;
    return x->refused && !read_on ? send_problem(x, x->refused) : MHD_YES;
}

/* Suspends the connection and queues the request. Counting before looking at `draining` leaves no gap in which
 * http_settle sees nothing suspended and then something is. */
static enum MHD_Result hand_over(struct exchange *x)
{
    struct request *r = &x->request;
    x->http->suspended++;
    if (atomic_load(&x->http->service->draining)) {
        x->http->suspended--;
        return send_problem(x, fault_set(&r->fault, ERR_DRAINING, "the service is shutting down"));
    }
    x->phase = PHASE_HANDLED;
    r->done = on_done;
    sweep_allow(x->peer, 0);
    MHD_suspend_connection(x->connection);
    if (!pool_submit(x->http->service->pool, r)) {
        fault_set(&r->fault, ERR_BUSY, "too many requests are waiting for the database");
        answer_problem(r, ERR_BUSY);
        resume(x);
    }
    return MHD_YES;
}

/* The request is complete. */
static enum MHD_Result handle(struct exchange *x)
{
    struct request *r = &x->request;
    x->active = true;
    x->http->active++;
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
    return hand_over(x);
}

static enum MHD_Result on_access(void *cls, struct MHD_Connection *c, const char *url, const char *method,
                                 const char *version, const char *data, size_t *size, void **context)
{
    (void)cls;
    (void)c;
    (void)url;
    (void)version;
    struct exchange *x = *context;
    if (!x)
        return MHD_NO; /* out of memory when the request line came */
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

/* ---- start and stop ---- */

static void *sweep_run(void *arg)
{
    struct http *h = arg;
    while (!atomic_load(&h->stopping)) {
        usleep(SWEEP_MS * 1000);
        sweep_late(&h->sweep);
    }
    return NULL;
}

__attribute__((format(printf, 2, 0))) static void on_log(void *cls, const char *fmt, va_list ap)
{
    (void)cls;
    char text[256];
    vsnprintf(text, sizeof(text), fmt, ap);
    log_debug("libmicrohttpd", "text=\"%s\"", text);
}

static struct MHD_Daemon *start_daemon(struct http *h)
{
    return MHD_start_daemon(
        MHD_USE_AUTO_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL, NULL,
        on_access, h, MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL, MHD_OPTION_LISTEN_SOCKET, h->listener,
        MHD_OPTION_THREAD_POOL_SIZE, (unsigned)h->service->config.http_threads,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)SERVICE_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)STALL_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_NOTIFY_CONNECTION, on_connection, h,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, h, MHD_OPTION_URI_LOG_CALLBACK, on_target, h,
        MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_END);
}

struct http *http_start(const struct service *service, char url[HTTP_URL], struct fault *f)
{
    struct http *h = calloc(1, sizeof(*h));
    if (!h) {
        fault_set(f, ERR_NO_MEMORY, "cannot start the HTTP side");
        return NULL;
    }
    h->service = service;
    sweep_init(&h->sweep);
    h->listener = sockets_listen(&service->config, url, HTTP_URL, f);
    h->daemon = h->listener >= 0 ? start_daemon(h) : NULL;
    if (!h->daemon) {
        if (h->listener >= 0) {
            fault_set(f, ERR_INTERNAL, "cannot start the HTTP daemon: %s", strerror(errno));
            close(h->listener);
        }
        free(h);
        return NULL;
    }
    if (pthread_create(&h->sweeper, NULL, sweep_run, h)) {
        fault_set(f, ERR_INTERNAL, "cannot start the sweeper");
        MHD_stop_daemon(h->daemon);
        free(h);
        return NULL;
    }
    return h;
}

void http_quiesce(struct http *h)
{
    MHD_quiesce_daemon(h->daemon);
}

bool http_settle(struct http *h, int timeout_ms)
{
    int64_t end = now_ms() + timeout_ms;
    while (atomic_load(&h->active) && now_ms() < end)
        usleep(10000);
    return !atomic_load(&h->suspended);
}

void http_stop(struct http *h)
{
    if (!h)
        return;
    atomic_store(&h->stopping, true);
    pthread_join(h->sweeper, NULL);
    MHD_stop_daemon(h->daemon);
    close(h->listener);
    sweep_release(&h->sweep);
    free(h);
}

size_t http_connections(const struct http *h)
{
    return atomic_load(&h->connections);
}
