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
//   * "#pragma unroll 1" on the loops over K: the compiler would make three copies of each, which are no
//     faster and take it twice as long.
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

#include <cuda_bf16.h>
#include <ptxbench/barrier.cuh>
#include <ptxbench/pipeline.cuh>
#include <ptxbench/tma.cuh>
#include <ptxbench/wgmma.cuh>
#include <ptxbench/wgmma_epilogue.cuh>
using namespace ptxbench;

constexpr int TILE_M = 128, TILE_N = 128, STEP = 64, STAGES = 5;
constexpr int PIECE = 128 * STEP * 2; // bytes of a piece of A or of B

struct Shared {
    alignas(1024) char a[STAGES][PIECE], b[STAGES][PIECE]; // the swizzle repeats every 1024 bytes
    pipeline<STAGES> ring;
};
static_assert(sizeof(Shared) + 1024 <= 165888, "shared_bytes of the plan: what is used and room to align it");

__device__ void produce(Shared &s, const CUtensorMap *map_a, const CUtensorMap *map_b, int K)
{
    pipeline_stage<STAGES> at;
#pragma unroll 1
    for (int k = 0; k < K; k += STEP, at.advance()) {
        s.ring.wait_empty(at); // the first round finds every stage empty
        uint64_t *full = s.ring.expect(at, 2 * PIECE);
        tma_load(s.a[at.index], map_a, full, {k, (int)blockIdx.x * TILE_M});
        tma_load(s.b[at.index], map_b, full, {k, (int)blockIdx.y * TILE_N});
    }
}

__device__ void consume(Shared &s, __nv_bfloat16 *C, int M, int N, int K, int half)
{
    float d[TILE_N / 2] = {}; // 64 x TILE_N over the 128 threads of a warpgroup
    pipeline_stage<STAGES> at, before;
#pragma unroll 1
    for (int k = 0; k < K; k += STEP, at.advance()) {
        s.ring.wait_full(at);
        wgmma_fence(); // the registers of d are handed over
        for (int i = 0; i < STEP; i += 16) // along K by 16 elements: 32 bytes, inside the swizzle's pattern
            wgmma<bf16>(d, descriptor_k_major<swizzle::b128>(s.a[at.index] + half * 64 * STEP * 2 + i * 2),
                        descriptor_k_major<swizzle::b128>(s.b[at.index] + i * 2));
        wgmma_commit();
        wgmma_wait<1>(); // all but the newest group are done: the stage before this one has been read
        if (k && threadIdx.x % 128 == 0)
            s.ring.release(before);
        before = at;
    }
    wgmma_wait<0>();
    int row = blockIdx.x * TILE_M + half * 64, column = blockIdx.y * TILE_N;
    wgmma_store_bf16(C + (int64_t)row * N + column, N, M - row, N - column, d);
}

__global__ __launch_bounds__(384, 1) void gemm_wgmma_tma(const __grid_constant__ CUtensorMap map_a,
                                                         const __grid_constant__ CUtensorMap map_b,
                                                         __nv_bfloat16 *C, int M, int N, int K)
{
    extern __shared__ unsigned char raw[];
    Shared &s = *(Shared *)align_up<1024>(raw);
    if (threadIdx.x == 0)
        s.ring.init(2); // two consumers free a stage
    __syncthreads();

    if (threadIdx.x / 128 == 0) {
        setmaxnreg_dec<40>();
        if (threadIdx.x == 0)
            produce(s, &map_a, &map_b, K);
    } else {
        setmaxnreg_inc<232>();
        consume(s, C, M, N, K, threadIdx.x / 128 - 1);
    }
}
