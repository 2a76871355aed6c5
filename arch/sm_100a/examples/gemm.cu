// SPDX-License-Identifier: Apache-2.0
// C = A B^T, bf16. Each block makes 128 x 128 of C: warp 0 loads with TMA, warp 1 multiplies with tcgen05.mma into
// tensor memory, warps 4 to 7 bring the sums to C.

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
      "block": [256],
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
#include <ptxbench/tcgen05.cuh>
#include <ptxbench/tma.cuh>
using namespace ptxbench;

constexpr int STAGES = 4, STEP = 64, BYTES = 128 * STEP * 2; // a stage: 128 rows of A and of B, 64 k
constexpr uint32_t COLUMNS = 128;                            // of tensor memory: one for each column of the tile

struct Shared {
    alignas(1024) char a[STAGES][BYTES], b[STAGES][BYTES];
    pipeline<STAGES> ring;
    uint64_t done;
    uint32_t sums; // where in tensor memory
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

__device__ void multiply(Shared &s, int K)
{
    pipeline_stage<STAGES> at;
    for (int k = 0; k < K; k += STEP, at.advance()) {
        s.ring.wait_full(at);
        tcgen05_fence_after();
        for (int i = 0; i < STEP; i += 16)
            tcgen05_mma<mma_kind::f16>(s.sums, descriptor_k_major<swizzle::b128>(s.a[at.index] + i * 2),
                                       descriptor_k_major<swizzle::b128>(s.b[at.index] + i * 2),
                                       instruction<bf16>(128, 128), k + i > 0);
        tcgen05_commit(&s.ring.empty[at.index]); // frees the stage when these are done
    }
    tcgen05_commit(&s.done);
}

__device__ void store(Shared &s, __nv_bfloat16 *C, int M, int N)
{
    int warp = threadIdx.x / 32 % 4, row = blockIdx.x * 128 + threadIdx.x % 128;
    mbarrier_wait(&s.done, 0);
    tcgen05_fence_after();
    for (int j = 0; j < 128; j += 32) {
        uint32_t r[32];
        tmem_load<tmem_shape::l32x32b>(r, tmem_at(s.sums, 32 * warp, j)); // row of this thread, 32 columns
        tmem_wait_load();
        for (int i = 0; i < 32; i += 2) { // N is even here: pairs are whole
            int column = blockIdx.y * 128 + j + i;
            if (row < M && column < N)
                *(uint32_t *)(C + (size_t)row * N + column) =
                    pack_bf16(__uint_as_float(r[i]), __uint_as_float(r[i + 1]));
        }
    }
    tcgen05_fence_before();
}

__global__ __launch_bounds__(256, 1) void gemm(const __grid_constant__ CUtensorMap a,
                                               const __grid_constant__ CUtensorMap b, __nv_bfloat16 *C,
                                               int M, int N, int K)
{
    extern __shared__ char raw[];
    Shared &s = *(Shared *)align_up<1024>(raw);
    int warp = threadIdx.x / 32;
    if (threadIdx.x == 0) {
        mbarrier_init(&s.done, 1);
        s.ring.init(1); // one arrival, that of tcgen05_commit
    }
    if (warp == 1) {
        tmem_alloc<1>(&s.sums, COLUMNS);
        tmem_relinquish<1>();
    }
    tcgen05_fence_before();
    __syncthreads();
    tcgen05_fence_after();
    if (warp == 0 && elect_one())
        produce(s, &a, &b, K);
    else if (warp == 1 && elect_one())
        multiply(s, K);
    else if (warp >= 4)
        store(s, C, M, N);
    __syncwarp();
    __syncthreads();
    tcgen05_fence_after();
    if (warp == 1)
        tmem_dealloc<1>(s.sums, COLUMNS);
}
