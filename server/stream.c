// SPDX-License-Identifier: Apache-2.0
// One lock for all streams, never held during SQL. Suspending and resuming a connection under it is
// what makes "nothing to send" and "sleep" one step.
#include "server/stream.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/util.h"
#include "server/request.h"
#include "server/service.h"

enum {
    LOOK_MS = 5000,     /* between two looks at the tables without a hint, less up to a quarter */
    BEAT_MS = 15000,    /* between two comments on a quiet stream, less up to a third */
    BATCH = 256,        /* submissions per events query */
    BATCH_EVENTS = 100, /* events of one of them per query */
    STREAM_PENDING = 256 * KIB, /* unsent bytes after which a stream is cut; the client resumes */
    RETRY_MS = 2000,            /* what clients are told to wait before they come back */
    ERROR_MS = 500,             /* to the next look after a failed query */
};

struct stream {
    struct stream *next, **link;
    struct streams *all;
    struct stream_hooks hooks;
    char topic[UUID_TEXT];
    int64_t cursor; /* last event put into `pending` */
    uint8_t address[16];
    struct buf pending;
    size_t sent; /* bytes of pending already handed on */
    int64_t look_ms, beat_ms;
    bool dirty, suspended;
    bool ended; /* at the end of its submission's events, so far */
    bool cut;   /* will get nothing more */
};

struct streams {
    pthread_mutex_t lock;
    struct stream *first;
    size_t count;
    bool draining;
    void (*wake)(void *arg);
    void *arg;
};

struct streams *streams_new(void (*wake)(void *arg), void *arg)
{
    struct streams *all = calloc(1, sizeof(*all));
    if (!all)
        return NULL;
    pthread_mutex_init(&all->lock, NULL);
    all->wake = wake;
    all->arg = arg;
    return all;
}

void streams_free(struct streams *all)
{
    if (all)
        pthread_mutex_destroy(&all->lock);
    free(all);
}

/* ---- one stream ---- */

/* How many streams this address has. Call with the lock held. */
static size_t count_of(const struct streams *all, const uint8_t address[16])
{
    size_t n = 0;
    for (const struct stream *s = all->first; s; s = s->next)
        n += !memcmp(s->address, address, 16);
    return n;
}

/* Call with the lock held. */
static enum err admit(struct streams *all, struct stream *s, struct fault *f)
{
    if (all->draining)
        return fault_set(f, ERR_DRAINING, "no new streams: the service is shutting down");
    if (all->count >= SERVICE_STREAMS || count_of(all, s->address) >= SERVICE_STREAMS_EACH)
        return fault_set(f, ERR_BUSY, "too many event streams: at most %d, %d from one address",
                         SERVICE_STREAMS, SERVICE_STREAMS_EACH);
    s->next = all->first;
    s->link = &all->first;
    if (s->next)
        s->next->link = &s->next;
    all->first = s;
    all->count++;
    return ERR_NONE;
}

struct stream *stream_open(struct streams *all, const char *topic, int64_t after,
                           const uint8_t address[16], const char *opening, bool last,
                           struct fault *f)
{
    struct stream *s = calloc(1, sizeof(*s));
    if (!s) {
        fault_set(f, ERR_NO_MEMORY, "cannot open a stream");
        return NULL;
    }
    s->all = all;
    s->cursor = after;
    s->dirty = !last;
    s->ended = last;
    snprintf(s->topic, sizeof(s->topic), "%s", topic);
    memcpy(s->address, address, 16);
    s->look_ms = jittered_ms(LOOK_MS, 4);
    s->beat_ms = jittered_ms(BEAT_MS, 3);
    buf_init(&s->pending, STREAM_PENDING + LIMIT_REPORT);
    buf_addf(&s->pending, "retry: %d\n\n%s", RETRY_MS, opening);
    pthread_mutex_lock(&all->lock);
    enum err e = admit(all, s, f);
    pthread_mutex_unlock(&all->lock);
    if (e) {
        buf_release(&s->pending);
        free(s);
        return NULL;
    }
    all->wake(all->arg);
    return s;
}

void stream_attach(struct stream *s, const struct stream_hooks *hooks)
{
    pthread_mutex_lock(&s->all->lock);
    s->hooks = *hooks;
    pthread_mutex_unlock(&s->all->lock);
}

void stream_close(struct stream *s)
{
    struct streams *all = s->all;
    pthread_mutex_lock(&all->lock);
    *s->link = s->next;
    if (s->next)
        s->next->link = s->link;
    all->count--;
    pthread_mutex_unlock(&all->lock);
    buf_release(&s->pending);
    free(s);
}

ssize_t stream_read(struct stream *s, char *out, size_t max)
{
    pthread_mutex_lock(&s->all->lock);
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
    pthread_mutex_unlock(&s->all->lock);
    return result;
}

/* Appends to a stream and lets its connection go on. Call with the lock held. */
static void say(struct stream *s, const char *text)
{
    if (s->pending.len - s->sent > STREAM_PENDING)
        s->cut = true; /* the client does not keep up: it resumes from its last event */
    else
        buf_adds(&s->pending, text);
    s->beat_ms = jittered_ms(BEAT_MS, 3);
    if (s->suspended) {
        s->suspended = false;
        s->hooks.resume(s->hooks.connection);
    }
}

/* ---- delivering ---- */

/* Puts one event on every stream that waits for it. Call with the lock held. */
static void deliver(struct streams *all, const json_t *event)
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
    for (struct stream *s = all->first; s && topic && !frame.failed; s = s->next) {
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

static bool wants_look(const struct stream *s, int64_t now)
{
    return !s->ended && !s->cut && (s->dirty || s->look_ms <= now);
}

/* Collects the streams that want a look, as many topics as fit. Call with the lock held. */
static void collect(struct streams *all, struct batch *b)
{
    int64_t now = now_ms();
    for (struct stream *s = all->first; s && b->count < BATCH; s = s->next) {
        if (!wants_look(s, now))
            continue;
        s->dirty = false;
        s->look_ms = jittered_ms(LOOK_MS, 4);
        batch_add(b, s);
    }
}

/* Everybody of a batch looks again: soon after an error, at once after an answer that was full.
 * Call with the lock held. */
static void look_again(struct streams *all, const struct batch *b, bool full)
{
    for (struct stream *s = all->first; s; s = s->next)
        for (size_t i = 0; i < b->count; i++)
            if (!strcmp(s->topic, b->ids[i])) {
                s->dirty = full;
                s->look_ms = full ? s->look_ms : jittered_ms(ERROR_MS, 2);
            }
}

enum err streams_feed(struct streams *all, struct db *db, struct fault *f)
{
    struct batch b = {.count = 0};
    pthread_mutex_lock(&all->lock);
    collect(all, &b);
    pthread_mutex_unlock(&all->lock);
    if (!b.count)
        return ERR_NONE;
    json_t *events = NULL;
    enum err e = db ? store_events_after(db, b.count, b.pointers, b.after, BATCH_EVENTS, &events, f)
                    : fault_set(f, ERR_DATABASE, "the database cannot be reached");
    pthread_mutex_lock(&all->lock);
    size_t i;
    json_t *event;
    json_array_foreach(events, i, event) deliver(all, event);
    bool full = json_array_size(events) >= BATCH_EVENTS;
    if (e || full)
        look_again(all, &b, full);
    pthread_mutex_unlock(&all->lock);
    json_decref(events);
    return e;
}

bool streams_hungry(struct streams *all)
{
    int64_t now = now_ms();
    pthread_mutex_lock(&all->lock);
    bool hungry = false;
    for (const struct stream *s = all->first; s && !hungry; s = s->next)
        hungry = wants_look(s, now);
    pthread_mutex_unlock(&all->lock);
    return hungry;
}

void streams_notice(struct streams *all, const char *topic)
{
    pthread_mutex_lock(&all->lock);
    for (struct stream *s = all->first; s; s = s->next)
        s->dirty = s->dirty || !topic || !strcmp(s->topic, topic);
    pthread_mutex_unlock(&all->lock);
}

void streams_beat(struct streams *all)
{
    int64_t now = now_ms();
    pthread_mutex_lock(&all->lock);
    for (struct stream *s = all->first; s; s = s->next)
        if (s->beat_ms <= now)
            say(s, ": still here\n\n");
    pthread_mutex_unlock(&all->lock);
}

int64_t streams_due(struct streams *all, int64_t due_ms)
{
    int64_t now = now_ms();
    pthread_mutex_lock(&all->lock);
    for (const struct stream *s = all->first; s; s = s->next) {
        bool looks = !s->ended && !s->cut;
        due_ms = looks && s->dirty && now < due_ms ? now : due_ms;
        due_ms = looks && s->look_ms < due_ms ? s->look_ms : due_ms;
        due_ms = s->beat_ms < due_ms ? s->beat_ms : due_ms;
    }
    pthread_mutex_unlock(&all->lock);
    return due_ms;
}

void streams_drain(struct streams *all)
{
    char bye[64];
    snprintf(bye, sizeof(bye), "event: bye\nretry: %d\ndata: {}\n\n", RETRY_MS);
    pthread_mutex_lock(&all->lock);
    all->draining = true;
    for (struct stream *s = all->first; s; s = s->next) {
        say(s, bye);
        s->cut = true;
    }
    pthread_mutex_unlock(&all->lock);
}

size_t streams_count(struct streams *all)
{
    pthread_mutex_lock(&all->lock);
    size_t count = all->count;
    pthread_mutex_unlock(&all->lock);
    return count;
}
