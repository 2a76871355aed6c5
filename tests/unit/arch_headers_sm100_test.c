/* SPDX-License-Identifier: Apache-2.0
 * The headers for sm_100a: every function compiles with NVRTC, emits the instruction that its
 * comment names, and draws no note from ptxas. What is common with sm_90a is compiled for this
 * architecture too. */
#include "tests/unit/arch_rows.h"

/* Descriptors are constants where their arguments are: held against values worked out from the
 * tables of the PTX ISA by hand. */
static const char preamble[] =
    "static_assert(instruction<bf16>(128, 256) == 0x08400490);\n"
    "static_assert(instruction<f16, f16, f16>(64, 8) == 0x04020000);\n"
    "static_assert(instruction<tf32>(256, 64, major::mn) == 0x10108910);\n"
    "static_assert(instruction<e5m2, e2m1>(128, 128, major::k, major::mn) == 0x08211490);\n"
    "static_assert(instruction<s8, u8, int>(128, 64) == 0x081000a0);\n"
    "static_assert(instruction_scaled<scaled_kind::mxf8f6f4, ue8m0, e4m3, e5m2>(128, 128, 1, 2) == "
    "0x28a00420);\n"
    "static_assert(instruction_scaled<scaled_kind::mxf4nvf4_4x, ue4m3>(256, 256) == 0x10400480);\n"
    "static_assert(tmem_at(0x10, 32, 5) == 0x200015);\n"
    "template <tmem_shape S, int N, bool H = false> __device__ void take(uint64_t *g) {\n"
    "    uint32_t r[N]; tmem_load<S, H>(r, g[0]); tmem_wait_load();\n"
    "    for (int i = 0; i < N; i++) g[i] = r[i]; }\n"
    "template <int C, int N, bool H = false> __device__ void take_split(uint64_t *g) {\n"
    "    uint32_t r[N]; tmem_load_split<C, H>(r, g[0]); tmem_wait_load();\n"
    "    for (int i = 0; i < N; i++) g[i] = r[i]; }\n"
    "template <tmem_shape S, int N, bool H = false> __device__ void put(uint64_t *g) {\n"
    "    uint32_t r[N]; for (int i = 0; i < N; i++) r[i] = g[i];\n"
    "    tmem_store<S, H>(g[0], r); tmem_wait_store(); }\n"
    "template <int C, int N, bool H = false> __device__ void put_split(uint64_t *g) {\n"
    "    uint32_t r[N]; for (int i = 0; i < N; i++) r[i] = g[i];\n"
    "    tmem_store_split<C, H>(g[0], r); tmem_wait_store(); }\n";

static const struct row rows[] = {
    {"tmem_alloc<1>((uint32_t *)s, 64)", "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32",
     0x1e3},
    {"tmem_dealloc<1>(a.n, 64)", "tcgen05.dealloc.cta_group::1.sync.aligned.b32", 0x1e3},
    {"tmem_relinquish<1>()", "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned", 0},
    {"a.g[0] = tmem_at(a.n, i, 2 * i)", ".entry", 0},
    {"tmem_wait_load()", "tcgen05.wait::ld.sync.aligned", 0},
    {"tmem_wait_store()", "tcgen05.wait::st.sync.aligned", 0x1c6},
    {"tmem_copy<tmem_copy_shape::r128x256b>(a.n, a.g[0])", "tcgen05.cp.cta_group::1.128x256b [",
     0x1e7},
    {"tmem_copy<tmem_copy_shape::r4x256b>(a.n, a.g[0])", "tcgen05.cp.cta_group::1.4x256b [", 0x1e7},
    {"tmem_copy<tmem_copy_shape::r128x128b>(a.n, a.g[0])", "tcgen05.cp.cta_group::1.128x128b [",
     0x1e7},
    {"tmem_copy<tmem_copy_shape::r64x128b_02_13>(a.n, a.g[0])",
     "tcgen05.cp.cta_group::1.64x128b.warpx2::02_13 [", 0x1e7},
    {"tmem_copy<tmem_copy_shape::r64x128b_01_23>(a.n, a.g[0])",
     "tcgen05.cp.cta_group::1.64x128b.warpx2::01_23 [", 0x1e7},
    {"tmem_copy<tmem_copy_shape::r32x128b>(a.n, a.g[0])",
     "tcgen05.cp.cta_group::1.32x128b.warpx4 [", 0x1e7},
    {"tmem_shift(a.n)", "tcgen05.shift.cta_group::1.down", 0x1e6},
    {"tmem_store_bf16<64>(a.g, a.n, a.n)", "tcgen05.ld.sync.aligned.32x32b.x32.b32", 0x1ee},
    {"tmem_stage_bf16<64>(s, a.n); fence_proxy_async_shared(); tma_store(&map, s, {0, 0})",
     "cvt.rn.bf16x2.f32", 0x188},
    {"tcgen05_fence_before()", "tcgen05.fence::before_thread_sync", 0},
    {"tcgen05_fence_after()", "tcgen05.fence::after_thread_sync", 0},
    {"a.g[0] = descriptor<swizzle::b64>(s + 16 * i, 16, 512)", ", -9223301530671579136;", 0},
    {"a.g[0] = advance(descriptor_k_major<swizzle::b128>(s + 16 * i), 32)",
     ", 4611756662049538050;", 0},
    {"a.g[0] = descriptor_mn_major<swizzle::b128>(s + 16 * i, 64)", ", 4611756662083026944;", 0},
    {"a.g[0] = instruction<bf16>(64 * i, 64)", ".entry", 0},
    {"a.g[0] = instruction_scaled<scaled_kind::mxf4>(128, 64 * i)", ".entry", 0},
    {"tcgen05_commit(bar)", "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64",
     0x1e9},
    {"tcgen05_commit_multicast<1>(bar, 3)",
     "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64",
     0x1e9},
    {"a.g[0] = pair_barrier(bar)", "mapa.shared::cluster.u32", 0},
};

/* The same of a pair: an instruction names one cta_group in the whole kernel. */
static const struct row pair_rows[] = {
    {"tmem_alloc<2>((uint32_t *)s, 512)", "tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32",
     0x1e3},
    {"tmem_dealloc<2>(a.n, 512)", "tcgen05.dealloc.cta_group::2.sync.aligned.b32", 0x1e3},
    {"tmem_relinquish<2>()", "tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned", 0},
    {"tmem_copy<tmem_copy_shape::r32x128b, 2>(a.n, a.g[0])",
     "tcgen05.cp.cta_group::2.32x128b.warpx4 [", 0x1e7},
    {"tmem_shift<2>(a.n)", "tcgen05.shift.cta_group::2.down", 0x1e6},
    {"tcgen05_commit<2>(bar)",
     "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.b64", 0x1e9},
    {"tcgen05_commit_multicast(bar, 3)",
     "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64",
     0x1e9},
};

static const struct row boxes[] = {
    {"tma_load_pair(s, &map, pair_barrier(bar), {%s})",
     "cp.async.bulk.tensor.%dd.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
     ".cta_group::2 [",
     0x1b4},
    {"tma_load_pair(s, &map, pair_barrier(bar), {%s}, policy_evict_first())",
     ".%dd.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::2.L2::cache_hint [",
     0x1b4},
    {"tma_load_pair_multicast(s, &map, pair_barrier(bar), {%s}, 3)",
     "cp.async.bulk.tensor.%dd.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
     ".multicast::cluster.cta_group::2 [",
     0x1b4},
};

static const struct {
    const char *function, *kind;
} products[] = {
    {"tcgen05_mma", "f16"},
    {"tcgen05_mma", "tf32"},
    {"tcgen05_mma", "f8f6f4"},
    {"tcgen05_mma", "i8"},
    {"tcgen05_mma_scaled", "mxf8f6f4"},
    {"tcgen05_mma_scaled", "mxf4"},
    {"tcgen05_mma_scaled", "mxf4nvf4_2x"},
    {"tcgen05_mma_scaled", "mxf4nvf4_4x"},
};

/* Name of a scaled kind in PTX. */
static const char *ptx_kind(const char *kind)
{
    static const char *const names[][2] = {
        {"mxf8f6f4", "mxf8f6f4.block_scale.scale_vec::1X"},
        {"mxf4", "mxf4.block_scale.scale_vec::2X"},
        {"mxf4nvf4_2x", "mxf4nvf4.block_scale.scale_vec::2X"},
        {"mxf4nvf4_4x", "mxf4nvf4.block_scale.scale_vec::4X"},
    };
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (!strcmp(names[i][0], kind))
            return names[i][1];
    return kind;
}

static void add_products(int blocks)
{
    for (size_t i = 0; i < COUNT_OF(products); i++)
        for (int tmem = 0; tmem < 2; tmem++) {
            char statement[MAX_LINE], emits[MAX_LINE];
            bool scaled = i >= 4;
            snprintf(statement, sizeof statement,
                     "%s%s<%s::%s, %d>(a.n, a.g[0], a.g[1], a.n + 1, %s a.n)", products[i].function,
                     tmem ? "_tmem" : "", scaled ? "scaled_kind" : "mma_kind", products[i].kind,
                     blocks, scaled ? "a.n + 2, a.n + 3," : "");
            snprintf(emits, sizeof emits, "tcgen05.mma.cta_group::%d.kind::%s [", blocks,
                     ptx_kind(products[i].kind));
            unit_add(statement, emits, 0x1ea);
        }
}

/* Every shape with its least, a middle and its greatest number of registers, and halves. */
static void add_moves(void)
{
    static const struct {
        const char *name;
        int unit;
    } shapes[] = {{"32x32b", 1}, {"16x64b", 1}, {"16x128b", 2}, {"16x256b", 4}};
    static const int registers[] = {1, 2, 4, 8, 16, 32, 64, 128};
    char statement[MAX_LINE], emits[MAX_LINE];
    for (int store = 0; store < 2; store++)
        for (size_t n = 0; n < COUNT_OF(registers); n++) {
            const char *verb = store ? "put" : "take", *op = store ? "st" : "ld";
            for (size_t s = 0; s < COUNT_OF(shapes); s++) {
                if (registers[n] < shapes[s].unit)
                    continue;
                snprintf(statement, sizeof statement, "(%s<tmem_shape::l%s, %d>(a.g))", verb,
                         shapes[s].name, registers[n]);
                snprintf(emits, sizeof emits, "tcgen05.%s.sync.aligned.%s.x%d.b32", op,
                         shapes[s].name, registers[n] / shapes[s].unit);
                unit_add(statement, emits, store ? 0x1ed : 0x1ee);
            }
            snprintf(statement, sizeof statement, "(%s_split<%d, %d>(a.g))", verb, registers[n],
                     registers[n]);
            snprintf(emits, sizeof emits, "tcgen05.%s.sync.aligned.16x32bx2.x%d.b32", op,
                     registers[n]);
            unit_add(statement, emits, store ? 0x1ed : 0x1ee);
        }
    unit_add("(take<tmem_shape::l32x32b, 8, true>(a.g))",
             "tcgen05.ld.sync.aligned.32x32b.x8.pack::16b.b32", 0x1ee);
    unit_add("(put<tmem_shape::l32x32b, 8, true>(a.g))",
             "tcgen05.st.sync.aligned.32x32b.x8.unpack::16b.b32", 0x1ed);
    unit_add("(take_split<8, 8, true>(a.g))", "16x32bx2.x8.pack::16b.b32", 0x1ee);
    unit_add("(put_split<8, 8, true>(a.g))", "16x32bx2.x8.unpack::16b.b32", 0x1ed);
}

static void functions_emit_their_instruction(void **state)
{
    (void)state;
    need_toolkit();
    struct compile_result r;
    unit_begin("sm_100a", preamble);
    unit_add_rows(common_rows, COUNT_OF(common_rows));
    unit_add_boxes(common_boxes, COUNT_OF(common_boxes));
    unit_add_rows(rows, COUNT_OF(rows));
    add_moves();
    add_products(1);
    unit_add_rows(pair_rows, COUNT_OF(pair_rows));
    unit_add_boxes(boxes, COUNT_OF(boxes));
    add_products(2);
    unit_compile(&r);
    assert_true(all_comments_hold("sm_100a", r.ptx.data) > 60);
    compile_result_release(&r);
}

static void every_function_is_tested(void **state)
{
    (void)state;
    need_toolkit();
    assert_true(functions_are_called("sm_100a") > 85);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_emit_their_instruction),
        cmocka_unit_test(every_function_is_tested),
    };
    return cmocka_run_group_tests(tests, kit_load, kit_drop);
}
