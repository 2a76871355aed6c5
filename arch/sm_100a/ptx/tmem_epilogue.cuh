// SPDX-License-Identifier: Apache-2.0
// From sums in tensor memory (f32, one row a lane) to memory: straight, or through shared memory
// for tma_store. By four whole warps of a warpgroup; a thread has one row, that of its lane: row
// threadIdx.x % 128 of a tile of M 128. After mbarrier_wait of the commit and
// tcgen05_fence_after(); afterwards tcgen05_fence_before() and an arrival give the columns back.
#ifndef PTXBENCH_TMEM_EPILOGUE_CUH
#define PTXBENCH_TMEM_EPILOGUE_CUH

#include <ptxbench/matrix.cuh>
#include <ptxbench/tmem.cuh>

namespace ptxbench
{

// Writes this thread's row, Columns (a multiple of 32) sums from TMEM address `sums` on (lane 0),
// as bf16 to `row`, 16-byte aligned. Columns from `columns` on (a multiple of 8) are left out; a
// thread whose row does not exist passes 0, for the loads are the whole warp's. Each instruction
// writes 16 bytes to each of 32 rows: for speed use tmem_stage_bf16 and tma_store.
// PTX: tcgen05.ld.sync.aligned.32x32b.x32.b32, tcgen05.wait::ld.sync.aligned, cvt.rn.bf16x2.f32
template <int Columns>
__device__ __forceinline__ void tmem_store_bf16(void *row, int columns, uint32_t sums)
{
    static_assert(Columns % 32 == 0, "32 columns at a time");
#pragma unroll
    for (int j = 0; j < Columns; j += 32) {
        uint32_t r[32];
        tmem_load<tmem_shape::l32x32b>(r, tmem_at(sums, threadIdx.x % 128 / 32 * 32, j));
        tmem_wait_load();
#pragma unroll
        for (int i = 0; i < 32; i += 8)
            if (j + i < columns)
                static_cast<uint4 *>(row)[(j + i) / 8] = {
                    pack_bf16(__uint_as_float(r[i]), __uint_as_float(r[i + 1])),
                    pack_bf16(__uint_as_float(r[i + 2]), __uint_as_float(r[i + 3])),
                    pack_bf16(__uint_as_float(r[i + 4]), __uint_as_float(r[i + 5])),
                    pack_bf16(__uint_as_float(r[i + 6]), __uint_as_float(r[i + 7]))};
    }
}

// Writes the four warps' 128 rows as bf16 to shared memory, as boxes {64 columns, 128 rows} with
// swizzle 128B, one behind the other: what tma_store takes with a map of swizzle 128B. Boxes begin
// at multiples of 1024 bytes. Before it their last store has been read (tma_wait_read); after it
// fence_proxy_async_shared() by every thread, a barrier.
// PTX: tcgen05.ld.sync.aligned.32x32b.x32.b32, tcgen05.wait::ld.sync.aligned, cvt.rn.bf16x2.f32
template <int Columns> __device__ __forceinline__ void tmem_stage_bf16(void *boxes, uint32_t sums)
{
    static_assert(Columns % 32 == 0, "32 columns at a time");
#pragma unroll
    for (int j = 0; j < Columns; j += 32) {
        uint32_t r[32];
        tmem_load<tmem_shape::l32x32b>(r, tmem_at(sums, threadIdx.x % 128 / 32 * 32, j));
        tmem_wait_load();
#pragma unroll
        for (int i = 0; i < 32; i += 8) {
            uint4 chunk = {pack_bf16(__uint_as_float(r[i]), __uint_as_float(r[i + 1])),
                           pack_bf16(__uint_as_float(r[i + 2]), __uint_as_float(r[i + 3])),
                           pack_bf16(__uint_as_float(r[i + 4]), __uint_as_float(r[i + 5])),
                           pack_bf16(__uint_as_float(r[i + 6]), __uint_as_float(r[i + 7]))};
            *reinterpret_cast<uint4 *>(
                static_cast<char *>(boxes) + (j + i) / 64 * 128 * 128 +
                swizzled<swizzle::b128>(threadIdx.x % 128, (j + i) % 64 * 2)) = chunk;
        }
    }
}

} // namespace ptxbench

#endif
