/* SPDX-License-Identifier: Apache-2.0
 * What `ptxvm run` found, as one JSON object, and that object as text for people. Its members are
 * those of a report (evaluator/report.h) and, where asked for, "sample", "schedules", "notes". */
#ifndef EVALUATOR_TOOL_RESULTS_H
#define EVALUATOR_TOOL_RESULTS_H

#include <stdio.h>

#include "core/buf.h"
#include "core/submission.h"
#include "evaluator/runner_rig.h"

json_t *results_begin(const char *file, const struct submission *s); /* new reference */
/* `verdict` NULL: it cannot be told; detail says why. Takes `check`, which may be NULL. */
void results_verdict(json_t *report, const char *verdict, unsigned flags, const char *detail,
                     json_t *check);
void results_counts(json_t *report, const struct rig_counts *counts, const struct submission *s);
void results_log(json_t *report, const struct buf *log);
__attribute__((format(printf, 2, 3))) void results_note(json_t *report, const char *fmt, ...);

/* For people. `source` is the text of the file, for the line of a finding; may be NULL. */
void results_show(FILE *out, const json_t *report, const char *source, bool counts);

#endif
