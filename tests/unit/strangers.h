/* SPDX-License-Identifier: Apache-2.0
 * What the strangers tests share. A stranger is CUDA as people write it: tests/data/strangers/
 * <file>.cu goes through the compile path of a submission, each kernel runs on ptxvm, and what it
 * wrote is held against a model in C. Every kernel is `k(const uint32_t *in, uint32_t *out)`. */
#ifndef TESTS_UNIT_STRANGERS_H
#define TESTS_UNIT_STRANGERS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/util.h"
#include "evaluator/compile.h"
#include "evaluator/ptxvm/ptx.h"
#include "evaluator/ptxvm/ptxvm.h"

enum { STRANGER_IN = 4096, STRANGER_OUT = 16384 /* 32-bit words */ };

struct stranger {
    const char *kernel;
    uint32_t grid, block;
    bool cooperative;
    uint32_t words; /* of the output that are compared bit by bit */
    void (*model)(const uint32_t *in, uint32_t *out); /* NULL: `check` says */
    void (*check)(const uint32_t *in, const uint32_t *out, const char *log);
};

static inline void stranger_inputs(uint32_t *in)
{
    uint32_t state = 12345;
    for (uint32_t i = 0; i < STRANGER_IN; i++) {
        state = state * 1664525 + 1013904223;
        in[i] = state >> 3;
    }
}

static inline bool stranger_toolkit(void)
{
    json_t *can = compile_capabilities();
    bool here = json_is_string(json_object_get(can, "nvrtc"));
    json_decref(can);
    return here;
}

static inline struct ptx_module *stranger_compile(const char *file)
{
    static struct archs archs;
    char path[512];
    struct buf source;
    struct fault f = {0};
    if (!archs.count)
        assert_int_equal(archs_load(&archs, PTXBENCH_SOURCE_DIR, &f), ERR_NONE);
    snprintf(path, sizeof path, "%s/tests/data/strangers/%s.cu", PTXBENCH_SOURCE_DIR, file);
    buf_init(&source, MIB);
    assert_int_equal(read_file(path, &source, &f), ERR_NONE);
    struct compile_request q = {.language = "cuda",
                                .arch = archs_find(&archs, "sm_90a"),
                                .source = source.data,
                                .source_len = source.len,
                                .timeout_ms = 240 * 1000,
                                .wake_fd = -1};
    struct compile_result r;
    compile_run(&q, &r);
    if (r.verdict != VERDICT_PASSED)
        fail_msg("%s.cu: %s\n%.3000s", file, r.detail, r.log.data ? r.log.data : "");
    struct ptx_module *m = ptx_parse(r.ptx.data, r.ptx.len, &f);
    if (!m)
        fail_msg("%s.cu: %s", file, f.detail);
    compile_result_release(&r);
    buf_release(&source);
    return m;
}

static inline void stranger_compare(const struct stranger *s, const uint32_t *in,
                                    const uint32_t *out)
{
    static uint32_t want[STRANGER_OUT];
    memset(want, 0, sizeof want);
    s->model(in, want);
    for (uint32_t i = 0; i < s->words; i++)
        if (out[i] != want[i])
            fail_msg("%s: word %u is 0x%08x, the model says 0x%08x", s->kernel, i, out[i], want[i]);
}

static inline void stranger_run(const struct ptx_module *m, const struct stranger *s, uint64_t seed)
{
    struct fault f = {0};
    struct ptxvm *vm = ptxvm_new(&(struct ptxvm_options){.seed = seed}, &f);
    assert_non_null(vm);
    assert_int_equal(ptxvm_load(vm, m, &f), ERR_NONE);
    uint64_t params[2] = {ptxvm_alloc(vm, "in", STRANGER_IN * 4, 256, PTXVM_READ_ONLY),
                          ptxvm_alloc(vm, "out", STRANGER_OUT * 4, 256, PTXVM_READ_WRITE)};
    uint32_t *in = ptxvm_host(vm, params[0], STRANGER_IN * 4);
    const uint32_t *out = ptxvm_host(vm, params[1], STRANGER_OUT * 4);
    stranger_inputs(in);
    struct ptxvm_launch launch = {.symbol = s->kernel,
                                  .grid = {s->grid, 1, 1},
                                  .block = {s->block, 1, 1},
                                  .cooperative = s->cooperative,
                                  .params = params,
                                  .param_bytes = sizeof params};
    struct ptxvm_result r;
    ptxvm_launch(vm, &launch, &r);
    if (r.status != PTXVM_OK)
        fail_msg("%s: %s: %s (line %u: %s)", s->kernel, ptxvm_status_name(r.status), r.fault.detail,
                 r.fault.source_line, r.fault.instruction);
    if (s->model)
        stranger_compare(s, in, out);
    if (s->check)
        s->check(in, out, r.log);
    ptxvm_result_release(&r);
    ptxvm_free(vm);
}

/* All kernels of a file, under two schedules. */
static inline void stranger_file(const char *file, const struct stranger *rows, size_t count)
{
    if (!stranger_toolkit()) {
        print_message("skipped: NVRTC is not installed\n");
        skip();
    }
    struct ptx_module *m = stranger_compile(file);
    for (size_t i = 0; i < count; i++)
        for (uint64_t seed = 0; seed < 2; seed++)
            stranger_run(m, &rows[i], seed);
    ptx_free(m);
}

#define STRANGER_ROWS(file, rows) stranger_file(file, rows, sizeof rows / sizeof rows[0])

#endif
