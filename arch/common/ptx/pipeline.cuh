// SPDX-License-Identifier: Apache-2.0
// A ring of stages between a producer that loads with TMA and consumers that compute.
//
//   producer, one thread:  wait_empty, expect, tma_load…, advance
//   consumers:             wait_full, read, release, advance
#ifndef PTXBENCH_PIPELINE_CUH
#define PTXBENCH_PIPELINE_CUH

#include <ptxbench/fence.cuh>
#include <ptxbench/mbarrier.cuh>

namespace ptxbench
{

// Where one side of a ring stands: which stage, and which parity of its barriers completes next.
// Each thread keeps its own and advances it once a stage, across tiles too: never reset it in
// between.
template <int Stages> struct pipeline_stage {
    int index = 0;
    uint32_t parity = 0;

    // To the next stage; round the ring the parity flips.
    // PTX: none
    __device__ __forceinline__ void advance()
    {
        if (++index == Stages) {
            index = 0;
            parity ^= 1;
        }
    }
};

// The barriers of a ring; in shared memory. full[i]: TMA has written stage i. empty[i]: all have
// read it.
template <int Stages> struct pipeline {
    uint64_t full[Stages], empty[Stages];

    // By one thread; then __syncthreads(), or cluster_sync() if other blocks multicast or arrive
    // here. `consumers`: arrivals that free a stage; with multicast, those of every block that
    // receives it.
    // PTX: mbarrier.init.shared::cta.b64, fence.mbarrier_init.release.cluster
    __device__ __forceinline__ void init(uint32_t consumers)
    {
        for (int i = 0; i < Stages; i++) {
            mbarrier_init(&full[i], 1);
            mbarrier_init(&empty[i], consumers);
        }
        fence_mbarrier_init();
    }

    // Producer: waits until the stage is free. At first every stage is: a fresh barrier counts as
    // having completed parity 1.
    // PTX: mbarrier.try_wait.parity.shared::cta.b64
    __device__ __forceinline__ void wait_empty(const pipeline_stage<Stages> &at)
    {
        mbarrier_wait(&empty[at.index], at.parity ^ 1);
    }

    // Producer: says how many bytes are coming and returns the barrier to hand to tma_load.
    // PTX: mbarrier.arrive.expect_tx.shared::cta.b64
    __device__ __forceinline__ uint64_t *expect(const pipeline_stage<Stages> &at, uint32_t bytes)
    {
        mbarrier_arrive_expect(&full[at.index], bytes);
        return &full[at.index];
    }

    // Consumer: waits until the stage is written.
    // PTX: mbarrier.try_wait.parity.shared::cta.b64
    __device__ __forceinline__ void wait_full(const pipeline_stage<Stages> &at)
    {
        mbarrier_wait(&full[at.index], at.parity);
    }

    // Consumer: one arrival; by one thread of a warpgroup after wgmma_wait has retired its reads of
    // it.
    // PTX: mbarrier.arrive.shared::cta.b64
    __device__ __forceinline__ void release(const pipeline_stage<Stages> &at)
    {
        mbarrier_arrive(&empty[at.index]);
    }

    // The same at the ring of block `rank`, whose producer multicast the stage here.
    // PTX: mapa.shared::cluster.u32, mbarrier.arrive.shared::cluster.b64
    __device__ __forceinline__ void release_at(const pipeline_stage<Stages> &at, uint32_t rank)
    {
        mbarrier_arrive_at(&empty[at.index], rank);
    }
};

} // namespace ptxbench

#endif
