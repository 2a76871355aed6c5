// SPDX-License-Identifier: Apache-2.0
// The language itself: printf, assert, calls direct and indirect, recursion, switches, local arrays,
// constants and initialised globals, virtual functions, atomics, integer and floating-point intrinsics.
#ifndef __CUDACC_RTC__
#include <cstdio>
#endif

struct vec3 {
    float x, y, z;
};
struct big {
    int a[20];
    char c;
    double d;
};

__constant__ float weights[8] = {0.5f, 1.5f, -2.0f};
__constant__ vec3 axes[2] = {{1, 0, 0}, {0, 1, 0}};
__device__ int counter = 42;
__device__ double table[3][2] = {{1, 2}, {3}};
__device__ int *pointer = &counter;
__device__ const char *const texts[] = {"one", "two", nullptr};

__device__ __noinline__ float twice(float x)
{
    return x + x;
}
__device__ __noinline__ float half_of(float x)
{
    return x * 0.5f;
}
__device__ __noinline__ big fill(int seed)
{
    big b = {};
    for (int i = 0; i < 20; i++)
        b.a[i] = seed * i;
    b.d = seed;
    return b;
}
__device__ int fibonacci(int n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

typedef float (*function)(float);
__device__ function functions[] = {twice, half_of};

struct shape {
    __device__ virtual float area() const = 0;
    __device__ virtual ~shape() {}
};
struct square : shape {
    float side;
    __device__ square(float s) : side(s) {}
    __device__ float area() const override { return side * side; }
};
struct circle : shape {
    float radius;
    __device__ circle(float r) : radius(r) {}
    __device__ float area() const override { return 3.14159f * radius * radius; }
};

__global__ void calls(float *out, int which, big arg)
{
    big b = fill(which);
    out[0] = functions[which](out[1]) + twice(out[2]);
    out[3] = b.a[which] + arg.a[which] + arg.d + fibonacci(which);
    square s(2);
    circle c(3);
    const shape *shapes[] = {&s, &c};
    out[4] = shapes[which & 1]->area();
    printf("value %f text %s %d %lld\n", out[0], texts[which], counter, (long long)which);
}

__global__ void __launch_bounds__(256, 2) locals(int *out, int n)
{
    int work[64];
    for (int i = 0; i < 64; i++)
        work[i] = out[i];
    for (int i = 0; i < n; i++)
        work[(i * 7) & 63] += work[i & 63];
    int sum = 0;
    for (int i = 0; i < 64; i++)
        sum ^= work[(i * n) & 63];
    switch (n) {
    case 0: sum += 3; break;
    case 1: sum *= 7; break;
    case 2: sum -= 11; break;
    case 3: sum ^= 0x55; break;
    case 4: sum = __popc(sum); break;
    case 5: sum = __clz(sum); break;
    case 6: sum = __brev(sum); break;
    case 7: sum = __ffs(sum); break;
    case 8: __trap();
    }
    out[threadIdx.x] = sum + *pointer + table[n][1] + weights[n] + axes[n].y;
}

// A switch in a loop, and a jump table of our own (the compiler made none of the switch).
__global__ void interpreter(const unsigned char *program, int *memory, int n)
{
    int a = 0, b = 1;
    for (int pc = 0; pc < n; pc++)
        switch (program[pc]) {
        case 0: a += b; break;
        case 1: memory[a & 15] = b; break;
        case 2: b = memory[a & 15]; break;
        case 3: a = a * b + 3; memory[1] ^= a; break;
        case 4: pc += a & 3; break;
        case 5: atomicAdd(&memory[2], b); break;
        case 6: memory[3] = a ^ b; a = b; break;
        case 7: __syncwarp(); b = a >> 3; break;
        case 8: memory[a & 7] += 9; b--; break;
        case 9: return;
        default: __trap();
        }
    asm volatile("{\n.reg .b32 i;\nTABLE: .branchtargets ONE, TWO;\nand.b32 i, %0, 1;\nbrx.idx i, TABLE;\n"
                 "ONE: mov.b32 %0, 11;\nbra.uni OUT;\nTWO: mov.b32 %0, 22;\nOUT:\n}" : "+r"(b));
    memory[0] = a + b;
}

__global__ void integers(unsigned *o, unsigned long long *q, int a, int b, long long c)
{
    extern __shared__ unsigned dynamic[];
    dynamic[threadIdx.x] = __umulhi(a, b) + __mul24(a, b) + __sad(a, b, 3u) + __usad(a, b, 4u);
    __syncthreads();
    o[0] = __byte_perm(a, b, 0x3210) + __funnelshift_l(a, b, 5) + __funnelshift_rc(a, b, 7);
    o[1] = __dp4a(a, b, 3) + __dp2a_lo(a, b, 4) + __vadd4(a, b) + __vabsdiffu2(a, b) + __vmaxs4(a, b);
    o[2] = a / b + a % b + (unsigned)a / 7u + __rhadd(a, b) + __hadd(a, b) + max(a, b) + min(a, b);
    q[0] = c / b + c % b + __mul64hi(c, b) + __brevll(c) + __popcll(c) + __clzll(c);
    o[3] = dynamic[threadIdx.x ^ 1] + atomicAdd(&o[4], 1u) + atomicCAS(&o[5], 1u, 2u) + atomicExch(&o[6], 3u);
    o[7] = atomicInc(&o[8], 9u) + atomicDec(&o[9], 9u) + atomicMin(&o[10], 3u) + atomicXor(&o[11], 5u);
    q[1] = atomicAdd(&q[2], 1ull) + atomicCAS(&q[3], 1ull, 2ull) + atomicMax(&q[4], 7ull);
    o[12] = atomicAdd_block(&o[13], 1u) + atomicAdd_system(&o[14], 1u) + atomicOr(&dynamic[0], 4u);
    o[15] = __ballot_sync(~0u, a) + __any_sync(~0u, a) + __all_sync(~0u, b) + __activemask();
    o[16] = __shfl_sync(~0u, a, 3) + __shfl_up_sync(~0u, a, 1) + __shfl_down_sync(~0u, a, 2) + __shfl_xor_sync(~0u, a, 4, 8);
    o[17] = __match_any_sync(~0u, a) + __reduce_add_sync(~0u, a) + __reduce_max_sync(~0u, b) + __reduce_xor_sync(~0u, (unsigned)b);
    int all;
    o[18] = __match_all_sync(~0u, a, &all) + all + __syncthreads_count(a) + __syncthreads_or(b) + __syncthreads_and(b);
    o[19] = clock() + (unsigned)clock64();
    __nanosleep(20);
    __threadfence();
    __threadfence_block();
    __threadfence_system();
    __syncwarp();
    o[20] = __ldg(&o[21]) + __ldcg(&o[22]) + __ldcs(&o[23]) + __ldlu(&o[24]) + __ldcv(&o[25]);
    __stwt(&o[26], 1u);
    __stcg(&o[27], 1u);
    __stcs(&o[28], 1u);
    __prof_trigger(1);
    __brkpt();
}

__global__ void floats(float *f, double *d, int n)
{
    float x = f[threadIdx.x], y = f[n];
    double u = d[threadIdx.x], v = d[n];
    f[0] = sinf(x) + cosf(y) + expf(x) + logf(y) + powf(x, y) + tanhf(x) + sqrtf(x) + rsqrtf(y) + erff(x);
    f[1] = __sinf(x) + __cosf(y) + __expf(x) + __logf(y) + __powf(x, y) + __fdividef(x, y) + __frcp_rn(x) + __fsqrt_rz(y);
    f[2] = fmaf(x, y, 1) + __fmaf_rz(x, y, 2) + __fmul_ru(x, y) + __fadd_rd(x, y) + fmodf(x, y) + remainderf(x, y);
    f[3] = floorf(x) + ceilf(y) + truncf(x) + rintf(y) + roundf(x) + fminf(x, y) + fmaxf(x, y) + fabsf(x) + copysignf(x, y);
    f[4] = __float2int_rn(x) + __float2uint_rz(y) + __float2ll_ru(x) + __int2float_rd(n) + __saturatef(x) + __float_as_int(x);
    f[5] = isnan(x) + isinf(y) + (x < y) + (x != y) + !(x >= y) + x / y + 1 / x + ldexpf(x, n) + scalbnf(y, n);
    d[0] = sin(u) + cos(v) + exp(u) + log(v) + pow(u, v) + sqrt(u) + rsqrt(v) + __fma_rn(u, v, 1) + u / v + fmod(u, v);
    d[1] = floor(u) + ceil(v) + __dadd_rn(u, v) + __dmul_rz(u, v) + __double2int_rn(u) + __double2float_rd(v) + (float)u;
    d[2] = __longlong_as_double(n) + __hiloint2double(n, n) + __double2hiint(u) + (u < v) + fmin(u, v) + fabs(u) + cbrt(v);
    atomicAdd(&f[6], x);
    atomicAdd(&d[3], u);
}
