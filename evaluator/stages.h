/* SPDX-License-Identifier: Apache-2.0
 * What a stage is to the driver: a function that works on one evaluation and says how it ended. */
#ifndef EVALUATOR_STAGES_H
#define EVALUATOR_STAGES_H

#include "core/submission.h"
#include "evaluator/compile.h"
#include "evaluator/evaluate.h"
#include "evaluator/report.h"

struct cpu_checking;
struct device;
struct keeper_line;
struct sanitizing;

/* One evaluation on its way through the stages. */
struct evaluating {
    const struct evaluation_request *request;
    const struct evaluation_hooks *hooks;
    const struct device *device;
    struct evaluation_limits limits;  /* defaults filled in */
    struct compile_result compiled;   /* after compile */
    enum stage stage;                 /* running now */
    struct cpu_checking *checking;    /* device cpu: from its begin on; owned */
    struct keeper_line *keeper;       /* device cuda: from check on; owned */
    struct sanitizing *sanitizing;    /* device cuda: in the background, from check on; owned */
    struct evaluation *out;
};

/* How a stage ended. Starts as VERDICT_PASSED and "". */
struct stage_result {
    enum verdict verdict;      /* PASSED: go on */
    char detail[LIMIT_DETAIL]; /* one sentence unless PASSED */
    double wall_ms;            /* set by the driver unless the stage did */
    bool skipped;              /* it could not be done, `detail` says why, and that decides nothing */
};

typedef void stage_function(struct evaluating *e, struct stage_result *r);

/* Runs every stage in order, reports each, stops at the first that does not pass. */
void stages_run(struct evaluating *e, struct stage_result *end);

/* Tells the caller; borrows nothing. `members` may be NULL and is released here. */
void stages_event(const struct evaluating *e, const char *kind, json_t *members);
bool stages_cancelled(const struct evaluating *e);

/* The submission's module as `plan` asks for it, which may be for another workload. `options` is room
 * for a list that the request borrows. */
struct compile_request stages_compile_request(const struct submission *s, const struct plan *plan,
                                              const char *options[LIMIT_OPTIONS + 1]);

/* {name expression: symbol} of a compiled module; new reference. */
json_t *stages_symbols(const struct compile_result *c);

#endif
