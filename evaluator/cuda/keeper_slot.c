// SPDX-License-Identifier: Apache-2.0
#include "evaluator/cuda/keeper_slot.h"

#include <stdlib.h>
#include <unistd.h>

#include "core/util.h"
#include "evaluator/inputs.h"

enum { SIDES = 2, PER_SLOT = LIMIT_TENSORS * SIDES, SLOTS_MAX = KERNELS_COUNTS / PER_SLOT };

void slot_shape_init(struct slot_shape *s, const struct driver_device *d, const struct problem *p,
                     const struct workload *w)
{
    *s = (struct slot_shape){.device = d, .problem = p, .workload = w};
    for (size_t i = 0; i < p->tensor_count; i++) {
        int64_t shape[LIMIT_DIMS], n = problem_shape(p, w, i, shape);
        s->bytes[i] = (size_t)n * dtype_bytes(p->tensors[i].dtype);
    }
}

int64_t slot_shape_bytes(const struct slot_shape *s, enum tensor_role role)
{
    int64_t sum = 0;
    for (size_t i = 0; i < s->problem->tensor_count; i++)
        if (s->problem->tensors[i].role == role)
            sum += (int64_t)memory_size(s->device, s->bytes[i]);
    return sum;
}

static enum err tensor_new(struct slot_tensor *t, const struct slot_shape *shape, size_t i,
                           struct fault *f)
{
    *t = (struct slot_tensor){.fd = -1, .own = true};
    enum err e = memory_create(&t->block, shape->device, shape->bytes[i], true, f);
    if (e == ERR_NONE)
        e = memory_map(&t->map, shape->device, &t->block, shape->bytes[i], MEMORY_END,
                       MEMORY_READ_WRITE, f);
    return e == ERR_NONE ? memory_export(&t->block, &t->fd, f) : e;
}

enum err slot_new(struct slot *s, const struct slot_shape *shape, const struct slot *like,
                  struct fault *f)
{
    *s = (struct slot){0};
    enum err e = ERR_NONE;
    for (size_t i = 0; i < shape->problem->tensor_count && e == ERR_NONE; i++) {
        if (like && shape->problem->tensors[i].role == TENSOR_INPUT) {
            s->tensors[i] = like->tensors[i];
            s->tensors[i].own = false;
        } else {
            e = tensor_new(&s->tensors[i], shape, i, f);
        }
    }
    if (e != ERR_NONE)
        slot_free(s);
    return e;
}

void slot_free(struct slot *s)
{
    for (size_t i = 0; i < LIMIT_TENSORS; i++) {
        struct slot_tensor *t = &s->tensors[i];
        if (!t->own)
            continue;
        if (t->fd >= 0)
            close(t->fd);
        memory_unmap(&t->map);
        memory_release(&t->block);
    }
    *s = (struct slot){0};
}

/* The tensor where it lies when it is placed so. */
static struct memory_map placed(const struct slot_tensor *t, enum memory_place place)
{
    struct memory_map m = t->map;
    m.address = m.base + memory_offset(m.size, m.bytes, place);
    return m;
}

CUdeviceptr slot_address(const struct slot *s, size_t i, enum memory_place place)
{
    return placed(&s->tensors[i], place).address;
}

bool slot_is_tight(const struct slot *s, const struct slot_shape *shape)
{
    bool tight = true;
    for (size_t i = 0; i < shape->problem->tensor_count; i++)
        tight = tight && s->tensors[i].map.size == shape->bytes[i];
    return tight;
}

enum err slot_reset(const struct slot *s, const struct slot_shape *shape, enum memory_place place,
                    struct fault *f)
{
    CUresult r = CUDA_SUCCESS;
    for (size_t i = 0; i < shape->problem->tensor_count && r == CUDA_SUCCESS; i++) {
        struct memory_map m = placed(&s->tensors[i], place);
        struct memory_range slack[SIDES];
        memory_slack(&m, slack);
        for (size_t j = 0; j < SIDES && r == CUDA_SUCCESS && s->tensors[i].own; j++)
            if (slack[j].bytes)
                r = cu.MemsetD8Async(slack[j].address, SLOT_CANARY, slack[j].bytes, NULL);
        if (r == CUDA_SUCCESS && shape->problem->tensors[i].role == TENSOR_OUTPUT)
            r = cu.MemsetD8Async(m.address, POISON_BYTE, m.bytes, NULL);
    }
    return driver_check(r, f, "reset a slot");
}

/* The changed byte that is nearest to the tensor. */
static enum err measure(const struct memory_range *slack, size_t side, int64_t *distance,
                        struct fault *f)
{
    uint8_t *bytes = malloc(slack->bytes);
    if (!bytes)
        return fault_set(f, ERR_NO_MEMORY, "cannot look at canaries: out of memory");
    enum err e =
        driver_check(cu.MemcpyDtoH(bytes, slack->address, slack->bytes), f, "read canaries");
    for (size_t n = 0; e == ERR_NONE && n < slack->bytes; n++) {
        size_t at = side ? n : slack->bytes - 1 - n;
        if (bytes[at] == SLOT_CANARY)
            continue;
        *distance = side ? (int64_t)n + 1 : -(int64_t)n - 1;
        break;
    }
    free(bytes);
    return e;
}

enum err slot_check(const struct slot *slots, size_t count, const struct slot_shape *shape,
                    enum memory_place place, const struct kernels *k, struct slot_damage *out,
                    struct fault *f)
{
    static uint64_t other[KERNELS_COUNTS];
    struct memory_range slack[SIDES];
    *out = (struct slot_damage){0};
    if (count > SLOTS_MAX)
        return fault_set(f, ERR_INTERNAL, "cannot look at %zu slots at once", count);
    enum err e = kernels_clear_counts(k, f);
    for (size_t s = 0; s < count; s++)
        for (size_t i = 0; i < shape->problem->tensor_count; i++) {
            struct memory_map m = placed(&slots[s].tensors[i], place);
            memory_slack(&m, slack);
            for (size_t j = 0; j < SIDES && e == ERR_NONE && slots[s].tensors[i].own; j++)
                e = kernels_count_other_at(k, slack[j], SLOT_CANARY, s * PER_SLOT + i * SIDES + j,
                                           f);
        }
    if (e == ERR_NONE)
        e = kernels_read_counts(k, other, count * PER_SLOT, f);
    for (size_t at = 0; e == ERR_NONE && at < count * PER_SLOT; at++) {
        size_t i = at % PER_SLOT / SIDES;
        if (!other[at])
            continue;
        struct memory_map m = placed(&slots[at / PER_SLOT].tensors[i], place);
        memory_slack(&m, slack);
        *out = (struct slot_damage){.tensor = shape->problem->tensors[i].name, .bytes = other[at]};
        return measure(&slack[at % SIDES], at % SIDES, &out->distance, f);
    }
    return e;
}
