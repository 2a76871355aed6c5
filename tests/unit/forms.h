/* SPDX-License-Identifier: Apache-2.0
 * tests/data/ptx_forms.txt: every instruction form of sm_90a, and what ptxvm does with it. Shared
 * by the test of the table and the bench that counts it. */
#ifndef TESTS_UNIT_FORMS_H
#define TESTS_UNIT_FORMS_H

#include "evaluator/ptxvm/decode.h"
#include "tests/unit/forms_table.h"

/* What a kernel of one form is made of: the form stands behind a branch, or is the first to run. */
#define FORM_HEAD                                                                                  \
    ".version 9.0\n.target sm_90a\n.address_size 64\n"                                             \
    ".global .align 128 .b8 gv[4096];\n.const .align 16 .b8 cv[64];\n.func callee() { ret; }\n"    \
    ".func (.reg .b32 r) function(.reg .b32 x) { mov.b32 r, x; ret; }\n"                           \
    ".visible .entry k(.param .u64 kp) {\n"                                                        \
    ".reg .b16 h<10>; .reg .b32 w<10>; .reg .b64 d<10>; .reg .b128 q<4>; .reg .f32 f<10>;\n"       \
    ".reg .f64 g<10>; .reg .pred p<4>; .reg .b32 ws, wm; .reg .b64 dg, dt, dm;\n"                  \
    ".shared .align 128 .b8 sv[1024]; .local .align 16 .b8 lv[64];\n"                              \
    "mov.u64 dg, gv; mov.u64 dt, gv; mov.u32 ws, sv; mov.u32 wm, sv; cvta.shared.u64 dm, 1024;\n"  \
    "mov.u32 w0, %%tid.x; mov.u32 w1, 0xffffffff; mov.u32 w2, 0x80000000; mov.u32 w3, 40;\n"        \
    "mov.u64 d1, 0x8000000000000000; mov.u64 d2, -1; mov.f32 f1, 0f7F800000; mov.f32 f2, "         \
    "0f00000001;\n"                                                                                \
    "mov.f64 g1, 0dFFF8000000000000; mov.f64 g2, 0d7FEFFFFFFFFFFFFF; mov.b16 h1, 0x7c00;\n"        \
    "table: .branchtargets T, E;\n"

enum form_result { FORM_EXECUTED, FORM_REJECTED, FORM_BROKEN };

/* Has the program of the only kernel an op that says "not executed"? */
static inline bool form_is_unsupported(const struct ptxvm *vm)
{
    const struct program *p = vm->programs;
    for (uint32_t i = 0; i < p->function_count; i++)
        for (uint32_t k = 0; p->functions[i] && k < p->functions[i]->op_count; k++)
            if (p->functions[i]->ops[k].run == run_unsupported)
                return true;
    return false;
}

/* Decodes a form; `run`: also executes it, with whatever is in its registers, so that it may well
 * fault. `status` and `detail` are those of the launch. */
static inline enum form_result form_try(const char *form, bool run, enum ptxvm_status *status,
                                        char *detail, size_t size)
{
    char ptx[4096];
    struct fault f = {0};
    enum form_result result = FORM_BROKEN;
    snprintf(ptx, sizeof ptx, FORM_HEAD "%s%s;\nT: E: ret;\n}\n", run ? "" : "bra E;\n", form);
    struct ptx_module *m = ptx_parse(ptx, strlen(ptx), &f);
    struct ptxvm_options options = {.threads = 1, .instruction_budget = 10000};
    struct ptxvm *vm = m ? ptxvm_new(&options, &f) : NULL;
    uint64_t param = 0;
    struct ptxvm_launch launch = {.symbol = "k",
                                  .grid = {1, 1, 1},
                                  .block = {32, 1, 1},
                                  .params = &param,
                                  .param_bytes = sizeof param};
    *status = PTXVM_LAUNCH;
    snprintf(detail, size, "%s", f.detail);
    if (vm && ptxvm_load(vm, m, &f) == ERR_NONE) {
        struct ptxvm_result r;
        ptxvm_launch(vm, &launch, &r);
        snprintf(detail, size, "%s", r.fault.detail);
        *status = r.status;
        if (vm->programs)
            result = form_is_unsupported(vm) ? FORM_REJECTED : FORM_EXECUTED;
        ptxvm_result_release(&r);
    }
    ptxvm_free(vm);
    ptx_free(m);
    return result;
}

#endif
