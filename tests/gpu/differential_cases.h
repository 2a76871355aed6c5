/* SPDX-License-Identifier: Apache-2.0
 * Kernels of one instruction each, as data: PTX, launch, inputs, and how near two machines must
 * come. tests/gpu/differential.c runs them on a GPU and on ptxvm with the same inputs;
 * tests/unit/ptxvm_differential_test.c runs them on ptxvm alone and holds the results against those
 * that a GPU gave (tests/data/differential).
 *
 * Every kernel has the parameters (tensor map, in, out). */
#ifndef TESTS_GPU_DIFFERENTIAL_CASES_H
#define TESTS_GPU_DIFFERENTIAL_CASES_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "core/plan.h"
#include "core/util.h"

/* How results are compared. Bits, unless there is a bound; `nans`: any NaN of the type will do,
 * where the manual leaves its bits open. */
struct diff_rule {
    char type; /* of a result: 'u' bits, 'f' f32, 'd' f64, 'h' f16, 'b' bf16 */
    double rel, abs;
    bool nans;
};

#define BITS                                                                                       \
    {                                                                                              \
        'u', 0, 0, false                                                                           \
    }
#define NANS(type)                                                                                 \
    {                                                                                              \
        type, 0, 0, true                                                                           \
    }
#define NEAR(type, rel, abs)                                                                       \
    {                                                                                              \
        type, rel, abs, true                                                                       \
    }

struct diff_case {
    const char *group;
    char name[600]; /* the instruction; unique */
    char entry[16];
    char *ptx; /* the entry, without the head of a module; owned */
    unsigned grid, block, shared_bytes;
    size_t in_bytes, out_bytes;
    char in_fill[4];            /* kinds of the operands a, b, c: see diff_fill */
    size_t part_bytes[3];       /* of `in`; part_bytes[0] 0: triples of 8 bytes */
    char out_fill;              /* 0: zeros */
    struct plan_tensor_map map; /* rank 0: none */
    bool map_of_out;
    struct diff_rule rule;
};

struct diff_cases {
    struct diff_case *items;
    size_t count, cap;
};

#define DIFF_HEAD                                                                                  \
    ".version 9.0\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 dynamic[];\n"

static inline struct diff_case *diff_add(struct diff_cases *all, const char *group)
{
    if (all->count == all->cap) {
        all->cap = all->cap ? 2 * all->cap : 256;
        all->items = realloc(all->items, all->cap * sizeof(*all->items));
        if (!all->items)
            abort();
    }
    struct diff_case *c = &all->items[all->count];
    *c = (struct diff_case){.group = group, .grid = 1, .block = 32};
    snprintf(c->entry, sizeof(c->entry), "k%zu", all->count++);
    return c;
}

static inline void diff_free(struct diff_cases *all)
{
    for (size_t i = 0; i < all->count; i++)
        free(all->items[i].ptx);
    free(all->items);
}

/* Opens the entry of a case. */
static inline void diff_begin(struct buf *b, const struct diff_case *c, const char *directives)
{
    buf_init(b, 1 << 20);
    buf_addf(
        b,
        ".visible .entry %s(.param .align 64 .b8 map[128], .param .u64 in, .param .u64 out)%s\n{\n",
        c->entry, directives);
}

static inline void diff_end(struct buf *b, struct diff_case *c)
{
    buf_adds(b, "ret;\n}\n");
    c->ptx = buf_take(b, NULL);
    buf_release(b);
}

/* ---- inputs ---- */

static inline uint64_t diff_mix(uint64_t h, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        h = (h ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u; /* FNV-1a */
    return h;
}

/* Of a case's inputs: from its name, so that a new row changes no other. */
static inline uint64_t diff_seed(const struct diff_case *c)
{
    return diff_mix(0xcbf29ce484222325u, c->name, strlen(c->name));
}

static inline uint64_t diff_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    uint64_t x = *state ^ *state >> 29;
    return x * 0x9e3779b97f4a7c15u;
}

/* A float of e exponent and m fraction bits, of one of eight classes in turn: edges, any bits, near
 * one, halves of small integers, subnormal, large, … */
static inline uint64_t diff_float(int e, int m, unsigned class, uint64_t r)
{
    uint64_t bias = (UINT64_C(1) << (e - 1)) - 1, mask = (UINT64_C(1) << m) - 1,
             ones = 2 * bias + 1;
    uint64_t fraction = r & mask, sign = (r >> 63) << (e + m), n = r >> 53 & 63;
    const uint64_t edges[8] = {0,
                               1,
                               bias << m,
                               ones << m,
                               ones << m | 1,
                               (ones << m) - 1,
                               UINT64_C(1) << (m - 1),
                               UINT64_C(1) << m};
    switch (class % 8) {
    case 0:
        return sign | edges[n % 8];
    case 1:
        return r & (sign | ones << m | mask);
    case 2:
        return sign | (bias + n % 3 - 1) << m | fraction;
    case 3: /* n / 2: ties of the conversions to integers */
        if (n < 2)
            return sign | (n ? (bias - 1) << m : 0);
        for (int k = 5;; k--)
            if (n >> k)
                return sign | (bias + (uint64_t)k - 1) << m | ((n << (m - k)) & mask);
    case 4:
        return sign | fraction >> n % (uint64_t)m;
    case 5:
        return sign | (bias + (n < bias / 2 ? n : n % bias / 2)) << m | fraction;
    case 6:
        return sign | (bias + n % 16 - 8) << m | fraction;
    default:
        return sign | (bias + n % 4) << m | (fraction >> m / 2 << m / 2);
    }
}

static inline uint32_t diff_float_bits(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof(bits));
    return bits;
}

/* A small number, a whole one if `exact`, in a format of e exponent and m fraction bits. */
static inline uint64_t diff_small(int e, int m, bool exact, uint64_t r)
{
    int n = (int)(r >> 20 & 15) % 9 - 4; /* -4 … 4: every format holds them */
    if (!exact)
        return (r >> 63) << (e + m) | ((UINT64_C(1) << (e - 1)) - 2 - (r >> 40 & 1)) << m |
               (r & ((UINT64_C(1) << m) - 1));
    double v = n;
    uint64_t bits;
    memcpy(&bits, &v, sizeof(bits));
    if (!n)
        return 0;
    uint64_t exponent = (bits >> 52 & 0x7ff) - 1023 + (UINT64_C(1) << (e - 1)) - 1;
    return (uint64_t)(n < 0) << (e + m) | exponent << m | (bits & 0xfffffffffffff) >> (52 - m);
}

/* Eight bytes of operands. All kinds of values: i integers, f f32, d f64, h f16, b bf16, x any
 * bits, p f32 in half a turn. Small ones, for products, whole if `exact`: H f16, B bf16, T tf32, E
 * e4m3, G e5m2, F f32, D f64. */
static inline uint64_t diff_value(char kind, bool exact, size_t i, uint64_t *state)
{
    static const uint64_t edge[16] = {0,
                                      1,
                                      2,
                                      0x7f,
                                      0x80,
                                      0xffff,
                                      0x7fffffff,
                                      0x80000000,
                                      0xffffffff,
                                      0x7f800000,
                                      0x8000,
                                      0x3f800000,
                                      0x7fffffffffffffff,
                                      0x8000000000000000,
                                      0xffffffffffffffff,
                                      31};
    uint64_t r = diff_random(state), out = 0;
    unsigned class = (unsigned)(r >> 45 & 7);
    switch (kind) {
    case 'i':
        return i % 4 == 0 ? edge[r >> 40 & 15] : i % 4 == 1 ? (r >> 20 & 63) : r;
    case 'f':
        return diff_float(8, 23, class, r);
    case 'd':
        return diff_float(11, 52, class, r);
    case 'p':
        return diff_float_bits((float)((double)(int64_t)r * (3.141592 / 9223372036854775808.0)));
    case 'h':
    case 'b':
        for (int k = 0; k < 4; k++, r = diff_random(state))
            out |= (kind == 'h' ? diff_float(5, 10, (unsigned)(r >> 45 & 7), r)
                                : diff_float(8, 7, (unsigned)(r >> 45 & 7), r))
                   << (16 * k);
        return out;
    case 'H':
    case 'B':
        for (int k = 0; k < 4; k++, r = diff_random(state))
            out |= (kind == 'H' ? diff_small(5, 10, exact, r) : diff_small(8, 7, exact, r))
                   << (16 * k);
        return out;
    case 'E':
    case 'G':
        for (int k = 0; k < 8; k++, r = diff_random(state))
            out |= (kind == 'E' ? diff_small(4, 3, exact, r) : diff_small(5, 2, exact, r))
                   << (8 * k);
        return out;
    case 'T':
    case 'F':
        for (int k = 0; k < 2; k++, r = diff_random(state))
            out |= (diff_small(8, 23, exact, r) & (kind == 'T' ? 0xffffe000 : 0xffffffff))
                   << (32 * k);
        return out;
    case 'D':
        return diff_small(11, 52, exact, r);
    case 'x':
        return r;
    default:
        return 0;
    }
}

/* Fills parts of `in` (or triples of operands) with the kinds of the case. A digit 1 in fill[3]
 * means whole numbers. */
static inline void diff_fill(const struct diff_case *c, uint64_t seed, unsigned char *in)
{
    uint64_t state = seed * 977 + 5;
    size_t words = c->in_bytes / 8;
    for (size_t i = 0; i < words; i++) {
        int part = (int)(i % 3);
        if (c->part_bytes[0]) {
            size_t at = 8 * i;
            for (part = 0; part < 2 && at >= c->part_bytes[part]; part++)
                at -= c->part_bytes[part];
        }
        uint64_t v = diff_value(c->in_fill[part], c->in_fill[3] == '1', i / 3, &state);
        memcpy(in + 8 * i, &v, 8);
    }
}

static inline void diff_fill_out(const struct diff_case *c, uint64_t seed, unsigned char *out)
{
    uint64_t state = seed * 31 + 1;
    memset(out, 0, c->out_bytes);
    for (size_t i = 0; c->out_fill && i < c->out_bytes / 8; i++) {
        uint64_t v = diff_value(c->out_fill, true, i, &state);
        memcpy(out + 8 * i, &v, 8);
    }
}

/* ---- comparison ---- */

static inline unsigned diff_element_bytes(char type)
{
    return type == 'd' ? 8 : type == 'f' ? 4 : type == 'u' ? 1 : 2;
}

static inline double diff_read(char type, const unsigned char *at)
{
    switch (type) {
    case 'd':
        return dtype_load(DTYPE_f64, at, 0);
    case 'f':
        return dtype_load(DTYPE_f32, at, 0);
    case 'h':
        return dtype_load(DTYPE_f16, at, 0);
    default:
        return dtype_load(DTYPE_bf16, at, 0);
    }
}

static inline bool diff_same(const struct diff_rule *r, const unsigned char *a,
                             const unsigned char *b)
{
    unsigned n = diff_element_bytes(r->type);
    if (!memcmp(a, b, n))
        return true;
    if (r->type == 'u')
        return false;
    double x = diff_read(r->type, a), y = diff_read(r->type, b);
    if (x != x || y != y)
        return r->nans && x != x && y != y;
    double d = x > y ? x - y : y - x, size = y < 0 ? -y : y;
    return d <= r->rel * size + r->abs; /* infinities differ by NaN or infinity: not near */
}

/* Elements of `a` that are not as the rule wants; *first is the offset of the first. */
static inline size_t diff_compare(const struct diff_case *c, const unsigned char *a,
                                  const unsigned char *b, size_t *first)
{
    size_t bad = 0, n = diff_element_bytes(c->rule.type);
    for (size_t i = 0; i + n <= c->out_bytes; i += n)
        if (!diff_same(&c->rule, a + i, b + i) && !bad++)
            *first = i;
    return bad;
}

/* Of a result whose bits are fixed; NaNs of open bits count as one. 0: nothing is fixed. */
static inline uint64_t diff_hash(const struct diff_case *c, const unsigned char *out)
{
    uint64_t h = 0xcbf29ce484222325u;
    unsigned n = diff_element_bytes(c->rule.type);
    if (c->rule.rel != 0 || c->rule.abs != 0)
        return 0;
    for (size_t i = 0; i + n <= c->out_bytes; i += n) {
        double v = c->rule.nans ? diff_read(c->rule.type, out + i) : 0;
        h = v != v ? diff_mix(h, "NaN", 3) : diff_mix(h, out + i, n);
    }
    return h;
}

#endif
