/* SPDX-License-Identifier: Apache-2.0
 * The values of a problem's inputs: a pure function of (seed, tensor, element), so that any device
 * and any thread can make any element alone, bit for bit. Seeds are drawn after a submission was
 * accepted and published with its report; whoever has them can make the same tensors again.
 *
 * Bits: Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3",
 * SC 2011). Key = the low 64 bits of the seed; counter = (element / 8, high 64 bits of the seed xor
 * tensor << 32). A block of 128 bits serves eight elements, 16 bits each.
 * Values: a 16-bit word u picks
 *   normal    mean + deviation * q[u], where q is a table of the 65,536 quantiles of N(0, 1) at
 *             (u + 1/2) / 65,536, each rounded to bf16 (so |q| <= 4.3): no logarithm, no cosine,
 *             nothing that two devices could round differently; a GPU is given the table.
 *   spiky     normal, plus spike_deviation * q[z] where w < spikes: 66 spikes in 65,536 elements are
 *             the paper's 0.001, a spike_deviation of 10 its N(0, 100). The words w come from another
 *             block with the counter's last word xored with SPIKE_WHETHER, the words z from a third
 *             one, xored with SPIKE_SIZE; all three serve the same eight elements.
 *   integers  low + (u * (high - low + 1) >> 16): uniform. With bf16 inputs in [-16, 16] the fp32
 *             sums of their products are exact, fp16 sums are not.
 * Products and sums are doubles, each rounded on its own, mean + deviation * q first; the value is
 * rounded to the tensor's type at last. A derived input is nobody's draw: it has no words.
 */
#ifndef EVALUATOR_INPUTS_H
#define EVALUATOR_INPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/problem.h"

enum { SEED_BYTES = 16, SEED_TEXT = 33, POISON_BYTE = 0xff, NORMAL_TABLE = 65536 };

#define SPIKE_WHETHER UINT32_C(0x80000000)
#define SPIKE_SIZE UINT32_C(0x40000000)

struct seed {
    uint64_t high, low;
};

/* A fresh secret from the kernel's generator. */
struct seed seed_draw(void);
void seed_text(struct seed s, char out[SEED_TEXT]); /* 32 hex digits */
bool seed_parse(const char *text, struct seed *out);

/* Fills elements [0, n) of tensor number `tensor`. */
void inputs_fill(struct seed s, const struct distribution *d, unsigned tensor, enum dtype t,
                 void *out, int64_t n);
/* Fills elements [first, first + n), the first of them at `out`. `first` is a multiple of 8. */
void inputs_fill_range(struct seed s, const struct distribution *d, unsigned tensor, enum dtype t,
                       void *out, int64_t first, int64_t n);

/* The NORMAL_TABLE quantiles that a 16-bit word picks from, for who makes inputs elsewhere. Static. */
const float *inputs_normal_table(void);

/* Fills n bytes with POISON_BYTE: a NaN in every float type (with bits no arithmetic gives: the
 * hardware's own NaN is positive), -1 in every integer type. */
void inputs_poison(void *out, size_t n);

#endif
