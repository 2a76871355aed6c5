/* SPDX-License-Identifier: Apache-2.0
 * What a model is told about its turn. Structured first: feedback_of_report() and its siblings pick
 * from verdict, log and source what helps to write the next kernel, as a JSON document;
 * feedback_render() makes the text of the next user message from that alone. Pure.
 *
 * { "turn": 3, "of": 8,                      counted from 1
 *   "verdict": "PASSED" | "EXTRACTION" | "PLAN" | …,   core/verdicts.def, or what kept it from one
 *   "detail": "one sentence" | null,
 *   "speedup": number | null, "ci95": [a, b], "target_speedup": 1.2, "target_met": bool,
 *   "best": null | {"turn", "speedup"},      of the turns before
 *   "since": null | {"verdict", "speedup"},  the turn before
 *   "errors": [{"path", "text"}],            of a plan or an answer
 *   "log": "…",                              the compiler's or the kernel's output, capped
 *   "warnings": ["line 3: C7510: …"],
 *   "excerpts": [{"line": 12, "text": "source around it"}],
 *   "numbers": [{"tensor", "distribution", "text"}],     accuracy, with hints
 *   "faults": ["…"],
 *   "timing": null | {"candidate_us", "baseline_us", "baseline", "tflops", "roofline_share",
 * "floor_us", "launches": [{"kernel", "us"}]}, "kernels": ["name: 168 registers, 0 bytes spilled,
 * …"], "target": {"executed", "families": {"gmma": warps | null}, "tensor_share", "reason"} } */
#ifndef CORE_FEEDBACK_H
#define CORE_FEEDBACK_H

#include <jansson.h>

#include "core/buf.h"
#include "core/extract.h"

enum {
    FEEDBACK_MAX = 24 * 1024,
    FEEDBACK_LOG = 8 * 1024,
    FEEDBACK_ITEMS = 12,
    FEEDBACK_CONTEXT = 2
};

/* PAPER shows what the paper's agent was shown and no more: verdict, errors, log, the largest
 * errors, speedup and both times. */
enum feedback_style { FEEDBACK_FULL, FEEDBACK_PAPER };

/* -1: no such style. "full", "paper". */
int feedback_style_find(const char *name);

struct feedback_turn {
    int turn, of; /* counted from 1 */
    double target_speedup;
    int best_turn; /* 0: none of the turns before was correct and timed */
    double best_speedup;
    const char *last_verdict; /* of the turn before; NULL: this is the first */
    double last_speedup;      /* 0: none */
};

/* New references; NULL: out of memory. `report`: evaluator/report.h; any member may be missing.
 * `log` and `source` may be NULL. */
json_t *feedback_of_report(const struct feedback_turn *turn, const json_t *report, const char *log,
                           const char *source);
json_t *feedback_of_extraction(const struct feedback_turn *turn, const struct extraction *x);
/* `errors`: of a problem document: [{"path", "detail"}]. */
json_t *feedback_of_plan(const struct feedback_turn *turn, const json_t *errors);

/* At most FEEDBACK_MAX bytes; what is cut says so. */
void feedback_render(const json_t *feedback, enum feedback_style style, struct buf *out);

#endif
