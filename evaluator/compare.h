/* SPDX-License-Identifier: Apache-2.0
 * Holds one output tensor against the oracle's. Pure: no I/O, no seeds, no problem names.
 *
 * Three rules, all measured on every tensor:
 *   paper   decides PASSED. Where the oracle is finite the output must be, and an element is bad
 *           iff |d| > atol and |d| / (|y| + 1e-8) > rtol. Where the oracle is not finite the output
 *           must be the same infinity, or a NaN for a NaN. No element may be bad, or where sums
 *           of 10^8 elements have tails, bad_share of them, rounded up, and those not for want of
 *           being finite.
 *   strict  decides the flag `loose`. Rounding the exact answer to the output's type already
 *           costs more (bf16: 1.7e-3) than most precision downgrades add, so what is bounded is the
 *           excess over it: excess² = (|o - y|² - |round(y) - y|²) / |y|². No tensor over
 *           `excess_max`, nor its median tile, because a few large rows can hide the others; and no
 *           row and no 64 x 64 tile (the last two dimensions; leading ones are counted through) over
 *           max(4 x the median of its kind, part_max): a small part done badly is not averaged away.
 *   exact   for inputs whose exact answer the accumulator can hold: every element equals round(y),
 *           and -0 equals 0. What fails it is not strict.
 *
 * Measured on gemm (K = 256 to 5120): fp32 accumulation 0 to 1e-6, bf16 partials of a split K
 * 1.8e-3, fp16 accumulation 2.6e-3; the bound of that problem is 4e-4. Measured on attention
 * (4096 x 128, H200): tests/gpu/results/attention.jsonl. */
#ifndef EVALUATOR_COMPARE_H
#define EVALUATOR_COMPARE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/dtype.h"
#include "core/err.h"

enum { COMPARE_TILE = 64, COMPARE_HINTS = 4 };

struct compare_rule {
    double atol, rtol;
    double bad_share;  /* 0: no element may be bad */
    double excess_max; /* 0: no strict rule */
    double part_max;   /* of a row or tile; 0: excess_max */
    bool exact;        /* demand round(y), bit for bit */
};

struct compare_task {
    const char *name; /* of the tensor, for the report */
    enum dtype dtype; /* of the output */
    const void *output;
    enum dtype oracle_dtype; /* f32 or f64 */
    const void *oracle;
    int ndim;             /* 1 to LIMIT_DIMS */
    const int64_t *shape; /* outermost first */
    struct compare_rule rule;
};

/* A part of the tensor: a tile or a row of its last two dimensions. */
struct compare_part {
    int64_t row, column; /* first element, rows counted through the leading dimensions */
    double excess;
};

/* Where it is wrong: by tiles whose error is over 2 % of the oracle's norm. Matrices are the last
 * two dimensions, bands their rows of tiles. */
struct compare_where {
    int64_t matrices, wrong_matrices, first_wrong; /* that have a wrong tile */
    int64_t wrong_tiles;
    int64_t bands, band_low, band_high; /* every wrong tile of every matrix lies in these */
    int64_t right_rows;                 /* of all rows: within 2 %; 0 where rows were not read */
    double first_rows, last_rows;       /* relative error of the first and the last band */
    double first_columns, last_columns; /* and of the first and last column of tiles */
};

struct compare_result {
    int64_t elements, bad;           /* by the paper's rule */
    int64_t nan, inf;                /* where the oracle is finite; nan includes unwritten */
    int64_t unwritten;               /* elements that still hold the poison */
    int64_t mismatches;              /* elements that differ from round(y) */
    double max_abs, max_rel;         /* over elements where both are finite */
    double excess;                   /* of the tensor, relative L2; 0 if below rounding */
    double tile_median;              /* of the tiles' */
    int64_t first_bad;               /* flat index, -1: none */
    double got, want;                /* at first_bad */
    int64_t bad_low[2], bad_high[2]; /* smallest box of (row, column) with every bad element */
    int64_t tiles, bad_tiles, rows, bad_rows; /* bad by the strict rule */
    struct compare_part worst_tile, worst_row;
    struct compare_where where;
    bool paper, strict, exact;      /* strict is true where the rule has no bound */
    char hints[COMPARE_HINTS][160]; /* guesses at the cause, for people and agents */
    int hint_count;
};

/* What a row or a tile may have, whatever the median. */
double compare_part_max(const struct compare_rule *rule);

/* Compares. ERR_NO_MEMORY is the only failure. */
enum err compare(const struct compare_task *task, struct compare_result *out, struct fault *f);

/* The result as the report shows it; see evaluator/report.h. New reference. */
json_t *compare_json(const struct compare_task *task, const struct compare_result *r);

#endif
