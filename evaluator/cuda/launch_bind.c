// SPDX-License-Identifier: Apache-2.0
#include "evaluator/cuda/launch_bind.h"

#include <stdio.h>
#include <string.h>

static CUdeviceptr address_of(const struct bind_space *space, enum plan_space in, int index)
{
    return in == PLAN_TENSOR ? space->tensors[index] : space->scratch->buffers[index].map.address;
}

/* The values of plan_tensor_map are those of the driver's enums: core/tensor_map.h. */
static CUresult encode(CUtensorMap *out, const struct bind_space *space,
                       const struct plan_tensor_map *m)
{
    cuuint64_t dims[LIMIT_DIMS], strides[LIMIT_DIMS];
    cuuint32_t box[LIMIT_DIMS], steps[LIMIT_DIMS];
    for (int i = 0; i < m->rank; i++) {
        dims[i] = m->dims[i];
        strides[i] = m->strides[i];
        box[i] = m->box[i];
        steps[i] = m->element_strides[i];
    }
    CUdeviceptr base = address_of(space, m->space, m->index) + m->offset_bytes;
    return cu.TensorMapEncodeTiled(
        out, (CUtensorMapDataType)m->data_type, (cuuint32_t)m->rank, (void *)(uintptr_t)base, dims,
        &strides[1], box, steps, (CUtensorMapInterleave)m->interleave,
        (CUtensorMapSwizzle)m->swizzle, (CUtensorMapL2promotion)m->l2_promotion,
        (CUtensorMapFloatOOBfill)m->oob_fill);
}

bool bind_maps(struct bind_space *space, const struct plan *plan, struct launch_fault *fault)
{
    for (size_t i = 0; i < plan->map_count; i++) {
        char doing[LIMIT_NAME + 32];
        snprintf(doing, sizeof(doing), "make tensor map %s", plan->maps[i].name);
        if (launch_fault_set(fault, encode(&space->maps[i], space, &plan->maps[i]), "", -1, doing))
            return false;
    }
    return true;
}

static void put_arg(const struct bind_space *space, const struct plan_arg *a, uint8_t *at)
{
    CUdeviceptr address;
    switch (a->kind) {
    case ARG_TENSOR:
    case ARG_BUFFER:
        address = address_of(space, a->kind == ARG_TENSOR ? PLAN_TENSOR : PLAN_BUFFER, a->index) +
                  (CUdeviceptr)a->offset_bytes;
        memcpy(at, &address, sizeof(address));
        break;
    case ARG_TENSOR_MAP:
        memcpy(at, &space->maps[a->index], sizeof(CUtensorMap));
        break;
    case ARG_STRUCT:
        for (size_t i = 0; i < a->member_count; i++)
            put_arg(space, &a->members[i], at + a->members[i].offset);
        break;
    default:
        memcpy(at, a->bytes, a->size);
    }
}

void bind_launch(const struct bind_space *space, const struct plan_launch *launch,
                 struct bind_params *out)
{
    size_t offsets[LIMIT_ARGS];
    memset(out->bytes, 0, sizeof(out->bytes)); /* padding inside structs shows nothing of ours */
    plan_param_layout(launch, offsets);
    for (size_t i = 0; i < launch->arg_count; i++) {
        put_arg(space, &launch->args[i], out->bytes + offsets[i]);
        out->pointers[i] = out->bytes + offsets[i];
    }
}
