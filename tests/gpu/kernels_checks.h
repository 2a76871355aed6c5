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

static inline void test_inputs(const struct kernels *k, const struct problem *p,
                               enum dtype t)
{
    enum { N = 100003 };
    struct fault f = {0};
    size_t bytes = N * dtype_bytes(t);
    void *here = malloc(bytes), *there = malloc(bytes);
    CUdeviceptr device = room(bytes);
    for (size_t i = 0; here && there && i < p->distribution_count; i++) {
        struct distribution d = p->distributions[i];
        for (int scaled = 0; scaled < 2; scaled++) {
            struct seed seed = seed_draw();
            inputs_fill(seed, &d, 1, t, here, N);
            must(kernels_fill(k, seed, &d, 1, t, device, N, &f), &f);
            cu.MemcpyDtoH(there, device, bytes);
            char what[120];
            snprintf(what, sizeof(what), "%s inputs of %s are the host's%s", d.name, dtype_name(t),
                     scaled ? ", scaled" : "");
            ok(!memcmp(here, there, bytes), what);
            d.deviation = 0.3712345;
            d.mean = 1e-3;
        }
    }
    cu.MemFree(device);
    free(here);
    free(there);
}

enum { HEIGHT = 101, WIDTH = 217, CELLS = HEIGHT * WIDTH };

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
static inline void compare_both(const struct kernels *k, enum dtype t, int damage, const char *what)
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
    for (size_t i = 100; damage >= 3 && i < CELLS; i += 919) {
        static const double odd[] = {INFINITY, -INFINITY, NAN, 0, 1e6};
        dtype_store(t, output, i, odd[i % 5]);
        oracle[i] = i % 3 ? oracle[i] : odd[i % 4];
        inputs_poison((char *)output + (i + 1) * dtype_bytes(t), dtype_bytes(t));
    }
    if (damage == 1)
        dtype_store(t, output, CELLS / 2, -1e4);
    const int64_t shape[] = {HEIGHT, WIDTH};
    struct compare_task task = {.name = "C", .dtype = t, .output = output,
                                .oracle_dtype = DTYPE_f64, .oracle = oracle, .ndim = 2,
                                .shape = shape, .rule = {1e-2, 1e-2, 4e-4, false}};
    size_t bytes = CELLS * dtype_bytes(t);
    CUdeviceptr o = room(bytes), y = room(sizeof(oracle));
    cu.MemcpyHtoD(o, output, bytes);
    cu.MemcpyHtoD(y, oracle, sizeof(oracle));
    struct compare_result here, there;
    must(compare(&task, &here, &f), &f);
    task.output = task.oracle = NULL;
    must(gpu_compare(k, &task, o, y, &there, &f), &f);
    bool close = same_sum(here.excess, &there.excess) &&
                 same_sum(here.worst_tile.excess, &there.worst_tile.excess) &&
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
        test_inputs(k, gemm, types[i]);
    for (size_t i = 0; i < 3; i++) {
        compare_both(k, types[i], 0, "a rounded output is judged as on the host");
        compare_both(k, types[i], 1, "one bad element is judged as on the host");
        compare_both(k, types[i], 2, "a coarse output is judged as on the host");
        compare_both(k, types[i], 3, "infinities, NaNs and poison are judged as on the host");
    }
    test_redraw(k, gemm);
    test_canaries(k);
}

#endif
