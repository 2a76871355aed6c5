/* SPDX-License-Identifier: Apache-2.0
 * The device "cuda:N": a GPU, by way of its keeper (evaluator/keeper.h). One connection a submission,
 * opened by the check and held to the last stage; what the keeper answers is copied into the report. */
#ifndef EVALUATOR_DEVICE_CUDA_H
#define EVALUATOR_DEVICE_CUDA_H

#include "evaluator/stages.h"

void cuda_check(struct evaluating *e, struct stage_result *r);
void cuda_sanitize(struct evaluating *e, struct stage_result *r);
void cuda_time(struct evaluating *e, struct stage_result *r);
void cuda_verify(struct evaluating *e, struct stage_result *r);

#endif
