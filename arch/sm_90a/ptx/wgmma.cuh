// SPDX-License-Identifier: Apache-2.0
// wgmma: a warpgroup multiplies a 64 x K piece of A with a K x N piece of B, asynchronously.
//
//   wgmma_fence();                          before the first; after ordinary code touched d or a
//   wgmma<bf16>(d, a, b); …                 a, b: descriptors of tiles in shared memory
//   wgmma_commit();                         closes the group
//   wgmma_wait<0>();                        before d is read and before the tiles are overwritten
//
// K is 32 bytes of elements: 16 bf16 or f16, 8 tf32, 32 e4m3, e5m2, s8 or u8. Every call here is
// made by all 128 threads of a warpgroup (four warps, the first a multiple of four), not diverged.
//
// d: with f32 sums `float d[N/2]`, with s32 sums `int d[N/2]`, with f16 sums `uint32_t d[N/4]`.
// Thread t holds, for j = 0 .. N/8 - 1 and row = 16 (t/32 % 4) + t%32 / 4: d[4j], d[4j+1] = (row,
// 8j + 2(t%4)) and the next column; d[4j+2], d[4j+3] the same of row + 8. f16: d[2j] and d[2j+1]
// hold these pairs, the first column in the low half. A in registers: a[0] = (row, k 2(t%4) and the
// next), a[1] = row + 8, a[2] and a[3] = the same at k + 8, for 16-bit types; for 8-bit types four
// k from 4(t%4) and + 16; for tf32 one k, t%4, and + 4.
#ifndef PTXBENCH_WGMMA_CUH
#define PTXBENCH_WGMMA_CUH

#include <ptxbench/shared.cuh>
#include <ptxbench/wgmma_operands.cuh> // the instruction once for each N: detail::wgmma_n

namespace ptxbench
{

// Hands d and a over to the tensor cores. Before the first wgmma, and again whenever ordinary code
// has written d or a since; not between wgmmas into the same d.
// PTX: wgmma.fence.sync.aligned
__device__ __forceinline__ void wgmma_fence()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

// Closes a group of all wgmmas since the last one.
// PTX: wgmma.commit_group.sync.aligned
__device__ __forceinline__ void wgmma_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Waits until all but the newest N groups are done: their d may be read, their tiles overwritten.
// PTX: wgmma.wait_group.sync.aligned
template <int N> __device__ __forceinline__ void wgmma_wait()
{
    static_assert(N >= 0 && N <= 7, "0 to 7");
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}

// Tells the compiler that d (or a) changes here, so that it moves no read or copy of it across.
// Right after wgmma_wait where several sets of sums are in flight; costs nothing.
// PTX: none
template <class T, int Count> __device__ __forceinline__ void wgmma_hold(T (&d)[Count])
{
#pragma unroll
    for (int i = 0; i < Count; i++)
        if constexpr (sizeof(T) == 4 && static_cast<T>(0.5f) == 0)
            asm volatile("" : "+r"(d[i])::"memory");
        else
            asm volatile("" : "+f"(d[i])::"memory");
}

// ---- descriptors: where a tile lies in shared memory, and how ----

// Strides between core matrices (8 rows of 16 bytes) in bytes, below 2^18, multiples of 16; what
// they mean depends on the layout: use the builders below. `tile` is 16-byte aligned; with swizzle
// the pattern must begin at a multiple of 256, 512 or 1024 bytes.
// PTX: none of its own
template <swizzle S>
__device__ __forceinline__ uint64_t descriptor(const void *tile, uint32_t leading, uint32_t stride)
{
    constexpr uint64_t kind = S == swizzle::b128  ? 1
                              : S == swizzle::b64 ? 2
                              : S == swizzle::b32 ? 3
                                                  : 0;
    return (shared_address(tile) & 0x3ffff) >> 4 |
           static_cast<uint64_t>((leading & 0x3ffff) >> 4) << 16 |
           static_cast<uint64_t>((stride & 0x3ffff) >> 4) << 32 | kind << 62;
}

// K-major tile (k runs along the row) as TMA writes a box {S bytes of k, rows} with the same
// swizzle. The next K of the same box is 32 bytes on: advance(desc, 32). `rows`, without swizzle
// only: rows of the box, {16 bytes of k, rows}; there the two halves of a K lie in two boxes, one
// behind the other.
// PTX: none of its own
template <swizzle S>
__device__ __forceinline__ uint64_t descriptor_k_major(const void *tile, int rows = 8)
{
    if constexpr (S == swizzle::none)
        return descriptor<S>(tile, 16 * rows, 128);
    else
        return descriptor<S>(tile, 16, 8 * static_cast<int>(S));
}

// MN-major tile (m or n runs along the row; bf16 and f16 only) as TMA writes boxes {S bytes of m or
// n, `ks` rows of k}, for wider tiles one box behind the other. The next 16 k are 16 rows on:
// advance(desc, 16 * S). With it: wgmma<bf16, bf16, major::mn> for A, wgmma<bf16, bf16, major::k,
// major::mn> for B.
// PTX: none of its own
template <swizzle S>
__device__ __forceinline__ uint64_t descriptor_mn_major(const void *tile, int ks)
{
    if constexpr (S == swizzle::none)
        return descriptor<S>(tile, 128, 16 * ks);
    else
        return descriptor<S>(tile, static_cast<int>(S) * ks, 8 * static_cast<int>(S));
}

// The descriptor of what lies `bytes` further on (a multiple of 16).
// PTX: none of its own
__device__ __forceinline__ uint64_t advance(uint64_t descriptor, uint32_t bytes)
{
    return descriptor + (bytes >> 4);
}

// ---- the instruction ----

namespace detail
{

template <class A, class B, class D>
struct wgmma_types; // the part of the instruction's name after m64nN; `transposes`: takes major
                    // flags
#define PTXBENCH_TYPES(a, b, d, k, has_major)                                                      \
    template <> struct wgmma_types<a, b, d> {                                                      \
        static constexpr bool transposes = has_major, signs = PTXBENCH_SIGNS_##d;                  \
        static constexpr int columns = PTXBENCH_COLUMNS_##d;                                       \
        static constexpr char text[] = "k" #k "." PTXBENCH_SUM_##d "." #a "." #b;                  \
    };
#define PTXBENCH_SUM_float "f32"
#define PTXBENCH_SUM_uint32_t "f16"
#define PTXBENCH_SUM_int "s32"
#define PTXBENCH_COLUMNS_float 2 // of N for each register
#define PTXBENCH_COLUMNS_uint32_t 4
#define PTXBENCH_COLUMNS_int 2
#define PTXBENCH_SIGNS_float true // integers take no sign operands
#define PTXBENCH_SIGNS_uint32_t true
#define PTXBENCH_SIGNS_int false
// clang-format off
PTXBENCH_TYPES(bf16, bf16, float, 16, true)
PTXBENCH_TYPES(f16, f16, float, 16, true)
PTXBENCH_TYPES(f16, f16, uint32_t, 16, true)
PTXBENCH_TYPES(tf32, tf32, float, 8, false)
PTXBENCH_TYPES(e4m3, e4m3, float, 32, false)
PTXBENCH_TYPES(e4m3, e4m3, uint32_t, 32, false)
PTXBENCH_TYPES(e4m3, e5m2, float, 32, false)
PTXBENCH_TYPES(e4m3, e5m2, uint32_t, 32, false)
PTXBENCH_TYPES(e5m2, e4m3, float, 32, false)
PTXBENCH_TYPES(e5m2, e4m3, uint32_t, 32, false)
PTXBENCH_TYPES(e5m2, e5m2, float, 32, false)
PTXBENCH_TYPES(e5m2, e5m2, uint32_t, 32, false)
PTXBENCH_TYPES(s8, s8, int, 32, false)
PTXBENCH_TYPES(s8, u8, int, 32, false)
PTXBENCH_TYPES(u8, s8, int, 32, false)
PTXBENCH_TYPES(u8, u8, int, 32, false)
// clang-format on
#undef PTXBENCH_TYPES

// What follows the operands: the signs of A and B, then the majors of those that lie in shared
// memory; for integers nothing.
// clang-format off
template <bool Signs, bool Flags, int SignA, int SignB, major A, major B>
struct wgmma_shared_flags {
    static constexpr char text[] = {',', ' ', SignA < 0 ? '-' : ' ', '1',
                                    ',', SignB < 0 ? '-' : ' ', '1',
                                    Flags ? ',' : ' ', Flags ? '0' + int(A) : ' ',
                                    Flags ? ',' : ' ', Flags ? '0' + int(B) : ' ', 0};
};
template <bool Signs, bool Flags, int SignA, int SignB, major B>
struct wgmma_register_flags {
    static constexpr char text[] = {',', ' ', SignA < 0 ? '-' : ' ', '1',
                                    ',', SignB < 0 ? '-' : ' ', '1',
                                    Flags ? ',' : ' ', Flags ? '0' + int(B) : ' ', 0};
};
// clang-format on
template <bool Flags, int SignA, int SignB, major A, major B>
struct wgmma_shared_flags<false, Flags, SignA, SignB, A, B> {
    static constexpr char text[] = "";
};
template <bool Flags, int SignA, int SignB, major B>
struct wgmma_register_flags<false, Flags, SignA, SignB, B> {
    static constexpr char text[] = "";
};

} // namespace detail

// d = A B + (keep ? d : 0), both in shared memory; N follows from d's size: 8 to 256, a multiple of
// 8. Types: bf16 or f16 (A and B the same), tf32, any mix of e4m3 and e5m2, any mix of s8 and u8
// (int d; N 8, 16, 24, then multiples of 16); sums in f16 with f16, e4m3 and e5m2 only. SignA,
// SignB: 1 or -1, not for integers. After wgmma_fence(); d, the tiles and the descriptors' contents
// are the tensor cores' until wgmma_wait. Tiles written by ordinary stores need
// fence_proxy_async_shared() and a barrier; those from TMA do not.
// PTX: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 and so on
template <class A, class B = A, major MajorA = major::k, major MajorB = major::k, int SignA = 1,
          int SignB = 1, class D, int Count>
__device__ __forceinline__ void wgmma(D (&d)[Count], uint64_t a, uint64_t b, bool keep = true)
{
    using types = detail::wgmma_types<A, B, D>;
    static_assert(types::transposes || (MajorA == major::k && MajorB == major::k),
                  "8 and 32 bits: K-major");
    using flags =
        detail::wgmma_shared_flags<types::signs, types::transposes, SignA, SignB, MajorA, MajorB>;
    detail::wgmma_n<Count * types::columns, D>::template run<types, flags>(d, a, b, keep);
}

// The same with A in registers (always K-major). a may not change until wgmma_wait.
// PTX: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 with {a0, a1, a2, a3}
template <class A, class B = A, major MajorB = major::k, int SignA = 1, int SignB = 1, class D,
          int Count>
__device__ __forceinline__ void wgmma(D (&d)[Count], const uint32_t (&a)[4], uint64_t b,
                                      bool keep = true)
{
    using types = detail::wgmma_types<A, B, D>;
    static_assert(types::transposes || MajorB == major::k, "8 and 32 bits: K-major");
    using flags =
        detail::wgmma_register_flags<types::signs, types::transposes, SignA, SignB, MajorB>;
    detail::wgmma_n<Count * types::columns, D>::template run<types, flags>(d, a, b, keep);
}

} // namespace ptxbench

#endif
