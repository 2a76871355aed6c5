// SPDX-License-Identifier: Apache-2.0
// The keeper as its client sees it: the examples of gemm through check, time and verify, then
// submissions that go wrong in every way that costs a process. Each must cost that one submission
// and nothing else.
//
//   gpu_keeper [repeat [workload …]]
//
// repeat: how often the examples are evaluated; default 3. Workloads: wgmma_cluster on each of them
// after that, to see device memory run short and come back.
//
// The last lines are figures: name value.
#include <dirent.h>
#include <signal.h>

#include "tests/gpu/keeper_kit.h"

/* ---- examples ---- */

static const char paper[] = "m8192_n7168_k5120";

static struct lane lane = {INFINITY, INFINITY, NULL};

static void try_example(const char *name, const char *workload, long repeat)
{
    struct code c;
    char what[100];
    compile_file(&c, "gemm", workload, name);
    for (long i = 0; i < repeat; i++) {
        struct outcome o;
        bool paused = i % 2 == 0;
        if (paused)
            usleep(PAUSE_US);
        bool ok = evaluate(&c, VERIFY, &o);
        if (!ok)
            show(name, &o);
        else
            show_example(name, &o);
        if (ok && !strcmp(name, "wgmma_cluster") && !strcmp(workload, paper))
            note_lane(&lane, &o, paused);
        if (i + 1 == repeat) {
            char *timing = json_dumps(json_object_get(o.results[TIME], "timing"), JSON_COMPACT);
            char *check = json_dumps(json_object_get(o.results[CHECK], "check"), JSON_COMPACT);
            printf("# timing %.2200s\n# check %.3000s\n", timing ? timing : "", check ? check : "");
            free(timing);
            free(check);
        }
        snprintf(what, sizeof(what), "%s is evaluated on %s", name, workload);
        report(ok, what);
        outcome_release(&o);
    }
    code_release(&c);
}

/* ---- submissions that go wrong ---- */

#define ARGS "[{\"tensor\": \"A\"}, {\"tensor\": \"B\"}, {\"tensor\": \"C\"}]"
#define PLAN(blocks)                                                                               \
    "/*ptxbench-launch {\"launches\": [{\"kernel\": \"k\", \"grid\": [" blocks                     \
    "], \"block\": [256], \"args\": " ARGS "}]} */\n"
#define KERNEL(body)                                                                               \
    "extern \"C\" int printf(const char *, ...);\n"                                                \
    "__device__ int calls;\n"                                                                      \
    "__global__ void k(unsigned short *A, unsigned short *B, unsigned short *C)\n"                 \
    "{\n    long i = (long)blockIdx.x * 256 + threadIdx.x;\n    " body "\n}\n"
/* Workload m93_n128_k2048: tensors that leave slack; its C has 11904 elements. */
#define ODD PLAN("\"ceil_div(93*128, 256)\"")

/* A right kernel of two launches that leaves every other output to the launch behind it. */
static const char late[] =
    "/*ptxbench-launch {\"launches\": [{\"kernel\": \"tick\", \"grid\": [1], \"block\": [1], "
    "\"args\": " ARGS
    "}, {\"kernel\": \"work\", \"grid\": [128, 93], \"block\": [128], \"args\": " ARGS "}]} */\n"
    "typedef unsigned short u16;\n"
    "struct job { u16 *A, *B, *C; };\n"
    "__device__ job jobs[2];\n__device__ int n, waiting, flush;\n__device__ u16 *last;\n"
    "__global__ void tick(u16 *A, u16 *B, u16 *C)\n{\n"
    "    if (flush) waiting = 0;\n"
    "    jobs[waiting++] = {A, B, C};\n"
    "    flush = C == last || n % 2 == 0 || n == 3;\n"
    "    last = C;\n    n++;\n}\n"
    "__device__ float wide(u16 v) { return __uint_as_float((unsigned)v << 16); }\n"
    "__global__ void work(u16 *, u16 *, u16 *)\n{\n"
    "    __shared__ float part[128];\n"
    "    for (int i = 0; flush && i < waiting; i++) {\n"
    "        const u16 *a = jobs[i].A + blockIdx.y * 2048, *b = jobs[i].B + blockIdx.x * 2048;\n"
    "        float sum = 0;\n"
    "        for (int k = threadIdx.x; k < 2048; k += 128) sum += wide(a[k]) * wide(b[k]);\n"
    "        part[threadIdx.x] = sum;\n        __syncthreads();\n"
    "        for (int d = 64; d; d /= 2) {\n"
    "            if (threadIdx.x < d) part[threadIdx.x] += part[threadIdx.x + d];\n"
    "            __syncthreads();\n        }\n"
    "        unsigned v = __float_as_uint(part[0]);\n"
    "        if (threadIdx.x == 0) jobs[i].C[blockIdx.y * 128 + blockIdx.x] = (v + 0x7fff + (v >> "
    "16 & 1)) >> 16;\n"
    "        __syncthreads();\n    }\n}\n";

static const struct {
    const char *name, *verdict, *fault, *source;
} cases[] = {
    {"leaves work to a later launch", "INCORRECT_NUMERICAL", "", late},
    {"writes nothing", "INCORRECT_NUMERICAL", "", ODD KERNEL("")},
    {"writes zeroes", "INCORRECT_NUMERICAL", "", ODD KERNEL("if (i < 11904) C[i] = 0;")},
    {"copies an input", "INCORRECT_NUMERICAL", "", ODD KERNEL("if (i < 11904) C[i] = A[i];")},
    {"writes NaN", "INCORRECT_NUMERICAL", "", ODD KERNEL("if (i < 11904) C[i] = 0x7fc0;")},
    {"writes an input", "RUNTIME_ERROR", "illegal_access", ODD KERNEL("if (i < 11904) A[i] = 0;")},
    {"reads past the end", "RUNTIME_ERROR", "illegal_access",
     ODD KERNEL("if (i < 11904) C[i] = B[128 * 2048 + i];")},
    {"reads before the start", "RUNTIME_ERROR", "illegal_access",
     ODD KERNEL("if (i < 11904) C[i] = A[-1 - (1l << 20)];")},
    {"writes before the start", "RUNTIME_ERROR", "out_of_bounds_write", ODD KERNEL("C[-1] = 0;")},
    {"traps", "RUNTIME_ERROR", "launch_failed", ODD KERNEL("asm volatile(\"trap;\");")},
    {"never ends", "TIMEOUT", "timeout", ODD KERNEL("while (*(volatile short *)A != 0x7e01) {}")},
    {"prints a flood", "INCORRECT_NUMERICAL", "",
     ODD KERNEL("for (int n = 0; n < 3; n++) printf(\"%d: a line of text that is somewhat "
                "long\\n\", n);")},
};

static void try_case(size_t i)
{
    struct code c;
    struct outcome o;
    compile(&c, "m93_n128_k2048", cases[i].source);
    double start = now_s();
    evaluate(&c, TIME, &o);
    const json_t *r = last_result(&o);
    const json_t *fault = json_array_get(json_object_get(r, "faults"), 0);
    show(cases[i].name, &o);
    printf("#   %.0f ms, printed %zu bytes\n", (now_s() - start) * 1e3, o.printed);
    if (strstr(cases[i].name, "writes an input"))
        report(!strcmp(text(fault, "tensor"), "A"), "the input that is written is named");
    report(!strcmp(text(r, "verdict"), cases[i].verdict) &&
               !strcmp(text(fault, "kind"), cases[i].fault) && o.printed <= LIMIT_LOG,
           cases[i].name);
    outcome_release(&o);
    code_release(&c);
}

/* How long a wrong answer keeps the device when there is much of it to look at. */
static void try_large(void)
{
    struct code c;
    struct outcome o;
    compile(&c, "m8192_n7168_k5120", PLAN("\"8192*28\"") KERNEL("C[i] = 0;"));
    evaluate(&c, TIME, &o);
    show("zeroes, large", &o);
    printf("#   open %.0f (waited %.0f), check %.0f ms\n", o.ms[OPEN], o.wait_ms, o.ms[CHECK]);
    report(!strcmp(text(last_result(&o), "verdict"), "INCORRECT_NUMERICAL"), "zeroes, large");
    outcome_release(&o);
    code_release(&c);
}

/* Runners of the keeper, the spare one as well. */
static void kill_runners(void)
{
    char path[300], line[300];
    DIR *d = opendir("/proc");
    for (struct dirent *e; d && (e = readdir(d));) {
        long pid = strtol(e->d_name, NULL, 10), parent = 0;
        if (pid <= 1)
            continue;
        snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
        FILE *f = fopen(path, "re");
        if (f && fgets(line, sizeof(line), f) && strrchr(line, ')'))
            sscanf(strrchr(line, ')') + 1, " %*c %ld", &parent);
        if (f)
            fclose(f);
        snprintf(path, sizeof(path), "/proc/%ld/cmdline", pid);
        f = parent == keeper.pid ? fopen(path, "re") : NULL;
        size_t n = f ? fread(line, 1, sizeof(line) - 1, f) : 0;
        line[n] = 0;
        if (f)
            fclose(f);
        if (n && !strcmp(line + strlen(line) + 1, "runner"))
            kill((pid_t)pid, SIGKILL);
    }
    if (d)
        closedir(d);
}

static void try_killed(const struct code *right)
{
    struct outcome o = {0};
    int fd = open_connection();
    send_request(fd, right, OPEN);
    o.results[OPEN] = receive(fd, &o);
    kill_runners();
    send_request(fd, right, CHECK);
    o.results[CHECK] = receive(fd, &o);
    close(fd);
    show("its runner is killed", &o);
    report(!strcmp(text(last_result(&o), "verdict"), "INFRA_ERROR"), "its runner is killed");
    outcome_release(&o);
    report(evaluate(right, CHECK, &o), "the next submission is served");
    show("the next one", &o);
    outcome_release(&o);
}

/* The client goes away in the middle; the keeper must notice, kill, and serve the next one. */
static void try_gone(const struct code *right)
{
    struct code c;
    struct outcome o = {0};
    compile(&c, "m93_n128_k2048", ODD KERNEL("while (*(volatile short *)A != 0x7e01) {}"));
    int fd = open_connection();
    send_request(fd, &c, OPEN);
    o.results[OPEN] = receive(fd, &o);
    send_request(fd, &c, CHECK);
    usleep(200 * 1000);
    close(fd);
    outcome_release(&o);
    double start = now_s();
    report(evaluate(right, CHECK, &o) && now_s() - start < 5, "the client goes away in the middle");
    printf("#   %.0f ms until the next one is checked\n", (now_s() - start) * 1e3);
    outcome_release(&o);
    code_release(&c);
}

static void try_nonsense(const struct code *right)
{
    struct outcome o = {0};
    struct code c = *right;
    c.workload = "there_is_none";
    evaluate(&c, CHECK, &o);
    report(!strcmp(text(last_result(&o), "verdict"), "INFRA_ERROR"),
           "a workload that is not there");
    show("a workload that is not there", &o);
    outcome_release(&o);
    int fd = open_connection();
    send_request(fd, right, TIME);
    o.results[0] = receive(fd, &o);
    report(!strcmp(text(last_result(&o), "verdict"), "INFRA_ERROR"), "time without open");
    outcome_release(&o);
    close(fd);
}

int main(int argc, char **argv)
{
    static const char *const examples[] = {"naive", "mma_sync", "wgmma_tma", "wgmma_cluster"};
    static const char *const others[] = {"m969_n2048_k4096", "m952_n2048_k4096",
                                         "m70_n28672_k4096"};
    struct fault f = {0};
    struct code right;
    long repeat = argc > 1 ? strtol(argv[1], NULL, 10) : 3;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (registry_load(&registry, home_dir(), &f) != ERR_NONE)
        die("registry", f.detail);
    if (!start())
        return GPU_MISSING;
    for (size_t i = 0; i < COUNT_OF(examples); i++)
        try_example(examples[i], paper, i ? repeat : 1);
    for (size_t i = 0; i < COUNT_OF(others); i++)
        try_example("naive", others[i], 1);
    for (int i = 2; i < argc; i++)
        try_example("wgmma_cluster", argv[i], 1);
    compile_file(&right, "gemm", "m93_n128_k2048", "naive");
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        try_case(i);
    try_large();
    try_killed(&right);
    try_gone(&right);
    try_nonsense(&right);
    struct outcome o;
    try_example("wgmma_cluster", "m969_n2048_k4096", 1);
    report(evaluate(&right, VERIFY, &o), "a small workload is evaluated after all that");
    show("small", &o);
    show_example("naive, small", &o);
    outcome_release(&o);
    report(keeper_listen(&keeper, &f) == ERR_NONE && keeper.health, "the keeper tells its health");
    char *health = json_dumps(keeper.health, JSON_COMPACT);
    printf("# %s\n", health ? health : "");
    free(health);
    code_release(&right);
    keeper_stop(&keeper);
    printf("1..%d\n", tests);
    show_lane(&lane, "gemm");
    return failed != 0;
}
