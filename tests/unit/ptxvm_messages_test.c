/* SPDX-License-Identifier: Apache-2.0
 * What ptxvm tells those who write kernels: each message names the thing, its size and what was
 * asked of it, so that the mistake can be found without a debugger. */
#include "tests/unit/ptxvm_kit.h"

#define PARAMS ".visible .entry k(.param .u64 out)"
#define BODY(text)                                                                                 \
    " {\n.reg .b32 w<8>; .reg .b64 d<8>; .reg .pred p<4>; .shared .align 8 .b64 s[4];\n"           \
    "ld.param.u64 d0, [out]; mov.u32 w0, %tid.x;\n" text "\nret;\n}\n"
#define ENTRY(text) KIT_HEAD PARAMS BODY(text)
#define WITH(directives, text) KIT_HEAD PARAMS directives BODY(text)

enum { OUT = 256 /* bytes */ };

struct message {
    const char *ptx;
    uint32_t grid, block;
    uint32_t cluster; /* along x; 0: not said */
    size_t shared;
    enum ptxvm_status status;
    const char *says;
};

static const struct message messages[] = {
    /* accesses: where in which allocation, and how big that is */
    {ENTRY("ld.global.u32 w1, [d0+256];"), 1, 32, 0, 0, PTXVM_FAULT,
     "4 bytes past the end of out (256 bytes)"},
    {ENTRY("st.global.u32 [d0+6], w0;"), 1, 32, 0, 0, PTXVM_FAULT, "byte 6 of out"},
    {ENTRY("mov.u32 w1, s; st.shared.u32 [w1+32], w0;"), 1, 32, 0, 0, PTXVM_FAULT,
     "4 bytes past the end of shared memory (32 bytes)"},
    {ENTRY("mov.u32 w1, s; st.shared.u32 [w1+32], w0; st.shared.u32 [w1+64], w0;"), 1, 32, 0, 32,
     PTXVM_FAULT, "4 bytes past the end of shared memory (64 bytes)"},
    {ENTRY("mov.u32 w1, s; mbarrier.arrive.shared.b64 d1, [w1];"), 1, 32, 0, 0, PTXVM_FAULT,
     "mbarrier.init was not executed there"},
    {ENTRY("add.u64 d0, d0, 8; st.global.v4.u32 [d0], {w0, w0, w0, w0};"), 1, 32, 0, 0, PTXVM_FAULT,
     "byte 8 of out: a multiple of 16 is needed"},
    {ENTRY(
         "mov.u32 w1, s; mapa.shared::cluster.u32 w2, w1, 1; st.shared::cluster.u32 [w2+32], w0;"),
     2, 32, 2, 0, PTXVM_FAULT, "4 bytes past the end of shared memory (32 bytes)"},
    {ENTRY("mov.u32 w1, s; mapa.shared::cluster.u32 w2, w1, 5; st.shared::cluster.u32 [w2], w0;"),
     2, 32, 2, 0, PTXVM_FAULT, "CTA 5 of a cluster of 2"},
    {ENTRY("mov.u32 w1, s; cp.async.bulk.global.shared::cta.bulk_group [d0], [w1], 24;"), 1, 32, 0,
     0, PTXVM_FAULT, "bulk copy of 24 bytes, which is no multiple of 16"},
    {ENTRY("bar.sync 1, 100;"), 1, 128, 0, 0, PTXVM_FAULT, "threads a multiple of 32 up to 1024"},
    /* a variable by the wrong space */
    {ENTRY("ld.u32 w1, [s];"), 1, 32, 0, 0, PTXVM_LAUNCH, "generic addresses (those of cvta)"},
    {ENTRY("atom.global.add.u32 w1, [s], 1;"), 1, 32, 0, 0, PTXVM_LAUNCH, "another state space"},
    /* a launch that does not fit the kernel */
    {WITH(" .maxntid 64", ""), 1, 128, 0, 0, PTXVM_LAUNCH,
     "threads of a block is 128, but .maxntid (__launch_bounds__) of k says 64"},
    {WITH(" .reqntid 64", ""), 1, 32, 0, 0, PTXVM_LAUNCH,
     "block x is 32, but .reqntid of k says 64"},
    {WITH(" .explicitcluster .reqnctapercluster 4, 1, 1", ""), 6, 32, 0, 0, PTXVM_LAUNCH,
     "grid x is 6, which is no multiple of cluster x, 4"},
    {WITH(" .explicitcluster .reqnctapercluster 4, 1, 1", ""), 8, 32, 2, 0, PTXVM_LAUNCH,
     "cluster x is 2, but .reqnctapercluster (__cluster_dims__) of k says 4"},
    {ENTRY(""), 1, 32, 0, 240000, PTXVM_LAUNCH,
     "static and dynamic, is 240000, the limit is 232448"},
    /* who waits, and where that stands */
    {ENTRY("\nbar.sync 1, 64;"), 1, 32, 0, 0, PTXVM_DEADLOCK,
     "warp 0 at barrier 1 (32 of 64 threads), PTX line 8"},
    {ENTRY("mov.u32 w1, s; setp.ne.u32 p0, w0, 0; @!p0 mbarrier.init.shared.b64 [w1], 2; bar.sync "
           "0;\n"
           "@!p0 mbarrier.arrive.expect_tx.shared.b64 d1, [w1], 512;\n"
           "W: mbarrier.try_wait.parity.shared.b64 p1, [w1], 0; @!p1 bra W;"),
     1, 32, 0, 0, PTXVM_DEADLOCK, "(1 of 2 arrivals and 512 bytes are missing), PTX line 9"},
};

static void each_says_what_is_wrong(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof messages / sizeof messages[0]; i++) {
        const struct message *m = &messages[i];
        struct kit k;
        kit_open(&k, m->ptx, NULL);
        uint64_t out = ptxvm_alloc(k.vm, "out", OUT, 4, PTXVM_READ_WRITE);
        struct ptxvm_launch launch = {.symbol = "k",
                                      .grid = {m->grid, 1, 1},
                                      .block = {m->block, 1, 1},
                                      .cluster = {m->cluster, m->cluster > 0, m->cluster > 0},
                                      .shared_bytes = m->shared,
                                      .params = &out,
                                      .param_bytes = sizeof out};
        ptxvm_launch(k.vm, &launch, &k.result);
        kit_expect(&k, m->status);
        if (!strstr(k.result.fault.detail, m->says))
            fail_msg("'%s' is not in: %s", m->says, k.result.fault.detail);
        kit_close(&k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_says_what_is_wrong)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
