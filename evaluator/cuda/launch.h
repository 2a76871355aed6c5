/* SPDX-License-Identifier: Apache-2.0
 * A launch plan on the GPU: module instances, tensor maps, parameters, scratch buffers, launches. For the
 * runner and the verifier, one launcher per submission:
 *
 *     launcher_new → launcher_load (again for a fresh instance) → launcher_bind(slot, addresses) …
 *     → launcher_prepare(slot, stream) → launcher_enqueue(slot, stream, events) → cu.StreamSynchronize
 *
 * launcher_prepare() is what no time counts: scratch is poisoned anew and literal data copied, so that
 * nothing kept there outlives a launch. launcher_enqueue() is the plan: zeroed buffers, then launches. */
#ifndef EVALUATOR_CUDA_LAUNCH_H
#define EVALUATOR_CUDA_LAUNCH_H

#include "core/plan.h"
#include "evaluator/cuda/memory.h"

/* What went wrong, for the report. kind[0] == 0: nothing. */
struct launch_fault {
    char kind[32];    /* see wire.h */
    char kernel[128]; /* name expression, cut; "" if not known */
    int launch;       /* index in the plan; -1: not known, or a launch that fills a buffer */
    bool sticky;      /* the context is lost */
    char detail[LIMIT_DETAIL];
};
/* {"kind", "kernel", "launch", "detail"}; new reference. */
json_t *launch_fault_json(const struct launch_fault *fault);
/* Fills `fault` from a driver result (`launch` -1 and `kernel` "" if not known); false if r is success. */
bool launch_fault_set(struct launch_fault *fault, CUresult r, const char *kernel, int launch,
                      const char *doing);

struct launcher_spec {
    const struct driver_device *device; /* all borrowed, for as long as the launcher lives */
    const struct problem *problem;
    const struct workload *workload;
    const struct plan *plan;
    const json_t *symbols; /* {name expression: symbol} */
    const void *cubin;
    size_t cubin_len;
};
struct launcher;

/* Allocates scratch. NULL with a fault. */
struct launcher *launcher_new(const struct launcher_spec *spec, struct launch_fault *fault);
void launcher_free(struct launcher *l);

/* A fresh instance of the module; the one before is unloaded. The first call also fills the buffers whose
 * `init` is a launch, waits, and makes them read-only. False with a fault. */
bool launcher_load(struct launcher *l, struct launch_fault *fault);
CUmodule launcher_module(const struct launcher *l);

/* Addresses of the problem's tensors for slot 0 … WIRE_SLOTS-1: builds tensor maps and parameters. */
bool launcher_bind(struct launcher *l, int slot, const CUdeviceptr tensors[LIMIT_TENSORS],
                   struct launch_fault *fault);

/* Both only queue. events: NULL, or launch_count + 1 events, recorded before the first and after each
 * launch. False with a fault when the driver refuses. */
bool launcher_prepare(struct launcher *l, CUstream stream, struct launch_fault *fault);
bool launcher_enqueue(struct launcher *l, int slot, CUstream stream, const CUevent *events,
                      struct launch_fault *fault);
/* The same in two parts, for who looks at one launch: what comes before it, and itself. */
bool launcher_enqueue_until(struct launcher *l, int slot, CUstream stream, size_t launch,
                            struct launch_fault *fault);
bool launcher_enqueue_one(struct launcher *l, int slot, CUstream stream, size_t launch,
                          struct launch_fault *fault);
/* Operations that one prepare + enqueue put into a stream, at most. */
size_t launcher_operations(const struct launcher *l);

/* Waits for the stream; true if everything in it went well. */
bool launcher_wait(struct launcher *l, CUstream stream, struct launch_fault *fault);
/* prepare, enqueue and wait, with a mark in host memory behind each launch, so that a fault is laid to the
 * launch that did not end. */
bool launcher_run(struct launcher *l, int slot, CUstream stream, struct launch_fault *fault);

/* Captured buffers: copies at most LIMIT_CAPTURE bytes into `out`, appends {"name", "bytes"} to `list`. */
bool launcher_capture(struct launcher *l, struct buf *out, json_t *list,
                      struct launch_fault *fault);

#endif
