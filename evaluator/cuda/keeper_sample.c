// SPDX-License-Identifier: Apache-2.0
#include "evaluator/cuda/keeper_sample.h"

#include <stdlib.h>
#include <string.h>

#include "core/util.h"
#include "evaluator/wire.h"

#define SAMPLE_MASK ((UINT64_C(1) << 40) - 1)

struct keeper_sample keeper_sample_draw(void)
{
    struct keeper_sample s;
    random_bytes(&s, sizeof(s));
    s.first &= SAMPLE_MASK;
    s.step = (s.step & SAMPLE_MASK) | 1;
    return s;
}

size_t keeper_sample_bytes(const struct keeper_task *t, int slots)
{
    size_t bytes = 0;
    for (size_t i = 0; i < t->problem->tensor_count; i++)
        if (t->problem->tensors[i].role == TENSOR_OUTPUT)
            bytes += WIRE_SAMPLES * dtype_bytes(t->problem->tensors[i].dtype);
    return bytes * (size_t)slots;
}

/* The same elements of the outputs as they are now. */
static enum err sample_now(const struct keeper_task *t, int slots, const struct keeper_sample *s,
                           void *out, size_t bytes, struct fault *f)
{
    CUdeviceptr area = 0;
    size_t at = 0;
    enum err e = driver_check(cu.MemAlloc(&area, bytes), f, "allocate room for samples");
    for (int slot = 0; slot < slots; slot++)
        for (size_t i = 0; i < t->problem->tensor_count && e == ERR_NONE; i++) {
            const struct tensor_def *def = &t->problem->tensors[i];
            if (def->role != TENSOR_OUTPUT)
                continue;
            e = kernels_sample(&t->gpu->kernels, def->dtype,
                               slot_address(&t->candidate[slot], i, MEMORY_END),
                               (int64_t)(t->shape.bytes[i] / dtype_bytes(def->dtype)), s->first,
                               s->step, WIRE_SAMPLES, area + at, f);
            at += WIRE_SAMPLES * dtype_bytes(def->dtype);
        }
    if (e == ERR_NONE)
        e = driver_check(cu.MemcpyDtoH(out, area, bytes), f, "read samples");
    if (area)
        cu.MemFree(area);
    return e;
}

enum err keeper_sample_compare(const struct keeper_task *t, int slots,
                               const struct keeper_sample *s, const void *samples, size_t *changed,
                               const char **tensor, struct fault *f)
{
    size_t bytes = keeper_sample_bytes(t, slots), at = 0;
    char *now = malloc(bytes);
    *changed = 0;
    if (!now)
        return fault_set(f, ERR_NO_MEMORY, "cannot compare samples: out of memory");
    enum err e = sample_now(t, slots, s, now, bytes, f);
    for (int slot = 0; slot < slots; slot++)
        for (size_t i = 0; i < t->problem->tensor_count && e == ERR_NONE; i++) {
            size_t size = dtype_bytes(t->problem->tensors[i].dtype);
            if (t->problem->tensors[i].role != TENSOR_OUTPUT)
                continue;
            for (size_t n = 0; n < WIRE_SAMPLES; n++, at += size)
                if (memcmp(now + at, (const char *)samples + at, size) != 0) {
                    ++*changed;
                    *tensor = t->problem->tensors[i].name;
                }
        }
    free(now);
    return e;
}
