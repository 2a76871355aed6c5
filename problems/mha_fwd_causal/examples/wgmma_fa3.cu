// SPDX-License-Identifier: Apache-2.0
//
// Forward of attention on Hopper's own units, in the order of FlashAttention-3: TMA copies, wgmma
// multiplies, and the exponentials run while the tensor cores are busy with somebody else's products.
//
//   O = softmax(scale Q K^T) V    LSE = ln(rowsum(exp(scale Q K^T)))    scale = 1 / sqrt(D)
//
//   warpgroup 0    producer    one thread asks TMA for pieces of K and V, two stages each
//   warpgroup 1    consumer    rows  0 to  63 of a tile of 128 queries of one (b, h)
//   warpgroup 2    consumer    rows 64 to 127
//
// What to see here:
//   * Two overlaps. A consumer issues S' = Q K[j]^T and O += P V[j-1], and makes the weights of S' while
//     the second product runs. And the consumers take turns (named barriers): one issues its products
//     while the other computes its softmax.
//   * P never leaves the registers: sums of the first product, packed as bf16, are the operand A of the
//     second. V is [keys, D] as it lies in memory: operand B, MN-major.
//   * O is relative to the maximum so far. When that moves, O and the running sum are multiplied by
//     exp2(old - new), after the product that was relative to the old one has ended.
//   * Blocks are persistent. An item of work is two tiles of a head, the r-th and the r-th from the end:
//     under a causal mask all such pairs cost the same, so a fixed distribution is an even one. Pieces are
//     taken from the diagonal down; what lies beyond it is neither loaded nor multiplied.
//   * A consumer loads its own Q and stages its O in the same place: no other warpgroup needs to know.
//   * "defines" makes D and S constants of the source. D is a multiple of 16 up to 128, or 256: a box is
//     64 columns wide, TMA writes zeros past D and leaves them out again. S is a multiple of 128.
//
// mha_fwd and mha_fwd_causal have the same text but for CAUSAL.
//
// Measured on an H200 (2026-11-30, CUDA 13.0, the command below; B4 H48 S4096 D128) against cuDNN 9.19:
// mha_fwd 2.59 ms, 1.03 of cuDNN's speed; mha_fwd_causal 1.36 ms, 1.01.
//
// Try it:   ptxbench eval wgmma_fa3.cu --problem mha_fwd_causal --device cuda:0

/*ptxbench-launch
{
  "defines": {"HEAD": "D", "TOKENS": "S", "KEYS": "128 / ceil_div(D, 128)"},
  "tensor_maps": {
    "q": {"tensor": "Q", "dims": ["D", "B*H*S"], "strides": ["2*D"], "box": [64, 64], "swizzle": "128B"},
    "k": {"tensor": "K", "dims": ["D", "B*H*S"], "strides": ["2*D"],
          "box": [64, "128 / ceil_div(D, 128)"], "swizzle": "128B"},
    "v": {"tensor": "V", "dims": ["D", "B*H*S"], "strides": ["2*D"],
          "box": [64, "128 / ceil_div(D, 128)"], "swizzle": "128B"},
    "o": {"tensor": "O", "dims": ["D", "B*H*S"], "strides": ["2*D"], "box": [64, 64], "swizzle": "128B"}
  },
  "launches": [
    {
      "kernel": "mha_forward",
      "grid": ["min(num_sms, B*H*ceil_div(S, 256))"],
      "block": [384],
      "shared_bytes": "2048 + 128*ceil_div(D, 64)*(128 + 4*128 / ceil_div(D, 128))",
      "args": [{"tensor_map": "q"}, {"tensor_map": "k"}, {"tensor_map": "v"}, {"tensor_map": "o"},
               {"tensor": "LSE"}, {"i32": "B*H"}]
    }
  ]
}
*/

#include <cmath>
#include <cstdint>
#include <ptxbench/barrier.cuh>
#include <ptxbench/matrix.cuh>
#include <ptxbench/pipeline.cuh>
#include <ptxbench/tma.cuh>
#include <ptxbench/wgmma.cuh>
#include <ptxbench/wgmma_epilogue.cuh>
using namespace ptxbench;

constexpr bool CAUSAL = true;
constexpr int ROWS = 128, STAGES = 2, BOXES = (HEAD + 63) / 64;
constexpr int BYTES_Q = BOXES * 64 * 128, BYTES_K = BOXES * KEYS * 128; // of a consumer; of a piece
static_assert(HEAD % 16 == 0 && (HEAD <= 128 || HEAD == 256), "serves D = 16, 32 … 128 and 256");
static_assert(TOKENS % ROWS == 0, "serves S that are multiples of 128");

struct Shared {
    alignas(1024) char q[2][BYTES_Q], k[STAGES][BYTES_K], v[STAGES][BYTES_K];
    pipeline<STAGES> keys, values; // K runs one piece ahead of V
    alignas(8) uint64_t queries[2];
};
static_assert(sizeof(Shared) <= 1024 + 128 * BOXES * (128 + 4 * KEYS), "shared_bytes of the plan less 1024 to align");

// The tiles of this block.
struct Tiles {
    int heads, item = blockIdx.x, side = 0;

    // Head and first row of the next tile; false: no more.
    __device__ bool take(int &head, int &row)
    {
        constexpr int tiles = TOKENS / ROWS, pairs = (tiles + 1) / 2;
        if (item >= heads * pairs)
            return false;
        int r = item % pairs, other = tiles - 1 - r;
        head = item / pairs;
        row = (side ? r : other) * ROWS;
        if (side || r == other) { // the middle one is no pair
            side = 0;
            item += gridDim.x;
        } else {
            side = 1;
        }
        return true;
    }
};

// How many pieces of keys the queries from `row` on look at.
__device__ int pieces(int row)
{
    return (CAUSAL ? row + ROWS : TOKENS) / KEYS;
}

__device__ void load_piece(char *to, const CUtensorMap *map, uint64_t *full, int row)
{
#pragma unroll
    for (int box = 0; box < BOXES; box++)
        tma_load(to + box * KEYS * 128, map, full, {box * 64, row});
}

__device__ void produce(Shared &s, const CUtensorMap *k, const CUtensorMap *v, int heads)
{
    pipeline_stage<STAGES> at;
    Tiles tiles{heads};
    for (int head, row; tiles.take(head, row);)
        for (int j = pieces(row) - 1; j >= 0; j--, at.advance()) {
            s.keys.wait_empty(at);
            load_piece(s.k[at.index], k, s.keys.expect(at, BYTES_K), head * TOKENS + j * KEYS);
            s.values.wait_empty(at);
            load_piece(s.v[at.index], v, s.values.expect(at, BYTES_K), head * TOKENS + j * KEYS);
        }
}

// s = Q K^T, 64 x KEYS.
__device__ void multiply_keys(float (&s)[KEYS / 2], const char *q, const char *k)
{
#pragma unroll
    for (int i = 0; i < HEAD / 16; i++)
        wgmma<bf16>(s, descriptor_k_major<swizzle::b128>(q + i / 4 * 64 * 128 + i % 4 * 32),
                    descriptor_k_major<swizzle::b128>(k + i / 4 * KEYS * 128 + i % 4 * 32), i > 0);
    wgmma_commit();
}

// o = P V + (keep ? o : 0), 64 x HEAD.
__device__ void multiply_values(float (&o)[HEAD / 2], const uint32_t (&p)[KEYS / 16][4], const char *v, bool keep)
{
    uint64_t descriptor = descriptor_mn_major<swizzle::b128>(v, KEYS);
#pragma unroll
    for (int i = 0; i < KEYS / 16; i++)
        wgmma<bf16, bf16, major::mn>(o, p[i], advance(descriptor, 16 * 128 * i), keep || i > 0);
    wgmma_commit();
}

// Keys after the query weigh nothing. `ahead`: the piece's first key less the consumer's first row.
__device__ void mask(float (&s)[KEYS / 2], int ahead)
{
#pragma unroll
    for (int i = 0; i < KEYS / 2; i++)
        if (ahead + wgmma_column(i) > wgmma_row(i))
            s[i] = -INFINITY;
}

// What a thread knows of the softmax of its two rows; c = scale log2(e).
struct Softmax {
    float top[2] = {-INFINITY, -INFINITY}, sum[2] = {}, factor[2]; // sum: of this thread's keys only

    // Scores become weights; factor: what all that was summed up so far is multiplied by.
    __device__ void step(float (&s)[KEYS / 2], float c)
    {
#pragma unroll
        for (int row = 0; row < 2; row++) {
            float now = top[row], added = 0;
#pragma unroll
            for (int i = 2 * row; i < KEYS / 2; i += 4)
                now = fmaxf(now, fmaxf(s[i], s[i + 1]));
            now = fmaxf(now, __shfl_xor_sync(~0u, now, 1));
            now = fmaxf(now, __shfl_xor_sync(~0u, now, 2));
            float base = now == -INFINITY ? 0 : now * c; // nothing but masked keys so far: 0, not NaN
            factor[row] = exp2_approx(top[row] * c - base);
#pragma unroll
            for (int i = 2 * row; i < KEYS / 2; i += 4) {
                s[i] = exp2_approx(s[i] * c - base);
                s[i + 1] = exp2_approx(s[i + 1] * c - base);
                added += s[i] + s[i + 1];
            }
            top[row] = now;
            sum[row] = sum[row] * factor[row] + added;
        }
    }
};

// The sums of one product become operand A of the next.
__device__ void pack(uint32_t (&p)[KEYS / 16][4], const float (&s)[KEYS / 2])
{
#pragma unroll
    for (int i = 0; i < KEYS / 4; i++)
        p[i / 4][i % 4] = pack_bf16(s[2 * i], s[2 * i + 1]);
}

// Turns of the two consumers: a barrier for each. Who has issued its products lets the other in.
__device__ void wait_turn(int consumer)
{
    named_barrier_sync(3 + consumer, 256);
}

__device__ void end_turn(int consumer)
{
    named_barrier_arrive(3 + (consumer ^ 1), 256);
}

// O and LSE of a consumer's rows, which begin at row `row` of all.
__device__ void finish(char *staging, const CUtensorMap *map, float *lse, float (&o)[HEAD / 2], Softmax &soft,
                       float scale, int row, int consumer)
{
#pragma unroll
    for (int i = 0; i < 2; i++) {
        float sum = soft.sum[i];
        sum += __shfl_xor_sync(~0u, sum, 1);
        sum += __shfl_xor_sync(~0u, sum, 2);
        if (threadIdx.x % 4 == 0)
            lse[row + wgmma_row(2 * i)] = soft.top[i] * scale + logf(sum);
        float inverse = 1 / sum;
#pragma unroll
        for (int j = 2 * i; j < HEAD / 2; j += 4) {
            o[j] *= inverse;
            o[j + 1] *= inverse;
        }
    }
    named_barrier_sync(1 + consumer, 128); // all four warps have multiplied with the Q that lies here
    wgmma_stage_bf16(staging, 64, 0, o);
    fence_proxy_async_shared();
    named_barrier_sync(1 + consumer, 128);
    if (threadIdx.x % 128 == 0) {
        for (int box = 0; box < BOXES; box++)
            tma_store(map, staging + box * 64 * 128, {box * 64, row});
        tma_commit();
    }
}

__device__ void consume(Shared &s, const CUtensorMap *map_q, const CUtensorMap *map_o, float *lse, int heads,
                        int consumer)
{
    const float scale = 1 / sqrtf(HEAD), c = scale * 1.44269504f;
    bool leader = threadIdx.x % 128 == 0;
    pipeline_stage<STAGES> k, v;
    uint32_t parity = 0;
    float scores[KEYS / 2], o[HEAD / 2];
    uint32_t p[KEYS / 16][4];
    char *q = s.q[consumer];
    Tiles tiles{heads};
    if (consumer == 1)
        end_turn(1); // the first turn is consumer 0's

    for (int head, row; tiles.take(head, row); parity ^= 1) {
        int first = row + consumer * 64; // query of this consumer, in its head
        if (leader) {
            tma_wait_read<0>(); // the O staged there before has left
            mbarrier_arrive_expect(&s.queries[consumer], BYTES_Q);
            for (int box = 0; box < BOXES; box++)
                tma_load(q + box * 64 * 128, map_q, &s.queries[consumer], {box * 64, head * TOKENS + first});
        }
        mbarrier_wait(&s.queries[consumer], parity);

        Softmax soft;
        int key = (pieces(row) - 1) * KEYS;
        s.keys.wait_full(k);
        wgmma_fence();
        multiply_keys(scores, q, s.k[k.index]);
        wgmma_wait<0>();
        wgmma_hold(scores);
        if (leader)
            s.keys.release(k);
        k.advance();
        if (CAUSAL)
            mask(scores, key - first);
        soft.step(scores, c);
        pack(p, scores);

        bool keep = false;
        for (key -= KEYS; key >= 0; key -= KEYS, keep = true) {
            s.keys.wait_full(k);
            s.values.wait_full(v); // asked for before that K
            wait_turn(consumer);
            wgmma_fence();
            multiply_keys(scores, q, s.k[k.index]);
            multiply_values(o, p, s.v[v.index], keep);
            end_turn(consumer);
            wgmma_wait<1>(); // the scores
            wgmma_hold(scores);
            if (leader)
                s.keys.release(k);
            k.advance();
            if (CAUSAL && key + KEYS > first + 1)
                mask(scores, key - first);
            soft.step(scores, c);
            wgmma_wait<0>(); // the values
            wgmma_hold(o);
            if (leader)
                s.values.release(v);
            v.advance();
#pragma unroll
            for (int i = 0; i < HEAD / 2; i++)
                o[i] *= soft.factor[i / 2 % 2];
            pack(p, scores);
        }
        s.values.wait_full(v);
        wgmma_fence();
        multiply_values(o, p, s.v[v.index], keep);
        wgmma_wait<0>();
        wgmma_hold(o);
        if (leader)
            s.values.release(v);
        v.advance();
        finish(q, map_o, lse, o, soft, scale, head * TOKENS + first, consumer);
    }
    if (consumer == 0)
        wait_turn(0); // consumer 1's last arrival: no barrier is left half full
    if (leader)
        tma_wait<0>(); // written, before the block may end
}

__global__ __launch_bounds__(384, 1) void mha_forward(const __grid_constant__ CUtensorMap q,
                                                      const __grid_constant__ CUtensorMap k,
                                                      const __grid_constant__ CUtensorMap v,
                                                      const __grid_constant__ CUtensorMap o, float *lse, int heads)
{
    extern __shared__ char raw[];
    Shared &s = *(Shared *)align_up<1024>(raw);
    if (threadIdx.x == 0) {
        for (int i = 0; i < 2; i++)
            mbarrier_init(&s.queries[i], 1);
        s.keys.init(2); // one arrival of each consumer
        s.values.init(2);
    }
    __syncthreads();

    if (threadIdx.x / 128 == 0) {
        setmaxnreg_dec<24>();
        if (threadIdx.x == 0)
            produce(s, &k, &v, heads);
    } else {
        setmaxnreg_inc<240>();
        consume(s, &q, &o, lse, heads, threadIdx.x / 128 - 1);
    }
}
