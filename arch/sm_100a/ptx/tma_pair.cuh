// SPDX-License-Identifier: Apache-2.0
// TMA for a pair of blocks that multiply together (tcgen05.cuh with Blocks = 2): each block loads
// its own rows, and the bytes of both count at one mbarrier, that of the even block, whose thread
// multiplies.
//
//   even block:   mbarrier_arrive_expect(&s.full[stage], bytes of both blocks);
//   both blocks:  uint32_t full = pair_barrier(&s.full[stage]);   the even block's barrier
//                 tma_load_pair(s.a[stage], &map, full, {k, row});
#ifndef PTXBENCH_TMA_PAIR_CUH
#define PTXBENCH_TMA_PAIR_CUH

#include <ptxbench/cluster.cuh>
#include <ptxbench/tma.cuh>

namespace ptxbench
{

// Cluster address of the barrier of this name in the even block of this block's pair.
// PTX: mapa.shared::cluster.u32
__device__ __forceinline__ uint32_t pair_barrier(const uint64_t *bar)
{
    return cluster_address(bar, cluster_rank() & ~1u);
}

#define PTXBENCH_RANK(rank, box, tail, ...)                                                        \
    asm volatile(                                                                                  \
        "cp.async.bulk.tensor." rank                                                               \
        ".shared::cluster.global.tile.mbarrier::complete_tx::bytes" tail(box)::"r"(at[0]),         \
        "r"(at[1 % D]), "r"(at[2 % D]), "r"(at[3 % D]), "r"(at[4 % D]), __VA_ARGS__                \
        : "memory")
#define PTXBENCH_RANKS(tail, ...)                                                                  \
    static_assert(D >= 1 && D <= 5, "one to five coordinates");                                    \
    if constexpr (D == 1)                                                                          \
        PTXBENCH_RANK("1d", "{%0}", tail, __VA_ARGS__);                                            \
    else if constexpr (D == 2)                                                                     \
        PTXBENCH_RANK("2d", "{%0, %1}", tail, __VA_ARGS__);                                        \
    else if constexpr (D == 3)                                                                     \
        PTXBENCH_RANK("3d", "{%0, %1, %2}", tail, __VA_ARGS__);                                    \
    else if constexpr (D == 4)                                                                     \
        PTXBENCH_RANK("4d", "{%0, %1, %2, %3}", tail, __VA_ARGS__);                                \
    else                                                                                           \
        PTXBENCH_RANK("5d", "{%0, %1, %2, %3, %4}", tail, __VA_ARGS__)

// tma_load() into this block, counted at a barrier of this block or of its pair: `bar` is a cluster
// address. The block of the barrier expects the bytes.
// PTX: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::2
// (1d to 5d)
template <int D>
__device__ __forceinline__ void tma_load_pair(void *to, const CUtensorMap *map, uint32_t bar,
                                              const int (&at)[D])
{
#define PTXBENCH_TAIL(box) ".cta_group::2 [%5], [%6, " box "], [%7];"
    PTXBENCH_RANKS(PTXBENCH_TAIL, "r"(shared_address(to)), "l"(map), "r"(bar));
#undef PTXBENCH_TAIL
}

// The same with a cache policy.
// PTX: the same with .L2::cache_hint
template <int D>
__device__ __forceinline__ void tma_load_pair(void *to, const CUtensorMap *map, uint32_t bar,
                                              const int (&at)[D], uint64_t policy)
{
#define PTXBENCH_TAIL(box) ".cta_group::2.L2::cache_hint [%5], [%6, " box "], [%7], %8;"
    PTXBENCH_RANKS(PTXBENCH_TAIL, "r"(shared_address(to)), "l"(map), "r"(bar), "l"(policy));
#undef PTXBENCH_TAIL
}

// tma_load_multicast() with the bytes of each block counted at the barrier of this name in the even
// or odd block of its pair, as `bar` is: in clusters of more than one pair.
// PTX: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster.cta_group::2
template <int D>
__device__ __forceinline__ void tma_load_pair_multicast(void *to, const CUtensorMap *map,
                                                        uint32_t bar, const int (&at)[D],
                                                        uint16_t blocks)
{
#define PTXBENCH_TAIL(box) ".multicast::cluster.cta_group::2 [%5], [%6, " box "], [%7], %8;"
    PTXBENCH_RANKS(PTXBENCH_TAIL, "r"(shared_address(to)), "l"(map), "r"(bar), "h"(blocks));
#undef PTXBENCH_TAIL
}

#undef PTXBENCH_RANK
#undef PTXBENCH_RANKS

} // namespace ptxbench

#endif
