// SPDX-License-Identifier: Apache-2.0
// C = A B^T, bf16. Each block makes 128 x 128 of C: warpgroup 0 loads with TMA, 1 and 2 multiply with wgmma.

/*ptxbench-launch
{
  "tensor_maps": {
    "a": {"tensor": "A", "box": [64, 128], "swizzle": "128B"},
    "b": {"tensor": "B", "box": [64, 128], "swizzle": "128B"}
  },
  "launches": [
    {
      "kernel": "gemm",
      "grid": ["ceil_div(M, 128)", "ceil_div(N, 128)"],
      "block": [384],
      "shared_bytes": 133120,
      "args": [{"tensor_map": "a"}, {"tensor_map": "b"}, {"tensor": "C"}, {"i32": "M"}, {"i32": "N"}, {"i32": "K"}]
    }
  ]
}
*/

#include <cuda_bf16.h>
#include <ptxbench/barrier.cuh>
#include <ptxbench/matrix.cuh>
#include <ptxbench/pipeline.cuh>
#include <ptxbench/tma.cuh>
#include <ptxbench/wgmma.cuh>
using namespace ptxbench;

constexpr int STAGES = 4, STEP = 64, BYTES = 128 * STEP * 2; // a stage: 128 rows of A and of B, 64 k

struct Shared {
    alignas(1024) char a[STAGES][BYTES], b[STAGES][BYTES];
    pipeline<STAGES> ring;
};
static_assert(sizeof(Shared) + 1024 <= 133120, "shared_bytes of the plan, with room to align");

__device__ void produce(Shared &s, const CUtensorMap *a, const CUtensorMap *b, int K)
{
    pipeline_stage<STAGES> at;
    for (int k = 0; k < K; k += STEP, at.advance()) {
        s.ring.wait_empty(at);
        uint64_t *full = s.ring.expect(at, 2 * BYTES);
        tma_load(s.a[at.index], a, full, {k, (int)blockIdx.x * 128});
        tma_load(s.b[at.index], b, full, {k, (int)blockIdx.y * 128});
    }
}

__device__ void consume(Shared &s, __nv_bfloat16 *C, int M, int N, int K, int half)
{
    pipeline_stage<STAGES> at;
    float d[64]; // 64 x 128 over 128 threads
    for (int k = 0; k < K; k += STEP, at.advance()) {
        s.ring.wait_full(at);
        wgmma_fence();
        for (int i = 0; i < STEP; i += 16)
            wgmma<bf16>(d, descriptor_k_major<swizzle::b128>(s.a[at.index] + half * 64 * 128 + i * 2),
                        descriptor_k_major<swizzle::b128>(s.b[at.index] + i * 2), k + i > 0);
        wgmma_commit();
        wgmma_wait<0>();
        if (threadIdx.x % 128 == 0)
            s.ring.release(at);
    }
    int t = threadIdx.x % 128, row = blockIdx.x * 128 + half * 64 + t / 32 * 16 + t % 32 / 4;
    int column = blockIdx.y * 128 + t % 4 * 2;
    for (int j = 0; j < 16; j++)
        for (int low = 0; low < 2; low++) // N is even here: pairs are whole
            if (row + 8 * low < M && column + 8 * j < N)
                *(uint32_t *)(C + (size_t)(row + 8 * low) * N + column + 8 * j) =
                    pack_bf16(d[4 * j + 2 * low], d[4 * j + 2 * low + 1]);
}

__global__ __launch_bounds__(384, 1) void gemm(const __grid_constant__ CUtensorMap a,
                                               const __grid_constant__ CUtensorMap b, __nv_bfloat16 *C,
                                               int M, int N, int K)
{
    extern __shared__ char raw[];
    Shared &s = *(Shared *)align_up<1024>(raw);
    if (threadIdx.x == 0)
        s.ring.init(2); // two consumers, one arrival each
    __syncthreads();
    if (threadIdx.x / 128 == 0) {
        setmaxnreg_dec<40>();
        if (threadIdx.x == 0)
            produce(s, &a, &b, K);
    } else {
        setmaxnreg_inc<232>();
        consume(s, C, M, N, K, threadIdx.x / 128 - 1);
    }
}
