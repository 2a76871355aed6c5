// SPDX-License-Identifier: Apache-2.0
#include "evaluator/cuda/keeper_cache.h"

#include <stdlib.h>

enum err keeper_cache_init(struct keeper_cache *c, const struct keeper_gpu *g,
                           const struct problems *problems, struct fault *f)
{
    *c = (struct keeper_cache){.gpu = g, .code_count = problems->count};
    c->codes = calloc(problems->count + 1, sizeof(*c->codes));
    return c->codes ? ERR_NONE
                    : fault_set(f, ERR_NO_MEMORY, "cannot keep workloads: out of memory");
}

static void drop(struct keeper_cache *c, size_t i)
{
    keeper_task_close(c->tasks[i]);
    free(c->tasks[i]);
    c->tasks[i] = c->tasks[--c->count];
}

void keeper_cache_release(struct keeper_cache *c)
{
    while (c->count)
        drop(c, c->count - 1);
    for (size_t i = 0; i < c->code_count; i++)
        oracle_code_release(&c->codes[i]);
    free(c->codes);
    *c = (struct keeper_cache){0};
}

static int64_t held(const struct keeper_cache *c)
{
    int64_t sum = 0;
    for (size_t i = 0; i < c->count; i++)
        sum += c->tasks[i]->bytes;
    return sum;
}

/* The entry that has to go for `need` bytes: see admit_victim(). */
static int victim(const struct keeper_cache *c, int64_t need, int64_t budget)
{
    struct admit_entry entries[CACHE_TASKS];
    for (size_t i = 0; i < c->count; i++)
        entries[i] = (struct admit_entry){c->tasks[i]->bytes, c->tasks[i]->used};
    if (c->count == CACHE_TASKS) /* no row is left: as if no byte was */
        budget = need;
    return admit_victim(entries, c->count, need, budget);
}

static size_t oldest(const struct keeper_cache *c)
{
    size_t at = 0;
    for (size_t i = 1; i < c->count; i++)
        at = c->tasks[i]->used < c->tasks[at]->used ? i : at;
    return at;
}

static enum err find_budget(const struct keeper_cache *c, int64_t *budget, struct fault *f)
{
    size_t free_bytes = 0, total = 0;
    enum err e =
        driver_check(cu.MemGetInfo(&free_bytes, &total), f, "read how much memory is free");
    *budget = admit_budget((int64_t)free_bytes, held(c));
    return e;
}

/* How many slots it gets, with room made for them. */
static enum err admit(struct keeper_cache *c, const struct problem *p, const struct workload *w,
                      int *slots, struct fault *f)
{
    struct admit_sizes sizes;
    int64_t budget;
    enum err e = find_budget(c, &budget, f);
    if (e != ERR_NONE)
        return e;
    keeper_task_sizes(c->gpu, p, w, &sizes);
    *slots = admit_slots(&sizes, budget);
    if (!*slots)
        return fault_set(f, ERR_UNAVAILABLE,
                         "workload %s takes %lld MiB of device memory, and %lld MiB may be used",
                         w->name, (long long)(admit_bytes(&sizes, ADMIT_SLOTS_MIN) >> 20),
                         (long long)(budget >> 20));
    for (int i; (i = victim(c, admit_bytes(&sizes, *slots), budget)) >= 0;)
        drop(c, (size_t)i);
    return ERR_NONE;
}

static struct keeper_task *find(struct keeper_cache *c, const struct problem *p,
                                const struct workload *w)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->tasks[i]->problem == p && c->tasks[i]->workload == w)
            return c->tasks[i];
    return NULL;
}

/* Opens a new task. Others may have taken memory that was free: then more of ours goes. */
static struct keeper_task *open_task(struct keeper_cache *c, size_t problem_index,
                                     const struct problem *p, const struct workload *w, int slots,
                                     struct fault *f)
{
    struct keeper_task *t = calloc(1, sizeof(*t));
    if (!t) {
        fault_set(f, ERR_NO_MEMORY, "cannot keep a workload: out of memory");
        return NULL;
    }
    struct oracle_code *code = &c->codes[problem_index];
    enum err e = keeper_task_open(t, c->gpu, p, w, slots, code, f);
    while (e == ERR_NO_MEMORY && c->count) {
        drop(c, oldest(c));
        e = keeper_task_open(t, c->gpu, p, w, slots, code, f);
    }
    if (e == ERR_NONE)
        return t;
    free(t);
    return NULL;
}

struct keeper_task *keeper_cache_get(struct keeper_cache *c, size_t problem_index,
                                     const struct problem *p, const struct workload *w,
                                     struct fault *f)
{
    struct keeper_task *t = find(c, p, w);
    int slots = 0;
    if (t) {
        t->used = ++c->tick;
        return keeper_task_renew(t, f) == ERR_NONE ? t : NULL;
    }
    if (admit(c, p, w, &slots, f) == ERR_NONE)
        t = open_task(c, problem_index, p, w, slots, f);
    if (!t)
        return NULL;
    t->used = ++c->tick;
    c->tasks[c->count++] = t;
    return t;
}

enum err keeper_cache_renew(struct keeper_cache *c, struct fault *f)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->tasks[i]->used == c->tick)
            return keeper_task_renew(c->tasks[i], f);
    return ERR_NONE;
}
