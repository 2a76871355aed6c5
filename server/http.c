// SPDX-License-Identifier: Apache-2.0
// Connections, their limits, start and stop. What happens on a connection is exchange.c.
#include "server/http.h"

#include <errno.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "core/util.h"
#include "server/exchange.h"

enum {
    CONNECTION_MEMORY = 16 * KIB, /* headers and send buffer of one connection */
    STALL_S = 30,                 /* nothing moves on a connection */
    CONNECT_MS = 10000,           /* from connect to the last header of the first request */
    IDLE_MS = 30000,              /* between two requests of one connection */
    SWEEP_MS = 500,
};

struct http {
    const struct service *service;
    struct MHD_Daemon *daemon;
    int listener;
    struct sweep sweep;
    struct exchange_counts counts;
    atomic_size_t connections;
    pthread_t sweeper;
    atomic_bool stopping;
};

/* ---- connections ---- */

static struct peer *peer_of(struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

static void on_connection(void *cls, struct MHD_Connection *c, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct http *h = cls;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
        struct peer *p = calloc(1, sizeof(*p));
        *context = p;
        if (p && info) {
            sweep_add(&h->sweep, p, info->connect_fd);
            sweep_allow(p, CONNECT_MS);
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
    if (!p)
        return NULL;
    exchange_free(p->exchange);
    p->exchange = exchange_new(h->service, &h->counts, p, c, target);
    return p->exchange;
}

static void on_completed(void *cls, struct MHD_Connection *c, void **context,
                         enum MHD_RequestTerminationCode why)
{
    (void)cls;
    (void)why;
    struct peer *p = peer_of(c);
    if (!p || !*context)
        return;
    exchange_free(p->exchange);
    p->exchange = *context = NULL;
    sweep_allow(p, IDLE_MS);
}

static enum MHD_Result on_access(void *cls, struct MHD_Connection *c, const char *url,
                                 const char *method, const char *version, const char *data,
                                 size_t *size, void **context)
{
    (void)cls;
    (void)c;
    (void)url; /* decoded by the library; we decode the target ourselves, see url.h */
    (void)version;
    return *context ? exchange_access(*context, method, data, size) : MHD_NO;
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
        on_access, h, MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL, MHD_OPTION_LISTEN_SOCKET,
        h->listener, MHD_OPTION_THREAD_POOL_SIZE, (unsigned)h->service->config.http_threads,
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
    while (atomic_load(&h->counts.active) && now_ms() < end)
        usleep(10000);
    return !atomic_load(&h->counts.suspended);
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
