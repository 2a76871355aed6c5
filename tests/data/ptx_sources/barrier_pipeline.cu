// SPDX-License-Identifier: Apache-2.0
// cuda::barrier, cuda::pipeline, memcpy_async, cooperative groups: what libcu++ makes of them.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/atomic>

namespace cg = cooperative_groups;

__global__ void block_barrier(const float *in, float *out)
{
    __shared__ alignas(16) float stage[256];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    if (threadIdx.x == 0)
        init(&bar, blockDim.x);
    __syncthreads();
    cuda::memcpy_async(&stage[threadIdx.x], &in[blockIdx.x * 256 + threadIdx.x], sizeof(float), bar);
    auto token = bar.arrive();
    bar.wait(std::move(token));
    out[blockIdx.x * 256 + threadIdx.x] = stage[255 - threadIdx.x];
    bar.arrive_and_drop();
}

__global__ void two_stage_pipeline(const int4 *in, int4 *out, int n)
{
    __shared__ int4 stage[2][128];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    for (int i = 0; i < n; i++) {
        pipe.producer_acquire();
        cuda::memcpy_async(block, stage[i & 1], in + i * 128, cuda::aligned_size_t<16>(sizeof stage[0]), pipe);
        pipe.producer_commit();
        pipe.consumer_wait();
        out[i * 128 + threadIdx.x] = stage[i & 1][threadIdx.x];
        pipe.consumer_release();
    }
}

__global__ void groups(const int *in, int *out)
{
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<16>(block);
    int v = in[block.thread_rank()];
    int sum = cg::reduce(tile, v, cg::plus<int>());
    int scan = cg::inclusive_scan(tile, v);
    if (v & 1) {
        auto active = cg::coalesced_threads();
        sum += active.shfl(v, 0) + active.size();
    }
    auto part = cg::binary_partition(tile, v > 3);
    sum += part.any(v == 7) + part.all(v == 7) + part.ballot(v);
    out[block.thread_rank()] = sum + scan + tile.meta_group_rank();
}

__global__ void whole_grid(int *counter)
{
    auto grid = cg::this_grid();
    if (grid.thread_rank() == 0)
        *counter = 0;
    grid.sync();
    cuda::atomic_ref<int, cuda::thread_scope_device> ref(*counter);
    ref.fetch_add(1, cuda::memory_order_acq_rel);
    ref.fetch_max(3, cuda::memory_order_relaxed);
    int expected = 4;
    ref.compare_exchange_strong(expected, 5);
    grid.sync();
}

__global__ void __cluster_dims__(2, 1, 1) clusters(float *out)
{
    __shared__ float mine[64];
    auto cluster = cg::this_cluster();
    mine[threadIdx.x] = threadIdx.x + cluster.block_rank();
    cluster.sync();
    float *theirs = cluster.map_shared_rank(mine, cluster.block_rank() ^ 1);
    out[blockIdx.x * 64 + threadIdx.x] = theirs[threadIdx.x];
    auto token = cluster.barrier_arrive();
    cluster.barrier_wait(std::move(token));
}
