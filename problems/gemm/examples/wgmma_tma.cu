// SPDX-License-Identifier: Apache-2.0
//
// gemm on Hopper's own units: TMA copies tiles to shared memory, wgmma multiplies them, and the two run
// at the same time because different warps do them.
//
//   warpgroup 0    producer    one thread asks TMA for the next pieces of A and B, stage after stage
//   warpgroup 1    consumer    rows  0 to  63 of the 128 x 128 tile
//   warpgroup 2    consumer    rows 64 to 127
//
//            full[s]: TMA has written stage s      (counts bytes)
//   producer --------------------------------------------------> consumers
//            <--------------------------------------------------
//            empty[s]: both consumers have read it (counts arrivals)
//
// What to see here:
//   * A tensor map is an argument like any other: the plan describes it ("tensor_maps"), the service encodes
//     it, the kernel takes a `const __grid_constant__ CUtensorMap`. Its shape defaults to the tensor's.
//   * box [64, 128] with swizzle 128B: a row of the box is 64 bf16 = 128 bytes, exactly the width of the
//     swizzle, and that is the layout which the wgmma descriptor below names. The two must agree.
//   * Past the edge of a matrix TMA writes zeros, so neither M nor N nor K needs a guard inside the loop.
//   * An mbarrier has a phase, one bit. A waiter names the phase that it waits for; the bit flips each time
//     the ring of stages comes round.
//   * setmaxnreg moves registers from the producer, which needs few, to the consumers, whose sums live in them.
//     It works only because __launch_bounds__ fixes what every thread starts with.
//
// Try it:   ptxbench eval wgmma_tma.cu --device cuda:0
// Next:     wgmma_cluster.cu shares pieces between two blocks and never lets the tensor cores wait.

/*ptxbench-launch
{
  "tensor_maps": {
    "map_a": {"tensor": "A", "box": [64, 128], "swizzle": "128B"},
    "map_b": {"tensor": "B", "box": [64, 128], "swizzle": "128B"}
  },
  "launches": [
    {
      "kernel": "gemm_wgmma_tma",
      "grid": ["ceil_div(M, 128)", "ceil_div(N, 128)"],
      "block": [384],
      "shared_bytes": 165888,
      "args": [{"tensor_map": "map_a"}, {"tensor_map": "map_b"}, {"tensor": "C"}, {"i32": "M"}, {"i32": "N"}, {"i32": "K"}]
    }
  ]
}
*/

#include <cstdint>
#include <cuda.h>
#include <cuda_bf16.h>

constexpr int TILE_M = 128, TILE_N = 128, STEP = 64, STAGES = 5;
constexpr int PIECE = 128 * STEP * 2; // bytes of a piece of A or of B

struct Shared {
    alignas(1024) unsigned char a[STAGES][PIECE], b[STAGES][PIECE]; // the swizzle repeats every 1024 bytes
    alignas(8) uint64_t full[STAGES], empty[STAGES];
};
static_assert(sizeof(Shared) + 1024 <= 165888, "shared_bytes of the plan: what is used and room to align it");

__device__ uint32_t address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
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

__device__ void barrier_arrive(uint64_t *bar)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address(bar)) : "memory");
}

// Returns once the phase with this parity is complete.
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

// Copies the box at (k, row) to shared memory; its bytes count towards `bar`.
__device__ void load_box(void *to, const CUtensorMap *map, uint64_t *bar, int k, int row)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%3, %4}], [%2];" ::"r"(address(to)),
                 "l"(map), "r"(address(bar)), "r"(k), "r"(row)
                 : "memory");
}

// Shared-memory descriptor: K-major, 128-byte swizzle, groups of 8 rows 1024 bytes apart. Fields count
// 16 bytes. Advancing along K by 16 elements advances the address by 32 bytes, inside the swizzle atom.
__device__ uint64_t descriptor(const void *tile)
{
    return (uint64_t)((address(tile) & 0x3ffff) >> 4) | 1ull << 16 | (uint64_t)(1024 >> 4) << 32 | 1ull << 62;
}

// d (64 x 128, fp32) += A (64 x 16) B^T (128 x 16), all four warps of the warpgroup together.
__device__ void wgmma(float (&d)[64], uint64_t a, uint64_t b)
{
#define D(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
                 "%64, %65, 1, 1, 1, 0, 0;"
                 : D(0), D(8), D(16), D(24), D(32), D(40), D(48), D(56)
                 : "l"(a), "l"(b));
#undef D
}

__device__ void produce(Shared &s, const CUtensorMap *map_a, const CUtensorMap *map_b, int K)
{
    int steps = (K + STEP - 1) / STEP;
    for (int i = 0; i < steps; i++) {
        int stage = i % STAGES;
        uint32_t round = i / STAGES;
        barrier_wait(&s.empty[stage], (round & 1) ^ 1); // the first round finds every stage empty
        barrier_expect(&s.full[stage], 2 * PIECE);
        load_box(s.a[stage], map_a, &s.full[stage], i * STEP, blockIdx.x * TILE_M);
        load_box(s.b[stage], map_b, &s.full[stage], i * STEP, blockIdx.y * TILE_N);
    }
}

__device__ void consume(Shared &s, __nv_bfloat16 *C, int M, int N, int K, int half)
{
    float d[64] = {};
    int steps = (K + STEP - 1) / STEP;
    for (int i = 0; i < steps; i++) {
        int stage = i % STAGES;
        barrier_wait(&s.full[stage], i / STAGES & 1);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); // the registers of d are handed over
        for (int k = 0; k < STEP; k += 16)
            wgmma(d, descriptor(s.a[stage] + half * 64 * STEP * 2 + k * 2), descriptor(s.b[stage] + k * 2));
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        // All but the newest group are done: the stage before this one has been read.
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
        if (i && threadIdx.x % 128 == 0)
            barrier_arrive(&s.empty[(i - 1) % STAGES]);
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");

    // d[4j], d[4j+1]: row lane/4, columns 8j + 2 (lane%4) and the next; d[4j+2], d[4j+3]: eight rows below.
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    int row = blockIdx.x * TILE_M + half * 64 + warp * 16 + lane / 4;
    for (int j = 0; j < TILE_N / 8; j++) {
        int column = blockIdx.y * TILE_N + j * 8 + lane % 4 * 2;
        for (int down = 0; down < 2; down++)
            if (row + 8 * down < M && column < N)
                *(__nv_bfloat162 *)&C[(int64_t)(row + 8 * down) * N + column] =
                    __floats2bfloat162_rn(d[4 * j + 2 * down], d[4 * j + 2 * down + 1]);
    }
}

__global__ __launch_bounds__(384, 1) void gemm_wgmma_tma(const __grid_constant__ CUtensorMap map_a,
                                                         const __grid_constant__ CUtensorMap map_b,
                                                         __nv_bfloat16 *C, int M, int N, int K)
{
    extern __shared__ unsigned char raw[];
    Shared &s = *(Shared *)(((uintptr_t)raw + 1023) / 1024 * 1024);
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            barrier_init(&s.full[i], 1);
            barrier_init(&s.empty[i], 2);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); // TMA must see them initialised
    }
    __syncthreads();

    if (threadIdx.x / 128 == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0)
            produce(s, &map_a, &map_b, K);
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        consume(s, C, M, N, K, threadIdx.x / 128 - 1);
    }
}
