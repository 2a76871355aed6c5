/* SPDX-License-Identifier: Apache-2.0
 * The parameters of a plan's launches for one slot: scalars, addresses, tensor maps, structs, laid out as
 * the kernels expect them. */
#ifndef EVALUATOR_CUDA_LAUNCH_BIND_H
#define EVALUATOR_CUDA_LAUNCH_BIND_H

#include "evaluator/cuda/scratch.h"

/* What addresses and maps stand for. */
struct bind_space {
    CUdeviceptr tensors[LIMIT_TENSORS];
    const struct scratch *scratch;      /* borrowed */
    CUtensorMap maps[LIMIT_TENSOR_MAPS];
};

/* Encodes every tensor map of the plan for the addresses in `space`. */
bool bind_maps(struct bind_space *space, const struct plan *plan, struct launch_fault *fault);

/* Parameters of one launch. The driver reads them through `pointers` when the launch is queued. */
struct bind_params {
    _Alignas(128) uint8_t bytes[LIMIT_PARAM_BYTES];
    void *pointers[LIMIT_ARGS];
};
void bind_launch(const struct bind_space *space, const struct plan_launch *launch,
                 struct bind_params *out);

#endif
