/* SPDX-License-Identifier: Apache-2.0
 * A CTA and its warps, and their frames. */
#include "evaluator/ptxvm/vm.h"

#include <string.h>

enum {
    ROW_ALIGN = 64,
    SPARE_PART = 4 /* all workers together keep up to a fourth of the memory */
};

/* Shared memory starts as NaNs of every type: a kernel that reads what it never wrote shows it. */
enum { SHARED_POISON = 0xff };

/* ---- frames ---- */

static size_t frame_bytes(const struct function *fn)
{
    size_t head = (sizeof(struct frame) + ROW_ALIGN - 1) / ROW_ALIGN * ROW_ALIGN;
    size_t preds =
        (((size_t)fn->preds + 1) * sizeof(uint32_t) + ROW_ALIGN - 1) / ROW_ALIGN * ROW_ALIGN;
    return head + preds + (fn->row_bytes + ROW_ALIGN - 1) / ROW_ALIGN * ROW_ALIGN;
}

static struct frame *take_spare(struct worker *worker, const struct function *fn)
{
    struct frame *f = worker->spare_frames[fn->index];
    if (f) {
        worker->spare_frames[fn->index] = f->parent;
        worker->spare_bytes -= frame_bytes(fn);
    }
    return f;
}

/* May the worker keep so many bytes more? */
static bool keep_spare(struct worker *worker, size_t bytes)
{
    const struct ptxvm *vm = worker->run->vm;
    if (worker->spare_bytes + bytes > vm->memory.max / SPARE_PART / (size_t)vm->options.threads)
        return false;
    worker->spare_bytes += bytes;
    return true;
}

/* What is only kept must not be what is missing. */
static bool charge(struct worker *worker, size_t bytes)
{
    struct memory *m = &worker->run->vm->memory;
    if (memory_charge(m, bytes))
        return true;
    spares_free(worker);
    return memory_charge(m, bytes);
}

static struct frame *make_frame(struct worker *worker, const struct function *fn)
{
    size_t bytes = frame_bytes(fn);
    if (!charge(worker, bytes))
        return NULL;
    struct frame *f = aligned_alloc(ROW_ALIGN, bytes);
    if (!f) {
        memory_refund(&worker->run->vm->memory, bytes);
        return NULL;
    }
    memset(f, 0, bytes);
    unsigned char *at = (unsigned char *)f + (sizeof *f + ROW_ALIGN - 1) / ROW_ALIGN * ROW_ALIGN;
    f->preds = (uint32_t *)(void *)at;
    f->preds[VM_PRED_TRUE] = VM_FULL;
    f->rows = (unsigned char *)f + bytes - (fn->row_bytes + ROW_ALIGN - 1) / ROW_ALIGN * ROW_ALIGN;
    return f;
}

static bool local_room(struct warp *w, uint32_t need)
{
    if (need <= w->local_bytes)
        return true;
    uint32_t bytes = need + need / 2;
    bytes = bytes > VM_LOCAL_MAX ? need : bytes;
    size_t more = (size_t)(bytes - w->local_bytes) * VM_LANES;
    if (!charge(w->worker, more))
        return false;
    uint32_t *local = realloc(w->local, (size_t)bytes * VM_LANES);
    if (!local) {
        memory_refund(&w->cta->run->vm->memory, more);
        return false;
    }
    memset((char *)local + (size_t)w->local_bytes * VM_LANES, 0, more);
    w->local = local;
    w->local_bytes = bytes;
    return true;
}

static void drop_frame(struct worker *worker, struct frame *f)
{
    memory_refund(&worker->run->vm->memory, frame_bytes(f->function));
    free(f);
}

static void release_frame(struct worker *worker, struct frame *f)
{
    struct frame **list = &worker->spare_frames[f->function->index];
    if (!keep_spare(worker, frame_bytes(f->function))) {
        drop_frame(worker, f);
        return;
    }
    f->parent = *list;
    *list = f;
}

/* ---- shared memory ---- */

static size_t shared_room(const struct run *run)
{
    return (run->shared_bytes + ROW_ALIGN) / ROW_ALIGN * ROW_ALIGN;
}

/* Filled with poison; NULL when memory is short. */
static unsigned char *take_shared(struct worker *worker)
{
    size_t room = shared_room(worker->run);
    unsigned char *shared = worker->spare_shared;
    if (shared) {
        memcpy(&worker->spare_shared, shared, sizeof worker->spare_shared);
        worker->spare_bytes -= room;
    } else if (charge(worker, room)) {
        shared = aligned_alloc(ROW_ALIGN, room);
        if (!shared)
            memory_refund(&worker->run->vm->memory, room);
    }
    if (shared)
        memset(shared, SHARED_POISON, room);
    return shared;
}

static void drop_shared(struct worker *worker, unsigned char *shared)
{
    memory_refund(&worker->run->vm->memory, shared_room(worker->run));
    free(shared);
}

static void release_shared(struct worker *worker, unsigned char *shared)
{
    if (!keep_spare(worker, shared_room(worker->run))) {
        drop_shared(worker, shared);
        return;
    }
    memcpy(shared, &worker->spare_shared, sizeof worker->spare_shared);
    worker->spare_shared = shared;
}

void spares_free(struct worker *worker)
{
    for (uint32_t i = 0; i < worker->run->program->function_count; i++)
        while (worker->spare_frames[i]) {
            struct frame *f = worker->spare_frames[i];
            worker->spare_frames[i] = f->parent;
            drop_frame(worker, f);
        }
    while (worker->spare_shared) {
        unsigned char *shared = worker->spare_shared;
        memcpy(&worker->spare_shared, shared, sizeof worker->spare_shared);
        drop_shared(worker, shared);
    }
    worker->spare_bytes = 0;
}

/* The frame, or NULL when memory is short. */
static struct frame *push(struct warp *w, const struct function *fn, struct frame *parent,
                          uint32_t mask)
{
    uint32_t align = VM_LOCAL_START - 1;
    uint32_t base = parent ? (frame_end(parent) + align) & ~align : VM_LOCAL_START;
    if (!local_room(w, base + fn->local_bytes))
        return NULL;
    struct frame *f = take_spare(w->worker, fn);
    if (!f)
        f = make_frame(w->worker, fn);
    if (!f)
        return NULL;
    f->function = fn;
    f->parent = parent;
    f->live = mask;
    f->depth = parent ? parent->depth + 1 : 0;
    f->local_base = base;
    if (f->stack_top)
        memset(f->stack, 0, sizeof f->stack);
    f->stack_top = 0;
    return f;
}

struct frame *frame_new(struct warp *w, const struct op *op, const struct function *fn,
                        struct frame *parent, uint32_t mask)
{
    int lane = __builtin_ctz(mask);
    uint64_t end = (uint64_t)frame_end(parent) + fn->local_bytes;
    if (parent->depth + 1 >= VM_MAX_DEPTH || end > VM_LOCAL_MAX) {
        stop_at(w, op, lane, PTXVM_FAULT, PTXVM_STACK_OVERFLOW,
                "call stack overflow at depth %u, %u bytes of local memory", parent->depth + 1,
                (unsigned)end);
        return NULL;
    }
    struct frame *f = push(w, fn, parent, mask);
    if (!f)
        stop_at(w, op, lane, PTXVM_NO_MEMORY, PTXVM_KIND_NONE, "no memory for a call");
    else
        f->call = op;
    return f;
}

bool frame_grow(struct warp *w, const struct op *op, uint32_t exec, const uint64_t *bytes,
                uint32_t align, uint64_t *address)
{
    struct frame *f = w->frame;
    uint64_t own = (uint64_t)f->local_base + f->function->local_bytes;
    for (uint32_t i = 0; i < VM_LANES; i++) {
        if (!(exec >> i & 1))
            continue;
        uint64_t at = (own + f->stack[i] + align - 1) & ~(uint64_t)(align - 1);
        if (bytes[i] > VM_LOCAL_MAX || at + bytes[i] > VM_LOCAL_MAX) {
            stop_at(w, op, (int)i, PTXVM_FAULT, PTXVM_STACK_OVERFLOW,
                    "alloca of %llu bytes: a thread has %d bytes of local memory",
                    (unsigned long long)bytes[i], VM_LOCAL_MAX);
            return false;
        }
        address[i] = at;
        f->stack[i] = (uint32_t)(at + bytes[i] - own);
        f->stack_top = f->stack[i] > f->stack_top ? f->stack[i] : f->stack_top;
    }
    if (local_room(w, frame_end(f)))
        return true;
    stop_at(w, op, __builtin_ctz(exec), PTXVM_NO_MEMORY, PTXVM_KIND_NONE, "no memory for alloca");
    return false;
}

void frame_leave(struct warp *w, struct frame *f, uint32_t mask)
{
    f->live &= ~mask;
    if (!f->live)
        release_frame(w->worker, f);
}

/* ---- CTAs ---- */

static bool warp_init(struct warp *w, struct cta *c, uint32_t index)
{
    const struct run *run = c->run;
    w->cta = c;
    w->worker = c->worker;
    w->index = index;
    uint32_t threads = run->threads - index * VM_LANES;
    w->lanes = w->live = threads >= VM_LANES ? VM_FULL : (UINT32_C(1) << threads) - 1;
    w->base[1] = run->program->constants;
    struct frame *f = push(
        w, vm_function(run->program, (uint32_t)(run->program->entry - run->program->module->funcs)),
        NULL, w->live);
    if (!f)
        return false;
    w->groups[0] = (struct group){.frame = f, .pc = f->function->ops, .mask = w->live};
    w->group_count = 1;
    return trace_begin(w);
}

static void coordinates(struct cta *c)
{
    const uint32_t *grid = c->run->grid;
    c->id[0] = (uint32_t)(c->linear % grid[0]);
    c->id[1] = (uint32_t)(c->linear / grid[0] % grid[1]);
    c->id[2] = (uint32_t)(c->linear / grid[0] / grid[1]);
}

struct cta *cta_new(struct worker *worker, uint64_t linear)
{
    struct run *run = worker->run;
    size_t charged = sizeof(struct cta) + run->warps * sizeof(struct warp);
    if (!charge(worker, charged))
        return NULL;
    struct cta *c = calloc(1, sizeof *c);
    if (!c) {
        memory_refund(&run->vm->memory, charged);
        return NULL;
    }
    c->charged = charged;
    c->run = run;
    c->worker = worker;
    c->linear = linear;
    coordinates(c);
    c->shared_bytes = run->shared_bytes;
    c->shared = take_shared(worker);
    c->warps = calloc(run->warps, sizeof *c->warps);
    c->random = run->vm->options.seed + linear * UINT64_C(0xd1b54a32d192ed03);
    for (uint32_t i = 0; i < run->warps; i++)
        c->order[i] = (uint8_t)i;
    bool ok = c->shared && c->warps;
    for (; ok && c->warp_count < run->warps; c->warp_count++) /* one half made is released too */
        ok = warp_init(&c->warps[c->warp_count], c, c->warp_count);
    c->live_warps = c->warp_count;
    if (ok)
        return c;
    cta_free(c);
    return NULL;
}

/* Frees the frames of lanes that never left them. */
static void warp_release(struct warp *w)
{
    trace_end(w);
    for (int i = 0; i < w->group_count; i++) {
        uint32_t mask = w->groups[i].mask;
        for (struct frame *f = mask ? w->groups[i].frame : NULL, *up; f; f = up) {
            up = f->parent;
            frame_leave(w, f, mask);
        }
    }
    memory_refund(&w->cta->run->vm->memory, (size_t)w->local_bytes * VM_LANES);
    free(w->local);
}

void cta_free(struct cta *c)
{
    if (!c)
        return;
    for (uint32_t i = 0; i < c->warp_count; i++)
        warp_release(&c->warps[i]);
    memory_refund(&c->run->vm->memory, c->charged);
    if (c->shared)
        release_shared(c->worker, c->shared);
    free(c->warps);
    free(c);
}
