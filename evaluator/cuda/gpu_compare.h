/* SPDX-License-Identifier: Apache-2.0
 * compare() of evaluator/compare.h for tensors on the device: the sums are made there, in the host's own
 * order, and judged here by the same code. Counts, maxima and the sums of tiles and rows are those of
 * compare() bit for bit; the sum over the whole tensor is the sum of its rows and can differ in the last
 * bits. Hints are made only for an output that fails: then both tensors are copied and compared here. */
#ifndef EVALUATOR_CUDA_GPU_COMPARE_H
#define EVALUATOR_CUDA_GPU_COMPARE_H

#include "evaluator/compare.h"
#include "evaluator/cuda/kernels.h"

/* `task->output` and `task->oracle` are not looked at; the tensors are at these addresses. Waits. The
 * types must be such that kernels_know(). */
enum err gpu_compare(const struct kernels *k, const struct compare_task *task, CUdeviceptr output,
                     CUdeviceptr oracle, struct compare_result *out, struct fault *f);

/* The same without hints: nothing of the tensors is copied. */
enum err gpu_compare_sums(const struct kernels *k, const struct compare_task *task, CUdeviceptr output,
                          CUdeviceptr oracle, struct compare_result *out, struct fault *f);

#endif
