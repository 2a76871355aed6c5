// SPDX-License-Identifier: Apache-2.0
// A fixed set of connections behind one mutex. All but the first connect when they are first used.
#include "core/db/db.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "core/db/connect.h"

struct db_pool {
    pthread_mutex_t lock;
    pthread_cond_t given;
    int size, idle_count;
    struct db **all;
    struct db **idle; /* stack: the warmest connection is taken first */
};

struct db_pool *db_pool_new(const struct db_options *o, int size, struct fault *f)
{
    struct db_pool *pool = calloc(1, sizeof(*pool));
    struct db **slots = calloc(2 * (size_t)size, sizeof(struct db *));
    if (!pool || !slots) {
        free(pool);
        free(slots);
        fault_set(f, ERR_NO_MEMORY, "cannot make a pool of %d connections", size);
        return NULL;
    }
    pool->all = slots;
    pool->idle = slots + size;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&pool->given, &attributes);
    pthread_condattr_destroy(&attributes);
    for (; pool->size < size; pool->size++) {
        struct db *db = pool->size ? db_open_lazy(o) : db_open(o, f);
        if (!db) {
            db_pool_free(pool);
            return NULL;
        }
        pool->all[pool->size] = db;
        db_pool_give(pool, db);
    }
    return pool;
}

void db_pool_free(struct db_pool *pool)
{
    if (!pool)
        return;
    for (int i = 0; i < pool->size; i++)
        db_close(pool->all[i]);
    pthread_cond_destroy(&pool->given);
    pthread_mutex_destroy(&pool->lock);
    free(pool->all);
    free(pool);
}

struct db *db_pool_take(struct db_pool *pool, int timeout_ms, struct fault *f)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += timeout_ms / 1000;
    until.tv_nsec += timeout_ms % 1000 * 1000000L;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    struct db *db = NULL;
    pthread_mutex_lock(&pool->lock);
    while (!pool->idle_count && pthread_cond_timedwait(&pool->given, &pool->lock, &until) == 0)
        ;
    if (pool->idle_count)
        db = pool->idle[--pool->idle_count];
    pthread_mutex_unlock(&pool->lock);
    if (!db)
        fault_set(f, ERR_BUSY, "all database connections are in use");
    return db;
}

void db_pool_give(struct db_pool *pool, struct db *db)
{
    pthread_mutex_lock(&pool->lock);
    pool->idle[pool->idle_count++] = db;
    pthread_cond_signal(&pool->given);
    pthread_mutex_unlock(&pool->lock);
}
