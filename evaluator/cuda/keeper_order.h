/* SPDX-License-Identifier: Apache-2.0
 * The order of launches in a timed batch, and the blocks that come out. Pure.
 *
 * A runner knows slots by numbers: a candidate's and a baseline's on the same inputs, each with
 * outputs of its own; a dummy pair for warm-up and checks; and the dummy's memory once more, placed
 * at its start. */
#ifndef EVALUATOR_CUDA_KEEPER_ORDER_H
#define EVALUATOR_CUDA_KEEPER_ORDER_H

#include <jansson.h>

#include "evaluator/cuda/keeper_admit.h"
#include "evaluator/timing_stats.h"
#include "evaluator/wire.h"

enum {
    ORDER_CANDIDATE = 0, /* + slot */
    ORDER_BASELINE = ADMIT_SLOTS_MAX,
    ORDER_DUMMY = 2 * ADMIT_SLOTS_MAX,
    ORDER_DUMMY_BASELINE,
    ORDER_DUMMY_START,
    ORDER_BLOCKS = 30,
    ORDER_BLOCKS_MIN = 12,
    ORDER_BATCHES_MIN = 4,
};
/* No more blocks are measured than this gives time for, but ORDER_BLOCKS_MIN. */
#define ORDER_BLOCKS_US 600e3
/* Between batches the device rests, and its clock then stands up to 12 % higher for 25 to 80 ms,
 * until the power cap is felt (H200, 2026-11-30: block_us of gpu_attention examples
 * mha_bwd_causal). Batches of blocks under 4 ms are over before that; longer ones would hold some
 * blocks of either kind, and a speedup between the two that such kernels have there. They begin
 * with so much of the same work, which is not measured. */
enum { ORDER_LEAD_US = 100000, ORDER_LEAD_BLOCK_US = 4000 };
_Static_assert((int)ORDER_DUMMY_START < (int)WIRE_SLOTS, "a runner has a number for every slot");
_Static_assert(2 * (int)ADMIT_SLOTS_MAX + 2 * (2 * (int)ORDER_LEAD_US / (int)ORDER_LEAD_BLOCK_US) <=
                   (int)WIRE_ENTRIES,
               "a batch holds every slot twice");

/* How many batches there are, the slots of each (even), and the pairs of launches ahead of those
 * that are measured: one of each side, at least once. */
struct order_spread {
    int batches, slots, lead;
};
/* Of blocks that take so long, over at most `slots_max` slots (even) at a time.
 *
 * What moves the ratio of a block is the clock, which the power cap shifts within milliseconds, and
 * a longer launch averages over more of it: 30 blocks of a gemm are 0.1 s, and the same kernel on
 * both sides is then off by 0.12 % at most; one block of attention's backward is half of that. So
 * long launches get fewer blocks, all in all at least six times as long. From 12 values the
 * bootstrap still has an interval for the median (of any 12, the third and the tenth enclose it
 * with 96 %), which 8 or so have not. tests/gpu/attention measures both:
 * fidelity.<problem>.worst_deviation, repeat_cv.<problem>. */
struct order_spread order_spread(int slots_max, double block_us);

/* Request member "order" of one batch: `lead` pairs of the dummies, not to be timed, then blocks b
 * c c b, each slot once on each side. New reference. */
json_t *order_batch(int slots, int lead);

/* `us`: 2 x slots times in that order. out[slots / 2]. */
void order_blocks(const double *us, int slots, struct timing_block *out);

/* The least time that a device of these peaks could take. */
double order_roofline_us(double flops, double bytes, double flops_per_s, double bytes_per_s);

#endif
