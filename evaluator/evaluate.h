/* SPDX-License-Identifier: Apache-2.0
 * One evaluation: a submission goes in, a verdict, a report and artefacts come out. Runs the
 * stages of core/stages.def in order and stops at the first that decides. Knows no SQL and no
 * HTTP; runs foreign code only in confined children. A kernel that fails is a result, not an
 * error: evaluate() returns an error only when there is nothing to report at all (no memory).
 * Every other failure of ours is the verdict INFRA_ERROR with its reason in the report. */
#ifndef EVALUATOR_EVALUATE_H
#define EVALUATOR_EVALUATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"
#include "core/words.h"

struct registry;
struct submission;

/* Ceilings of one evaluation. A zero takes the default of evaluator/evaluate.c. */
struct evaluation_limits {
    int compile_ms;                /* wall time of the compile child */
    int check_ms;                  /* wall time of the child that runs and compares */
    int64_t memory_bytes;          /* address space of a child */
    uint64_t thread_instructions;  /* device cpu: budget of one run of the plan */
    int run_ms;                    /* device cuda: wall time of one run of the plan */
    int batch_ms;                  /* device cuda: wall time of one batch of the timing */
};

/* How an evaluation reaches the keeper of its device (evaluator/keeper.h): asked once, when the first
 * stage that runs on the device begins, so that a submission holds nothing while it is compiled. */
struct keeper_access {
    void *arg;
    /* A connection, which becomes the evaluation's, and the "device" of the keeper's ready event,
     * borrowed. May wait for the keeper to be ready. */
    enum err (*connect)(void *arg, int *fd, const json_t **device, struct fault *f);
};

struct evaluation_request {
    const struct registry *registry;     /* problems and architectures */
    const struct submission *submission; /* validated */
    const char *device;                  /* "cpu", "cuda:0": a row of evaluator/device.c */
    const struct keeper_access *keeper;  /* device cuda; NULL: none to be had */
    const char *id;                      /* copied into the report; NULL: no id member */
    struct evaluation_limits limits;
};

/* All members may be NULL. Both functions run on the thread that called evaluate(). */
struct evaluation_hooks {
    void *arg;
    /* Progress: {"kind":"stage","stage":"compile","state":"started|passed|failed|skipped",
     * "wall_ms":12.5} or {"kind":"progress","stage":"check","done":1,"total":3}. Borrowed. */
    void (*event)(void *arg, const json_t *event);
    /* Asked several times a second; true stops the evaluation: verdict CANCELLED. */
    bool (*cancelled)(void *arg);
};

struct evaluation {
    enum verdict verdict;
    unsigned flags;                      /* set of FLAG_… */
    json_t *report;                      /* schema 1, see evaluator/report.h; owned */
    struct buf ptx, cubin, log, capture; /* artefacts; empty where the stages did not get there */
};

/* The line in `log` between what the compiler said and what the kernels printed. */
#define EVALUATION_PRINTED "--- printed by the kernels ---\n"

/* Evaluates. Blocks until done: compile_ms + check_ms and a little; on a GPU as long as its turn takes
 * to come, and then what the keeper's watchdog allows. `out` is initialised
 * here and released by the caller with evaluation_release, also after an error. */
enum err evaluate(const struct evaluation_request *request, const struct evaluation_hooks *hooks,
                  struct evaluation *out, struct fault *f);
void evaluation_release(struct evaluation *e);

/* The worker's child role `evaluate`: one evaluation over two pipes (core/frame.h).
 *   in:  FRAME_REQUEST {"device":"cpu", "id":"…" (optional), "gpu": device of the keeper's ready event
 *        (device cuda), "submission":{…}} where submission is what submission_document() gave, then
 *        FRAME_SOURCE: the source's bytes. The parent keeps its end open; closing it cancels.
 *        With "gpu", descriptor EVALUATE_KEEPER_FD is a connection to the keeper, its place in the
 *        keeper's queue.
 *   out: FRAME_EVENT …, then any of FRAME_PTX FRAME_CUBIN FRAME_LOG FRAME_CAPTURE (only non-empty
 *        ones), then FRAME_RESULT: the report, which is always last.
 * Loads problems and architectures from home_dir(). Returns the exit code of the process: 0 if a
 * report was written. No report means that the evaluation itself died: INFRA_ERROR to the
 * caller. */
enum { EVALUATE_KEEPER_FD = 3 };

int evaluate_role(int in_fd, int out_fd);

#endif
