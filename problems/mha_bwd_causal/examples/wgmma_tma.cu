// SPDX-License-Identifier: Apache-2.0
//
// Backward of causal attention on Hopper's own units: TMA copies, wgmma multiplies, and what the exponentials
// cost disappears behind the products of the other warpgroup.
//
//   P = exp(scale Q K^T - L)    delta = rowsum(dO O)    dS = P (dO V^T - delta)
//   dV = P^T dO                 dK = scale dS^T Q       dQ = scale dS K
//
//   launch 1    prepare    L log2(e) and delta of every row, 16 lanes a row
//   launch 2    keys       a block owns 128 keys (K, V), queries (Q, dO) pass by in pieces of 64: dK, dV
//   launch 3    queries    a block owns 128 queries (Q, dO), keys (K, V) pass by in pieces of 64: dQ
//
//   In both of the last two: warpgroup 0 is the producer, warpgroups 1 and 2 own 64 rows each.
//
// What to see here:
//   * dK and dV sum over queries, dQ over keys. One kernel for all three would have to add to dQ with
//     atomics, in an order that changes from run to run. Two kernels recompute P and dS (7 products
//     instead of 5), keep every sum in registers, and give the same bits each time.
//   * A warpgroup's sums have the layout of its A operand: P and dS go from one product into the next
//     without leaving the registers, only rounded to bf16. That is why `keys` works with S^T = K Q^T and
//     dP^T = V dO^T, keys as rows: P^T and dS^T come out as what dV and dK need on the left.
//   * The second factor of those products, dO, Q and K, has its sum index along the rows: the same tiles
//     in shared memory serve once as K-major and once as MN-major operands. Nothing is transposed.
//   * exp2 of the scores runs while dP is being multiplied, dS is made while dV is; gaps that remain are
//     filled by the other warpgroup. Sums that ordinary code reads are started and awaited in one turn of
//     the loop: carried over to the next, ptxas would run every wgmma by itself (C7512, C7514).
//   * Causal: a key counts for its own query and later ones. Pieces are 64 x 64, so each warpgroup masks
//     exactly one, the one with the diagonal: its first in `keys`, its last in `queries`. What lies beyond is
//     skipped or not even loaded. Blocks differ in work by a factor of S / 128: the longest start first.
//   * D = 96 costs nothing extra in the source: TMA fills the second box up with zeros on the way in and
//     leaves out what is past the edge on the way out.
//   * S must be a multiple of 128. All workloads are.
//
// Measured on an H200 (2026-11-30, CUDA 13.0, the command below; B4 H48 S4096 D128): 5.06 ms, 0.885
// [0.882, 0.892] of cuDNN 9.19.
//
// Try it:   ptxbench eval wgmma_tma.cu --problem mha_bwd_causal --device cuda:0

/*ptxbench-launch
{
  "buffers": {
    "lse2": {"dtype": "f32", "shape": ["B*H*S"]},
    "delta": {"dtype": "f32", "shape": ["B*H*S"]}
  },
  "tensor_maps": {
    "q": {"tensor": "Q", "dims": ["D", "B*H*S"], "strides": ["2*D"], "box": [64, 64], "swizzle": "128B"},
    "k": {"tensor": "K", "dims": ["D", "B*H*S"], "strides": ["2*D"], "box": [64, 64], "swizzle": "128B"},
    "v": {"tensor": "V", "dims": ["D", "B*H*S"], "strides": ["2*D"], "box": [64, 64], "swizzle": "128B"},
    "grad": {"tensor": "dO", "dims": ["D", "B*H*S"], "strides": ["2*D"], "box": [64, 64], "swizzle": "128B"},
    "dq": {"tensor": "dQ", "dims": ["D", "B*H*S"], "strides": ["2*D"], "box": [64, 64], "swizzle": "128B"},
    "dk": {"tensor": "dK", "dims": ["D", "B*H*S"], "strides": ["2*D"], "box": [64, 64], "swizzle": "128B"},
    "dv": {"tensor": "dV", "dims": ["D", "B*H*S"], "strides": ["2*D"], "box": [64, 64], "swizzle": "128B"}
  },
  "launches": [
    {
      "kernel": "prepare<{D}>",
      "grid": ["ceil_div(B*H*S, 16)"],
      "block": [256],
      "args": [{"tensor": "O"}, {"tensor": "dO"}, {"tensor": "L"}, {"buffer": "lse2"}, {"buffer": "delta"},
               {"i32": "B*H*S"}]
    },
    {
      "kernel": "keys<{D}>",
      "grid": ["S / 128", "B*H"],
      "block": [384],
      "shared_bytes": 200832,
      "args": [{"tensor_map": "q"}, {"tensor_map": "k"}, {"tensor_map": "v"}, {"tensor_map": "grad"},
               {"tensor_map": "dk"}, {"tensor_map": "dv"}, {"buffer": "lse2"}, {"buffer": "delta"}, {"i32": "S"}]
    },
    {
      "kernel": "queries<{D}>",
      "grid": ["S / 128", "B*H"],
      "block": [384],
      "shared_bytes": 200832,
      "args": [{"tensor_map": "q"}, {"tensor_map": "k"}, {"tensor_map": "v"}, {"tensor_map": "grad"},
               {"tensor_map": "dq"}, {"buffer": "lse2"}, {"buffer": "delta"}, {"i32": "S"}]
    }
  ]
}
*/

#include <cmath>
#include <cuda_bf16.h>
#include <ptxbench/barrier.cuh>
#include <ptxbench/pipeline.cuh>
#include <ptxbench/tma.cuh>
#include <ptxbench/wgmma.cuh>
#include <ptxbench/wgmma_epilogue.cuh>
using namespace ptxbench;

constexpr bool CAUSAL = true;
constexpr int PIECE = 64, BLOCK = 2 * PIECE, STAGES = 4; // rows of a piece, of a block
constexpr int ROWS_BYTES = PIECE * 4;                    // a float for each row of a piece
constexpr float LOG2_E = 1.44269504f;

// 64 rows of a matrix as TMA writes them: boxes of 64 columns, one behind the other.
template <int D> struct Tile {
    static constexpr int BOXES = (D + 63) / 64, BYTES = BOXES * PIECE * 128;
    alignas(1024) char box[BOXES][PIECE * 128];

    __device__ void load(const CUtensorMap *map, uint64_t *bar, int row)
    {
        for (int i = 0; i < BOXES; i++)
            tma_load(box[i], map, bar, {64 * i, row});
    }

    __device__ void store(const CUtensorMap *map, int row)
    {
        for (int i = 0; i < BOXES; i++)
            tma_store(map, box[i], {64 * i, row});
    }

    // As an operand whose columns, or whose rows, are the index that a product sums over: 16 of them from 16 i on.
    __device__ uint64_t along_columns(int i) const
    {
        return advance(descriptor_k_major<swizzle::b128>(box[0]), i / 4 * PIECE * 128 + i % 4 * 32);
    }

    __device__ uint64_t along_rows(int i) const
    {
        return advance(descriptor_mn_major<swizzle::b128>(box[0], PIECE), i * 16 * 128);
    }
};

// keys: a pair is K and V or, passing by, Q and dO. queries: the other way round.
template <int D> struct Pair {
    Tile<D> x, y;
};

template <int D> struct Shared {
    Pair<D> own[2], stage[STAGES]; // own: of each consumer
    alignas(16) float lse2[STAGES][PIECE], delta[STAGES][PIECE]; // of passing queries
    pipeline<STAGES> ring;
    uint64_t owned;
};
static_assert(sizeof(Shared<128>) + 1024 <= 200832, "shared_bytes of the plan, with room to align");

// ---- launch 1 ----

template <int D>
__global__ void prepare(const uint4 *O, const uint4 *dO, const float *L, float *lse2, float *delta, int rows)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 16, lane = threadIdx.x % 16;
    float sum = 0;
    if (row < rows && lane < D / 8) { // 8 elements each
        uint4 o = O[(int64_t)row * (D / 8) + lane], grad = dO[(int64_t)row * (D / 8) + lane];
        for (int i = 0; i < 8; i++)
            sum += __bfloat162float(((__nv_bfloat16 *)&o)[i]) * __bfloat162float(((__nv_bfloat16 *)&grad)[i]);
    }
    for (int step = 8; step; step /= 2)
        sum += __shfl_xor_sync(~0u, sum, step);
    if (row < rows && lane == 0) {
        lse2[row] = L[row] * LOG2_E;
        delta[row] = sum;
    }
}

// ---- what the other two share ----

// d = A B^T: 64 x 64 from two tiles of 64 x D.
template <int D> __device__ void multiply(float (&d)[32], const Tile<D> &a, const Tile<D> &b)
{
#pragma unroll
    for (int i = 0; i < D / 16; i++)
        wgmma<bf16>(d, a.along_columns(i), b.along_columns(i), i > 0);
    wgmma_commit();
}

// d = A B + (keep ? d : 0): 64 x D from 64 x 64 in registers and a tile.
template <int D>
__device__ void multiply_add(float (&d)[D / 2], const uint32_t (&a)[4][4], const Tile<D> &b, bool keep)
{
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < 4; i++)
        wgmma<bf16, bf16, major::mn>(d, a[i], b.along_rows(i), keep || i > 0);
    wgmma_commit();
}

// 64 x 64 sums as A of the next product.
__device__ void round_to_operand(uint32_t (&a)[4][4], const float (&d)[32])
{
#pragma unroll
    for (int i = 0; i < 16; i++)
        a[i / 4][i % 4] = pack_bf16(d[2 * i], d[2 * i + 1]);
}

// The two tiles of each consumer, then pieces `from` to `to` of the head; with the rows of queries if there are any.
template <int D>
__device__ void produce(Shared<D> &s, const CUtensorMap *own_x, const CUtensorMap *own_y, int own, const CUtensorMap *x,
                        const CUtensorMap *y, int from, int to, const float *lse2, const float *delta)
{
    mbarrier_arrive_expect(&s.owned, 4 * Tile<D>::BYTES);
    for (int i = 0; i < 2; i++) {
        s.own[i].x.load(own_x, &s.owned, own + i * PIECE);
        s.own[i].y.load(own_y, &s.owned, own + i * PIECE);
    }
    pipeline_stage<STAGES> at;
#pragma unroll 1
    for (int row = from; row < to; row += PIECE, at.advance()) {
        s.ring.wait_empty(at);
        uint64_t *full = s.ring.expect(at, 2 * Tile<D>::BYTES + (lse2 ? 2 * ROWS_BYTES : 0));
        s.stage[at.index].x.load(x, full, row);
        s.stage[at.index].y.load(y, full, row);
        if (lse2) {
            bulk_load(s.lse2[at.index], lse2 + row, ROWS_BYTES, full);
            bulk_load(s.delta[at.index], delta + row, ROWS_BYTES, full);
        }
    }
}

// Frees the stage before `at`.
__device__ void release_last(pipeline<STAGES> &ring, const pipeline_stage<STAGES> &at)
{
    if (threadIdx.x % 128 == 0)
        mbarrier_arrive(&ring.empty[(at.index + STAGES - 1) % STAGES]);
}

// scale d as bf16 to rows `row` … + 63 of a gradient, through a tile that nobody reads any more.
template <int D>
__device__ void store(Tile<D> &tile, const CUtensorMap *map, float (&d)[D / 2], float scale, int row, int consumer)
{
#pragma unroll
    for (int i = 0; i < D / 2; i++)
        d[i] *= scale;
    wgmma_stage_bf16(tile.box[0], PIECE, 0, d);
    fence_proxy_async_shared();
    named_barrier_sync(1 + consumer, 128);
    if (threadIdx.x % 128 == 0) {
        tile.store(map, row);
        tma_commit();
    }
}

template <int D> __device__ Shared<D> &prepare_shared(char *raw)
{
    Shared<D> &s = *(Shared<D> *)align_up<1024>(raw);
    if (threadIdx.x == 0) {
        mbarrier_init(&s.owned, 1);
        s.ring.init(2);
    }
    __syncthreads();
    return s;
}

// ---- launch 2: dK and dV ----

// One piece of queries; the first one holds the diagonal. Leaves its last two products under way.
template <bool First, int D>
__device__ void take_queries(Shared<D> &s, const Pair<D> &own, pipeline_stage<STAGES> &at, float (&dk)[D / 2],
                             float (&dv)[D / 2])
{
    const float c = LOG2_E / sqrtf(D);
    const Pair<D> &piece = s.stage[at.index];
    float p[32], dp[32]; // transposed: 64 keys x 64 queries
    uint32_t operand_p[4][4], operand_ds[4][4];

    s.ring.wait_full(at);
    if (!First) {
        wgmma_wait<0>(); // the piece before: the registers of its operands are needed now
    }
    wgmma_fence();
    multiply(p, own.x, piece.x);
    if (!First)
        release_last(s.ring, at);
    multiply(dp, own.y, piece.y);
    wgmma_wait<1>(); // the scores; dP goes on
    wgmma_hold(p);
#pragma unroll
    for (int i = 0; i < 32; i += 4) { // two keys (i and i + 2) and two queries
        float2 l = *(const float2 *)&s.lse2[at.index][wgmma_column(i)];
#pragma unroll
        for (int j = i; j < i + 4; j++) {
            p[j] = exp2_approx(p[j] * c - (j % 2 ? l.y : l.x));
            if (CAUSAL && First && wgmma_row(j) > wgmma_column(j))
                p[j] = 0;
        }
    }
    round_to_operand(operand_p, p);
    wgmma_wait<0>();
    wgmma_hold(dp);
    multiply_add(dv, operand_p, piece.y, !First);
#pragma unroll
    for (int i = 0; i < 32; i += 4) {
        float2 d = *(const float2 *)&s.delta[at.index][wgmma_column(i)];
#pragma unroll
        for (int j = i; j < i + 4; j++)
            p[j] *= dp[j] - (j % 2 ? d.y : d.x);
    }
    round_to_operand(operand_ds, p);
    multiply_add(dk, operand_ds, piece.x, !First);
    at.advance();
}

template <int D>
__device__ void own_keys(Shared<D> &s, const CUtensorMap *map_dk, const CUtensorMap *map_dv, int S, int consumer)
{
    Pair<D> &own = s.own[consumer];
    int key = blockIdx.x * BLOCK + consumer * PIECE;
    float dk[D / 2], dv[D / 2];
    pipeline_stage<STAGES> at;
    if (CAUSAL && consumer == 1) { // the first piece is for the other's keys: these come later
        release_last(s.ring, {1, 0});
        at.advance();
    }
    mbarrier_wait(&s.owned, 0);
    take_queries<true>(s, own, at, dk, dv);
#pragma unroll 1
    for (int query = (CAUSAL ? key : 0) + PIECE; query < S; query += PIECE)
        take_queries<false>(s, own, at, dk, dv);
    wgmma_wait<0>();
    wgmma_hold(dk);
    wgmma_hold(dv);
    store(own.x, map_dk, dk, 1 / sqrtf(D), blockIdx.y * S + key, consumer);
    store(own.y, map_dv, dv, 1, blockIdx.y * S + key, consumer);
    if (threadIdx.x % 128 == 0)
        tma_wait<0>(); // written, before the block may end
}

template <int D>
__global__ __launch_bounds__(384, 1) void
keys(const __grid_constant__ CUtensorMap q, const __grid_constant__ CUtensorMap k,
     const __grid_constant__ CUtensorMap v, const __grid_constant__ CUtensorMap grad,
     const __grid_constant__ CUtensorMap dk, const __grid_constant__ CUtensorMap dv, const float *lse2,
     const float *delta, int S)
{
    extern __shared__ char raw[];
    Shared<D> &s = prepare_shared<D>(raw);
    int head = blockIdx.y * S, key = head + blockIdx.x * BLOCK;
    if (threadIdx.x / 128 == 0) {
        setmaxnreg_dec<24>();
        if (threadIdx.x == 0)
            produce(s, &k, &v, key, &q, &grad, CAUSAL ? key : head, head + S, lse2, delta);
    } else {
        setmaxnreg_inc<240>();
        own_keys(s, &dk, &dv, S, threadIdx.x / 128 - 1);
    }
}

// ---- launch 3: dQ ----

// One piece of keys; the last one holds the diagonal. Leaves its last product under way.
template <bool Last, int D>
__device__ void take_keys(Shared<D> &s, const Pair<D> &own, pipeline_stage<STAGES> &at, float (&dq)[D / 2],
                          const float (&lse2)[2], const float (&delta)[2], bool first)
{
    const float c = LOG2_E / sqrtf(D);
    const Pair<D> &piece = s.stage[at.index];
    float p[32], dp[32]; // 64 queries x 64 keys
    uint32_t operand[4][4];

    s.ring.wait_full(at);
    wgmma_fence();
    multiply(p, own.x, piece.x);
    multiply(dp, own.y, piece.y);
    wgmma_wait<1>(); // the scores, and the piece before
    wgmma_hold(p);
    if (!first)
        release_last(s.ring, at);
#pragma unroll
    for (int i = 0; i < 32; i++) {
        p[i] = exp2_approx(p[i] * c - lse2[i / 2 % 2]);
        if (CAUSAL && Last && wgmma_column(i) > wgmma_row(i))
            p[i] = 0;
    }
    wgmma_wait<0>();
    wgmma_hold(dp);
#pragma unroll
    for (int i = 0; i < 32; i++)
        p[i] *= dp[i] - delta[i / 2 % 2];
    round_to_operand(operand, p);
    multiply_add(dq, operand, piece.x, !first);
    at.advance();
}

template <int D>
__device__ void own_queries(Shared<D> &s, const CUtensorMap *map_dq, const float *all_lse2, const float *all_delta,
                            int S, int block, int consumer)
{
    Pair<D> &own = s.own[consumer];
    int query = block * BLOCK + consumer * PIECE, row = blockIdx.y * S + query;
    int last = (CAUSAL ? query : S - PIECE) / PIECE;
    float dq[D / 2], lse2[2], delta[2];
    for (int i = 0; i < 2; i++) {
        lse2[i] = all_lse2[row + wgmma_row(2 * i)];
        delta[i] = all_delta[row + wgmma_row(2 * i)];
    }
    pipeline_stage<STAGES> at;
    mbarrier_wait(&s.owned, 0);
#pragma unroll 1
    for (int i = 0; i < last; i++)
        take_keys<false>(s, own, at, dq, lse2, delta, i == 0);
    take_keys<true>(s, own, at, dq, lse2, delta, last == 0);
    wgmma_wait<0>();
    wgmma_hold(dq);
    store(own.x, map_dq, dq, 1 / sqrtf(D), row, consumer);
    if (threadIdx.x % 128 == 0)
        tma_wait<0>();
}

template <int D>
__global__ __launch_bounds__(384, 1) void
queries(const __grid_constant__ CUtensorMap q, const __grid_constant__ CUtensorMap k,
        const __grid_constant__ CUtensorMap v, const __grid_constant__ CUtensorMap grad,
        const __grid_constant__ CUtensorMap dq, const float *lse2, const float *delta, int S)
{
    extern __shared__ char raw[];
    Shared<D> &s = prepare_shared<D>(raw);
    int block = CAUSAL ? gridDim.x - 1 - blockIdx.x : blockIdx.x; // CAUSAL: the longest first
    int head = blockIdx.y * S, query = head + block * BLOCK;
    if (threadIdx.x / 128 == 0) {
        setmaxnreg_dec<24>();
        if (threadIdx.x == 0)
            produce(s, &q, &grad, query, &k, &v, head, CAUSAL ? query + BLOCK : head + S, nullptr, nullptr);
    } else {
        setmaxnreg_inc<240>();
        own_queries(s, &dq, lse2, delta, S, block, threadIdx.x / 128 - 1);
    }
}
