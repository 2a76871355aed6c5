/* SPDX-License-Identifier: Apache-2.0
 * The headers that kernels include as <ptxbench/….cuh>: every function compiles with NVRTC for
 * sm_90a, emits the instruction that its comment names, and draws no note from ptxas. */
#include "evaluator/compile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "core/cubin.h"
#include "core/json.h"
#include "core/util.h"
#include "evaluator/cuda_paths.h"

#define HEADERS PTXBENCH_SOURCE_DIR "/arch/sm_90a/ptx/"

static const char *const headers[] = {"shared",  "fence", "barrier",  "mbarrier", "matrix",
                                      "cluster", "tma",   "pipeline", "wgmma"};

/* What a row's statement may use. */
static const char preamble[] =
    "#pragma nv_diag_suppress 177, 550 // unused variables\n"
    "#include <cuda.h>\n"
    "using namespace ptxbench;\n"
    "struct args { uint64_t *g; float *f; int n; };\n"
    "#define KERNEL(name, ...) extern \"C\" __global__ __launch_bounds__(128, 1) void name( \\\n"
    "    const __grid_constant__ CUtensorMap map, args a) { \\\n"
    "    __shared__ alignas(1024) char s[2048]; __shared__ alignas(8) uint64_t bar[4]; \\\n"
    "    __shared__ pipeline<4> ring; pipeline_stage<4> at{1, (uint32_t)a.n}; int i = a.n; \\\n"
    "    uint32_t one[1] = {at.parity}, two[2] = {at.parity, 1}, four[4] = {at.parity, 1, 2, 3}; "
    "\\\n"
    "    __VA_ARGS__; }\n"
    "template <class A, class B, class D, int N, class... F> __device__ void sums(D *g, F... f) {\n"
    "    D d[N]; for (int i = 0; i < N; i++) d[i] = g[i];\n"
    "    wgmma_fence(); (f(d), ...); wgmma_commit(); wgmma_wait<0>(); wgmma_hold(d);\n"
    "    for (int i = 0; i < N; i++) g[i] = d[i]; }\n"
    "#define SUMS(A, B, D, N, call) sums<A, B, D, N>((D *)a.g, [&](auto &d) { call; })\n";

/* A statement, what must stand in the PTX of a kernel made of it, and the opcode that must stand in
 * its code (arch.json; the notes under its families); 0 where the low bits are not known. */
struct row {
    const char *statement, *emits;
    unsigned opcode;
};

static const struct row rows[] = {
    {"a.g[0] = shared_address(&a.g[i])", "cvta.to.shared.u64", 0},
    {"a.g[0] = (uint64_t)align_up<1024>(&a.g[i])", "add.s64", 0},
    {"a.g[0] = swizzled<swizzle::b64>(i, 2 * i)", "xor.b32", 0},
    {"fence_mbarrier_init()", "fence.mbarrier_init.release.cluster", 0},
    {"fence_proxy_async_shared()", "fence.proxy.async.shared::cta", 0},
    {"fence_proxy_async_global()", "fence.proxy.async.global", 0},
    {"fence_proxy_async()", "fence.proxy.async;", 0},
    {"fence_block()", "fence.acq_rel.cta", 0},
    {"fence_cluster()", "fence.acq_rel.cluster", 0},
    {"fence_gpu()", "fence.acq_rel.gpu", 0},
    {"named_barrier_sync(1, 128)", "barrier.sync.aligned", 0},
    {"named_barrier_arrive(2, 256)", "barrier.arrive.aligned", 0},
    {"setmaxnreg_inc<232>()", "setmaxnreg.inc.sync.aligned.u32 232", 0},
    {"setmaxnreg_dec<40>()", "setmaxnreg.dec.sync.aligned.u32 40", 0},
    {"a.g[0] = elect_one()", "elect.sync", 0},
    {"wait_for_previous_launch()", "griddepcontrol.wait", 0},
    {"allow_next_launch()", "griddepcontrol.launch_dependents", 0},
    {"mbarrier_init(bar, 3)", "mbarrier.init.shared::cta.b64", 0},
    {"mbarrier_invalidate(bar)", "mbarrier.inval.shared::cta.b64", 0},
    {"mbarrier_arrive(bar)", "mbarrier.arrive.shared::cta.b64", 0},
    {"mbarrier_arrive_expect(bar, 64)", "mbarrier.arrive.expect_tx.shared::cta.b64", 0},
    {"mbarrier_expect(bar, 64)", "mbarrier.expect_tx.relaxed.cta.shared::cta.b64", 0},
    {"mbarrier_arrive_at(bar, 1)", "mbarrier.arrive.shared::cluster.b64", 0},
    {"mbarrier_arrive_release_at(bar, 1)", "mbarrier.arrive.release.cluster.shared::cluster.b64",
     0},
    {"mbarrier_arrive_expect_at(bar, 1, 64)", "mbarrier.arrive.expect_tx.shared::cluster.b64", 0},
    {"mbarrier_arrive_after_cp_async(bar)", "cp.async.mbarrier.arrive.noinc.shared::cta.b64", 0},
    {"a.g[0] = mbarrier_test(bar, 0)", "mbarrier.test_wait.parity.shared::cta.b64", 0},
    {"mbarrier_wait(bar, 0)", "mbarrier.try_wait.parity.shared::cta.b64", 0},
    {"mbarrier_wait_cluster(bar, 0)", "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64",
     0},
    {"ldmatrix(one, s); a.g[0] = one[0]", "ldmatrix.sync.aligned.m8n8.x1.shared.b16", 0},
    {"ldmatrix(two, s); a.g[0] = two[1]", "ldmatrix.sync.aligned.m8n8.x2.shared.b16", 0},
    {"ldmatrix(four, s); a.g[0] = four[3]", "ldmatrix.sync.aligned.m8n8.x4.shared.b16", 0},
    {"ldmatrix<true>(one, s); a.g[0] = one[0]", "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16",
     0},
    {"ldmatrix<true>(two, s); a.g[0] = two[1]", "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16",
     0},
    {"ldmatrix<true>(four, s); a.g[0] = four[3]", "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16",
     0},
    {"stmatrix(s, one)", "stmatrix.sync.aligned.m8n8.x1.shared.b16", 0},
    {"stmatrix(s, two)", "stmatrix.sync.aligned.m8n8.x2.shared.b16", 0},
    {"stmatrix(s, four)", "stmatrix.sync.aligned.m8n8.x4.shared.b16", 0},
    {"stmatrix<true>(s, one)", "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16", 0},
    {"stmatrix<true>(s, two)", "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16", 0},
    {"stmatrix<true>(s, four)", "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16", 0},
    {"a.g[0] = pack_bf16(a.f[0], a.f[1])", "cvt.rn.bf16x2.f32", 0},
    {"a.g[0] = pack_f16(a.f[0], a.f[1])", "cvt.rn.f16x2.f32", 0},
    {"a.g[0] = pack_e4m3(a.f[0], a.f[1])", "cvt.rn.satfinite.e4m3x2.f32", 0},
    {"a.f[0] = exp2_approx(a.f[1])", "ex2.approx.ftz.f32", 0},
    {"a.g[0] = cluster_rank()", "%cluster_ctarank", 0},
    {"a.g[0] = cluster_size()", "%cluster_nctarank", 0},
    {"cluster_arrive()", "barrier.cluster.arrive.release", 0},
    {"cluster_arrive_relaxed()", "barrier.cluster.arrive.relaxed", 0},
    {"cluster_wait()", "barrier.cluster.wait.acquire", 0},
    {"cluster_sync()", "barrier.cluster.arrive.release", 0},
    {"a.g[0] = cluster_address(s, 1)", "mapa.shared::cluster.u32", 0},
    {"*cluster_pointer(bar, 1) = 7", "mapa.u64", 0},
    {"a.g[0] = cluster_load(cluster_address(s, 1))", "ld.shared::cluster.b32", 0},
    {"cluster_store(cluster_address(s, 1), 7)", "st.shared::cluster.b32", 0},
    {"cluster_add(cluster_address(s, 1), 7)", "red.relaxed.cluster.shared::cluster.add.f32", 0},
    {"cluster_store_async(cluster_address(s, 1), 7, cluster_address(bar, 1))",
     "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32", 0},
    {"cluster_store_async(cluster_address(s, 1), four, cluster_address(bar, 1))",
     "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32", 0},
    {"a.g[0] = policy_evict_first()", "createpolicy.fractional.L2::evict_first.b64", 0},
    {"a.g[0] = policy_evict_last()", "createpolicy.fractional.L2::evict_last.b64", 0},
    {"tma_prefetch_map(&map)", "prefetch.tensormap", 0x1b9},
    {"bulk_load(s, a.g, 64, bar)",
     "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes", 0x1ba},
    {"bulk_load_multicast(s, a.g, 64, bar, 3)",
     "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster", 0x1ba},
    {"bulk_copy_to_block(cluster_address(s, 1), s, 64, cluster_address(bar, 1))",
     "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes", 0x1ba},
    {"bulk_store(a.g, s, 64)", "cp.async.bulk.global.shared::cta.bulk_group", 0x1ba},
    {"bulk_reduce_add(a.f, (float *)s, 64)",
     "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32", 0x1bb},
    {"bulk_prefetch(a.g, 64)", "cp.async.bulk.prefetch.L2.global", 0},
    {"tma_commit()", "cp.async.bulk.commit_group", 0x1b7},
    {"tma_wait_read<1>()", "cp.async.bulk.wait_group.read 1", 0},
    {"tma_wait<0>()", "cp.async.bulk.wait_group 0", 0},
    {"ring.init(2)", "mbarrier.init.shared::cta.b64", 0},
    {"ring.wait_empty(at)", "mbarrier.try_wait.parity.shared::cta.b64", 0},
    {"a.g[0] = (uint64_t)ring.expect(at, 64)", "mbarrier.arrive.expect_tx.shared::cta.b64", 0},
    {"ring.wait_full(at)", "mbarrier.try_wait.parity.shared::cta.b64", 0},
    {"ring.release(at)", "mbarrier.arrive.shared::cta.b64", 0},
    {"ring.release_at(at, 1)", "mbarrier.arrive.shared::cluster.b64", 0},
    {"at.advance(); a.g[0] = at.index; a.g[1] = at.parity", ".entry", 0},
    {"wgmma_hold(four); a.g[0] = four[0]", ".entry", 0},
    {"a.g[0] = descriptor<swizzle::b64>(s + 16 * i, 16, 512)", ".entry", 0},
    {"a.g[0] = advance(descriptor_k_major<swizzle::b128>(s + 16 * i), 32)", ".entry", 0},
    {"a.g[0] = descriptor_mn_major<swizzle::b128>(s + 16 * i, 64)", ".entry", 0},
};

/* The same for each rank: %d and %s are the rank and the coordinates. */
static const struct row boxes[] = {
    {"tma_load(s, &map, bar, {%s})",
     "cp.async.bulk.tensor.%dd.shared::cluster.global.tile.mbarrier::complete_tx::bytes [", 0x1b4},
    {"tma_load(s, &map, bar, {%s}, policy_evict_first())",
     ".%dd.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [", 0x1b4},
    {"tma_load_multicast(s, &map, bar, {%s}, 3)",
     "cp.async.bulk.tensor.%dd.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
     ".multicast::cluster [",
     0x1b4},
    {"tma_load_multicast(s, &map, bar, {%s}, 3, policy_evict_last())",
     ".%dd.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
     ".multicast::cluster.L2::cache_hint [",
     0x1b4},
    {"tma_prefetch(&map, {%s})", "cp.async.bulk.prefetch.tensor.%dd.L2.global.tile [", 0x1b8},
    {"tma_store(&map, s, {%s})", "cp.async.bulk.tensor.%dd.global.shared::cta.tile.bulk_group [",
     0x1b5},
    {"tma_store(&map, s, {%s}, policy_evict_first())",
     "cp.async.bulk.tensor.%dd.global.shared::cta.tile.bulk_group.L2::cache_hint [", 0x1b5},
    {"tma_reduce_add(&map, s, {%s})",
     "cp.reduce.async.bulk.tensor.%dd.global.shared::cta.add.tile.bulk_group [", 0x1b6},
    {"tma_reduce_min(&map, s, {%s})",
     "cp.reduce.async.bulk.tensor.%dd.global.shared::cta.min.tile.bulk_group [", 0x1b6},
    {"tma_reduce_max(&map, s, {%s})",
     "cp.reduce.async.bulk.tensor.%dd.global.shared::cta.max.tile.bulk_group [", 0x1b6},
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
};

enum { MAX_KERNELS = 200, MAX_LINE = 512 };

static struct archs archs;
static bool toolkit; /* NVRTC and ptxas are here */

/* One source under construction, and what each of its kernels must hold. */
static struct {
    struct buf source;
    size_t count;
    char name[MAX_KERNELS][8], emits[MAX_KERNELS][MAX_LINE];
    unsigned opcode[MAX_KERNELS];
} unit;

static void begin(void)
{
    unit.count = 0;
    buf_init(&unit.source, LIMIT_SOURCE);
    for (size_t i = 0; i < COUNT_OF(headers); i++)
        buf_addf(&unit.source, "#include <ptxbench/%s.cuh>\n", headers[i]);
    buf_addf(&unit.source, "%s", preamble);
}

static void add(const char *statement, const char *emits, unsigned opcode)
{
    size_t i = unit.count++;
    assert_true(i < MAX_KERNELS);
    snprintf(unit.name[i], sizeof unit.name[i], "k%zu", i);
    snprintf(unit.emits[i], sizeof unit.emits[i], "%s", emits);
    unit.opcode[i] = opcode;
    buf_addf(&unit.source, "KERNEL(k%zu, %s)\n", i, statement);
}

static bool has_opcode(const struct cubin *cubin, const char *kernel, unsigned opcode)
{
    struct cubin_function f;
    assert_true(cubin_find(cubin, kernel, &f));
    for (size_t at = 0; at + 16 <= f.code_len; at += 16)
        if (cubin_opcode(f.code + at) == opcode)
            return true;
    return false;
}

static void holds(const struct compile_result *r, const struct cubin *cubin, size_t i)
{
    char head[32];
    snprintf(head, sizeof head, ".entry %s(", unit.name[i]);
    char *from = strstr(r->ptx.data, head);
    assert_non_null(from);
    char *to = strstr(from + 1, ".entry "), kept = to ? *to : '\0';
    if (to)
        *to = '\0';
    if (!strstr(from, unit.emits[i]))
        fail_msg("no '%s' in\n%.3000s", unit.emits[i], from);
    if (to)
        *to = kept;
    if (unit.opcode[i] && !has_opcode(cubin, unit.name[i], unit.opcode[i]))
        fail_msg("no instruction %#x for '%s'", unit.opcode[i], unit.emits[i]);
}

/* Compiles the unit and holds each kernel against its row; `out` is the caller's to release. */
static void compile_unit(struct compile_result *out)
{
    struct cubin cubin;
    struct compile_request q = {.language = "cuda",
                                .arch = archs_find(&archs, "sm_90a"),
                                .source = unit.source.data,
                                .source_len = unit.source.len,
                                .names = (const char *const[]){"k0", NULL},
                                .timeout_ms = 240 * 1000,
                                .wake_fd = -1};
    compile_run(&q, out);
    buf_release(&unit.source);
    if (out->verdict != VERDICT_PASSED)
        fail_msg("%s\n%.3000s", out->detail, out->log.data ? out->log.data : "");
    json_t *warnings = json_object_get(out->compiler, "warnings");
    if (json_array_size(warnings))
        fail_msg("%.3000s", out->log.data);
    assert_int_equal(cubin_open(&cubin, out->cubin.data, out->cubin.len, NULL), ERR_NONE);
    for (size_t i = 0; i < unit.count; i++)
        holds(out, &cubin, i);
}

static void need_toolkit(void)
{
    if (!toolkit) {
        print_message("no CUDA toolkit on this host\n");
        skip();
    }
}

static char *header_text(const char *name)
{
    char path[256];
    struct buf text;
    snprintf(path, sizeof path, HEADERS "%s.cuh", name);
    buf_init(&text, MIB);
    assert_int_equal(read_file(path, &text, NULL), ERR_NONE);
    return buf_take(&text, NULL);
}

/* Every instruction that a comment names after "PTX:" stands in `ptx`. */
static int comments_hold(const char *header, const char *ptx)
{
    int found = 0;
    char *text = header_text(header), *save = NULL;
    for (char *at = text; (at = strstr(at, "PTX: "));) {
        char line[MAX_LINE];
        at += strlen("PTX: ");
        snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
        for (char *w = strtok_r(line, " ,;()", &save); w; w = strtok_r(NULL, " ,;()", &save)) {
            if (!strchr(w, '.') || w[0] == '.') /* prose, or the end of a name said before */
                continue;
            if (!strstr(ptx, w))
                fail_msg("%s.cuh names '%s', nothing emits it", header, w);
            found++;
        }
    }
    free(text);
    return found;
}

static void functions_emit_their_instruction(void **state)
{
    (void)state;
    need_toolkit();
    struct compile_result r;
    begin();
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        add(rows[i].statement, rows[i].emits, rows[i].opcode);
    for (int rank = 1; rank <= 5; rank++)
        for (size_t i = 0; i < COUNT_OF(boxes); i++) {
            static const char *const at[] = {"i", "i, 1", "i, 1, 2", "i, 1, 2, 3", "i, 1, 2, 3, 4"};
            const char *s = strstr(boxes[i].statement, "%s"), *d = strstr(boxes[i].emits, "%d");
            char statement[MAX_LINE], emits[MAX_LINE];
            snprintf(statement, sizeof statement, "%.*s%s%s", (int)(s - boxes[i].statement),
                     boxes[i].statement, at[rank - 1], s + 2);
            snprintf(emits, sizeof emits, "%.*s%d%s", (int)(d - boxes[i].emits), boxes[i].emits,
                     rank, d + 2);
            add(statement, emits, boxes[i].opcode);
        }
    add("SUMS(bf16, bf16, float, 64, (wgmma<bf16>(d, a.g[0], a.g[1])))",
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {", 0x1f0);
    compile_unit(&r);
    int named = 0;
    for (size_t i = 0; i < COUNT_OF(headers); i++)
        named += comments_hold(headers[i], r.ptx.data);
    assert_true(named > 60);
    compile_result_release(&r);
}

/* `flags`: template arguments after the types; `tail`: what the PTX ends with. */
static void add_product(const struct product *p, int n, bool registers, const char *flags,
                        const char *tail)
{
    char statement[MAX_LINE], emits[MAX_LINE];
    int count = n / p->columns;
    snprintf(statement, sizeof statement,
             "SUMS(%s, %s, %s, %d, (wgmma<%s, %s%s>(d, %s, a.g[1], a.n)))", p->a, p->b, p->sum,
             count, p->a, p->b, flags, registers ? "four" : "a.g[0]");
    snprintf(emits, sizeof emits, "wgmma.mma_async.sync.aligned.m64n%dk%d.%s.%s.%s {", n, p->k,
             p->columns == 2 ? "f32" : "f16", p->a, p->b);
    add(statement, tail ? tail : emits, p->opcode);
}

static void compile_products(void)
{
    struct compile_result r;
    compile_unit(&r);
    compile_result_release(&r);
}

static void wgmma_takes_every_n(void **state)
{
    (void)state;
    need_toolkit();
    begin();
    for (int n = 8; n <= 256; n += 8)
        for (int registers = 0; registers < 2; registers++) {
            add_product(&products[0], n, registers, "", NULL);
            add_product(&products[2], n, registers, "", NULL);
        }
    compile_products();
}

static void wgmma_takes_every_type_and_layout(void **state)
{
    (void)state;
    need_toolkit();
    begin();
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

/* A function that no row calls would be untested: each name stands in some statement above. */
static void every_function_is_tested(void **state)
{
    (void)state;
    static const char marker[] = "__device__ __forceinline__ ";
    int found = 0;
    for (size_t h = 0; h < COUNT_OF(headers); h++) {
        char *text = header_text(headers[h]);
        for (char *at = text; (at = strstr(at, marker));) {
            at += strlen(marker);
            char *end = at + strcspn(at, "("), name[64], call[72];
            while (end > at && end[-1] == ' ')
                end--;
            char *start = end;
            while (start > at && (start[-1] == '_' || (start[-1] >= '0' && start[-1] <= '9') ||
                                  (start[-1] >= 'a' && start[-1] <= 'z')))
                start--;
            snprintf(name, sizeof name, "%.*s", (int)(end - start), start);
            bool tested = strcmp(name, "run") == 0 || strcmp(name, "wgmma") == 0; /* by products */
            for (size_t shape = 0; shape < 2; shape++) {
                snprintf(call, sizeof call, "%s%c", name, "(<"[shape]);
                tested |= strstr(preamble, call) != NULL;
                for (size_t i = 0; i < COUNT_OF(rows); i++)
                    tested |= strstr(rows[i].statement, call) != NULL;
                for (size_t i = 0; i < COUNT_OF(boxes); i++)
                    tested |= strstr(boxes[i].statement, call) != NULL;
            }
            if (!tested)
                fail_msg("%s.cuh: no row calls %s", headers[h], name);
            found++;
        }
        free(text);
    }
    assert_true(found > 70);
}

static int load(void **state)
{
    (void)state;
    struct cuda_paths paths;
    struct fault f;
    toolkit = cuda_paths_find(&paths) && paths.nvrtc[0] && paths.ptxas[0];
    if (archs_load(&archs, home_dir(), &f) == ERR_NONE)
        return 0;
    fprintf(stderr, "%s\n", f.detail);
    return -1;
}

static int drop(void **state)
{
    (void)state;
    archs_release(&archs);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_function_is_tested),
        cmocka_unit_test(functions_emit_their_instruction),
        cmocka_unit_test(wgmma_takes_every_n),
        cmocka_unit_test(wgmma_takes_every_type_and_layout),
    };
    return cmocka_run_group_tests(tests, load, drop);
}
