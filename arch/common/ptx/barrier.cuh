// SPDX-License-Identifier: Apache-2.0
// Warps: named barriers, register reallocation, electing a thread, dependent grids.
#ifndef PTXBENCH_BARRIER_CUH
#define PTXBENCH_BARRIER_CUH

#include <cstdint>

namespace ptxbench
{

// Waits until `threads` threads have come to named barrier `id`, this warp's 32 included.
// Whole warps, not diverged; id 1 to 15 (0 is __syncthreads()); threads a multiple of 32, the same
// number from everyone. Orders the memory accesses of those who take part.
// PTX: barrier.sync.aligned
__device__ __forceinline__ void named_barrier_sync(int id, int threads)
{
    asm volatile("barrier.sync.aligned %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// Comes to named barrier `id` without waiting: a producer's half. Somebody else must sync on it;
// `threads` counts those who arrive and those who sync. Never arrive twice before the barrier has
// completed.
// PTX: barrier.arrive.aligned
__device__ __forceinline__ void named_barrier_arrive(int id, int threads)
{
    asm volatile("barrier.arrive.aligned %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// Gives this warp more registers per thread; waits until enough have been given back. All warps of
// a warpgroup run the same one. N: 24 to 256, a multiple of 8. Needs a register count fixed at
// entry: __launch_bounds__(threads, 1); without the 1, ptxas ignores it (C7508). The sum over
// warpgroups may not exceed what the kernel began with.
// PTX: setmaxnreg.inc.sync.aligned.u32
template <int N> __device__ __forceinline__ void setmaxnreg_inc()
{
    static_assert(N >= 24 && N <= 256 && N % 8 == 0, "24 to 256, a multiple of 8");
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N));
}

// Gives registers back, down to N per thread; the same conditions. The code after it must fit in N.
// PTX: setmaxnreg.dec.sync.aligned.u32
template <int N> __device__ __forceinline__ void setmaxnreg_dec()
{
    static_assert(N >= 24 && N <= 256 && N % 8 == 0, "24 to 256, a multiple of 8");
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N));
}

// True in exactly one thread of the warp; all 32 must call it. The compiler then knows that what
// follows `if (elect_one())` runs in one thread, which `threadIdx.x == 0` does not tell it.
// PTX: elect.sync
__device__ __forceinline__ bool elect_one()
{
    uint32_t chosen;
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "elect.sync _|p, 0xffffffff;\n"
                 "selp.u32 %0, 1, 0, p;\n"
                 "}\n"
                 : "=r"(chosen)::"memory");
    return chosen;
}

// Waits until the launches that this one depends on are complete and what they wrote is visible.
// For a launch with "programmatic_dependent"; before the first read of their results. Else no
// effect.
// PTX: griddepcontrol.wait
__device__ __forceinline__ void wait_for_previous_launch()
{
    asm volatile("griddepcontrol.wait;" ::: "memory");
}

// Lets the next launch, if it is "programmatic_dependent", start once every block has called this
// or ended. Publishes nothing: the next launch still calls wait_for_previous_launch().
// PTX: griddepcontrol.launch_dependents
__device__ __forceinline__ void allow_next_launch()
{
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

} // namespace ptxbench

#endif
