/* SPDX-License-Identifier: Apache-2.0
 * What the keeper's kernels have to show, wherever they run: tests/gpu/kernels.c gives them a GPU,
 * tests/unit/keeper_kernels_test.c the executor of the CPU device. */
#ifndef TESTS_GPU_KERNELS_CHECKS_H
#define TESTS_GPU_KERNELS_CHECKS_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/util.h"
#include "evaluator/cuda/gpu_compare.h"
#include "evaluator/cuda/redraw.h"

static int checks, failed;

static inline void die(const char *what, const char *why)
{
    printf("Bail out! %s: %s\n", what, why);
    exit(1);
}

static inline void ok(bool good, const char *what)
{
    failed += !good;
    printf("%sok %d - %s\n", good ? "" : "not ", ++checks, what);
}

static inline void must(enum err e, const struct fault *f)
{
    if (e != ERR_NONE)
        die("a kernel failed", f->detail);
}

static inline CUdeviceptr room(size_t bytes)
{
    CUdeviceptr p = 0;
    if (cu.MemAlloc(&p, bytes) != CUDA_SUCCESS)
        die("no device memory", "");
    return p;
}

/* One way of each kind, and one that needs all bits of a double. */
static const struct distribution kinds[] = {
    {.name = "normal", .kind = DISTRIBUTION_NORMAL, .deviation = 1},
    {.name = "scaled", .kind = DISTRIBUTION_NORMAL, .mean = 1e-3, .deviation = 0.3712345},
    {.name = "integer", .kind = DISTRIBUTION_INTEGERS, .low = -16, .high = 16},
    {.name = "spiky", .kind = DISTRIBUTION_SPIKY, .deviation = 1, .spike_deviation = 10, .spikes = 66},
    {.name = "often spiky", .kind = DISTRIBUTION_SPIKY, .mean = 1e-3, .deviation = 0.3712345,
     .spike_deviation = 7.7654321, .spikes = 30000},
};

static inline void test_inputs(const struct kernels *k, enum dtype t)
{
    enum { N = 100003 };
    struct fault f = {0};
    size_t bytes = N * dtype_bytes(t);
    void *here = malloc(bytes), *there = malloc(bytes);
    CUdeviceptr device = room(bytes);
    for (size_t i = 0; here && there && i < COUNT_OF(kinds); i++) {
        struct seed seed = seed_draw();
        char what[120];
        inputs_fill(seed, &kinds[i], 1, t, here, N);
        must(kernels_fill(k, seed, &kinds[i], 1, t, device, N, &f), &f);
        cu.MemcpyDtoH(there, device, bytes);
        snprintf(what, sizeof(what), "%.40s inputs of %s are the host's", kinds[i].name,
                 dtype_name(t));
        ok(!memcmp(here, there, bytes), what);
    }
    cu.MemFree(device);
    free(here);
    free(there);
}

/* Tensors to compare, all of CELLS elements: whole tiles and cut ones, one matrix and several. */
enum { CELLS = 101 * 218, FEW = 5 };
static const struct {
    int ndim;
    int64_t shape[4];
} shapes[] = {{2, {101, 218}}, {4, {1, 2, 101, 109}}, {3, {2, 109, 101}}, {1, {CELLS}}};

/* A hair above or below the middle between two neighbours of the type. */
static inline double beside_a_tie(enum dtype t, double v, bool above)
{
    static const int bits[] = {[DTYPE_f64] = 53, [DTYPE_f32] = 24, [DTYPE_f16] = 11, [DTYPE_bf16] = 8};
    int exponent;
    double fraction = frexp(v, &exponent), unit = ldexp(1, -bits[t]);
    double middle = (floor(fabs(fraction) / unit) + 0.5) * unit;
    return copysign(ldexp(middle * (1 + (above ? 1e-14 : -1e-14)), exponent), v);
}

/* Sums run in another order on the device: equal but for the last bits, which are then made so. */
static inline bool same_sum(double here, double *there)
{
    bool same = here == *there || fabs(here - *there) <= 1e-9 * (here + 1e-6);
    *there = here;
    return same;
}

/* An oracle and an output that has the rounding of the type, and whatever `damage` does to it. */
static inline void compare_both(const struct kernels *k, enum dtype t, enum dtype oracle_dtype,
                                size_t shape, int damage, const char *what)
{
    struct fault f = {0};
    static double oracle[CELLS];
    static uint64_t output[CELLS];
    struct distribution normal = {.kind = DISTRIBUTION_NORMAL, .deviation = 60};
    inputs_fill(seed_draw(), &normal, 0, DTYPE_f64, oracle, CELLS);
    for (size_t i = 0; i < CELLS; i++) {
        oracle[i] += (double)(i * 2654435761u % 65536) / 65536 - 0.5;
        oracle[i] *= 1.2345678912345; /* every bit of a double in use: sums depend on their order */
        if (i % 5 == 0) /* just off the middle between two numbers: rounding twice would go wrong */
            oracle[i] = beside_a_tie(t, oracle[i], i % 2 == 0);
        dtype_store(t, output, i, damage >= 2 ? oracle[i] * (1 + 1e-3 * (double)(i % 7)) : oracle[i]);
    }
    for (size_t i = 70; damage == 4 && i < 100; i++) /* one row much coarser than the others */
        dtype_store(t, output, i, oracle[i] * (1 + 8e-3 * (double)(i % 2)));
    for (size_t i = 100; damage == 3 && i < CELLS; i += 919) {
        static const double odd[] = {INFINITY, -INFINITY, NAN, 0, 1e6};
        dtype_store(t, output, i, odd[i % 5]);
        oracle[i] = i % 3 ? oracle[i] : odd[i % 4];
        inputs_poison((char *)output + (i + 1) * dtype_bytes(t), dtype_bytes(t));
    }
    if (damage == 1)
        dtype_store(t, output, CELLS / 2, -1e4);
    for (size_t i = 7, n = 0; damage == 5 && n < FEW && i < CELLS; i += 3)
        if (fabs(oracle[i]) < 1) {
            dtype_store(t, output, i, oracle[i] + 0.3);
            i += CELLS / (FEW + 2);
            n++;
        }
    static double narrow[CELLS];
    for (size_t i = 0; i < CELLS; i++)
        dtype_store(oracle_dtype, narrow, i, oracle[i]);
    struct compare_task task = {.name = "C", .dtype = t, .output = output,
                                .oracle_dtype = oracle_dtype, .oracle = narrow,
                                .ndim = shapes[shape].ndim, .shape = shapes[shape].shape,
                                .rule = {.atol = 1e-2, .rtol = 1e-2, .excess_max = 4e-4,
                                         .bad_share = damage == 5 ? (double)FEW / CELLS : 0}};
    size_t bytes = CELLS * dtype_bytes(t);
    CUdeviceptr o = room(bytes), y = room(sizeof(narrow));
    cu.MemcpyHtoD(o, output, bytes);
    cu.MemcpyHtoD(y, narrow, sizeof(narrow));
    struct compare_result here, there;
    must(compare(&task, &here, &f), &f);
    task.output = task.oracle = NULL;
    must(gpu_compare(k, &task, o, y, &there, &f), &f);
    bool close = same_sum(here.excess, &there.excess) &&
                 same_sum(here.worst_tile.excess, &there.worst_tile.excess) &&
                 same_sum(here.tile_median, &there.tile_median) &&
                 same_sum(here.worst_row.excess, &there.worst_row.excess);
    json_t *a = compare_json(&task, &here), *b = compare_json(&task, &there);
    bool equal = json_equal(a, b) && here.bad_high[1] == there.bad_high[1] && here.bad_low[1] == there.bad_low[1];
    ok(close && equal, what);
    if (!equal) {
        char *texts[] = {json_dumps(a, JSON_COMPACT), json_dumps(b, JSON_COMPACT)};
        printf("# host   %s\n# device %s\n", texts[0], texts[1]);
        free(texts[0]);
        free(texts[1]);
    }
    json_decref(a);
    json_decref(b);
    cu.MemFree(o);
    cu.MemFree(y);
}

static inline int by_bits(const void *a, const void *b)
{
    return *(const uint16_t *)a - *(const uint16_t *)b;
}

enum { M = 512, N = 512, K = 256 }; /* workload small of gemm */

/* c = a b^T in whole numbers small enough for every sum to be exact. */
static inline void multiply(const uint16_t *a, const uint16_t *b, double *c)
{
    for (size_t i = 0; i < M * N; i++) {
        c[i] = 0;
        for (size_t x = 0; x < K; x++)
            c[i] += (double)bf16_to_float(a[i / N * K + x]) *
                    (double)bf16_to_float(b[i % N * K + x]);
    }
}

/* Redraws tensor `i` of `bytes` bytes. */
static inline void redraw(const struct kernels *k, const struct problem *p, size_t i,
                          const void *from, void *to, size_t bytes,
                          const struct redraw_keys *keys)
{
    struct fault f = {0};
    CUdeviceptr in = room(bytes), out = room(bytes);
    enum dtype t = i == 2 ? DTYPE_f64 : DTYPE_bf16;
    cu.MemcpyHtoD(in, from, bytes);
    must(redraw_tensor(k, p, problem_workload(p, "small"), i, t, out, in, keys, &f), &f);
    cu.MemcpyDtoH(to, out, bytes);
    cu.MemFree(in);
    cu.MemFree(out);
}

static inline void test_redraw(const struct kernels *k, const struct problem *p)
{
    static uint16_t a[M * K], b[N * K], a2[M * K], b2[N * K];
    static double c[M * N], c2[M * N], want[M * N];
    struct distribution integers = {.kind = DISTRIBUTION_INTEGERS, .low = -16, .high = 16};
    struct redraw_keys keys = redraw_draw();
    inputs_fill(seed_draw(), &integers, 0, DTYPE_bf16, a, M * K);
    inputs_fill(seed_draw(), &integers, 1, DTYPE_bf16, b, N * K);
    multiply(a, b, c);
    redraw(k, p, 0, a, a2, sizeof(a), &keys);
    redraw(k, p, 1, b, b2, sizeof(b), &keys);
    redraw(k, p, 2, c, c2, sizeof(c), &keys);
    multiply(a2, b2, want);
    bool equal = true;
    size_t moved = 0;
    for (size_t i = 0; i < M * N; i++) {
        equal = equal && c2[i] == want[i];
        moved += c2[i] != c[i];
    }
    ok(redraw_exists(p), "gemm names a redraw that there is");
    ok(equal, "the product of redrawn inputs is the redrawn product");
    ok(moved > M * N / 2, "a redraw changes the product");
    for (size_t i = 0; i < M * K; i++)
        a[i] &= 0x7fff, a2[i] &= 0x7fff;
    qsort(a, M * K, 2, by_bits);
    qsort(a2, M * K, 2, by_bits);
    ok(!memcmp(a, a2, sizeof(a)), "signs apart, a redraw keeps every element");
}

/* ---- attention ---- */

enum { TINY_B = 2, TINY_H = 3, TINY_S = 10, TINY_D = 16, HEADS = TINY_B * TINY_H, HEAD = TINY_S * TINY_D };

/* One head: O and LSE from Q, K, V, and with dO also dQ, dK, dV. Every sum runs in an order that does not
 * depend on which head it is. */
struct tiny_head {
    const double *q, *k, *v, *d_o;
    double *o, *lse, *dq, *dk, *dv;
};

static inline double dot(const double *a, const double *b)
{
    double sum = 0;
    for (size_t d = 0; d < TINY_D; d++)
        sum += a[d] * b[d];
    return sum;
}

static inline void tiny_row(const struct tiny_head *h, size_t i, bool causal)
{
    double p[TINY_S], total = 0, delta = 0;
    size_t keys = causal ? i + 1 : TINY_S;
    for (size_t j = 0; j < keys; j++)
        total += p[j] = exp(dot(h->q + i * TINY_D, h->k + j * TINY_D) / sqrt(TINY_D));
    h->lse[i] = log(total);
    for (size_t d = 0; d < TINY_D; d++) {
        double sum = 0;
        for (size_t j = 0; j < keys; j++)
            sum += p[j] / total * h->v[j * TINY_D + d];
        h->o[i * TINY_D + d] = sum;
    }
    if (!h->d_o)
        return;
    delta = dot(h->d_o + i * TINY_D, h->o + i * TINY_D);
    for (size_t j = 0; j < keys; j++) {
        double dp = dot(h->d_o + i * TINY_D, h->v + j * TINY_D), w = p[j] / total;
        double ds = w * (dp - delta) / sqrt(TINY_D);
        for (size_t d = 0; d < TINY_D; d++) {
            h->dq[i * TINY_D + d] += ds * h->k[j * TINY_D + d];
            h->dk[j * TINY_D + d] += ds * h->q[i * TINY_D + d];
            h->dv[j * TINY_D + d] += w * h->d_o[i * TINY_D + d];
        }
    }
}

enum { Q, K_, V, O, DO, LSE, DQ, DK, DV, TINY_TENSORS };
typedef double tiny_tensor[HEADS * HEAD];

static inline void tiny_attention(tiny_tensor t[TINY_TENSORS], bool causal)
{
    for (size_t i = DQ; i <= DV; i++)
        memset(t[i], 0, sizeof(t[i]));
    for (size_t n = 0; n < HEADS; n++) {
        size_t at = n * HEAD;
        struct tiny_head h = {t[Q] + at,  t[K_] + at,           t[V] + at,  t[DO] + at, t[O] + at,
                              t[LSE] + n * TINY_S, t[DQ] + at, t[DK] + at, t[DV] + at};
        for (size_t i = 0; i < TINY_S; i++)
            tiny_row(&h, i, causal);
    }
}

/* A problem of all those tensors, in the type given. */
static inline void tiny_problem(struct problem *p, struct workload *w, enum dtype t)
{
    static const char *const tensors[] = {"Q", "K", "V", "O", "dO", "LSE", "dQ", "dK", "dV"};
    static const char *const axes[] = {"B", "H", "S", "D"};
    static const int64_t sizes[] = {TINY_B, TINY_H, TINY_S, TINY_D};
    *p = (struct problem){.name = "tiny", .redraw = "attention", .axis_count = 4,
                          .tensor_count = TINY_TENSORS};
    *w = (struct workload){.name = "tiny"};
    for (size_t a = 0; a < 4; a++) {
        snprintf(p->axes[a], sizeof(p->axes[a]), "%s", axes[a]);
        w->axes[a] = sizes[a];
    }
    for (size_t i = 0; i < TINY_TENSORS; i++) {
        struct tensor_def *def = &p->tensors[i];
        *def = (struct tensor_def){.dtype = t, .oracle_dtype = t, .ndim = i == LSE ? 3 : 4};
        snprintf(def->name, sizeof(def->name), "%s", tensors[i]);
        for (int d = 0; d < def->ndim; d++)
            snprintf(def->dims[d], sizeof(def->dims[d]), "%s", axes[d]);
    }
}

/* Every tensor redrawn on the device in this type; the values must be such that it holds them. */
static inline void redraw_tiny(const struct kernels *k, enum dtype t, tiny_tensor from[TINY_TENSORS],
                               tiny_tensor to[TINY_TENSORS], const struct redraw_keys *keys)
{
    static double cells[HEADS * HEAD];
    struct problem p;
    struct workload w;
    struct fault f = {0};
    tiny_problem(&p, &w, t);
    for (size_t i = 0; i < TINY_TENSORS; i++) {
        size_t n = i == LSE ? HEADS * TINY_S : HEADS * HEAD, bytes = n * dtype_bytes(t);
        CUdeviceptr in = room(bytes), out = room(bytes);
        for (size_t j = 0; j < n; j++)
            dtype_store(t, cells, j, from[i][j]);
        cu.MemcpyHtoD(in, cells, bytes);
        must(redraw_tensor(k, &p, &w, i, t, out, in, keys, &f), &f);
        cu.MemcpyDtoH(cells, out, bytes);
        for (size_t j = 0; j < n; j++)
            to[i][j] = dtype_load(t, cells, j);
        cu.MemFree(in);
        cu.MemFree(out);
    }
    ok(redraw_exists(&p), "attention names a redraw that there is");
}

/* Attention over redrawn inputs is the redrawn attention, in every bit. */
static inline void test_attention_redraw(const struct kernels *k, bool causal)
{
    static tiny_tensor base[TINY_TENSORS], drawn[TINY_TENSORS], want[TINY_TENSORS];
    struct distribution normal = {.kind = DISTRIBUTION_NORMAL, .deviation = 1};
    struct seed seed = seed_draw();
    struct redraw_keys keys = redraw_draw();
    for (unsigned i = Q; i <= DO; i++)
        inputs_fill(seed, &normal, i, DTYPE_f64, base[i], HEADS * HEAD);
    tiny_attention(base, causal);
    redraw_tiny(k, DTYPE_f64, base, drawn, &keys);
    memcpy(want, drawn, sizeof(want));
    tiny_attention(want, causal);
    bool equal = true, moved = true;
    for (size_t i = 0; i < TINY_TENSORS; i++) {
        size_t n = i == LSE ? HEADS * TINY_S : HEADS * HEAD;
        for (size_t j = 0; j < n; j++)
            equal = equal && want[i][j] == drawn[i][j];
        moved = moved && memcmp(base[i], drawn[i], n * sizeof(double)) != 0;
    }
    ok(equal, causal ? "causal attention over redrawn inputs is the redrawn attention"
                     : "attention over redrawn inputs is the redrawn attention");
    ok(moved, "a redraw changes every tensor of attention");
}

/* Every width of element goes the same way. */
static inline void test_attention_types(const struct kernels *k)
{
    static tiny_tensor base[TINY_TENSORS], wide[TINY_TENSORS], narrow[TINY_TENSORS];
    struct distribution normal = {.kind = DISTRIBUTION_NORMAL, .deviation = 1};
    struct redraw_keys keys = redraw_draw();
    for (unsigned i = 0; i < TINY_TENSORS; i++)
        inputs_fill(seed_draw(), &normal, i, DTYPE_f64, base[i], HEADS * HEAD); /* bf16 values */
    redraw_tiny(k, DTYPE_f64, base, wide, &keys);
    redraw_tiny(k, DTYPE_bf16, base, narrow, &keys);
    ok(!memcmp(wide, narrow, sizeof(wide)), "bf16 is redrawn like f64");
    redraw_tiny(k, DTYPE_f32, base, narrow, &keys);
    ok(!memcmp(wide, narrow, sizeof(wide)), "f32 is redrawn like f64");
}

static inline void test_attention_redraws(const struct kernels *k)
{
    test_attention_redraw(k, false);
    test_attention_redraw(k, true);
    test_attention_types(k);
}

static inline void test_canaries(const struct kernels *k)
{
    struct fault f = {0};
    uint64_t other = 99;
    struct memory_range range = {room(1 << 20), (1 << 20) - 3};
    cu.MemsetD8Async(range.address, 0xa5, 1 << 20, NULL);
    must(kernels_count_other(k, range, 0xa5, &other, &f), &f);
    ok(other == 0, "whole canaries are whole");
    cu.MemsetD8Async(range.address + range.bytes - 1, 1, 1, NULL);
    cu.MemsetD8Async(range.address, 0xff, 1, NULL);
    must(kernels_count_other(k, range, 0xa5, &other, &f), &f);
    ok(other == 2, "two bytes changed are noticed");
    CUdeviceptr copy = room(1 << 20);
    cu.MemsetD8Async(copy, 0xa5, 1 << 20, NULL);
    must(kernels_count_different(k, range.address, copy, range.bytes, &other, &f), &f);
    ok(other == 2, "two bytes that differ from a copy are noticed");
    cu.MemsetD8Async(copy, 0xff, 1, NULL);
    cu.MemsetD8Async(copy + range.bytes - 1, 1, 1, NULL);
    must(kernels_count_different(k, range.address, copy, range.bytes, &other, &f), &f);
    ok(other == 0, "a copy differs in nothing");
    cu.MemFree(copy);
    cu.MemFree(range.address);
}

/* Everything but speed. */
static inline void check_kernels(const struct kernels *k, const struct problem *gemm)
{
    static const enum dtype types[] = {DTYPE_bf16, DTYPE_f16, DTYPE_f32, DTYPE_f64};
    for (size_t i = 0; i < COUNT_OF(types); i++)
        test_inputs(k, types[i]);
    static const char *const damages[] = {
        "a rounded output is", "one bad element is", "a coarse output is",
        "infinities, NaNs and poison are", "an output with a coarser row is", "fewer bad elements than may be are"};
    for (size_t i = 0; i < 3; i++)
        for (size_t shape = 0; shape < COUNT_OF(shapes); shape++)
            for (int damage = 0; damage < (int)COUNT_OF(damages); damage++) {
                char what[100];
                bool wide = (shape + i) % 2 == 0 || types[i] == DTYPE_f32;
                snprintf(what, sizeof(what), "%s judged as on the host: %s, %d dimensions",
                         damages[damage], dtype_name(types[i]), shapes[shape].ndim);
                compare_both(k, types[i], wide ? DTYPE_f64 : DTYPE_f32, shape, damage, what);
            }
    test_redraw(k, gemm);
    test_attention_redraws(k);
    test_canaries(k);
}

#endif
