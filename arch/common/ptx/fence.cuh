// SPDX-License-Identifier: Apache-2.0
// Fences: between threads, and between ordinary accesses (generic proxy) and TMA and wgmma (async
// proxy).
#ifndef PTXBENCH_FENCE_CUH
#define PTXBENCH_FENCE_CUH

#include <cstdint>

namespace ptxbench
{

// Makes initialised mbarriers visible to the cluster and to TMA. By the thread that called
// mbarrier_init, after the last one; then __syncthreads() or cluster_sync().
// PTX: fence.mbarrier_init.release.cluster
__device__ __forceinline__ void fence_mbarrier_init()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// Orders this thread's ordinary writes to shared memory before TMA's or wgmma's reads of them. By
// every thread that wrote, before the barrier after which one thread starts the store or the wgmma.
// PTX: fence.proxy.async.shared::cta
__device__ __forceinline__ void fence_proxy_async_shared()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// The same for global memory: ordinary writes that a later TMA load in this kernel reads.
// PTX: fence.proxy.async.global
__device__ __forceinline__ void fence_proxy_async_global()
{
    asm volatile("fence.proxy.async.global;" ::: "memory");
}

// The same for every state space. Dearer than the two above.
// PTX: fence.proxy.async
__device__ __forceinline__ void fence_proxy_async()
{
    asm volatile("fence.proxy.async;" ::: "memory");
}

// Orders this thread's accesses before it with those after it, as its block sees them.
// PTX: fence.acq_rel.cta
__device__ __forceinline__ void fence_block()
{
    asm volatile("fence.acq_rel.cta;" ::: "memory");
}

// The same as the cluster sees them; as dear as the next.
// PTX: fence.acq_rel.cluster
__device__ __forceinline__ void fence_cluster()
{
    asm volatile("fence.acq_rel.cluster;" ::: "memory");
}

// The same as the GPU sees them: in a main loop it costs a third of a GEMM's speed.
// PTX: fence.acq_rel.gpu
__device__ __forceinline__ void fence_gpu()
{
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
}

} // namespace ptxbench

#endif
