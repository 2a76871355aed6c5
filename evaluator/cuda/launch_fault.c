// SPDX-License-Identifier: Apache-2.0
// What a driver result means for a submission: the kernel's fault, a launch or module that was
// refused, no room, or a fault of ours.
#include <stdio.h>

#include "core/util.h"
#include "evaluator/cuda/launch.h"

static const struct {
    CUresult result;
    const char *kind;
} refusals[] = {
    {CUDA_ERROR_INVALID_VALUE, "launch"},
    {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "launch"},
    {CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "launch"},
    {CUDA_ERROR_INVALID_CLUSTER_SIZE, "launch"},
    {CUDA_ERROR_NOT_SUPPORTED, "launch"},
    {CUDA_ERROR_INVALID_IMAGE, "module"},
    {CUDA_ERROR_NO_BINARY_FOR_GPU, "module"},
    {CUDA_ERROR_INVALID_SOURCE, "module"},
    {CUDA_ERROR_NOT_FOUND, "module"},
    {CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND, "module"},
    {CUDA_ERROR_OUT_OF_MEMORY, "memory"},
};

static const char *kind_of(CUresult r)
{
    const char *kind = driver_fault_kind(r);
    for (size_t i = 0; !kind && i < COUNT_OF(refusals); i++)
        if (refusals[i].result == r)
            kind = refusals[i].kind;
    return kind ? kind : "infra";
}

bool launch_fault_set(struct launch_fault *fault, CUresult r, const char *kernel, int launch,
                      const char *doing)
{
    if (r == CUDA_SUCCESS)
        return false;
    *fault = (struct launch_fault){.launch = launch, .sticky = driver_is_sticky(r)};
    snprintf(fault->kind, sizeof(fault->kind), "%s", kind_of(r));
    snprintf(fault->kernel, sizeof(fault->kernel), "%s", kernel);
    if (driver_fault_kind(r))
        snprintf(fault->detail, sizeof(fault->detail), "%s", driver_text(r));
    else
        snprintf(fault->detail, sizeof(fault->detail), "cannot %s: %s", doing, driver_text(r));
    return true;
}

json_t *launch_fault_json(const struct launch_fault *fault)
{
    return json_pack("{s:s, s:o, s:o, s:s}", "kind", fault->kind, "kernel",
                     fault->kernel[0] ? json_string(fault->kernel) : json_null(), "launch",
                     fault->launch >= 0 ? json_integer(fault->launch) : json_null(), "detail",
                     fault->detail);
}
