/* SPDX-License-Identifier: Apache-2.0
 * The headers for sm_90a: every function compiles with NVRTC, emits the instruction that its
 * comment names, and draws no note from ptxas. wgmma in all its sizes: arch_wgmma_test.c. */
#include "tests/unit/arch_rows.h"

static const char preamble[] =
    "template <class A, class B, class D, int N, class... F> __device__ void sums(D *g, F... f) {\n"
    "    D d[N]; for (int i = 0; i < N; i++) d[i] = g[i];\n"
    "    wgmma_fence(); (f(d), ...); wgmma_commit(); wgmma_wait<0>(); wgmma_hold(d);\n"
    "    for (int i = 0; i < N; i++) g[i] = d[i]; }\n"
    "#define D(call) float d[32]; for (int q = 0; q < 32; q++) d[q] = a.f[q]; call\n"
    "#define SUMS(A, B, D, N, call) sums<A, B, D, N>((D *)a.g, [&](auto &d) { call; })\n";

static const struct row rows[] = {
    {"wgmma_hold(four); a.g[0] = four[0]", ".entry", 0},
    {"a.g[0] = descriptor<swizzle::b64>(s + 16 * i, 16, 512)", ", -9223371899415756800;", 0},
    {"a.g[0] = advance(descriptor_k_major<swizzle::b128>(s + 16 * i), 32)",
     ", 4611686293305360384;", 0},
    {"a.g[0] = descriptor_mn_major<swizzle::b128>(s + 16 * i, 64)", ", 4611686293338849280;", 0},
    {"a.g[0] = wgmma_row(i) + 64 * wgmma_column(i)", ".entry", 0},
    {"D(wgmma_store_bf16(a.g, a.n, a.n, a.n, d))", "cvt.rn.bf16x2.f32", 0x186},
    {"D(wgmma_store_f32(a.f, a.n, a.n, a.n, d))", "st.global", 0x186},
    {"D(wgmma_stage_bf16(s, 8, 0, d))", "stmatrix.sync.aligned.m8n8.x4.shared.b16", 0x044},
    {"SUMS(bf16, bf16, float, 64, (wgmma<bf16>(d, a.g[0], a.g[1])))",
     "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {", 0x1f0},
};

static void functions_emit_their_instruction(void **state)
{
    (void)state;
    need_toolkit();
    struct compile_result r;
    unit_begin("sm_90a", preamble);
    unit_add_rows(common_rows, COUNT_OF(common_rows));
    unit_add_boxes(common_boxes, COUNT_OF(common_boxes));
    unit_add_rows(rows, COUNT_OF(rows));
    unit_compile(&r);
    assert_true(all_comments_hold("sm_90a", r.ptx.data) > 60);
    compile_result_release(&r);
}

static void every_function_is_tested(void **state)
{
    (void)state;
    need_toolkit();
    assert_true(functions_are_called("sm_90a") > 70);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_emit_their_instruction),
        cmocka_unit_test(every_function_is_tested),
    };
    return cmocka_run_group_tests(tests, kit_load, kit_drop);
}
