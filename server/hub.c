// SPDX-License-Identifier: Apache-2.0
// Lock order: hub.lock is the only lock here and is never held during SQL. HTTP threads take it in
// stream_read and stream_close; suspending and resuming a connection under it is what makes "nothing to
// send" and "sleep" one step.
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
    HEARD = 1024,             /* notifications remembered for late parkers */
    LOOK_MS = 5000,           /* between two looks at the tables without a hint, less up to a quarter */
    BEAT_MS = 15000,          /* between two comments on a quiet stream, less up to a third */
    BATCH = 256,              /* submissions per events query */
    BATCH_EVENTS = 100,       /* events of one of them per query */
    STREAM_PENDING = 256 * KIB, /* unsent bytes after which a stream is cut; the client resumes */
    RETRY_MS = 2000,          /* what clients are told to wait before they come back */
    ERROR_MS = 500,           /* after a failed query */
};

struct stream {
    struct stream *next, **link;
    struct hub *hub;
    struct stream_hooks hooks;
    char topic[UUID_TEXT];
    int64_t cursor;    /* last event put into `pending` */
    uint8_t address[16];
    struct buf pending;
    size_t sent;       /* bytes of pending already handed on */
    int64_t look_ms, beat_ms;
    bool dirty, suspended;
    bool ended; /* at the end of its submission's events, so far */
    bool cut;   /* will get nothing more */
};

struct hub {
    const struct service *service;
    struct listener *listener;
    struct db *db; /* of the hub thread: the batched events query */
    int wake_fd;
    pthread_t thread;
    pthread_mutex_t lock;
    struct request *parked;
    struct stream *streams;
    size_t parked_count, stream_count;
    uint64_t heard_count;
    char heard[HEARD][UUID_TEXT]; /* ring: the n-th is at n % HEARD */
    uint64_t lost;                /* everything up to here may be incomplete: tickets below look again */
    int64_t wake_ms;              /* when the thread means to wake next */
    bool draining, stopping;
    atomic_bool listening;
};

/* A time at most `ms` and at least `ms - ms / part` from now, so that what began together spreads out. */
static int64_t jittered(int64_t ms, int64_t part)
{
    uint32_t random;
    random_bytes(&random, sizeof(random));
    return now_ms() + ms - (int64_t)(random % (uint32_t)(ms / part + 1));
}

static void wake(struct hub *h)
{
    uint64_t one = 1;
    while (write(h->wake_fd, &one, sizeof(one)) < 0 && errno == EINTR)
        continue;
}

/* ---- parked requests ---- */

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
    r->repoll_ms = jittered(LOOK_MS, 4);
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

/* Queues again every parked request of a topic (NULL: all). Call with the lock held. */
static void unpark(struct hub *h, const char *topic, int64_t due_ms)
{
    for (struct request **link = &h->parked; *link;) {
        struct request *r = *link;
        bool go = topic ? !strcmp(r->topic, topic) : r->deadline_ms <= due_ms || r->repoll_ms <= due_ms;
        if (!go) {
            link = &r->next;
            continue;
        }
        *link = r->next;
        h->parked_count--;
        pool_requeue(h->service->pool, r);
    }
}

/* ---- streams ---- */

/* How many streams this address has. Call with the lock held. */
static size_t streams_of(const struct hub *h, const uint8_t address[16])
{
    size_t n = 0;
    for (const struct stream *s = h->streams; s; s = s->next)
        n += !memcmp(s->address, address, 16);
    return n;
}

static enum err admit(struct hub *h, struct stream *s, struct fault *f)
{
    if (h->draining)
        return fault_set(f, ERR_DRAINING, "no new streams: the service is shutting down");
    if (h->stream_count >= SERVICE_STREAMS || streams_of(h, s->address) >= SERVICE_STREAMS_EACH)
        return fault_set(f, ERR_BUSY, "too many event streams: at most %d, %d from one address",
                         SERVICE_STREAMS, SERVICE_STREAMS_EACH);
    s->next = h->streams;
    s->link = &h->streams;
    if (s->next)
        s->next->link = &s->next;
    h->streams = s;
    h->stream_count++;
    return ERR_NONE;
}

struct stream *stream_open(struct hub *h, const char *topic, int64_t after, const uint8_t address[16],
                           const char *opening, bool last, struct fault *f)
{
    struct stream *s = calloc(1, sizeof(*s));
    if (!s) {
        fault_set(f, ERR_NO_MEMORY, "cannot open a stream");
        return NULL;
    }
    s->hub = h;
    s->cursor = after;
    s->dirty = !last;
    s->ended = last;
    snprintf(s->topic, sizeof(s->topic), "%s", topic);
    memcpy(s->address, address, 16);
    s->look_ms = jittered(LOOK_MS, 4);
    s->beat_ms = jittered(BEAT_MS, 3);
    buf_init(&s->pending, STREAM_PENDING + LIMIT_REPORT);
    buf_addf(&s->pending, "retry: %d\n\n%s", RETRY_MS, opening);
    pthread_mutex_lock(&h->lock);
    enum err e = admit(h, s, f);
    pthread_mutex_unlock(&h->lock);
    if (e) {
        buf_release(&s->pending);
        free(s);
        return NULL;
    }
    wake(h);
    return s;
}

void stream_attach(struct stream *s, const struct stream_hooks *hooks)
{
    pthread_mutex_lock(&s->hub->lock);
    s->hooks = *hooks;
    pthread_mutex_unlock(&s->hub->lock);
}

void stream_close(struct stream *s)
{
    struct hub *h = s->hub;
    pthread_mutex_lock(&h->lock);
    *s->link = s->next;
    if (s->next)
        s->next->link = s->link;
    h->stream_count--;
    pthread_mutex_unlock(&h->lock);
    buf_release(&s->pending);
    free(s);
}

ssize_t stream_read(struct stream *s, char *out, size_t max)
{
    pthread_mutex_lock(&s->hub->lock);
    size_t n = s->pending.len - s->sent;
    ssize_t result = STREAM_END;
    if (n) {
        n = n < max ? n : max;
        memcpy(out, s->pending.data + s->sent, n);
        s->sent += n;
        if (s->sent == s->pending.len) {
            buf_clear(&s->pending);
            s->sent = 0;
        }
        result = (ssize_t)n;
    } else if (!s->ended && !s->cut) {
        s->suspended = true;
        s->hooks.suspend(s->hooks.connection);
        result = 0;
    }
    pthread_mutex_unlock(&s->hub->lock);
    return result;
}

/* Appends to a stream and lets its connection go on. Call with the lock held. */
static void say(struct stream *s, const char *text)
{
    if (s->pending.len - s->sent > STREAM_PENDING)
        s->cut = true; /* the client does not keep up: it resumes from its last event */
    else
        buf_adds(&s->pending, text);
    s->beat_ms = jittered(BEAT_MS, 3);
    if (s->suspended) {
        s->suspended = false;
        s->hooks.resume(s->hooks.connection);
    }
}

/* Puts one event on every stream that waits for it. Call with the lock held. */
static void deliver(struct hub *h, const json_t *event)
{
    const char *topic = json_string_value(json_object_get(event, "id"));
    const char *kind = json_string_value(json_object_get(event, "kind"));
    const json_t *data = json_object_get(event, "data");
    int64_t seq = json_integer_value(json_object_get(event, "seq"));
    char *text = json_dumps(data, ANSWER_JSON);
    struct buf frame;
    buf_init(&frame, 8 * LIMIT_EVENT);
    buf_addf(&frame, "id: %lld\nevent: %s\ndata: %s\n\n", (long long)seq, kind ? kind : "message",
             text ? text : "null");
    free(text);
    const char *state = json_string_value(json_object_get(data, "state"));
    bool end = kind && !strcmp(kind, "state") && state && !strcmp(state, "done");
    for (struct stream *s = h->streams; s && topic && !frame.failed; s = s->next) {
        if (s->cut || s->cursor >= seq || strcmp(s->topic, topic))
            continue;
        s->cursor = seq;
        s->ended = end;
        say(s, frame.data);
    }
    buf_release(&frame);
}

/* What one events query asks for. */
struct batch {
    char ids[BATCH][UUID_TEXT];
    const char *pointers[BATCH];
    int64_t after[BATCH];
    size_t count;
};

static void batch_add(struct batch *b, const struct stream *s)
{
    for (size_t i = 0; i < b->count; i++)
        if (!strcmp(b->ids[i], s->topic)) {
            if (s->cursor < b->after[i])
                b->after[i] = s->cursor;
            return;
        }
    memcpy(b->ids[b->count], s->topic, UUID_TEXT);
    b->pointers[b->count] = b->ids[b->count];
    b->after[b->count++] = s->cursor;
}

/* Collects the streams that want a look. Call with the lock held. */
static void collect(struct hub *h, struct batch *b)
{
    int64_t now = now_ms();
    for (struct stream *s = h->streams; s && b->count < BATCH; s = s->next) {
        if (s->ended || s->cut || (!s->dirty && s->look_ms > now))
            continue;
        s->dirty = false;
        s->look_ms = jittered(LOOK_MS, 4);
        batch_add(b, s);
    }
}

static enum err query(struct hub *h, const struct batch *b, json_t **events, struct fault *f)
{
    if (!h->db) {
        struct db_options options = {
            .conninfo = h->service->config.database,
            .application = "ptxbench-server hub",
            .statement_timeout_ms = SERVICE_STATEMENT_MS,
        };
        h->db = db_open(&options, f);
        if (!h->db)
            return ERR_DATABASE;
    }
    return store_events_after(h->db, b->count, b->pointers, b->after, BATCH_EVENTS, events, f);
}

/* One round of looking and delivering. A full answer is followed by another round at once. */
static void feed(struct hub *h)
{
    struct batch b = {.count = 0};
    pthread_mutex_lock(&h->lock);
    collect(h, &b);
    pthread_mutex_unlock(&h->lock);
    if (!b.count)
        return;
    json_t *events = NULL;
    struct fault f = {0};
    enum err e = query(h, &b, &events, &f);
    if (e)
        log_warn("cannot read events", "detail=\"%s\"", f.detail);
    pthread_mutex_lock(&h->lock);
    size_t i;
    json_t *event;
    json_array_foreach(events, i, event)
        deliver(h, event);
    bool full = json_array_size(events) >= BATCH_EVENTS;
    for (struct stream *s = h->streams; s && (e || full); s = s->next)
        for (size_t k = 0; k < b.count; k++)
            if (!strcmp(s->topic, b.ids[k])) {
                s->dirty = full;
                s->look_ms = e ? jittered(ERROR_MS, 2) : s->look_ms;
            }
    pthread_mutex_unlock(&h->lock);
    json_decref(events);
}

static void beat(struct hub *h)
{
    int64_t now = now_ms();
    pthread_mutex_lock(&h->lock);
    for (struct stream *s = h->streams; s; s = s->next)
        if (s->beat_ms <= now)
            say(s, ": still here\n\n");
    pthread_mutex_unlock(&h->lock);
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
    for (struct stream *s = h->streams; s; s = s->next)
        if (!strcmp(s->topic, payload))
            s->dirty = true;
    pthread_mutex_unlock(&h->lock);
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
    for (struct stream *s = h->streams; s; s = s->next)
        s->dirty = true;
    pthread_mutex_unlock(&h->lock);
}

/* When is the next thing due? Remembers the answer, so that an earlier one can interrupt the wait. */
static int time_to_wait(struct hub *h)
{
    int64_t now = now_ms(), due = now + LOOK_MS;
    pthread_mutex_lock(&h->lock);
    for (const struct request *r = h->parked; r; r = r->next) {
        due = r->deadline_ms < due ? r->deadline_ms : due;
        due = r->repoll_ms < due ? r->repoll_ms : due;
    }
    for (const struct stream *s = h->streams; s; s = s->next) {
        bool looks = !s->ended && !s->cut;
        due = looks && s->dirty ? now : due;
        due = looks && s->look_ms < due ? s->look_ms : due;
        due = s->beat_ms < due ? s->beat_ms : due;
    }
    h->wake_ms = due;
    pthread_mutex_unlock(&h->lock);
    return due > now ? (int)(due - now) : 0;
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
        beat(h);
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
    h->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct db_options options = {.conninfo = service->config.database,
                                 .application = "ptxbench-server listen"};
    struct listen_hooks hooks = {.notified = notified, .reset = reset, .arg = h};
    h->listener = listener_new(&options, channels, &hooks);
    int e = h->wake_fd < 0 ? errno : !h->listener ? ENOMEM : pthread_create(&h->thread, NULL, run, h);
    if (!e)
        return h;
    fault_set(f, ERR_INTERNAL, "cannot start the hub: %s", strerror(e));
    hub_free(h);
    return NULL;
}

void hub_drain(struct hub *h)
{
    char bye[64];
    snprintf(bye, sizeof(bye), "event: bye\nretry: %d\ndata: {}\n\n", RETRY_MS);
    pthread_mutex_lock(&h->lock);
    h->draining = true;
    unpark(h, NULL, INT64_MAX);
    for (struct stream *s = h->streams; s; s = s->next) {
        say(s, bye);
        s->cut = true;
    }
    pthread_mutex_unlock(&h->lock);
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
    struct hub_state s = {h->parked_count, h->stream_count, atomic_load(&h->listening)};
    pthread_mutex_unlock(&h->lock);
    return s;
}
