// SPDX-License-Identifier: Apache-2.0
#include "evaluator/cuda/scratch.h"

#include <stdio.h>

enum { POISON_BYTE = 0xff }; /* a NaN of every float type */

/* No room for what a plan asks for is the plan's fault; the rest is ours. */
static bool note(const struct fault *f, const struct plan_buffer *b, struct launch_fault *fault)
{
    *fault = (struct launch_fault){.launch = -1};
    snprintf(fault->kind, sizeof(fault->kind), "%s", f->code == ERR_NO_MEMORY ? "memory" : "infra");
    snprintf(fault->detail, sizeof(fault->detail), "buffer %s: %.400s", b->name, f->detail);
    return false;
}

/* The literal data, with zeroes behind, in a place that no kernel knows of. */
static CUresult fill_master(const struct memory *master, const struct plan_buffer *b)
{
    CUresult r = cu.MemsetD8Async(master->map.address, 0, (size_t)b->bytes, NULL);
    r = r ? r : cu.StreamSynchronize(NULL);
    if (b->data.len)
        r = r ? r : cu.MemcpyHtoD(master->map.address, b->data.data, b->data.len);
    return r;
}

static bool open_buffer(struct scratch *s, size_t i, struct launch_fault *fault)
{
    const struct plan_buffer *b = &s->plan->buffers[i];
    struct fault f = {0};
    enum err e = memory_new(&s->buffers[i], s->device, (size_t)b->bytes, MEMORY_END, &f);
    if (e == ERR_NONE && b->init == BUFFER_DATA)
        e = memory_new(&s->masters[i], s->device, (size_t)b->bytes, MEMORY_END, &f);
    if (e == ERR_NONE && b->init == BUFFER_DATA)
        e = driver_check(fill_master(&s->masters[i], b), &f, "copy its data");
    return e == ERR_NONE || note(&f, b, fault);
}

bool scratch_open(struct scratch *s, const struct driver_device *device, const struct plan *plan,
                  struct launch_fault *fault)
{
    *s = (struct scratch){.device = device, .plan = plan};
    for (size_t i = 0; i < plan->buffer_count; i++) {
        if (!open_buffer(s, i, fault)) {
            scratch_close(s);
            return false;
        }
    }
    return true;
}

void scratch_close(struct scratch *s)
{
    for (size_t i = 0; i < LIMIT_BUFFERS; i++) {
        memory_free(&s->buffers[i]);
        memory_free(&s->masters[i]);
    }
}

bool scratch_prepare(struct scratch *s, CUstream stream, struct launch_fault *fault)
{
    for (size_t i = 0; i < s->plan->buffer_count; i++) {
        const struct plan_buffer *b = &s->plan->buffers[i];
        CUdeviceptr at = s->buffers[i].map.address;
        CUresult r = CUDA_SUCCESS;
        if (b->init == BUFFER_POISON)
            r = cu.MemsetD8Async(at, POISON_BYTE, (size_t)b->bytes, stream);
        else if (b->init == BUFFER_DATA)
            r = cu.MemcpyDtoDAsync(at, s->masters[i].map.address, (size_t)b->bytes, stream);
        if (launch_fault_set(fault, r, "", -1, "fill a buffer"))
            return false;
    }
    return true;
}

bool scratch_zero(struct scratch *s, CUstream stream, struct launch_fault *fault)
{
    for (size_t i = 0; i < s->plan->buffer_count; i++) {
        const struct plan_buffer *b = &s->plan->buffers[i];
        if (b->init != BUFFER_ZERO)
            continue;
        CUresult r = cu.MemsetD8Async(s->buffers[i].map.address, 0, (size_t)b->bytes, stream);
        if (launch_fault_set(fault, r, "", -1, "zero a buffer"))
            return false;
    }
    return true;
}

bool scratch_seal(struct scratch *s, size_t buffer, struct launch_fault *fault)
{
    struct fault f = {0};
    enum err e = memory_protect(&s->buffers[buffer].map, s->device, MEMORY_READ_ONLY, &f);
    return e == ERR_NONE || note(&f, &s->plan->buffers[buffer], fault);
}

bool scratch_capture(struct scratch *s, struct buf *out, json_t *list, struct launch_fault *fault)
{
    for (size_t i = 0; i < s->plan->buffer_count; i++) {
        const struct plan_buffer *b = &s->plan->buffers[i];
        if (!b->capture)
            continue;
        size_t room = LIMIT_CAPTURE - out->len;
        size_t n = (size_t)b->bytes < room ? (size_t)b->bytes : room;
        char *to = buf_room(out, n);
        CUresult r = to ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
        if (to && n)
            r = cu.MemcpyDtoH(to, s->buffers[i].map.address, n);
        if (launch_fault_set(fault, r, "", -1, "read a captured buffer") || !to)
            return false;
        out->len += n;
        to[n] = 0;
        json_array_append_new(list,
                              json_pack("{s:s, s:I}", "name", b->name, "bytes", (json_int_t)n));
    }
    return true;
}
