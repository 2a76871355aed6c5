// SPDX-License-Identifier: Apache-2.0
#include "server/cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/util.h"
#include "server/compress.h"
#include "server/hub.h"
#include "server/routes.h"
#include "server/service.h"

enum { SLOTS = 128, CACHE_MS = 2000, KEY_BYTES = 512, BODY_BYTES = 1 * MIB, TAG_BYTES = 32 };

/* An answer that several requests may be sending: freed by the last. */
struct kept_answer {
    atomic_int users;
    bool gzip;
    const char *type;
    char etag[TAG_BYTES];
    size_t len;
    char body[];
};

struct slot {
    char key[KEY_BYTES];
    struct kept_answer *answer;
    uint64_t ticket;
    int64_t until_ms;
};

struct cache {
    pthread_mutex_t lock;
    struct slot slots[SLOTS];
};

static void release(void *p)
{
    struct kept_answer *a = p;
    if (a && atomic_fetch_sub(&a->users, 1) == 1)
        free(a);
}

struct cache *cache_new(void)
{
    struct cache *c = calloc(1, sizeof(*c));
    if (c)
        pthread_mutex_init(&c->lock, NULL);
    return c;
}

void cache_free(struct cache *c)
{
    for (size_t i = 0; c && i < SLOTS; i++)
        release(c->slots[i].answer);
    if (c)
        pthread_mutex_destroy(&c->lock);
    free(c);
}

/* Route, parameters as sent, and whether compressed; a request too long to be a key is not kept. */
static bool make_key(const struct request *r, char key[KEY_BYTES])
{
    struct buf b;
    buf_init(&b, KEY_BYTES - 1);
    buf_addf(&b, "%zu%s", route_index(r->route), compress_wanted(r) ? "z" : "");
    for (size_t i = 0; i < r->url.parameter_count; i++)
        buf_addf(&b, "&%s=%s", r->url.parameters[i].name, r->url.parameters[i].value);
    bool fits = !b.failed;
    if (fits)
        memcpy(key, b.data, b.len + 1);
    buf_release(&b);
    return fits;
}

static struct slot *slot_of(struct cache *c, const char *key)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (const char *s = key; *s; s++)
        hash = (hash ^ (unsigned char)*s) * 16777619u;
    return &c->slots[hash % SLOTS];
}

static struct kept_answer *find(struct cache *c, const struct request *r, const char *key)
{
    pthread_mutex_lock(&c->lock);
    const struct slot *s = slot_of(c, key);
    struct kept_answer *a = NULL;
    if (s->answer && !strcmp(s->key, key) && s->ticket == r->ticket && s->until_ms > now_ms())
        a = s->answer;
    if (a)
        atomic_fetch_add(&a->users, 1);
    pthread_mutex_unlock(&c->lock);
    return a;
}

/* Lends a kept answer to a request: 304 if the client has it. */
static void give(struct request *r, const struct kept_answer *a)
{
    r->out = (struct response){0};
    if (answer_not_modified(r, a->etag))
        return;
    if (a->gzip)
        answer_header(r, "Content-Encoding", "gzip");
    r->out.status = 200;
    r->out.type = a->type;
    r->out.body = a->body;
    r->out.len = a->len;
}

bool cache_answer(struct request *r)
{
    char key[KEY_BYTES];
    if (!make_key(r, key) || !hub_listens(r->service->hub))
        return false;
    struct kept_answer *a = request_keep(r, find(r->service->cache, r, key), release);
    if (!a)
        return false;
    give(r, a);
    r->from_cache = true;
    return true;
}

static const char *header_of(const struct request *r, const char *name)
{
    for (size_t i = 0; i < r->out.header_count; i++)
        if (!strcmp(r->out.headers[i].name, name))
            return r->out.headers[i].value;
    return NULL;
}

static struct kept_answer *copy_of(const struct request *r)
{
    const char *etag = header_of(r, "ETag");
    size_t n = etag ? strlen(etag) + 1 : 0;
    struct kept_answer *a =
        n && n <= TAG_BYTES && r->out.len <= BODY_BYTES ? malloc(sizeof(*a) + r->out.len) : NULL;
    if (!a)
        return NULL;
    *a = (struct kept_answer){.users = 2, /* the slot and this request */
                              .gzip = header_of(r, "Content-Encoding") != NULL,
                              .type = r->out.type,
                              .len = r->out.len};
    memcpy(a->etag, etag, n);
    memcpy(a->body, r->out.body, r->out.len);
    return a;
}

static void keep(struct cache *c, const struct request *r, const char *key, struct kept_answer *a)
{
    pthread_mutex_lock(&c->lock);
    struct slot *s = slot_of(c, key);
    struct kept_answer *old = s->answer;
    s->answer = a;
    s->ticket = r->ticket;
    s->until_ms = now_ms() + CACHE_MS;
    memcpy(s->key, key, strlen(key) + 1);
    pthread_mutex_unlock(&c->lock);
    release(old);
}

void cache_finish(struct request *r)
{
    char hex[SHA256_HEX], key[KEY_BYTES];
    if (r->from_cache || r->out.status != 200)
        return;
    sha256_hex(r->out.body, r->out.len, hex);
    answer_header(r, "ETag", request_printf(r, "\"%.16s\"", hex));
    compress_answer(r);
    struct kept_answer *a = make_key(r, key) ? copy_of(r) : NULL;
    if (!a)
        return;
    keep(r->service->cache, r, key, a);
    if (request_keep(r, a, release))
        give(r, a);
}
