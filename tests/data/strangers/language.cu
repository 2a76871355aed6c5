// SPDX-License-Identifier: Apache-2.0
// C++ as people write it: templates, lambdas, virtual functions, tables of functions, calls that
// stay calls, local arrays, constants, globals, switches.
#include <cstdint>

__constant__ uint32_t primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};
__device__ uint32_t counter = 100;
__device__ uint32_t table[4] = {1, 10, 100, 1000};
__device__ const char *const words[3] = {"alpha", "beta", "gamma"};

struct shape {
    __device__ virtual uint32_t area() const = 0;
};
struct square : shape {
    uint32_t a;
    __device__ explicit square(uint32_t x) : a(x) {}
    __device__ uint32_t area() const override { return a * a; }
};
struct rectangle : square {
    uint32_t b;
    __device__ rectangle(uint32_t x, uint32_t y) : square(x), b(y) {}
    __device__ uint32_t area() const override { return a * b; }
};

extern "C" __global__ void virtuals(const uint32_t *in, uint32_t *out)
{
    uint32_t i = threadIdx.x, x = in[i] & 0xff;
    square s(x);
    rectangle r(x, i);
    const shape *shapes[2] = {&s, &r};
    out[i] = shapes[in[i] >> 8 & 1]->area();
}

__device__ __noinline__ uint32_t twice(uint32_t x) { return 2 * x; }
__device__ __noinline__ uint32_t square_of(uint32_t x) { return x * x; }
__device__ __noinline__ uint32_t less_one(uint32_t x) { return x - 1; }
using unary = uint32_t (*)(uint32_t);
__device__ unary functions[3] = {twice, square_of, less_one};

extern "C" __global__ void pointers(const uint32_t *in, uint32_t *out)
{
    uint32_t i = threadIdx.x;
    out[i] = functions[in[i] % 3](in[i] >> 3);
}

struct big {
    uint32_t v[9];
    double d;
    char c;
};
__device__ __noinline__ big make(uint32_t x)
{
    big b;
    for (int i = 0; i < 9; i++)
        b.v[i] = x + (uint32_t)i;
    b.d = x * 0.5;
    b.c = (char)x;
    return b;
}
__device__ __noinline__ uint32_t sum(big b, uint32_t k) { return b.v[k % 9] + (uint32_t)b.d + (uint8_t)b.c; }

extern "C" __global__ void by_value(const uint32_t *in, uint32_t *out)
{
    uint32_t i = threadIdx.x, x = in[i] & 0xffff;
    out[i] = sum(make(x), i);
}

__device__ __noinline__ uint32_t fibonacci(uint32_t n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

extern "C" __global__ void recursion(const uint32_t *in, uint32_t *out)
{
    out[threadIdx.x] = fibonacci(in[threadIdx.x] % 12);
}

template <class F> __device__ uint32_t fold(uint32_t n, uint32_t x, F f)
{
    for (uint32_t i = 0; i < n; i++)
        x = f(x, i);
    return x;
}
template <uint32_t N> struct power {
    __device__ static uint32_t of(uint32_t x) { return x * power<N - 1>::of(x); }
};
template <> struct power<0> {
    __device__ static uint32_t of(uint32_t) { return 1; }
};

extern "C" __global__ void lambdas(const uint32_t *in, uint32_t *out)
{
    uint32_t i = threadIdx.x, k = in[i] & 7;
    auto step = [k, in](uint32_t x, uint32_t j) { return x * 31 + in[j] + k; };
    out[i] = fold(k + i % 5, i, step) + power<5>::of(k);
}

extern "C" __global__ void local_arrays(const uint32_t *in, uint32_t *out)
{
    uint32_t i = threadIdx.x, heap[37];
    uint8_t bytes[16];
    for (int k = 0; k < 37; k++)
        heap[k] = in[(i + (uint32_t)k * 7) % 256] & 0xffff;
    for (int k = 0; k < 16; k++)
        bytes[k] = (uint8_t)heap[k];
    for (int a = 1; a < 37; a++) // insertion sort
        for (int b = a; b > 0 && heap[b - 1] > heap[b]; b--) {
            uint32_t t = heap[b];
            heap[b] = heap[b - 1], heap[b - 1] = t;
        }
    out[i] = heap[i % 37] << 8 | bytes[in[i] % 16];
}

extern "C" __global__ void globals(const uint32_t *in, uint32_t *out)
{
    uint32_t i = threadIdx.x;
    atomicAdd(&counter, in[i] & 1);
    __syncthreads();
    const char *w = words[i % 3];
    out[i] = primes[in[i] % 8] * table[i % 4] + (uint32_t)w[i % 4] + (i == 0 ? counter : 0);
}

extern "C" __global__ void switches(const uint32_t *in, uint32_t *out)
{
    uint32_t i = threadIdx.x, x = in[i];
    switch (x % 11) {
    case 0: x += 7; break;
    case 1: x ^= 0x55; break;
    case 2: x *= 3; [[fallthrough]];
    case 3: x -= 9; break;
    case 4: x = x << 3 | x >> 29; break;
    case 5: x = ~x; break;
    case 6: for (int k = 0; k < 5; k++) x = x * 5 + 1; break;
    case 7: x /= 7; break;
    case 8: x %= 1000; break;
    case 9: x = in[x % 256]; break;
    default: x = 42;
    }
    out[i] = x;
}

extern "C" __global__ void divisions(const uint32_t *in, uint32_t *out)
{
    uint32_t i = threadIdx.x;
    uint64_t a = (uint64_t)in[i] << 32 | in[i + 1], b = (uint64_t)(in[i + 2] >> (i % 32)) << (i % 33) | 1;
    int64_t sa = (int64_t)a, sb = i % 2 ? -(int64_t)(b >> 1) : (int64_t)(b >> 1) + 1;
    sb = sb ? sb : 3;
    uint64_t r = (a / b) ^ (a % b) ^ (uint64_t)(sa / sb) ^ (uint64_t)(sa % sb);
    out[2 * i] = (uint32_t)r;
    out[2 * i + 1] = (uint32_t)(r >> 32);
}
