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
    ORDER_UNTIMED = 2, /* launches ahead of the measured ones: one per side, on the dummy pair */
    ORDER_BLOCKS = 30,
    ORDER_BLOCKS_MIN = 12,
    ORDER_BATCHES_MIN = 4,
};
/* No more blocks are measured than this gives time for, but ORDER_BLOCKS_MIN. */
#define ORDER_BLOCKS_US 600e3
_Static_assert((int)ORDER_DUMMY_START < (int)WIRE_SLOTS, "a runner has a number for every slot");
_Static_assert(2 * (int)ADMIT_SLOTS_MAX + (int)ORDER_UNTIMED <= (int)WIRE_ENTRIES,
               "a batch holds every slot twice");

/* How many batches there are, and the slots of each (even). */
struct order_spread {
    int batches, slots;
};
/* Of blocks that take so long, over at most `slots_max` slots (even) at a time.
 *
 * What moves the ratio of a block is the clock, which the power cap shifts within milliseconds, and a longer
 * launch averages over more of it: 30 blocks of a gemm are 0.1 s, and the same kernel on both sides is then
 * off by 0.12 % at most; one block of attention's backward is half of that. So long launches get fewer
 * blocks, all in all at least six times as long. From 12 values the bootstrap still has an interval for the
 * median (of any 12, the third and the tenth enclose it with 96 %), which 8 or so have not.
 * tests/gpu/attention measures both: fidelity.<problem>.worst_deviation, repeat_cv.<problem>. */
struct order_spread order_spread(int slots_max, double block_us);

/* Request member "order" of one batch: the untimed pair, then blocks b c c b, each slot once on
 * each side. New reference. */
json_t *order_batch(int slots);

/* `us`: 2 x slots times in that order. out[slots / 2]. */
void order_blocks(const double *us, int slots, struct timing_block *out);

/* The least time that a device of these peaks could take. */
double order_roofline_us(double flops, double bytes, double flops_per_s, double bytes_per_s);

#endif
