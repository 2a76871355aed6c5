/* SPDX-License-Identifier: Apache-2.0
 * What a stage is to the driver: a function that works on one evaluation and says how it ended. */
#ifndef EVALUATOR_STAGES_H
#define EVALUATOR_STAGES_H

#include "evaluator/compile.h"
#include "evaluator/evaluate.h"
#include "evaluator/report.h"

struct device;

/* One evaluation on its way through the stages. */
struct evaluating {
    const struct evaluation_request *request;
    const struct evaluation_hooks *hooks;
    const struct device *device;
    struct evaluation_limits limits;  /* defaults filled in */
    struct compile_result compiled;   /* after compile */
    enum stage stage;                 /* running now */
    struct evaluation *out;
};

/* How a stage ended. Starts as VERDICT_PASSED and "". */
struct stage_result {
    enum verdict verdict;      /* PASSED: go on */
    char detail[LIMIT_DETAIL]; /* one sentence unless PASSED */
    double wall_ms;            /* set by the driver unless the stage did */
};

typedef void stage_function(struct evaluating *e, struct stage_result *r);

/* Runs every stage in order, reports each, stops at the first that does not pass. */
void stages_run(struct evaluating *e, struct stage_result *end);

/* Tells the caller; borrows nothing. `members` may be NULL and is released here. */
void stages_event(const struct evaluating *e, const char *kind, json_t *members);
bool stages_cancelled(const struct evaluating *e);

#endif
