/* SPDX-License-Identifier: Apache-2.0
 * The stage `sanitize` of a device that checks no access itself: the same submission runs once more, on
 * ptxvm, at the problem's cpu workload, with every access and barrier checked. In the background, in a
 * confined runner, while the device is busy with the check: it uses processors, not the device.
 *
 * It is left out, with the reason, where it could only accuse wrongly: where the plan does not fit the
 * cpu workload, where it does not tell its kernels every axis that differs there (a kernel that holds
 * its size as a constant reads out of bounds at any other), or where ptxvm gives up. */
#ifndef EVALUATOR_SANITIZE_H
#define EVALUATOR_SANITIZE_H

#include "evaluator/compile.h"
#include "evaluator/outcome.h"

struct submission;
struct sanitizing;

/* Budget of the run. naive.ptx, the slowest honest example, takes 6.8e8; ptxvm does about 1e9 a second
 * on two processors. */
enum { SANITIZE_THREAD_INSTRUCTIONS = 1 << 30, SANITIZE_MS = 10 * 1000 };

/* Starts it and returns. Both are borrowed until sanitize_free. NULL: no thread to be had. */
struct sanitizing *sanitize_start(const struct submission *s, const struct compile_result *compiled);

/* Waits at most that long; true once it has ended. */
bool sanitize_wait(struct sanitizing *s, int ms);

struct sanitize_result {
    const char *skipped; /* reason, or NULL; borrowed from the sanitizing, as the next two */
    const char *detail;  /* of a verdict other than PASSED */
    const json_t *json;  /* for report.sanitize; NULL if skipped */
    enum verdict verdict; /* PASSED, SANITIZER_ERROR */
    double wall_ms;
};

/* After sanitize_wait() said so. */
struct sanitize_result sanitize_result(const struct sanitizing *s);

void sanitize_free(struct sanitizing *s); /* stops it; NULL is fine */

#endif
