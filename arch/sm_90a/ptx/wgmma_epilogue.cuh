// SPDX-License-Identifier: Apache-2.0
// From the sums of a warpgroup (wgmma.cuh, f32) to memory: straight, or through shared memory for
// tma_store.
#ifndef PTXBENCH_WGMMA_EPILOGUE_CUH
#define PTXBENCH_WGMMA_EPILOGUE_CUH

#include <ptxbench/matrix.cuh>

namespace ptxbench
{

// Row, 0 to 63, of sum d[i] of this thread in its warpgroup's piece (f32 or s32 sums).
// PTX: none
__device__ __forceinline__ int wgmma_row(int i)
{
    return threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4 + i / 2 % 2 * 8;
}

// Its column, 0 to N - 1.
// PTX: none
__device__ __forceinline__ int wgmma_column(int i)
{
    return i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2;
}

// Writes 64 x N sums as bf16 to row-major memory from `c` on; `stride`: elements from row to row,
// even. Rows from `rows` on and columns from `columns` on (even) are left out. After wgmma_wait<0>.
// Each store is 4 bytes, 16 a row and instruction: for speed use wgmma_stage_bf16 and tma_store.
// PTX: cvt.rn.bf16x2.f32
template <int Count>
__device__ __forceinline__ void wgmma_store_bf16(void *c, int64_t stride, int rows, int columns,
                                                 const float (&d)[Count])
{
    char *first = static_cast<char *>(c) + 2 * (wgmma_row(0) * stride + wgmma_column(0));
#pragma unroll
    for (int i = 0; i < Count; i += 2)
        if (wgmma_row(i) < rows && wgmma_column(i) < columns)
            *reinterpret_cast<uint32_t *>(first + 16 * stride * (i / 2 % 2) + 4 * (i - i % 4)) =
                pack_bf16(d[i], d[i + 1]);
}

// The same as f32: partial sums.
// PTX: none of its own
template <int Count>
__device__ __forceinline__ void wgmma_store_f32(float *c, int64_t stride, int rows, int columns,
                                                const float (&d)[Count])
{
    float *first = c + wgmma_row(0) * stride + wgmma_column(0);
#pragma unroll
    for (int i = 0; i < Count; i += 2)
        if (wgmma_row(i) < rows && wgmma_column(i) < columns)
            *reinterpret_cast<float2 *>(first + 8 * stride * (i / 2 % 2) + 2 * (i - i % 4)) = {
                d[i], d[i + 1]};
}

// Writes 64 x N sums as bf16 to shared memory, as boxes {64 columns, box_rows rows} with swizzle
// 128B, one behind the other, from row `first` of each on: what tma_store takes with a map of
// swizzle 128B. N a multiple of 16; boxes begin at multiples of 1024 bytes. By a whole warpgroup,
// after wgmma_wait<0>; before it the boxes' last store has been read (tma_wait_read); after it
// fence_proxy_async_shared(), a barrier.
// PTX: cvt.rn.bf16x2.f32, stmatrix.sync.aligned.m8n8.x4.shared.b16
template <int Count>
__device__ __forceinline__ void wgmma_stage_bf16(void *boxes, int box_rows, int first,
                                                 const float (&d)[Count])
{
    static_assert(Count % 8 == 0, "N is a multiple of 16");
    int lane = threadIdx.x % 32, row = first + threadIdx.x % 128 / 32 * 16 + lane % 16;
#pragma unroll
    for (int j = 0; j < Count / 4; j += 2) { // 16 columns
        uint32_t r[4];
#pragma unroll
        for (int i = 0; i < 4; i++)
            r[i] = pack_bf16(d[4 * j + 2 * i], d[4 * j + 2 * i + 1]);
        int chunk = j + lane / 16;
        stmatrix(static_cast<char *>(boxes) + chunk / 8 * box_rows * 128 +
                     swizzled<swizzle::b128>(row, chunk % 8 * 16),
                 r);
    }
}

} // namespace ptxbench

#endif
