// SPDX-License-Identifier: Apache-2.0
// Clusters: blocks that run at the same time and reach each other's shared memory. Every block of a
// cluster must still run while another touches its memory: end kernels with cluster_sync().
#ifndef PTXBENCH_CLUSTER_CUH
#define PTXBENCH_CLUSTER_CUH

#include <ptxbench/shared.cuh>

namespace ptxbench
{

// This block's number in its cluster, counted along x first.
// PTX: mov.u32 from %cluster_ctarank
__device__ __forceinline__ uint32_t cluster_rank()
{
    uint32_t rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

// How many blocks the cluster has.
// PTX: mov.u32 from %cluster_nctarank
__device__ __forceinline__ uint32_t cluster_size()
{
    uint32_t size;
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
    return size;
}

// Comes to the cluster's barrier and publishes this thread's writes. All threads of all blocks, the
// same number of times; each arrive is followed by one cluster_wait(). Compiled to a fence of the
// whole GPU: not in a main loop.
// PTX: barrier.cluster.arrive.release
__device__ __forceinline__ void cluster_arrive()
{
    asm volatile("barrier.cluster.arrive.release;" ::: "memory");
}

// The same without publishing anything: cheaper, when only "I am here" or "I am done" matters.
// PTX: barrier.cluster.arrive.relaxed
__device__ __forceinline__ void cluster_arrive_relaxed()
{
    asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory");
}

// Waits for every thread of the cluster to arrive. After cluster_arrive*(), once.
// PTX: barrier.cluster.wait.acquire
__device__ __forceinline__ void cluster_wait()
{
    asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}

// Both: after mbarrier_init() and before a neighbour uses the barrier; before the kernel's end.
// PTX: barrier.cluster.arrive.release, barrier.cluster.wait.acquire
__device__ __forceinline__ void cluster_sync()
{
    cluster_arrive();
    cluster_wait();
}

// Cluster address of the thing that lies in block `rank` where `p` lies in this one.
// For the functions below and for PTX's .shared::cluster operands.
// PTX: mapa.shared::cluster.u32
__device__ __forceinline__ uint32_t cluster_address(const void *p, uint32_t rank)
{
    uint32_t there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared_address(p)), "r"(rank));
    return there;
}

// The same as an ordinary pointer that loads, stores and atomics take.
// PTX: mapa.u64
template <class T> __device__ __forceinline__ T *cluster_pointer(T *p, uint32_t rank)
{
    uint64_t there;
    asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(p), "r"(rank));
    return reinterpret_cast<T *>(there);
}

// Reads a word of another block. Ordered by cluster_sync() or by mbarriers, not by
// themselves.
// PTX: ld.shared::cluster.b32
__device__ __forceinline__ uint32_t cluster_load(uint32_t address)
{
    uint32_t value;
    asm volatile("ld.shared::cluster.b32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
    return value;
}

// Writes a word of another block; ordered likewise.
// PTX: st.shared::cluster.b32
__device__ __forceinline__ void cluster_store(uint32_t address, uint32_t value)
{
    asm volatile("st.shared::cluster.b32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}

// Adds to a float of another block; ordered likewise.
// PTX: red.relaxed.cluster.shared::cluster.add.f32
__device__ __forceinline__ void cluster_add(uint32_t address, float value)
{
    asm volatile("red.relaxed.cluster.shared::cluster.add.f32 [%0], %1;" ::"r"(address), "f"(value)
                 : "memory");
}

// Writes a word of another block and counts 4 bytes at an mbarrier of the same block, which must
// expect them. Who waits for that barrier sees the word: no fence. Both are cluster addresses.
// PTX: st.async.shared::cluster.mbarrier::complete_tx::bytes.b32
__device__ __forceinline__ void cluster_store_async(uint32_t address, uint32_t value, uint32_t bar)
{
    asm volatile(
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(address),
        "r"(value), "r"(bar)
        : "memory");
}

// The same with 16 bytes, 16-byte aligned.
// PTX: st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32
__device__ __forceinline__ void cluster_store_async(uint32_t address, const uint32_t (&value)[4],
                                                    uint32_t bar)
{
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, "
                 "%4}, [%5];" ::"r"(address),
                 "r"(value[0]), "r"(value[1]), "r"(value[2]), "r"(value[3]), "r"(bar)
                 : "memory");
}

} // namespace ptxbench

#endif
