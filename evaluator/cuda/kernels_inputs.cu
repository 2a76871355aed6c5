// SPDX-License-Identifier: Apache-2.0
//
// Inputs and their redraws; what was touched that should not have been. See kernels_common.cu.

// ---- inputs: see evaluator/inputs.h ----

struct fill {
    void *out;
    i64 n;
    u64 seed_high, seed_low;
    u32 tensor;
    int dtype, kind;          // enum distribution_kind
    double mean, deviation;   // normal and spiky
    i64 low, span;            // integers
    double spike_deviation;   // spiky …
    i64 spikes;
    const float *quantiles;   // 65,536 of N(0, 1)
};

enum { NORMAL, INTEGERS, SPIKY };
enum : u32 { SPIKE_WHETHER = 0x80000000u, SPIKE_SIZE = 0x40000000u };

static __device__ void philox(u32 c[4], u32 k0, u32 k1)
{
    for (int round = 0; round < 10; round++) {
        u64 p0 = (u64)c[0] * 0xd2511f53u, p1 = (u64)c[2] * 0xcd9e8d57u;
        u32 a = (u32)(p1 >> 32) ^ c[1] ^ k0, b = (u32)p1, d = (u32)(p0 >> 32) ^ c[3] ^ k1, e = (u32)p0;
        c[0] = a, c[1] = b, c[2] = d, c[3] = e;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
}

// The words of eight elements, two in each of c[0 … 3].
static __device__ void draw_block(const fill &f, u32 stream, i64 block, u32 c[4])
{
    c[0] = (u32)block, c[1] = (u32)(block >> 32), c[2] = (u32)f.seed_high;
    c[3] = (u32)(f.seed_high >> 32) ^ f.tensor ^ stream;
    philox(c, (u32)f.seed_low, (u32)(f.seed_low >> 32));
}

static __device__ u32 word_of(const u32 c[4], int j)
{
    return c[j / 2] >> (16 * (j % 2)) & 0xffff;
}

static __device__ double value_of(const fill &f, u32 u)
{
    if (f.kind == INTEGERS)
        return (double)(f.low + ((i64)u * f.span >> 16));
    return __dadd_rn(f.mean, __dmul_rn(f.deviation, (double)f.quantiles[u]));
}

extern "C" __global__ void fill_tensor(fill f)
{
    i64 blocks = (f.n + 7) / 8;
    for (i64 block = first_index(); block < blocks; block += index_step()) {
        u32 words[4], whether[4], size[4];
        draw_block(f, 0, block, words);
        if (f.kind == SPIKY) {
            draw_block(f, SPIKE_WHETHER, block, whether);
            draw_block(f, SPIKE_SIZE, block, size);
        }
        for (int j = 0; j < 8 && block * 8 + j < f.n; j++) {
            double v = value_of(f, word_of(words, j));
            if (f.kind == SPIKY && word_of(whether, j) < f.spikes)
                v = __dadd_rn(v, __dmul_rn(f.spike_deviation, (double)f.quantiles[word_of(size, j)]));
            store(f.dtype, f.out, block * 8 + j, v);
        }
    }
}

// ---- redraws: see evaluator/cuda/redraw.h ----

struct redraw {
    void *out;
    const void *in;
    i64 rows, columns;
    u64 row_key;             // 0: rows stay where they are
    const u32 *columns_from; // of place_columns; null: columns stay where and as they are
    i64 period;              // columns_from holds for so many columns, and again for those behind
    int element_bytes;       // 2, 4 or 8, of a float type: the sign is the top bit
    int parts;               // blocks that share a row
    int row_signs;           // the row key also negates rows
    int whole;               // no column moves, and every period is whole pieces of 16 bytes
};

static __device__ u32 mix(u64 key, u32 round, u32 v)
{
    u64 x = (key ^ (u64)round * 0x9e3779b97f4a7c15u) + (u64)v * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (u32)(x >> 32 ^ x);
}

// A bijection of [0, n): six rounds of a balanced Feistel network over the next even power of two, walked
// until it comes back into the range.
static __device__ i64 place_of(i64 i, i64 n, u64 key)
{
    if (!key)
        return i;
    int half = 1;
    while ((i64)1 << 2 * half < n)
        half++;
    u32 mask = (1u << half) - 1;
    do {
        u32 left = (u32)(i >> half) & mask, right = (u32)i & mask;
        for (u32 round = 0; round < 6; round++) {
            u32 next = left ^ (mix(key, round, right) & mask);
            left = right;
            right = next;
        }
        i = (i64)left << half | right;
    } while (i >= n);
    return i;
}

static __device__ bool is_negated(i64 i, u64 key)
{
    return key && (mix(key, 6, (u32)i) & 1);
}

enum : u32 { TOP = 1u << 31 };

// Where each column comes from, its sign in the top bit.
extern "C" __global__ void place_columns(u32 *from, i64 n, u64 key, int move)
{
    for (i64 i = first_index(); i < n; i += index_step())
        from[i] = (u32)(move ? place_of(i, n, key) : i) | (u32)is_negated(i, key) << 31;
}

// The sign to flip in column i behind that one, and in two neighbours of 16 bits.
static __device__ u32 flip_of(const u32 *from, u32 row, int i)
{
    return from ? (from[i] & TOP) ^ row : row;
}

static __device__ u32 flips_of_two(const u32 *from, u32 row, int i)
{
    return flip_of(from, row, i + 1) | flip_of(from, row, i) >> 16;
}

// The signs to flip in the 16 bytes of a row that begin with that column.
static __device__ uint4 flips_of(const redraw &r, i64 column, bool negated)
{
    u32 row = negated ? TOP : 0;
    const u32 *from = r.columns_from ? r.columns_from + (u32)column % (u32)r.period : nullptr;
    if (r.element_bytes == 2)
        return make_uint4(flips_of_two(from, row, 0), flips_of_two(from, row, 2), flips_of_two(from, row, 4),
                          flips_of_two(from, row, 6));
    if (r.element_bytes == 4)
        return make_uint4(flip_of(from, row, 0), flip_of(from, row, 1), flip_of(from, row, 2), flip_of(from, row, 3));
    return make_uint4(0, flip_of(from, row, 0), 0, flip_of(from, row, 1)); // the low half has no sign
}

// A part of a row, 16 bytes at a time. Both tensors are aligned to that.
static __device__ void copy_part(const redraw &r, i64 to, i64 from, bool negated, int part)
{
    i64 pieces = r.columns * r.element_bytes / 16, step = 16 / r.element_bytes;
    const uint4 *in = (const uint4 *)r.in + from * pieces;
    uint4 *out = (uint4 *)r.out + to * pieces;
    for (i64 i = pieces * part / r.parts + threadIdx.x; i < pieces * (part + 1) / r.parts; i += blockDim.x) {
        uint4 v = in[i], flip = flips_of(r, i * step, negated);
        out[i] = make_uint4(v.x ^ flip.x, v.y ^ flip.y, v.z ^ flip.z, v.w ^ flip.w);
    }
}

static __device__ void move_element(const redraw &r, i64 to, i64 at, u64 flip)
{
    if (r.element_bytes == 8)
        ((u64 *)r.out)[to] = ((const u64 *)r.in)[at] ^ flip << 63;
    else if (r.element_bytes == 4)
        ((u32 *)r.out)[to] = ((const u32 *)r.in)[at] ^ (u32)flip << 31;
    else
        ((u16 *)r.out)[to] = ((const u16 *)r.in)[at] ^ (u16)(flip << 15);
}

static __device__ void move_part(const redraw &r, i64 to, i64 from, bool negated, int part)
{
    for (i64 i = r.columns * part / r.parts + threadIdx.x; i < r.columns * (part + 1) / r.parts; i += blockDim.x) {
        i64 in = i % r.period;
        u32 place = r.columns_from ? r.columns_from[in] : (u32)in;
        move_element(r, to * r.columns + i, from * r.columns + i - in + (place & ~TOP), negated != place >> 31);
    }
}

extern "C" __global__ void redraw_tensor(redraw r)
{
    for (i64 at = blockIdx.x; at < r.rows * r.parts; at += gridDim.x) {
        i64 row = at / r.parts, from = place_of(row, r.rows, r.row_key);
        bool negated = r.row_signs && is_negated(row, r.row_key);
        if (r.whole)
            copy_part(r, row, from, negated, at % r.parts);
        else
            move_part(r, row, from, negated, at % r.parts);
    }
}

// ---- canaries ----

extern "C" __global__ void count_other(const u8 *area, i64 n, u32 byte, u64 *count)
{
    u64 other = 0;
    for (i64 i = first_index(); i < n; i += index_step())
        other += area[i] != byte;
    if (other)
        atomicAdd(count, other);
}

// Both aligned to 16 bytes.
extern "C" __global__ void count_different(const u8 *a, const u8 *b, i64 n, u64 *count)
{
    u64 different = 0;
    for (i64 i = first_index(); i < n / 16; i += index_step()) {
        uint4 x = ((const uint4 *)a)[i], y = ((const uint4 *)b)[i];
        if (x.x == y.x && x.y == y.y && x.z == y.z && x.w == y.w)
            continue;
        for (int j = 0; j < 16; j++)
            different += a[16 * i + j] != b[16 * i + j];
    }
    for (i64 i = n / 16 * 16 + first_index(); i < n; i += index_step())
        different += a[i] != b[i];
    if (different)
        atomicAdd(count, different);
}

// What "sample" of batch_kernels.c picks.
extern "C" __global__ void sample_elements(const u8 *from, u64 elements, u64 first, u64 step, u32 bytes, u8 *to)
{
    u64 i = first_index(), at = (first + i * step) % elements;
    for (u32 j = 0; j < bytes; j++)
        to[i * bytes + j] = from[at * bytes + j];
}
