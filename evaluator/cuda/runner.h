/* SPDX-License-Identifier: Apache-2.0
 * The runner: a fresh process per submission that launches and times candidate and baseline for the keeper
 * and never sees an answer of the oracle. See wire.h for what it is asked. */
#ifndef EVALUATOR_CUDA_RUNNER_H
#define EVALUATOR_CUDA_RUNNER_H

/* Serves the keeper on descriptor `fd` with CUDA device `ordinal`. Returns the exit status. */
int gpu_runner(int fd, int ordinal);

#endif
