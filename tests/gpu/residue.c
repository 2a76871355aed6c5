// SPDX-License-Identifier: Apache-2.0
// What one launch can leave for the next, asked of the device itself: shared memory, cache lines
// that are asked to stay, memory of a process that has ended, bulk stores that nobody waits for.
// The answers are what the runner's wiping and flushing stand on; the last lines are figures: name
// value.
#include "tests/gpu/runner_kit.h"

#define PLAN(launches) "/*ptxbench-launch {\"launches\": [" launches "]} */\n"
#define LAUNCH(kernel, grid, block, shared)                                                        \
    "{\"kernel\": \"" kernel "\", \"grid\": [" grid "], \"block\": [" block "], "                  \
    "\"shared_bytes\": " shared ", \"args\": [{\"tensor\": \"A\"}, {\"tensor\": \"C\"}]}"
#define SHARED_ROOM "200000"

enum { SLOTS = 9, PATTERN = 0x5eed5eed };

static int tests, failed;

static void report(bool ok, const char *name)
{
    failed += !ok;
    printf("%sok %d - %s\n", ok ? "" : "not ", ++tests, name);
    fflush(stdout);
}

/* Starts a runner with this source and all slots. */
static void begin(struct kit_runner *r, const struct kit *k, const struct kit_slot *slots,
                  const char *source)
{
    struct kit_code code;
    kit_compile(k, source, &code);
    bool ok = kit_start(r) && kit_ok(kit_open_code(r, k, &code));
    for (int i = 0; ok && i < SLOTS; i++)
        ok = kit_ok(kit_map(r, &slots[i], i, "end"));
    if (!ok)
        kit_die("a runner failed", NULL);
    json_decref(code.plan);
    json_decref(code.symbols);
    compile_result_release(&code.compiled);
}

static bool launch(struct kit_runner *r)
{
    return kit_ok(kit_ask(r, json_pack("{s:s, s:i}", "op", "launch", "slot", 0), NULL, 0));
}

/* Words of the pattern that the kernels "look" found and left in C, one count per block. */
static double found(const struct kit_slot *slot)
{
    uint32_t counts[132];
    if (cu.MemcpyDtoH(counts, slot->maps[2].address, sizeof(counts)) != CUDA_SUCCESS)
        kit_die("read counts", NULL);
    double sum = 0;
    for (size_t i = 0; i < COUNT_OF(counts); i++)
        sum += counts[i];
    return sum;
}

/* "leave" fills shared memory with the pattern, "look" counts what of it is there. */
static const char shared_kernels[] =
    "extern __shared__ unsigned area[];\n"
    "__device__ void fill() { for (int i = threadIdx.x; i < " SHARED_ROOM " / 4; i += 1024)\n"
    "    ((volatile unsigned *)area)[i] = 0x5eed5eed; }\n"
    "__device__ void count(unsigned *C) { __shared__ unsigned n; if (!threadIdx.x) n = 0; "
    "__syncthreads();\n"
    "    unsigned mine = 0; for (int i = threadIdx.x; i < " SHARED_ROOM " / 4; i += 1024)\n"
    "        mine += ((volatile unsigned *)area)[i] == 0x5eed5eed;\n"
    "    atomicAdd(&n, mine); __syncthreads(); if (!threadIdx.x) C[blockIdx.x] = n; }\n"
    "__global__ void leave(const void *A, unsigned *C) { fill(); }\n"
    "__global__ void look(const void *A, unsigned *C) { count(C); }\n"
    "__global__ void both(const void *A, unsigned *C) { count(C); __syncthreads(); fill(); }\n";

static double shared_within, shared_across;

static void ask_shared(const struct kit *k, const struct kit_slot *slots)
{
    char source[4096];
    struct kit_runner r;
    snprintf(source, sizeof(source), "%s%s",
             PLAN(LAUNCH("leave", "132", "1024", SHARED_ROOM) ", " LAUNCH("look", "132", "1024",
                                                                          SHARED_ROOM)),
             shared_kernels);
    begin(&r, k, slots, source);
    bool ok = launch(&r);
    shared_within = found(&slots[0]) / (132.0 * 50000);
    kit_stop(&r);
    snprintf(source, sizeof(source), "%s%s", PLAN(LAUNCH("both", "132", "1024", SHARED_ROOM)),
             shared_kernels);
    begin(&r, k, slots, source);
    ok = ok && launch(&r) && launch(&r);
    shared_across = found(&slots[0]) / (132.0 * 50000);
    kit_stop(&r);
    report(ok && shared_across == 0, "no run sees what another left in shared memory");
}

/* Every block stores 32 KiB of C in bulk and ends at once. */
static const char bulk_source[] = PLAN(
    LAUNCH("store", "3584", "128",
           "32768")) "extern __shared__ __align__(128) unsigned area[];\n"
                     "__global__ void store(const void *A, char *C) {\n"
                     "    for (int i = threadIdx.x; i < 8192; i += 128) area[i] = 0x5eed5eed;\n"
                     "    asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");\n"
                     "    __syncthreads();\n"
                     "    if (threadIdx.x == 0) {\n"
                     "        asm volatile(\"cp.async.bulk.global.shared::cta.bulk_group [%0], "
                     "[%1], 32768;\" ::\n"
                     "            \"l\"(C + 32768ull * blockIdx.x), "
                     "\"r\"((unsigned)__cvta_generic_to_shared(area)) : \"memory\");\n"
                     "        asm volatile(\"cp.async.bulk.commit_group;\");\n"
                     "    }\n"
                     "}\n";

static size_t bulk_missing;

static void ask_bulk(const struct kit *k, const struct kit_slot *slots)
{
    struct kit_runner r;
    begin(&r, k, slots, bulk_source);
    size_t words = k->bytes[2] / 4;
    uint32_t *c = malloc(k->bytes[2]);
    bool ok = c != NULL;
    for (int round = 0; ok && round < 5; round++) {
        ok = cu.MemsetD8Async(slots[0].maps[2].address, 0, k->bytes[2], NULL) == CUDA_SUCCESS &&
             cu.StreamSynchronize(NULL) == CUDA_SUCCESS && launch(&r) &&
             cu.MemcpyDtoH(c, slots[0].maps[2].address, k->bytes[2]) == CUDA_SUCCESS;
        for (size_t i = 0; ok && i < words; i++)
            bulk_missing += c[i] != PATTERN;
    }
    free(c);
    kit_stop(&r);
    report(ok, "bulk stores that nobody waited for were counted");
}

/* Reads 24 MiB of A; twice in one plan, so that the second launch finds it cached. */
#define READ(hint)                                                                                 \
    PLAN(LAUNCH("read", "528", "512", "0") ", " LAUNCH("read", "528", "512", "0"))                 \
    "__global__ void read(const uint4 *A, unsigned short *C) {\n"                                  \
    "    unsigned long long policy; unsigned sum = 0;\n"                                           \
    "    asm volatile(\"createpolicy.fractional.L2::" hint ".b64 %0, 1.0;\" : \"=l\"(policy));\n"  \
    "    for (int i = blockIdx.x * 512 + threadIdx.x; i < 24 * 1024 * 1024 / 16; i += 528 * 512) " \
    "{\n"                                                                                          \
    "        uint4 v; asm volatile(\"ld.global.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], "     \
    "%5;\"\n"                                                                                      \
    "            : \"=r\"(v.x), \"=r\"(v.y), \"=r\"(v.z), \"=r\"(v.w) : \"l\"(A + i), "            \
    "\"l\"(policy));\n"                                                                            \
    "        sum += v.x ^ v.y ^ v.z ^ v.w; }\n"                                                    \
    "    if (sum == 12345) C[0] = 1; }\n"

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(const json_t *us, size_t from, size_t count)
{
    double v[64];
    for (size_t i = 0; i < count && i < COUNT_OF(v); i++)
        v[i] = json_real_value(json_array_get(us, from + i));
    qsort(v, count, sizeof(v[0]), by_value);
    return v[count / 2];
}

struct cache_times {
    double same_us, other_us, cached_us; /* of the plan, same slot again or another; of a launch on
                                            cached data */
};

static struct cache_times ask_cache(const struct kit *k, const struct kit_slot *slots,
                                    const char *source)
{
    struct kit_runner r;
    begin(&r, k, slots, source);
    json_t *order = json_array();
    json_array_append_new(order, json_pack("[s, i]", "c", 0));
    for (int i = 0; i < 24; i++)
        json_array_append_new(order, json_pack("[s, i]", "c", 0));
    for (int i = 0; i < 24; i++)
        json_array_append_new(order, json_pack("[s, i]", "c", 1 + i % (SLOTS - 1)));
    json_t *warm = kit_ask(
        &r,
        json_pack("{s:s, s:i, s:i, s:i}", "op", "warm", "candidate", 0, "baseline", 1, "ms", 300),
        NULL, 0);
    kit_ok(warm);
    json_t *answer = kit_ask(
        &r, json_pack("{s:s, s:o, s:i}", "op", "batch", "order", order, "untimed", 1), NULL, 0);
    json_t *us = json_object_get(answer, "us");
    struct cache_times t = {median_of(us, 0, 24), median_of(us, 24, 24), 0};
    kit_ok(answer);
    answer =
        kit_ask(&r, json_pack("{s:s, s:i, s:i}", "op", "split", "slot", 0, "repeat", 20), NULL, 0);
    t.cached_us = median_of(json_array_get(json_object_get(answer, "us"), 1), 0, 20);
    kit_ok(answer);
    kit_stop(&r);
    return t;
}

/* How much of what a cached read saves is saved by having read the same slot before the flush. */
static double survived(const struct cache_times *t)
{
    double cold_us = t->other_us - t->cached_us; /* the first launch of the plan on another slot */
    return (t->other_us - t->same_us) / (cold_us - t->cached_us);
}

/* In a process of its own: fills most of the memory with the pattern and ends without freeing it.
 */
static int fill_memory(void)
{
    struct driver_device d;
    size_t free_bytes = 0, total = 0;
    CUdeviceptr p = 0;
    if (driver_open(0, &d, NULL) != ERR_NONE ||
        cu.MemGetInfo(&free_bytes, &total) != CUDA_SUCCESS ||
        cu.MemAlloc(&p, free_bytes / 10 * 9) != CUDA_SUCCESS ||
        cu.MemsetD32Async(p, PATTERN, free_bytes / 10 * 9 / 4, NULL) != CUDA_SUCCESS ||
        cu.StreamSynchronize(NULL) != CUDA_SUCCESS)
        return 1;
    return 0;
}

/* Share of sampled words of new memory that hold the pattern of the process before. */
static double residue_share(void)
{
    size_t free_bytes = 0, total = 0, step = 64 * (size_t)MIB, seen = 0, sampled = 0;
    CUdeviceptr p = 0;
    static uint32_t words[16 * KIB];
    if (cu.MemGetInfo(&free_bytes, &total) != CUDA_SUCCESS ||
        cu.MemAlloc(&p, free_bytes / 10 * 9) != CUDA_SUCCESS)
        kit_die("allocate", NULL);
    for (size_t at = 0; at + sizeof(words) < free_bytes / 10 * 9; at += step) {
        if (cu.MemcpyDtoH(words, p + at, sizeof(words)) != CUDA_SUCCESS)
            kit_die("read", NULL);
        for (size_t i = 0; i < COUNT_OF(words); i++)
            seen += words[i] == PATTERN;
        sampled += COUNT_OF(words);
    }
    cu.MemFree(p);
    return (double)seen / (double)sampled;
}

static bool run_filler(char *self)
{
    char *argv[] = {self, (char *)(uintptr_t) "fill", NULL};
    pid_t pid = fork();
    int status = -1;
    if (pid == 0) {
        execv(self, argv);
        _exit(127);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

int main(int argc, char **argv)
{
    struct kit k;
    static struct kit_slot slots[SLOTS];
    (void)argc;
    if (argv[1] && !strcmp(argv[1], "fill"))
        return fill_memory();
    setvbuf(stdout, NULL, _IOLBF, 0);
    kit_open(&k, "m8192_n7168_k5120");
    report(run_filler(argv[0]), "another process filled the memory and ended");
    double of_others = residue_share();
    report(of_others == 0, "new memory shows nothing of a process that has ended");
    for (size_t i = 0; i < COUNT_OF(slots); i++)
        kit_slot_new(&k, &slots[i], MEMORY_END, i ? &slots[0] : NULL);
    ask_shared(&k, slots);
    ask_bulk(&k, slots);
    struct cache_times plain = ask_cache(&k, slots, READ("evict_normal")),
                       last = ask_cache(&k, slots, READ("evict_last"));
    printf("# evict_normal: plan %.1f us on the same slot, %.1f on others; cached launch %.1f\n",
           plain.same_us, plain.other_us, plain.cached_us);
    printf("# evict_last:   plan %.1f us on the same slot, %.1f on others; cached launch %.1f\n",
           last.same_us, last.other_us, last.cached_us);
    double plain_share = survived(&plain), last_share = survived(&last);
    report(last_share - plain_share < 0.2, "the flush defeats lines that were asked to stay");
    printf("1..%d\n", tests);
    printf("residue.memory_of_ended_process_share %.6f\nresidue.shared_within_plan_share %.4f\n"
           "residue.shared_across_runs_share %.4f\nresidue.bulk_store_words_missing %zu\n"
           "residue.evict_last_survived_share %.3f\nresidue.evict_normal_survived_share %.3f\n",
           of_others, shared_within, shared_across, bulk_missing, last_share, plain_share);
    return failed != 0;
}
