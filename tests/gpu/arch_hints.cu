// SPDX-License-Identifier: Apache-2.0
// The code of hints for sm_90a at work: each kernel stands behind the code blocks of one hint (tests/gpu/arch_functions.c
// takes them out of arch/sm_90a/hints) and holds their results against plain sums.
#include <cuda_bf16.h>

// In [-1, 1), exact in bf16.
__device__ float draw(int which, int row, int column)
{
    unsigned h = (which * 7919 + row * 131 + column) * 2654435761u;
    return (float)(int)(h >> 24) / 128.f - 1.f;
}

// `rows` x 128 as boxes {64, rows} with swizzle 128B, one behind the other; all of it times `scale`.
__device__ void fill(char *tile, int which, int first, int rows, float scale)
{
    for (int i = threadIdx.x; i < rows * 128; i += 128) {
        int row = i / 128, column = i % 128;
        *(__nv_bfloat16 *)(tile + column / 64 * rows * 128 + swizzled<swizzle::b128>(row, column % 64 * 2)) =
            __float2bfloat16(draw(which, first + row, column) * scale);
    }
}

__device__ bool near(float got, float want, float tolerance)
{
    return fabsf(got - want) <= tolerance; // false for NaN
}

#if defined(HINT_forward)

// 64 queries, two pieces of 128 keys; scores with a deviation of about 15, so that maxima move and weights are peaked.
__global__ __launch_bounds__(128, 1) void hint(unsigned *bad)
{
    extern __shared__ char raw[];
    char *q = (char *)align_up<1024>(raw), *k[2] = {q + 16384, q + 49152}, *v[2] = {q + 81920, q + 114688};
    fill(q, 0, 0, 64, 4);
    for (int i = 0; i < 2; i++) {
        fill(k[i], 1, 128 * i, 128, 1);
        fill(v[i], 2, 128 * i, 128, 1);
    }
    fence_proxy_async_shared();
    __syncthreads();
    float o[64] = {}, m[2] = {-INFINITY, -INFINITY}, l[2] = {}, c = 1.4426950f / 2;
    forward(o, m, l, q, k, v, 2, c);
    int t = threadIdx.x;
    for (int half = 0; half < 2; half++) {
        l[half] += __shfl_xor_sync(~0u, l[half], 1);
        l[half] += __shfl_xor_sync(~0u, l[half], 2);
    }
    float *out = (float *)k[0]; // every product is done
    __syncthreads();
    for (int i = 0; i < 64; i++)
        out[(t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8) * 128 + i / 4 * 8 + t % 4 * 2 + i % 2] = o[i] / l[i / 2 % 2];
    __syncthreads();
    if (t >= 64)
        return;
    float top = -INFINITY, sum = 0, s;
    for (int pass = 0; pass < 2; pass++)
        for (int key = 0; key < 256; key++) {
            s = 0;
            for (int d = 0; d < 128; d++)
                s += 4 * draw(0, t, d) * draw(1, key, d);
            if (pass == 0)
                top = fmaxf(top, s);
            else
                sum += exp2f((s - top) * c);
        }
    for (int d = 0; d < 128; d += 31) { // a few columns: the sums above are dear
        float want = 0;
        for (int key = 0; key < 256; key++) {
            s = 0;
            for (int i = 0; i < 128; i++)
                s += 4 * draw(0, t, i) * draw(1, key, i);
            want += exp2f((s - top) * c) / sum * draw(2, key, d);
        }
        if (!near(out[t * 128 + d], want, 8e-3f))
            atomicAdd(bad, 1u);
    }
}

#elif defined(HINT_turns)

// One step of the softmax and its product, against the same in plain sums: 64 queries, 128 keys.
__global__ __launch_bounds__(128, 1) void hint(unsigned *bad)
{
    extern __shared__ char raw[];
    char *v = (char *)align_up<1024>(raw);
    fill(v, 2, 0, 128, 1);
    fence_proxy_async_shared();
    __syncthreads();
    int t = threadIdx.x, first = t / 32 * 16 + t % 32 / 4;
    float s[64], o[64], m[2] = {1.5f, 1.5f}, l[2] = {3, 3}, c = 1.4426950f;
    for (int i = 0; i < 64; i++) { // O so far is 1 everywhere
        o[i] = 1;
        s[i] = 3 * draw(0, first + i / 2 % 2 * 8, i / 4 * 8 + t % 4 * 2 + i % 2);
    }
    softmax_step(s, o, m, l, c);
    add_values(o, s, v);
    wgmma_wait<0>();
    wgmma_hold(o);
    for (int i = 0; i < 64; i += 7) {
        int row = first + i / 2 % 2 * 8, column = i / 4 * 8 + t % 4 * 2 + i % 2;
        float top = 1.5f, want = 1;
        for (int key = 0; key < 128; key++)
            top = fmaxf(top, 3 * draw(0, row, key));
        want = exp2f((1.5f - top) * c);
        for (int key = 0; key < 128; key++)
            want += exp2f((3 * draw(0, row, key) - top) * c) * draw(2, key, column);
        if (!near(o[i], want, 3e-2f) || m[i / 2 % 2] != top)
            atomicAdd(bad, 1u);
    }
}

#elif defined(HINT_backward)

// dV and dK of 64 keys and 64 queries from scores and dP given.
__global__ __launch_bounds__(128, 1) void hint(unsigned *bad)
{
    extern __shared__ char raw[];
    char *grad = (char *)align_up<1024>(raw), *q = grad + 16384;
    float *lse = (float *)(q + 16384), *di = lse + 64;
    fill(grad, 1, 0, 64, 1);
    fill(q, 2, 0, 64, 1);
    int t = threadIdx.x, first = t / 32 * 16 + t % 32 / 4;
    if (t < 64) {
        lse[t] = 2 + draw(3, t, 0);
        di[t] = draw(4, t, 0);
    }
    fence_proxy_async_shared();
    __syncthreads();
    float s[32], dp[32], dv[64] = {}, dk[64] = {}, c = 0.5f;
    uint32_t p[4][4], ds[4][4];
    for (int i = 0; i < 32; i++) {
        int key = first + i / 2 % 2 * 8, query = i / 4 * 8 + t % 4 * 2 + i % 2;
        s[i] = 4 * draw(5, key, query);
        dp[i] = draw(6, key, query);
    }
    weights(s, dp, lse, di, c, p, ds);
    add(dv, dk, p, ds, grad, q);
    wgmma_wait<0>();
    wgmma_hold(dv);
    wgmma_hold(dk);
    for (int i = 0; i < 64; i++) {
        int key = first + i / 2 % 2 * 8, column = i / 4 * 8 + t % 4 * 2 + i % 2;
        float v = 0, k = 0;
        for (int query = 0; query < 64; query++) {
            float w = exp2f(4 * draw(5, key, query) * c - lse[query]);
            v += w * draw(1, query, column);
            k += w * (draw(6, key, query) - di[query]) * draw(2, query, column);
        }
        if (!near(dv[i], v, 3e-2f) || !near(dk[i], k, 3e-2f))
            atomicAdd(bad, 1u);
    }
}

#elif defined(HINT_cluster)

// 256 x 256 of C by a cluster of two, as f32.
__global__ __cluster_dims__(2, 1, 1) __launch_bounds__(384, 1) void hint(const __grid_constant__ CUtensorMap a,
                                                                       const __grid_constant__ CUtensorMap b, float *c,
                                                                       int K)
{
    extern __shared__ char raw[];
    Shared &s = *(Shared *)align_up<1024>(raw);
    int t = threadIdx.x, rank = cluster_rank(), role = t / 128;
    if (t == 0)
        s.ring.init(4);
    cluster_sync();
    pipeline_stage<STAGES> at;
    if (t == 0)
        produce(s, at, &a, &b, rank * 128, 0, K);
    if (role > 0) {
        float d[128];
        consume(s, at, d, role - 1, K);
        wgmma_store_f32(c + (rank * 128 + (role - 1) * 64) * 256, 256, 64, 256, d);
    }
    cluster_sync();
}

#elif defined(HINT_store)

// Element (row, column) of 128 x 256 is (row + column) % 5 - 2.
__global__ __launch_bounds__(256, 1) void hint(const __grid_constant__ CUtensorMap c)
{
    __shared__ alignas(1024) char boxes[2][64 * 128];
    int consumer = threadIdx.x / 128;
    float d[128];
    for (int i = 0; i < 128; i++)
        d[i] = (consumer * 64 + wgmma_row(i) + wgmma_column(i)) % 5 - 2;
#pragma unroll
    for (int part = 0; part < 4; part++)
        store_box(&c, boxes[consumer], d, part, consumer, consumer * 64, 0);
    if (threadIdx.x % 128 == 0)
        tma_wait<0>();
}

#elif defined(HINT_tiles)

// 7 x 9 tiles, the last ones cut off by the matrix's edge.
__global__ void hint(unsigned *seen)
{
    Tiles tiles(6 * 128 + 5, 8 * 256 + 8, 128, 256, 4);
    for (int row, column; tiles.take(row, column);)
        atomicAdd(&seen[row * 9 + column], 1u);
}

#elif defined(HINT_exponential) // of sm_100a, but nothing in it needs that

__global__ void hint(unsigned *bad)
{
    for (int i = threadIdx.x; i < 126 * 1024; i += blockDim.x) {
        float x = -i / 1024.f, want = exp2f(x);
        if (fabsf(exp2_on_fma(x) - want) > 1.1e-4f * want)
            atomicAdd(bad, 1u);
    }
    if (threadIdx.x == 0 && (exp2_on_fma(0.f) != 1.f || exp2_on_fma(-INFINITY) > 1e-37f))
        atomicAdd(bad, 1u);
}

#endif
