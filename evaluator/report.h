/* SPDX-License-Identifier: Apache-2.0
 * The report: one JSON document of an evaluation, schema 1. Stored verbatim, shown by the command
 * line and the page, read by agents. report_begin() lays every member down in the order below,
 * null or empty; what the stages learn fills them in, so a report that stopped early has the same
 * shape.
 *
 * { "schema": 1,
 *   "id": "…",                        only if the caller has one
 *   "verdict": "PASSED",              core/verdicts.def
 *   "flags": ["loose"],               core/flags.def
 *   "detail": "one sentence",         why, when not PASSED, else null
 *   "problem", "workload", "arch", "device": "cpu", "device_model": "ptxvm", "language", "mode",
 *   "environment": null | {"name", "uuid", "sm", "num_sms", "memory_bytes", "driver"},   the GPU
 *   "speedup": null | {"value": 1.02, "ci95": [1.01, 1.03]},   only with PASSED
 *   "candidate_us": null | number,  "baseline": null | {"name", "version", "us",
 *                                     "engine"?, "reason"?: why no better one},
 *   "timing": null | {                what speedup is made of; see evaluator/timing_stats.h
 *     "blocks", "batches", "slots",   blocks of four launches b c c b; slots of inputs and outputs
 *     "candidate": {"median_us", "mean_us", "first_us", "rest_us"},   first launch of a batch, the others
 *     "baseline": {"median_us", "mean_us", "chosen", "choices_us"},   which way of the library's, and what each
 *                                     of them took when it was chosen
 *     "floor_us",                     an empty kernel, measured the same way
 *     "tflops", "roofline_share",     of the candidate; share of the device's best at its highest clock
 *     "launches": [{"kernel", "us"}], the candidate's, where it has several
 *     "block_us": [[b, c, c, b], …],
 *     "environment": {"samples", "sm_mhz": {"min", "median", "max"}, "memory_mhz", "temperature_c",
 *                     "power_w" likewise, "max_sm_mhz", "throttle": {reason: share of the samples},
 *                     "ecc_errors"},  while it was timed
 *     "parts_ms": {…}},               where the time of the stage went
 *   "target": {"executed": true | false | null,   were target instructions of the arch executed?
 *              "families": {"gmma": {"static": n | null, "warps": n | null, "threads": n | null}},
 *              "tensor_share": null | number,     share of the problem's FLOPs
 *              "reason": "why something is null" | null},
 *   "stages": [{"name": "compile", "state": "passed|failed|skipped", "wall_ms": 1.2, "detail"?}],
 *   "compile": null | {"compiler", "options", "warnings": [{"code", "line", "text"}],
 *                      "log_truncated"},
 *   "kernels": [{"name", "symbol", "registers", "spill_store_bytes", "spill_load_bytes",
 *                "shared_bytes", "local_bytes", "param_bytes"}],
 *   "check": null | {"rule": "paper", "paper": true, "strict": true | null,
 *     "trials": [{"distribution": "normal", "seed": "32 hex digits", "deterministic": true | null,
 *       "tensors": [{"name": "C", "max_abs", "max_rel", "bad", "elements", "nonfinite",
 *         "unwritten", "mismatches", "excess", "paper", "exact", "strict": true | false | null,
 *         "hints": ["…"],
 *         (max_abs, max_rel and excess are null where no element is finite)
 *         if bad:         "first_bad": {"index": [i, j], "got", "want"},
 *                         "bad_box": {"rows": [a, b], "columns": [a, b]},
 *         if not strict:  "worst_tile": {"row", "column", "excess"}, "worst_row": {…},
 *                         "bad_tiles", "tiles", "bad_rows"}]}],
 *     "baseline"?: [as "tensors": what the baseline answers, on a GPU]},
 *   "faults": [what the executor found: see ptxvm_fault_json(), and "launch": index in the plan, or
 *              null for a launch that fills a buffer],
 *   "sanitize": null | {"device": "ptxvm", "workload", "seed", "thread_instructions",
 *                       "findings": [as faults]},   see evaluator/sanitize.h
 *   "counts": null | {"thread_instructions", "warp_instructions", "ctas",        one run of the plan
 *     "by_family": {"gmma": {"warps", "threads"}, …, "other": {…}},
 *     "by_instruction": [{"name": "ld.global.v4.f32", "warps", "threads"}, …]},   the most frequent ones
 *   "captures": [{"buffer", "dtype", "offset", "bytes"}],   only if there are any: their artefact
 *   "sandbox": ["seccomp", …],        layers that every child of this evaluation had
 *   "versions": {"ptxbench", "nvrtc", "ptxas"},
 *   "epoch": 1,                       raised when older numbers are no longer comparable
 *   "cubin_sha256": null | "…", "source_sha256": "…",
 *   "seeds": ["…"],                   secret until now; see evaluator/inputs.h
 *   "wall_ms": 1234.5 } */
#ifndef EVALUATOR_REPORT_H
#define EVALUATOR_REPORT_H

#include <jansson.h>

#include "core/submission.h"
#include "core/words.h"
#include "evaluator/compile.h"

enum { REPORT_SCHEMA = 1, REPORT_EPOCH = 1 };

enum stage_state { STAGE_PASSED, STAGE_FAILED, STAGE_SKIPPED };

const char *stage_state_name(enum stage_state s); /* "passed", … */

/* The whole shape. `model` is the device's name for people, `id` may be NULL. New reference. */
json_t *report_begin(const struct submission *s, const char *device, const char *model,
                     const char *id);

/* Milliseconds to the microsecond: more digits would be noise. */
double report_ms(double ms);

/* Appends a row of "stages". `detail` may be NULL or "". */
void report_stage(json_t *report, enum stage stage, enum stage_state state, double wall_ms,
                  const char *detail);

/* Copies what the compile child said. */
void report_compile(json_t *report, const struct compile_result *compiled);

/* Copies an answer of a runner: members check, faults, counts, families (see
 * evaluator/runner.h). */
void report_check(json_t *report, const json_t *answer, const struct arch *arch);

/* Says on what it runs: the "device" of a keeper's ready event. */
void report_device(json_t *report, const json_t *device);

/* Copies an answer of a keeper: the members that evaluator/keeper.h lists for its operation. */
void report_gpu(json_t *report, const json_t *answer);

/* Copies what the sanitizer found. */
void report_sanitize(json_t *report, const json_t *found);

/* Verdict, flags, sentence and time: what is known last. A verdict other than PASSED takes the speedup
 * away; what was measured stays in "timing". */
void report_end(json_t *report, enum verdict verdict, unsigned flags, const char *detail,
                double wall_ms);

#endif
