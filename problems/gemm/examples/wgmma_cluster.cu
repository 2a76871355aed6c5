// SPDX-License-Identifier: Apache-2.0
//
// gemm with a cluster of two blocks that share the pieces of B, and blocks that stay for many tiles.
//
//   Each block makes tiles of 128 x 256. The two blocks of a cluster make tiles that lie one below the
//   other: they need different rows of A and the same rows of B. Each loads half of B's piece and TMA
//   multicasts it into the shared memory of both, so B crosses L2 once for two blocks.
//
//        block 0: rows   0-127 of A, rows   0-127 of B  -> both
//        block 1: rows 128-255 of A, rows 128-255 of B  -> both
//
//   Blocks are persistent: the grid has one per SM and each walks over tiles. While consumers store a
//   finished tile, the producer already loads the next.
//
// What to see here, beyond wgmma_tma.cu:
//   * "cluster": [2] in the plan, "grid": ["num_sms - num_sms % 2"]: the plan's expressions know the device.
//   * A stage is free when the consumers of both blocks (2 x 2) have released it: whoever multicasts into a
//     neighbour must know that the neighbour has read. A consumer arrives at its own ring and, through the
//     cluster's address space, at the other's.
//   * The block may not exit while the other can still arrive at its barriers: cluster barrier at the end.
//   * Results go through shared memory (stmatrix) and out by TMA, whole lines at a time. Two things keep
//     that right: fence_proxy_async_shared, because the copy engine does not see ordinary stores otherwise, and
//     tma_wait_read before the staging memory is written again.
//   * Tiles are taken in groups of 8 cluster rows, columns outermost, so that the tiles in flight share
//     rows of A and B in L2.
//
// Try it:   ptxbench eval wgmma_cluster.cu --device cuda:0 --sweep

/*ptxbench-launch
{
  "tensor_maps": {
    "map_a": {"tensor": "A", "box": [64, 128], "swizzle": "128B"},
    "map_b": {"tensor": "B", "box": [64, 128], "swizzle": "128B"},
    "map_c": {"tensor": "C", "box": [64, 64], "swizzle": "128B"}
  },
  "launches": [
    {
      "kernel": "gemm_wgmma_cluster",
      "grid": ["num_sms - num_sms % 2"],
      "block": [384],
      "cluster": [2],
      "shared_bytes": 231424,
      "args": [{"tensor_map": "map_a"}, {"tensor_map": "map_b"}, {"tensor_map": "map_c"}, {"i32": "M"}, {"i32": "N"}, {"i32": "K"}]
    }
  ]
}
*/

#include <ptxbench/barrier.cuh>
#include <ptxbench/cluster.cuh>
#include <ptxbench/pipeline.cuh>
#include <ptxbench/tma.cuh>
#include <ptxbench/wgmma.cuh>
#include <ptxbench/wgmma_epilogue.cuh>
using namespace ptxbench;

constexpr int TILE_M = 128, TILE_N = 256, STEP = 64, STAGES = 4, GROUP = 8;
constexpr int BYTES_A = TILE_M * STEP * 2, BYTES_B = TILE_N * STEP * 2;

struct Shared {
    alignas(1024) char a[STAGES][BYTES_A], b[STAGES][BYTES_B];
    alignas(1024) char c[2][2][64 * 64 * 2]; // per consumer: two boxes of 64 rows x 64 columns
    pipeline<STAGES> ring;
};
static_assert(sizeof(Shared) + 1024 <= 231424, "shared_bytes of the plan: what is used and room to align it");

// The tiles of this cluster: first, first + clusters, …; each is two tiles of C, one per block.
struct Tiles {
    int next, count, step, rows, columns; // rows: of cluster tiles

    __device__ Tiles(int M, int N)
        : next(blockIdx.x / 2), step(gridDim.x / 2), rows((M + 2 * TILE_M - 1) / (2 * TILE_M)),
          columns((N + TILE_N - 1) / TILE_N)
    {
        count = rows * columns;
    }

    // Row and column of C where this block's part of the next tile starts. False: no more.
    __device__ bool take(uint32_t rank, int &row, int &column)
    {
        if (next >= count)
            return false;
        int group = next / (GROUP * columns), first = group * GROUP;
        int height = min(GROUP, rows - first), inside = next - group * GROUP * columns;
        row = ((first + inside % height) * 2 + rank) * TILE_M;
        column = inside / height * TILE_N;
        next += step;
        return true;
    }
};

__device__ void produce(Shared &s, const CUtensorMap *map_a, const CUtensorMap *map_b, int M, int N, int K)
{
    uint32_t rank = cluster_rank();
    Tiles tiles(M, N);
    pipeline_stage<STAGES> at;
    for (int row, column; tiles.take(rank, row, column);)
#pragma unroll 1
        for (int k = 0; k < K; k += STEP, at.advance()) {
            s.ring.wait_empty(at);
            uint64_t *full = s.ring.expect(at, BYTES_A + BYTES_B); // its own A, and both halves of B
            tma_load(s.a[at.index], map_a, full, {k, row});
            tma_load_multicast(s.b[at.index] + rank * (BYTES_B / 2), map_b, full, {k, column + (int)rank * 128}, 3);
        }
}

// Writes a consumer's 64 x 256 sums to C through shared memory, 128 columns at a time.
__device__ void store(Shared &s, const CUtensorMap *map_c, const float (&d)[128], int half, int row, int column)
{
    for (int part = 0; part < 2; part++) {
        if (threadIdx.x % 128 == 0)
            tma_wait_read<0>(); // what was staged before has left
        named_barrier_sync(half + 1, 128);
        wgmma_stage_bf16(s.c[half], 64, 0, *(const float (*)[64])(d + 64 * part));
        fence_proxy_async_shared(); // by every writer, before the barrier
        named_barrier_sync(half + 1, 128);
        if (threadIdx.x % 128 == 0) {
            for (int box = 0; box < 2; box++)
                tma_store(map_c, s.c[half][box], {column + part * 128 + box * 64, row + half * 64});
            tma_commit();
        }
    }
}

__device__ void consume(Shared &s, const CUtensorMap *map_c, int M, int N, int K, int half)
{
    uint32_t rank = cluster_rank();
    uint32_t other = threadIdx.x % 128; // threads 0 and 1 tell blocks 0 and 1 that a stage is free
    Tiles tiles(M, N);
    pipeline_stage<STAGES> at;
    float d[128];
    for (int row, column; tiles.take(rank, row, column);) {
        pipeline_stage<STAGES> before; // stage whose reads are still in flight
#pragma unroll 1
        for (int k = 0; k < K; k += STEP, at.advance()) {
            s.ring.wait_full(at);
            wgmma_fence();
            for (int i = 0; i < STEP; i += 16)
                wgmma<bf16>(d, descriptor_k_major<swizzle::b128>(s.a[at.index] + half * 64 * STEP * 2 + i * 2),
                            descriptor_k_major<swizzle::b128>(s.b[at.index] + i * 2), k + i > 0);
            wgmma_commit();
            wgmma_wait<1>();
            if (k && other < 2)
                s.ring.release_at(before, other);
            before = at;
        }
        wgmma_wait<0>();
        if (other < 2)
            s.ring.release_at(before, other);
        store(s, map_c, d, half, row, column);
    }
    if (threadIdx.x % 128 == 0)
        tma_wait<0>(); // written, before the block may end
}

__global__ __launch_bounds__(384, 1) void gemm_wgmma_cluster(const __grid_constant__ CUtensorMap map_a,
                                                             const __grid_constant__ CUtensorMap map_b,
                                                             const __grid_constant__ CUtensorMap map_c, int M,
                                                             int N, int K)
{
    extern __shared__ unsigned char raw[];
    Shared &s = *(Shared *)align_up<1024>(raw);
    if (threadIdx.x == 0)
        s.ring.init(4); // two consumers in each of two blocks free a stage
    cluster_sync(); // the other block's barriers exist before anybody uses them

    if (threadIdx.x / 128 == 0) {
        setmaxnreg_dec<40>();
        if (threadIdx.x == 0)
            produce(s, &map_a, &map_b, M, N, K);
    } else {
        setmaxnreg_inc<232>();
        consume(s, &map_c, M, N, K, threadIdx.x / 128 - 1);
    }
    cluster_sync();
}
