// SPDX-License-Identifier: Apache-2.0
// cuda::barrier, cuda::pipeline and cuda::ptx: asynchronous copies and who waits for them.
#include <cstdint>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/ptx>
#include <cooperative_groups.h>
#include <utility>
namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;
using barrier = cuda::barrier<cuda::thread_scope_block>;

#pragma nv_diag_suppress static_var_with_dynamic_init

extern "C" __global__ void arrive_and_wait(const uint32_t *in, uint32_t *out)
{
    __shared__ barrier bar;
    __shared__ uint32_t data[128];
    uint32_t i = threadIdx.x;
    if (i == 0)
        init(&bar, blockDim.x);
    __syncthreads();
    uint32_t x = in[i];
    for (int round = 0; round < 5; round++) {
        data[i] = x;
        barrier::arrival_token token = bar.arrive();
        bar.wait(std::move(token));
        x += data[(i + 1) % 128];
        bar.arrive_and_wait();
    }
    if (i < 64) {
        bar.arrive_and_drop();
        out[i] = x;
        return;
    }
    data[i] = x;
    bar.arrive_and_wait();
    bar.arrive_and_wait();
    out[i] = data[64 + (i + 1) % 64];
}

extern "C" __global__ void bulk_copies(const uint32_t *in, uint32_t *out)
{
    __shared__ alignas(128) uint32_t data[256];
    __shared__ barrier bar;
    uint32_t i = threadIdx.x;
    if (i == 0) {
        init(&bar, blockDim.x);
        ptx::fence_proxy_async(ptx::space_shared);
    }
    __syncthreads();
    barrier::arrival_token token;
    if (i == 0) {
        cuda::memcpy_async(data, in, cuda::aligned_size_t<16>(sizeof data), bar);
        token = bar.arrive();
    } else
        token = bar.arrive();
    bar.wait(std::move(token));
    for (uint32_t k = i; k < 256; k += blockDim.x)
        data[k] = data[k] * 2 + 1;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (i == 0) {
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out, data, sizeof data);
        ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, out + 256, data, sizeof data);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
    }
}

extern "C" __global__ void transactions(const uint32_t *in, uint32_t *out)
{
    __shared__ alignas(128) uint32_t data[2][64];
    __shared__ uint64_t bar[2];
    uint32_t i = threadIdx.x;
    if (i == 0) {
        ptx::mbarrier_init(&bar[0], 1);
        ptx::mbarrier_init(&bar[1], 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    __syncthreads();
    uint32_t total = 0;
    for (uint32_t k = 0; k < 6; k++) {
        uint32_t s = k % 2, parity = k / 2 % 2;
        if (i == 0) {
            ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar[s], 256);
            ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, data[s], in + 64 * k, 256, &bar[s]);
        }
        while (!ptx::mbarrier_try_wait_parity(&bar[s], parity))
            ;
        total = total * 3 + data[s][(i + k) % 64];
        __syncthreads();
    }
    out[i] = total;
}

extern "C" __global__ void pipelines(const uint32_t *in, uint32_t *out)
{
    __shared__ alignas(16) uint32_t stage[2][128];
    auto block = cg::this_thread_block();
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto pipe = cuda::make_pipeline(block, &state);
    uint32_t i = threadIdx.x, total = 0;
    for (uint32_t batch = 0, fetched = 0; batch < 8; batch++) {
        for (; fetched < 8 && fetched < batch + 2; fetched++) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, stage[fetched % 2], in + 128 * fetched, cuda::aligned_size_t<16>(512), pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        total = total * 5 + stage[batch % 2][(i + batch) % 128];
        pipe.consumer_release();
    }
    out[i] = total;
}

extern "C" __global__ void producers(const uint32_t *in, uint32_t *out)
{
    __shared__ uint32_t stage[2][32];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cg::this_thread_block();
    bool produces = threadIdx.x < 32;
    auto pipe = cuda::make_pipeline(block, &state, produces ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
    uint32_t i = threadIdx.x, total = 0;
    for (uint32_t k = 0; k < 8; k++) {
        if (produces) {
            pipe.producer_acquire();
            stage[k % 2][i] = in[32 * k + i];
            pipe.producer_commit();
        } else {
            pipe.consumer_wait();
            total = total * 5 + stage[k % 2][(i + k) % 32];
            pipe.consumer_release();
        }
    }
    if (!produces)
        out[i - 32] = total;
}

extern "C" __global__ void thread_pipeline(const uint32_t *in, uint32_t *out)
{
    __shared__ uint32_t stage[4][64];
    auto pipe = cuda::make_pipeline();
    uint32_t i = threadIdx.x, total = 0;
    for (uint32_t k = 0; k < 3; k++) {
        pipe.producer_acquire();
        cuda::memcpy_async(&stage[k][i], &in[64 * k + i], sizeof(uint32_t), pipe);
        pipe.producer_commit();
    }
    for (uint32_t k = 0; k < 8; k++) {
        if (k + 3 < 8) {
            pipe.producer_acquire();
            cuda::memcpy_async(&stage[(k + 3) % 4][i], &in[64 * (k + 3) + i], sizeof(uint32_t), pipe);
            pipe.producer_commit();
        }
        cuda::pipeline_consumer_wait_prior<0>(pipe);
        total = total * 5 + stage[k % 4][i];
        pipe.consumer_release();
    }
    out[i] = total;
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) remote(const uint32_t *in, uint32_t *out)
{
    __shared__ alignas(16) int32_t data[32];
    __shared__ uint64_t bar;
    auto cluster = cg::this_cluster();
    uint32_t i = threadIdx.x, rank = cluster.block_rank(), at = blockIdx.x * 32 + i;
    if (i == 0)
        ptx::mbarrier_init(&bar, 1);
    data[i] = 0;
    cluster.sync();
    if (i == 0)
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cluster, ptx::space_shared, &bar, 32 * 4 * 2);
    int32_t *there = cluster.map_shared_rank(data, rank ^ 1);
    uint64_t *its = cluster.map_shared_rank(&bar, rank ^ 1);
    ptx::st_async(&there[31 - i], (int32_t)in[at], its);
    int32_t *again = cluster.map_shared_rank(data, rank ^ 1);
    ptx::red_async(ptx::op_add, &again[31 - i], 5, its);
    while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &bar, 0))
        ;
    out[at] = (uint32_t)data[i] + ptx::get_sreg_cluster_ctarank() + 10 * ptx::get_sreg_laneid();
    cluster.sync();
}
