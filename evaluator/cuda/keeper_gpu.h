/* SPDX-License-Identifier: Apache-2.0
 * The device as the keeper has it: its own context, its kernels, what watches it. One per process.
 */
#ifndef EVALUATOR_CUDA_KEEPER_GPU_H
#define EVALUATOR_CUDA_KEEPER_GPU_H

#include "evaluator/cuda/device_lock.h"
#include "evaluator/cuda/kernels.h"
#include "evaluator/cuda/nvml.h"

struct keeper_gpu {
    int ordinal;
    struct driver_device device;
    const struct arch *arch; /* of the device; borrowed */
    struct kernels kernels;
    struct nvml nvml; /* closed where there is none */
    struct device_lock lock;
    double flops_per_s, bytes_per_s; /* peaks at the highest clocks */
};

/* Opens the device and compiles the kernels for the architecture among `archs` that it is. */
enum err keeper_gpu_open(struct keeper_gpu *g, int ordinal, const struct archs *archs,
                         struct fault *f);
void keeper_gpu_close(struct keeper_gpu *g);

/* Has the context been lost? Waits for all that is queued. */
bool keeper_gpu_is_sick(const struct keeper_gpu *g);

#endif
