// SPDX-License-Identifier: Apache-2.0
//
// The oracle of the attention problems, forward and backward, causal or not: every product and sum in
// fp32, an online softmax over tiles of keys, no matrix of S x S anywhere. Submissions are held against
// it; it is never timed and never the baseline. Device code like any other, so that the same file serves
// a GPU and the CPU device. oracle.ptx beside each problem.json is this file compiled;
// tests/unit/oracle_test.c says how, tests/unit/attention_test.c holds it against a model in double.
//
// Tensors are [B, H, S, D], contiguous; D is a multiple of 8, at most 256 forward and 128 backward. A CTA
// of 256 threads makes 64 rows of one head. Everything is a product of two tiles of 64 x 64 in shared
// memory; each thread makes 4 x 4 of it in registers. Errors are of the order of 1e-6: three digits
// less than what bf16 can show.

typedef unsigned short bf16;

enum { TILE = 64, PITCH = TILE + 4, SIDE = 4, LANES = TILE / SIDE, THREADS = LANES * LANES };
enum { FORWARD_CHUNKS = 4, BACKWARD_CHUNKS = 2 }; // of TILE columns of D

struct tile {
    float at[TILE][PITCH];
};

struct size {
    int S, D;
    bool causal;
};

// Each thread's part of a product: rows 4 ty .. 4 ty + 3, and columns 4 tx .. or tx, tx + 16, ..
typedef float part[SIDE][SIDE];

static __device__ int tx()
{
    return threadIdx.x % LANES;
}

static __device__ int ty()
{
    return threadIdx.x / LANES;
}

static __device__ float4 four(const float *p)
{
    return *(const float4 *)p;
}

static __device__ float nth(float4 v, int i)
{
    return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w;
}

// Both halves of a word that holds two bf16.
static __device__ float low(unsigned word)
{
    return __uint_as_float(word << 16);
}

static __device__ float high(unsigned word)
{
    return __uint_as_float(word & 0xffff0000u);
}

static __device__ void write(float *out, float v)
{
    *out = v;
}

static __device__ void write(bf16 *out, float v)
{
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(*out) : "f"(v));
}

static __device__ float minus_infinity()
{
    return __uint_as_float(0xff800000u);
}

static __device__ float score_scale(size n)
{
    return 1.0f / sqrtf((float)n.D);
}

// A tile of a head's rows, zero beyond its edges.
static __device__ void load(tile &t, const bf16 *head, int row0, int column0, size n)
{
    for (int i = threadIdx.x; i < TILE * TILE / 8; i += THREADS) {
        int row = i / (TILE / 8), column = i % (TILE / 8) * 8;
        uint4 v = make_uint4(0, 0, 0, 0);
        if (row0 + row < n.S && column0 + column < n.D)
            v = *(const uint4 *)(head + (long long)(row0 + row) * n.D + column0 + column);
        float4 *to = (float4 *)&t.at[row][column];
        to[0] = make_float4(low(v.x), high(v.x), low(v.y), high(v.y));
        to[1] = make_float4(low(v.z), high(v.z), low(v.w), high(v.w));
    }
}

// sum += X Y^T; columns tx, tx + 16, ..
static __device__ void add_rows_by_rows(part &sum, const tile &X, const tile &Y)
{
#pragma unroll 2
    for (int k = 0; k < TILE; k += 4) {
        float4 x[SIDE], y[SIDE];
        for (int i = 0; i < SIDE; i++) {
            x[i] = four(&X.at[ty() * SIDE + i][k]);
            y[i] = four(&Y.at[tx() + i * LANES][k]);
        }
        for (int i = 0; i < SIDE; i++)
            for (int j = 0; j < SIDE; j++)
                for (int e = 0; e < 4; e++)
                    sum[i][j] = fmaf(nth(x[i], e), nth(y[j], e), sum[i][j]);
    }
}

// sum += X Y; columns 4 tx ..
static __device__ void add_rows_by_columns(part &sum, const tile &X, const tile &Y)
{
#pragma unroll 2
    for (int k = 0; k < TILE; k += 4) {
        float4 x[SIDE];
        for (int i = 0; i < SIDE; i++)
            x[i] = four(&X.at[ty() * SIDE + i][k]);
        for (int e = 0; e < 4; e++) {
            float4 y = four(&Y.at[k + e][tx() * SIDE]);
            for (int i = 0; i < SIDE; i++)
                for (int j = 0; j < SIDE; j++)
                    sum[i][j] = fmaf(nth(x[i], e), nth(y, j), sum[i][j]);
        }
    }
}

// sum += X^T Y; columns 4 tx ..
static __device__ void add_columns_by_columns(part &sum, const tile &X, const tile &Y)
{
#pragma unroll 8
    for (int k = 0; k < TILE; k++) {
        float4 x = four(&X.at[k][ty() * SIDE]), y = four(&Y.at[k][tx() * SIDE]);
        for (int i = 0; i < SIDE; i++)
            for (int j = 0; j < SIDE; j++)
                sum[i][j] = fmaf(nth(x, i), nth(y, j), sum[i][j]);
    }
}

// sum = A B^T over all of D, for rows a0 .. of A and b0 .. of B. X and Y are scratch.
static __device__ void multiply_heads(part &sum, tile &X, tile &Y, const bf16 *A, int a0, const bf16 *B,
                                      int b0, size n)
{
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++)
            sum[i][j] = 0;
    for (int d = 0; d < n.D; d += TILE) {
        __syncthreads();
        load(X, A, a0, d, n);
        load(Y, B, b0, d, n);
        __syncthreads();
        add_rows_by_rows(sum, X, Y);
    }
}

// Writes a part with columns tx, tx + 16, .. to shared memory.
static __device__ void share(tile &t, const part &p)
{
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++)
            t.at[ty() * SIDE + i][tx() + j * LANES] = p[i][j];
}

// Writes a part with columns 4 tx .., times a factor, to a head.
template <class T> static __device__ void store(T *head, int row0, int column0, const part &p, float factor,
                                                size n)
{
    int row = row0 + ty() * SIDE, column = column0 + tx() * SIDE;
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++)
            if (row + i < n.S && column + j < n.D)
                write(head + (long long)(row + i) * n.D + column + j, p[i][j] * factor);
}

static __device__ bool sees(int query, int key, size n)
{
    return key < n.S && (!n.causal || key <= query);
}

static __device__ float max_of_row(float v)
{
    for (int lane = LANES / 2; lane; lane /= 2)
        v = fmaxf(v, __shfl_xor_sync(~0u, v, lane));
    return v;
}

static __device__ float sum_of_row(float v)
{
    for (int lane = LANES / 2; lane; lane /= 2)
        v += __shfl_xor_sync(~0u, v, lane);
    return v;
}

// ---- forward ----

// The first key of every query is seen, so `most` is finite after the first tile.
struct softmax {
    float most[SIDE], total[SIDE]; // of this thread's rows: largest score, sum of exp(score - most)
};

// Scores to exp(score - most), in place. kept: what earlier sums are worth under the new `most`.
static __device__ void soften(softmax &s, part &scores, float kept[SIDE], int q0, int k0, size n)
{
    float scale = score_scale(n);
    for (int i = 0; i < SIDE; i++) {
        float most = s.most[i], total = 0;
        for (int j = 0; j < SIDE; j++) {
            bool seen = sees(q0 + ty() * SIDE + i, k0 + tx() + j * LANES, n);
            scores[i][j] = seen ? scores[i][j] * scale : minus_infinity();
            most = fmaxf(most, scores[i][j]);
        }
        most = max_of_row(most);
        for (int j = 0; j < SIDE; j++)
            total += scores[i][j] = expf(scores[i][j] - most);
        kept[i] = expf(s.most[i] - most);
        s.total[i] = s.total[i] * kept[i] + sum_of_row(total);
        s.most[i] = most;
    }
}

template <class T> static __device__ void forward(const bf16 *Q, const bf16 *K, const bf16 *V, T *O,
                                                  float *LSE, size n)
{
    __shared__ tile X, Y;
    long long row = ((long long)blockIdx.z * gridDim.y + blockIdx.y) * n.S;
    int q0 = blockIdx.x * TILE, end = n.causal ? min(n.S, q0 + TILE) : n.S;
    Q += row * n.D, K += row * n.D, V += row * n.D, O += row * n.D, LSE += row;

    part sum[FORWARD_CHUNKS] = {};
    softmax s;
    for (int i = 0; i < SIDE; i++)
        s.most[i] = minus_infinity(), s.total[i] = 0;
    for (int k0 = 0; k0 < end; k0 += TILE) {
        part p;
        float kept[SIDE];
        multiply_heads(p, X, Y, Q, q0, K, k0, n);
        soften(s, p, kept, q0, k0, n);
        __syncthreads();
        share(X, p);
#pragma unroll
        for (int c = 0; c < FORWARD_CHUNKS; c++) {
            if (c * TILE >= n.D)
                break;
            for (int i = 0; i < SIDE; i++)
                for (int j = 0; j < SIDE; j++)
                    sum[c][i][j] *= kept[i];
            __syncthreads();
            load(Y, V, k0, c * TILE, n);
            __syncthreads();
            add_rows_by_columns(sum[c], X, Y);
        }
    }

    for (int i = 0; i < SIDE; i++) {
        int query = q0 + ty() * SIDE + i;
        if (tx() == 0 && query < n.S)
            LSE[query] = s.most[i] + logf(s.total[i]);
        for (int c = 0; c < FORWARD_CHUNKS; c++)
            for (int j = 0; j < SIDE; j++)
                sum[c][i][j] /= s.total[i];
    }
#pragma unroll
    for (int c = 0; c < FORWARD_CHUNKS; c++)
        store(O, q0, c * TILE, sum[c], 1, n);
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
attention_forward(const bf16 *Q, const bf16 *K, const bf16 *V, float *O, float *LSE, int S, int D, int causal)
{
    forward(Q, K, V, O, LSE, {S, D, causal != 0});
}

// The same with O rounded: the backward's inputs.
extern "C" __global__ void __launch_bounds__(THREADS, 2)
attention_derive(const bf16 *Q, const bf16 *K, const bf16 *V, bf16 *O, float *L, int S, int D, int causal)
{
    forward(Q, K, V, O, L, {S, D, causal != 0});
}

// ---- backward: a function of all six inputs, O and L as they are given ----

struct head {
    const bf16 *Q, *K, *V, *O, *dO;
    const float *L;
};

struct scratch {
    tile X, Y;
    float dots[TILE]; // of each row: dO . O
};

static __device__ void dot_rows(float dots[TILE], const head &h, int q0, size n)
{
    int row = threadIdx.x / 4, first = threadIdx.x % 4 * 8;
    float sum = 0;
    for (int d = first; d < n.D && q0 + row < n.S; d += 32) {
        long long at = (long long)(q0 + row) * n.D + d;
        uint4 a = *(const uint4 *)(h.O + at), b = *(const uint4 *)(h.dO + at);
        unsigned x[] = {a.x, a.y, a.z, a.w}, y[] = {b.x, b.y, b.z, b.w};
        for (int i = 0; i < 4; i++)
            sum = fmaf(high(x[i]), high(y[i]), fmaf(low(x[i]), low(y[i]), sum));
    }
    sum += __shfl_xor_sync(~0u, sum, 1);
    sum += __shfl_xor_sync(~0u, sum, 2);
    if (threadIdx.x % 4 == 0)
        dots[row] = sum;
}

// P = exp(score - L) and dS = P (dP - dO . O) of a tile of queries and one of keys.
static __device__ void differentiate(part &P, part &dS, scratch &s, const head &h, int q0, int k0, size n)
{
    float scale = score_scale(n);
    __syncthreads();
    dot_rows(s.dots, h, q0, n);
    multiply_heads(P, s.X, s.Y, h.Q, q0, h.K, k0, n);
    multiply_heads(dS, s.X, s.Y, h.dO, q0, h.V, k0, n);
    for (int i = 0; i < SIDE; i++) {
        int row = ty() * SIDE + i, query = q0 + row;
        float L = query < n.S ? h.L[query] : 0;
        for (int j = 0; j < SIDE; j++) {
            bool seen = query < n.S && sees(query, k0 + tx() + j * LANES, n);
            P[i][j] = seen ? expf(P[i][j] * scale - L) : 0;
            dS[i][j] = P[i][j] * (dS[i][j] - s.dots[row]);
        }
    }
}

// sums += the tile p, or its transpose, times the rows r0 .. of `rows`.
template <bool transposed> static __device__ void add_product(part sum[BACKWARD_CHUNKS], const part &p,
                                                              scratch &s, const bf16 *rows, int r0, size n)
{
    __syncthreads();
    share(s.X, p);
#pragma unroll
    for (int c = 0; c < BACKWARD_CHUNKS; c++) {
        if (c * TILE >= n.D)
            break;
        __syncthreads();
        load(s.Y, rows, r0, c * TILE, n);
        __syncthreads();
        if (transposed)
            add_columns_by_columns(sum[c], s.X, s.Y);
        else
            add_rows_by_columns(sum[c], s.X, s.Y);
    }
}

static __device__ void backward_of_queries(scratch &s, const head &h, float *dQ, int q0, size n)
{
    part sum[BACKWARD_CHUNKS] = {}, P, dS;
    for (int k0 = 0; k0 < (n.causal ? min(n.S, q0 + TILE) : n.S); k0 += TILE) {
        differentiate(P, dS, s, h, q0, k0, n);
        add_product<false>(sum, dS, s, h.K, k0, n);
    }
#pragma unroll
    for (int c = 0; c < BACKWARD_CHUNKS; c++)
        store(dQ, q0, c * TILE, sum[c], score_scale(n), n);
}

static __device__ void backward_of_keys(scratch &s, const head &h, float *dK, float *dV, int k0, size n)
{
    part k_sum[BACKWARD_CHUNKS] = {}, v_sum[BACKWARD_CHUNKS] = {}, P, dS;
    for (int q0 = n.causal ? k0 : 0; q0 < n.S; q0 += TILE) {
        differentiate(P, dS, s, h, q0, k0, n);
        add_product<true>(v_sum, P, s, h.dO, q0, n);
        add_product<true>(k_sum, dS, s, h.Q, q0, n);
    }
#pragma unroll
    for (int c = 0; c < BACKWARD_CHUNKS; c++) {
        store(dK, k0, c * TILE, k_sum[c], score_scale(n), n);
        store(dV, k0, c * TILE, v_sum[c], 1, n);
    }
}

// Each CTA makes the same 64 rows of dQ, dK and dV: under a causal mask one has little to do where the
// others have much.
extern "C" __global__ void __launch_bounds__(THREADS, 2)
attention_backward(const bf16 *Q, const bf16 *K, const bf16 *V, const bf16 *O, const bf16 *dO, const float *L,
                   float *dQ, float *dK, float *dV, int S, int D, int causal)
{
    __shared__ scratch s;
    size n = {S, D, causal != 0};
    long long row = ((long long)blockIdx.z * gridDim.y + blockIdx.y) * S, at = row * D;
    head h = {Q + at, K + at, V + at, O + at, dO + at, L + row};
    backward_of_queries(s, h, dQ + at, blockIdx.x * TILE, n);
    backward_of_keys(s, h, dK + at, dV + at, blockIdx.x * TILE, n);
}
