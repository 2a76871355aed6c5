/* SPDX-License-Identifier: Apache-2.0
 * The headers for sm_90a: every function compiles with NVRTC, emits the instruction that its
 * comment names, and draws no note from ptxas. */
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

/* What wgmma multiplies. `columns`: of N for one register of d. */
static const struct product {
    const char *a, *b, *sum;
    int k, columns;
    unsigned opcode;
} products[] = {
    {"bf16", "bf16", "float", 16, 2, 0x1f0},  {"f16", "f16", "float", 16, 2, 0x1f0},
    {"f16", "f16", "uint32_t", 16, 4, 0x1f0}, {"tf32", "tf32", "float", 8, 2, 0x1f0},
    {"e4m3", "e4m3", "float", 32, 2, 0x1f3},  {"e4m3", "e4m3", "uint32_t", 32, 4, 0x1f3},
    {"e4m3", "e5m2", "float", 32, 2, 0x1f3},  {"e4m3", "e5m2", "uint32_t", 32, 4, 0x1f3},
    {"e5m2", "e4m3", "float", 32, 2, 0x1f3},  {"e5m2", "e4m3", "uint32_t", 32, 4, 0x1f3},
    {"e5m2", "e5m2", "float", 32, 2, 0x1f3},  {"e5m2", "e5m2", "uint32_t", 32, 4, 0x1f3},
    {"s8", "s8", "int", 32, 2, 0x1f1},        {"s8", "u8", "int", 32, 2, 0x1f1},
    {"u8", "s8", "int", 32, 2, 0x1f1},        {"u8", "u8", "int", 32, 2, 0x1f1},
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

/* `flags`: template arguments after the types; `tail`: what the PTX ends with. */
static void add_product(const struct product *p, int n, bool registers, const char *flags,
                        const char *tail)
{
    char statement[MAX_LINE], emits[MAX_LINE];
    int count = n / p->columns;
    const char *sum = !strcmp(p->sum, "int") ? "s32" : p->columns == 2 ? "f32" : "f16";
    snprintf(statement, sizeof statement,
             "SUMS(%s, %s, %s, %d, (wgmma<%s, %s%s>(d, %s, a.g[1], a.n)))", p->a, p->b, p->sum,
             count, p->a, p->b, flags, registers ? "four" : "a.g[0]");
    snprintf(emits, sizeof emits, "wgmma.mma_async.sync.aligned.m64n%dk%d.%s.%s.%s {", n, p->k, sum,
             p->a, p->b);
    unit_add(statement, tail ? tail : emits, p->opcode);
}

static void compile_products(void)
{
    struct compile_result r;
    unit_compile(&r);
    compile_result_release(&r);
}

static void wgmma_takes_every_n(void **state)
{
    (void)state;
    need_toolkit();
    unit_begin("sm_90a", preamble);
    for (int n = 8; n <= 256; n += 8)
        for (int registers = 0; registers < 2; registers++) {
            add_product(&products[0], n, registers, "", NULL);
            add_product(&products[2], n, registers, "", NULL);
            if (n <= 24 || n % 16 == 0) /* what integers have */
                add_product(&products[12], n, registers, "", NULL);
        }
    compile_products();
}

/* Further types, with A in shared memory or in registers in turn. */
static void wgmma_takes_every_n_of_further_types(void **state)
{
    (void)state;
    static const size_t further[] = {1, 3, 4, 5, 10, 11}; /* f16, tf32, fp8; of `products` */
    need_toolkit();
    unit_begin("sm_90a", preamble);
    for (size_t i = 0; i < COUNT_OF(further); i++)
        for (int n = 8; n <= 256; n += 8)
            add_product(&products[further[i]], n, (n / 8 + (int)i) % 2, "", NULL);
    compile_products();
}

static void wgmma_takes_every_type_and_layout(void **state)
{
    (void)state;
    need_toolkit();
    unit_begin("sm_90a", preamble);
    for (size_t i = 0; i < COUNT_OF(products); i++)
        for (int registers = 0; registers < 2; registers++) {
            add_product(&products[i], 64, registers, "", NULL);
            add_product(&products[i], 192, registers, "", NULL);
        }
    for (size_t i = 0; i < 3; i++) { /* 16-bit types */
        add_product(&products[i], 64, false, ", major::mn, major::k", ", p,  1, 1,1,0;");
        add_product(&products[i], 64, false, ", major::k, major::mn", ", p,  1, 1,0,1;");
        add_product(&products[i], 64, false, ", major::mn, major::mn, -1, 1", ", p, -1, 1,1,1;");
        add_product(&products[i], 64, true, ", major::mn, 1, -1", ", p,  1,-1,1;");
    }
    compile_products();
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
        cmocka_unit_test(wgmma_takes_every_n),
        cmocka_unit_test(wgmma_takes_every_n_of_further_types),
        cmocka_unit_test(wgmma_takes_every_type_and_layout),
        cmocka_unit_test(every_function_is_tested),
    };
    return cmocka_run_group_tests(tests, kit_load, kit_drop);
}
