// SPDX-License-Identifier: Apache-2.0
// What people take from the toolkit: CUB's blocks, cuRAND on the device, 4-bit and 6-bit floating
// point, mdspan.
#include <cstdint>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cuda/std/mdspan>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <curand_kernel.h>

extern "C" __global__ void blocks(const uint32_t *in, uint32_t *out)
{
    using reduce = cub::BlockReduce<uint32_t, 128>;
    using scan = cub::BlockScan<uint32_t, 128>;
    using sort = cub::BlockRadixSort<uint32_t, 128, 4>;
    __shared__ union {
        typename reduce::TempStorage reduce;
        typename scan::TempStorage scan;
        typename sort::TempStorage sort;
    } room;
    uint32_t i = threadIdx.x, before, keys[4];
    uint32_t sum = reduce(room.reduce).Sum(in[i]);
    __syncthreads();
    scan(room.scan).ExclusiveSum(in[i], before);
    __syncthreads();
    for (uint32_t k = 0; k < 4; k++)
        keys[k] = in[4 * i + k];
    sort(room.sort).Sort(keys);
    for (uint32_t k = 0; k < 4; k++)
        out[4 * i + k] = keys[k];
    out[512 + i] = before;
    if (i == 0)
        out[640] = sum;
}

extern "C" __global__ void narrow(const uint32_t *in, uint32_t *out)
{
    uint32_t i = threadIdx.x;
    float v = (float)(int)(in[i] % 64) * 0.25f - 8;
    __nv_fp6_e3m2 a(v);
    __nv_fp6_e2m3 b(v);
    __nv_fp4_e2m1 c(v);
    out[i] = a.__x | (uint32_t)b.__x << 8 | (uint32_t)c.__x << 16;
    out[64 + i] = __float_as_uint(float(a) + float(b) + float(c));
    cuda::std::mdspan<const uint32_t, cuda::std::extents<int, 8, 8>> square(in);
    uint32_t sum = 0;
    for (int k = 0; k < 8; k++)
        sum = sum * 3 + square(k, (int)i % 8);
    out[128 + i] = sum;
}

// Philox: counter mode, so thread i's first four numbers are one block of its own sequence.
extern "C" __global__ void random_numbers(const uint32_t *in, uint32_t *out)
{
    uint32_t i = threadIdx.x;
    curandStatePhilox4_32_10_t state;
    curand_init(in[0], i, 0, &state);
    for (uint32_t k = 0; k < 4; k++)
        out[4 * i + k] = curand(&state);
}
