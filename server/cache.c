// SPDX-License-Identifier: Apache-2.0
#include "server/cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "server/hub.h"
#include "server/routes.h"
#include "server/service.h"

enum { SLOTS = 64, CACHE_MS = 2000, KEY_BYTES = 512, BODY_BYTES = 1 * MIB };

struct slot {
    char key[KEY_BYTES];
    char *body;
    size_t len;
    const char *type;
    uint64_t ticket;
    int64_t until_ms;
};

struct cache {
    pthread_mutex_t lock;
    struct slot slots[SLOTS];
};

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
        free(c->slots[i].body);
    if (c)
        pthread_mutex_destroy(&c->lock);
    free(c);
}

/* Route and parameters as sent; a request too long to be a key is not kept. */
static bool make_key(const struct request *r, char key[KEY_BYTES])
{
    struct buf b;
    buf_init(&b, KEY_BYTES - 1);
    buf_addf(&b, "%zu", route_index(r->route));
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

bool cache_answer(struct request *r)
{
    struct cache *c = r->service->cache;
    char key[KEY_BYTES];
    if (!make_key(r, key) || !hub_state(r->service->hub).listening)
        return false;
    pthread_mutex_lock(&c->lock);
    const struct slot *s = slot_of(c, key);
    char *copy = NULL;
    if (s->body && !strcmp(s->key, key) && s->ticket == r->ticket && s->until_ms > now_ms())
        copy = malloc(s->len + 1);
    if (copy) {
        memcpy(copy, s->body, s->len);
        r->out.len = s->len;
        r->out.type = s->type;
    }
    pthread_mutex_unlock(&c->lock);
    r->out.body = request_keep(r, copy, free);
    r->out.status = r->out.body ? 200 : 0;
    return r->out.body != NULL;
}

void cache_keep(struct request *r)
{
    struct cache *c = r->service->cache;
    char key[KEY_BYTES];
    char *copy = r->out.status == 200 && r->out.len <= BODY_BYTES && make_key(r, key)
                     ? malloc(r->out.len + 1)
                     : NULL;
    if (!copy)
        return;
    memcpy(copy, r->out.body, r->out.len);
    pthread_mutex_lock(&c->lock);
    struct slot *s = slot_of(c, key);
    free(s->body);
    *s = (struct slot){.body = copy,
                       .len = r->out.len,
                       .type = r->out.type,
                       .ticket = r->ticket,
                       .until_ms = now_ms() + CACHE_MS};
    memcpy(s->key, key, sizeof(key));
    pthread_mutex_unlock(&c->lock);
}
