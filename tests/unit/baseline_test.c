// SPDX-License-Identifier: Apache-2.0
/* What can be said of baselines without a GPU: cuDNN takes the graphs of attention, what is missing
 * is named, and the kernels between cuBLAS's products are what their source compiles to. After a
 * change of the source: PTXBENCH_WRITE=1 baseline_test writes them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#ifdef HAVE_CUDA

#include "core/submission.h"
#include "core/util.h"
#include "evaluator/compile.h"
#include "evaluator/cuda/baseline_cudnn.h"

#define FOLDER PTXBENCH_SOURCE_DIR "/evaluator/cuda/"

static struct registry registry;

static int load_registry(void **state)
{
    (void)state;
    return registry_load(&registry, PTXBENCH_SOURCE_DIR, NULL) == ERR_NONE ? 0 : -1;
}

static int release_registry(void **state)
{
    (void)state;
    registry_release(&registry);
    return 0;
}

static void attention_is_known_by_its_problem(void **state)
{
    (void)state;
    struct problem p = {.name = "mha_bwd_causal", .axes = {"B", "H", "S", "D"}, .axis_count = 4};
    struct workload w = {.axes = {4, 48, 4096, 128}};
    struct baseline_attention a;
    assert_true(baseline_attention(&p, &w, &a));
    assert_true(a.backward && a.causal);
    assert_true(a.b == 4 && a.h == 48 && a.s == 4096 && a.d == 128);
    memcpy(p.name, "gemm", sizeof("gemm"));
    assert_false(baseline_attention(&p, &w, &a));
    assert_int_equal(baseline_axis(&p, &w, "N"), 0);
}

static void without_a_library_the_reason_is_told(void **state)
{
    (void)state;
    struct baseline_libraries none = {
        .of = {{.name = "cuBLAS", .missing = "cannot load cuBLAS: not there"},
               {.name = "cuDNN", .missing = "cannot load cuDNN: not there"}}};
    const struct {
        const char *problem, *choice, *detail;
    } cases[] = {
        {"gemm", NULL, "cannot load cuBLAS: not there"},
        {"mha_fwd", NULL, "cannot load cuDNN: not there"},
        {"mha_fwd", "cuBLAS (composed):", "cannot load cuBLAS: not there"},
        {"mha_fwd", "cuBLAS:00", "there is no baseline for problem mha_fwd of that name"},
        {"sudoku", NULL, "there is no baseline for problem sudoku"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct problem p = {0};
        struct workload w = {0};
        struct driver_device d = {0};
        struct fault f = {0};
        snprintf(p.name, sizeof(p.name), "%s", cases[i].problem);
        assert_null(baseline_new(&none, &d, &p, &w, cases[i].choice, &f));
        assert_string_equal(f.detail, cases[i].detail);
        assert_int_equal(f.code, ERR_UNAVAILABLE);
    }
}

#ifdef HAVE_CUDNN

static void cudnn_that_is_not_there_is_said_to_be(void **state)
{
    (void)state;
    struct baseline_library out = {0};
    struct fault f = {0};
    setenv("PTXBENCH_CUDNN", "/nowhere", 1);
    assert_int_equal(cudnn_load(&out, &f), ERR_UNAVAILABLE);
    unsetenv("PTXBENCH_CUDNN");
    assert_non_null(strstr(f.detail, "cannot load cuDNN: /nowhere/libcudnn.so.9"));
}

/* Arguments of the graphs, as bits. */
enum {
    FORWARD = 1 << CUDNN_Q | 1 << CUDNN_K | 1 << CUDNN_V | 1 << CUDNN_O | 1 << CUDNN_LSE |
              1 << CUDNN_SCALE,
    BACKWARD = FORWARD | 1 << CUDNN_DO | 1 << CUDNN_DQ | 1 << CUDNN_DK | 1 << CUDNN_DV |
               1 << CUDNN_DQ_SUM | 1 << CUDNN_SOFTMAX_SUM | 1 << CUDNN_ONE,
    CAUSAL = 1 << CUDNN_MINUS_INFINITY,
};

static void cudnn_takes_the_graphs(void **state)
{
    (void)state;
    static const int64_t widths[] = {64, 96, 128, 256};
    struct baseline_library out = {0};
    struct fault f = {0};
    if (cudnn_load(&out, &f) != ERR_NONE) {
        print_message("# %s\n", f.detail);
        skip();
    }
    for (unsigned i = 0; i < 4 * COUNT_OF(widths); i++) {
        struct baseline_attention a = {i & 1, i >> 1 & 1, 4, 48, 4096, widths[i / 4]};
        struct cudnn_graph g;
        unsigned seen = 0;
        if (cudnn_graph_build(&g, NULL, &a, &f) != ERR_NONE)
            fail_msg("%s", f.detail);
        for (size_t k = 0; k < g.uid_count; k++) {
            assert_false(seen >> g.arguments[k] & 1);
            seen |= 1u << g.arguments[k];
        }
        assert_int_equal(seen, (a.backward ? BACKWARD : FORWARD) | (a.causal ? CAUSAL : 0));
        cudnn_graph_free(&g);
    }
}

static void a_graph_that_cudnn_refuses_says_so(void **state)
{
    (void)state;
    struct baseline_library out = {0};
    struct fault f = {0};
    if (cudnn_load(&out, &f) != ERR_NONE)
        skip();
    struct baseline_attention a = {.b = 4, .h = 48, .s = -1, .d = 128};
    struct cudnn_graph g;
    assert_int_equal(cudnn_graph_build(&g, NULL, &a, &f), ERR_UNAVAILABLE);
    assert_non_null(strstr(f.detail, "cannot describe attention: cuDNN answers "));
    assert_int_equal(g.count, 0);
}

#endif

/* Lines of C literals, for any architecture since matrix units came to know bf16. */
static void quote(const struct buf *ptx, struct buf *out)
{
    buf_adds(out,
             "// SPDX-License-Identifier: Apache-2.0\n"
             "// Made from baseline_composed.cu by tests/unit/baseline_test.c; do not edit.\n");
    for (const char *at = ptx->data, *end; *at; at = end + (*end == '\n')) {
        end = at + strcspn(at, "\n");
        bool target = !strncmp(at, ".target", 7);
        if (target)
            buf_adds(out, "\".target sm_80");
        else
            buf_adds(out, "\"");
        for (; at < end && !target; at++)
            buf_addf(out, *at == '"' || *at == '\\' ? "\\%c" : "%c", *at);
        buf_adds(out, "\\n\",\n");
    }
}

static void the_kernels_are_what_their_source_compiles_to(void **state)
{
    (void)state;
    static const char *const names[] = {"attention_weights", "attention_gradients", NULL};
    json_t *can = compile_capabilities();
    const char *nvrtc = json_string_value(json_object_get(can, "nvrtc"));
    bool known = nvrtc && strstr(nvrtc, "13.0");
    json_decref(can);
    if (!known)
        skip();
    struct buf source, kept, fresh;
    buf_init(&source, MIB);
    buf_init(&kept, MIB);
    buf_init(&fresh, MIB);
    assert_int_equal(read_file(FOLDER "baseline_composed.cu", &source, NULL), ERR_NONE);
    struct compile_request request = {.language = "cuda",
                                      .arch = archs_find(&registry.archs, "sm_90a"),
                                      .source = source.data,
                                      .source_len = source.len,
                                      .names = names,
                                      .wake_fd = -1};
    struct compile_result made;
    compile_run(&request, &made);
    if (made.verdict != VERDICT_PASSED)
        fail_msg("%s\n%s", made.detail, made.log.data ? made.log.data : "");
    quote(&made.ptx, &fresh);
    compile_result_release(&made);
    if (getenv("PTXBENCH_WRITE")) {
        FILE *file = fopen(FOLDER "baseline_composed.inc", "w");
        assert_non_null(file);
        assert_int_equal(fwrite(fresh.data, 1, fresh.len, file), fresh.len);
        assert_int_equal(fclose(file), 0);
    } else {
        assert_int_equal(read_file(FOLDER "baseline_composed.inc", &kept, NULL), ERR_NONE);
        assert_string_equal(kept.data, fresh.data);
    }
    buf_release(&fresh);
    buf_release(&kept);
    buf_release(&source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_is_known_by_its_problem),
        cmocka_unit_test(without_a_library_the_reason_is_told),
#ifdef HAVE_CUDNN
        cmocka_unit_test(cudnn_that_is_not_there_is_said_to_be),
        cmocka_unit_test(cudnn_takes_the_graphs),
        cmocka_unit_test(a_graph_that_cudnn_refuses_says_so),
#endif
        cmocka_unit_test(the_kernels_are_what_their_source_compiles_to),
    };
    return cmocka_run_group_tests(tests, load_registry, release_registry);
}

#else

int main(void)
{
    printf("1..0 # SKIP built without CUDA\n");
    return 0;
}

#endif
