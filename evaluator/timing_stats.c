// SPDX-License-Identifier: Apache-2.0
#include "evaluator/timing_stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/words.h"

/* A kernel that does part of its work once per module and reuses it afterwards has slow first launches.
 * Honest kernels differ by less than 1 % there, since the warm-up pair of each batch is not counted. */
const double timing_stateful_ratio = 1.03;
/* The median ignores up to half of the launches; a kernel that is slow in some of them moves the mean. */
const double timing_noisy_ratio = 1.05;
/* Below that the number says more about launching than about the kernel. */
const double timing_launch_bound_share = 0.2;
/* The roofline is taken at the highest clock, which loads of that kind never hold. */
const double timing_close_share = 0.95, timing_implausible_share = 1.05;

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double timing_median(double *v, size_t n)
{
    qsort(v, n, sizeof(*v), compare_doubles);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static double mean(const double *v, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += v[i];
    return sum / (double)n;
}

/* SplitMix64 (Steele, Lea, Flood 2014): all that a bootstrap needs. */
static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* 2.5 % and 97.5 % quantiles of the median over resampled blocks. `scratch` holds n. */
static void bootstrap(const double *ratios, size_t n, uint64_t seed, double *scratch, double *medians,
                      double *low, double *high)
{
    for (size_t r = 0; r < TIMING_RESAMPLES; r++) {
        for (size_t i = 0; i < n; i++)
            scratch[i] = ratios[(size_t)((draw(&seed) >> 32) * n >> 32)];
        medians[r] = timing_median(scratch, n);
    }
    qsort(medians, TIMING_RESAMPLES, sizeof(*medians), compare_doubles);
    *low = medians[TIMING_RESAMPLES / 40];
    *high = medians[TIMING_RESAMPLES - 1 - TIMING_RESAMPLES / 40];
}

static bool is_time(double us)
{
    return isfinite(us) && us > 0;
}

static bool are_times(const struct timing_block *blocks, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < 2; k++)
            if (!is_time(blocks[i].baseline[k]) || !is_time(blocks[i].candidate[k]))
                return false;
    return true;
}

/* First launches of batches and all others, apart. 0 where there are none. */
static void split_first(const struct timing_block *blocks, size_t n, double *scratch,
                        struct timing_summary *out)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        if (blocks[i].opens_batch)
            scratch[count++] = blocks[i].candidate[0];
    out->first_us = count ? timing_median(scratch, count) : 0;
    count = 0;
    for (size_t i = 0; i < n; i++) {
        if (!blocks[i].opens_batch)
            scratch[count++] = blocks[i].candidate[0];
        scratch[count++] = blocks[i].candidate[1];
    }
    out->rest_us = timing_median(scratch, count);
}

static void judge(const struct timing_limits *limits, struct timing_summary *out)
{
    double apart = out->candidate_mean_us / out->candidate_us;
    if (limits->slowed_down || apart > timing_noisy_ratio || apart < 1 / timing_noisy_ratio)
        out->flags |= FLAG_noisy;
    if (out->first_us > timing_stateful_ratio * out->rest_us)
        out->flags |= FLAG_stateful;
    if (limits->floor_us > timing_launch_bound_share * out->candidate_us)
        out->flags |= FLAG_launch_bound;
    out->roofline_share = limits->roofline_us > 0 ? limits->roofline_us / out->candidate_us : 0;
    out->implausible = out->roofline_share > timing_implausible_share;
    if (!out->implausible && out->roofline_share > timing_close_share)
        out->flags |= FLAG_implausible_close;
}

bool timing_summarise(const struct timing_block *blocks, size_t n, const struct timing_limits *limits,
                      uint64_t seed, struct timing_summary *out)
{
    *out = (struct timing_summary){0};
    if (!n || n > TIMING_BLOCKS_MAX || !are_times(blocks, n))
        return false;
    double *ratios = malloc((5 * n + TIMING_RESAMPLES) * sizeof(*ratios));
    if (!ratios)
        return false;
    double *baseline = ratios + n, *candidate = baseline + 2 * n, *medians = candidate + 2 * n;
    for (size_t i = 0; i < n; i++) {
        const double *b = blocks[i].baseline, *c = blocks[i].candidate;
        ratios[i] = log((b[0] + b[1]) / (c[0] + c[1]));
        memcpy(baseline + 2 * i, b, sizeof(blocks[i].baseline));
        memcpy(candidate + 2 * i, c, sizeof(blocks[i].candidate));
    }
    out->baseline_mean_us = mean(baseline, 2 * n);
    out->candidate_mean_us = mean(candidate, 2 * n);
    out->baseline_us = timing_median(baseline, 2 * n);
    out->candidate_us = timing_median(candidate, 2 * n);
    split_first(blocks, n, candidate, out);
    double low, high;
    bootstrap(ratios, n, seed, baseline, medians, &low, &high);
    double middle = timing_median(ratios, n), spread = limits->same_kernel_spread;
    out->speedup = exp(middle);
    out->ci_low = exp(fmin(low, middle - spread));
    out->ci_high = exp(fmax(high, middle + spread));
    judge(limits, out);
    free(ratios);
    return true;
}
