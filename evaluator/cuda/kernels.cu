// SPDX-License-Identifier: Apache-2.0
//
// The keeper's own device code: inputs, their redraws, and what is measured of an output. NVRTC compiles
// it when the keeper starts (evaluator/cuda/kernels.c). Every number here equals what the host code makes
// (evaluator/inputs.c, evaluator/compare.c) bit for bit: no multiplication is fused with an addition. Only
// sums run in another order, one part per lane of a warp. tests/gpu/kernels.c holds the two against each other.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

enum dtype { F64, F32, F16, BF16 }; // the first rows of core/dtypes.def, in their order
enum { TILE = 64 };

// Rounds towards the odd neighbour: a second rounding to fewer bits is then as good as one rounding.
static __device__ float to_float_odd(double v)
{
    float f = __double2float_rz(v);
    return (double)f == v ? f : __uint_as_float(__float_as_uint(f) | 1);
}

static __device__ u16 to_bf16(double v)
{
    u32 bits = __float_as_uint(to_float_odd(v));
    if (v != v)
        return bits >> 16 | 0x40;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

static __device__ u16 to_f16(double v)
{
    u16 bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(v != v ? (float)v : to_float_odd(v)));
    return bits;
}

static __device__ double from_f16(u16 bits)
{
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(bits));
    return f;
}

static __device__ double from_bf16(u16 bits)
{
    return __uint_as_float((u32)bits << 16);
}

static __device__ double load(int t, const void *array, i64 i)
{
    switch (t) {
    case F64: return ((const double *)array)[i];
    case F32: return ((const float *)array)[i];
    case F16: return from_f16(((const u16 *)array)[i]);
    default: return from_bf16(((const u16 *)array)[i]);
    }
}

static __device__ void store(int t, void *array, i64 i, double v)
{
    switch (t) {
    case F64: ((double *)array)[i] = v; break;
    case F32: ((float *)array)[i] = __double2float_rn(v); break;
    case F16: ((u16 *)array)[i] = to_f16(v); break;
    default: ((u16 *)array)[i] = to_bf16(v); break;
    }
}

static __device__ double round_to(int t, double v)
{
    switch (t) {
    case F64: return v;
    case F32: return __double2float_rn(v);
    case F16: return from_f16(to_f16(v));
    default: return from_bf16(to_bf16(v));
    }
}

static __device__ i64 first_index()
{
    return (i64)blockIdx.x * blockDim.x + threadIdx.x;
}

static __device__ i64 index_step()
{
    return (i64)gridDim.x * blockDim.x;
}

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

// ---- comparison: see evaluator/compare.h ----

struct sums { // struct compare_sums
    double error, rounding, reference;
    i64 n;
};

struct row { // struct gpu_row
    sums sum;
    i64 bad, first_bad, last_bad; // columns; -1: none
};

struct total { // struct gpu_total, of many rows
    sums sum;
    i64 bad, nan, inf, unwritten, mismatches;
    double max_abs, max_rel;
};

struct worst { // struct gpu_worst
    double excess;
    i64 row; // -1: there are none
    sums sum;
};

struct comparison {
    const void *output;
    const void *oracle;
    int dtype, oracle_dtype;
    i64 matrices, height, width;
    double atol, rtol;
    row *rows;     // matrices * height
    sums *tiles;   // matrices * tiles down * tiles across
    total *totals; // one per block of compare_rows, over the rows that it sees
    worst *worsts; // one per block of rate_rows
    i64 *lows;     // one per block of count_low_rows
    i64 total_count, worst_count;
};

static __device__ bool same(double a, double b)
{
    return a == b || (a != a && b != b);
}

static __device__ bool is_finite(double v)
{
    return fabs(v) <= 1.7976931348623157e308;
}

static __device__ bool is_poison(int t, const void *array, i64 i)
{
    switch (t) {
    case F64: return ((const u64 *)array)[i] == ~(u64)0;
    case F32: return ((const u32 *)array)[i] == ~(u32)0;
    default: return ((const u16 *)array)[i] == 0xffff;
    }
}

static __device__ void sums_add(sums &s, double o, double rounded, double y)
{
    if (!is_finite(o) || !is_finite(rounded))
        return;
    double error = __dadd_rn(o, -y), rounding = __dadd_rn(rounded, -y);
    s.error = __dadd_rn(s.error, __dmul_rn(error, error));
    s.rounding = __dadd_rn(s.rounding, __dmul_rn(rounding, rounding));
    s.reference = __dadd_rn(s.reference, __dmul_rn(y, y));
    s.n++;
}

static __device__ void sums_join(sums &s, const sums &more)
{
    s.error = __dadd_rn(s.error, more.error);
    s.rounding = __dadd_rn(s.rounding, more.rounding);
    s.reference = __dadd_rn(s.reference, more.reference);
    s.n += more.n;
}

static __device__ bool element_is_bad(const comparison &c, double o, double y, total &r)
{
    if (!is_finite(y))
        return !same(o, y);
    if (!is_finite(o)) {
        r.nan += o != o;
        r.inf += o == o;
        return true;
    }
    double abs = fabs(__dadd_rn(o, -y)), scale = __dadd_rn(fabs(y), 1e-8);
    r.max_abs = fmax(r.max_abs, abs);
    // A division only where it can matter: in these the factor is on the safe side.
    if (abs < r.max_rel * scale * (1 - 1e-12) && abs <= c.atol)
        return false;
    double rel = __ddiv_rn(abs, scale);
    r.max_rel = fmax(r.max_rel, rel);
    return abs > c.atol && rel > c.rtol;
}

enum { LANES = 32 };

template <class T> static __device__ T sum_of_warp(T v)
{
    for (int d = LANES / 2; d; d /= 2)
        v += __shfl_down_sync(~0u, v, d);
    return v;
}

template <class T> static __device__ T largest_of_warp(T v)
{
    for (int d = LANES / 2; d; d /= 2) {
        T other = __shfl_down_sync(~0u, v, d);
        v = other > v ? other : v;
    }
    return v;
}

// In lane 0.
static __device__ sums sums_of_warp(const sums &s)
{
    return {sum_of_warp(s.error), sum_of_warp(s.rounding), sum_of_warp(s.reference), sum_of_warp((u32)s.n)};
}

static __device__ int lane()
{
    return threadIdx.x % LANES;
}

// What a lane sees of a row; what is of no row in particular goes to its total. T and Y: the types of the
// output and of the oracle, which the compiler then knows; -1: any.
template <int T, int Y> static __device__ row row_of_lane(const comparison &c, i64 at, total &all)
{
    const int t = T < 0 ? c.dtype : T, y_type = Y < 0 ? c.oracle_dtype : Y;
    row r = {{}, 0, c.width, -1};
#pragma unroll 4
    for (i64 column = lane(); column < c.width; column += LANES) {
        i64 i = at * c.width + column;
        double o = load(t, c.output, i), y = load(y_type, c.oracle, i), rounded = round_to(t, y);
        all.unwritten += is_poison(t, c.output, i);
        all.mismatches += !same(o, rounded);
        if (element_is_bad(c, o, y, all)) {
            r.bad++;
            r.first_bad = min(r.first_bad, column);
            r.last_bad = column;
        }
        sums_add(r.sum, o, rounded, y);
    }
    return r;
}

// In lane 0, which alone adds the sums to its total.
static __device__ row row_of_warp(const comparison &c, i64 at, total &all)
{
    row r = c.dtype != BF16         ? row_of_lane<-1, -1>(c, at, all)
            : c.oracle_dtype == F64 ? row_of_lane<BF16, F64>(c, at, all)
            : c.oracle_dtype == F32 ? row_of_lane<BF16, F32>(c, at, all)
                                    : row_of_lane<-1, -1>(c, at, all);
    r.sum = sums_of_warp(r.sum);
    if (__any_sync(~0u, r.bad != 0)) {
        r.bad = sum_of_warp(r.bad);
        r.first_bad = -largest_of_warp(-r.first_bad);
        r.last_bad = largest_of_warp(r.last_bad);
    } else {
        r.first_bad = -1;
    }
    if (lane() == 0) {
        sums_join(all.sum, r.sum);
        all.bad += r.bad;
    }
    return r;
}

static __device__ void total_join(total &t, const total &more)
{
    sums_join(t.sum, more.sum);
    t.bad += more.bad;
    t.nan += more.nan;
    t.inf += more.inf;
    t.unwritten += more.unwritten;
    t.mismatches += more.mismatches;
    t.max_abs = fmax(t.max_abs, more.max_abs);
    t.max_rel = fmax(t.max_rel, more.max_rel);
}

enum { WARPS = 8 }; // of a block

// A warp per row, and one per tile below.
extern "C" __global__ void compare_rows(comparison c)
{
    __shared__ total totals[WARPS];
    total all = {};
    for (i64 at = first_index() / LANES; at < c.matrices * c.height; at += index_step() / LANES) {
        row r = row_of_warp(c, at, all);
        if (lane() == 0)
            c.rows[at] = r;
    }
    all.nan = sum_of_warp(all.nan);
    all.inf = sum_of_warp(all.inf);
    all.unwritten = sum_of_warp(all.unwritten);
    all.mismatches = sum_of_warp(all.mismatches);
    all.max_abs = largest_of_warp(all.max_abs);
    all.max_rel = largest_of_warp(all.max_rel);
    if (lane() == 0)
        totals[threadIdx.x / LANES] = all;
    __syncthreads();
    if (threadIdx.x)
        return;
    for (int i = 1; i < WARPS; i++)
        total_join(all, totals[i]);
    c.totals[blockIdx.x] = all;
}

template <int T, int Y> static __device__ sums tile_of_lane(const comparison &c, i64 first, i64 height, i64 width)
{
    const int t = T < 0 ? c.dtype : T, y_type = Y < 0 ? c.oracle_dtype : Y;
    sums s = {};
#pragma unroll 4
    for (i64 y = 0; y < height; y++)
        for (i64 x = lane(); x < width; x += LANES) {
            i64 i = first + y * c.width + x;
            double want = load(y_type, c.oracle, i);
            sums_add(s, load(t, c.output, i), round_to(t, want), want);
        }
    return s;
}

extern "C" __global__ void compare_tiles(comparison c)
{
    i64 down = (c.height + TILE - 1) / TILE, across = (c.width + TILE - 1) / TILE;
    for (i64 at = first_index() / LANES; at < c.matrices * down * across; at += index_step() / LANES) {
        i64 top = at / across % down * TILE, left = at % across * TILE, matrix = at / (down * across);
        i64 first = (matrix * c.height + top) * c.width + left;
        i64 height = min((i64)TILE, c.height - top), width = min((i64)TILE, c.width - left);
        sums s = c.dtype != BF16         ? tile_of_lane<-1, -1>(c, first, height, width)
                 : c.oracle_dtype == F64 ? tile_of_lane<BF16, F64>(c, first, height, width)
                 : c.oracle_dtype == F32 ? tile_of_lane<BF16, F32>(c, first, height, width)
                                         : tile_of_lane<-1, -1>(c, first, height, width);
        s = sums_of_warp(s);
        if (lane() == 0)
            c.tiles[at] = s;
    }
}

// The host judges rows only where it has to (evaluator/cuda/gpu_compare.c): here is found which row is the
// worst, and how many have less than a quarter of its excess, which tells if their median does.

// excess_of() of evaluator/compare.c.
static __device__ double excess_of(const sums &s, const sums &all)
{
    double least = all.n ? all.reference / (double)all.n * (double)s.n * 1e-6 : 0;
    double scale = s.reference > least ? s.reference : least, squared = s.error - s.rounding;
    double infinity = __longlong_as_double(0x7ff0000000000000);
    return squared <= 0 ? 0 : scale > 0 ? sqrt(squared / scale) : infinity;
}

// Of all rows, in every thread. Reads what compare_rows has written.
static __device__ sums sums_of_all(const comparison &c)
{
    __shared__ sums parts[LANES];
    sums s = {};
    if (threadIdx.x < LANES)
        for (i64 i = threadIdx.x; i < c.total_count; i += LANES)
            sums_join(s, c.totals[i].sum);
    if (threadIdx.x < LANES)
        parts[threadIdx.x] = s;
    __syncthreads();
    s = {};
    for (int i = 0; i < LANES; i++)
        sums_join(s, parts[i]);
    return s;
}

static __device__ worst worse(const worst &a, const worst &b)
{
    return b.row >= 0 && (a.row < 0 || b.excess > a.excess || (b.excess == a.excess && b.row < a.row)) ? b : a;
}

extern "C" __global__ void rate_rows(comparison c)
{
    __shared__ worst parts[WARPS * LANES];
    sums all = sums_of_all(c);
    worst w = {0, -1, {}};
    for (i64 at = first_index(); at < c.matrices * c.height; at += index_step())
        w = worse(w, {excess_of(c.rows[at].sum, all), at, c.rows[at].sum});
    parts[threadIdx.x] = w;
    __syncthreads();
    if (threadIdx.x)
        return;
    for (int i = 1; i < WARPS * LANES; i++)
        w = worse(w, parts[i]);
    c.worsts[blockIdx.x] = w;
}

extern "C" __global__ void count_low_rows(comparison c)
{
    __shared__ i64 parts[WARPS];
    sums all = sums_of_all(c);
    double most = 0;
    for (i64 i = 0; i < c.worst_count; i++)
        most = fmax(most, c.worsts[i].excess);
    i64 low = 0;
    for (i64 at = first_index(); at < c.matrices * c.height; at += index_step())
        low += 4 * excess_of(c.rows[at].sum, all) < most;
    low = sum_of_warp(low);
    if (lane() == 0)
        parts[threadIdx.x / LANES] = low;
    __syncthreads();
    if (threadIdx.x)
        return;
    for (int i = 1; i < WARPS; i++)
        low += parts[i];
    c.lows[blockIdx.x] = low;
}

// ---- hints: see evaluator/compare_hints.h ----

struct fit { // struct compare_fit
    double oo, oy, yy, lowest, highest;
    i64 n;
};

struct fitting {
    const void *output, *oracle;
    int dtype, oracle_dtype;
    i64 n, height, width;
    int transpose; // the oracle, every matrix
    fit *fits;     // one per warp of the grid
};

extern "C" __global__ void fit_tensor(fitting f)
{
    fit s = {0, 0, 0, __longlong_as_double(0x7ff0000000000000), -__longlong_as_double(0x7ff0000000000000), 0};
    for (i64 i = first_index(); i < f.n; i += index_step()) {
        i64 area = f.height * f.width, in = i % area;
        i64 from = f.transpose ? i - in + in % f.height * f.width + in / f.height : i;
        double o = load(f.dtype, f.output, i), y = load(f.oracle_dtype, f.oracle, from);
        if (!is_finite(o) || !is_finite(y))
            continue;
        s.oo += o * o;
        s.oy += o * y;
        s.yy += y * y;
        s.lowest = fmin(s.lowest, o);
        s.highest = fmax(s.highest, o);
        s.n++;
    }
    fit all = {sum_of_warp(s.oo), sum_of_warp(s.oy), sum_of_warp(s.yy), -largest_of_warp(-s.lowest),
               largest_of_warp(s.highest), sum_of_warp(s.n)};
    if (lane() == 0)
        f.fits[first_index() / LANES] = all;
}
