/* SPDX-License-Identifier: Apache-2.0
 * The keeper's process: what it holds from its start to its end, and the loop that serves its
 * owner. See evaluator/keeper.h for what is said, and keeper_job.h for what happens on one
 * connection. */
#ifndef EVALUATOR_CUDA_KEEPER_PROCESS_H
#define EVALUATOR_CUDA_KEEPER_PROCESS_H

#include "core/submission.h"
#include "evaluator/cuda/keeper_cache.h"
#include "evaluator/cuda/keeper_spares.h"

struct keeper_process {
    int control; /* the owner's socket */
    struct registry registry;
    struct keeper_gpu gpu;
    struct keeper_cache cache;
    struct keeper_spares spares;
    bool sick;          /* its context is lost: it has to end */
    int64_t ecc_errors; /* when it started */
    /* What the next submission needs is made between two, under the shared lock. */
    enum keeper_chores { CHORES_DONE, CHORES_WANTED, CHORES_RUNNING } chores;
};

/* Serves the owner on descriptor `control` with CUDA device `ordinal` until that closes. Returns
 * the exit status. */
int keeper_serve(int control, int ordinal);

#endif
