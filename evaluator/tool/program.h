/* SPDX-License-Identifier: Apache-2.0
 * What `ptxvm run` works on: a source with its plan, compiled, and the oracle it is held against.
 */
#ifndef EVALUATOR_TOOL_PROGRAM_H
#define EVALUATOR_TOOL_PROGRAM_H

#include "core/submission.h"
#include "evaluator/compile.h"
#include "evaluator/inputs.h"
#include "evaluator/runner_rig.h"
#include "evaluator/tool/run_options.h"

struct tool_program {
    struct registry registry;
    struct submission submission;
    struct compile_result compiled;
    json_t *symbols;   /* {name expression: symbol} */
    json_t *registers; /* {symbol: registers of a thread} */
    struct buf oracle_ptx;
    struct ptxvm_trace trace; /* line NULL: none */
    const char *trace_kernel; /* as the plan names it */
    uint64_t trace_left, trace_cut;
    bool trace_to_stderr;
};

/* Reads everything and compiles. Returns enum tool_exit; the reason for one that is not TOOL_OK is
 * on stderr, or in out->compiled if that has another verdict than PASSED. Close it in any case. */
int program_open(const struct run_options *o, struct tool_program *out);
void program_close(struct tool_program *p);

/* The spec of a rig for the submission, less its tensors. */
struct rig_spec program_rig(const struct tool_program *p, const struct run_options *o);
/* Inputs of distribution `n`: from --seed. */
struct seed program_seed(const struct run_options *o, size_t n);

#endif
