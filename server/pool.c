// SPDX-License-Identifier: Apache-2.0
#include "server/pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "server/auth.h"
#include "server/cache.h"
#include "server/compress.h"
#include "server/hub.h"
#include "server/routes.h"

enum { POOL_THREADS = 64, RETRY_LEAST_MS = 100, RETRY_MOST_MS = 5000 };

struct pool {
    const struct service *service;
    pthread_mutex_t lock;
    pthread_cond_t filled;
    struct request *first, **last;
    size_t queued, busy, connected;
    bool stopping;
    int thread_count;
    pthread_t threads[POOL_THREADS];
};

/* The connection of one thread, and when to try again after a failure. */
struct link {
    struct db *db;
    int64_t retry_at_ms;
    int retry_ms;
};

static void push(struct pool *p, struct request *r)
{
    r->queued_ms = now_ms();
    r->next = NULL;
    *p->last = r;
    p->last = &r->next;
    p->queued++;
    pthread_cond_signal(&p->filled);
}

bool pool_submit(struct pool *p, struct request *r)
{
    pthread_mutex_lock(&p->lock);
    bool room = p->queued < SERVICE_QUEUE && !p->stopping;
    if (room)
        push(p, r);
    pthread_mutex_unlock(&p->lock);
    return room;
}

void pool_requeue(struct pool *p, struct request *r)
{
    pthread_mutex_lock(&p->lock);
    push(p, r);
    pthread_mutex_unlock(&p->lock);
}

static struct request *take(struct pool *p)
{
    pthread_mutex_lock(&p->lock);
    while (!p->first && !p->stopping)
        pthread_cond_wait(&p->filled, &p->lock);
    struct request *r = p->first;
    if (r) {
        p->first = r->next;
        if (!p->first)
            p->last = &p->first;
        p->queued--;
        p->busy++;
    }
    pthread_mutex_unlock(&p->lock);
    return r;
}

static void finished(struct pool *p)
{
    pthread_mutex_lock(&p->lock);
    p->busy--;
    pthread_mutex_unlock(&p->lock);
}

/* Connects if need be. While the database is away most requests are answered at once, not after a
 * connection attempt of their own. */
static struct db *connection(struct pool *p, struct link *l, struct fault *f)
{
    if (l->db)
        return l->db;
    int64_t now = now_ms();
    if (now < l->retry_at_ms) {
        fault_set(f, ERR_DATABASE, "the database cannot be reached; trying again soon");
        return NULL;
    }
    struct db_options options = {
        .conninfo = p->service->config.database,
        .application = "ptxbench-server",
        .statement_timeout_ms = SERVICE_STATEMENT_MS,
    };
    l->db = db_open(&options, f);
    if (!l->db) {
        l->retry_ms = l->retry_ms ? l->retry_ms * 2 : RETRY_LEAST_MS;
        if (l->retry_ms > RETRY_MOST_MS)
            l->retry_ms = RETRY_MOST_MS;
        l->retry_at_ms = now_ms() + l->retry_ms;
        log_warn("cannot connect to the database", "detail=\"%s\" retry_ms=%d", f->detail,
                 l->retry_ms);
        return NULL;
    }
    l->retry_ms = 0;
    pthread_mutex_lock(&p->lock);
    p->connected++;
    pthread_mutex_unlock(&p->lock);
    return l->db;
}

/* One run of a handler, or of what it left to be run again. */
static enum err step(struct request *r)
{
    handler_fn *again = r->again;
    r->again = NULL;
    if (again)
        return again(r);
    enum err e = r->route->without_db ? ERR_NONE : auth_check(r);
    if (!e && r->route->cached && cache_answer(r)) /* somebody was faster */
        return ERR_NONE;
    return e ? e : r->route->handler(r);
}

static void serve(struct pool *p, struct link *l, struct request *r)
{
    r->ticket = hub_ticket(p->service->hub);
    r->db = connection(p, l, &r->fault);
    enum err e = ERR_DATABASE;
    if (r->db && !r->again && now_ms() - r->queued_ms > SERVICE_QUEUE_MS)
        e = fault_set(&r->fault, ERR_BUSY, "no database thread was free in time");
    else if (r->db || r->route->without_db)
        e = step(r);
    r->db = NULL;
    if (e == ERR_DATABASE) { /* what libpq says names hosts and sockets: for the log, not for
                                strangers */
        log_warn("a request failed for want of the database", "id=%s detail=\"%s\"", r->id,
                 r->fault.detail);
        fault_set(&r->fault, e, "the database cannot be reached; try again soon");
    }
    r->busy_ms += now_ms() - r->queued_ms;
    if (e)
        answer_problem(r, e);
    else if (!r->again)
        (r->route->cached ? cache_finish : compress_answer)(r);
    finished(p);
    if (!e && r->again)
        hub_park(p->service->hub, r);
    else
        r->done(r);
}

static void *work(void *arg)
{
    struct pool *p = arg;
    struct link l = {0};
    struct request *r;
    while ((r = take(p)))
        serve(p, &l, r);
    if (l.db)
        db_close(l.db);
    return NULL;
}

struct pool *pool_start(const struct service *service, struct fault *f)
{
    struct pool *p = calloc(1, sizeof(*p));
    if (!p) {
        fault_set(f, ERR_NO_MEMORY, "cannot start the database threads");
        return NULL;
    }
    p->service = service;
    p->last = &p->first;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->filled, NULL);
    for (int i = 0; i < service->config.db_threads && i < POOL_THREADS; i++) {
        int e = pthread_create(&p->threads[i], NULL, work, p);
        if (e) {
            fault_set(f, ERR_INTERNAL, "cannot start a database thread: %s", strerror(e));
            pool_stop(p);
            return NULL;
        }
        p->thread_count++;
    }
    return p;
}

void pool_stop(struct pool *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->stopping = true;
    pthread_cond_broadcast(&p->filled);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < p->thread_count; i++)
        pthread_join(p->threads[i], NULL);
    pthread_cond_destroy(&p->filled);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

struct pool_state pool_state(struct pool *p)
{
    pthread_mutex_lock(&p->lock);
    struct pool_state s = {p->queued, (size_t)p->thread_count, p->busy, p->connected};
    pthread_mutex_unlock(&p->lock);
    return s;
}
