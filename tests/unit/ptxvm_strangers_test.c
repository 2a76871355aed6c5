/* SPDX-License-Identifier: Apache-2.0
 * Strangers, part one: the language itself, inline PTX, warp intrinsics, printf. */
#include "tests/unit/strangers.h"

#define EACH(count) for (uint32_t i = 0; i < (count); i++)

/* ---- language.cu ---- */

static void virtuals(const uint32_t *in, uint32_t *out)
{
    EACH(128)
    {
        uint32_t x = in[i] & 0xff;
        out[i] = in[i] >> 8 & 1 ? x * i : x * x;
    }
}

static void pointers(const uint32_t *in, uint32_t *out)
{
    EACH(128)
    {
        uint32_t x = in[i] >> 3;
        out[i] = in[i] % 3 == 0 ? 2 * x : in[i] % 3 == 1 ? x * x : x - 1;
    }
}

static void by_value(const uint32_t *in, uint32_t *out)
{
    EACH(128)
    {
        uint32_t x = in[i] & 0xffff;
        out[i] = x + i % 9 + x / 2 + (x & 0xff);
    }
}

static void recursion(const uint32_t *in, uint32_t *out)
{
    static const uint32_t fibonacci[12] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89};
    EACH(128) out[i] = fibonacci[in[i] % 12];
}

static void lambdas(const uint32_t *in, uint32_t *out)
{
    EACH(128)
    {
        uint32_t k = in[i] & 7, x = i;
        for (uint32_t j = 0; j < k + i % 5; j++)
            x = x * 31 + in[j] + k;
        out[i] = x + k * k * k * k * k;
    }
}

static int ascending(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static void local_arrays(const uint32_t *in, uint32_t *out)
{
    EACH(128)
    {
        uint32_t heap[37], first = in[i] % 16;
        for (uint32_t k = 0; k < 37; k++)
            heap[k] = in[(i + k * 7) % 256] & 0xffff;
        first = heap[first] & 0xff;
        qsort(heap, 37, sizeof heap[0], ascending);
        out[i] = heap[i % 37] << 8 | first;
    }
}

static void globals(const uint32_t *in, uint32_t *out)
{
    static const uint32_t primes[8] = {2, 3, 5, 7, 11, 13, 17, 19}, table[4] = {1, 10, 100, 1000};
    static const char *const words[3] = {"alpha", "beta", "gamma"};
    uint32_t counter = 100;
    EACH(128) counter += in[i] & 1;
    EACH(128)
    out[i] =
        primes[in[i] % 8] * table[i % 4] + (uint32_t)words[i % 3][i % 4] + (i == 0 ? counter : 0);
}

static uint32_t switched(const uint32_t *in, uint32_t x)
{
    switch (x % 11) {
    case 0:
        return x + 7;
    case 1:
        return x ^ 0x55;
    case 2:
        return x * 3 - 9;
    case 3:
        return x - 9;
    case 4:
        return x << 3 | x >> 29;
    case 5:
        return ~x;
    case 6:
        for (int k = 0; k < 5; k++)
            x = x * 5 + 1;
        return x;
    case 7:
        return x / 7;
    case 8:
        return x % 1000;
    case 9:
        return in[x % 256];
    default:
        return 42;
    }
}

static void switches(const uint32_t *in, uint32_t *out)
{
    EACH(128) out[i] = switched(in, in[i]);
}

static void divisions(const uint32_t *in, uint32_t *out)
{
    EACH(128)
    {
        uint64_t a = (uint64_t)in[i] << 32 | in[i + 1];
        uint64_t b = (uint64_t)(in[i + 2] >> (i % 32)) << (i % 33) | 1;
        int64_t sa = (int64_t)a, sb = i % 2 ? -(int64_t)(b >> 1) : (int64_t)(b >> 1) + 1;
        sb = sb ? sb : 3;
        uint64_t r = (a / b) ^ (a % b) ^ (uint64_t)(sa / sb) ^ (uint64_t)(sa % sb);
        out[2 * i] = (uint32_t)r;
        out[2 * i + 1] = (uint32_t)(r >> 32);
    }
}

static void language(void **state)
{
    (void)state;
    static const struct stranger rows[] = {
        {"virtuals", 1, 128, false, 128, virtuals, NULL},
        {"pointers", 1, 128, false, 128, pointers, NULL},
        {"by_value", 1, 128, false, 128, by_value, NULL},
        {"recursion", 1, 128, false, 128, recursion, NULL},
        {"lambdas", 1, 128, false, 128, lambdas, NULL},
        {"local_arrays", 1, 128, false, 128, local_arrays, NULL},
        {"globals", 1, 128, false, 128, globals, NULL},
        {"switches", 1, 128, false, 128, switches, NULL},
        {"divisions", 1, 128, false, 256, divisions, NULL},
    };
    STRANGER_ROWS("language", rows);
}

/* ---- inline_ptx.cu ---- */

static uint32_t collatz(uint32_t x)
{
    uint32_t n = 0;
    for (; x > 1 && n < 500; n++)
        x = x & 1 ? 3 * x + 1 : x >> 1;
    return n;
}

static void labels(const uint32_t *in, uint32_t *out)
{
    EACH(96)
    out[i] = collatz(in[i] % 97 + 1) + 1000 * collatz(i + 1) +
             (i % 2 ? 1000000 * (collatz(i * 3) % 10) : 0);
}

static void vectors(const uint32_t *in, uint32_t *out)
{
    EACH(96)
    {
        const uint32_t *v = in + 4 * i;
        out[2 * i] = v[0] ^ v[2];
        out[2 * i + 1] = v[1] + v[3];
    }
}

static void carries(const uint32_t *in, uint32_t *out)
{
    EACH(96)
    {
        uint64_t a = in[4 * i] | (uint64_t)in[4 * i + 1] << 32;
        uint64_t b = in[4 * i + 2] | (uint64_t)in[4 * i + 3] << 32;
        __extension__ unsigned __int128 product = (unsigned __int128)a * b;
        for (int k = 0; k < 4; k++)
            out[4 * i + (uint32_t)k] = (uint32_t)(product >> 32 * k);
    }
}

static void specials(const uint32_t *in, uint32_t *out)
{
    EACH(192)
    {
        uint32_t lane = i % 96 % 32, warp = i % 96 / 32;
        out[i] = lane + 100 * warp + (in[i] << 16 | in[i] >> 16) + ((UINT32_C(1) << lane) - 1);
    }
}

static void inline_ptx(void **state)
{
    (void)state;
    static const struct stranger rows[] = {
        {"labels", 1, 96, false, 96, labels, NULL},
        {"vectors", 1, 96, false, 192, vectors, NULL},
        {"carries", 1, 96, false, 384, carries, NULL},
        {"specials", 2, 96, false, 192, specials, NULL},
    };
    STRANGER_ROWS("inline_ptx", rows);
}

/* ---- warp.cu ---- */

static void shuffles(const uint32_t *in, uint32_t *out)
{
    EACH(64)
    {
        uint32_t lane = i % 32, r = 0;
        const uint32_t *x = in + i / 32 * 32;
        r ^= x[lane * 7 % 32];
        r += lane % 16 >= 3 ? x[lane - 3] : x[lane];
        r ^= (lane % 8 < 3 ? x[lane + 5] : x[lane]) * 3;
        r += x[lane ^ 9];
        uint64_t w = (uint64_t)x[lane ^ 1] << 20;
        r ^= (uint32_t)(w >> 16) + (uint32_t)(int64_t)((double)x[31 - lane] * 0.5);
        if (i % 3 == 0) /* the first lane there is 0 of the first warp, 1 of the second */
            r += x[i / 32];
        out[i] = r;
    }
}

static uint32_t warp_votes(const uint32_t *x, uint32_t lane)
{
    uint32_t ballot = 0, any3 = 0, all = 1, match = 0, add = 0, max = 0, xor = 0, or = 0, and = ~0u;
    int32_t min = INT32_MAX;
    for (uint32_t k = 0; k < 32; k++) {
        ballot |= (x[k] & 1) << k;
        any3 |= (x[k] & 0xff) == 3;
        all &= x[k] != 0;
        match |= (uint32_t)(x[k] % 4 == x[lane] % 4) << k;
        add += x[k] & 0xffff;
        max = x[k] > max ? x[k] : max;
        min = (int32_t)x[k] < min ? (int32_t)x[k] : min;
        xor ^= x[k];
        or |= x[k] & 0xf0f0;
        and &= x[k] | 0xff;
    }
    uint32_t r = ((ballot + any3 * 2 + all) ^ match) + UINT32_MAX + 1;
    r += add + max + (uint32_t)min + xor+ or +and-1; /* match_all gives the mask and 1 */
    return x[lane] & 1 ? r + (uint32_t)__builtin_popcount(ballot) : r;
}

static void votes(const uint32_t *in, uint32_t *out)
{
    uint32_t odd = 0, one = 0;
    EACH(64) odd += in[i] & 1, one |= in[i] == 1;
    EACH(64)
    {
        uint32_t r = warp_votes(in + i / 32 * 32, i % 32) + 1; /* the predicate of match_all */
        out[i] = r + odd + 10 * one + 100;
    }
}

static uint32_t reversed(uint32_t x)
{
    uint32_t r = 0;
    for (int k = 0; k < 32; k++)
        r |= (x >> k & 1) << (31 - k);
    return r;
}

static uint32_t permuted(uint32_t a, uint32_t b, uint32_t s)
{
    uint64_t all = a | (uint64_t)b << 32;
    uint32_t r = 0;
    for (int k = 0; k < 4; k++)
        r |= (uint32_t)(all >> 8 * (s >> 4 * k & 7) & 0xff) << 8 * k;
    return r;
}

static uint32_t leading(uint64_t x, uint32_t bits)
{
    uint32_t n = 0;
    while (n < bits && !(x >> (bits - 1 - n) & 1))
        n++;
    return n;
}

static uint32_t dots(uint32_t a, uint32_t b, uint32_t c,
                     uint32_t what) /* 0 s4, 1 u4, 2 slo, 3 uhi */
{
    for (int k = 0; k < 4; k++) {
        if (what == 0)
            c += (uint32_t)((int8_t)(a >> 8 * k) * (int8_t)(b >> 8 * k));
        if (what == 1)
            c += (uint8_t)(a >> 8 * k) * (uint32_t)(uint8_t)(b >> 8 * k);
        if (what == 2 && k < 2)
            c += (uint32_t)((int16_t)(a >> 16 * k) * (int8_t)(b >> 8 * k));
        if (what == 3 && k < 2)
            c += (uint32_t)(uint16_t)(a >> 16 * k) * (uint8_t)(b >> (16 + 8 * k));
    }
    return c;
}

/* fns: the n-th set bit from `base` on; 1 is the next one at or above. */
static uint32_t set_bit_from(uint32_t x, uint32_t base)
{
    for (uint32_t k = base; k < 32; k++)
        if (x >> k & 1)
            return k;
    return UINT32_MAX;
}

static uint32_t sad(uint32_t a, uint32_t b, bool is_signed)
{
    bool less = is_signed ? (int32_t)a < (int32_t)b : a < b;
    return less ? b - a : a - b;
}

static int32_t low24(uint32_t x)
{
    return (int32_t)(x << 8) >> 8;
}

static void bits(const uint32_t *in, uint32_t *out)
{
    EACH(128)
    {
        uint32_t a = in[i], b = in[i + 1], c = in[i + 2], r = 0;
        uint64_t w = (uint64_t)a << 32 | b;
        r += reversed(a) ^ leading(a >> (b & 31), 32) ^ (uint32_t)__builtin_ffs((int)b) ^
             (uint32_t)__builtin_popcountll(w);
        uint64_t back = (uint64_t)reversed(b) << 32 | reversed(a);
        r += leading(w >> (c & 63), 64) + (uint32_t)__builtin_ffsll((long long)w) +
             (uint32_t)(back >> 17);
        uint32_t right = c & 63 & 63;
        r ^= permuted(a, b, c & 0x7777) + (uint32_t)(((uint64_t)b << 32 | a) << (c & 31) >> 32) +
             (uint32_t)(((uint64_t)b << 32 | a) >> (right > 32 ? 32 : right));
        __extension__ unsigned __int128 square = (unsigned __int128)w * (w >> 3);
        r += (uint32_t)((uint64_t)a * b >> 32) ^
             (uint32_t)((uint64_t)((int64_t)(int32_t)a * (int32_t)b) >> 32) ^
             (uint32_t)(uint64_t)(square >> 64) ^ (uint32_t)((int64_t)low24(a) * low24(b)) ^
             (a & 0xffffff) * (c & 0xffffff);
        r += sad(a, b, false) + c + sad(a, b, true) + c +
             (uint32_t)(((int64_t)(int32_t)a + (int32_t)b) >> 1) +
             (uint32_t)(((uint64_t)a + b + 1) >> 1);
        r ^= dots(a, b, c, 0) + dots(a, b, c, 1) + dots(a, b, c, 2) + dots(a, b, c, 3);
        out[i] = r + set_bit_from(a, b & 31);
    }
}

/* ---- SIMD in a word: every part by a function of two numbers ---- */

typedef int64_t part_fn(int64_t x, int64_t y);

static uint32_t parts(uint32_t a, uint32_t b, int bits_each, bool is_signed, part_fn *f)
{
    uint32_t r = 0, mask = bits_each == 8 ? 0xff : 0xffff;
    for (int k = 0; k < 32; k += bits_each) {
        int64_t x = a >> k & mask, y = b >> k & mask, top = (int64_t)(mask + 1) / 2;
        if (is_signed)
            x = (x ^ top) - top, y = (y ^ top) - top;
        r |= ((uint32_t)f(x, y) & mask) << k;
    }
    return r;
}

static int64_t clamp(int64_t v, int64_t lo, int64_t hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

#define PART(name, value)                                                                          \
    static int64_t name(int64_t x, int64_t y)                                                      \
    {                                                                                              \
        (void)x, (void)y;                                                                          \
        return value;                                                                              \
    }
PART(add, x + y)
PART(sub, x - y)
PART(add_s8, clamp(x + y, -128, 127))
PART(add_u16, clamp(x + y, 0, 65535))
PART(sub_s16, clamp(x - y, -32768, 32767))
PART(sub_u8, clamp(x - y, 0, 255))
PART(distance, x > y ? x - y : y - x)
PART(average, (x + y + 1) >> 1)
PART(average_s, (x + y + (x + y >= 0)) >> 1)
PART(half_sum, (x + y) >> 1)
PART(greater_of, x > y ? x : y)
PART(less_of, x < y ? x : y)
PART(equal_mask, x == y ? -1 : 0)
PART(greater_mask, x > y ? -1 : 0)
PART(less_one_bit, x < y)
PART(magnitude, x < 0 ? -x : x)
PART(negative, -y)
PART(magnitude_s16, clamp(x < 0 ? -x : x, 0, 32767))

static uint32_t part_sum(uint32_t v, int bits_each)
{
    uint32_t sum = 0;
    for (int k = 0; k < 32; k += bits_each)
        sum += v >> k & (bits_each == 8 ? 0xff : 0xffff);
    return sum;
}

static int64_t relu(int64_t v)
{
    return v < 0 ? 0 : v;
}

static uint32_t three_of_16(uint32_t a, uint32_t b, uint32_t c, bool sums)
{
    uint32_t r = 0;
    for (int k = 0; k < 32; k += 16) {
        int16_t x = (int16_t)(a >> k), y = (int16_t)(b >> k), z = (int16_t)(c >> k);
        int16_t s = (int16_t)(x + y);
        int64_t v = sums ? relu(s < z ? s : z) : (x < y ? x : y) < z ? (x < y ? x : y) : z;
        r |= ((uint32_t)v & 0xffff) << k;
    }
    return r;
}

static void simd(const uint32_t *in, uint32_t *out)
{
    EACH(128)
    {
        uint32_t a = in[i], b = in[i + 1], c = in[i + 2], r = 0;
        r += parts(a, b, 8, false, add) ^ parts(a, b, 16, false, sub) ^
             parts(a, b, 8, true, add_s8) ^ parts(a, b, 16, false, add_u16) ^
             parts(a, b, 16, true, sub_s16) ^ parts(a, b, 8, false, sub_u8);
        r += parts(a, b, 8, false, distance) ^ parts(a, b, 16, true, distance) ^
             parts(a, b, 8, false, average) ^ parts(a, b, 16, true, average_s) ^
             parts(a, b, 16, false, half_sum);
        r += parts(a, b, 8, true, greater_of) ^ parts(a, b, 16, false, less_of) ^
             parts(a, b, 8, false, equal_mask) ^ parts(a, b, 16, true, greater_mask) ^
             parts(a, b, 8, false, less_one_bit);
        r += part_sum(parts(a, b, 8, true, distance), 8) ^
             part_sum(parts(a, b, 16, false, distance), 16) ^ parts(a, a, 8, true, magnitude) ^
             parts(b, b, 16, true, negative) ^ parts(c, c, 16, true, magnitude_s16);
        int32_t sum = (int32_t)(a + b);
        uint32_t most = a > b ? a : b;
        r += (uint32_t)(sum > (int32_t)c ? sum : (int32_t)c) ^ (most > c ? most : c) ^
             three_of_16(a, b, c, true) ^ three_of_16(a, b, c, false);
        out[i] = r;
    }
}

static void warp(void **state)
{
    (void)state;
    static const struct stranger rows[] = {
        {"shuffles", 1, 64, false, 64, shuffles, NULL},
        {"votes", 1, 64, false, 64, votes, NULL},
        {"bits", 1, 128, false, 128, bits, NULL},
        {"simd", 1, 128, false, 128, simd, NULL},
    };
    STRANGER_ROWS("warp", rows);
}

/* ---- printing.cu ---- */

static void printed(const uint32_t *in, const uint32_t *out, const char *log)
{
    (void)in;
    static const char want[] =
        "-3 4 5 beef BEEF 10 z|   42|42   |00042|+42| 42|0xff\n"
        "1.500000 0.667 1.234568e+04 0.0001 1E+20     3.14|2.5     |0x1p+0\n"
        "text|     right|left  |cu|%\n-5000000000 5000000000 -6 7 -8 -9 10 0x1234\n"
        "     7 1.24\n0.100000001 12345678910\n";
    assert_string_equal(log, want);
    (void)out;
}

static void printing(void **state)
{
    (void)state;
    static const struct stranger rows[] = {{"prints", 1, 32, false, 0, NULL, printed}};
    STRANGER_ROWS("printing", rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(language),
        cmocka_unit_test(inline_ptx),
        cmocka_unit_test(warp),
        cmocka_unit_test(printing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
