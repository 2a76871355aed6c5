/* SPDX-License-Identifier: Apache-2.0
 * Stages on the CPU device. Foreign code runs in ptxbench-runner. */
#ifndef EVALUATOR_DEVICE_CPU_H
#define EVALUATOR_DEVICE_CPU_H

#include "evaluator/stages.h"

stage_function cpu_check;
stage_function cpu_verify;

#endif
