// SPDX-License-Identifier: Apache-2.0
//
// gemm with the tensor cores as any GPU since Ampere has them: mma.sync, fed by ldmatrix from shared
// memory, filled by cp.async several steps ahead. It needs nothing of Hopper, and it shows: it executes no
// target instruction, and wgmma_tma.cu leaves it behind.
//
//   A block of 8 warps makes a 128 x 128 tile of C, a warp 64 x 32 of it. A stage holds 128 rows x 32
//   columns of A and of B, 64 bytes a row. Four stages: three are on their way while one is used.
//
// What to see here:
//   * cp.async (copy_async) copies 16 bytes without passing through registers. Its source size may be less than 16; the
//     rest is zero. Size 0 makes rows past the edge zero with no branch.
//   * Swizzle by hand: chunk c of row r lies at c ^ (r / 2 % 4). Eight neighbouring rows of one chunk,
//     which is what ldmatrix reads, then lie in eight different groups of banks.
//   * mma.m16n8k16: A is row-major 16 x 16, B "column-major" 16 x 8, which is exactly B's rows, K contiguous.
//   * K must be a multiple of 8 here (16-byte copies). All workloads are.
//
// Try it:   ptxbench eval mma_sync.cu --device cuda:0
// Next:     wgmma_tma.cu

/*ptxbench-launch
{
  "launches": [
    {
      "kernel": "gemm_mma_sync",
      "grid": ["ceil_div(M, 128)", "ceil_div(N, 128)"],
      "block": [256],
      "shared_bytes": 65536,
      "args": [{"tensor": "A"}, {"tensor": "B"}, {"tensor": "C"}, {"i32": "M"}, {"i32": "N"}, {"i32": "K"}]
    }
  ]
}
*/

#include <cuda_bf16.h>
#include <ptxbench/matrix.cuh>
#include <ptxbench/mma_sync.cuh>
using namespace ptxbench;

constexpr int TILE = 128, STEP = 32, STAGES = 4;
constexpr int ROW = STEP * 2, PIECE = TILE * ROW; // bytes

// Byte of a piece where 16-byte chunk `c` (0 to 3) of row `r` lies.
__device__ int place(int r, int c)
{
    return r * ROW + ((c ^ (r / 2 % 4)) * 16);
}

// Asks for rows first … first + 127, columns k … k + 31 of a matrix; rows and columns outside become zero.
__device__ void copy_piece(char *to, const __nv_bfloat16 *matrix, int first, int rows, int k, int K)
{
    for (int i = threadIdx.x; i < TILE * 4; i += 256) {
        int r = i / 4, c = i % 4;
        bool inside = first + r < rows && k + c * 8 < K;
        const __nv_bfloat16 *from = inside ? matrix + (int64_t)(first + r) * K + k + c * 8 : matrix;
        copy_async(to + place(r, c), from, inside ? 16 : 0);
    }
}

// d (64 x 32 of a warp) += its part of one stage.
__device__ void multiply(float (&d)[4][4][4], const char *piece_a, const char *piece_b, int warp_row, int warp_column)
{
    int lane = threadIdx.x % 32;
    for (int k = 0; k < STEP / 16; k++) {
        uint32_t a[4][4], b[2][4];
        for (int i = 0; i < 4; i++) // rows 0-7 and 8-15 of the first 8 columns, then of the next 8
            ldmatrix(a[i], piece_a + place(warp_row + i * 16 + lane % 16, 2 * k + lane / 16));
        for (int j = 0; j < 2; j++) // 16 rows of B: 8 with both halves of k, then the next 8
            ldmatrix(b[j], piece_b + place(warp_column + j * 16 + lane / 16 * 8 + lane % 8, 2 * k + lane / 8 % 2));
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++)
                mma_bf16(d[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
    }
}

__global__ __launch_bounds__(256, 2) void gemm_mma_sync(const __nv_bfloat16 *A, const __nv_bfloat16 *B,
                                                        __nv_bfloat16 *C, int M, int N, int K)
{
    extern __shared__ __align__(128) char raw[];
    int first_row = blockIdx.x * TILE, first_column = blockIdx.y * TILE;
    int warp = threadIdx.x / 32, warp_row = warp / 4 * 64, warp_column = warp % 4 * 32;
    int steps = (K + STEP - 1) / STEP;

    auto fetch = [&](int step) {
        char *stage = raw + step % STAGES * 2 * PIECE;
        if (step < steps) {
            copy_piece(stage, A, first_row, M, step * STEP, K);
            copy_piece(stage + PIECE, B, first_column, N, step * STEP, K);
        }
        copy_async_commit(); // a group a step, even an empty one
    };

    for (int step = 0; step < STAGES - 1; step++)
        fetch(step);
    float d[4][4][4] = {};
    for (int step = 0; step < steps; step++) {
        copy_async_wait<STAGES - 2>();
        __syncthreads(); // everybody's part of this stage is here, and the stage to refill was used
        fetch(step + STAGES - 1);
        char *stage = raw + step % STAGES * 2 * PIECE;
        multiply(d, stage, stage + PIECE, warp_row, warp_column);
    }

    int lane = threadIdx.x % 32;
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            for (int down = 0; down < 2; down++) {
                int row = first_row + warp_row + i * 16 + lane / 4 + down * 8;
                int column = first_column + warp_column + j * 8 + lane % 4 * 2;
                if (row < M && column < N)
                    *(__nv_bfloat162 *)&C[(int64_t)row * N + column] =
                        __floats2bfloat162_rn(d[i][j][2 * down], d[i][j][2 * down + 1]);
            }
}
