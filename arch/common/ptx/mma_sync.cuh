// SPDX-License-Identifier: Apache-2.0
// The tensor cores a warp at a time, with operands in registers (ldmatrix in matrix.cuh fills
// them), and copies to shared memory without TMA. No target instructions: what these do is slower
// than the units of this GPU, and fits shapes that those do not.
#ifndef PTXBENCH_MMA_SYNC_CUH
#define PTXBENCH_MMA_SYNC_CUH

#include <ptxbench/shared.cuh>

namespace ptxbench
{

// d (16 x 8) += A (16 x 16) B (16 x 8). By all 32 lanes. Lane l holds d[0], d[1] = (row l/4, column
// 2(l%4) and the next), d[2] and d[3] eight rows below; a: as ldmatrix loads rows 0 to 7 and 8 to
// 15 of the first 8 k, then of the next 8; b0, b1: as it loads 8 rows of B^T (k runs along them),
// the first 8 k and the next.
// PTX: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
__device__ __forceinline__ void mma_bf16(float (&d)[4], const uint32_t (&a)[4], uint32_t b0,
                                         uint32_t b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// The same with f16.
// PTX: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
__device__ __forceinline__ void mma_f16(float (&d)[4], const uint32_t (&a)[4], uint32_t b0,
                                         uint32_t b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Copies 16 bytes from global to shared memory past the registers; both 16-byte aligned. Only
// `bytes` of them (0 to 16) are read and the rest is zero: 0 where the source is out of bounds.
// PTX: cp.async.cg.shared.global
__device__ __forceinline__ void copy_async(void *to, const void *from, int bytes = 16)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)),
                 "l"(__cvta_generic_to_global(from)), "r"(bytes)
                 : "memory");
}

// Closes a group of this thread's copies since the last; an empty group counts too.
// PTX: cp.async.commit_group
__device__ __forceinline__ void copy_async_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits until all but the newest N groups of this thread have been written; then __syncthreads()
// makes them everybody's.
// PTX: cp.async.wait_group
template <int N> __device__ __forceinline__ void copy_async_wait()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

} // namespace ptxbench

#endif
