/* SPDX-License-Identifier: Apache-2.0
 * What `ptxbench eval` shows a person: one line per stage as it ends, then the verdict and what to
 * do about it. Everything it shows comes from events and from the report. */
#ifndef CLI_EVAL_VIEW_H
#define CLI_EVAL_VIEW_H

#include <jansson.h>
#include <stdio.h>

#include "evaluator/evaluate.h"

/* "naive.cu: gemm small (M=512 N=512 K=256), sm_90a on cpu". */
void view_head(FILE *out, const char *file, const char *device, const struct submission *s);

/* A progress event; prints nothing for those of no interest. `out` is the hook's argument. */
void view_event(void *out, const json_t *event);

/* Verdict, reason, figures; an excerpt of the log if it helps. */
void view_end(FILE *out, const struct evaluation *e);

/* One line for a table of workloads (--sweep). */
void view_row(FILE *out, const struct submission *s, const struct evaluation *e);

#endif
