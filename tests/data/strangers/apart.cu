// SPDX-License-Identifier: Apache-2.0
// Warp intrinsics inside functions that stay functions, called by lanes that have parted.
#include <cstdint>

__device__ __noinline__ uint32_t sum_of(uint32_t x) { return __reduce_add_sync(0xffffffff, x); }

__device__ __noinline__ uint32_t greatest_of(uint32_t x)
{
    for (int step = 16; step; step /= 2)
        x = max(x, __shfl_xor_sync(0xffffffff, x, step));
    return x;
}

extern "C" __global__ void branches(const uint32_t *in, uint32_t *out)
{
    uint32_t i = threadIdx.x, x = in[i] & 0xffff, r;
    if (x & 1)
        r = sum_of(x);
    else
        r = sum_of(2 * x);
    switch (x % 3) {
    case 0: r += greatest_of(x); break;
    case 1: r += greatest_of(x / 2); break;
    default: r += greatest_of(1);
    }
    out[i] = r;
}

__device__ __noinline__ uint32_t neighbour(uint32_t x) { return __shfl_xor_sync(0xffffffff, x, 1); }

struct plain {
    __device__ virtual uint32_t exchange(uint32_t x) { return neighbour(x) + 1; }
};
struct doubled : plain {
    __device__ uint32_t exchange(uint32_t x) override { return (neighbour(x) + 1) * 2; }
};

extern "C" __global__ void overridden(const uint32_t *in, uint32_t *out)
{
    plain a;
    doubled b;
    plain *of[2] = {&a, &b};
    out[threadIdx.x] = of[in[threadIdx.x] & 1]->exchange(in[threadIdx.x]);
}
