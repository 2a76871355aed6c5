// SPDX-License-Identifier: Apache-2.0
//
// gemm through shared memory: a block of 256 threads makes a 64 x 64 tile of C.
//
//         K ->               For each step of 16 along K the block copies a 64 x 16 piece of A and
//      +--+-------+          one of B to shared memory, waits, and uses every copied value 64 times.
//   A  |##|       | 64 rows  Each thread keeps a 4 x 4 piece of the tile in registers, so that eight
//      +--+-------+          loads from shared memory feed sixteen multiplications.
//      +--+-------+
//   B  |##|       | 64 rows  Two barriers a step: no thread may read the pieces before all are
//      +--+-------+          copied, and none may overwrite them before all have read.
//
// What to see here:
//   * Rows of the pieces are padded by one element. Threads of a warp read along a column (same k,
//     neighbouring rows); unpadded, those addresses would fall into the same few memory banks.
//   * Values past the edge of A or B are copied as zero, so the inner loop needs no guard: zeros
//     add nothing. Only the final store is guarded.
//   * Kernels can be templates; the plan names the instance: "gemm_tiled<64, 16>".
//   * A barrier that only some threads of a block reach is a deadlock. `return` before the loop
//     would make one at the edge of the matrix; that is why threads outside stay and copy zeros.
//
// Try it:   ptxbench eval tiled.cu --device cpu --workload m93_n128_k2048

/*ptxbench-launch
{
  "launches": [
    {
      "kernel": "gemm_tiled<64, 16>",
      "grid": ["ceil_div(N, 64)", "ceil_div(M, 64)"],
      "block": [16, 16],
      "args": [{"tensor": "A"}, {"tensor": "B"}, {"tensor": "C"},
               {"i32": "M"}, {"i32": "N"}, {"i32": "K"}]
    }
  ]
}
*/

#include <cuda_bf16.h>

// Copies TILE rows of STEP elements to shared memory as fp32, zeros where the matrix ends.
template <int TILE, int STEP>
__device__ void copy_piece(float (&piece)[TILE][STEP + 1], const __nv_bfloat16 *matrix,
                           int first_row, int rows, int first_k, int K)
{
    int thread = threadIdx.y * blockDim.x + threadIdx.x;
    for (int i = thread; i < TILE * STEP; i += blockDim.x * blockDim.y) {
        int row = first_row + i / STEP, k = first_k + i % STEP;
        bool inside = row < rows && k < K;
        piece[i / STEP][i % STEP] = inside ? __bfloat162float(matrix[(long long)row * K + k]) : 0;
    }
}

template <int TILE, int STEP>
__global__ void gemm_tiled(const __nv_bfloat16 *A, const __nv_bfloat16 *B, __nv_bfloat16 *C,
                           int M, int N, int K)
{
    constexpr int SIDE = TILE / 16; // each of the 16 x 16 threads makes SIDE x SIDE elements
    __shared__ float a[TILE][STEP + 1], b[TILE][STEP + 1];
    int first_row = blockIdx.y * TILE, first_column = blockIdx.x * TILE;

    float sum[SIDE][SIDE] = {};
    for (int k0 = 0; k0 < K; k0 += STEP) {
        copy_piece<TILE, STEP>(a, A, first_row, M, k0, K);
        copy_piece<TILE, STEP>(b, B, first_column, N, k0, K);
        __syncthreads();
        for (int k = 0; k < STEP; k++)
            for (int i = 0; i < SIDE; i++)
                for (int j = 0; j < SIDE; j++)
                    sum[i][j] += a[threadIdx.y + 16 * i][k] * b[threadIdx.x + 16 * j][k];
        __syncthreads();
    }

    // Neighbouring threads store neighbouring columns: whole memory transactions.
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) {
            int row = first_row + threadIdx.y + 16 * i;
            int column = first_column + threadIdx.x + 16 * j;
            if (row < M && column < N)
                C[(long long)row * N + column] = __float2bfloat16(sum[i][j]);
        }
}
