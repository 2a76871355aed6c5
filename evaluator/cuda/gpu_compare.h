/* SPDX-License-Identifier: Apache-2.0
 * compare() of evaluator/compare.h for tensors on the device: what it measures is measured there
 * and judged here by the same code. Counts and maxima are those of compare() bit for bit; sums run
 * in another order and can differ in the last bits. Nothing of the tensors is copied here, and what
 * there is to know of each row only where an element or a row is bad: attention has a million rows.
 *
 * A comparer has a stream of its own, so that several compare at the same time:
 *
 *     gpu_comparer_open(&c, kernels, f)
 *     gpu_comparer_begin(&c, &task, output, oracle, f) … gpu_comparer_end(&c, &result, f)
 *     gpu_comparer_close(&c) */
#ifndef EVALUATOR_CUDA_GPU_COMPARE_H
#define EVALUATOR_CUDA_GPU_COMPARE_H

#include "evaluator/compare.h"
#include "evaluator/cuda/kernels.h"

struct gpu_comparer {
    struct kernels kernels; /* with the comparer's stream; what is queued there runs before */
    CUdeviceptr sums;       /* what is always read, then the rows … */
    void *here;             /* … and a copy of the former in pinned memory */
    size_t room, room_here; /* bytes of both */
    /* The comparison that was begun. */
    struct compare_task task;
    CUdeviceptr output, oracle;
};

/* Bytes of device memory that a comparison takes. */
size_t gpu_comparer_bytes(const struct compare_task *task);

enum err gpu_comparer_open(struct gpu_comparer *c, const struct kernels *k, struct fault *f);
void gpu_comparer_close(struct gpu_comparer *c);

/* `task->output` and `task->oracle` are not looked at; the tensors are at these addresses. The
 * types must be such that kernels_know(). Queues; one at a time; `task` is copied, its name and
 * shape are borrowed. */
enum err gpu_comparer_begin(struct gpu_comparer *c, const struct compare_task *task,
                            CUdeviceptr output, CUdeviceptr oracle, struct fault *f);
/* Waits for it and judges. */
enum err gpu_comparer_end(struct gpu_comparer *c, struct compare_result *out, struct fault *f);
/* The same without hints. */
enum err gpu_comparer_end_sums(struct gpu_comparer *c, struct compare_result *out, struct fault *f);

/* All in one, with a comparer of its own. */
enum err gpu_compare(const struct kernels *k, const struct compare_task *task, CUdeviceptr output,
                     CUdeviceptr oracle, struct compare_result *out, struct fault *f);
enum err gpu_compare_sums(const struct kernels *k, const struct compare_task *task,
                          CUdeviceptr output, CUdeviceptr oracle, struct compare_result *out,
                          struct fault *f);

#endif
