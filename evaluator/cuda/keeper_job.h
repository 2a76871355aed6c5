/* SPDX-License-Identifier: Apache-2.0
 * One connection, which is one submission: its operations in a table, and what they share. */
#ifndef EVALUATOR_CUDA_KEEPER_JOB_H
#define EVALUATOR_CUDA_KEEPER_JOB_H

#include "evaluator/cuda/keeper_order.h"
#include "evaluator/cuda/keeper_process.h"

struct keeper_job {
    struct keeper_process *process; /* borrowed */
    int fd;                         /* the connection */
    struct keeper_watch watch;      /* the connection and the owner */
    struct keeper_task *task;       /* of the cache; NULL: nothing is open */
    struct plan *plan;              /* owned … */
    json_t *request;                /* of "open": for the runner and the verifier */
    char *cubin;
    size_t cubin_len;
    struct keeper_child runner;
    struct buf capture; /* of the operation */
    json_t *parts;      /* {"open": ms, …}: where the time went */
    json_t *sandbox;    /* of the process that ran last */
};

/* Serves the connection until it closes or its submission has failed; closes it. */
void keeper_job_run(struct keeper_process *p, int fd);

/* An operation adds its members to `result`. False, or a verdict in `end` other than PASSED, ends
 * the submission. */
typedef bool keeper_operation(struct keeper_job *j, const json_t *request, json_t *result,
                              struct keeper_end *end);
keeper_operation keeper_open, keeper_check, keeper_time, keeper_verify;

/* ---- for the operations ---- */

/* A fault of ours: INFRA_ERROR, "sick" if the context is lost. Returns false. */
bool keeper_job_fault(struct keeper_job *j, const struct fault *f, struct keeper_end *end);

/* Asks the runner (request is taken); `doing` goes into the sentence of a TIMEOUT: "one run of the
 * plan". */
json_t *keeper_job_ask(struct keeper_job *j, json_t *request, int64_t timeout_ms, const char *doing,
                       struct keeper_end *end);

/* The same in two: the answer to what was sent to the runner. */
json_t *keeper_job_receive(struct keeper_job *j, int64_t timeout_ms, const char *doing,
                           struct keeper_end *end);

/* Sends "slot": the descriptors of a slot under a number. The answer is still to be received. */
bool keeper_job_send_slot(struct keeper_job *j, struct keeper_child *c, int number,
                          const struct slot *slot, enum memory_place place, struct keeper_end *end);

/* The same with inputs that may be written and guards that are open (taken; "open" of
 * evaluator/wire.h). */
bool keeper_job_send_open(struct keeper_job *j, struct keeper_child *c, int number,
                          const struct slot *slot, enum memory_place place, json_t *open,
                          struct keeper_end *end);

void keeper_job_progress(struct keeper_job *j, size_t done, size_t total);
/* Adds the time since `start_s` (now_s()) to a part. */
void keeper_job_part(struct keeper_job *j, const char *part, double start_s);

/* Gives the end the fault of canaries that were changed, and returns false; true if none were. */
bool keeper_job_damage(const struct slot_damage *damage, struct keeper_end *end);

#endif
