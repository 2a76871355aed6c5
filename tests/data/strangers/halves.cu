// SPDX-License-Identifier: Apache-2.0
// cuda_fp16.h, cuda_bf16.h, cuda_fp8.h: results are bits of values that C computes exactly.
#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

__device__ float small(uint32_t x) { return (float)(int)(x % 64) - 32; }

extern "C" __global__ void halves(const uint32_t *in, uint32_t *out)
{
    uint32_t i = threadIdx.x;
    float a = small(in[i]), b = small(in[i + 1]), c = small(in[i + 2]);
    __half ha = __float2half(a), hb = __float2half(b), hc = __float2half(c);
    __half2 va = __halves2half2(ha, hb), vb = __halves2half2(hb, hc);
    float r = __half2float(__hadd(ha, hb)) + __half2float(__hsub(ha, hc)) + __half2float(__hmul(hb, hc)) +
              __half2float(__hfma(ha, hb, hc)) + __half2float(__hmax(ha, hb)) + __half2float(__hmin(hb, hc)) +
              __half2float(__habs(ha)) + __half2float(__hneg(hb)) + (__hgt(ha, hb) ? 1000.f : 0.f);
    __half2 v = __hfma2(va, vb, __hadd2(va, vb));
    __half2 w = __hmax2(va, vb), u = __hfma2_relu(va, vb, va);
    r += __low2float(v) + __high2float(v) + __low2float(w) + __high2float(u);
    r += (float)__half2int_rz(ha) + (float)__half2uint_rn(__habs(hb)) + __half2float(__int2half_rn((int)(in[i] % 100)));
    r += __half2float(hrint(__hdiv(ha, __float2half(2.0f)))) + __half2float(hfloor(__hmul(hb, __float2half(0.5f))));
    r += __hbeq2(va, vb) ? 1.f : 0.f;
    r += __half2float(__hmax_nan(ha, hc)) + (float)__half_as_ushort(__ushort_as_half(7));
    out[i] = (uint32_t)(int)r;
}

extern "C" __global__ void brains(const uint32_t *in, uint32_t *out)
{
    uint32_t i = threadIdx.x;
    float a = small(in[i]), b = small(in[i + 1]), c = small(in[i + 2]);
    __nv_bfloat16 ha = __float2bfloat16(a), hb = __float2bfloat16(b), hc = __float2bfloat16(c);
    __nv_bfloat162 va = __halves2bfloat162(ha, hb), vb = __floats2bfloat162_rn(b, c);
    float r = __bfloat162float(__hadd(ha, hb)) + __bfloat162float(__hsub(ha, hc)) + __bfloat162float(__hmax(ha, hb)) +
              __bfloat162float(__hmin(hb, hc)) + __bfloat162float(__habs(ha)) + __bfloat162float(__hneg(hb)) +
              (__hgt(ha, hb) ? 1000.f : 0.f);
    __nv_bfloat162 w = __hmax2(va, vb), u = __hadd2(va, vb);
    r += __low2float(w) + __high2float(u) + __bfloat162float(__hfma(ha, __float2bfloat16(2.0f), hb));
    out[i] = (uint32_t)(int)r;
}

extern "C" __global__ void bytes(const uint32_t *in, uint32_t *out)
{
    uint32_t i = threadIdx.x;
    float a = small(in[i]) * 0.25f, b = small(in[i + 1]) * 4;
    __nv_fp8_e4m3 x(a), y(b);
    __nv_fp8_e5m2 z(a);
    __nv_fp8x2_e4m3 p(make_float2(a, b));
    __nv_fp8x4_e5m2 q(make_float4(a, b, 1.0f, -2.0f));
    out[4 * i] = x.__x | (uint32_t)y.__x << 8 | (uint32_t)z.__x << 16;
    out[4 * i + 1] = p.__x;
    out[4 * i + 2] = q.__x;
    out[4 * i + 3] = __float_as_uint(float(x) + float(y) + float(z));
}
