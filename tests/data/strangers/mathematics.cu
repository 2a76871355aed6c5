// SPDX-License-Identifier: Apache-2.0
// The mathematical functions of the CUDA library, single and double: bits of each result, in the
// order of the tables in the test.
#include <cstdint>

extern "C" __global__ void singles(const uint32_t *in, uint32_t *out)
{
    uint32_t i = threadIdx.x;
    float x = fmaf((float)(in[i] % 20000), 0.001f, -10.0f), y = fmaf((float)(in[i + 1] % 4000), 0.001f, -2.0f), p = fabsf(x) + 0.01f;
    float r[] = {sinf(x), cosf(x), tanf(y * 0.7f), expf(x), exp2f(x), exp10f(y), expm1f(y), logf(p), log2f(p), log10f(p), log1pf(p),
                 powf(p, y), sqrtf(p), rsqrtf(p), cbrtf(x), x / p, fmodf(x, p * 0.3f), atanf(x), atan2f(x, y), asinf(y * 0.49f),
                 acosf(y * 0.49f), sinhf(y), coshf(y), tanhf(x), erff(y), erfcf(y), tgammaf(p), lgammaf(p), hypotf(x, y),
                 floorf(x), ceilf(x), truncf(x), roundf(x), rintf(x), fmaf(x, y, p), ldexpf(x, 5), fdimf(x, y), sinpif(y),
                 asinhf(x), acoshf(p + 1), atanhf(y * 0.49f), normcdff(y)};
    for (int k = 0; k < (int)(sizeof r / sizeof r[0]); k++)
        out[64 * i + k] = __float_as_uint(r[k]);
}

extern "C" __global__ void doubles(const uint32_t *in, uint32_t *out)
{
    uint32_t i = threadIdx.x;
    double x = fma((double)(in[i] % 20000), 0.001, -10.0), y = fma((double)(in[i + 1] % 4000), 0.001, -2.0), p = fabs(x) + 0.01;
    double r[] = {sin(x), cos(x), tan(y * 0.7), exp(x), exp2(x), log(p), log2(p), log10(p), pow(p, y), sqrt(p), rsqrt(p), cbrt(x),
                  x / p, fmod(x, p * 0.3), atan(x), atan2(x, y), asin(y * 0.49), sinh(y), tanh(x), erf(y), floor(x), rint(x),
                  fma(x, y, p), hypot(x, y), 1 / p, tgamma(p), sin(x * 1e8), round(x)};
    for (int k = 0; k < (int)(sizeof r / sizeof r[0]); k++) {
        unsigned long long b = (unsigned long long)__double_as_longlong(r[k]);
        out[64 * i + 2 * k] = (uint32_t)b;
        out[64 * i + 2 * k + 1] = (uint32_t)(b >> 32);
    }
}

extern "C" __global__ void intrinsics(const uint32_t *in, uint32_t *out)
{
    uint32_t i = threadIdx.x;
    float x = fmaf((float)(in[i] % 20000), 0.001f, -10.0f), p = fabsf(x) + 0.01f;
    float r[] = {__sinf(x * 0.3f), __cosf(x * 0.3f), __expf(x), __logf(p), __powf(p, 1.5f), __fdividef(x, p), __frcp_rn(p), __fsqrt_rn(p),
                 __frsqrt_rn(p), __fadd_rz(x, p), __fmul_ru(x, p), __fmaf_rd(x, p, x), __fdiv_rn(x, p), __saturatef(x),
                 (float)__float2int_rn(x), (float)__float2uint_rz(p), __int2float_rn((int)in[i]), __double2float_rn(x / 3.0)};
    for (int k = 0; k < (int)(sizeof r / sizeof r[0]); k++)
        out[32 * i + k] = __float_as_uint(r[k]);
}
