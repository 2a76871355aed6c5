/* SPDX-License-Identifier: Apache-2.0
 * tests/data/ptx_forms.txt: every instruction form of sm_90a, and what ptxvm does with it. Shared by
 * the test of the table and the bench that counts it. */
#ifndef TESTS_UNIT_FORMS_H
#define TESTS_UNIT_FORMS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/util.h"
#include "evaluator/ptxvm/decode.h"

enum { FORM_TEXT = 1024 };

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
    "table: .branchtargets T, E;\n"

/* One expanded line, e.g. "add.rn.f32 f0, f1, f2"; `reason` is NULL where it is executed. */
typedef void form_fn(const char *form, const char *reason, void *arg);

/* Calls fn for every choice of alternatives: replaces the first <…> and goes on with the result. */
static inline void form_expand(const char *line, const char *reason, form_fn *fn, void *arg)
{
    const char *open = strchr(line, '<'), *close = open ? strchr(open, '>') : NULL;
    if (!close) {
        fn(line, reason, arg);
        return;
    }
    for (const char *at = open + 1; at <= close; at++) {
        size_t n = strcspn(at, "|>");
        char text[FORM_TEXT];
        snprintf(text, sizeof text, "%.*s%.*s%s", (int)(open - line), line, (int)n, at, close + 1);
        for (char *c = text + (open - line); c < text + (open - line) + n; c++)
            *c = *c == '~' ? '|' : *c;
        form_expand(text, reason, fn, arg);
        at += n;
    }
}

/* False: the table cannot be read. */
static inline bool forms_each(form_fn *fn, void *arg)
{
    struct buf text;
    struct fault f;
    char reason[FORM_TEXT] = "", *save = NULL;
    bool executed = true;
    buf_init(&text, MIB);
    if (read_file(PTXBENCH_SOURCE_DIR "/tests/data/ptx_forms.txt", &text, &f) != ERR_NONE)
        return false;
    for (char *line = strtok_r(text.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        executed = line[0] == '=' ? strcmp(line, "= executed") == 0 : executed;
        if (line[0] == '=' && !executed)
            snprintf(reason, sizeof reason, "%s", line + strlen("= rejected: "));
        else if (line[0] != '#' && line[0] != '=')
            form_expand(line, executed ? NULL : reason, fn, arg);
    }
    buf_release(&text);
    return true;
}

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

/* Decodes a form; `run`: also executes it, if it is one that is not executed, for its message. */
static inline enum form_result form_try(const char *form, bool run, char *detail, size_t size)
{
    char ptx[4096];
    struct fault f = {0};
    enum form_result result = FORM_BROKEN;
    snprintf(ptx, sizeof ptx, FORM_HEAD "%s%s;\nT: E: ret;\n}\n", run ? "" : "bra E;\n", form);
    struct ptx_module *m = ptx_parse(ptx, strlen(ptx), &f);
    struct ptxvm *vm = m ? ptxvm_new(&(struct ptxvm_options){.threads = 1}, &f) : NULL;
    uint64_t param = 0;
    struct ptxvm_launch launch = {.symbol = "k",
                                  .grid = {1, 1, 1},
                                  .block = {32, 1, 1},
                                  .params = &param,
                                  .param_bytes = sizeof param};
    snprintf(detail, size, "%s", f.detail);
    if (vm && ptxvm_load(vm, m, &f) == ERR_NONE) {
        struct ptxvm_result r;
        ptxvm_launch(vm, &launch, &r);
        snprintf(detail, size, "%s", r.fault.detail);
        if (vm->programs)
            result = form_is_unsupported(vm) ? FORM_REJECTED : FORM_EXECUTED;
        ptxvm_result_release(&r);
    }
    ptxvm_free(vm);
    ptx_free(m);
    return result;
}

#endif
