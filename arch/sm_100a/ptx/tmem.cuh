// SPDX-License-Identifier: Apache-2.0
// Tensor memory (TMEM): 128 lanes x 512 columns of 32 bits in each SM, where tcgen05 sums up.
//
//   one warp:      tmem_alloc<1>(&base, 256);  tmem_relinquish<1>();     base: in shared memory
//   all:           tcgen05_fence_before(); __syncthreads(); tcgen05_fence_after();   base is there
//   four warps:    tmem_load<tmem_shape::l32x32b>(r, tmem_at(base, 32 * (warp % 4), column));
//                  tmem_wait_load();           before r is read
//   the same warp: tmem_dealloc<1>(base, 256);                           when all have read
//
// An address is lane << 16 | column. Warp w of the block reaches lanes 32 (w % 4) to 32 (w % 4) +
// 31 with loads and stores, no others. `Blocks` is 1, or 2 for a pair of blocks that multiply
// together (tcgen05.cuh); it is the same in every tcgen05 instruction of a kernel.
#ifndef PTXBENCH_TMEM_CUH
#define PTXBENCH_TMEM_CUH

#include <ptxbench/shared.cuh>
#include <ptxbench/tmem_operands.cuh> // the instructions once for each count: detail::tmem_registers

namespace ptxbench
{

// ---- allocation ----

// Allocates columns (32, 64, 128, 256 or 512) and writes their address to `to` in shared memory. By
// one whole warp; waits while another block of the SM holds them. With Blocks = 2 one warp of each
// block of the pair. `to` is read after a barrier. Later allocations may not be larger.
// PTX: tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32
template <int Blocks> __device__ __forceinline__ void tmem_alloc(uint32_t *to, uint32_t columns)
{
    static_assert(Blocks == 1 || Blocks == 2, "one block or a pair");
    asm volatile("tcgen05.alloc.cta_group::%2.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(
                     shared_address(to)),
                 "r"(columns), "n"(Blocks)
                 : "memory");
}

// Frees what tmem_alloc gave, all of it, before the block ends. By the warp that allocated, after a
// barrier behind the last use; with Blocks = 2 after the blocks of the pair have met
// (cluster_sync()).
// PTX: tcgen05.dealloc.cta_group::1.sync.aligned.b32
template <int Blocks> __device__ __forceinline__ void tmem_dealloc(uint32_t base, uint32_t columns)
{
    static_assert(Blocks == 1 || Blocks == 2, "one block or a pair");
    asm volatile("tcgen05.dealloc.cta_group::%2.sync.aligned.b32 %0, %1;" ::"r"(base), "r"(columns),
                 "n"(Blocks)
                 : "memory");
}

// This block will allocate no more: lets the next block of the SM allocate. By one whole warp,
// after the last tmem_alloc.
// PTX: tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned
template <int Blocks> __device__ __forceinline__ void tmem_relinquish()
{
    static_assert(Blocks == 1 || Blocks == 2, "one block or a pair");
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::%0.sync.aligned;" ::"n"(Blocks)
                 : "memory");
}

// The address `lane` lanes down and `column` columns right of `base`.
// PTX: none of its own
__device__ __forceinline__ constexpr uint32_t tmem_at(uint32_t base, uint32_t lane, uint32_t column)
{
    return base + (lane << 16) + column;
}

// ---- registers ----

// What one load or store of a warp moves. Thread t = 0 to 31 of the warp, register r[i], lanes and
// columns counted from the address:
//   l32x32b    r[i]: lane t, column i
//   l16x64b    r[i]: lane t/4 + 8 (t%2), column 2i + t/2 % 2
//   l16x128b   r[2i]: lane t/4, column 4i + t%4; r[2i+1]: lane + 8
//   l16x256b   r[4i], r[4i+1]: lane t/4, columns 8i + 2 (t%4) and + 1; r[4i+2], r[4i+3]: lane + 8
enum class tmem_shape : int { l32x32b, l16x64b, l16x128b, l16x256b };

namespace detail
{

template <tmem_shape S> struct tmem_unit; // registers of one repetition, and the name
// clang-format off
template <> struct tmem_unit<tmem_shape::l32x32b> { static constexpr int count = 1; static constexpr char text[] = "32x32b.x"; };
template <> struct tmem_unit<tmem_shape::l16x64b> { static constexpr int count = 1; static constexpr char text[] = "16x64b.x"; };
template <> struct tmem_unit<tmem_shape::l16x128b> { static constexpr int count = 2; static constexpr char text[] = "16x128b.x"; };
template <> struct tmem_unit<tmem_shape::l16x256b> { static constexpr int count = 4; static constexpr char text[] = "16x256b.x"; };
// clang-format on
template <bool Half> struct tmem_half {
    static constexpr char load[] = "", store[] = "";
};
template <> struct tmem_half<true> {
    static constexpr char load[] = ".pack::16b", store[] = ".unpack::16b";
};
template <tmem_shape S, int Registers, bool Half> struct tmem_name : tmem_unit<S>, tmem_half<Half> {
    static_assert(Registers % tmem_unit<S>::count == 0, "the shape has 1, 2 or 4 registers");
    static constexpr int number = Registers / tmem_unit<S>::count;
};
template <int Registers, bool Half> struct tmem_split : tmem_half<Half> {
    static constexpr char text[] = "16x32bx2.x";
    static constexpr int number = Registers;
};
struct tmem_no_tail {
    static constexpr char text[] = "";
};
template <int Columns> struct tmem_offset {
    static_assert(Columns >= 0 && Columns < 512, "0 to 511 columns");
    static constexpr char text[] = {',',
                                    ' ',
                                    Columns >= 100 ? '0' + Columns / 100 : ' ',
                                    Columns >= 10 ? '0' + Columns / 10 % 10 : ' ',
                                    '0' + Columns % 10,
                                    0};
};

} // namespace detail

// Reads TMEM into registers, by one whole warp, all threads the same address: lane 32 (warp % 4),
// or 16 more where the shape has 16 lanes. The size of r (a power of two, at most 128) gives the
// columns. r is not there before tmem_wait_load(). After the mbarrier of tcgen05_commit() has been
// waited for: tcgen05_fence_after() first. Half: the low 16 bits of two columns to each register.
// PTX: tcgen05.ld.sync.aligned.32x32b.x8.b32 (16x64b, 16x128b, 16x256b; x1 to x128),
// with Half .pack::16b
template <tmem_shape S, bool Half = false, int Count>
__device__ __forceinline__ void tmem_load(uint32_t (&r)[Count], uint32_t address)
{
    detail::tmem_registers<Count>::template load<detail::tmem_name<S, Count, Half>,
                                                 detail::tmem_no_tail>(r, address);
}

// The same for 16 lanes twice: threads 0 to 15 read lane t from the address on, 16 to 31 read lane
// t - 16 from `Columns` columns further right on.
// PTX: tcgen05.ld.sync.aligned.16x32bx2.x8.b32
template <int Columns, bool Half = false, int Count>
__device__ __forceinline__ void tmem_load_split(uint32_t (&r)[Count], uint32_t address)
{
    detail::tmem_registers<Count>::template load<detail::tmem_split<Count, Half>,
                                                 detail::tmem_offset<Columns>>(r, address);
}

// Writes registers to TMEM; shapes and addresses as tmem_load. Before a tcgen05_mma reads it:
// tmem_wait_store(), tcgen05_fence_before(), a barrier, tcgen05_fence_after() in the thread that
// multiplies. Half: each register to the low 16 bits of two columns.
// PTX: tcgen05.st.sync.aligned.32x32b.x8.b32 (the shapes and counts of tmem_load),
// with Half .unpack::16b
template <tmem_shape S, bool Half = false, int Count>
__device__ __forceinline__ void tmem_store(uint32_t address, const uint32_t (&r)[Count])
{
    detail::tmem_registers<Count>::template store<detail::tmem_name<S, Count, Half>,
                                                  detail::tmem_no_tail>(address, r);
}

// The same for 16 lanes twice, as tmem_load_split.
// PTX: tcgen05.st.sync.aligned.16x32bx2.x8.b32
template <int Columns, bool Half = false, int Count>
__device__ __forceinline__ void tmem_store_split(uint32_t address, const uint32_t (&r)[Count])
{
    detail::tmem_registers<Count>::template store<detail::tmem_split<Count, Half>,
                                                  detail::tmem_offset<Columns>>(address, r);
}

// Waits for this warp's loads: their registers are there. Before they are used, and before the
// columns are given back to the tensor cores. By the whole warp.
// PTX: tcgen05.wait::ld.sync.aligned
__device__ __forceinline__ void tmem_wait_load()
{
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
}

// Waits for this warp's stores: they are in TMEM.
// PTX: tcgen05.wait::st.sync.aligned
__device__ __forceinline__ void tmem_wait_store()
{
    asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
}

// ---- copies from shared memory and shifts: by one thread, asynchronous, end by tcgen05_commit ----

// What one tmem_copy moves; rows of 32 or 16 bytes, the next 16 bytes to the next four columns:
//   r128x256b, r128x128b   row i to lane i
//   r4x256b                row i to lane 32 i
//   r64x128b_02_13         row i to lanes i and i + 64
//   r64x128b_01_23         row i to lanes 64 (i / 32) + i % 32 and 32 further
//   r32x128b               row i to lanes i, i + 32, i + 64, i + 96: scale factors
enum class tmem_copy_shape : int {
    r128x256b,
    r4x256b,
    r128x128b,
    r64x128b_02_13,
    r64x128b_01_23,
    r32x128b
};

namespace detail
{

template <tmem_copy_shape S> struct tmem_copy_name;
#define PTXBENCH_SHAPE(shape, name)                                                                \
    template <> struct tmem_copy_name<tmem_copy_shape::shape> {                                    \
        static constexpr char text[] = name;                                                       \
    };
PTXBENCH_SHAPE(r128x256b, "128x256b")
PTXBENCH_SHAPE(r4x256b, "4x256b")
PTXBENCH_SHAPE(r128x128b, "128x128b")
PTXBENCH_SHAPE(r64x128b_02_13, "64x128b.warpx2::02_13")
PTXBENCH_SHAPE(r64x128b_01_23, "64x128b.warpx2::01_23")
PTXBENCH_SHAPE(r32x128b, "32x128b.warpx4")
#undef PTXBENCH_SHAPE

} // namespace detail

// Copies a tile that `tile` (a descriptor, rows of the shape as core matrices of 8 rows of 16
// bytes) describes to TMEM; the address has column a multiple of 4. Ordered with the tcgen05_mma
// that the same thread issues later: no wait between them. With Blocks = 2 each block copies its
// own.
// PTX: tcgen05.cp.cta_group::1.128x256b (4x256b, 128x128b, 64x128b.warpx2::02_13,
// 64x128b.warpx2::01_23, 32x128b.warpx4)
template <tmem_copy_shape S, int Blocks = 1>
__device__ __forceinline__ void tmem_copy(uint32_t address, uint64_t tile)
{
    asm volatile("tcgen05.cp.cta_group::%2.%3 [%0], %1;" ::"r"(address), "l"(tile), "n"(Blocks),
                 "C"(detail::tmem_copy_name<S>::text)
                 : "memory");
}

// Shifts 32 bytes (eight columns from the address on) of 32 lanes down by one row, the last row
// excepted; the lane of the address is a multiple of 32. For convolutions.
// PTX: tcgen05.shift.cta_group::1.down
template <int Blocks = 1> __device__ __forceinline__ void tmem_shift(uint32_t address)
{
    asm volatile("tcgen05.shift.cta_group::%1.down [%0];" ::"r"(address), "n"(Blocks) : "memory");
}

// ---- order between threads ----

// Before a barrier or an arrival that tells other threads that this one's tcgen05 work is done
// (loads and stores after their wait). tcgen05_commit() contains it.
// PTX: tcgen05.fence::before_thread_sync
__device__ __forceinline__ void tcgen05_fence_before()
{
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
}

// After the barrier or mbarrier_wait by which this thread was told: before its first tcgen05
// instruction that depends on it.
// PTX: tcgen05.fence::after_thread_sync
__device__ __forceinline__ void tcgen05_fence_after()
{
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
}

} // namespace ptxbench

#endif
