// SPDX-License-Identifier: Apache-2.0
// What the verifier counts must be what the arithmetic of each example's tiles says, and what ptxvm
// counts when it executes the same PTX. Every count is a fresh confined process, as in service.
//
//   gpu_verifier [source.cu workload]     counts one source and prints the answer
#include "evaluator/evaluate.h"
#include "tests/gpu/runner_kit.h"

enum { CHECK_MS = 120000 };

#define EXAMPLES "problems/gemm/examples/"

struct counts {
    int64_t gmma, tma, mma; /* warp executions; of tma one thread each, of the others 32 */
};

static int64_t up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static struct counts none(int64_t m, int64_t n, int64_t k)
{
    (void)m, (void)n, (void)k;
    return (struct counts){0};
}

/* Tiles of 128 x 128, steps of 32: 8 warps, 4 x 4 pieces of 16 x 8, twice 16 of K. */
static struct counts mma_sync(int64_t m, int64_t n, int64_t k)
{
    return (struct counts){.mma = up(m, 128) * up(n, 128) * up(k, 32) * 8 * 16 * 2};
}

/* Tiles of 128 x 128, steps of 64: two warpgroups, four of K; two boxes a step. */
static struct counts wgmma_tma(int64_t m, int64_t n, int64_t k)
{
    int64_t steps = up(m, 128) * up(n, 128) * up(k, 64);
    return (struct counts){.gmma = steps * 2 * 4 * 4, .tma = steps * 2};
}

/* Two blocks make 256 x 256; each loads two boxes a step and stores 128 x 256 in boxes of 64 x 64.
 */
static struct counts wgmma_cluster(int64_t m, int64_t n, int64_t k)
{
    int64_t tiles = up(m, 256) * up(n, 256) * 2, steps = tiles * up(k, 64);
    return (struct counts){.gmma = steps * 2 * 4 * 4, .tma = steps * 2 + tiles * 8};
}

static const struct example {
    const char *file;
    struct counts (*expect)(int64_t m, int64_t n, int64_t k);
    double tensor_flops; /* of one warp's execution */
    const char *workloads[3];
} examples[] = {
    {"naive.cu", none, 0, {"small"}},
    {"tiled.cu", none, 0, {"small"}},
    {"mma_sync.cu", mma_sync, 2 * 16 * 8 * 16, {"small", "m93_n128_k2048", "m8192_n7168_k5120"}},
    {"wgmma_tma.cu",
     wgmma_tma,
     2 * 16 * 128 * 16,
     {"small", "m93_n128_k2048", "m8192_n7168_k5120"}},
    {"wgmma_cluster.cu",
     wgmma_cluster,
     2 * 16 * 256 * 16,
     {"small", "m952_n2048_k4096", "m8192_n7168_k5120"}},
};

static int tests, failed;

static void report(bool ok, const char *what, const char *file, const char *workload)
{
    failed += !ok;
    printf("%sok %d - %s: %s at %s\n", ok ? "" : "not ", ++tests, what, file, workload);
    fflush(stdout);
}

static char *read_source(const char *file)
{
    struct buf source;
    char path[512];
    struct fault f = {0};
    buf_init(&source, LIMIT_SOURCE);
    if (strchr(file, '/'))
        snprintf(path, sizeof(path), "%s", file);
    else
        snprintf(path, sizeof(path), "%s/" EXAMPLES "%s", home_dir(), file);
    if (read_file(path, &source, &f) != ERR_NONE)
        kit_die("source", &f);
    return source.data;
}

/* The verifier's answer for one launch of a source; new reference. */
static json_t *count(const struct kit *k, const char *source, const struct kit_slot *slot,
                     int launch)
{
    struct kit_code code;
    struct kit_runner r;
    kit_compile(k, source, &code);
    double start = now_s();
    json_t *answer = NULL;
    if (!kit_start_as(&r, "verifier")) {
        answer = json_incref(r.event);
    } else {
        printf("# ready after %.0f ms\n", (now_s() - start) * 1e3);
        if (kit_ok(kit_open_code(&r, k, &code)) && kit_ok(kit_map(&r, slot, 0, "start")))
            answer = kit_ask(
                &r, json_pack("{s:s, s:i, s:i}", "op", "count", "slot", 0, "launch", launch), NULL,
                0);
    }
    kit_stop(&r);
    json_decref(code.plan);
    json_decref(code.symbols);
    compile_result_release(&code.compiled);
    char *text = json_dumps(answer, JSON_COMPACT | JSON_ENCODE_ANY);
    printf("# %s\n", text);
    free(text);
    return answer;
}

static int64_t member(const json_t *answer, const char *family, const char *what)
{
    const json_t *f = json_object_get(json_object_get(answer, "families"), family);
    const json_t *n = json_object_get(f, what);
    return json_is_integer(n) ? json_integer_value(n) : -1;
}

static bool as_computed(const json_t *answer, const struct example *e, const struct kit *k)
{
    const int64_t *axes = k->workload->axes;
    struct counts c = e->expect(axes[0], axes[1], axes[2]);
    double share =
        (double)(c.gmma + c.mma) * e->tensor_flops / (double)problem_flops(k->problem, k->workload);
    double got = json_number_value(json_object_get(answer, "tensor_share"));
    return json_is_true(json_object_get(answer, "ok")) &&
           json_is_number(json_object_get(answer, "tensor_share")) && fabs(got - share) < 1e-9 &&
           member(answer, "gmma", "warps") == c.gmma &&
           member(answer, "gmma", "threads") == 32 * c.gmma &&
           member(answer, "mma", "warps") == c.mma &&
           member(answer, "mma", "threads") == 32 * c.mma &&
           member(answer, "tma", "warps") == c.tma && member(answer, "tma", "threads") == c.tma &&
           member(answer, "bulk", "warps") == 0 &&
           json_is_boolean(json_object_get(answer, "executed")) &&
           json_is_true(json_object_get(answer, "executed")) == (c.gmma + c.tma > 0);
}

/* The same source on the CPU device. */
static bool as_ptxvm(const json_t *answer, const struct kit *k, const char *source)
{
    struct submission s = {0};
    struct faults faults = {0};
    struct evaluation e = {0};
    json_t *query = json_pack("{s:s, s:s, s:s, s:s, s:s}", "problem", "gemm", "arch", "sm_90a",
                              "device", "cpu", "mode", "check", "workload", k->workload->name);
    bool ok = submission_bare(&k->registry, source, strlen(source), query, &s, &faults);
    struct evaluation_request request = {.registry = &k->registry,
                                         .submission = &s,
                                         .device = "cpu",
                                         .limits = {.check_ms = CHECK_MS}};
    ok = ok && evaluate(&request, NULL, &e, NULL) == ERR_NONE && e.verdict == VERDICT_PASSED;
    const json_t *mine = json_object_get(answer, "families");
    const json_t *target = json_object_get(e.report, "target");
    const char *family;
    const json_t *theirs;
    json_object_foreach(json_object_get(target, "families"), family, theirs) ok =
        ok &&
        json_equal(json_object_get(theirs, "warps"),
                   json_object_get(json_object_get(mine, family), "warps")) &&
        json_equal(json_object_get(theirs, "threads"),
                   json_object_get(json_object_get(mine, family), "threads"));
    double share = json_number_value(json_object_get(answer, "tensor_share"));
    ok = ok && fabs(json_number_value(json_object_get(target, "tensor_share")) - share) < 1e-9;
    if (!ok) {
        char *text = json_dumps(target, JSON_COMPACT | JSON_ENCODE_ANY);
        printf("# ptxvm: %s %s\n", verdict_name(e.verdict), text);
        free(text);
    }
    evaluation_release(&e);
    submission_release(&s);
    faults_release(&faults);
    json_decref(query);
    return ok;
}

/* Two kernels, one of them launched twice and one also to fill a buffer, with a buffer that is
 * zeroed first: each launch is counted for itself, whatever runs before it. */
static const char several[] =
    "/*ptxbench-launch {\"buffers\": {"
    "\"z\": {\"dtype\": \"u32\", \"shape\": [64], \"init\": \"zero\"}, "
    "\"f\": {\"dtype\": \"u32\", \"shape\": [64], \"init\": {\"launch\": {\"kernel\": \"two\", "
    "\"grid\": [7], \"block\": [32], \"args\": [{\"buffer\": \"f\"}]}}}}, \"launches\": ["
    "{\"kernel\": \"one\", \"grid\": [3], \"block\": [64], \"args\": [{\"buffer\": \"z\"}]}, "
    "{\"kernel\": \"two\", \"grid\": [5], \"block\": [32], \"args\": [{\"buffer\": \"z\"}]}, "
    "{\"kernel\": \"one\", \"grid\": [3], \"block\": [64], \"args\": [{\"buffer\": \"z\"}]}]} */\n"
    "#define MMA asm volatile(\"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 \" \\\n"
    "  \"{%0, %0, %0, %0}, {%1, %1, %1, %1}, {%1, %1}, {%0, %0, %0, %0};\" : \"+f\"(d) : "
    "\"r\"(0))\n"
    "__global__ void one(unsigned *p) { float d = 0; MMA; p[threadIdx.x] = d; }\n"
    "__global__ void two(unsigned *p) { float d = 0; MMA; MMA; p[threadIdx.x] = d; }\n";
static const int64_t several_mma[] = {3 * 2, 5 * 2, 3 * 2}; /* blocks x warps, blocks x MMAs */

static void free_slot(struct kit_slot *slot)
{
    for (size_t i = 0; i < KIT_TENSORS; i++) {
        memory_unmap(&slot->maps[i]);
        memory_release(&slot->blocks[i]);
    }
}

static void several_launches(const struct kit *k)
{
    struct kit_slot slot = {0};
    kit_slot_new(k, &slot, MEMORY_START, NULL);
    for (size_t i = 0; i < COUNT_OF(several_mma); i++) {
        json_t *answer = count(k, several, &slot, (int)i);
        report(json_is_true(json_object_get(answer, "ok")) &&
                   json_is_false(json_object_get(answer, "executed")) &&
                   member(answer, "mma", "warps") == several_mma[i] &&
                   member(answer, "mma", "threads") == 32 * several_mma[i] &&
                   member(answer, "gmma", "warps") == 0,
               "counts one launch of several", i == 1 ? "the second kernel" : "the first kernel",
               k->workload->name);
        json_decref(answer);
    }
    free_slot(&slot);
}

static void one(struct kit *k, const struct example *e, const char *workload)
{
    struct kit_slot slot = {0};
    char *source = read_source(e->file);
    k->workload = problem_workload(k->problem, workload);
    kit_measure(k);
    kit_slot_new(k, &slot, MEMORY_START, NULL);
    json_t *answer = count(k, source, &slot, 0);
    report(as_computed(answer, e, k), "counts what the tiles say", e->file, workload);
    if (!strcmp(workload, "small"))
        report(as_ptxvm(answer, k, source), "counts what ptxvm counts", e->file, workload);
    json_decref(answer);
    free_slot(&slot);
    free(source);
}

int main(int argc, char **argv)
{
    struct kit k;
    setvbuf(stdout, NULL, _IOLBF, 0);
    kit_open(&k, argc == 3 ? argv[2] : "small");
    if (argc == 3) {
        struct kit_slot slot = {0};
        kit_slot_new(&k, &slot, MEMORY_START, NULL);
        json_decref(count(&k, read_source(argv[1]), &slot, 0));
        return 0;
    }
    for (size_t i = 0; i < COUNT_OF(examples); i++)
        for (size_t w = 0; w < 3 && examples[i].workloads[w]; w++)
            one(&k, &examples[i], examples[i].workloads[w]);
    k.workload = problem_workload(k.problem, "small");
    kit_measure(&k);
    several_launches(&k);
    printf("1..%d\n", tests);
    return failed != 0;
}
