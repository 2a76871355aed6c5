// SPDX-License-Identifier: Apache-2.0
// Warp intrinsics, bit tricks, SIMD in a word.
#include <cstdint>

extern "C" __global__ void shuffles(const uint32_t *in, uint32_t *out)
{
    uint32_t i = threadIdx.x, x = in[i], r = 0;
    r ^= __shfl_sync(0xffffffff, x, i * 7 % 32);
    r += __shfl_up_sync(0xffffffff, x, 3, 16);
    r ^= __shfl_down_sync(0xffffffff, x, 5, 8) * 3;
    r += __shfl_xor_sync(0xffffffff, x, 9);
    uint64_t w = __shfl_xor_sync(0xffffffff, (unsigned long long)x << 20, 1);
    double d = __shfl_sync(0xffffffff, (double)x, 31 - i % 32);
    r ^= (uint32_t)(w >> 16) + (uint32_t)(int64_t)(d * 0.5);
    if (i % 3 == 0)
        r += __shfl_sync(__activemask(), x, __ffs((int)__activemask()) - 1);
    out[i] = r;
}

extern "C" __global__ void votes(const uint32_t *in, uint32_t *out)
{
    uint32_t i = threadIdx.x, x = in[i], r;
    r = __ballot_sync(0xffffffff, x & 1);
    r += (uint32_t)__any_sync(0xffffffff, (x & 0xff) == 3) * 2 + (uint32_t)__all_sync(0xffffffff, x != 0);
    r ^= __match_any_sync(0xffffffff, x % 4);
    int all;
    r += __match_all_sync(0xffffffff, (unsigned long long)(x > 0), &all) + (uint32_t)all;
    r += __reduce_add_sync(0xffffffff, x & 0xffff) + __reduce_max_sync(0xffffffff, x) +
         (uint32_t)__reduce_min_sync(0xffffffff, (int)x) + __reduce_xor_sync(0xffffffff, x) +
         __reduce_or_sync(0xffffffff, x & 0xf0f0) + __reduce_and_sync(0xffffffff, x | 0xff);
    if (x & 1)
        r += __popc(__activemask());
    __syncwarp();
    out[i] = r + (uint32_t)__syncthreads_count(x & 1) + 10u * (uint32_t)__syncthreads_or(x == 1) +
             100u * (uint32_t)__syncthreads_and(x | 1);
}

extern "C" __global__ void bits(const uint32_t *in, uint32_t *out)
{
    uint32_t i = threadIdx.x, a = in[i], b = in[i + 1], c = in[i + 2], r = 0;
    uint64_t w = (uint64_t)a << 32 | b;
    r += __brev(a) ^ (uint32_t)__clz((int)(a >> (b & 31))) ^ (uint32_t)__ffs((int)b) ^ (uint32_t)__popcll(w);
    r += (uint32_t)__clzll((long long)(w >> (c & 63))) + (uint32_t)__ffsll((long long)w) + (uint32_t)(__brevll(w) >> 17);
    r ^= __byte_perm(a, b, c & 0x7777) + __funnelshift_l(a, b, c) + __funnelshift_rc(a, b, c & 63);
    r += __umulhi(a, b) ^ (uint32_t)__mulhi((int)a, (int)b) ^ (uint32_t)__umul64hi(w, w >> 3) ^
         (uint32_t)__mul24((int)a, (int)b) ^ __umul24(a, c);
    r += __usad(a, b, c) + __sad((int)a, (int)b, c) + (uint32_t)__hadd((int)a, (int)b) + __urhadd(a, b);
    r ^= (uint32_t)__dp4a((int)a, (int)b, (int)c) + __dp4a(a, b, c) + (uint32_t)__dp2a_lo((int)a, (int)b, (int)c) +
         __dp2a_hi(a, b, c);
    out[i] = r + __fns(a, b & 31, 1);
}

extern "C" __global__ void simd(const uint32_t *in, uint32_t *out)
{
    uint32_t i = threadIdx.x, a = in[i], b = in[i + 1], c = in[i + 2], r = 0;
    r += __vadd4(a, b) ^ __vsub2(a, b) ^ __vaddss4(a, b) ^ __vaddus2(a, b) ^ __vsubss2(a, b) ^ __vsubus4(a, b);
    r += __vabsdiffu4(a, b) ^ __vabsdiffs2(a, b) ^ __vavgu4(a, b) ^ __vavgs2(a, b) ^ __vhaddu2(a, b);
    r += __vmaxs4(a, b) ^ __vminu2(a, b) ^ __vcmpeq4(a, b) ^ __vcmpgts2(a, b) ^ __vsetltu4(a, b);
    r += __vsads4(a, b) ^ __vsadu2(a, b) ^ __vabs4(a) ^ __vneg2(b) ^ __vabsss2(c);
    r += (uint32_t)__viaddmax_s32((int)a, (int)b, (int)c) ^ __vimax3_u32(a, b, c) ^
         __viaddmin_s16x2_relu(a, b, c) ^ __vimin3_s16x2(a, b, c);
    out[i] = r;
}
