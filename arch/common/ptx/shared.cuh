// SPDX-License-Identifier: Apache-2.0
// Addresses and layout of shared memory: what every other header here needs.
#ifndef PTXBENCH_SHARED_CUH
#define PTXBENCH_SHARED_CUH

#include <cstdint>

namespace ptxbench
{

// Types of tensor-core operands, as tags for templates; no object of them is ever made.
struct bf16;
struct f16;
struct tf32;
struct e4m3;
struct e5m2;
struct s8;
struct u8;

// How TMA and the tensor cores permute the 16-byte chunks of a row. The value is the row's length
// in bytes.
enum class swizzle : int { none = 16, b32 = 32, b64 = 64, b128 = 128 };

// Which way a tile of A or B runs along its rows in shared memory: along k, or along m or n.
enum class major : int { k = 0, mn = 1 };

// 32-bit shared-memory address of a generic pointer, which PTX's .shared operands take.
// The pointer must point into this block's shared memory.
// PTX: cvta.to.shared.u64, cvt.u32.u64
__device__ __forceinline__ uint32_t shared_address(const void *p)
{
    return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

// Writes 16 bytes at a 16-byte aligned address of this block's shared memory, where a
// shared_address is at hand and no pointer.
// PTX: st.shared.v4.b32
__device__ __forceinline__ void shared_store(uint32_t address, const uint32_t (&v)[4])
{
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(v[0]), "r"(v[1]),
                 "r"(v[2]), "r"(v[3])
                 : "memory");
}

// The reading half.
// PTX: ld.shared.v4.b32
__device__ __forceinline__ void shared_load(uint32_t (&v)[4], uint32_t address)
{
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                 : "r"(address)
                 : "memory");
}

// First address at or after `p` that is a multiple of Alignment (a power of two). Dynamic shared
// memory is only 16-byte aligned by contract: use this, and ask for Alignment bytes more in the
// plan's shared_bytes.
// PTX: none of its own
template <int Alignment> __device__ __forceinline__ void *align_up(void *p)
{
    static_assert((Alignment & (Alignment - 1)) == 0, "a power of two");
    return reinterpret_cast<void *>((reinterpret_cast<uintptr_t>(p) + Alignment - 1) &
                                    ~static_cast<uintptr_t>(Alignment - 1));
}

// Where byte `byte` of row `row` of a TMA box lies, in bytes from the box's start, if the box was
// written with swizzle S and its inner dimension is exactly S bytes wide. The box starts at a
// multiple of 8*S bytes. 16-byte chunk c of a row goes to chunk c ^ x, x being bits 7.. of the
// plain offset: 3, 2 or 1 bits of it.
// PTX: none of its own
template <swizzle S>
__device__ __forceinline__ constexpr uint32_t swizzled(uint32_t row, uint32_t byte)
{
    uint32_t plain = row * static_cast<uint32_t>(S) + byte;
    uint32_t mask = static_cast<uint32_t>(S) / 16 - 1; // 0, 1, 3, 7
    return plain ^ ((plain >> 7 & mask) << 4);
}

} // namespace ptxbench

#endif
