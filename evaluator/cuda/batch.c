// SPDX-License-Identifier: Apache-2.0
#include "evaluator/cuda/batch.h"

#include <stdio.h>
#include <string.h>

#include "core/util.h"
#include "evaluator/cuda/batch_kernels.h"
#include "evaluator/inputs.h"

/* The driver holds about a thousand operations before it makes the host wait, and behind a closed
 * gate that would be for ever: past this many the gate opens. */
enum {
    GATED_OPERATIONS = 640,
    FLUSH_THREADS = 512,
    SCRUB_THREADS = 1024,
    FLUSH_BLOCKS_PER_SM = 4,
    PIECE = 16,
    SAMPLE_THREADS = 256,
};

static CUresult open_kernels(struct batch *b)
{
    const struct {
        const char *name;
        CUfunction *out;
    } ours[] = {
        {"write", &b->write}, {"read", &b->read},     {"scrub", &b->scrub},
        {"empty", &b->empty}, {"sample", &b->sample},
    };
    CUresult r = cu.ModuleLoadData(&b->kernels, batch_kernels_ptx);
    for (size_t i = 0; i < COUNT_OF(ours) && r == CUDA_SUCCESS; i++) {
        r = cu.ModuleGetFunction(ours[i].out, b->kernels, ours[i].name);
        r = r ? r : cu.FuncLoad(*ours[i].out);
    }
    return r ? r
             : cu.FuncSetAttribute(b->scrub, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                   b->device->shared_bytes);
}

static CUresult open_gate(struct batch *b)
{
    void *host = NULL;
    CUresult r = cu.MemHostAlloc(&host, sizeof(*b->gate), CU_MEMHOSTALLOC_DEVICEMAP);
    b->gate = host;
    if (r == CUDA_SUCCESS)
        *b->gate = 0;
    return r ? r : cu.MemHostGetDevicePointer(&b->gate_address, host, 0);
}

enum err batch_open(struct batch *b, const struct driver_device *d, struct fault *f)
{
    *b = (struct batch){.device = d};
    enum err e = memory_new(&b->flush, d, 3 * (size_t)d->l2_bytes, MEMORY_START, f);
    if (e == ERR_NONE)
        e = memory_new(&b->sampled, d, LIMIT_CAPTURE, MEMORY_START, f);
    CUresult r = e == ERR_NONE ? cu.StreamCreate(&b->stream, CU_STREAM_NON_BLOCKING)
                               : CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < COUNT_OF(b->events) && r == CUDA_SUCCESS; i++)
        r = cu.EventCreate(&b->events[i], CU_EVENT_DEFAULT);
    r = r ? r : open_kernels(b);
    r = r ? r : open_gate(b);
    if (e == ERR_NONE)
        e = driver_check(r, f, "set up timing");
    if (e != ERR_NONE)
        batch_close(b);
    return e;
}

void batch_close(struct batch *b)
{
    for (size_t i = 0; i < COUNT_OF(b->events); i++)
        if (b->events[i])
            cu.EventDestroy(b->events[i]);
    if (b->stream)
        cu.StreamDestroy(b->stream);
    if (b->kernels)
        cu.ModuleUnload(b->kernels);
    if (b->gate)
        cu.MemFreeHost((void *)(uintptr_t)b->gate);
    memory_free(&b->sampled);
    memory_free(&b->flush);
    *b = (struct batch){0};
}

static CUresult launch_ours(const struct batch *b, CUfunction function, unsigned blocks,
                            unsigned threads, int shared_bytes, void **params)
{
    CUlaunchConfig config = {.gridDimX = blocks,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = threads,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .hStream = b->stream,
                             .sharedMemBytes = (unsigned)shared_bytes};
    return cu.LaunchKernelEx(&config, function, params, NULL);
}

/* A block per multiprocessor, each too large to share one. */
static bool scrub_shared(struct batch *b, struct launch_fault *fault)
{
    int bytes = b->device->shared_bytes;
    void *params[] = {&bytes};
    CUresult r =
        launch_ours(b, b->scrub, (unsigned)b->device->num_sms, SCRUB_THREADS, bytes, params);
    return !launch_fault_set(fault, r, "", -1, "wipe shared memory");
}

/* Writes 2 x L2, then reads 1 x L2 behind it. */
static bool flush_cache(struct batch *b, struct launch_fault *fault)
{
    uint64_t l2 = (uint64_t)b->device->l2_bytes, pieces = 2 * l2 / PIECE, read_pieces = l2 / PIECE;
    CUdeviceptr area = b->flush.map.address, behind = area + 2 * l2;
    uint32_t value = 0;
    unsigned blocks = (unsigned)b->device->num_sms * FLUSH_BLOCKS_PER_SM;
    void *write[] = {&area, &pieces, &value}, *read[] = {&behind, &read_pieces};
    CUresult r = launch_ours(b, b->write, blocks, FLUSH_THREADS, 0, write);
    r = r ? r : launch_ours(b, b->read, blocks, FLUSH_THREADS, 0, read);
    return !launch_fault_set(fault, r, "", -1, "flush the cache");
}

static bool run_baseline(struct batch *b, int slot, struct launch_fault *fault)
{
    struct fault f = {0};
    if (baseline_enqueue(b->baseline, b->slots[slot], b->stream, &f) == ERR_NONE)
        return true;
    *fault = (struct launch_fault){.kind = "infra", .launch = -1};
    snprintf(fault->detail, sizeof(fault->detail), "%s", f.detail);
    return false;
}

static bool run_candidate(struct batch *b, int slot, struct launch_fault *fault)
{
    return launcher_enqueue(b->candidate, slot, b->stream, NULL, fault);
}

static bool run_empty(struct batch *b, int slot, struct launch_fault *fault)
{
    (void)slot;
    return !launch_fault_set(fault, launch_ours(b, b->empty, 1, 32, 0, NULL), "", -1,
                             "launch the empty kernel");
}

/* How each side puts one run into the stream. */
static bool (*const sides[])(struct batch *, int slot, struct launch_fault *) = {
    [BATCH_BASELINE] = run_baseline,
    [BATCH_CANDIDATE] = run_candidate,
    [BATCH_EMPTY] = run_empty,
};

static bool close_gate(struct batch *b, struct launch_fault *fault)
{
    b->tick++;
    CUresult r = cu.CtxResetPersistingL2Cache();
    r = r ? r : cu.StreamWaitValue32(b->stream, b->gate_address, b->tick, CU_STREAM_WAIT_VALUE_EQ);
    return !launch_fault_set(fault, r, "", -1, "hold the stream");
}

static bool record(struct batch *b, size_t event, struct launch_fault *fault)
{
    return !launch_fault_set(fault, cu.EventRecord(b->events[event], b->stream), "", -1,
                             "record an event");
}

static bool poison_outputs(struct batch *b, int slot, struct launch_fault *fault)
{
    CUresult r = CUDA_SUCCESS;
    for (size_t i = 0; i < b->output_count && r == CUDA_SUCCESS; i++)
        r = cu.MemsetD8Async(b->slots[slot][b->outputs[i].tensor], POISON_BYTE, b->outputs[i].bytes,
                             b->stream);
    return !launch_fault_set(fault, r, "", -1, "poison what the baseline has written");
}

/* Copies elements of what the candidate has written, before anything else can run. */
static bool sample_outputs(struct batch *b, int slot, struct launch_fault *fault)
{
    CUresult r = CUDA_SUCCESS;
    for (size_t i = 0; i < b->output_count && r == CUDA_SUCCESS && b->sample_step; i++) {
        const struct batch_output *o = &b->outputs[i];
        CUdeviceptr from = b->slots[slot][o->tensor];
        CUdeviceptr to = b->sampled.map.address + b->sampled_bytes;
        uint64_t elements = o->bytes / o->element_bytes;
        uint32_t bytes = (uint32_t)o->element_bytes;
        void *params[] = {&from, &elements, &b->sample_first, &b->sample_step, &bytes, &to};
        b->sampled_bytes += WIRE_SAMPLES * o->element_bytes;
        r = b->sampled_bytes > LIMIT_CAPTURE
                ? CUDA_ERROR_OUT_OF_MEMORY
                : launch_ours(b, b->sample, WIRE_SAMPLES / SAMPLE_THREADS, SAMPLE_THREADS, 0,
                              params);
    }
    return !launch_fault_set(fault, r, "", -1, "look at what was written");
}

static bool queue_entry(struct batch *b, const struct batch_entry *entry, size_t at, bool measured,
                        struct launch_fault *fault)
{
    bool ok = entry->side != BATCH_CANDIDATE || launcher_prepare(b->candidate, b->stream, fault);
    ok = ok && scrub_shared(b, fault) && flush_cache(b, fault) && record(b, 2 * at, fault) &&
         sides[entry->side](b, entry->slot, fault) && record(b, 2 * at + 1, fault);
    if (ok && entry->side == BATCH_BASELINE)
        ok = poison_outputs(b, entry->slot, fault);
    if (ok && entry->side == BATCH_CANDIDATE && measured)
        ok = sample_outputs(b, entry->slot, fault);
    return ok;
}

static bool finish(struct batch *b, bool ok, struct launch_fault *fault)
{
    *b->gate = b->tick; /* also after a failure: nothing may stay behind a closed gate */
    if (!ok)
        return false;
    if (b->candidate)
        return launcher_wait(b->candidate, b->stream, fault);
    return !launch_fault_set(fault, cu.StreamSynchronize(b->stream), "", -1, "wait for the batch");
}

static bool elapsed(const struct batch *b, size_t from, size_t to, double *us,
                    struct launch_fault *fault)
{
    float ms = 0;
    CUresult r = cu.EventElapsedTime(&ms, b->events[from], b->events[to]);
    *us = (double)ms * 1e3;
    return !launch_fault_set(fault, r, "", -1, "read a time");
}

bool batch_run(struct batch *b, const struct batch_entry *entries, size_t count, size_t untimed,
               double *us, struct launch_fault *fault)
{
    size_t each = 8 + b->output_count + (b->candidate ? launcher_operations(b->candidate) : 0) +
                  (b->baseline ? baseline_operations(b->baseline) : 0);
    bool ok = true;
    b->sampled_bytes = 0;
    for (size_t i = 0; ok && i < untimed; i++)
        ok = queue_entry(b, &entries[i], i, false, fault);
    ok = ok && (!untimed || (finish(b, true, fault) && close_gate(b, fault)));
    for (size_t i = untimed; ok && i < count; i++) {
        ok = queue_entry(b, &entries[i], i, true, fault);
        if ((i + 1 - untimed) * each > GATED_OPERATIONS)
            *b->gate = b->tick;
    }
    ok = finish(b, ok, fault);
    for (size_t i = untimed; ok && i < count; i++)
        ok = elapsed(b, 2 * i, 2 * i + 1, &us[i - untimed], fault);
    return ok;
}

bool batch_check(struct batch *b, int slot, struct launch_fault *fault)
{
    return scrub_shared(b, fault) && launcher_run(b->candidate, slot, b->stream, fault);
}

bool batch_split(struct batch *b, int slot, size_t launch_count, size_t repeat, double *us,
                 struct launch_fault *fault)
{
    size_t row = launch_count + 1, each = 8 + launcher_operations(b->candidate) + launch_count;
    const struct batch_entry first = {BATCH_CANDIDATE, slot};
    bool ok = batch_run(b, &first, 1, 1, us, fault) && close_gate(b, fault);
    for (size_t i = 0; ok && i < repeat; i++) {
        ok = launcher_prepare(b->candidate, b->stream, fault) && scrub_shared(b, fault) &&
             flush_cache(b, fault) &&
             launcher_enqueue(b->candidate, slot, b->stream, &b->events[i * row], fault);
        if ((i + 1) * each > GATED_OPERATIONS)
            *b->gate = b->tick;
    }
    ok = finish(b, ok, fault);
    for (size_t i = 0; ok && i < repeat; i++)
        for (size_t j = 0; ok && j < launch_count; j++)
            ok = elapsed(b, i * row + j, i * row + j + 1, &us[j * repeat + i], fault);
    return ok;
}
