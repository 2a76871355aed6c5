// SPDX-License-Identifier: Apache-2.0
// mma.h: one product per type of element.
#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;

template <class T> __device__ T narrow(uint32_t x) { return (T)(float)((int)(x % 9) - 4); }
template <> __device__ __half narrow<__half>(uint32_t x) { return __float2half((float)((int)(x % 9) - 4)); }
template <> __device__ __nv_bfloat16 narrow<__nv_bfloat16>(uint32_t x) { return __float2bfloat16((float)((int)(x % 9) - 4)); }
template <> __device__ signed char narrow<signed char>(uint32_t x) { return (signed char)((int)(x % 9) - 4); }

// C = A B + 1, A 16x16 by rows, B by columns
template <class T, class F, class C, int M, int N, int K> __device__ void product(const uint32_t *in, C *c)
{
    __shared__ alignas(32) T a[M * K], b[K * N];
    for (int k = (int)threadIdx.x; k < M * K; k += 32)
        a[k] = narrow<T>(in[k]);
    for (int k = (int)threadIdx.x; k < K * N; k += 32)
        b[k] = narrow<T>(in[k + 512]);
    __syncwarp();
    wmma::fragment<wmma::matrix_a, M, N, K, F, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, M, N, K, F, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, M, N, K, C> fc;
    wmma::fill_fragment(fc, (C)1);
    wmma::load_matrix_sync(fa, (const T *)a, K);
    wmma::load_matrix_sync(fb, (const T *)b, K);
    wmma::mma_sync(fc, fa, fb, fc);
    for (int k = 0; k < fc.num_elements; k++)
        fc.x[k] = fc.x[k] + (C)1;
    wmma::store_matrix_sync(c, fc, N, wmma::mem_row_major);
}

extern "C" __global__ void product_f16(const uint32_t *in, uint32_t *out) { product<__half, __half, float, 16, 16, 16>(in, (float *)out); }
extern "C" __global__ void product_f16_wide(const uint32_t *in, uint32_t *out) { product<__half, __half, float, 8, 32, 16>(in, (float *)out); }
extern "C" __global__ void product_bf16(const uint32_t *in, uint32_t *out) { product<__nv_bfloat16, __nv_bfloat16, float, 32, 8, 16>(in, (float *)out); }
extern "C" __global__ void product_tf32(const uint32_t *in, uint32_t *out) { product<float, wmma::precision::tf32, float, 16, 16, 8>(in, (float *)out); }
extern "C" __global__ void product_s8(const uint32_t *in, uint32_t *out) { product<signed char, signed char, int, 16, 16, 16>(in, (int *)out); }
extern "C" __global__ void product_f64(const uint32_t *in, uint32_t *out) { product<double, double, double, 8, 8, 4>(in, (double *)out); }

extern "C" __global__ void product_u4(const uint32_t *in, uint32_t *out)
{
    using namespace wmma::experimental;
    __shared__ alignas(32) uint32_t a[8 * 4], b[8 * 4];
    a[threadIdx.x] = in[threadIdx.x], b[threadIdx.x] = in[32 + threadIdx.x];
    __syncwarp();
    wmma::fragment<wmma::matrix_a, 8, 8, 32, precision::u4, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 8, 8, 32, precision::u4, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 8, 8, 32, int> fc;
    wmma::fill_fragment(fc, 3);
    wmma::load_matrix_sync(fa, a, 32);
    wmma::load_matrix_sync(fb, b, 32);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync((int *)out, fc, 8, wmma::mem_row_major);
}

extern "C" __global__ void product_b1(const uint32_t *in, uint32_t *out)
{
    using namespace wmma::experimental;
    __shared__ alignas(32) uint32_t a[8 * 4], b[8 * 4];
    a[threadIdx.x] = in[threadIdx.x], b[threadIdx.x] = in[32 + threadIdx.x];
    __syncwarp();
    wmma::fragment<wmma::matrix_a, 8, 8, 128, precision::b1, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 8, 8, 128, precision::b1, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 8, 8, 128, int> fc;
    wmma::fill_fragment(fc, 0);
    wmma::load_matrix_sync(fa, a, 128);
    wmma::load_matrix_sync(fb, b, 128);
    bmma_sync(fc, fa, fb, fc, bmmaBitOpAND, bmmaAccumulateOpPOPC);
    wmma::store_matrix_sync((int *)out, fc, 8, wmma::mem_row_major);
}
