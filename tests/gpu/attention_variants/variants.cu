// SPDX-License-Identifier: Apache-2.0
//
// Attention that is wrong in one way, or honest: what the strict rule has to tell apart. Made of the parts of
// problems/common/attention.cu, which tests/gpu/attention.c puts ahead of this text, and behind
//
//     enum { HONEST, FP16_SUMS, BF16_SCORES, SKIPPED_TILE, SKIPPED_ROWS, LAST_BLOCK, EDGE };
//     enum { VARIANT = one of these };
//
// Every variant does what a tensor-core kernel does: P and dS are rounded to bf16 before they are multiplied,
// sums are kept in fp32.

static __device__ float as_bf16(float v)
{
    bf16 bits;
    write(&bits, v);
    return low(bits);
}

static __device__ float as_fp16(float v)
{
    unsigned short bits;
    float f;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(v));
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(bits));
    return f;
}

static __device__ void round_part(part &p)
{
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++)
            p[i][j] = as_bf16(p[i][j]);
}

static __device__ void round_scores(part &p)
{
    if (VARIANT == BF16_SCORES)
        round_part(p);
}

// One tile of queries and keys of one head of many.
static __device__ bool skips_tile(int q0, int k0)
{
    return VARIANT == SKIPPED_TILE && blockIdx.z == 1 && blockIdx.y == 1 && q0 == 3 * TILE && k0 == TILE;
}

static __device__ bool skips_row(int query)
{
    return VARIANT == SKIPPED_ROWS && query % 1000 == 100;
}

// Where the keys of a tile of queries end.
static __device__ int end_of_keys(int q0, size n)
{
    int end = n.causal ? min(n.S, q0 + TILE) : n.S;
    return VARIANT == LAST_BLOCK && end > TILE ? end - TILE : end;
}

// A query sees one key more than it may: as if it stood one further.
static __device__ int seen_from(int q0)
{
    return VARIANT == EDGE ? q0 + 1 : q0;
}

// The depth of one tensor-core instruction at a time, added to sums in fp16.
template <bool transposed> static __device__ void add_in_fp16(part &sum, const tile &X, const tile &Y)
{
    for (int k0 = 0; k0 < TILE; k0 += 16) {
        part more = {};
        for (int k = k0; k < k0 + 16; k++)
            for (int i = 0; i < SIDE; i++)
                for (int j = 0; j < SIDE; j++) {
                    float x = transposed ? X.at[k][ty() * SIDE + i] : X.at[ty() * SIDE + i][k];
                    more[i][j] = fmaf(x, Y.at[k][tx() * SIDE + j], more[i][j]);
                }
        for (int i = 0; i < SIDE; i++)
            for (int j = 0; j < SIDE; j++)
                sum[i][j] = as_fp16(sum[i][j] + more[i][j]);
    }
}

template <bool transposed> static __device__ void add_variant(part &sum, const tile &X, const tile &Y)
{
    if (VARIANT == FP16_SUMS)
        add_in_fp16<transposed>(sum, X, Y);
    else if (transposed)
        add_columns_by_columns(sum, X, Y);
    else
        add_rows_by_columns(sum, X, Y);
}

enum { CHUNKS = 2 }; // of D = 128

extern "C" __global__ void __launch_bounds__(THREADS)
forward_variant(const bf16 *Q, const bf16 *K, const bf16 *V, bf16 *O, float *LSE, int S, int D, int causal)
{
    __shared__ tile X, Y;
    size n = {S, D, causal != 0};
    long long row = ((long long)blockIdx.z * gridDim.y + blockIdx.y) * n.S;
    int q0 = blockIdx.x * TILE;
    Q += row * n.D, K += row * n.D, V += row * n.D, O += row * n.D, LSE += row;

    part sum[CHUNKS] = {};
    softmax s;
    for (int i = 0; i < SIDE; i++)
        s.most[i] = minus_infinity(), s.total[i] = 0;
    for (int k0 = 0; k0 < end_of_keys(q0, n); k0 += TILE) {
        part p;
        float kept[SIDE];
        if (skips_tile(q0, k0))
            continue;
        multiply_heads(p, X, Y, Q, q0, K, k0, n);
        round_scores(p);
        soften(s, p, kept, seen_from(q0), k0, n);
        round_part(p);
        __syncthreads();
        share(X, p);
#pragma unroll
        for (int c = 0; c < CHUNKS; c++) {
            for (int i = 0; i < SIDE; i++)
                for (int j = 0; j < SIDE; j++)
                    sum[c][i][j] *= kept[i];
            __syncthreads();
            load(Y, V, k0, c * TILE, n);
            __syncthreads();
            add_variant<false>(sum[c], X, Y);
        }
    }
    for (int i = 0; i < SIDE; i++) {
        int query = q0 + ty() * SIDE + i;
        float factor = skips_row(query) ? 0 : 1 / s.total[i];
        if (tx() == 0)
            LSE[query] = skips_row(query) ? 0 : s.most[i] + logf(s.total[i]);
        for (int c = 0; c < CHUNKS; c++)
            for (int j = 0; j < SIDE; j++)
                sum[c][i][j] *= factor;
    }
#pragma unroll
    for (int c = 0; c < CHUNKS; c++)
        store(O, q0, c * TILE, sum[c], 1, n);
}

static __device__ void differentiate_variant(part &P, part &dS, scratch &s, const head &h, int q0, int k0, size n)
{
    float scale = score_scale(n);
    __syncthreads();
    dot_rows(s.dots, h, q0, n);
    multiply_heads(P, s.X, s.Y, h.Q, q0, h.K, k0, n);
    multiply_heads(dS, s.X, s.Y, h.dO, q0, h.V, k0, n);
    round_scores(P);
    for (int i = 0; i < SIDE; i++) {
        int row = ty() * SIDE + i, query = q0 + row;
        for (int j = 0; j < SIDE; j++) {
            bool seen = sees(seen_from(query), k0 + tx() + j * LANES, n) && !skips_row(query);
            P[i][j] = seen ? expf(P[i][j] * scale - h.L[query]) : 0;
            dS[i][j] = P[i][j] * (dS[i][j] - s.dots[row]);
        }
    }
    round_part(P);
    round_part(dS);
}

template <bool transposed> static __device__ void add_variant_product(part sum[CHUNKS], const part &p, scratch &s,
                                                                      const bf16 *rows, int r0, size n)
{
    __syncthreads();
    share(s.X, p);
#pragma unroll
    for (int c = 0; c < CHUNKS; c++) {
        __syncthreads();
        load(s.Y, rows, r0, c * TILE, n);
        __syncthreads();
        add_variant<transposed>(sum[c], s.X, s.Y);
    }
}

static __device__ void variant_of_queries(scratch &s, const head &h, bf16 *dQ, int q0, size n)
{
    part sum[CHUNKS] = {}, P, dS;
    for (int k0 = 0; k0 < end_of_keys(q0, n); k0 += TILE) {
        if (skips_tile(q0, k0))
            continue;
        differentiate_variant(P, dS, s, h, q0, k0, n);
        add_variant_product<false>(sum, dS, s, h.K, k0, n);
    }
#pragma unroll
    for (int c = 0; c < CHUNKS; c++)
        store(dQ, q0, c * TILE, sum[c], score_scale(n), n);
}

static __device__ void variant_of_keys(scratch &s, const head &h, bf16 *dK, bf16 *dV, int k0, size n)
{
    part k_sum[CHUNKS] = {}, v_sum[CHUNKS] = {}, P, dS;
    for (int q0 = n.causal ? k0 : 0; q0 < n.S; q0 += TILE) {
        if (skips_tile(q0, k0) || k0 >= end_of_keys(q0, n))
            continue;
        differentiate_variant(P, dS, s, h, q0, k0, n);
        add_variant_product<true>(v_sum, P, s, h.dO, q0, n);
        add_variant_product<true>(k_sum, dS, s, h.Q, q0, n);
    }
#pragma unroll
    for (int c = 0; c < CHUNKS; c++) {
        store(dK, k0, c * TILE, k_sum[c], score_scale(n), n);
        store(dV, k0, c * TILE, v_sum[c], 1, n);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
backward_variant(const bf16 *Q, const bf16 *K, const bf16 *V, const bf16 *O, const bf16 *dO, const float *L,
                 bf16 *dQ, bf16 *dK, bf16 *dV, int S, int D, int causal)
{
    __shared__ scratch s;
    size n = {S, D, causal != 0};
    long long row = ((long long)blockIdx.z * gridDim.y + blockIdx.y) * S, at = row * D;
    head h = {Q + at, K + at, V + at, O + at, dO + at, L + row};
    variant_of_queries(s, h, dQ + at, blockIdx.x * TILE, n);
    variant_of_keys(s, h, dK + at, dV + at, blockIdx.x * TILE, n);
}
