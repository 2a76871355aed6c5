// SPDX-License-Identifier: Apache-2.0
#include "evaluator/cuda/launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evaluator/cuda/launch_bind.h"
#include "evaluator/cuda/module.h"
#include "evaluator/wire.h"

/* Parameters of all launches for one slot; allocated when it is bound. */
struct binding {
    struct bind_space space;
    struct bind_params params[]; /* one per launch */
};

struct launcher {
    struct launcher_spec spec;
    struct module module;
    struct scratch scratch;
    struct binding *slots[WIRE_SLOTS]; /* owned; NULL: not bound */
    bool filled;                       /* buffers that a launch fills are filled */
    uint32_t *mark;                    /* host memory: launches that ended in launcher_run() */
    CUdeviceptr mark_address;
};

static bool open_launcher(struct launcher *l, struct launch_fault *fault)
{
    void *mark = NULL;
    CUresult r = cu.MemHostAlloc(&mark, sizeof(*l->mark), CU_MEMHOSTALLOC_DEVICEMAP);
    l->mark = mark;
    r = r ? r : cu.MemHostGetDevicePointer(&l->mark_address, mark, 0);
    return !launch_fault_set(fault, r, "", -1, "set up a launcher") &&
           scratch_open(&l->scratch, l->spec.device, l->spec.plan, fault);
}

struct launcher *launcher_new(const struct launcher_spec *spec, struct launch_fault *fault)
{
    struct launcher *l = calloc(1, sizeof(*l));
    if (!l) {
        launch_fault_set(fault, CUDA_ERROR_OUT_OF_MEMORY, "", -1, "set up a launcher");
        return NULL;
    }
    l->spec = *spec;
    if (open_launcher(l, fault))
        return l;
    launcher_free(l);
    return NULL;
}

void launcher_free(struct launcher *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < WIRE_SLOTS; i++)
        free(l->slots[i]);
    module_unload(&l->module);
    scratch_close(&l->scratch);
    if (l->mark)
        cu.MemFreeHost(l->mark);
    free(l);
}

CUmodule launcher_module(const struct launcher *l)
{
    return l->module.handle;
}

static CUresult queue_launch(CUfunction function, const struct plan_launch *l,
                             struct bind_params *params, CUstream stream)
{
    CUlaunchAttribute attributes[3];
    CUlaunchConfig config = {
        .gridDimX = (unsigned)l->grid[0],
        .gridDimY = (unsigned)l->grid[1],
        .gridDimZ = (unsigned)l->grid[2],
        .blockDimX = (unsigned)l->block[0],
        .blockDimY = (unsigned)l->block[1],
        .blockDimZ = (unsigned)l->block[2],
        .sharedMemBytes = (unsigned)l->shared_bytes,
        .hStream = stream,
        .attrs = attributes,
    };
    memset(attributes, 0, sizeof(attributes));
    if (l->cluster[0]) {
        CUlaunchAttribute *a = &attributes[config.numAttrs++];
        a->id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        a->value.clusterDim.x = (unsigned)l->cluster[0];
        a->value.clusterDim.y = (unsigned)l->cluster[1];
        a->value.clusterDim.z = (unsigned)l->cluster[2];
    }
    if (l->cooperative) {
        CUlaunchAttribute *a = &attributes[config.numAttrs++];
        a->id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
        a->value.cooperative = 1;
    }
    if (l->programmatic_dependent) {
        CUlaunchAttribute *a = &attributes[config.numAttrs++];
        a->id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
        a->value.programmaticStreamSerializationAllowed = 1;
    }
    return cu.LaunchKernelEx(&config, function, params->pointers, NULL);
}

/* A fault that the driver reports while it queues is one of a kernel before. */
static bool queue_fault(struct launch_fault *fault, CUresult r, const struct plan_launch *l,
                        int index)
{
    bool earlier = driver_is_sticky(r);
    return launch_fault_set(fault, r, earlier ? "" : l->kernel, earlier ? -1 : index,
                            "launch the kernel");
}

/* Runs the launch that fills buffer i, waits, and makes the buffer read-only. */
static bool fill(struct launcher *l, size_t i, struct launch_fault *fault)
{
    const struct plan_launch *launch = l->spec.plan->buffers[i].launch;
    CUdeviceptr at = l->scratch.buffers[i].map.address;
    struct bind_space space = {.scratch = &l->scratch};
    struct bind_params params;
    bind_launch(&space, launch, &params);
    CUresult r = cu.MemsetD8Async(at, 0xff, (size_t)l->spec.plan->buffers[i].bytes, NULL);
    r = r ? r : queue_launch(l->module.fills[i], launch, &params, NULL);
    r = r ? r : cu.StreamSynchronize(NULL);
    if (launch_fault_set(fault, r, launch->kernel, -1, "launch the kernel that fills a buffer"))
        return false;
    return scratch_seal(&l->scratch, i, fault);
}

bool launcher_load(struct launcher *l, struct launch_fault *fault)
{
    module_unload(&l->module);
    if (!module_load(&l->module, &l->spec, fault))
        return false;
    bool ok = true;
    for (size_t i = 0; ok && !l->filled && i < l->spec.plan->buffer_count; i++)
        if (l->spec.plan->buffers[i].launch)
            ok = fill(l, i, fault);
    l->filled = l->filled || ok;
    return ok;
}

bool launcher_bind(struct launcher *l, int slot, const CUdeviceptr tensors[LIMIT_TENSORS],
                   struct launch_fault *fault)
{
    const struct plan *plan = l->spec.plan;
    struct binding *b = l->slots[slot];
    size_t size = sizeof(*b) + plan->launch_count * sizeof(b->params[0]);
    if (!b)
        b = l->slots[slot] = aligned_alloc(_Alignof(struct binding), size);
    if (!b)
        return !launch_fault_set(fault, CUDA_ERROR_OUT_OF_MEMORY, "", -1, "bind a slot");
    memcpy(b->space.tensors, tensors, sizeof(b->space.tensors));
    b->space.scratch = &l->scratch;
    if (!bind_maps(&b->space, plan, fault))
        return false;
    for (size_t i = 0; i < plan->launch_count; i++)
        bind_launch(&b->space, &plan->launches[i], &b->params[i]);
    return true;
}

bool launcher_prepare(struct launcher *l, CUstream stream, struct launch_fault *fault)
{
    return scratch_prepare(&l->scratch, stream, fault);
}

size_t launcher_operations(const struct launcher *l)
{
    return 2 * l->spec.plan->buffer_count + l->spec.plan->launch_count;
}

static bool record(const CUevent *events, size_t i, CUstream stream, struct launch_fault *fault)
{
    CUresult r = events ? cu.EventRecord(events[i], stream) : CUDA_SUCCESS;
    return !launch_fault_set(fault, r, "", -1, "record an event");
}

/* Says in host memory that launch i has ended, unless that would part it from the next one. */
static CUresult mark_end(struct launcher *l, size_t i, CUstream stream)
{
    const struct plan *plan = l->spec.plan;
    if (i + 1 < plan->launch_count && plan->launches[i + 1].programmatic_dependent)
        return CUDA_SUCCESS;
    return cu.StreamWriteValue32(stream, l->mark_address, (cuuint32_t)(i + 1),
                                 CU_STREAM_WRITE_VALUE_DEFAULT);
}

/* Launches `from` … `to` - 1 of the plan, buffers zeroed ahead of the first one of all. */
struct span {
    size_t from, to;
};

static bool enqueue(struct launcher *l, int slot, CUstream stream, struct span span,
                    const CUevent *events, bool marked, struct launch_fault *fault)
{
    const struct plan *plan = l->spec.plan;
    struct binding *b = l->slots[slot];
    if (!record(events, 0, stream, fault) ||
        (span.from == 0 && !scratch_zero(&l->scratch, stream, fault)))
        return false;
    for (size_t i = span.from; i < span.to; i++) {
        CUresult r = queue_launch(l->module.launches[i], &plan->launches[i], &b->params[i], stream);
        if (r == CUDA_SUCCESS && marked)
            r = mark_end(l, i, stream);
        if (queue_fault(fault, r, &plan->launches[i], (int)i) ||
            !record(events, i + 1, stream, fault))
            return false;
    }
    return true;
}

bool launcher_enqueue(struct launcher *l, int slot, CUstream stream, const CUevent *events,
                      struct launch_fault *fault)
{
    return enqueue(l, slot, stream, (struct span){0, l->spec.plan->launch_count}, events, false,
                   fault);
}

bool launcher_enqueue_until(struct launcher *l, int slot, CUstream stream, size_t launch,
                            struct launch_fault *fault)
{
    return enqueue(l, slot, stream, (struct span){0, launch}, NULL, false, fault);
}

bool launcher_enqueue_one(struct launcher *l, int slot, CUstream stream, size_t launch,
                          struct launch_fault *fault)
{
    struct binding *b = l->slots[slot];
    const struct plan_launch *p = &l->spec.plan->launches[launch];
    CUresult r = queue_launch(l->module.launches[launch], p, &b->params[launch], stream);
    return !queue_fault(fault, r, p, (int)launch);
}

/* Lays a kernel's fault to a launch of the plan; to its only one if none is known. */
static void blame(const struct launcher *l, size_t launch, struct launch_fault *fault)
{
    const struct plan *plan = l->spec.plan;
    if (plan->launch_count == 1)
        launch = 0;
    if (!fault->sticky || launch >= plan->launch_count)
        return;
    fault->launch = (int)launch;
    snprintf(fault->kernel, sizeof(fault->kernel), "%s", plan->launches[launch].kernel);
}

bool launcher_wait(struct launcher *l, CUstream stream, struct launch_fault *fault)
{
    if (!launch_fault_set(fault, cu.StreamSynchronize(stream), "", -1, "wait for the kernels"))
        return true;
    blame(l, LIMIT_LAUNCHES, fault);
    return false;
}

bool launcher_run(struct launcher *l, int slot, CUstream stream, struct launch_fault *fault)
{
    volatile uint32_t *mark = l->mark;
    *mark = 0;
    const struct span all = {0, l->spec.plan->launch_count};
    if (launcher_prepare(l, stream, fault) && enqueue(l, slot, stream, all, NULL, true, fault) &&
        launcher_wait(l, stream, fault))
        return true;
    blame(l, *mark, fault);
    return false;
}

bool launcher_capture(struct launcher *l, struct buf *out, json_t *list, struct launch_fault *fault)
{
    return scratch_capture(&l->scratch, out, list, fault);
}
