/* SPDX-License-Identifier: Apache-2.0
 * Stages on the CPU device. Foreign code runs in ptxbench-runner. */
#ifndef EVALUATOR_DEVICE_CPU_H
#define EVALUATOR_DEVICE_CPU_H

#include "evaluator/stages.h"

/* Starts the runner, which needs the source's plan and no module to get ready. */
void cpu_begin(struct evaluating *e);
void cpu_checking_free(struct cpu_checking *c); /* NULL is fine */
stage_function cpu_check;
stage_function cpu_verify;

#endif
