// SPDX-License-Identifier: Apache-2.0
//
// Forward of attention, the simplest kernel that is right: one warp makes one row of O.
//
//   s[j] = scale Q[i] K[j]    LSE[i] = ln(sum over j of exp(s[j]))    O[i] = sum over j of exp(s[j] - LSE[i]) V[j]
//
// for each of the B*H heads, matrices of S x D; scale = 1 / sqrt(D).
//
// What to see here:
//   * The softmax needs its maximum before its first weight, but the row is read once: the warp keeps the
//     maximum so far, and when that moves, what was summed up is multiplied by exp(old - new).
//   * 32 keys at a time: a lane makes the score of one of them, then all 32 lanes take their V one after the
//     other by shuffles, each lane for its own columns.
//   * "defines" makes D a constant of the source, so o[] is registers and not local memory.
//   * Weights and sums stay f32; O is rounded to bf16 once.
//
// mha_fwd and mha_fwd_causal have the same text but for CAUSAL. Any S, any D that is a multiple of 8.
//
// Try it:   ptxbench eval naive.cu --problem mha_fwd --device cpu
// Next:     wgmma_fa3.cu does this on tensor cores.

/*ptxbench-launch
{
  "defines": {"HEAD": "D"},
  "launches": [
    {
      "kernel": "mha_forward",
      "grid": ["ceil_div(B*H*S, 8)"],
      "block": [256],
      "args": [{"tensor": "Q"}, {"tensor": "K"}, {"tensor": "V"}, {"tensor": "O"}, {"tensor": "LSE"},
               {"i32": "S"}, {"i32": "B*H*S"}]
    }
  ]
}
*/

#include <cmath>
#include <cuda_bf16.h>

using bf16 = __nv_bfloat16;

constexpr bool CAUSAL = false;
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

// The warp's largest x; the sum of its x.
__device__ float warp_max(float x)
{
    for (int step = 16; step; step /= 2)
        x = fmaxf(x, __shfl_xor_sync(~0u, x, step));
    return x;
}

__device__ float warp_sum(float x)
{
    for (int step = 16; step; step /= 2)
        x += __shfl_xor_sync(~0u, x, step);
    return x;
}

__global__ void mha_forward(const bf16 *Q, const bf16 *K, const bf16 *V, bf16 *O, float *LSE, int S, int rows)
{
    int query = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (query >= rows)
        return;
    int first = query / S * S, end = CAUSAL ? query + 1 : first + S; // keys of this query
    const bf16 *q = Q + (long long)query * HEAD;
    float scale = 1 / sqrtf(HEAD), top = -INFINITY, sum = 0, o[PART] = {};

    for (; first < end; first += 32) {
        int key = first + lane, count = min(32, end - first);
        float score = key < end ? scale * dot(q, K + (long long)key * HEAD) : -INFINITY;
        float now = fmaxf(top, warp_max(score)), factor = expf(top - now), weight = expf(score - now);
        top = now;
        sum = sum * factor + weight; // of this lane's keys; over the warp at the end
        for (int i = 0; i < PART; i++)
            o[i] *= factor;
        for (int j = 0; j < count; j++) {
            float w = __shfl_sync(~0u, weight, j);
            const bf16 *v = V + (long long)(first + j) * HEAD;
            for (int i = 0, d = lane; i < PART; i++, d += 32)
                if (d < HEAD)
                    o[i] += w * __bfloat162float(v[d]);
        }
    }

    sum = warp_sum(sum);
    for (int i = 0, d = lane; i < PART; i++, d += 32)
        if (d < HEAD)
            O[(long long)query * HEAD + d] = __float2bfloat16(o[i] / sum);
    if (lane == 0)
        LSE[query] = top + logf(sum);
}
