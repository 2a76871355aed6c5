// SPDX-License-Identifier: Apache-2.0
#include "agent/talk.h"

#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "agent/talk_parts.h"
#include "core/text.h"
#include "core/util.h"

static const struct talk_way *const ways[] = {&talk_replay, &talk_script, &talk_http};

const char *talk_end_name(enum talk_end e)
{
    static const char *const names[] = {
        [TALK_ANSWERED] = "answered", [TALK_CUT] = "cut",         [TALK_BUSY] = "busy",
        [TALK_BROKEN] = "broken",     [TALK_REFUSED] = "refused",
    };
    return names[e];
}

struct talker *talker_new(struct fault *f)
{
    struct talker *t = calloc(1, sizeof(*t));
    signal(SIGPIPE, SIG_IGN); /* a program that does not read is an error of write */
    if (!t) {
        fault_set(f, ERR_NO_MEMORY, "cannot talk to providers: out of memory");
        return NULL;
    }
    t->epoll = epoll_create1(EPOLL_CLOEXEC);
    t->fetcher = t->epoll < 0 ? NULL : fetch_new(f);
    if (t->fetcher)
        return t;
    if (t->epoll < 0)
        fault_set(f, ERR_IO, "cannot make an epoll descriptor");
    talker_free(t);
    return NULL;
}

static void destroy(struct talk *k)
{
    for (struct talk **at = &k->talker->talks; *at; at = &(*at)->next)
        if (*at == k) {
            *at = k->next;
            k->talker->running--;
            break;
        }
    k->way->release(k);
    llm_answer_release(&k->answer);
    provider_key_wipe(&k->key);
    free(k);
}

void talker_free(struct talker *t)
{
    if (!t)
        return;
    while (t->talks)
        destroy(t->talks);
    fetch_free(t->fetcher);
    if (t->epoll >= 0)
        close(t->epoll);
    free(t);
}

static const struct talk_way *way_of(const struct provider *p)
{
    for (size_t i = 0; i < COUNT_OF(ways); i++)
        if (!ways[i]->format || !strcmp(ways[i]->format, p->format))
            return ways[i];
    return NULL;
}

struct talk *talk_start(struct talker *t, const struct talk_request *r, struct fault *f)
{
    struct talk *k = calloc(1, sizeof(*k));
    if (!k) {
        fault_set(f, ERR_NO_MEMORY, "cannot call a model: out of memory");
        return NULL;
    }
    k->talker = t;
    k->way = way_of(r->provider);
    k->request = *r;
    k->due_ms = TALK_NEVER;
    llm_answer_init(&k->answer);
    k->next = t->talks;
    t->talks = k;
    t->running++;
    enum err e = provider_key(r->provider, &k->key, f);
    if (e == ERR_NONE)
        e = k->way->start(k, f);
    k->request.messages = k->request.params = NULL;
    if (e == ERR_NONE)
        return k;
    destroy(k);
    return NULL;
}

void talk_cancel(struct talker *t, struct talk *k)
{
    (void)t;
    destroy(k);
}

size_t talk_running(const struct talker *t)
{
    return t->running;
}

/* ---- texts ---- */

/* The database takes UTF-8 without NUL. Byte for byte, so that nothing moves. */
static void clean(struct buf *b)
{
    for (size_t i = 0; i < b->len;) {
        unsigned char c = (unsigned char)b->data[i];
        size_t n = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
        if (i + n <= b->len && text_is_utf8(b->data + i, n))
            i += n;
        else
            b->data[i++] = '?';
    }
}

/* Puts stars where the key stands, whole or cut by the end of the text. */
static void hide_key(char *text, const struct buf *key)
{
    static const char stars[] = "***";
    enum { START = 6 }; /* fewer characters of a key tell nothing */
    if (!key->len)
        return;
    for (char *at; (at = strstr(text, key->data));) {
        size_t keep = key->len < sizeof(stars) - 1 ? key->len : sizeof(stars) - 1;
        memcpy(at, stars, keep);
        memmove(at + keep, at + key->len, strlen(at + key->len) + 1);
        if (key->len <= keep && !strncmp(at, key->data, key->len))
            break; /* the key is stars itself */
    }
    size_t len = strlen(text);
    for (size_t n = len < key->len ? len : key->len; n >= START; n--)
        if (!memcmp(text + len - n, key->data, n)) {
            memcpy(text + len - n, stars, sizeof(stars));
            break;
        }
}

void talk_ended(struct talk *k, enum talk_end end, const char *fmt, ...)
{
    if (k->ended)
        return;
    k->ended = true;
    k->due_ms = TALK_NEVER;
    k->result.end = end;
    if (end == TALK_CUT) /* what was told until then is not all */
        k->answer.usage = (struct llm_usage){-1, -1, -1, -1, -1, -1};
    if (end == TALK_ANSWERED)
        return;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(k->detail, sizeof(k->detail), fmt, ap);
    va_end(ap);
    text_sanitize(k->detail);
    hide_key(k->detail, &k->key);
    hide_key(k->answer.error, &k->key);
}

const struct llm_answer *talk_answer(struct talk *k)
{
    clean(&k->answer.text);
    clean(&k->answer.reasoning);
    return &k->answer;
}

/* ---- waiting ---- */

/* Until the next call wants something, at most timeout_ms. */
static int time_to_wait(const struct talker *t, int timeout_ms)
{
    int64_t now = now_ms(), wait = timeout_ms < 0 ? INT32_MAX : timeout_ms;
    for (const struct talk *k = t->talks; k; k = k->next) {
        if (k->ended || k->progressed)
            return 0;
        if (k->due_ms != TALK_NEVER && k->due_ms - now < wait)
            wait = k->due_ms > now ? k->due_ms - now : 0;
    }
    return (int)wait;
}

static void mark_ready(struct talker *t)
{
    struct epoll_event events[64];
    int n = epoll_wait(t->epoll, events, COUNT_OF(events), 0);
    for (int i = 0; i < n; i++)
        ((struct talk *)events[i].data.ptr)->ready = true;
}

/* Ways do not run callbacks, so the list stays as it is. */
static void move_all(struct talker *t)
{
    int64_t now = now_ms();
    mark_ready(t);
    for (struct talk *k = t->talks; k; k = k->next) {
        if (k->ready && !k->ended)
            k->way->ready(k);
        k->ready = false;
        if (!k->ended && k->due_ms != TALK_NEVER && k->due_ms <= now)
            k->way->due(k);
    }
}

static void tell_end(struct talk *k)
{
    struct talk_result *r = &k->result;
    r->detail = k->detail;
    r->answer = &k->answer;
    talk_answer(k);
    k->request.on_end(k->request.arg, r);
}

/* Any callback may change the list, so it is looked at anew after each. */
static bool tell_one(struct talker *t)
{
    for (struct talk *k = t->talks; k; k = k->next)
        if (k->progressed && !k->ended) {
            k->progressed = false;
            if (!k->request.on_progress)
                continue;
            k->request.on_progress(k->request.arg, k->answer.text.len, k->answer.reasoning.len);
            return true;
        }
    for (struct talk *k = t->talks; k; k = k->next)
        if (k->ended) {
            struct talk **at = &t->talks;
            while (*at != k)
                at = &(*at)->next;
            *at = k->next; /* out of reach of the callback */
            t->running--;
            tell_end(k);
            k->next = NULL;
            destroy(k);
            return true;
        }
    return false;
}

enum err talk_wait(struct talker *t, struct pollfd *fds, size_t count, int timeout_ms,
                   struct fault *f)
{
    struct pollfd all[TALK_FDS + 1];
    if (count > TALK_FDS)
        return fault_set(f, ERR_INTERNAL, "cannot wait for more than %d descriptors", TALK_FDS);
    for (size_t i = 0; i < count; i++)
        all[i] = fds[i];
    all[count] = (struct pollfd){.fd = t->epoll, .events = POLLIN};
    enum err e = fetch_wait(t->fetcher, all, count + 1, time_to_wait(t, timeout_ms), f);
    for (size_t i = 0; i < count; i++)
        fds[i].revents = all[i].revents;
    move_all(t);
    while (tell_one(t))
        ;
    return e;
}
