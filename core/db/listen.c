// SPDX-License-Identifier: Apache-2.0
// LISTEN. A statement may already have read a notification off the socket, so what libpq holds is
// always drained before anybody waits on the socket.
#include "core/db/listen.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "core/db/connect.h"
#include "core/log.h"
#include "core/util.h"

enum { PING_MS = 30000, BACKOFF_FIRST_MS = 250, BACKOFF_MAX_MS = 10000 };

struct listener {
    PGconn *pg;
    char *conninfo, *application;
    const char *const *channels;
    struct listen_hooks hooks;
    int backoff_ms;
    int64_t due_ms; /* next ping, or next connect */
};

struct listener *listener_new(const struct db_options *o, const char *const *channels,
                              const struct listen_hooks *hooks)
{
    struct listener *l = calloc(1, sizeof(*l));
    if (!l)
        return NULL;
    l->conninfo = strdup(o->conninfo);
    l->application = strdup(o->application ? o->application : "ptxbench listen");
    l->channels = channels;
    l->hooks = *hooks;
    if (!l->conninfo || !l->application) {
        listener_free(l);
        return NULL;
    }
    return l;
}

void listener_free(struct listener *l)
{
    if (!l)
        return;
    PQfinish(l->pg);
    free(l->conninfo);
    free(l->application);
    free(l);
}

bool listener_connected(const struct listener *l)
{
    return l->pg && PQstatus(l->pg) == CONNECTION_OK;
}

int listener_socket(const struct listener *l)
{
    return listener_connected(l) ? PQsocket(l->pg) : -1;
}

static bool command(PGconn *pg, const char *sql)
{
    PGresult *res = PQexec(pg, sql);
    bool ok = PQresultStatus(res) == PGRES_COMMAND_OK || PQresultStatus(res) == PGRES_TUPLES_OK;
    PQclear(res);
    return ok;
}

static bool listen_all(struct listener *l)
{
    for (size_t i = 0; l->channels[i]; i++) {
        char sql[100];
        snprintf(sql, sizeof(sql), "LISTEN %s", l->channels[i]);
        if (!command(l->pg, sql))
            return false;
    }
    return true;
}

static void lost(struct listener *l, const char *why)
{
    PQfinish(l->pg);
    l->pg = NULL;
    int pause = l->backoff_ms ? 2 * l->backoff_ms : BACKOFF_FIRST_MS;
    l->backoff_ms = pause < BACKOFF_MAX_MS ? pause : BACKOFF_MAX_MS;
    l->due_ms = now_ms() + l->backoff_ms;
    log_warn("not listening", "reason=\"%s\" retry_ms=%d", why, l->backoff_ms);
}

static void connect_listener(struct listener *l)
{
    struct fault f = {0};
    l->pg = pg_connect(l->conninfo, l->application, &f);
    if (!l->pg || !listen_all(l)) {
        lost(l, l->pg ? "cannot listen" : f.detail);
        return;
    }
    l->backoff_ms = 0;
    l->due_ms = now_ms() + PING_MS;
    if (l->hooks.reset)
        l->hooks.reset(l->hooks.arg);
}

static void drain(struct listener *l)
{
    for (PGnotify *n = PQnotifies(l->pg); n; n = PQnotifies(l->pg)) {
        l->hooks.notified(l->hooks.arg, n->relname, n->extra);
        PQfreemem(n);
    }
}

int listener_pump(struct listener *l)
{
    if (!l->pg && now_ms() >= l->due_ms)
        connect_listener(l);
    if (l->pg && !PQconsumeInput(l->pg))
        lost(l, "the connection was closed");
    if (l->pg && now_ms() >= l->due_ms) {
        if (command(l->pg, "SELECT 1"))
            l->due_ms = now_ms() + PING_MS;
        else
            lost(l, "no answer to a ping");
    }
    if (l->pg)
        drain(l);
    int64_t left = l->due_ms - now_ms();
    return left > 0 ? (int)left : 0;
}

void listener_wait(struct listener *l, int wake_fd, int timeout_ms)
{
    int wanted = listener_pump(l);
    struct pollfd fds[] = {{listener_socket(l), POLLIN, 0}, {wake_fd, POLLIN, 0}};
    if (poll(fds, 2, wanted < timeout_ms ? wanted : timeout_ms) > 0 && fds[0].revents)
        listener_pump(l);
}
