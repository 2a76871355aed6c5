/* SPDX-License-Identifier: Apache-2.0
 * Turn metrics, the arithmetic: the database gives integers and sorted speedups (sql/functions/
 * turn_metrics.sql), here they become rates, intervals and Fast_p. Pure.
 *
 * Definitions are the paper's (arXiv 2608.17379). In a cell of n trajectories, over the first T
 * turns: turn correctness   = correct turns / (n T)        whether all of these turns took place or
 * not Fast_p             = turns that are correct with speedup > p / (n T)       strictly greater
 *   Fast_p^Inst        = the same with target instructions executed as well; unknown does not count
 * A band is mean, least and greatest of these over the prompt variants of the cell. */
#ifndef CORE_TURN_METRICS_H
#define CORE_TURN_METRICS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PERCENT_TEXT = 16, FAST_P_POINTS = 64, FAST_P_QUANTILES = 2048 };

/* 100 part / of with one decimal, exact quarters to even ("56.2" for 54 of 96), as printf rounds;
 * "" when `of` is 0. */
void percent_text(int64_t part, int64_t of, char out[PERCENT_TEXT]);

/* Wilson's score interval of a proportion, 95 % (E. B. Wilson, JASA 22, 1927). [0, 1] when n is 0.
 */
void wilson95(int64_t k, int64_t n, double *low, double *high);

/* The paper's word for a label, or NULL; and the name for a word of the paper. Static texts. */
const char *label_title(const char *name);
const char *label_of_title(const char *title);

/* Adds to every entry of `at` of every item: "correct_percent", "target_percent" (texts),
 * "correct_ci95", "target_ci95", and "correct_band", "target_band" {"mean", "low", "high"} over its
 * variants. */
void turn_correctness_shape(json_t *document);

/* What Fast_p needs of one prompt variant: its turns, and the speedups of correct ones, all of them and
 * those with target instructions, ascending. The lists are owned; fast_p_variant_release frees them. */
struct fast_p_variant {
    int64_t number, of, correct, target;
    double *reached, *reached_target;
    size_t reached_count, reached_target_count;
};

void fast_p_variant_release(struct fast_p_variant *v);

/* Thins ascending speedups to the middles of FAST_P_QUANTILES equal shares, if there are more of them.
 * Their number afterwards. */
size_t fast_p_quantiles(double *reached, size_t count);

/* [{"p", "all": {"mean", "low", "high"} | null, "target": {…} | null}] for the given p, over the
 * variants of a cell. Lists shorter than `correct` and `target` are quantiles. New reference. */
json_t *fast_p_points(const struct fast_p_variant *variants, size_t variant_count, const double *p,
                      size_t count);

/* Adds "label_titles" {name: the paper's word} to the document. */
void transitions_shape(json_t *document);

#endif
