/* SPDX-License-Identifier: Apache-2.0
 * The part of `ptxbench eval`'s answer that only a GPU gives: speedup, time, rates, what was executed. */
#ifndef CLI_EVAL_TIMING_H
#define CLI_EVAL_TIMING_H

#include <jansson.h>
#include <stdio.h>

/* Lines "timed", "launches", "target", as far as the report has them. */
void view_timing(FILE *out, const json_t *report);

/* " 1.012 [1.010, 1.014]   812.3 us  740.2 TFLOP/s   75 %", or nothing. */
void view_timing_row(FILE *out, const json_t *report);

#endif
