// SPDX-License-Identifier: Apache-2.0
#include "evaluator/tool/lazy.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/limits.h"

enum chunk_state { UNTOUCHED, FILLING, THERE };

struct lazy {
    unsigned char *data; /* a view of the file, without access until filled */
    int fd;
    size_t bytes, mapped, chunks;
    atomic_uchar *state; /* enum chunk_state of each chunk */
    lazy_fill *fill;
    void *arg;
};

static struct lazy *_Atomic all[LAZY_MAX];
static struct sigaction before;

/* Fills a chunk through the file, then opens the view: nobody sees it half done. */
static void fill_chunk(struct lazy *l, size_t chunk)
{
    unsigned char bytes[LAZY_CHUNK];
    size_t offset = chunk * LAZY_CHUNK;
    size_t n = l->bytes - offset < LAZY_CHUNK ? l->bytes - offset : LAZY_CHUNK;
    unsigned char untouched = UNTOUCHED;
    if (atomic_compare_exchange_strong(&l->state[chunk], &untouched, FILLING)) {
        l->fill(l->arg, bytes, offset, n);
        if (pwrite(l->fd, bytes, n, (off_t)offset) != (ssize_t)n ||
            mprotect(l->data + offset, LAZY_CHUNK, PROT_READ | PROT_WRITE) != 0)
            abort(); /* no memory: there is no way back from here */
        atomic_store(&l->state[chunk], THERE);
    }
    while (atomic_load(&l->state[chunk]) != THERE)
        sched_yield();
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    uintptr_t at = (uintptr_t)info->si_addr;
    for (size_t i = 0; i < LAZY_MAX; i++) {
        struct lazy *l = atomic_load(&all[i]);
        if (l && at - (uintptr_t)l->data < l->mapped) {
            fill_chunk(l, (at - (uintptr_t)l->data) / LAZY_CHUNK);
            return;
        }
    }
    if (before.sa_flags & SA_SIGINFO)
        before.sa_sigaction(number, info, context);
    else
        sigaction(SIGSEGV, &before, NULL); /* and it faults again */
}

/* Somebody else may have taken the signal since. */
static bool install(void)
{
    struct sigaction now, ours = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
    if (sigaction(SIGSEGV, NULL, &now) != 0)
        return false;
    if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_fault)
        return true;
    before = now;
    return sigaction(SIGSEGV, &ours, NULL) == 0;
}

static bool enter(struct lazy *l)
{
    if (!install())
        return false;
    for (size_t i = 0; i < LAZY_MAX; i++) {
        struct lazy *none = NULL;
        if (atomic_compare_exchange_strong(&all[i], &none, l))
            return true;
    }
    return false;
}

struct lazy *lazy_new(size_t bytes, lazy_fill *fill, void *arg, struct fault *f)
{
    struct lazy *l = calloc(1, sizeof(*l));
    if (l) {
        *l = (struct lazy){.data = MAP_FAILED, .bytes = bytes, .fill = fill, .arg = arg};
        l->chunks = (bytes + LAZY_CHUNK - 1) / LAZY_CHUNK;
        l->mapped = (l->chunks ? l->chunks : 1) * LAZY_CHUNK;
        l->state = calloc(l->chunks + 1, sizeof(*l->state));
        l->fd = memfd_create("tensor", MFD_CLOEXEC);
        if (l->state && l->fd >= 0 && ftruncate(l->fd, (off_t)l->mapped) == 0)
            l->data = mmap(NULL, l->mapped, PROT_NONE, MAP_SHARED | MAP_NORESERVE, l->fd, 0);
        if (l->data != MAP_FAILED && enter(l))
            return l;
    }
    lazy_free(l);
    fault_set(f, ERR_NO_MEMORY, "cannot map %zu bytes", bytes);
    return NULL;
}

void lazy_free(struct lazy *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < LAZY_MAX; i++)
        if (atomic_load(&all[i]) == l)
            atomic_store(&all[i], NULL);
    if (l->data != MAP_FAILED)
        munmap(l->data, l->mapped);
    if (l->fd >= 0)
        close(l->fd);
    free(l->state);
    free(l);
}

void *lazy_data(struct lazy *l)
{
    return l->data;
}

void lazy_reset(struct lazy *l)
{
    mprotect(l->data, l->mapped, PROT_NONE);
    if (ftruncate(l->fd, 0) != 0 || ftruncate(l->fd, (off_t)l->mapped) != 0)
        abort();
    for (size_t i = 0; i < l->chunks; i++)
        atomic_store(&l->state[i], UNTOUCHED);
}

size_t lazy_chunks(const struct lazy *l)
{
    return l->chunks;
}

bool lazy_touched(const struct lazy *l, size_t chunk)
{
    return atomic_load(&l->state[chunk]) == THERE;
}
