/* SPDX-License-Identifier: Apache-2.0
 * Strangers, part two: cooperative groups, atomics and cuda::std, barriers, pipelines, cuda::ptx.
 */
#include "tests/unit/strangers.h"

#include <math.h>

#define EACH(count) for (uint32_t i = 0; i < (count); i++)

/* ---- groups.cu ---- */

static void tiles(const uint32_t *in, uint32_t *out)
{
    EACH(64)
    {
        const uint32_t *warp = in + i / 32 * 32, *quarter = in + i / 8 * 8;
        uint32_t sum = 0, max = 0, up_to = 0, before = 0, ballot = 0, five = 0, bytes = 0;
        for (uint32_t k = 0; k < 32; k++) {
            sum += warp[k];
            before += k < i % 32 ? warp[k] & 0xff : 0;
            five |= warp[k] == 5;
        }
        for (uint32_t k = 0; k < 8; k++) {
            max = quarter[k] > max ? quarter[k] : max;
            up_to += k <= i % 8 ? quarter[k] : 0;
            ballot |= (quarter[k] & 1) << k;
            bytes += quarter[k] & 0xff;
        }
        uint32_t r = (sum ^ max) + up_to + before;
        r ^= quarter[3] + i % 32 / 8 + ballot + five;
        out[i] = r + bytes;
    }
}

/* What a lane sees of the lanes of its warp that `same` says are with it. */
static void coalesced(const uint32_t *in, uint32_t *out)
{
    EACH(64)
    {
        const uint32_t *x = in + i / 32 * 32;
        uint32_t lane = i % 32, r = 0, odd = 0, odd_rank = 0, first = 0, odd_sum = 0;
        uint32_t third = 0, third_rank = 0, half = 0, half_xor = 0;
        for (uint32_t k = 32; k-- > 0;) {
            bool is_odd = x[k] & 1, is_third = x[k] % 3 == x[lane] % 3;
            bool is_half = (x[k] >> 4 & 1) == (x[lane] >> 4 & 1);
            odd += is_odd, odd_rank += is_odd && k < lane, odd_sum += is_odd ? x[k] & 0xff : 0;
            first = is_odd ? x[k] : first;
            third += is_third, third_rank += is_third && k < lane;
            half += is_half, half_xor ^= is_half ? x[k] & 15 : 0;
        }
        if (x[lane] & 1)
            r = odd * 100 + odd_rank + first + odd_sum;
        out[i] = r + third + 7 * third_rank + 1000 * half + half_xor;
    }
}

static void clusters(const uint32_t *in, uint32_t *out)
{
    EACH(512)
    {
        uint32_t block = i / 64, base = block / 4 * 4, total = 0;
        /* what lies in block r, slot i, was computed by block r - 1 */
        for (uint32_t k = 0; k < 4; k++)
            total = total * 3 + in[(base + k) * 64 + (i + k) % 64];
        out[i] = total + block % 4;
    }
}

static void whole_grid(const uint32_t *in, uint32_t *out)
{
    enum { THREADS = 8 * 64 };
    uint32_t sum = 0, all = 0;
    EACH(THREADS) sum += in[i] & 0xff;
    for (int round = 0; round < 4; round++) {
        all += sum;
        EACH(THREADS) out[i] = out[i] * 5 + all;
    }
}

static void staged(const uint32_t *in, uint32_t *out)
{
    EACH(128) out[i] = in[(i * 5 + 1) % 256];
    out[300] = in[0];
}

static void groups(void **state)
{
    (void)state;
    static const struct stranger rows[] = {
        {"tiles", 1, 64, false, 64, tiles, NULL},
        {"coalesced", 1, 64, false, 64, coalesced, NULL},
        {"clusters", 8, 64, false, 512, clusters, NULL},
        {"whole_grid", 8, 64, true, 512, whole_grid, NULL},
        {"staged", 1, 128, false, 301, staged, NULL},
    };
    STRANGER_ROWS("groups", rows);
}

/* ---- atomics.cu ---- */

enum { UPDATES = 4 * 96 };

static void store_wide(uint32_t *out, const void *value)
{
    memcpy(out, value, 8);
}

static void updates(const uint32_t *in, uint32_t *out)
{
    uint64_t sum = 0;
    int64_t min = 0;
    float f = 0, ones = 0;
    double d = 0;
    EACH(UPDATES)
    {
        uint32_t x = in[i];
        out[0] += x;
        out[1] -= x;
        out[3] = x > out[3] ? x : out[3];
        out[4] ^= x;
        out[5] |= x & 0x0f0f;
        sum += (uint64_t)x << 16;
        f += (float)(x & 0xff), d += x & 0xff, ones += 1;
        out[18] += x & 15;
        out[19] ^= x;
        out[20] += 3;
        min = -(int64_t)(x & 0xffff) < min ? -(int64_t)(x & 0xffff) : min;
    }
    out[7] = UPDATES % 100;
    out[8] = (100 - UPDATES % 100) % 100;
    store_wide(&out[10], &sum);
    memcpy(&out[12], &f, 4);
    store_wide(&out[14], &d);
    out[16] = 5;
    out[17] = 77;
    out[21] = UPDATES;
    out[22] = (UPDATES & 0xff) << 8;
    memcpy(&out[23], &ones, 4);
    store_wide(&out[24], &min);
}

static void locks(const uint32_t *in, uint32_t *out)
{
    (void)in;
    EACH(2 * 48) out[0] = out[0] * 3 + 1;
}

static void turns(const uint32_t *in, uint32_t *out)
{
    EACH(8) out[i + 1] = out[i] * 7 + in[7 - i];
}

static void wide(const uint32_t *in, uint32_t *out)
{
    uint64_t lo = 0, hi = 4 * 64;
    EACH(4 * 64) lo += in[i];
    store_wide(out, &lo);
    store_wide(out + 2, &hi);
}

static int ascending(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static void containers(const uint32_t *in, uint32_t *out)
{
    EACH(64)
    {
        uint32_t x = in[i], a[8], bits = (uint32_t)__builtin_popcount(x), k = x & 3;
        for (uint32_t j = 0; j < 8; j++)
            a[j] = in[(i + j) % 256] & 0xff;
        qsort(a, 8, sizeof a[0], ascending);
        uint32_t r = a[2] + 3 * a[7] + (x & 1 ? x >> 1 : 9) + bits + i;
        r += x & 2 ? (uint32_t)((uint64_t)x << 20 >> 3) : (x & 0xfff) >> 3;
        out[i] = r + (1 - k * k) + 2 * k + (uint32_t)__builtin_clz(x | 1);
    }
}

static void latches(const uint32_t *in, uint32_t *out)
{
    uint32_t sum = 0;
    EACH(64) sum += in[i] & 0xff;
    EACH(64) out[i] = sum + 1;
}

static void atomics(void **state)
{
    (void)state;
    static const struct stranger rows[] = {
        {"updates", 4, 96, false, 26, updates, NULL},
        {"locks", 2, 48, false, 1, locks, NULL},
        {"turns", 8, 32, false, 9, turns, NULL},
        {"wide", 4, 64, false, 4, wide, NULL},
        {"containers", 1, 64, false, 64, containers, NULL},
        {"latches", 1, 64, false, 64, latches, NULL},
    };
    STRANGER_ROWS("atomics", rows);
}

/* ---- barriers.cu ---- */

static void arrive_and_wait(const uint32_t *in, uint32_t *out)
{
    uint32_t x[128], next[128];
    memcpy(x, in, sizeof x);
    for (int round = 0; round < 5; round++) {
        EACH(128) next[i] = x[i] + x[(i + 1) % 128];
        memcpy(x, next, sizeof x);
    }
    EACH(64) out[i] = x[i];
    EACH(64) out[64 + i] = x[64 + (i + 1) % 64];
}

static void bulk_copies(const uint32_t *in, uint32_t *out)
{
    EACH(256) out[i] = out[256 + i] = in[i] * 2 + 1;
}

static void transactions(const uint32_t *in, uint32_t *out)
{
    EACH(64) for (uint32_t k = 0; k < 6; k++) out[i] = out[i] * 3 + in[64 * k + (i + k) % 64];
}

static void pipelines(const uint32_t *in, uint32_t *out)
{
    EACH(128) for (uint32_t k = 0; k < 8; k++) out[i] = out[i] * 5 + in[128 * k + (i + k) % 128];
}

static void producers(const uint32_t *in, uint32_t *out)
{
    EACH(32) for (uint32_t k = 0; k < 8; k++) out[i] = out[i] * 5 + in[32 * k + (i + k) % 32];
}

static void thread_pipeline(const uint32_t *in, uint32_t *out)
{
    EACH(64) for (uint32_t k = 0; k < 8; k++) out[i] = out[i] * 5 + in[64 * k + i];
}

static void remote(const uint32_t *in, uint32_t *out)
{
    EACH(128)
    {
        uint32_t block = i / 32, lane = i % 32;
        out[i] = in[(block ^ 1) * 32 + 31 - lane] + 5 + block % 2 + 10 * lane;
    }
}

static void barriers(void **state)
{
    (void)state;
    static const struct stranger rows[] = {
        {"arrive_and_wait", 1, 128, false, 128, arrive_and_wait, NULL},
        {"bulk_copies", 1, 128, false, 512, bulk_copies, NULL},
        {"transactions", 1, 64, false, 64, transactions, NULL},
        {"pipelines", 1, 128, false, 128, pipelines, NULL},
        {"producers", 1, 64, false, 32, producers, NULL},
        {"thread_pipeline", 1, 64, false, 64, thread_pipeline, NULL},
        {"remote", 4, 32, false, 128, remote, NULL},
    };
    STRANGER_ROWS("barriers", rows);
}

/* ---- libraries.cu ---- */

static void blocks(const uint32_t *in, uint32_t *out)
{
    uint32_t sum = 0;
    memcpy(out, in, 512 * 4);
    qsort(out, 512, 4, ascending);
    EACH(128)
    {
        out[512 + i] = sum;
        sum += in[i];
    }
    out[640] = sum;
}

/* Nearest value of a format without infinities, ties to even, clamped: sign, exponent, mantissa. */
static uint32_t small_bits(double v, int exponents, int mantissas, double *value)
{
    uint32_t best = 0, all = 1u << (exponents + mantissas);
    double nearest = 1e9;
    int bias = (1 << (exponents - 1)) - 1;
    *value = 0;
    for (uint32_t k = 0; k < all; k++) {
        int e = (int)(k >> mantissas), m = (int)(k & ((1u << mantissas) - 1));
        double x =
            e ? ldexp(m + (1 << mantissas), e - bias - mantissas) : ldexp(m, 1 - bias - mantissas);
        double distance = fabs(x - fabs(v));
        if (distance < nearest || (distance == nearest && k % 2 == 0))
            best = k, nearest = distance, *value = v < 0 ? -x : x;
    }
    return best | (v < 0 ? all : 0);
}

static void narrow(const uint32_t *in, uint32_t *out)
{
    EACH(64)
    {
        double v = (double)(in[i] % 64) * 0.25 - 8, a, b, c;
        uint32_t ua = small_bits(v, 3, 2, &a), ub = small_bits(v, 2, 3, &b);
        out[i] = ua | ub << 8 | small_bits(v, 2, 1, &c) << 16;
        float sum = (float)(a + b + c);
        memcpy(&out[64 + i], &sum, 4);
        for (uint32_t k = 0; k < 8; k++)
            out[128 + i] = out[128 + i] * 3 + in[8 * k + i % 8];
    }
}

/* Philox 4x32-10 of Salmon et al. (2011): key is the seed, the counter's upper half the sequence.
 */
static void random_numbers(const uint32_t *in, uint32_t *out)
{
    EACH(64)
    {
        uint32_t c[4] = {0, 0, i, 0}, key[2] = {in[0], 0};
        for (int round = 0; round < 10; round++) {
            uint64_t p = UINT64_C(0xd2511f53) * c[0], q = UINT64_C(0xcd9e8d57) * c[2];
            uint32_t next[4] = {(uint32_t)(q >> 32) ^ c[1] ^ key[0], (uint32_t)q,
                                (uint32_t)(p >> 32) ^ c[3] ^ key[1], (uint32_t)p};
            memcpy(c, next, sizeof c);
            key[0] += 0x9e3779b9, key[1] += 0xbb67ae85;
        }
        memcpy(out + 4 * i, c, sizeof c);
    }
}

static void libraries(void **state)
{
    (void)state;
    static const struct stranger rows[] = {
        {"blocks", 1, 128, false, 641, blocks, NULL},
        {"narrow", 1, 64, false, 192, narrow, NULL},
        {"random_numbers", 1, 64, false, 256, random_numbers, NULL},
    };
    STRANGER_ROWS("libraries", rows);
}

/* ---- apart.cu ---- */

static void branches(const uint32_t *in, uint32_t *out)
{
    EACH(64)
    {
        uint32_t sum = 0, greatest = 1;
        for (uint32_t k = i / 32 * 32; k < i / 32 * 32 + 32; k++) {
            uint32_t x = in[k] & 0xffff, y = x % 3 == 0 ? x : x % 3 == 1 ? x / 2 : 1;
            sum += x & 1 ? x : 2 * x;
            greatest = y > greatest ? y : greatest;
        }
        out[i] = sum + greatest;
    }
}

static void overridden(const uint32_t *in, uint32_t *out)
{
    EACH(64) out[i] = (in[i ^ 1] + 1) * (1 + (in[i] & 1));
}

static void apart(void **state)
{
    (void)state;
    static const struct stranger rows[] = {
        {"branches", 1, 64, false, 64, branches, NULL},
        {"overridden", 1, 64, false, 64, overridden, NULL},
    };
    STRANGER_ROWS("apart", rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups),    cmocka_unit_test(atomics), cmocka_unit_test(barriers),
        cmocka_unit_test(libraries), cmocka_unit_test(apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
