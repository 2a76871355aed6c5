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
//   * empty[s] counts the consumers of both blocks (2 x 2): whoever multicasts into a neighbour must know
//     that the neighbour has read. A consumer arrives at its own barrier and, through the cluster's
//     address space, at the other's.
//   * The block may not exit while the other can still arrive at its barriers: cluster barrier at the end.
//   * Results go through shared memory (stmatrix) and out by TMA, whole lines at a time. Two things keep
//     that right: fence.proxy.async, because the copy engine does not see ordinary stores otherwise, and
//     cp.async.bulk.wait_group.read before the staging memory is written again.
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

#include <cstdint>
#include <cuda.h>
#include <cuda_bf16.h>

constexpr int TILE_M = 128, TILE_N = 256, STEP = 64, STAGES = 4, GROUP = 8;
constexpr int BYTES_A = TILE_M * STEP * 2, BYTES_B = TILE_N * STEP * 2;

struct Shared {
    alignas(1024) unsigned char a[STAGES][BYTES_A], b[STAGES][BYTES_B];
    alignas(1024) unsigned char c[2][2][64 * 64 * 2]; // per consumer: two boxes of 64 rows x 64 columns
    alignas(8) uint64_t full[STAGES], empty[STAGES];
};
static_assert(sizeof(Shared) + 1024 <= 231424, "shared_bytes of the plan: what is used and room to align it");

__device__ uint32_t address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

__device__ uint32_t cluster_rank()
{
    uint32_t rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

__device__ void cluster_sync()
{
    asm volatile("barrier.cluster.arrive;\nbarrier.cluster.wait;" ::: "memory");
}

__device__ void barrier_init(uint64_t *bar, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(bar)), "r"(arrivals) : "memory");
}

__device__ void barrier_expect(uint64_t *bar, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(bar)), "r"(bytes)
                 : "memory");
}

// Arrives at the barrier of this name in block `rank` of the cluster. Not .release.cluster: ptxas makes that a
// fence of the whole GPU, which took a third of the speed, and nothing here was written that it would publish.
__device__ void barrier_arrive_at(uint64_t *bar, uint32_t rank)
{
    asm volatile("{\n"
                 ".reg .b32 there;\n"
                 "mapa.shared::cluster.u32 there, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [there];\n"
                 "}\n" ::"r"(address(bar)),
                 "r"(rank)
                 : "memory");
}

__device__ void barrier_wait(uint64_t *bar, uint32_t parity)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again;\n"
                 "}\n" ::"r"(address(bar)),
                 "r"(parity)
                 : "memory");
}

__device__ void load_box(void *to, const CUtensorMap *map, uint64_t *bar, int k, int row)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%3, %4}], [%2];" ::"r"(address(to)),
                 "l"(map), "r"(address(bar)), "r"(k), "r"(row)
                 : "memory");
}

// The same into every block of the cluster whose bit is set, at the same place in each, counted by the
// barrier at the same place in each.
__device__ void load_box_for(uint16_t blocks, void *to, const CUtensorMap *map, uint64_t *bar, int k, int row)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 ".multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(address(to)),
                 "l"(map), "r"(address(bar)), "r"(k), "r"(row), "h"(blocks)
                 : "memory");
}

__device__ void store_box(const CUtensorMap *map, const void *from, int column, int row)
{
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(map),
                 "r"(address(from)), "r"(column), "r"(row)
                 : "memory");
}

// K-major, 128-byte swizzle, groups of 8 rows 1024 bytes apart.
__device__ uint64_t descriptor(const void *tile)
{
    return (uint64_t)((address(tile) & 0x3ffff) >> 4) | 1ull << 16 | (uint64_t)(1024 >> 4) << 32 | 1ull << 62;
}

// d (64 x 256, fp32) = A (64 x 16) B^T (256 x 16) + (keep ? d : 0).
__device__ void wgmma(float (&d)[128], uint64_t a, uint64_t b, int keep)
{
#define D(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "setp.ne.b32 p, %130, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
                 "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
                 "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
                 "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
                 "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
                 "%128, %129, p, 1, 1, 0, 0;\n"
                 "}\n"
                 : D(0), D(8), D(16), D(24), D(32), D(40), D(48), D(56), D(64), D(72), D(80), D(88), D(96), D(104),
                   D(112), D(120)
                 : "l"(a), "l"(b), "r"(keep));
#undef D
}

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

// Place in the ring of stages, with the parity of the round.
struct Ring {
    int stage = 0;
    uint32_t parity = 0;

    __device__ void advance()
    {
        if (++stage == STAGES) {
            stage = 0;
            parity ^= 1;
        }
    }
};

__device__ void produce(Shared &s, const CUtensorMap *map_a, const CUtensorMap *map_b, int M, int N, int K)
{
    uint32_t rank = cluster_rank();
    Tiles tiles(M, N);
    Ring ring;
    for (int row, column; tiles.take(rank, row, column);)
        for (int k = 0; k < K; k += STEP, ring.advance()) {
            uint64_t *full = &s.full[ring.stage];
            barrier_wait(&s.empty[ring.stage], ring.parity ^ 1);
            barrier_expect(full, BYTES_A + BYTES_B); // its own A, and both halves of B
            load_box(s.a[ring.stage], map_a, full, k, row);
            load_box_for(3, s.b[ring.stage] + rank * (BYTES_B / 2), map_b, full, k, column + (int)rank * 128);
        }
}

// Writes a consumer's 64 x 256 sums to C through shared memory, 128 columns at a time.
__device__ void store(Shared &s, const CUtensorMap *map_c, const float (&d)[128], int half, int row, int column)
{
    int thread = threadIdx.x % 128, lane = thread % 32, warp = thread / 32;
    int r = warp * 16 + lane % 16; // the row whose address this lane gives to stmatrix
    for (int part = 0; part < 2; part++) {
        if (thread == 0)
            asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); // what was staged before has left
        asm volatile("bar.sync %0, 128;" ::"r"(half + 1) : "memory");
        for (int j = 0; j < 16; j += 2) {
            uint32_t w[4];
            for (int i = 0; i < 4; i++) {
                const float *pair = &d[64 * part + 4 * j + 2 * i];
                __nv_bfloat162 rounded = __floats2bfloat162_rn(pair[0], pair[1]);
                w[i] = *(uint32_t *)&rounded;
            }
            int chunk = (j + lane / 16) % 8; // of 16 bytes, in the row of its box; the swizzle mixes in the row
            uint32_t to = address(s.c[half][j / 8]) + r * 128 + ((chunk ^ (r % 8)) * 16);
            asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(w[0]),
                         "r"(w[1]), "r"(w[2]), "r"(w[3])
                         : "memory");
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); // by every writer, before the barrier
        asm volatile("bar.sync %0, 128;" ::"r"(half + 1) : "memory");
        if (thread == 0) {
            for (int box = 0; box < 2; box++)
                store_box(map_c, s.c[half][box], column + part * 128 + box * 64, row + half * 64);
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        }
    }
}

__device__ void consume(Shared &s, const CUtensorMap *map_c, int M, int N, int K, int half)
{
    uint32_t rank = cluster_rank();
    bool leader = threadIdx.x % 128 < 2; // threads 0 and 1 tell blocks 0 and 1 that a stage is free
    uint32_t other = threadIdx.x % 128;
    Tiles tiles(M, N);
    Ring ring;
    float d[128];
    for (int row, column; tiles.take(rank, row, column);) {
        int before = -1; // stage whose reads are still in flight
        for (int k = 0; k < K; k += STEP, ring.advance()) {
            barrier_wait(&s.full[ring.stage], ring.parity);
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
            for (int i = 0; i < STEP; i += 16)
                wgmma(d, descriptor(s.a[ring.stage] + half * 64 * STEP * 2 + i * 2),
                      descriptor(s.b[ring.stage] + i * 2), k + i > 0);
            asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
            asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
            if (before >= 0 && leader)
                barrier_arrive_at(&s.empty[before], other);
            before = ring.stage;
        }
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        if (leader)
            barrier_arrive_at(&s.empty[before], other);
        store(s, map_c, d, half, row, column);
    }
    if (threadIdx.x % 128 == 0)
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); // written, before the block may end
}

__global__ __launch_bounds__(384, 1) void gemm_wgmma_cluster(const __grid_constant__ CUtensorMap map_a,
                                                             const __grid_constant__ CUtensorMap map_b,
                                                             const __grid_constant__ CUtensorMap map_c, int M,
                                                             int N, int K)
{
    extern __shared__ unsigned char raw[];
    Shared &s = *(Shared *)(((uintptr_t)raw + 1023) / 1024 * 1024);
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            barrier_init(&s.full[i], 1);
            barrier_init(&s.empty[i], 4); // two consumers in each of two blocks
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    cluster_sync(); // the other block's barriers exist before anybody uses them

    if (threadIdx.x / 128 == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0)
            produce(s, &map_a, &map_b, M, N, K);
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        consume(s, &map_c, M, N, K, threadIdx.x / 128 - 1);
    }
    cluster_sync();
}
