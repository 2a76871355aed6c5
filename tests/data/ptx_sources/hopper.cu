// SPDX-License-Identifier: Apache-2.0
// sm_90a: wgmma, TMA, mbarrier, clusters, through cuda::ptx and through inline assembly that opens
// scopes and repeats labels.
#include <cuda/ptx>
#include <cuda/barrier>
struct alignas(64) tensor_map {
    unsigned long long opaque[16];
};

namespace ptx = cuda::ptx;

__device__ __forceinline__ bool elected()
{
    int yes;
    asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.b32 %0, 1, 0, p;\n}" : "=r"(yes));
    return yes;
}

__device__ __forceinline__ void wait_parity(unsigned bar, unsigned parity)
{
    asm volatile("{\n"
                 "\t.reg .pred done;\n"
                 "WAIT:\n"
                 "\tmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1, %2;\n"
                 "\t@done bra.uni DONE;\n"
                 "\tbra.uni WAIT;\n"
                 "DONE:\n"
                 "}" ::"r"(bar), "r"(parity), "r"(0x989680));
}

__global__ void __launch_bounds__(256, 1) __cluster_dims__(2, 1, 1)
    gemm(const __grid_constant__ tensor_map map_a, const __grid_constant__ tensor_map map_c, float *out, int tiles)
{
    extern __shared__ __align__(1024) unsigned char smem[];
    __shared__ __align__(8) unsigned long long full[2], empty[2];
    unsigned base = __cvta_generic_to_shared(smem), bar = __cvta_generic_to_shared(full);
    if (threadIdx.x == 0) {
        asm volatile("prefetch.tensormap [%0];" ::"l"(&map_a));
        for (int i = 0; i < 2; i++) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar + 8 * i), "r"(1));
            asm volatile("mbarrier.init.shared.b64 [%0+16], 2;" ::"r"(bar + 8 * i));
        }
        asm volatile("fence.mbarrier_init.release.cluster;");
        asm volatile("fence.proxy.async;");
    }
    asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.acquire.aligned;");
    unsigned rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (threadIdx.x < 128) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        for (int t = 0; t < tiles; t++) {
            wait_parity(bar + 16, t & 1);
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(16384));
            asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
                         " [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(base), "l"(&map_a), "r"(t * 64), "r"(0), "r"(bar), "h"((short)3));
            asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint"
                         " [%0], [%1, {%2, %3, 0}], [%4], %5;" ::"r"(base), "l"(&map_a), "r"(t), "r"(0), "r"(bar), "l"(0x14F0000000000000));
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        float d[8] = {};
        unsigned long long desc = 0x4000004000010000ull | (base >> 4);
        for (int t = 0; t < tiles; t++) {
            wait_parity(bar, t & 1);
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
            asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %10, 0;\n"
                         "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, p, 1, 1, 0, 0;\n}"
                         : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
                         : "l"(desc), "l"(desc), "r"(t));
            asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %13, 0;\n"
                         "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11}, %12, p, -1, 1, 1;\n}"
                         : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
                         : "r"(t), "r"(t), "r"(t), "r"(t), "l"(desc), "r"(t));
            asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
            asm volatile("{\n.reg .b32 remote;\nmapa.shared::cluster.u32 remote, %0, %1;\n"
                         "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote];\n}" ::"r"(bar + 16), "r"(rank ^ 1));
        }
        for (int i = 0; i < 8; i++)
            out[threadIdx.x * 8 + i] = d[i];
        asm volatile("bar.sync 1, 128;");
        if (threadIdx.x == 128) {
            asm volatile("fence.proxy.async.shared::cta;");
            asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map_c), "r"(0), "r"(0), "r"(base));
            asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map_c), "r"(0), "r"(0), "r"(base));
            asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;\ncp.async.bulk.wait_group 0;");
        }
    }
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;");
}

__global__ void bulk_copies(float *global, float *out, int bytes, tensor_map *map)
{
    __shared__ __align__(16) float stage[1024];
    __shared__ cuda::std::uint64_t bar;
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&bar, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, stage, global, bytes, &bar);
        auto state = ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, bytes);
        while (!ptx::mbarrier_try_wait(&bar, state))
            ;
        while (!ptx::mbarrier_test_wait_parity(&bar, 0))
            ;
        ptx::fence_proxy_async(ptx::space_shared);
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out, stage, bytes);
        ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, out, stage, bytes);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
        ptx::tensormap_replace_global_address(ptx::space_global, map, out);
        ptx::tensormap_replace_box_dim(ptx::space_global, map, ptx::n32_t<1>(), 64);
        ptx::tensormap_replace_swizzle_mode(ptx::space_global, map, ptx::n32_t<3>());
        ptx::fence_proxy_tensormap_generic(ptx::sem_release, ptx::scope_gpu);
        ptx::fence_proxy_tensormap_generic(ptx::sem_acquire, ptx::scope_gpu, map, ptx::n32_t<128>());
        asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;" ::"l"(map), "r"((unsigned)__cvta_generic_to_shared(stage)));
    }
    if (elected()) {
        asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(0), "r"(1), "r"(8));
        asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];" ::"r"(0), "r"(1), "r"(8));
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %1, %1, 7}, [%2];" ::"r"(0), "r"(1), "r"(8));
    }
    unsigned long long policy;
    asm volatile("createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %0, 0.5;" : "=l"(policy));
    asm volatile("createpolicy.range.L2::evict_last.b64 %0, [%1], 64, 128;" : "=l"(policy) : "l"(global));
    float v;
    asm volatile("ld.global.L1::no_allocate.L2::cache_hint.L2::256B.f32 %0, [%1+4], %2;" : "=f"(v) : "l"(global), "l"(policy));
    asm volatile("red.global.add.noftz.v2.f16x2 [%0], {%1, %1};" ::"l"(global), "r"(bytes));
    asm volatile("multimem.ld_reduce.relaxed.sys.global.add.acc::f32.v4.bf16x2 {%0, %1, %2, %3}, [%4];" : "=r"(bytes), "=r"(bytes), "=r"(bytes), "=r"(bytes) : "l"(global));
    asm volatile("multimem.red.release.gpu.global.add.f32 [%0], %1;" ::"l"(global), "f"(v));
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;\ncp.async.commit_group;\ncp.async.wait_group 1;\ncp.async.wait_all;" ::"r"(0), "l"(global), "r"(bytes));
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(16));
    asm volatile("griddepcontrol.launch_dependents;\ngriddepcontrol.wait;");
    asm volatile("{ .reg .pred P, Q; .reg .b32 R; activemask.b32 R; vote.sync.any.pred P, Q, R; match.all.sync.b32 R|P, %0, -1; @P trap; @!Q bra L; exit; L: }" ::"r"(bytes));
    out[0] = v;
}
