// SPDX-License-Identifier: Apache-2.0
// The whole grid: which SM a block runs on, and a barrier of all blocks.
#ifndef PTXBENCH_GRID_CUH
#define PTXBENCH_GRID_CUH

#include <cstdint>

namespace ptxbench
{

// The SM that this thread runs on, 0 to num_sms - 1.
// PTX: mov.u32 from %smid
__device__ __forceinline__ uint32_t sm_id()
{
    uint32_t id;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
    return id;
}

// Waits until all blocks of the grid have come here; what was written before is visible after. By
// all threads of every block, not diverged. All blocks must be on the GPU at once: "cooperative" in
// the plan, or a grid that fits, else it hangs. `counter`: a word of a buffer with "init": "zero"
// that nothing else uses; it may be used again and again. Dear: microseconds.
// PTX: atom.add.acq_rel.gpu.global.u32, ld.acquire.gpu.global.u32
__device__ __forceinline__ void grid_sync(uint32_t *counter)
{
    __syncthreads();
    if ((threadIdx.x | threadIdx.y | threadIdx.z) == 0) {
        uint32_t blocks = gridDim.x * gridDim.y * gridDim.z, before, now;
        uint64_t at = __cvta_generic_to_global(counter);
        asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], 1;"
                     : "=r"(before)
                     : "l"(at)
                     : "memory");
        uint32_t target = (before / blocks + 1) * blocks;
        do
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(at) : "memory");
        while (static_cast<int32_t>(now - target) < 0);
    }
    __syncthreads();
}

} // namespace ptxbench

#endif
