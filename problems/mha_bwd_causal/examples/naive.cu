// SPDX-License-Identifier: Apache-2.0
//
// Backward of causal attention, the simplest kernels that are right: one warp makes one row of a gradient.
//
//   P = exp(scale Q K^T - L)    delta = rowsum(dO O)    dS = P (dO V^T - delta)
//   dV = P^T dO                 dK = scale dS^T Q       dQ = scale dS K
//
// for each of the B*H heads, matrices of S x D; scale = 1 / sqrt(D). P is 0 where the key comes after
// the query.
//
// What to see here:
//   * L, the logarithm of the softmax's denominator, comes from the forward pass. With it P is one
//     exponential: no maximum, no second look at the row.
//   * dQ sums over keys, dK and dV sum over queries. Two kernels, each with the sums of its rows in
//     registers, need no atomics and give the same bits every time; the price is that both compute P.
//   * Launches of a plan run in order: the first kernel leaves delta in a buffer for the second.
//   * "defines" makes D a constant of the source, so sum[] is registers and not local memory.
//   * 32 keys (or queries) at a time: a lane makes P and dS of one of them, then all 32 lanes take
//     them one after the other by shuffles, each lane for its own columns.
//   * Sums, P and dS stay f32; each result is rounded to bf16 once.
//
// Try it:   ptxbench eval naive.cu --problem mha_bwd_causal --device cpu
// Next:     wgmma_tma.cu does all of this on tensor cores.

/*ptxbench-launch
{
  "defines": {"HEAD": "D"},
  "buffers": {"delta": {"dtype": "f32", "shape": ["B*H*S"]}},
  "launches": [
    {
      "kernel": "mha_bwd_causal_queries",
      "grid": ["ceil_div(B*H*S, 8)"],
      "block": [256],
      "args": [{"tensor": "Q"}, {"tensor": "K"}, {"tensor": "V"}, {"tensor": "O"}, {"tensor": "dO"}, {"tensor": "L"},
               {"buffer": "delta"}, {"tensor": "dQ"}, {"i32": "S"}, {"i32": "B*H*S"}]
    },
    {
      "kernel": "mha_bwd_causal_keys",
      "grid": ["ceil_div(B*H*S, 8)"],
      "block": [256],
      "args": [{"tensor": "Q"}, {"tensor": "K"}, {"tensor": "V"}, {"tensor": "dO"}, {"tensor": "L"},
               {"buffer": "delta"}, {"tensor": "dK"}, {"tensor": "dV"}, {"i32": "S"}, {"i32": "B*H*S"}]
    }
  ]
}
*/

#include <cmath>
#include <cuda_bf16.h>

using bf16 = __nv_bfloat16;

constexpr int PART = (HEAD + 31) / 32; // columns of a lane: lane, lane + 32, …
static_assert(HEAD % 8 == 0, "rows are read in chunks of 16 bytes");

// Sum of a[d] b[d] over a row.
__device__ float dot(const bf16 *a, const bf16 *b)
{
    float sum = 0;
    for (int d = 0; d < HEAD; d += 8) {
        uint4 x = *(const uint4 *)(a + d), y = *(const uint4 *)(b + d);
        for (int i = 0; i < 8; i++)
            sum += __bfloat162float(((const bf16 *)&x)[i]) * __bfloat162float(((const bf16 *)&y)[i]);
    }
    return sum;
}

// sum += weight * row, the columns of this lane.
__device__ void add(float (&sum)[PART], float weight, const bf16 *row)
{
    for (int i = 0, d = threadIdx.x % 32; i < PART; i++, d += 32)
        if (d < HEAD)
            sum[i] += weight * __bfloat162float(row[d]);
}

__device__ void store(bf16 *row, const float (&sum)[PART], float scale)
{
    for (int i = 0, d = threadIdx.x % 32; i < PART; i++, d += 32)
        if (d < HEAD)
            row[d] = __float2bfloat16(scale * sum[i]);
}

// Row `at` of a [B, H, S, D] tensor.
__device__ const bf16 *row_of(const bf16 *tensor, int at)
{
    return tensor + (int64_t)at * HEAD;
}

// One query: dQ and delta.
__global__ void mha_bwd_causal_queries(const bf16 *Q, const bf16 *K, const bf16 *V, const bf16 *O, const bf16 *dO,
                                       const float *L, float *delta, bf16 *dQ, int S, int rows)
{
    int query = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (query >= rows)
        return;
    int first = query / S * S, end = query + 1; // keys of this query: its own and those before
    const bf16 *q = row_of(Q, query), *grad = row_of(dO, query);
    float scale = 1 / sqrtf(HEAD), sum[PART] = {};
    float subtract = dot(row_of(O, query), grad);
    if (lane == 0)
        delta[query] = subtract;

    for (; first < end; first += 32) {
        int key = first + lane, count = min(32, end - first);
        float ds = 0;
        if (key < end) {
            float p = expf(scale * dot(q, row_of(K, key)) - L[query]);
            ds = p * (dot(grad, row_of(V, key)) - subtract);
        }
        for (int i = 0; i < count; i++)
            add(sum, __shfl_sync(~0u, ds, i), row_of(K, first + i));
    }
    store(dQ + (int64_t)query * HEAD, sum, scale);
}

// One key: dK and dV.
__global__ void mha_bwd_causal_keys(const bf16 *Q, const bf16 *K, const bf16 *V, const bf16 *dO, const float *L,
                                    const float *delta, bf16 *dK, bf16 *dV, int S, int rows)
{
    int key = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (key >= rows)
        return;
    int first = key, end = key / S * S + S; // queries of this key: its own and those after
    const bf16 *k = row_of(K, key), *v = row_of(V, key);
    float scale = 1 / sqrtf(HEAD), sum_k[PART] = {}, sum_v[PART] = {};

    for (; first < end; first += 32) {
        int query = first + lane, count = min(32, end - first);
        float p = 0, ds = 0;
        if (query < end) {
            p = expf(scale * dot(row_of(Q, query), k) - L[query]);
            ds = p * (dot(row_of(dO, query), v) - delta[query]);
        }
        for (int i = 0; i < count; i++) {
            add(sum_k, __shfl_sync(~0u, ds, i), row_of(Q, first + i));
            add(sum_v, __shfl_sync(~0u, p, i), row_of(dO, first + i));
        }
    }
    store(dK + (int64_t)key * HEAD, sum_k, scale);
    store(dV + (int64_t)key * HEAD, sum_v, 1);
}
