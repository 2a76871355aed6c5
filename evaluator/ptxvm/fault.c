/* SPDX-License-Identifier: Apache-2.0
 * How a launch ends before its end: the first fault wins, is located in PTX and source, and every
 * worker stops at its next look. */
#include "evaluator/ptxvm/vm.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "core/text.h"

static const char *const status_names[PTXVM_STATUS_COUNT] = {
    [PTXVM_OK] = "ok",
    [PTXVM_FAULT] = "fault",
    [PTXVM_TRAP] = "trap",
    [PTXVM_ASSERT] = "assert",
    [PTXVM_UNSUPPORTED] = "unsupported_instruction",
    [PTXVM_BUDGET] = "budget",
    [PTXVM_DEADLINE] = "deadline",
    [PTXVM_DEADLOCK] = "deadlock",
    [PTXVM_LAUNCH] = "launch",
    [PTXVM_NO_MEMORY] = "out_of_memory",
};

static const char *const kind_names[PTXVM_KIND_COUNT] = {
    [PTXVM_KIND_NONE] = "none",
    [PTXVM_OUT_OF_BOUNDS_READ] = "out_of_bounds_read",
    [PTXVM_OUT_OF_BOUNDS_WRITE] = "out_of_bounds_write",
    [PTXVM_MISALIGNED] = "misaligned",
    [PTXVM_READ_ONLY_WRITE] = "read_only_write",
    [PTXVM_NULL_ACCESS] = "null_access",
    [PTXVM_WRONG_SPACE] = "wrong_space",
    [PTXVM_STACK_OVERFLOW] = "stack_overflow",
    [PTXVM_BAD_BRANCH] = "bad_branch",
    [PTXVM_BAD_BARRIER] = "bad_barrier",
    [PTXVM_BAD_OPERAND] = "bad_operand",
};

const char *ptxvm_status_name(enum ptxvm_status s)
{
    return (unsigned)s < PTXVM_STATUS_COUNT ? status_names[s] : "unknown";
}

const char *ptxvm_kind_name(enum ptxvm_kind k)
{
    return (unsigned)k < PTXVM_KIND_COUNT ? kind_names[k] : "unknown";
}

static void locate_thread(struct ptxvm_fault *f, const struct warp *w, int lane)
{
    const struct run *run = w->cta->run;
    uint32_t linear = w->index * VM_LANES + (uint32_t)lane;
    memcpy(f->cta, w->cta->id, sizeof f->cta);
    f->thread[0] = linear % run->block[0];
    f->thread[1] = linear / run->block[0] % run->block[1];
    f->thread[2] = linear / run->block[0] / run->block[1];
    f->located = true;
}

void fault_locate(struct ptxvm_fault *f, const struct warp *w, const struct op *op, int lane)
{
    const struct program *p = w->cta->run->program;
    const struct origin *o = &p->origins[op->id];
    const struct ptx_func *fn = &p->module->funcs[o->func];
    locate_thread(f, w, lane);
    if (o->instr >= fn->instr_count)
        return;
    const struct ptx_instr *i = &fn->instrs[o->instr];
    f->ptx_line = i->line;
    const struct ptx_loc *loc = &p->module->locs[i->loc];
    f->source_line = i->loc ? loc->line : 0;
    snprintf(f->file, sizeof f->file, "%s", i->loc ? ptx_file_name(p->module, loc->file) : "");
    struct buf text;
    buf_init(&text, 4096);
    ptx_format_instr(p->module, fn, o->instr, &text);
    snprintf(f->instruction, sizeof f->instruction, "%s", text.data ? text.data : "");
    buf_release(&text);
    text_sanitize(f->file);
    text_sanitize(f->instruction);
}

/* True for the first one to come: it may fill the result, then must call finish(). */
static bool begin(struct run *run, enum ptxvm_status status)
{
    pthread_mutex_lock(&run->lock);
    if (run->result->status != PTXVM_OK) {
        pthread_mutex_unlock(&run->lock);
        return false;
    }
    run->result->status = status;
    return true;
}

static void finish(struct run *run)
{
    text_sanitize(run->result->fault.detail);
    pthread_mutex_unlock(&run->lock);
    atomic_store(&run->stop, true);
}

void stop_run(struct run *run, enum ptxvm_status status, const char *fmt, ...)
{
    if (!begin(run, status))
        return;
    va_list args;
    va_start(args, fmt);
    vsnprintf(run->result->fault.detail, sizeof run->result->fault.detail, fmt, args);
    va_end(args);
    finish(run);
}

const struct op *stop_at(struct warp *w, const struct op *op, int lane, enum ptxvm_status status,
                         enum ptxvm_kind kind, const char *fmt, ...)
{
    struct run *run = w->cta->run;
    w->event = EVENT_STOP;
    w->next = op;
    if (!begin(run, status))
        return NULL;
    struct ptxvm_fault *f = &run->result->fault;
    f->kind = kind;
    fault_locate(f, w, op, lane);
    va_list args;
    va_start(args, fmt);
    vsnprintf(f->detail, sizeof f->detail, fmt, args);
    va_end(args);
    finish(run);
    return NULL;
}

/* Memory that an access is told from. */
struct extent {
    uint64_t start, size;
};

/* Names the allocation nearest to the address, and how far away the access is. */
static struct extent nearest(struct ptxvm_fault *f, const struct warp *w, const char *space)
{
    struct extent e = {0};
    bool global = strcmp(space, "global") == 0, shared = strcmp(space, "shared") == 0;
    const struct allocation *a =
        global ? memory_nearest(&w->cta->run->vm->memory, f->address) : NULL;
    if (global && !a)
        return e;
    if (a) {
        snprintf(f->allocation, sizeof f->allocation, "%s", a->name);
        e = (struct extent){a->start, a->size};
    } else {
        snprintf(f->allocation, sizeof f->allocation, "%s memory", space);
        uint64_t window = shared ? f->address >> VM_PEER_SHIFT : 0;
        uint32_t peers = w->cta->cluster->count;
        if (window > peers && window <= VM_CLUSTER_MAX)
            snprintf(f->allocation, sizeof f->allocation, "CTA %u of a cluster of %u",
                     (uint32_t)window - 1, peers);
        e.start = (shared ? VM_SHARED_START : VM_LOCAL_START) +
                  (window <= VM_CLUSTER_MAX ? window << VM_PEER_SHIFT : 0);
        e.size = shared ? w->cta->shared_bytes : frame_end(w->frame) - VM_LOCAL_START;
    }
    if (f->address < e.start)
        f->distance = (int64_t)(f->address - e.start);
    else if (f->address + f->bytes > e.start + e.size)
        f->distance = (int64_t)(f->address + f->bytes - (e.start + e.size));
    return e;
}

static void describe(struct ptxvm_fault *f, const char *space, struct extent e, uint32_t align)
{
    static const char *const what[PTXVM_KIND_COUNT] = {
        [PTXVM_OUT_OF_BOUNDS_READ] = "out-of-bounds read of",
        [PTXVM_OUT_OF_BOUNDS_WRITE] = "out-of-bounds write of",
        [PTXVM_MISALIGNED] = "misaligned access to",
        [PTXVM_READ_ONLY_WRITE] = "write to read-only memory of",
        [PTXVM_NULL_ACCESS] = "access through a null pointer to",
        [PTXVM_WRONG_SPACE] = "access outside the address space of",
    };
    char where[PTXVM_TEXT] = "";
    if (f->allocation[0] && f->distance > 0)
        snprintf(where, sizeof where, ", %" PRId64 " bytes past the end of %s (%" PRIu64 " bytes)",
                 f->distance, f->allocation, e.size);
    else if (f->allocation[0] && f->distance < 0)
        snprintf(where, sizeof where, ", %" PRIu64 " bytes before %s", -(uint64_t)f->distance,
                 f->allocation);
    else if (f->allocation[0])
        snprintf(where, sizeof where, ", byte %" PRIu64 " of %s", f->address - e.start,
                 f->allocation);
    char needed[64] = "";
    if (f->kind == PTXVM_MISALIGNED)
        snprintf(needed, sizeof needed, ": a multiple of %u is needed", align);
    snprintf(f->detail, sizeof f->detail,
             "%s %" PRIu64 " bytes of %s memory at 0x%" PRIx64 "%.200s%s",
             what[f->kind] ? what[f->kind] : "bad access to", f->bytes, space, f->address, where,
             needed);
}

const struct op *stop_access(struct warp *w, const struct op *op, int lane, enum ptxvm_kind kind,
                             uint64_t address, uint32_t n, uint32_t align, const char *space)
{
    struct run *run = w->cta->run;
    w->event = EVENT_STOP;
    w->next = op;
    if (!begin(run, PTXVM_FAULT))
        return NULL;
    struct ptxvm_fault *f = &run->result->fault;
    bool outside = kind == PTXVM_OUT_OF_BOUNDS_READ || kind == PTXVM_OUT_OF_BOUNDS_WRITE;
    f->kind =
        outside && strcmp(space, "global") == 0 && address < VM_NULL_END ? PTXVM_NULL_ACCESS : kind;
    f->address = address;
    f->bytes = n;
    struct extent e = nearest(f, w, space);
    if (f->kind == PTXVM_NULL_ACCESS)
        f->allocation[0] = '\0', f->distance = 0;
    fault_locate(f, w, op, lane);
    describe(f, space, e, align);
    finish(run);
    return NULL;
}
