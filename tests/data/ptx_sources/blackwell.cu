// SPDX-License-Identifier: Apache-2.0
// sm_100a: tensor memory and tcgen05, through cuda::ptx and inline assembly.
#include <cuda/ptx>

namespace ptx = cuda::ptx;

__device__ __forceinline__ bool elected()
{
    int yes;
    asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.b32 %0, 1, 0, p;\n}" : "=r"(yes));
    return yes;
}

__global__ void __cluster_dims__(2, 1, 1) tensor_memory(unsigned *out, unsigned long long desc, unsigned idesc)
{
    __shared__ unsigned address;
    __shared__ __align__(8) unsigned long long bar;
    unsigned smem = __cvta_generic_to_shared(&address), mbar = __cvta_generic_to_shared(&bar);
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 128;" ::"r"(smem));
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
    asm volatile("tcgen05.fence::before_thread_sync;\nbar.sync 0;\ntcgen05.fence::after_thread_sync;");
    unsigned d = address;
    if (elected()) {
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %4, 0;\n"
                     "tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p;\n}" ::"r"(d), "l"(desc), "l"(desc), "r"(idesc), "r"(1));
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %4, 0;\n"
                     "tcgen05.mma.cta_group::1.kind::tf32 [%0], [%1], %2, %3, {%5, %5, %5, %5}, p, 3;\n}" ::"r"(d), "r"(d + 64), "l"(desc), "r"(idesc), "r"(1), "r"(0));
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\n"
                     "tcgen05.mma.cta_group::1.kind::f8f6f4.collector::a::lastuse [%0], %1, %2, %3, p;\n"
                     "tcgen05.mma.ws.cta_group::1.kind::i8.collector::b0::fill [%0], %1, %2, %3, p;\n"
                     "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X [%0], %1, %2, %3, [%4], [%4+4], p;\n"
                     "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16 [%0], %1, %2, %3, [%4], [%4], p;\n"
                     "tcgen05.mma.sp.cta_group::1.kind::f16 [%0], %1, %2, [%4], %3, p;\n}" ::"r"(d), "l"(desc), "l"(desc), "r"(idesc), "r"(d + 32));
        asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(mbar));
        asm volatile("tcgen05.cp.cta_group::1.128x256b [%0], %1;\ntcgen05.cp.cta_group::1.32x128b.warpx4.b8x16.b6x16_p32 [%0], %1;\n"
                     "tcgen05.cp.cta_group::1.64x128b.warpx2::02_13 [%0], %1;\ntcgen05.shift.cta_group::1.down [%0];" ::"r"(d), "l"(desc));
    }
    unsigned v[8];
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x8.b32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8];"
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]), "=r"(v[4]), "=r"(v[5]), "=r"(v[6]), "=r"(v[7]) : "r"(d));
    asm volatile("tcgen05.ld.sync.aligned.16x256b.x1.pack::16b.b32 {%0, %1, %2, %3}, [%4+16];" : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(d));
    asm volatile("tcgen05.ld.sync.aligned.16x32bx2.x2.b32 {%0, %1}, [%2], 4;" : "=r"(v[4]), "=r"(v[5]) : "r"(d));
    asm volatile("tcgen05.wait::ld.sync.aligned;");
    asm volatile("tcgen05.st.sync.aligned.16x64b.x2.unpack::16b.b32 [%0], {%1, %2};\ntcgen05.wait::st.sync.aligned;" ::"r"(d), "r"(v[0]), "r"(v[1]));
    for (int i = 0; i < 8; i++)
        out[threadIdx.x * 8 + i] = v[i];
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 128;" ::"r"(d));
}

__global__ void __cluster_dims__(2, 1, 1) pair(unsigned smem, unsigned d, unsigned long long desc, unsigned idesc, unsigned mbar)
{
    asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], 128;" ::"r"(smem));
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\n"
                 "tcgen05.mma.cta_group::2.kind::f8f6f4.collector::a::lastuse [%0], %1, %2, %3, p;\n}" ::"r"(d), "l"(desc), "l"(desc), "r"(idesc));
    asm volatile("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(mbar), "h"((short)3));
}

__global__ void through_library(unsigned *out, unsigned long long desc, unsigned idesc)
{
    __shared__ unsigned address;
    __shared__ __align__(16) cuda::std::uint64_t bar, result[2];
    ptx::tcgen05_alloc(ptx::cta_group_1, &address, 64);
    ptx::tcgen05_mma(ptx::kind_f16, ptx::cta_group_1, address, desc, desc, idesc, true);
    ptx::tcgen05_commit(ptx::cta_group_1, &bar);
    unsigned v[4];
    ptx::tcgen05_ld_16x128b(v, address);
    ptx::tcgen05_wait_ld();
    ptx::tcgen05_st_32x32b(address, v);
    ptx::tcgen05_wait_st();
    ptx::tcgen05_cp_128x128b(ptx::cta_group_1, address, desc);
    ptx::clusterlaunchcontrol_try_cancel(result, &bar);
    asm volatile("{\n.reg .b128 r;\n.reg .pred p;\nmov.b128 r, {%1, %2};\n"
                 "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, r;\n"
                 "@p clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%0, _, _, _}, r;\n"
                 "@p clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %0, r;\n}" : "=r"(out[0]) : "l"(result[0]), "l"(result[1]));
    asm volatile("cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes.cta_group::1 [%0], [%1, {%2, %2, %2, %2, %2}], [%3];"
                 ::"r"(0), "l"(out), "r"(1), "r"(16));
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [%0, {%1, %1, %1, %1, %1}], [%2];" ::"l"(out), "r"(1), "r"(16));
    float2 a = {1, 2};
    asm volatile("fma.rn.f32x2 %0, %0, %0, %0;\nadd.rz.ftz.f32x2 %0, %0, %0;" : "+l"(*(unsigned long long *)&a));
    asm volatile("redux.sync.max.abs.NaN.f32 %0, %0, -1;" : "+f"(a.x));
    asm volatile("ld.global.v8.f32 {%0, %0, %0, %0, %0, %0, %0, %0}, [%1];" : "+f"(a.y) : "l"(out));
    asm volatile("max.f32 %0, %0, %0, 1.5;\nmin.NaN.xorsign.abs.f32 %0, %0, %0;" : "+f"(a.x));
    asm volatile("{ .reg .b8 q; cvt.rn.satfinite.e2m1x2.f32 q, %1, %1; cvt.u16.u8 %0, q; }" : "=h"(*(short *)out) : "f"(a.x));
    out[threadIdx.x] = v[0] + a.x + a.y;
}
