// SPDX-License-Identifier: Apache-2.0
// Lock order: hub, then queue of the database threads. Neither is held during SQL.
#include "server/hub.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/db/listen.h"
#include "core/log.h"
#include "server/pool.h"

enum {
    HEARD = 1024,   /* notifications remembered for late parkers */
    LOOK_MS = 5000, /* between two looks at the tables without a hint, less up to a quarter */
};

struct hub {
    const struct service *service;
    struct listener *listener;
    struct db *db; /* of the hub thread, for streams */
    struct streams *streams;
    int wake_fd;
    pthread_t thread;
    pthread_mutex_t lock;
    struct request *parked;
    size_t parked_count;
    uint64_t heard_count;
    char heard[HEARD][UUID_TEXT]; /* ring: the n-th is at n % HEARD */
    uint64_t lost;   /* everything up to here may be incomplete: tickets below look again */
    int64_t wake_ms; /* when the thread means to wake next */
    bool draining, stopping;
    atomic_bool listening;
};

static void wake(void *arg)
{
    struct hub *h = arg;
    uint64_t one = 1;
    while (write(h->wake_fd, &one, sizeof(one)) < 0 && errno == EINTR)
        continue;
}

/* ---- parked requests ---- */

bool hub_listens(struct hub *h)
{
    return atomic_load(&h->listening);
}

uint64_t hub_ticket(struct hub *h)
{
    pthread_mutex_lock(&h->lock);
    uint64_t ticket = h->heard_count;
    pthread_mutex_unlock(&h->lock);
    return ticket;
}

static bool missed(const struct hub *h, const struct request *r)
{
    if (r->ticket < h->lost || h->heard_count - r->ticket > HEARD)
        return true;
    for (uint64_t n = r->ticket; n < h->heard_count; n++)
        if (!strcmp(h->heard[n % HEARD], r->topic))
            return true;
    return false;
}

void hub_park(struct hub *h, struct request *r)
{
    r->repoll_ms = jittered_ms(LOOK_MS, 4);
    int64_t due = r->deadline_ms < r->repoll_ms ? r->deadline_ms : r->repoll_ms;
    pthread_mutex_lock(&h->lock);
    bool at_once = h->draining || missed(h, r);
    if (!at_once) {
        r->next = h->parked;
        h->parked = r;
        h->parked_count++;
    }
    bool sooner = due < h->wake_ms;
    pthread_mutex_unlock(&h->lock);
    if (at_once)
        pool_requeue(h->service->pool, r);
    else if (sooner)
        wake(h);
}

/* Queues again every parked request of a topic, or with NULL those that are due by `due_ms`. Call
 * with the lock held. */
static void unpark(struct hub *h, const char *topic, int64_t due_ms)
{
    for (struct request **link = &h->parked; *link;) {
        struct request *r = *link;
        bool go =
            topic ? !strcmp(r->topic, topic) : r->deadline_ms <= due_ms || r->repoll_ms <= due_ms;
        if (!go) {
            link = &r->next;
            continue;
        }
        *link = r->next;
        h->parked_count--;
        pool_requeue(h->service->pool, r);
    }
}

/* ---- the thread ---- */

static void notified(void *arg, const char *channel, const char *payload)
{
    struct hub *h = arg;
    (void)channel;
    if (!uuid_is_valid(payload))
        return;
    pthread_mutex_lock(&h->lock);
    memcpy(h->heard[h->heard_count++ % HEARD], payload, UUID_TEXT);
    unpark(h, payload, 0);
    pthread_mutex_unlock(&h->lock);
    streams_notice(h->streams, payload);
}

/* Connected again: whatever was said in between is lost, so everybody looks. */
static void reset(void *arg)
{
    struct hub *h = arg;
    pthread_mutex_lock(&h->lock);
    atomic_store(&h->listening, true);
    h->lost = ++h->heard_count;
    h->heard[(h->heard_count - 1) % HEARD][0] = '\0';
    unpark(h, NULL, INT64_MAX);
    pthread_mutex_unlock(&h->lock);
    streams_notice(h->streams, NULL);
}

/* When is the next thing due? Remembers it, so that something earlier can interrupt the wait. */
static int time_to_wait(struct hub *h)
{
    int64_t now = now_ms(), due = streams_due(h->streams, now + LOOK_MS);
    pthread_mutex_lock(&h->lock);
    for (const struct request *r = h->parked; r; r = r->next) {
        due = r->deadline_ms < due ? r->deadline_ms : due;
        due = r->repoll_ms < due ? r->repoll_ms : due;
    }
    h->wake_ms = due;
    pthread_mutex_unlock(&h->lock);
    return due > now ? (int)(due - now) : 0;
}

static void feed(struct hub *h)
{
    if (!streams_hungry(h->streams))
        return;
    struct fault f = {0};
    struct db_options options = {
        .conninfo = h->service->config.database,
        .application = "ptxbench-server hub",
        .statement_timeout_ms = SERVICE_STATEMENT_MS,
    };
    if (!h->db)
        h->db = db_open(&options, &f);
    if (streams_feed(h->streams, h->db, &f))
        log_warn("cannot read events", "detail=\"%s\"", f.detail);
}

static void *run(void *arg)
{
    struct hub *h = arg;
    for (;;) {
        listener_wait(h->listener, h->wake_fd, time_to_wait(h));
        atomic_store(&h->listening, listener_connected(h->listener));
        uint64_t count;
        if (read(h->wake_fd, &count, sizeof(count)) < 0 && errno != EAGAIN && errno != EINTR)
            log_error("cannot read the wake-up", "errno=%d", errno);
        pthread_mutex_lock(&h->lock);
        unpark(h, NULL, now_ms());
        bool stop = h->stopping;
        pthread_mutex_unlock(&h->lock);
        if (stop)
            return NULL;
        feed(h);
        streams_beat(h->streams);
    }
}

static void hub_free(struct hub *h)
{
    if (h->db)
        db_close(h->db);
    if (h->listener)
        listener_free(h->listener);
    if (h->wake_fd >= 0)
        close(h->wake_fd);
    streams_free(h->streams);
    pthread_mutex_destroy(&h->lock);
    free(h);
}

struct hub *hub_start(const struct service *service, struct fault *f)
{
    static const char *const channels[] = {CHANNEL_SUBMISSION_EVENT, NULL};
    struct hub *h = calloc(1, sizeof(*h));
    if (!h) {
        fault_set(f, ERR_NO_MEMORY, "cannot start the hub");
        return NULL;
    }
    h->service = service;
    pthread_mutex_init(&h->lock, NULL);
    h->streams = streams_new(wake, h);
    h->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct db_options options = {.conninfo = service->config.database,
                                 .application = "ptxbench-server listen"};
    struct listen_hooks hooks = {.notified = notified, .reset = reset, .arg = h};
    h->listener = listener_new(&options, channels, &hooks);
    int e = h->wake_fd < 0                ? errno
            : !h->listener || !h->streams ? ENOMEM
                                          : pthread_create(&h->thread, NULL, run, h);
    if (!e)
        return h;
    fault_set(f, ERR_INTERNAL, "cannot start the hub: %s", strerror(e));
    hub_free(h);
    return NULL;
}

void hub_drain(struct hub *h)
{
    pthread_mutex_lock(&h->lock);
    h->draining = true;
    unpark(h, NULL, INT64_MAX);
    pthread_mutex_unlock(&h->lock);
    streams_drain(h->streams);
}

struct streams *hub_streams(struct hub *h)
{
    return h->streams;
}

void hub_stop(struct hub *h)
{
    if (!h)
        return;
    pthread_mutex_lock(&h->lock);
    h->stopping = true;
    pthread_mutex_unlock(&h->lock);
    wake(h);
    pthread_join(h->thread, NULL);
    hub_free(h);
}

struct hub_state hub_state(struct hub *h)
{
    pthread_mutex_lock(&h->lock);
    struct hub_state s = {.parked = h->parked_count, .listening = atomic_load(&h->listening)};
    pthread_mutex_unlock(&h->lock);
    s.streams = streams_count(h->streams);
    return s;
}
