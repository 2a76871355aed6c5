/* SPDX-License-Identifier: Apache-2.0
 * `ptxvm run --ctas N`: a few CTAs (or clusters) of the real grid at the paper's size, and the
 * oracle for what they wrote. Only CTAs that do not wait for each other can be judged so. */
#ifndef EVALUATOR_TOOL_SAMPLE_H
#define EVALUATOR_TOOL_SAMPLE_H

#include "evaluator/tool/program.h"

/* Fills the members verdict, flags, detail, check, faults, counts, target, sample and notes of
 * `report`. Returns enum tool_exit; TOOL_CANNOT_TELL with the reason in "detail". */
int sample_run(const struct tool_program *p, const struct run_options *o, json_t *report);

#endif
