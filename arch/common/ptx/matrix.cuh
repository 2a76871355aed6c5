// SPDX-License-Identifier: Apache-2.0
// 8x8 matrices of 16-bit elements between shared memory and a warp's registers, and packing pairs.
//
// A matrix is 8 rows of 16 bytes. Lane l holds elements 2(l%4) and 2(l%4)+1 of row l/4 in one
// register, the first in the low half; transposed, of column l/4. Lane 8i+r gives the address of
// row r of matrix i; x1 and x2 look only at the first 8 or 16 lanes. Addresses are 16-byte aligned.
// All 32 lanes take part.
#ifndef PTXBENCH_MATRIX_CUH
#define PTXBENCH_MATRIX_CUH

#include <ptxbench/shared.cuh>

namespace ptxbench
{

// Loads one, two or four matrices: the size of `r` says how many.
// PTX: ldmatrix.sync.aligned.m8n8.x1.shared.b16, .x2, .x4; with Transpose: .trans
template <bool Transpose = false, int Count>
__device__ __forceinline__ void ldmatrix(uint32_t (&r)[Count], const void *row)
{
    static_assert(Count == 1 || Count == 2 || Count == 4, "one, two or four matrices");
    uint32_t from = shared_address(row);
    if constexpr (Count == 1 && !Transpose)
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
                     : "=r"(r[0])
                     : "r"(from)
                     : "memory");
    else if constexpr (Count == 1)
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
                     : "=r"(r[0])
                     : "r"(from)
                     : "memory");
    else if constexpr (Count == 2 && !Transpose)
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                     : "=r"(r[0]), "=r"(r[1])
                     : "r"(from)
                     : "memory");
    else if constexpr (Count == 2)
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                     : "=r"(r[0]), "=r"(r[1])
                     : "r"(from)
                     : "memory");
    else if constexpr (!Transpose)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                     : "r"(from)
                     : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                     : "r"(from)
                     : "memory");
}

// Stores one, two or four matrices. Before TMA or wgmma reads them: fence_proxy_async_shared(),
// barrier.
// PTX: stmatrix.sync.aligned.m8n8.x1.shared.b16, .x2, .x4; with Transpose: .trans
template <bool Transpose = false, int Count>
__device__ __forceinline__ void stmatrix(void *row, const uint32_t (&r)[Count])
{
    static_assert(Count == 1 || Count == 2 || Count == 4, "one, two or four matrices");
    uint32_t to = shared_address(row);
    if constexpr (Count == 1 && !Transpose)
        asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(to), "r"(r[0])
                     : "memory");
    else if constexpr (Count == 1)
        asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" ::"r"(to),
                     "r"(r[0])
                     : "memory");
    else if constexpr (Count == 2 && !Transpose)
        asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(to),
                     "r"(r[0]), "r"(r[1])
                     : "memory");
    else if constexpr (Count == 2)
        asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(to),
                     "r"(r[0]), "r"(r[1])
                     : "memory");
    else if constexpr (!Transpose)
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to),
                     "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
                     : "memory");
    else
        asm volatile(
            "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to),
            "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
            : "memory");
}

// Two floats as two bf16 in one register, `low` in the low half; rounds to nearest even.
// PTX: cvt.rn.bf16x2.f32
__device__ __forceinline__ uint32_t pack_bf16(float low, float high)
{
    uint32_t pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}

// The same as f16; beyond 65504 it gives infinity.
// PTX: cvt.rn.f16x2.f32
__device__ __forceinline__ uint32_t pack_f16(float low, float high)
{
    uint32_t pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}

// Two floats as two e4m3 in 16 bits; beyond the largest finite value (448) it gives that.
// PTX: cvt.rn.satfinite.e4m3x2.f32
__device__ __forceinline__ uint16_t pack_e4m3(float low, float high)
{
    uint16_t pair;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(high), "f"(low));
    return pair;
}

// 2^x, two units in the last place off at most, denormals as zero: the exponential of a softmax,
// with the scores multiplied by log2(e) beforehand.
// PTX: ex2.approx.ftz.f32
__device__ __forceinline__ float exp2_approx(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

} // namespace ptxbench

#endif
