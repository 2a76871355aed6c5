// SPDX-License-Identifier: Apache-2.0
// cooperative_groups: tiles, reductions and scans, coalesced and labelled groups, clusters, the
// whole grid.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cstdint>
namespace cg = cooperative_groups;

extern "C" __global__ void tiles(const uint32_t *in, uint32_t *out)
{
    cg::thread_block block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    auto quarter = cg::tiled_partition<8>(warp);
    uint32_t i = block.thread_rank(), x = in[i];
    uint32_t r = cg::reduce(warp, x, cg::plus<uint32_t>()) ^ cg::reduce(quarter, x, cg::greater<uint32_t>());
    r += cg::inclusive_scan(quarter, x) + cg::exclusive_scan(warp, x & 0xff, cg::plus<uint32_t>());
    r ^= quarter.shfl(x, 3) + quarter.meta_group_rank() + quarter.ballot(x & 1) + (uint32_t)warp.any(x == 5);
    float f = cg::reduce(quarter, (float)(x & 0xff), cg::plus<float>());
    out[i] = r + (uint32_t)f;
}

extern "C" __global__ void coalesced(const uint32_t *in, uint32_t *out)
{
    uint32_t i = threadIdx.x, x = in[i], r = 0;
    if (x & 1) {
        cg::coalesced_group active = cg::coalesced_threads();
        r = active.size() * 100 + active.thread_rank() + active.shfl(x, 0);
        r += cg::reduce(active, x & 0xff, cg::plus<uint32_t>());
    }
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    auto same = cg::labeled_partition(warp, (int)(x % 3));
    r += same.size() + 7 * same.thread_rank();
    auto half = cg::binary_partition(warp, (x >> 4) & 1);
    r += 1000 * half.size() + cg::reduce(half, x & 15, cg::bit_xor<uint32_t>());
    out[i] = r;
}

extern "C" __global__ void __cluster_dims__(4, 1, 1) clusters(const uint32_t *in, uint32_t *out)
{
    __shared__ uint32_t mine[64];
    cg::cluster_group cluster = cg::this_cluster();
    uint32_t i = threadIdx.x, rank = cluster.block_rank(), at = blockIdx.x * blockDim.x + i;
    mine[i] = in[at];
    cluster.sync();
    uint32_t total = 0;
    for (uint32_t k = 0; k < cluster.num_blocks(); k++)
        total = total * 3 + cluster.map_shared_rank(mine, k)[(i + k) % 64];
    cluster.sync();
    *cluster.map_shared_rank(&mine[i], (rank + 1) % 4) = total;
    auto token = cluster.barrier_arrive();
    cluster.barrier_wait(std::move(token));
    out[at] = mine[i] + rank;
}

__device__ uint32_t shared_sum[4];

extern "C" __global__ void whole_grid(const uint32_t *in, uint32_t *out)
{
    cg::grid_group grid = cg::this_grid();
    uint32_t i = (uint32_t)grid.thread_rank();
    for (int round = 0; round < 4; round++) {
        atomicAdd(&shared_sum[round], in[i] & 0xff);
        grid.sync();
        out[i] = out[i] * 5 + shared_sum[round];
        if (round < 3 && i == 0)
            shared_sum[round + 1] = shared_sum[round];
        grid.sync();
    }
}

extern "C" __global__ void staged(const uint32_t *in, uint32_t *out)
{
    __shared__ alignas(16) uint32_t buffer[256];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, buffer, in, sizeof buffer);
    cg::wait(block);
    out[threadIdx.x] = buffer[(threadIdx.x * 5 + 1) % 256];
    cg::invoke_one(block, [&] { out[300] = buffer[0]; });
}
