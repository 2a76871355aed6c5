// SPDX-License-Identifier: Apache-2.0
// TMA: copies of boxes (through a tensor map) and of plain runs of bytes between global and shared
// memory.
//
// One thread starts a copy. A kernel takes each map as `const __grid_constant__ CUtensorMap map`
// and passes `&map`. `at` is where the box starts, in elements, innermost dimension first: {k,
// row}; the innermost a multiple of 16 bytes. It may be negative or past the end: loads fill with
// zeros, stores leave out. Loads are counted by an mbarrier, which must expect the whole box's
// bytes first. Stores belong to bulk groups: commit, then wait. Shared memory: 128-byte aligned,
// with swizzle 256 (32B), 512 (64B) or 1024 (128B).
#ifndef PTXBENCH_TMA_CUH
#define PTXBENCH_TMA_CUH

#include <cuda.h>
#include <ptxbench/shared.cuh>

namespace ptxbench
{

#define PTXBENCH_RANK(head, rank, box, tail, ...) /* the caller's operands begin at %5 */          \
    asm volatile(head "." rank tail(box)::"r"(at[0]), "r"(at[1 % D]), "r"(at[2 % D]),              \
                 "r"(at[3 % D]), "r"(at[4 % D]), __VA_ARGS__                                       \
                 : "memory")
#define PTXBENCH_RANKS(head, tail, ...)                                                            \
    static_assert(D >= 1 && D <= 5, "one to five coordinates");                                    \
    if constexpr (D == 1)                                                                          \
        PTXBENCH_RANK(head, "1d", "{%0}", tail, __VA_ARGS__);                                      \
    else if constexpr (D == 2)                                                                     \
        PTXBENCH_RANK(head, "2d", "{%0, %1}", tail, __VA_ARGS__);                                  \
    else if constexpr (D == 3)                                                                     \
        PTXBENCH_RANK(head, "3d", "{%0, %1, %2}", tail, __VA_ARGS__);                              \
    else if constexpr (D == 4)                                                                     \
        PTXBENCH_RANK(head, "4d", "{%0, %1, %2, %3}", tail, __VA_ARGS__);                          \
    else                                                                                           \
        PTXBENCH_RANK(head, "5d", "{%0, %1, %2, %3, %4}", tail, __VA_ARGS__)
#define PTXBENCH_LOAD ".shared::cluster.global.tile.mbarrier::complete_tx::bytes"

// ---- what L2 should do with the lines: an operand for the functions below that take `policy` ----

// Lines read once.
// PTX: createpolicy.fractional.L2::evict_first.b64
__device__ __forceinline__ uint64_t policy_evict_first()
{
    uint64_t policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

// Lines read again and again.
// PTX: createpolicy.fractional.L2::evict_last.b64
__device__ __forceinline__ uint64_t policy_evict_last()
{
    uint64_t policy;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

// ---- boxes ----

// Fetches the map itself. By one thread, at the kernel's start.
// PTX: prefetch.tensormap
__device__ __forceinline__ void tma_prefetch_map(const CUtensorMap *map)
{
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// Copies a box to shared memory; its bytes count at `bar`. After mbarrier_arrive_expect(bar,
// bytes). mbarrier_wait(bar, …) then makes it visible: no fence. What lay there must have been read
// by everybody.
// PTX: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes (1d to 5d)
template <int D>
__device__ __forceinline__ void tma_load(void *to, const CUtensorMap *map, uint64_t *bar,
                                         const int (&at)[D])
{
#define PTXBENCH_TAIL(box) PTXBENCH_LOAD " [%5], [%6, " box "], [%7];"
    PTXBENCH_RANKS("cp.async.bulk.tensor", PTXBENCH_TAIL, "r"(shared_address(to)), "l"(map),
                   "r"(shared_address(bar)));
#undef PTXBENCH_TAIL
}

// The same with a cache policy.
// PTX: the same with .L2::cache_hint
template <int D>
__device__ __forceinline__ void tma_load(void *to, const CUtensorMap *map, uint64_t *bar,
                                         const int (&at)[D], uint64_t policy)
{
#define PTXBENCH_TAIL(box) PTXBENCH_LOAD ".L2::cache_hint [%5], [%6, " box "], [%7], %8;"
    PTXBENCH_RANKS("cp.async.bulk.tensor", PTXBENCH_TAIL, "r"(shared_address(to)), "l"(map),
                   "r"(shared_address(bar)), "l"(policy));
#undef PTXBENCH_TAIL
}

// The same into each block of the cluster whose bit in `blocks` is set, at the same place in each,
// counted by the barrier at the same place in each: each block expects what all of them send it.
// Before the copy every one of these blocks must have said that the place is free, not only the own
// one.
// PTX: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster
template <int D>
__device__ __forceinline__ void tma_load_multicast(void *to, const CUtensorMap *map, uint64_t *bar,
                                                   const int (&at)[D], uint16_t blocks)
{
#define PTXBENCH_TAIL(box) PTXBENCH_LOAD ".multicast::cluster [%5], [%6, " box "], [%7], %8;"
    PTXBENCH_RANKS("cp.async.bulk.tensor", PTXBENCH_TAIL, "r"(shared_address(to)), "l"(map),
                   "r"(shared_address(bar)), "h"(blocks));
#undef PTXBENCH_TAIL
}

// The same with a cache policy.
// PTX: the same with .multicast::cluster.L2::cache_hint
template <int D>
__device__ __forceinline__ void tma_load_multicast(void *to, const CUtensorMap *map, uint64_t *bar,
                                                   const int (&at)[D], uint16_t blocks,
                                                   uint64_t policy)
{
#define PTXBENCH_TAIL(box)                                                                         \
    PTXBENCH_LOAD ".multicast::cluster.L2::cache_hint [%5], [%6, " box "], [%7], %8, %9;"
    PTXBENCH_RANKS("cp.async.bulk.tensor", PTXBENCH_TAIL, "r"(shared_address(to)), "l"(map),
                   "r"(shared_address(bar)), "h"(blocks), "l"(policy));
#undef PTXBENCH_TAIL
}

// Brings a box into L2 only.
// PTX: cp.async.bulk.prefetch.tensor.2d.L2.global.tile (1d to 5d)
template <int D>
__device__ __forceinline__ void tma_prefetch(const CUtensorMap *map, const int (&at)[D])
{
#define PTXBENCH_TAIL(box) ".L2.global.tile [%5, " box "];"
    PTXBENCH_RANKS("cp.async.bulk.prefetch.tensor", PTXBENCH_TAIL, "l"(map));
#undef PTXBENCH_TAIL
}

// Copies a box from shared to global memory. Before it: every writer fence_proxy_async_shared(),
// then a barrier. After it, in the same thread: tma_commit(), and tma_wait_read<N>() before the
// source is reused.
// PTX: cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group (1d to 5d)
template <int D>
__device__ __forceinline__ void tma_store(const CUtensorMap *map, const void *from,
                                          const int (&at)[D])
{
#define PTXBENCH_TAIL(box) ".global.shared::cta.tile.bulk_group [%5, " box "], [%6];"
    PTXBENCH_RANKS("cp.async.bulk.tensor", PTXBENCH_TAIL, "l"(map), "r"(shared_address(from)));
#undef PTXBENCH_TAIL
}

// The same with a cache policy.
// PTX: the same with .L2::cache_hint
template <int D>
__device__ __forceinline__ void tma_store(const CUtensorMap *map, const void *from,
                                          const int (&at)[D], uint64_t policy)
{
#define PTXBENCH_TAIL(box)                                                                         \
    ".global.shared::cta.tile.bulk_group.L2::cache_hint [%5, " box "], [%6], %7;"
    PTXBENCH_RANKS("cp.async.bulk.tensor", PTXBENCH_TAIL, "l"(map), "r"(shared_address(from)),
                   "l"(policy));
#undef PTXBENCH_TAIL
}

// Adds a box in shared memory to global memory, element by element in the map's type; order, fences
// and groups as tma_store. The order of several adds to one element is not fixed: f32 sums vary in
// the last bits.
// PTX: cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group (1d to 5d)
template <int D>
__device__ __forceinline__ void tma_reduce_add(const CUtensorMap *map, const void *from,
                                               const int (&at)[D])
{
#define PTXBENCH_TAIL(box) ".global.shared::cta.add.tile.bulk_group [%5, " box "], [%6];"
    PTXBENCH_RANKS("cp.reduce.async.bulk.tensor", PTXBENCH_TAIL, "l"(map),
                   "r"(shared_address(from)));
#undef PTXBENCH_TAIL
}

// The smaller of both instead of the sum. Maps of integers, f16 or bf16: f32 is an illegal
// instruction.
// PTX: cp.reduce.async.bulk.tensor.2d.global.shared::cta.min.tile.bulk_group (1d to 5d)
template <int D>
__device__ __forceinline__ void tma_reduce_min(const CUtensorMap *map, const void *from,
                                               const int (&at)[D])
{
#define PTXBENCH_TAIL(box) ".global.shared::cta.min.tile.bulk_group [%5, " box "], [%6];"
    PTXBENCH_RANKS("cp.reduce.async.bulk.tensor", PTXBENCH_TAIL, "l"(map),
                   "r"(shared_address(from)));
#undef PTXBENCH_TAIL
}

// The larger; the same types.
// PTX: cp.reduce.async.bulk.tensor.2d.global.shared::cta.max.tile.bulk_group
template <int D>
__device__ __forceinline__ void tma_reduce_max(const CUtensorMap *map, const void *from,
                                               const int (&at)[D])
{
#define PTXBENCH_TAIL(box) ".global.shared::cta.max.tile.bulk_group [%5, " box "], [%6];"
    PTXBENCH_RANKS("cp.reduce.async.bulk.tensor", PTXBENCH_TAIL, "l"(map),
                   "r"(shared_address(from)));
#undef PTXBENCH_TAIL
}

// ---- runs of bytes: no map; addresses and `bytes` are multiples of 16 ----

// Global to shared; counted at `bar` as tma_load.
// PTX: cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes
__device__ __forceinline__ void bulk_load(void *to, const void *from, uint32_t bytes, uint64_t *bar)
{
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
            "r"(shared_address(to)),
        "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(shared_address(bar))
        : "memory");
}

// The same into several blocks, as tma_load_multicast.
// PTX: cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster
__device__ __forceinline__ void bulk_load_multicast(void *to, const void *from, uint32_t bytes,
                                                    uint64_t *bar, uint16_t blocks)
{
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
        "[%0], [%1], %2, [%3], %4;" ::"r"(shared_address(to)),
        "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(shared_address(bar)), "h"(blocks)
        : "memory");
}

// Shared memory of this block to that of another: `to` and `bar` are cluster_address()es in one
// block.
// PTX: cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes
__device__ __forceinline__ void bulk_copy_to_block(uint32_t to, const void *from, uint32_t bytes,
                                                   uint32_t bar)
{
    asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];" ::"r"(to),
                 "r"(shared_address(from)), "r"(bytes), "r"(bar)
                 : "memory");
}

// Shared to global; fences and groups as tma_store.
// PTX: cp.async.bulk.global.shared::cta.bulk_group
__device__ __forceinline__ void bulk_store(void *to, const void *from, uint32_t bytes)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
                     __cvta_generic_to_global(to)),
                 "r"(shared_address(from)), "r"(bytes)
                 : "memory");
}

// Adds floats in shared memory to floats in global memory: split-K, dQ. Fences and groups as
// tma_store.
// PTX: cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32
__device__ __forceinline__ void bulk_reduce_add(float *to, const float *from, uint32_t bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(
                     __cvta_generic_to_global(to)),
                 "r"(shared_address(from)), "r"(bytes)
                 : "memory");
}

// Brings bytes into L2.
// PTX: cp.async.bulk.prefetch.L2.global
__device__ __forceinline__ void bulk_prefetch(const void *from, uint32_t bytes)
{
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(__cvta_generic_to_global(from)),
                 "r"(bytes)
                 : "memory");
}

// ---- bulk groups: of stores and reductions, per thread ----

// Closes a group of all stores this thread has started since the last.
// PTX: cp.async.bulk.commit_group
__device__ __forceinline__ void tma_commit()
{
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Waits until all but the newest N groups of this thread have read their shared memory, which can
// then be written again (tell the other threads by a barrier).
// PTX: cp.async.bulk.wait_group.read
template <int N> __device__ __forceinline__ void tma_wait_read()
{
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory");
}

// Waits until all but the newest N groups are written too. tma_wait<0>() before the thread that
// started them ends, for shared memory goes with the block.
// PTX: cp.async.bulk.wait_group
template <int N> __device__ __forceinline__ void tma_wait()
{
    asm volatile("cp.async.bulk.wait_group %0;" ::"n"(N) : "memory");
}

#undef PTXBENCH_RANK
#undef PTXBENCH_RANKS
#undef PTXBENCH_LOAD

} // namespace ptxbench

#endif
