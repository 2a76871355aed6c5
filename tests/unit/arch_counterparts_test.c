/* SPDX-License-Identifier: Apache-2.0
 * What the benchmark's own packs offer, ours offer too: for each of their template functions the
 * declaration of ours that does the same work. */
#include <string.h>

#include "core/pack.h"
#include "core/prompt.h"
#include "core/util.h"
#include "tests/unit/domain.h"

struct pair {
    const char *theirs, *ours;
};

/* On both architectures. Tensor maps are made by the plan. */
static const struct pair shared_pairs[] = {
    {"get_smid", "sm_id"},
    {"elect_one_sync", "elect_one"},
    {"setmaxnreg_inc", "setmaxnreg_inc"},
    {"setmaxnreg_dec", "setmaxnreg_dec"},
    {"fast_exp2f", "exp2_approx"},
    {"st_shared_128", "shared_store"},
    {"pack_bf16", "pack_bf16"},
    {"cluster_rank", "cluster_rank"},
    {"cluster_sync", "cluster_sync"},
    {"cluster_arrive", "cluster_arrive"},
    {"cluster_wait", "cluster_wait"},
    {"init_smem_barrier", "mbarrier_init"},
    {"fence_smem_barrier_init", "fence_mbarrier_init"},
    {"mbarrier_arrive", "mbarrier_arrive"},
    {"mbarrier_arrive_and_expect_tx", "mbarrier_arrive_expect"},
    {"mbarrier_arrive_cluster", "mbarrier_arrive_at"},
    {"mbarrier_arrive_expect_tx_cluster", "mbarrier_arrive_expect_at"},
    {"mbarrier_wait", "mbarrier_wait"},
    {"fence_proxy_async", "fence_proxy_async"},
    {"fence_async_shared", "fence_proxy_async_shared"},
    {"named_barrier_sync", "named_barrier_sync"},
    {"named_barrier_arrive", "named_barrier_arrive"},
    {"grid_sync", "grid_sync"},
    {"prefetch_tma_descriptor", "tma_prefetch_map"},
    {"tma_load_2d", "tma_load"},
    {"tma_load_multicast_2d", "tma_load_multicast"},
    {"tma_store_2d", "tma_store"},
    {"tma_store_fence", "fence_proxy_async_shared"},
    {"tma_store_commit", "tma_commit"},
    {"tma_store_wait", "tma_wait"},
    {"tma_copy_1d_g2s", "bulk_load"},
    {"tma_copy_1d_s2g", "bulk_store"},
};

static const struct pair hopper_pairs[] = {
    {"wgmma_fence", "wgmma_fence"},
    {"wgmma_commit", "wgmma_commit"},
    {"wgmma_wait", "wgmma_wait"},
    {"wgmma_fence_operand", "wgmma_hold"},
    {"make_wgmma_desc", "descriptor"},
    {"wgmma_m64n64k16_ss", "wgmma"},
    {"wgmma_m64n64k16_rs", "wgmma"},
    {"get_d_coord", "wgmma_row"},
    {"get_d_coord", "wgmma_column"},
    {"store_acc_global", "wgmma_store_bf16"},
    {"store_4acc_f32", "wgmma_store_f32"},
    {"stsm_x2", "stmatrix"},
    {"store_accum_n256_swizzle", "wgmma_stage_bf16"},
};

static const struct pair blackwell_pairs[] = {
    {"tma_load_2d_cg2", "tma_load_pair"},
    {"tmem_alloc", "tmem_alloc"},
    {"tmem_dealloc", "tmem_dealloc"},
    {"tmem_load_4x", "tmem_load"},
    {"tmem_load_fence", "tmem_wait_load"},
    {"tcgen05_fence_before", "tcgen05_fence_before"},
    {"tcgen05_fence_after", "tcgen05_fence_after"},
    {"umma_f16_cg2", "tcgen05_mma"},
    {"umma_commit_2sm", "tcgen05_commit_multicast"},
    {"make_smem_desc_sm100", "descriptor"},
    {"make_instr_desc", "instruction"},
    {"tmem_store_bf16_row", "tmem_store_bf16"},
    {"tmem_epilogue_coalesced_4w", "tmem_stage_bf16"},
};

/* What the headers of an architecture declare, as its prompts show them. */
static void declarations_of(const char *arch, struct buf *out)
{
    struct pack_files headers = {0};
    assert_int_equal(pack_headers(&headers, home_dir(), arch, NULL), ERR_NONE);
    for (size_t i = 0; i < headers.count; i++)
        prompt_declarations(headers.items[i].text, out);
    pack_release(&headers);
}

/* A line that is no comment says "type name(". */
static bool declares(const char *text, const char *name)
{
    size_t n = strlen(name);
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *end = line + strcspn(line, "\n"), *start = line + strspn(line, " ");
        if (!strncmp(start, "//", 2))
            continue;
        for (const char *at = start; at + n < end; at++)
            if (at > start && at[-1] == ' ' && !strncmp(at, name, n) && at[n] == '(')
                return true;
    }
    return false;
}

static void check(const char *arch, const char *text, const struct pair *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!declares(text, pairs[i].ours))
            fail_msg("%s: nothing does what %s does: %s is not declared", arch, pairs[i].theirs,
                     pairs[i].ours);
}

static void every_function_has_a_counterpart(void **state)
{
    (void)state;
    static const char text[] = "// void said(int);\ntemplate <int N> void made(int a);\n";
    assert_true(declares(text, "made"));
    assert_false(declares(text, "said"));
    assert_false(declares(text, "ade"));
    struct buf hopper, blackwell;
    buf_init(&hopper, MIB);
    buf_init(&blackwell, MIB);
    declarations_of("sm_90a", &hopper);
    declarations_of("sm_100a", &blackwell);
    check("sm_90a", hopper.data, shared_pairs, COUNT_OF(shared_pairs));
    check("sm_90a", hopper.data, hopper_pairs, COUNT_OF(hopper_pairs));
    check("sm_100a", blackwell.data, shared_pairs, COUNT_OF(shared_pairs));
    check("sm_100a", blackwell.data, blackwell_pairs, COUNT_OF(blackwell_pairs));
    buf_release(&hopper);
    buf_release(&blackwell);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_function_has_a_counterpart)};
    return cmocka_run_group_tests(tests, registry_setup, registry_teardown);
}
