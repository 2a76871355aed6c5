// SPDX-License-Identifier: Apache-2.0
// tcgen05.mma: one thread multiplies an M x K piece of A with a K x N piece of B; sums stay in
// TMEM.
//
//   mbarrier_wait(full, …); tcgen05_fence_after();   tiles are there; D is free, A in TMEM written
//   tcgen05_mma<mma_kind::f16>(d, a, b, i, keep); …  a, b: descriptors of tiles; i: instruction()
//   tcgen05_commit(bar);                             arrives at bar when all of these are done
//
// K of one instruction is 32 bytes of elements: 16 bf16 or f16, 8 tf32, 32 of 8, 6 or 4 bits in
// kinds f8f6f4, i8 and mxf8f6f4 (6 and 4 bits padded to 8); 64 of 4 bits in mxf4 and mxf4nvf4.
//
// D in TMEM, 32 bits a column: Blocks = 1, M = 128: row i in lane i, column j in column j. M = 64:
// row i in lane 32 (i / 16) + i % 16. Blocks = 2 (a pair: ranks 2r and 2r + 1 of a cluster), M =
// 256: each block holds 128 rows, N columns; M = 128: each 64 rows, lanes 0 to 63 columns 0 to N/2
// - 1, lanes 64 to 127 the others. Of a pair the even block issues for both; each holds its M/2
// rows of A and N/2 rows of B at the same shared addresses, and D at the same TMEM address.
#ifndef PTXBENCH_TCGEN05_CUH
#define PTXBENCH_TCGEN05_CUH

#include <ptxbench/tmem.cuh>

namespace ptxbench
{

struct e2m3; // further types, of 6 and 4 bits
struct e3m2;
struct e2m1;
struct ue8m0; // and of scale factors
struct ue4m3;

// ---- descriptors of tiles in shared memory ----

// Strides between core matrices (8 rows of 16 bytes) in bytes, below 2^18, multiples of 16; what
// they mean depends on the layout: use the builders below. `tile` is 16-byte aligned; with swizzle
// the pattern must begin at a multiple of 256, 512 or 1024 bytes. Not the bits of wgmma.
// PTX: none
template <swizzle S>
__device__ __forceinline__ uint64_t descriptor(const void *tile, uint32_t leading, uint32_t stride)
{
    constexpr uint64_t kind = S == swizzle::b128  ? 2
                              : S == swizzle::b64 ? 4
                              : S == swizzle::b32 ? 6
                                                  : 0;
    return (shared_address(tile) & 0x3ffff) >> 4 |
           static_cast<uint64_t>((leading & 0x3ffff) >> 4) << 16 |
           static_cast<uint64_t>((stride & 0x3ffff) >> 4) << 32 | 1ull << 46 | kind << 61;
}

// K-major tile (k runs along the row) as TMA writes a box {S bytes of k, rows} with the same
// swizzle. The next K of the same box is 32 bytes on: advance(desc, 32). `rows`, without swizzle
// only: rows of the box, {16 bytes of k, rows}; there the two halves of a K lie in two boxes, one
// behind the other.
// PTX: none
template <swizzle S>
__device__ __forceinline__ uint64_t descriptor_k_major(const void *tile, int rows = 8)
{
    if constexpr (S == swizzle::none)
        return descriptor<S>(tile, 16 * rows, 128);
    else
        return descriptor<S>(tile, 16, 8 * static_cast<int>(S));
}

// MN-major tile (m or n runs along the row; 16-bit types) as TMA writes boxes {S bytes of m or n,
// `ks` rows of k}, for wider tiles one box behind the other. The next 16 k are 16 rows on:
// advance(desc, 16 * S). The instruction descriptor says major::mn for that operand.
// PTX: none
template <swizzle S>
__device__ __forceinline__ uint64_t descriptor_mn_major(const void *tile, int ks)
{
    if constexpr (S == swizzle::none)
        return descriptor<S>(tile, 128, 16 * ks);
    else
        return descriptor<S>(tile, static_cast<int>(S) * ks, 8 * static_cast<int>(S));
}

// The descriptor of what lies `bytes` further on (a multiple of 16).
// PTX: none
__device__ __forceinline__ uint64_t advance(uint64_t descriptor, uint32_t bytes)
{
    return descriptor + (bytes >> 4);
}

// ---- the instruction descriptor: types, sizes and majors ----

enum class mma_kind : int { f16, tf32, f8f6f4, i8 };
enum class scaled_kind : int {
    mxf8f6f4,
    mxf4,
    mxf4nvf4_2x,
    mxf4nvf4_4x
}; // _4x: 16 elements a scale

namespace detail
{

template <class T> struct mma_code; // the number of a type in the descriptor
// clang-format off
template <> struct mma_code<f16> { static constexpr uint32_t value = 0; };
template <> struct mma_code<bf16> { static constexpr uint32_t value = 1; };
template <> struct mma_code<tf32> { static constexpr uint32_t value = 2; };
template <> struct mma_code<e4m3> { static constexpr uint32_t value = 0; };
template <> struct mma_code<e5m2> { static constexpr uint32_t value = 1; };
template <> struct mma_code<e2m3> { static constexpr uint32_t value = 3; };
template <> struct mma_code<e3m2> { static constexpr uint32_t value = 4; };
template <> struct mma_code<e2m1> { static constexpr uint32_t value = 5; };
template <> struct mma_code<u8> { static constexpr uint32_t value = 0; };
template <> struct mma_code<s8> { static constexpr uint32_t value = 1; };
template <class D> struct mma_sum;
template <> struct mma_sum<f16> { static constexpr uint32_t value = 0; };
template <> struct mma_sum<float> { static constexpr uint32_t value = 1; };
template <> struct mma_sum<int> { static constexpr uint32_t value = 2; };
template <class S> struct mma_scale;
template <> struct mma_scale<ue4m3> { static constexpr uint32_t value = 0; };
template <> struct mma_scale<ue8m0> { static constexpr uint32_t value = 1; };
// clang-format on

} // namespace detail

// For kinds f16, tf32, f8f6f4 (any two of e4m3, e5m2, e2m3, e3m2, e2m1) and i8 (any two of s8, u8;
// D = int). D: float, or f16 with f16. n up to 256; m 64 with n a multiple of 8, m 128 with one of
// 16; a pair of blocks: m 128 or 256, n a multiple of 32. A constant if its arguments are.
// PTX: none
template <class A, class B = A, class D = float>
__device__ __forceinline__ constexpr uint32_t instruction(int m, int n, major a = major::k,
                                                          major b = major::k)
{
    return detail::mma_sum<D>::value << 4 | detail::mma_code<A>::value << 7 |
           detail::mma_code<B>::value << 10 | static_cast<uint32_t>(a) << 15 |
           static_cast<uint32_t>(b) << 16 | static_cast<uint32_t>(n >> 3) << 17 |
           static_cast<uint32_t>(m >> 4) << 24;
}

// For the kinds with scale factors: mxf8f6f4 (types as f8f6f4; Scale = ue8m0), mxf4 (A = B = e2m1;
// ue8m0), mxf4nvf4 (e2m1; ue8m0 or ue4m3). m 128, or 128 and 256 for a pair; n a multiple of 8
// (16). id_a, id_b: which byte of a column's four the scale factors of this K begin at (mxf4: 0 or
// 2; mxf4nvf4 with ue4m3: 0).
// PTX: none
template <scaled_kind Kind, class Scale = ue8m0, class A = e2m1, class B = A>
__device__ __forceinline__ constexpr uint32_t instruction_scaled(int m, int n, int id_a = 0,
                                                                 int id_b = 0)
{
    constexpr bool four_bits = Kind != scaled_kind::mxf8f6f4; // there e2m1 is 1
    return static_cast<uint32_t>(id_b) << 4 | (four_bits ? 1 : detail::mma_code<A>::value) << 7 |
           (four_bits ? 1 : detail::mma_code<B>::value) << 10 |
           static_cast<uint32_t>(n >> 3) << 17 | detail::mma_scale<Scale>::value << 23 |
           static_cast<uint32_t>(m >> 7) << 27 | static_cast<uint32_t>(id_a) << 29;
}

// ---- the instruction ----

namespace detail
{

template <mma_kind K> struct mma_name;
template <scaled_kind K> struct scaled_name;
#define PTXBENCH_KIND(kind, family, value, name)                                                   \
    template <> struct kind<family::value> {                                                       \
        static constexpr char text[] = name;                                                       \
    };
PTXBENCH_KIND(mma_name, mma_kind, f16, "f16")
PTXBENCH_KIND(mma_name, mma_kind, tf32, "tf32")
PTXBENCH_KIND(mma_name, mma_kind, f8f6f4, "f8f6f4")
PTXBENCH_KIND(mma_name, mma_kind, i8, "i8")
PTXBENCH_KIND(scaled_name, scaled_kind, mxf8f6f4, "mxf8f6f4.block_scale.scale_vec::1X")
PTXBENCH_KIND(scaled_name, scaled_kind, mxf4, "mxf4.block_scale.scale_vec::2X")
PTXBENCH_KIND(scaled_name, scaled_kind, mxf4nvf4_2x, "mxf4nvf4.block_scale.scale_vec::2X")
PTXBENCH_KIND(scaled_name, scaled_kind, mxf4nvf4_4x, "mxf4nvf4.block_scale.scale_vec::4X")
#undef PTXBENCH_KIND

} // namespace detail

// D = A B + (keep ? D : 0). d: TMEM address of the sums; a, b: descriptors of tiles. By one thread
// (of a pair: of the even block), always the same one: elect_one() in one warp. Several into the
// same D run in order without any wait. The tiles and D are the tensor
// cores' until the mbarrier of a later tcgen05_commit completes. Tiles written by ordinary stores
// need fence_proxy_async_shared() and a barrier; those from TMA do not.
// PTX: tcgen05.mma.cta_group::1.kind::f16 (tf32, f8f6f4, i8; cta_group::2)
template <mma_kind Kind, int Blocks = 1>
__device__ __forceinline__ void tcgen05_mma(uint32_t d, uint64_t a, uint64_t b,
                                            uint32_t instruction, bool keep = true)
{
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %4, 0;\n"
                 "tcgen05.mma.cta_group::%5.kind::%6 [%0], %1, %2, %3, p;\n}\n" ::"r"(d),
                 "l"(a), "l"(b), "r"(instruction), "r"(static_cast<int>(keep)), "n"(Blocks),
                 "C"(detail::mma_name<Kind>::text)
                 : "memory");
}

// The same with A in TMEM at address a: row i in lane i, K-major, 32-bit columns of 4, 2 or 1
// elements. Written by tmem_store; see there for what lies between. P of an attention.
// PTX: tcgen05.mma.cta_group::1.kind::f16 with [a]
template <mma_kind Kind, int Blocks = 1>
__device__ __forceinline__ void tcgen05_mma_tmem(uint32_t d, uint32_t a, uint64_t b,
                                                 uint32_t instruction, bool keep = true)
{
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %4, 0;\n"
                 "tcgen05.mma.cta_group::%5.kind::%6 [%0], [%1], %2, %3, p;\n}\n" ::"r"(d),
                 "r"(a), "l"(b), "r"(instruction), "r"(static_cast<int>(keep)), "n"(Blocks),
                 "C"(detail::mma_name<Kind>::text)
                 : "memory");
}

// The same with scale factors: each 32 (mxf8f6f4, mxf4, mxf4nvf4_2x) or 16 (mxf4nvf4_4x) elements
// along k of A and B are multiplied by theirs. They lie in TMEM at scale_a, scale_b: those of row i
// in lane i % 32 of column i / 32, four k to a column, in all four groups of 32 lanes:
// tmem_copy<r32x128b>.
// PTX: tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X
// (mxf4.block_scale.scale_vec::2X, mxf4nvf4.block_scale.scale_vec::2X, mxf4nvf4.block_scale.scale_vec::4X; cta_group::2)
template <scaled_kind Kind, int Blocks = 1>
__device__ __forceinline__ void tcgen05_mma_scaled(uint32_t d, uint64_t a, uint64_t b,
                                                   uint32_t instruction, uint32_t scale_a,
                                                   uint32_t scale_b, bool keep = true)
{
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %6, 0;\n"
        "tcgen05.mma.cta_group::%7.kind::%8 [%0], %1, %2, %3, [%4], [%5], p;\n}\n" ::"r"(d),
        "l"(a), "l"(b), "r"(instruction), "r"(scale_a), "r"(scale_b), "r"(static_cast<int>(keep)),
        "n"(Blocks), "C"(detail::scaled_name<Kind>::text)
        : "memory");
}

// The same with A in TMEM.
// PTX: tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X with [a]
template <scaled_kind Kind, int Blocks = 1>
__device__ __forceinline__ void tcgen05_mma_scaled_tmem(uint32_t d, uint32_t a, uint64_t b,
                                                        uint32_t instruction, uint32_t scale_a,
                                                        uint32_t scale_b, bool keep = true)
{
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %6, 0;\n"
        "tcgen05.mma.cta_group::%7.kind::%8 [%0], [%1], %2, %3, [%4], [%5], p;\n}\n" ::"r"(d),
        "r"(a), "l"(b), "r"(instruction), "r"(scale_a), "r"(scale_b), "r"(static_cast<int>(keep)),
        "n"(Blocks), "C"(detail::scaled_name<Kind>::text)
        : "memory");
}

// ---- completion ----

// Makes `bar` arrive once when all tcgen05_mma, tmem_copy and tmem_shift that this thread issued so
// far are done. By the thread that issued them. The waiter calls tcgen05_fence_after() before it
// touches TMEM.
// PTX: tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64
template <int Blocks = 1> __device__ __forceinline__ void tcgen05_commit(uint64_t *bar)
{
    asm volatile(
        "tcgen05.commit.cta_group::%1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(
            shared_address(bar)),
        "n"(Blocks)
        : "memory");
}

// The same at the barrier of this name in each block of the cluster whose bit is set: of a pair
// both must learn that a stage is free and that D is there.
// PTX: tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64
template <int Blocks = 2>
__device__ __forceinline__ void tcgen05_commit_multicast(uint64_t *bar, uint16_t blocks)
{
    asm volatile("tcgen05.commit.cta_group::%2.mbarrier::arrive::one.shared::cluster."
                 "multicast::cluster.b64 [%0], %1;" ::"r"(shared_address(bar)),
                 "h"(blocks), "n"(Blocks)
                 : "memory");
}

} // namespace ptxbench

#endif
