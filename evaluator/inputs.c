// SPDX-License-Identifier: Apache-2.0
#include "evaluator/inputs.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "core/util.h"

enum { BLOCK_ELEMENTS = 8, ROUNDS = 10 };

struct seed seed_draw(void)
{
    struct seed s;
    random_bytes(&s, sizeof(s));
    return s;
}

void seed_text(struct seed s, char out[SEED_TEXT])
{
    uint8_t bytes[SEED_BYTES];
    for (int i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)(s.high >> (56 - 8 * i));
        bytes[8 + i] = (uint8_t)(s.low >> (56 - 8 * i));
    }
    hex_encode(bytes, SEED_BYTES, out);
}

bool seed_parse(const char *text, struct seed *out)
{
    uint8_t bytes[SEED_BYTES];
    if (!hex_decode(text, bytes, SEED_BYTES))
        return false;
    *out = (struct seed){0};
    for (int i = 0; i < 8; i++) {
        out->high = out->high << 8 | bytes[i];
        out->low = out->low << 8 | bytes[8 + i];
    }
    return true;
}

/* Ten rounds of Philox4x32; the constants are those of the paper. */
static void philox(uint32_t c[4], uint32_t k0, uint32_t k1)
{
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t p0 = (uint64_t)c[0] * 0xd2511f53u, p1 = (uint64_t)c[2] * 0xcd9e8d57u;
        uint32_t next[4] = {(uint32_t)(p1 >> 32) ^ c[1] ^ k0, (uint32_t)p1,
                            (uint32_t)(p0 >> 32) ^ c[3] ^ k1, (uint32_t)p0};
        memcpy(c, next, sizeof(next));
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
}

/* x with Phi(x) = p, by Newton's method on the complementary error function. p in (0, 1/2]. */
static double quantile(double p, double start)
{
    double x = start;
    for (int i = 0; i < 60; i++) {
        double value = 0.5 * erfc(-x * M_SQRT1_2) - p;
        double slope = exp(-0.5 * x * x) * M_2_SQRTPI * M_SQRT1_2 / 2;
        double step = value / slope;
        step = step > 0.5 ? 0.5 : step < -0.5 ? -0.5 : step;
        x -= step;
        if (fabs(step) < 1e-15)
            break;
    }
    return x;
}

static float normal_table[NORMAL_TABLE];

static void make_normal_table(void)
{
    double x = 0;
    for (int i = NORMAL_TABLE / 2 - 1; i >= 0; i--) {
        x = quantile((i + 0.5) / NORMAL_TABLE, x);
        float rounded = bf16_to_float(bf16_from_double(x));
        normal_table[i] = rounded;
        normal_table[NORMAL_TABLE - 1 - i] = -rounded;
    }
}

const float *inputs_normal_table(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_normal_table);
    return normal_table;
}

/* The words of eight elements; `stream`: 0, SPIKE_WHETHER or SPIKE_SIZE. */
static void draw_block(struct seed s, unsigned tensor, uint32_t stream, uint64_t block,
                       uint16_t words[BLOCK_ELEMENTS])
{
    uint32_t c[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)s.high,
                     (uint32_t)(s.high >> 32) ^ tensor ^ stream};
    philox(c, (uint32_t)s.low, (uint32_t)(s.low >> 32));
    for (int j = 0; j < BLOCK_ELEMENTS; j++)
        words[j] = (uint16_t)(c[j / 2] >> (16 * (j % 2)));
}

static double value_of(const struct distribution *d, uint32_t u)
{
    if (d->kind == DISTRIBUTION_INTEGERS)
        return (double)(d->low + (u * (d->high - d->low + 1) >> 16));
    return d->mean + d->deviation * (double)normal_table[u];
}

void inputs_fill_range(struct seed s, const struct distribution *d, unsigned tensor, enum dtype t,
                       void *out, int64_t first, int64_t n)
{
    inputs_normal_table();
    for (int64_t done = 0; done < n; done += BLOCK_ELEMENTS) {
        uint64_t block = (uint64_t)(first + done) / BLOCK_ELEMENTS;
        uint16_t words[BLOCK_ELEMENTS], whether[BLOCK_ELEMENTS], size[BLOCK_ELEMENTS];
        bool spiky = d->kind == DISTRIBUTION_SPIKY;
        draw_block(s, tensor, 0, block, words);
        if (spiky) {
            draw_block(s, tensor, SPIKE_WHETHER, block, whether);
            draw_block(s, tensor, SPIKE_SIZE, block, size);
        }
        for (int64_t j = 0; j < BLOCK_ELEMENTS && done + j < n; j++) {
            double v = value_of(d, words[j]);
            if (spiky && whether[j] < d->spikes)
                v += d->spike_deviation * (double)normal_table[size[j]];
            dtype_store(t, out, (size_t)(done + j), v);
        }
    }
}

void inputs_fill(struct seed s, const struct distribution *d, unsigned tensor, enum dtype t,
                 void *out, int64_t n)
{
    inputs_fill_range(s, d, tensor, t, out, 0, n);
}

void inputs_poison(void *out, size_t n)
{
    memset(out, POISON_BYTE, n);
}
