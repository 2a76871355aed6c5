/* SPDX-License-Identifier: Apache-2.0
 * Every access of a lane is checked here: mapped, inside one allocation, aligned, permitted, in the
 * space the instruction names. The allocation an instruction hit last is looked at first. */
#include "evaluator/ptxvm/vm.h"

#include <string.h>

const struct allocation *access_find(struct warp *w, const struct op *op, uint64_t address,
                                     uint64_t n)
{
    const struct memory *m = &w->cta->run->vm->memory;
    uint32_t hint = w->worker->hints[op->id];
    if (hint < m->count) {
        const struct allocation *a = &m->items[hint];
        uint64_t offset = address - a->start;
        if (offset < a->size && n <= a->size - offset)
            return a;
    }
    const struct allocation *a = memory_find(m, address, n);
    if (a) {
        w->worker->hints[op->id] = (uint32_t)(a - m->items);
        return a;
    }
    const struct run *run = w->cta->run;
    const struct allocation *own = address < VM_WORKSPACE ? &run->params : &run->workspace;
    uint64_t offset = address - own->start;
    return offset < own->size && n <= own->size - offset ? own : NULL;
}

unsigned char *access_global(struct warp *w, const struct op *op, int lane, uint64_t address,
                             uint32_t n, uint32_t align, enum access mode)
{
    const struct allocation *a = access_find(w, op, address, n);
    enum ptxvm_kind kind = PTXVM_KIND_NONE;
    if (!a)
        kind = mode == ACCESS_READ ? PTXVM_OUT_OF_BOUNDS_READ : PTXVM_OUT_OF_BOUNDS_WRITE;
    else if (address & (align - 1))
        kind = PTXVM_MISALIGNED;
    else if (mode == ACCESS_WRITE && a->read_only)
        kind = PTXVM_READ_ONLY_WRITE;
    if (kind == PTXVM_KIND_NONE)
        return a->host + (address - a->start);
    stop_access(w, op, lane, kind, address, n, align, "global");
    return NULL;
}

unsigned char *access_shared(struct warp *w, const struct op *op, int lane, uint64_t address,
                             uint32_t n, uint32_t align, enum access mode)
{
    uint64_t own = address;
    const struct cta *c = cluster_shared(w->cta, &own);
    uint64_t offset = own - VM_SHARED_START;
    if (c && own >= VM_SHARED_START && offset <= c->shared_bytes && n <= c->shared_bytes - offset &&
        (address & (align - 1)) == 0)
        return c->shared + offset;
    enum ptxvm_kind kind = (address & (align - 1))     ? PTXVM_MISALIGNED
                           : address >> VM_WINDOW_BITS ? PTXVM_WRONG_SPACE
                           : mode == ACCESS_READ       ? PTXVM_OUT_OF_BOUNDS_READ
                                                       : PTXVM_OUT_OF_BOUNDS_WRITE;
    stop_access(w, op, lane, kind, address, n, align, "shared");
    return NULL;
}

bool access_local(struct warp *w, const struct op *op, int lane, uint64_t address, uint32_t n,
                  uint32_t align, enum access mode)
{
    uint64_t end = frame_end(w->frame);
    if (address >= VM_LOCAL_START && address <= end && n <= end - address &&
        (address & (align - 1)) == 0)
        return true;
    enum ptxvm_kind kind = (address & (align - 1))     ? PTXVM_MISALIGNED
                           : address >> VM_WINDOW_BITS ? PTXVM_WRONG_SPACE
                           : mode == ACCESS_READ       ? PTXVM_OUT_OF_BOUNDS_READ
                                                       : PTXVM_OUT_OF_BOUNDS_WRITE;
    stop_access(w, op, lane, kind, address, n, align, "local");
    return false;
}

bool access_copy(struct warp *w, const struct op *op, int lane, uint64_t address, void *out,
                 uint32_t n)
{
    unsigned char *to = out;
    uint64_t window = address >> VM_WINDOW_BITS;
    for (uint32_t i = 0; i < n; i++, address++) {
        uint64_t offset = address & ((UINT64_C(1) << VM_WINDOW_BITS) - 1);
        if (window == VM_LOCAL_WINDOW >> VM_WINDOW_BITS) {
            if (!access_local(w, op, lane, offset, 1, 1, ACCESS_READ))
                return false;
            memcpy(&to[i], (char *)local_word(w, lane, offset) + (offset & 3), 1);
            continue;
        }
        const unsigned char *from = window == VM_SHARED_WINDOW >> VM_WINDOW_BITS
                                        ? access_shared(w, op, lane, offset, 1, 1, ACCESS_READ)
                                        : access_global(w, op, lane, address, 1, 1, ACCESS_READ);
        if (!from)
            return false;
        to[i] = *from;
    }
    return true;
}
