// SPDX-License-Identifier: Apache-2.0
// What attention does between its matrix products, where a library computes only these: see
// evaluator/cuda/baseline_composed.c. One block per row of scores, of THREADS threads. Compiled into
// baseline_composed.ptx beside this file, so that a confined process needs no compiler.

enum { THREADS = 256, WARPS = THREADS / 32 };

typedef unsigned short bf16;

static __device__ float widen(bf16 x)
{
    return __uint_as_float((unsigned)x << 16);
}

static __device__ bf16 rounded(float x)
{
    unsigned bits = __float_as_uint(x);
    return (bf16)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static __device__ float sum_of(float x)
{
    __shared__ float parts[WARPS];
    for (int step = 16; step; step /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, step);
    __syncthreads(); /* the sum before is read */
    if (threadIdx.x % 32 == 0)
        parts[threadIdx.x / 32] = x;
    __syncthreads();
    x = 0;
    for (int i = 0; i < WARPS; i++)
        x += parts[i];
    return x;
}

static __device__ float largest_of(float x)
{
    __shared__ float parts[WARPS];
    for (int step = 16; step; step /= 2)
        x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, step));
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        parts[threadIdx.x / 32] = x;
    __syncthreads();
    for (int i = 0; i < WARPS; i++)
        x = fmaxf(x, parts[i]);
    return x;
}

// scores -> softmax(scale scores) and its logarithm; rows of one head after another
extern "C" __global__ void __launch_bounds__(THREADS)
attention_weights(const float *scores, bf16 *weights, float *lse, int s, float scale, int causal)
{
    size_t row = blockIdx.x;
    int seen = causal ? (int)(row % s) + 1 : s;
    const float *x = scores + row * s;
    float top = __int_as_float(0xff800000), sum = 0; // the least of all
    for (int j = threadIdx.x; j < seen; j += THREADS)
        top = fmaxf(top, x[j]);
    top = largest_of(top);
    for (int j = threadIdx.x; j < seen; j += THREADS)
        sum += expf(scale * (x[j] - top));
    sum = sum_of(sum);
    for (int j = threadIdx.x; j < s; j += THREADS)
        weights[row * s + j] = j < seen ? rounded(expf(scale * (x[j] - top)) / sum) : 0;
    if (threadIdx.x == 0)
        lse[row] = scale * top + logf(sum);
}

// scores and the gradient of the weights -> weights and the gradient of the scores
extern "C" __global__ void __launch_bounds__(THREADS)
attention_gradients(const float *scores, const float *d_weights, const bf16 *o, const bf16 *d_o,
                    const float *lse, bf16 *weights, bf16 *d_scores, int s, int d, float scale,
                    int causal)
{
    size_t row = blockIdx.x;
    int seen = causal ? (int)(row % s) + 1 : s;
    float mean = 0;
    for (int c = threadIdx.x; c < d; c += THREADS)
        mean += widen(o[row * d + c]) * widen(d_o[row * d + c]);
    mean = sum_of(mean);
    for (int j = threadIdx.x; j < s; j += THREADS) {
        size_t at = row * s + j;
        float w = j < seen ? expf(scale * scores[at] - lse[row]) : 0;
        weights[at] = rounded(w);
        d_scores[at] = rounded(j < seen ? w * (d_weights[at] - mean) * scale : 0);
    }
}
