// SPDX-License-Identifier: Apache-2.0
#include "evaluator/sanitize_run.h"

#include <stdio.h>
#include <string.h>

#include "evaluator/check_tensors.h"
#include "evaluator/runner_rig.h"

/* What the way a run ended says. An executor that gives up says nothing about the submission, and a trap
 * or an assertion is for the real device to judge. */
static const enum { CLEAN, SKIPPED, FOUND, DECIDES } meaning[PTXVM_STATUS_COUNT] = {
    [PTXVM_OK] = CLEAN,
    [PTXVM_FAULT] = FOUND, /* or DECIDES, by its kind */
    [PTXVM_TRAP] = FOUND,
    [PTXVM_ASSERT] = FOUND,
    [PTXVM_UNSUPPORTED] = SKIPPED,
    [PTXVM_BUDGET] = SKIPPED,
    [PTXVM_DEADLINE] = SKIPPED,
    [PTXVM_DEADLOCK] = DECIDES,
    [PTXVM_LAUNCH] = SKIPPED,
    [PTXVM_NO_MEMORY] = SKIPPED,
};

static bool is_out_of_bounds(const struct rig_run *run)
{
    const char *kind = json_string_value(json_object_get(run->fault, "kind"));
    return kind && (!strcmp(kind, ptxvm_kind_name(PTXVM_OUT_OF_BOUNDS_READ)) ||
                    !strcmp(kind, ptxvm_kind_name(PTXVM_OUT_OF_BOUNDS_WRITE)));
}

static json_t *answer(enum verdict verdict, const char *detail, const char *skipped,
                      const struct rig_run *run)
{
    json_t *findings = json_array();
    if (run && run->fault && !skipped)
        json_array_append(findings, run->fault);
    return json_pack("{s:s, s:i, s:s, s:s?, s:I, s:o}", "verdict", verdict_name(verdict), "flags", 0,
                     "detail", detail, "skipped", skipped, "thread_instructions",
                     (json_int_t)(run ? run->counts.thread_instructions : 0), "findings", findings);
}

static json_t *judge(const struct rig_run *run)
{
    bool decides = meaning[run->status] == DECIDES ||
                   (run->status == PTXVM_FAULT && is_out_of_bounds(run));
    if (meaning[run->status] == SKIPPED)
        return answer(VERDICT_PASSED, "", run->detail, run);
    return answer(decides ? VERDICT_SANITIZER_ERROR : VERDICT_PASSED, decides ? run->detail : "", NULL,
                  run);
}

json_t *sanitize_run(const struct check_request *q)
{
    struct fault f = {0};
    struct tensors tensors;
    struct rig *rig = NULL;
    if (tensors_init(&tensors, q->problem, q->workload, NULL, &f) == ERR_NONE) {
        struct rig_spec spec = {
            .problem = q->problem, .workload = q->workload, .arch = q->arch, .plan = q->plan,
            .ptx = q->ptx, .ptx_len = q->ptx_len, .symbols = q->symbols,
            .registers = q->registers, .tensors = tensors.data,
            .thread_instructions = q->thread_instructions, .plan_ms = q->plan_ms,
        };
        tensors_draw_inputs(&tensors, q->workload, &q->problem->distributions[0], q->seeds[0]);
        tensors_poison_outputs(&tensors);
        rig = rig_new(&spec, &f);
    }
    json_t *out = NULL;
    if (rig) {
        struct rig_run run;
        rig_run(rig, &run);
        out = judge(&run);
        rig_run_release(&run);
    } else {
        out = answer(VERDICT_PASSED, "", f.detail, NULL);
    }
    rig_free(rig);
    tensors_release(&tensors);
    return out;
}
