/* SPDX-License-Identifier: Apache-2.0
 * Kernels of tests/gpu/arch_*.cu on ptxvm: compiled with the headers for sm_90a as a submission
 * would be; each counts what is wrong. */
#ifndef TESTS_UNIT_ARCH_MACHINE_H
#define TESTS_UNIT_ARCH_MACHINE_H

#include "core/pack.h"
#include "core/submission.h"
#include "evaluator/compile.h"
#include "evaluator/cuda_paths.h"
#include "evaluator/ptxvm/tensor_map.h"
#include "tests/arch_names.h"
#include "tests/unit/ptxvm_kit.h"

enum { SHARED = 200 * 1024, MAP = 128 /* bytes of a tensor map */ };

static struct archs archs;
static bool toolkit;

/* One compiled source on a machine, and the kernels' counter of what is wrong. */
struct machine {
    struct compile_result compiled;
    struct kit kit;
    uint64_t bad;
};

static inline void need_toolkit(void)
{
    if (!toolkit) {
        print_message("no CUDA toolkit on this host\n");
        skip();
    }
}

static inline struct buf read_tree(const char *name)
{
    char path[512];
    struct buf text;
    buf_init(&text, LIMIT_SOURCE);
    snprintf(path, sizeof path, "%s/%s", PTXBENCH_SOURCE_DIR, name);
    assert_int_equal(read_file(path, &text, NULL), ERR_NONE);
    return text;
}

/* `define` may be "". Code blocks of `hint` (NULL: none) stand between the headers and `file`. */
static inline void machine_open(struct machine *m, const char *define, const char *hint,
                                const char *file, const char *const *names)
{
    struct pack_files headers = {0};
    struct buf source, kernels = read_tree(file);
    buf_init(&source, LIMIT_SOURCE);
    buf_addf(&source, "%s\n#include <cmath>\n", define);
    assert_int_equal(pack_headers(&headers, home_dir(), "sm_90a", NULL), ERR_NONE);
    for (size_t i = 0; i < headers.count; i++)
        buf_addf(&source, "#include <ptxbench/%s>\n", headers.items[i].name);
    pack_release(&headers);
    buf_adds(&source, "using namespace ptxbench;\n");
    if (hint) {
        struct buf text = read_tree(hint);
        const char *block = strstr(text.data, "```cuda\n"),
                   *end = block ? strstr(block, "\n```") : NULL;
        assert_non_null(end);
        buf_add(&source, block + 8, (size_t)(end + 1 - block - 8));
        buf_release(&text);
    }
    buf_add(&source, kernels.data, kernels.len);
    struct compile_request q = {.language = "cuda",
                                .arch = archs_find(&archs, "sm_90a"),
                                .source = source.data,
                                .source_len = source.len,
                                .names = names,
                                .timeout_ms = 120 * 1000,
                                .wake_fd = -1};
    compile_run(&q, &m->compiled);
    if (m->compiled.verdict != VERDICT_PASSED)
        fail_msg("%s\n%.2000s", m->compiled.detail,
                 m->compiled.log.data ? m->compiled.log.data : "");
    kit_open(&m->kit, m->compiled.ptx.data, &(struct ptxvm_options){.deadline_ms = 200 * 1000});
    m->bad = ptxvm_alloc(m->kit.vm, "bad", 4, 256, PTXVM_READ_WRITE);
    buf_release(&source);
    buf_release(&kernels);
}

static inline void machine_close(struct machine *m)
{
    kit_close(&m->kit);
    compile_result_release(&m->compiled);
}

/* Launches `name`; it must end well and find nothing wrong. */
static inline void run(struct machine *m, const char *name, uint32_t blocks, uint32_t threads,
                       size_t shared, const void *params, size_t bytes)
{
    uint32_t count = 0;
    struct ptxvm_launch launch = {.symbol = compile_symbol(&m->compiled, name),
                                  .grid = {blocks, 1, 1},
                                  .block = {threads, 1, 1},
                                  .shared_bytes = shared,
                                  .params = params,
                                  .param_bytes = bytes};
    ptxvm_result_release(&m->kit.result);
    ptxvm_launch(m->kit.vm, &launch, &m->kit.result);
    if (m->kit.result.status != PTXVM_OK)
        fail_msg("%s: %s: %s (%s)", name, ptxvm_status_name(m->kit.result.status),
                 m->kit.result.fault.detail, m->kit.result.fault.instruction);
    assert_true(ptxvm_read(m->kit.vm, m->bad, &count, sizeof count));
    if (count)
        fail_msg("%s: %u wrong", name, count);
}

static inline int machine_setup(void **state)
{
    (void)state;
    struct cuda_paths paths;
    struct fault f;
    toolkit = cuda_paths_find(&paths) && paths.nvrtc[0] && paths.ptxas[0];
    return archs_load(&archs, home_dir(), &f) == ERR_NONE ? 0 : -1;
}

static inline int machine_teardown(void **state)
{
    (void)state;
    archs_release(&archs);
    return 0;
}

#endif
