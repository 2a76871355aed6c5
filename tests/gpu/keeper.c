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
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/submission.h"
#include "core/util.h"
#include "evaluator/compile.h"
#include "evaluator/keeper.h"
#include "evaluator/wire.h"

enum {
    GPU_MISSING = 77,
    START_MS = 60000,
    ANSWER_MS = 120000,
    PLAN_MS = 2000,
    PAUSE_US = 1500 * 1000
};

static struct registry registry;
static struct keeper keeper;
static int tests, failed;

static void report(bool ok, const char *name)
{
    failed += !ok;
    printf("%sok %d - %s\n", ok ? "" : "not ", ++tests, name);
    fflush(stdout);
}

static void die(const char *what, const char *why)
{
    printf("Bail out! %s: %s\n", what, why);
    exit(1);
}

/* ---- a submission ---- */

struct code {
    const char *problem, *workload;
    json_t *launch, *symbols;
    struct compile_result compiled;
};

static void compile(struct code *c, const char *workload, const char *source)
{
    struct fault f = {0};
    struct faults faults = {0};
    *c = (struct code){.problem = "gemm", .workload = workload};
    const struct problem *p = problems_find(&registry.problems, c->problem);
    const struct arch *arch = archs_find(&registry.archs, "sm_90a");
    c->launch = plan_embedded(source, strlen(source), &f);
    struct plan *plan = plan_parse(c->launch, p, problem_workload(p, workload), arch, "$", &faults);
    if (!plan)
        die("plan", faults_first(&faults, f.detail, sizeof(f.detail)));
    struct compile_request request = {.language = "cuda",
                                      .arch = arch,
                                      .source = source,
                                      .source_len = strlen(source),
                                      .plan = plan,
                                      .wake_fd = -1};
    compile_run(&request, &c->compiled);
    if (c->compiled.verdict != VERDICT_PASSED)
        die("compile", c->compiled.detail);
    c->symbols = json_object();
    for (size_t i = 0; i < c->compiled.kernel_count; i++)
        json_object_set_new(c->symbols, c->compiled.kernels[i].name,
                            json_string(c->compiled.kernels[i].symbol));
    plan_free(plan);
}

static void code_release(struct code *c)
{
    json_decref(c->launch);
    json_decref(c->symbols);
    compile_result_release(&c->compiled);
}

static void compile_file(struct code *c, const char *workload, const char *name)
{
    char path[512];
    struct buf source;
    struct fault f = {0};
    buf_init(&source, LIMIT_SOURCE);
    snprintf(path, sizeof(path), "%s/problems/gemm/examples/%s.cu", home_dir(), name);
    if (read_file(path, &source, &f) != ERR_NONE)
        die(path, f.detail);
    compile(c, workload, source.data);
    buf_release(&source);
}

/* ---- the protocol ---- */

enum { OPEN, CHECK, TIME, VERIFY, OPERATIONS };
static const char *const names[] = {"open", "check", "time", "verify"};

struct outcome {
    json_t *results[OPERATIONS]; /* NULL: not reached */
    double ms[OPERATIONS], wait_ms;
    size_t printed, captured, progress;
};

static void outcome_release(struct outcome *o)
{
    for (int i = 0; i < OPERATIONS; i++)
        json_decref(o->results[i]);
    *o = (struct outcome){0};
}

static json_t *receive(int fd, struct outcome *o)
{
    struct wire_message m;
    struct fault f = {0};
    json_t *result = NULL;
    bool going = true;
    while (going && !result) {
        going = wire_receive(fd, &m, LIMIT_FRAME, ANSWER_MS, &f) == ERR_NONE;
        o->printed += going && m.kind == FRAME_LOG ? m.len : 0;
        o->captured += going && m.kind == FRAME_CAPTURE ? m.len : 0;
        o->progress += going && m.kind == FRAME_EVENT;
        if (going && m.kind == FRAME_RESULT)
            result = json_incref(m.json);
        wire_message_release(&m);
    }
    return result ? result : json_pack("{s:s, s:s}", "verdict", "GONE", "detail", f.detail);
}

static void send_request(int fd, const struct code *c, int operation)
{
    json_t *request = json_pack("{s:s, s:i}", "op", names[operation], "ms", PLAN_MS);
    if (operation == OPEN) {
        json_object_set_new(request, "problem", json_string(c->problem));
        json_object_set_new(request, "workload", json_string(c->workload));
        json_object_set_new(request, "arch", json_string("sm_90a"));
        json_object_set(request, "launch", c->launch);
        json_object_set(request, "symbols", c->symbols);
    }
    if (operation == TIME)
        json_object_set_new(request, "ms", json_integer(10 * PLAN_MS));
    wire_send_json(fd, FRAME_REQUEST, request, NULL, 0, ANSWER_MS, NULL);
    json_decref(request);
    if (operation == OPEN)
        wire_send(fd, FRAME_CUBIN, c->compiled.cubin.data, c->compiled.cubin.len, NULL, 0,
                  ANSWER_MS, NULL);
}

static const char *text(const json_t *object, const char *member)
{
    const char *s = json_string_value(json_object_get(object, member));
    return s ? s : "";
}

static int open_connection(void)
{
    int fd = -1;
    struct fault f = {0};
    if (keeper_connect(&keeper, &fd, &f) != ERR_NONE)
        die("connect", f.detail);
    return fd;
}

/* Up to and with `last`; true if all passed. */
static bool evaluate(const struct code *c, int last, struct outcome *o)
{
    int fd = open_connection();
    bool ok = true;
    *o = (struct outcome){0};
    for (int i = OPEN; ok && i <= last; i++) {
        double start = now_s();
        send_request(fd, c, i);
        o->results[i] = receive(fd, o);
        o->ms[i] = (now_s() - start) * 1e3;
        ok = !strcmp(text(o->results[i], "verdict"), "PASSED");
    }
    o->wait_ms = o->ms[OPEN] - json_number_value(json_object_get(o->results[OPEN], "wall_ms"));
    close(fd);
    return ok;
}

static const json_t *last_result(const struct outcome *o)
{
    const json_t *r = NULL;
    for (int i = 0; i < OPERATIONS && o->results[i]; i++)
        r = o->results[i];
    return r;
}

static void show(const char *name, const struct outcome *o)
{
    char *faults = json_dumps(json_object_get(last_result(o), "faults"), JSON_COMPACT);
    printf("# %-28s %-20s %s %s\n", name, text(last_result(o), "verdict"),
           text(last_result(o), "detail"), faults ? faults : "");
    free(faults);
    fflush(stdout);
}

static double number(const json_t *object, const char *member)
{
    return json_number_value(json_object_get(object, member));
}

/* ---- examples ---- */

static void show_parts(const struct outcome *o)
{
    const json_t *parts = json_object_get(o->results[VERIFY], "parts_ms");
    char *all = json_dumps(parts, JSON_COMPACT);
    printf("#   open %.0f (waited %.0f), check %.0f, time %.0f, verify %.0f ms; parts %s\n",
           o->ms[OPEN], o->wait_ms, o->ms[CHECK], o->ms[TIME], o->ms[VERIFY], all ? all : "");
    free(all);
}

static double lane_s(const struct outcome *o)
{
    return (o->ms[OPEN] - o->wait_ms + o->ms[CHECK] + o->ms[TIME] + o->ms[VERIFY]) / 1e3;
}

static void show_example(const char *name, const struct outcome *o)
{
    const json_t *time = o->results[TIME], *timing = json_object_get(time, "timing");
    const json_t *ci = json_object_get(json_object_get(time, "speedup"), "ci95");
    char *target = json_dumps(json_object_get(o->results[VERIFY], "target"), JSON_COMPACT);
    printf("# %-14s %s %.4f [%.4f, %.4f], %.1f us against %.1f, %.0f TFLOP/s, %.0f %% of the "
           "roofline, "
           "floor %.2f us, flags %d, lane %.3f s\n",
           name, text(last_result(o), "verdict"), number(json_object_get(time, "speedup"), "value"),
           json_number_value(json_array_get(ci, 0)), json_number_value(json_array_get(ci, 1)),
           number(time, "candidate_us"), number(json_object_get(time, "baseline"), "us"),
           number(timing, "tflops"), 100 * number(timing, "roofline_share"),
           number(timing, "floor_us"),
           (int)number(time, "flags") | (int)number(o->results[CHECK], "flags"), lane_s(o));
    show_parts(o);
    printf("#   target %.300s\n", target ? target : "");
    free(target);
    fflush(stdout);
}

static const char paper[] = "m8192_n7168_k5120";

/* Where the time of one warm submission goes: the one behind a pause, in which spare processes
 * start and bases are drawn, and the one that follows another at once. */
static struct lane {
    double warm_s, behind_another_s;
    json_t *parts; /* of the first */
} lane = {INFINITY, INFINITY, NULL};

static void note_lane(const struct outcome *o, bool paused)
{
    double s = lane_s(o);
    if (!paused)
        lane.behind_another_s = fmin(lane.behind_another_s, s);
    if (!paused || s >= lane.warm_s)
        return;
    lane.warm_s = s;
    json_decref(lane.parts);
    lane.parts = json_deep_copy(json_object_get(o->results[VERIFY], "parts_ms"));
    for (int i = 0; i < OPERATIONS; i++) {
        char name[32];
        snprintf(name, sizeof(name), "all_of_%s", names[i]);
        json_object_set_new(lane.parts, name, json_real(o->ms[i]));
    }
}

static void show_lane(void)
{
    const char *part;
    json_t *ms;
    printf("gpu_lane_seconds.gemm.warm %.3f\n", lane.warm_s);
    printf("gpu_lane_seconds.gemm.behind_another %.3f\n", lane.behind_another_s);
    json_object_foreach(lane.parts, part, ms)
        printf("gpu_lane.gemm.%s_ms %.1f\n", part, json_number_value(ms));
    json_decref(lane.parts);
}

static void try_example(const char *name, const char *workload, long repeat)
{
    struct code c;
    char what[100];
    compile_file(&c, workload, name);
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
            note_lane(&o, paused);
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

static bool start(void)
{
    struct fault f = {0};
    double begin = now_s();
    if (keeper_start(&keeper, 0, &f) != ERR_NONE ||
        keeper_wait(&keeper, START_MS, &f) != ERR_NONE) {
        printf("1..0 # SKIP %s\n", f.detail);
        return false;
    }
    char *device = json_dumps(keeper.device, JSON_COMPACT);
    printf("# ready after %.0f ms on %s\n", (now_s() - begin) * 1e3, device ? device : "");
    free(device);
    return true;
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
    compile_file(&right, "m93_n128_k2048", "naive");
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
    show_lane();
    return failed != 0;
}
