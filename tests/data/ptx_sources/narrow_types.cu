// SPDX-License-Identifier: Apache-2.0
// half, bfloat16, fp8 and narrower types, tensor cores through mma.h and inline mma.sync.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_fp6.h>
#include <cuda_fp4.h>
#include <mma.h>

__global__ void halves(__half2 *h, __half *s, float *f, int n)
{
    __half2 a = h[threadIdx.x], b = h[n];
    h[0] = __hfma2(a, b, __hadd2(a, __hmul2(a, b)));
    h[1] = __hmax2(a, b) + __hmin2_nan(a, b) - h2exp(a) * h2rcp(b) / h2sqrt(a) + h2tanh(b);
    h[2] = __hfma2_relu(a, b, a) + __habs2(b) + __hneg2(a) + __lows2half2(a, b) + __hadd2_sat(a, b);
    s[0] = __float2half_rn(f[0]) + __int2half_rz(n) + hsin(s[1]) + hexp2(s[2]) + hlog(s[3]) + hrint(s[4]);
    f[1] = __half2float(s[5]) + __low2float(a) + __half22float2(b).y + __hgt(s[6], s[7]) + __hbeq2(a, b) + __hisnan(s[8]);
    atomicAdd(&h[3], a);
    atomicAdd(&s[9], s[1]);
    h[4] = __shfl_xor_sync(~0u, a, 1);
}

__global__ void bfloats(__nv_bfloat162 *h, __nv_bfloat16 *s, float *f, int n)
{
    __nv_bfloat162 a = h[threadIdx.x], b = h[n];
    h[0] = __hfma2(a, b, a + b * a - b) + __hmax2(a, b) + h2exp(a) + h2rsqrt(b) + __floats2bfloat162_rn(f[0], f[1]);
    s[0] = __float2bfloat16_rz(f[2]) + hexp(s[1]) + __int2bfloat16_rn(n) + s[2] / s[3];
    f[3] = __bfloat162float(s[4]) + __bfloat1622float2(a).x + __hlt(s[5], s[6]);
    atomicAdd(&h[1], a);
    s[7] = __double2bfloat16(f[4]);
}

__global__ void tiny(__nv_fp8x4_e4m3 *q, __nv_fp8_e5m2 *r, __nv_fp6_e3m2 *x, __nv_fp4x2_e2m1 *y, __nv_fp8_e8m0 *z, float4 *f)
{
    q[0] = __nv_fp8x4_e4m3(f[0]);
    f[1] = (float4)q[1];
    r[0] = __nv_fp8_e5m2(f[2].x);
    f[3].x = (float)r[1] + (float)x[0] + (float)z[1];
    x[1] = __nv_fp6_e3m2(f[4].y);
    y[0] = __nv_fp4x2_e2m1(make_float2(f[5].x, f[5].y));
    z[0] = __nv_fp8_e8m0(f[6].z);
    f[7].x = __half2float(__half(__nv_cvt_fp8_to_halfraw(q[0].__x & 255, __NV_E4M3)));
}

template <typename T, typename A> __device__ void wmma_tile(const T *a, const T *b, A *c)
{
    using namespace nvcuda::wmma;
    fragment<matrix_a, 16, 16, 16, T, row_major> fa;
    fragment<matrix_b, 16, 16, 16, T, col_major> fb;
    fragment<accumulator, 16, 16, 16, A> fc;
    fill_fragment(fc, A(0));
    load_matrix_sync(fa, a, 16);
    load_matrix_sync(fb, b, 16);
    mma_sync(fc, fa, fb, fc);
    store_matrix_sync(c, fc, 16, mem_row_major);
}

__global__ void wmma_types(const __half *h, const __nv_bfloat16 *b, const signed char *s, float *f, __half *o, int *i)
{
    wmma_tile(h, h, f);
    wmma_tile(h, h, o);
    wmma_tile(b, b, f);
    wmma_tile(s, s, i);
    using namespace nvcuda::wmma;
    fragment<matrix_a, 16, 16, 8, precision::tf32, row_major> ta;
    fragment<matrix_b, 16, 16, 8, precision::tf32, row_major> tb;
    fragment<accumulator, 16, 16, 8, float> tc;
    load_matrix_sync(ta, f, 8);
    load_matrix_sync(tb, f, 16);
    load_matrix_sync(tc, f, 16, mem_col_major);
    for (int k = 0; k < ta.num_elements; k++)
        ta.x[k] = __float_to_tf32(ta.x[k]);
    mma_sync(tc, ta, tb, tc);
    store_matrix_sync(f, tc, 16, mem_col_major);
    fragment<matrix_a, 8, 8, 4, double, row_major> da;
    fragment<matrix_b, 8, 8, 4, double, col_major> db;
    fragment<accumulator, 8, 8, 4, double> dc;
    fill_fragment(dc, 0.0);
    load_matrix_sync(da, (const double *)f, 4);
    load_matrix_sync(db, (const double *)f, 4);
    mma_sync(dc, da, db, dc);
    store_matrix_sync((double *)f, dc, 8, mem_row_major);
}

__global__ void mma_sync_ptx(unsigned *r, float *f)
{
    __shared__ unsigned tile[512];
    unsigned address = __cvta_generic_to_shared(tile) + threadIdx.x * 16, a[4], b[4];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(address));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared::cta.b16 {%0, %1}, [%2+32];"
                 : "=r"(b[0]), "=r"(b[1]) : "r"(address));
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(f[4]), "+f"(f[5]), "+f"(f[6]), "+f"(f[7])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    asm volatile("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+r"(r[0]), "+r"(r[1]), "+r"(r[2]), "+r"(r[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9, %10, %11}, {%0, %1, %2, %3}, %12, 0x0;"
                 : "+f"(f[8]), "+f"(f[9]), "+f"(f[10]), "+f"(f[11])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(r[9]));
    asm volatile("mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.and.popc {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+r"(r[4]), "+r"(r[5]) : "r"(a[0]), "r"(b[0]));
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(r[6]) : "r"(a[0]));
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(address), "r"(a[0]), "r"(a[1]));
}
