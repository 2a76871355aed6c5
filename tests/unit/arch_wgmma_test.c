/* SPDX-License-Identifier: Apache-2.0
 * wgmma of the headers for sm_90a in every size, type and layout: each compiles to the instruction
 * that it names, and draws no note from ptxas. */
#include "tests/unit/arch_kit.h"

static const char preamble[] =
    "template <class A, class B, class D, int N, class... F> __device__ void sums(D *g, F... f) {\n"
    "    D d[N]; for (int i = 0; i < N; i++) d[i] = g[i];\n"
    "    wgmma_fence(); (f(d), ...); wgmma_commit(); wgmma_wait<0>(); wgmma_hold(d);\n"
    "    for (int i = 0; i < N; i++) g[i] = d[i]; }\n"
    "#define SUMS(A, B, D, N, call) sums<A, B, D, N>((D *)a.g, [&](auto &d) { call; })\n";

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wgmma_takes_every_n),
        cmocka_unit_test(wgmma_takes_every_n_of_further_types),
        cmocka_unit_test(wgmma_takes_every_type_and_layout),
    };
    return cmocka_run_group_tests(tests, kit_load, kit_drop);
}
