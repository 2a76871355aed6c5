/* SPDX-License-Identifier: Apache-2.0
 * From raw launch times to a speedup with its uncertainty. Pure: no clock, no device.
 *
 * Times come in blocks of four launches, baseline, candidate, candidate, baseline: a drift of the clock
 * that is linear over a block cancels in its ratio ln((b1 + b2) / (c1 + c2)). The speedup is exp of the
 * median of these logarithms; its interval is a bootstrap over whole blocks (percentile method, Efron
 * 1979), never narrower than what the same kernel against itself shows in different processes. */
#ifndef EVALUATOR_TIMING_STATS_H
#define EVALUATOR_TIMING_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TIMING_RESAMPLES = 2000, TIMING_BLOCKS_MAX = 4096 };

/* Microseconds of one block, in the order they ran. */
struct timing_block {
    double baseline[2], candidate[2];
    bool opens_batch; /* its first candidate launch is the first one of a fresh module instance */
};

/* What the numbers are judged by. */
struct timing_limits {
    double same_kernel_spread; /* |ln ratio| of a kernel against itself across processes, 95 % */
    double floor_us;           /* an empty kernel, measured the same way; 0: not measured */
    double roofline_us;        /* the least the device could take at its highest clock; 0: unknown */
    bool slowed_down;          /* hardware or thermal slowdown was seen during the measurement */
};

struct timing_summary {
    double speedup, ci_low, ci_high; /* baseline time / candidate time; 95 % */
    double candidate_us, candidate_mean_us, baseline_us, baseline_mean_us; /* medians and means */
    double first_us, rest_us;        /* candidate: medians of first launches of batches, of the others */
    double roofline_share;           /* roofline_us / candidate_us; 0: unknown */
    unsigned flags;                  /* FLAG_noisy, stateful, launch_bound, implausible_close */
    bool implausible;                /* over 1.05 x roofline: verdict IMPLAUSIBLE */
};

/* Thresholds, each with its reason beside it in timing_stats.c. */
extern const double timing_stateful_ratio, timing_noisy_ratio, timing_launch_bound_share,
    timing_close_share, timing_implausible_share;

/* Median of n >= 1 values, which are sorted in place; of an even number the mean of the middle two. */
double timing_median(double *values, size_t n);

/* Summarises n blocks (1 to TIMING_BLOCKS_MAX; every time > 0). The bootstrap draws from a generator
 * seeded by `seed`, so a report can be recomputed to the last bit. False if the input is not like that. */
bool timing_summarise(const struct timing_block *blocks, size_t n, const struct timing_limits *limits,
                      uint64_t seed, struct timing_summary *out);

#endif
