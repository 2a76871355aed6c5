/* SPDX-License-Identifier: Apache-2.0
 * Turns and their metrics in the database. Documents as sql/functions/turn_metrics.sql lays them
 * down: integers and sorted speedups; core/turn_metrics.h makes rates of them. New references of
 * the caller. */
#ifndef CORE_DB_TURNS_H
#define CORE_DB_TURNS_H

#include "core/db/db.h"
#include "core/turn_metrics.h"

/* Which cells; NULL: any. */
struct cell_filter {
    const char *origin; /* "published", "local" */
    const char *model, *device_model, *problem, *workload, *condition;
};

/* `limits`: a PostgreSQL array text of turn limits, such as "{1,4,8}". {"items": [{cell, …, "at":
 * [{"turns", "of", "recorded", "correct", "target", "unknown", "target_source", "best",
 * "best_target", "variants"}]}]}. */
enum err turns_correctness(struct db *db, const char *limits, const struct cell_filter *q,
                           json_t **out, struct fault *f);

/* A cell's turns for Fast_p. */
struct fast_p_cell {
    json_t *members; /* {"cell", …, "turns", "exact"}: lists are quantiles if they are not exact */
    const struct fast_p_variant *variants; /* by number */
    size_t count;
};

/* What it is given lives as long as the call. */
typedef enum err fast_p_fn(void *arg, const struct fast_p_cell *cell, struct fault *f);

/* Calls `each` with one cell after the other, at most `most` of them, over their first `turns` turns, until
 * it fails. Each cell is as it was at one moment; what an import replaces in between has no turns. */
enum err turns_fast_p(struct db *db, int turns, int most, const struct cell_filter *q,
                      fast_p_fn *each, void *arg, struct fault *f);

/* {"items": [{cell, …, "labels": [{"n", "label", "turns"}], "transitions": [{"n", "from", "to",
 * "turns"}], "reasoning": [{"n", "median_tokens"}]}]}. */
enum err turns_transitions(struct db *db, int most, const struct cell_filter *q, json_t **out,
                           struct fault *f);

/* Replaces all published turns; `document` as published_import() of the same file takes it. The
 * counts. */
enum err turns_import(struct db *db, const json_t *document, json_t **out, struct fault *f);

#endif
