/* SPDX-License-Identifier: Apache-2.0
 * A run: one model on one problem, as trajectories of turns, as somebody asked for it. Validated
 * against the problems, architectures and prompts of this installation, every default filled in.
 * Pure but for reading the prompt's files. */
#ifndef CORE_RUN_H
#define CORE_RUN_H

#include "core/feedback.h"
#include "core/messages.h"
#include "core/prompt.h"
#include "core/submission.h"

enum {
    RUN_VARIANTS = 16,      /* prompt variants of a run */
    RUN_TRAJECTORIES = 256, /* of a run, all variants together */
    RUN_TURNS = 64,         /* of a trajectory */
    RUN_PARAMS = 8 * 1024,  /* bytes of `params` */
};

struct run_request {
    const struct problem *problem; /* borrowed from the registry, as the next two */
    const struct workload *workload;
    const struct arch *arch;
    char device[LIMIT_DEVICE + 1];                        /* "gpu" unless given */
    char name[LIMIT_NAME + 1];                            /* "" if not given */
    char provider[LIMIT_NAME + 1], model[2 * LIMIT_NAME]; /* names in the agent host's own file */
    char condition[2 * LIMIT_NAME];                       /* "": none */
    char variants[RUN_VARIANTS]
                 [LIMIT_NAME + 1]; /* default: the first three of the problem, see run.c */
    size_t variant_count;
    int per_variant;           /* trajectories of each variant, 4 */
    int turns;                 /* 8 */
    double target_speedup;     /* 1.2 */
    enum history history;      /* full */
    enum feedback_style style; /* full */
    json_t *params;            /* owned object: "temperature", "top_p", "effort", "max_tokens" */
    int64_t max_tokens;        /* budget: input and output, all calls; 0: none */
    double max_usd; /* budget; 0: none. With one, models of unknown price are not called */
    bool is_private;
};

/* Parses a JSON body: {"problem", "workload"?, "arch", "device"?, "name"?, "provider", "model",
 * "condition"?, "variants"?: ["contract", …], "trajectories"?: of each variant, "turns"?,
 * "target_speedup"?, "history"?, "feedback"?, "params"?: {…}, "budget"?: {"tokens"?, "usd"?},
 * "visibility"?}. True, or false with every fault and its JSON path. Release in any case. */
bool run_parse(const struct registry *r, const char *home, const json_t *body,
               struct run_request *out, struct faults *faults);
void run_release(struct run_request *q);

struct run_budget {
    int64_t tokens;
    double usd;
};
/* {"tokens"?, "usd"?}; what is not there stays as it is in `out`. */
bool run_budget_read(const json_t *budget, const char *path, struct run_budget *out,
                     struct faults *faults);
/* Is this a speedup that a run may aim at? */
bool run_target_check(double target, const char *path, struct faults *faults);

/* Is this a run's params: the four members above at most, each in its range? */
bool run_params_check(const json_t *params, const char *path, struct faults *faults);

/* The request with every default filled in, every member there: {"problem", "workload", "arch",
 * "device", "name", "provider", "model", "condition", "variants": ["contract", …], "trajectories":
 * of each variant, "turns", "target_speedup", "history", "feedback", "params", "budget": {"tokens":
 * n | null, "usd": x | null}, "visibility"}, texts
 * "" where none was given; and "prompts": [{"variant": index, "name", "system", "task", "tokens",
 * "estimated"}], whose texts are what trajectories are sent: they are kept with the run, so that a
 * newer installation does not change a run that has begun. The task begins with the problem;
 * system, "\n" and task are the prompt that /v1/prompts/preview shows. New reference; NULL with
 * `f`. */
json_t *run_document(const struct run_request *q, const char *home,
                     const struct tokenizer *tokenizer, struct fault *f);

/* {"messages": […], "sha256": "…", "tokens": n}: exactly what a call with this past is made of; the
 * sha256 is that of json_canonical(messages), which is also stored with each call. New reference or
 * NULL. */
json_t *run_messages(enum history h, const char *system, const char *task, const json_t *past);

#endif
