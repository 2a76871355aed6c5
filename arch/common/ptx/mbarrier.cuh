// SPDX-License-Identifier: Apache-2.0
// mbarriers: 8 bytes of shared memory that count arrivals and, for TMA, bytes.
//
// A phase completes when the expected number of arrivals has come and all expected bytes have been
// written; the counts then reload and the phase's parity flips. Waiters name the parity that they
// wait for: a fresh barrier is in phase 0, so waiting for parity 0 waits for the first completion
// and waiting for parity 1 returns at once.
#ifndef PTXBENCH_MBARRIER_CUH
#define PTXBENCH_MBARRIER_CUH

#include <ptxbench/shared.cuh>

namespace ptxbench
{

// Sets up a barrier for `arrivals` arrivals a phase, 1 to 2^20 - 1. 8-byte aligned, in shared
// memory. By one thread; then fence_mbarrier_init() and __syncthreads() (or cluster_sync()) before
// any use.
// PTX: mbarrier.init.shared::cta.b64
__device__ __forceinline__ void mbarrier_init(uint64_t *bar, uint32_t arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(bar)), "r"(arrivals)
                 : "memory");
}

// Ends a barrier's life. By one thread, when nobody uses it any more, before its memory serves
// otherwise.
// PTX: mbarrier.inval.shared::cta.b64
__device__ __forceinline__ void mbarrier_invalidate(uint64_t *bar)
{
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(shared_address(bar)) : "memory");
}

// Arrives, `count` times at once. Releases this thread's earlier accesses to those who wait.
// PTX: mbarrier.arrive.shared::cta.b64
__device__ __forceinline__ void mbarrier_arrive(uint64_t *bar, uint32_t count = 1)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(bar)),
                 "r"(count)
                 : "memory");
}

// Announces `bytes` more bytes for this phase, then arrives once. By the thread that starts the
// copies, before it starts them; bytes is the sum over all of them, clipped parts of boxes
// included.
// PTX: mbarrier.arrive.expect_tx.shared::cta.b64
__device__ __forceinline__ void mbarrier_arrive_expect(uint64_t *bar, uint32_t bytes)
{
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(bar)),
        "r"(bytes)
        : "memory");
}

// Announces bytes without arriving; some arrival must still come after it in the same phase.
// PTX: mbarrier.expect_tx.relaxed.cta.shared::cta.b64
__device__ __forceinline__ void mbarrier_expect(uint64_t *bar, uint32_t bytes)
{
    asm volatile(
        "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(shared_address(bar)),
        "r"(bytes)
        : "memory");
}

// Arrives at the barrier of this name in block `rank` of the cluster (the own one too). That block
// must still run: end the kernel with cluster_sync(). Says that reads are done; it has no fence of
// its own.
// PTX: mapa.shared::cluster.u32, mbarrier.arrive.shared::cluster.b64
__device__ __forceinline__ void mbarrier_arrive_at(uint64_t *bar, uint32_t rank)
{
    asm volatile("{\n"
                 ".reg .b32 there;\n"
                 "mapa.shared::cluster.u32 there, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [there];\n"
                 "}\n" ::"r"(shared_address(bar)),
                 "r"(rank)
                 : "memory");
}

// The same, and publishes what this thread wrote, to others' shared memory say, to those who wait
// with mbarrier_wait_cluster(). Compiled to a fence of the whole GPU: not in a main loop.
// PTX: mapa.shared::cluster.u32, mbarrier.arrive.release.cluster.shared::cluster.b64
__device__ __forceinline__ void mbarrier_arrive_release_at(uint64_t *bar, uint32_t rank)
{
    asm volatile("{\n"
                 ".reg .b32 there;\n"
                 "mapa.shared::cluster.u32 there, %0, %1;\n"
                 "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there];\n"
                 "}\n" ::"r"(shared_address(bar)),
                 "r"(rank)
                 : "memory");
}

// mbarrier_arrive_expect() on the barrier of this name in block `rank`: for copies into that block.
// PTX: mapa.shared::cluster.u32, mbarrier.arrive.expect_tx.shared::cluster.b64
__device__ __forceinline__ void mbarrier_arrive_expect_at(uint64_t *bar, uint32_t rank,
                                                          uint32_t bytes)
{
    asm volatile("{\n"
                 ".reg .b32 there;\n"
                 "mapa.shared::cluster.u32 there, %0, %1;\n"
                 "mbarrier.arrive.expect_tx.shared::cluster.b64 _, [there], %2;\n"
                 "}\n" ::"r"(shared_address(bar)),
                 "r"(rank), "r"(bytes)
                 : "memory");
}

// Arrives once this thread's earlier cp.async copies have been written. The barrier's count
// includes it.
// PTX: cp.async.mbarrier.arrive.noinc.shared::cta.b64
__device__ __forceinline__ void mbarrier_arrive_after_cp_async(uint64_t *bar)
{
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared_address(bar))
                 : "memory");
}

// Whether the phase with this parity is complete, without waiting.
// PTX: mbarrier.test_wait.parity.shared::cta.b64
__device__ __forceinline__ bool mbarrier_test(uint64_t *bar, uint32_t parity)
{
    uint32_t done;
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, p;\n"
                 "}\n"
                 : "=r"(done)
                 : "r"(shared_address(bar)), "r"(parity)
                 : "memory");
    return done;
}

// Waits until the phase with this parity (0 or 1) is complete. Any number of threads, only on
// barriers of the own block. Afterwards what TMA wrote and what the arrivals released can be read.
// Nobody may fall two phases behind: parity cannot tell phase n from phase n + 2.
// PTX: mbarrier.try_wait.parity.shared::cta.b64
__device__ __forceinline__ void mbarrier_wait(uint64_t *bar, uint32_t parity)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again;\n"
                 "}\n" ::"r"(shared_address(bar)),
                 "r"(parity)
                 : "memory");
}

// The same, and acquires what other blocks of the cluster published with
// mbarrier_arrive_release_at().
// PTX: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64
__device__ __forceinline__ void mbarrier_wait_cluster(uint64_t *bar, uint32_t parity)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again;\n"
                 "}\n" ::"r"(shared_address(bar)),
                 "r"(parity)
                 : "memory");
}

} // namespace ptxbench

#endif
