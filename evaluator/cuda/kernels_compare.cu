// SPDX-License-Identifier: Apache-2.0
//
// What is measured of an output. See kernels_common.cu.

// ---- comparison: see evaluator/compare.h ----

struct sums { // struct compare_sums
    double error, rounding, reference;
    i64 n;
};

struct row {
    sums sum;
    i64 bad, first_bad, last_bad; // columns; -1: none
};

struct total { // struct gpu_total, of many rows
    sums sum;
    i64 bad, nan, inf, unwritten, mismatches;
    i64 first_bad, last_bad_row, first_bad_column, last_bad_column; // if there are bad ones; flat, then a box
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
    sums *rows;    // matrices * height
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

static __device__ void join_bad(total &t, i64 bad, i64 first, i64 row, i64 low, i64 high)
{
    if (!bad)
        return;
    t.first_bad = t.bad ? min(t.first_bad, first) : first;
    t.last_bad_row = t.bad ? max(t.last_bad_row, row) : row;
    t.first_bad_column = t.bad ? min(t.first_bad_column, low) : low;
    t.last_bad_column = t.bad ? max(t.last_bad_column, high) : high;
    t.bad += bad;
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
        join_bad(all, r.bad, at * c.width + r.first_bad, at, r.first_bad, r.last_bad);
    }
    return r;
}

static __device__ void total_join(total &t, const total &more)
{
    sums_join(t.sum, more.sum);
    join_bad(t, more.bad, more.first_bad, more.last_bad_row, more.first_bad_column, more.last_bad_column);
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
            c.rows[at] = r.sum;
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
        w = worse(w, {excess_of(c.rows[at], all), at, c.rows[at]});
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
        low += 4 * excess_of(c.rows[at], all) < most;
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
