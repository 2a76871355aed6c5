// SPDX-License-Identifier: Apache-2.0
//
// gemm, the simplest kernel that is right: one thread makes one element of C.
//
//   C[i, j] = sum over k of A[i, k] * B[j, k]
//
// where A is M x K, B is N x K and C is M x N, all row-major.
//
// What to see here:
//   * A submission is this file: device code and a launch plan. There is no host code. The service
//     allocates A, B and C, launches what the plan says, checks and times it.
//   * The plan below is JSON inside a comment that begins with the word ptxbench-launch. Its
//     expressions know the workload's axes (M, N, K), so one source serves every shape.
//   * `kernel` names a function of this file the way C++ would ("gemm_naive", "ns::gemm<128>").
//   * Sums are kept in fp32 and rounded to bf16 once, at the end. A sum in bf16 or fp16 is faster
//     and is found out: it fails the exact-integer inputs.
//   * Shapes are not multiples of anything: M may be 93. Hence the guard.
//
// Try it:   ptxbench eval naive.cu --device cpu
// Next:     tiled.cu loads every element from global memory far less often.

/*ptxbench-launch
{
  "launches": [
    {
      "kernel": "gemm_naive",
      "grid": ["ceil_div(N, 32)", "ceil_div(M, 8)"],
      "block": [32, 8],
      "args": [{"tensor": "A"}, {"tensor": "B"}, {"tensor": "C"},
               {"i32": "M"}, {"i32": "N"}, {"i32": "K"}]
    }
  ]
}
*/

#include <cuda_bf16.h>

__global__ void gemm_naive(const __nv_bfloat16 *A, const __nv_bfloat16 *B, __nv_bfloat16 *C,
                           int M, int N, int K)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || column >= N)
        return;

    const __nv_bfloat16 *a = A + (long long)row * K, *b = B + (long long)column * K;
    float sum = 0;
    for (int k = 0; k < K; k++)
        sum += __bfloat162float(a[k]) * __bfloat162float(b[k]);
    C[(long long)row * N + column] = __float2bfloat16(sum);
}
