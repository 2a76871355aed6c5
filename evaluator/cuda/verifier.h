/* SPDX-License-Identifier: Apache-2.0
 * The verifier: a fresh process per submission, after the timing, that runs the plan once more under
 * CUPTI's SASS metrics and so knows how often every instruction was executed. Served over
 * evaluator/wire.h like a runner ("open", "slot"), and one operation of its own:
 *
 *   {"op": "count", "slot": i, "launch": n}   launch n of the plan, run once and counted, behind the
 *   launches ahead of it; a process counts once (evaluator/cuda/sass_metrics.h). Result, beside ok, fault, sticky:
 *     {"executed": true | false | null,     a target instruction of the architecture was executed
 *      "families": {"gmma": {"warps": n, "threads": n}, …} | null,   every family of arch.json
 *      "tensor_share": x | null,            FLOPs of tensor instructions / FLOPs of the problem
 *      "reason": "…" | null,                why executed, families or tensor_share are null
 *      "total": {"warps": n, "threads": n} | null,   all instructions of the launched kernel
 *      "patched": n,                        instructions that were counted
 *      "us": x}                             wall time of the counted run
 *   The first four are the report's "target" (evaluator/report.h). warps: executions by a warp; threads:
 *   those of its threads whose predicate was true. Counters that nobody may read make the counts null,
 *   never zero, and are no fault: "ok" is true. A kernel that goes wrong is one, as for a runner. */
#ifndef EVALUATOR_CUDA_VERIFIER_H
#define EVALUATOR_CUDA_VERIFIER_H

/* Serves the keeper on descriptor `fd` with CUDA device `ordinal`. Returns the exit status. */
int gpu_verifier(int fd, int ordinal);

#endif
