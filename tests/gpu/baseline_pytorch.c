// SPDX-License-Identifier: Apache-2.0
// The baselines of attention against PyTorch's calls of its own cuDNN: bursts of both in turn, so
// that the clocks are the same, in two processes. The same library has to take the same time within
// 3 %.
//
//   gpu_baseline_pytorch [WORKLOAD…]     one line per problem and workload, then TAP
#include <stdarg.h>

#include "evaluator/cuda/baseline.h"
#include "evaluator/timing_stats.h"
#include "tests/gpu/runner_kit.h"

enum { ROUNDS = 9, BURST_MS = 60, BURST_MIN = 5, BURST_MAX = 200, LINE = 256 };
#define APART_MAX 0.03

static const char *const problems[] = {"mha_fwd", "mha_fwd_causal", "mha_bwd", "mha_bwd_causal"};

struct pytorch {
    pid_t pid;
    FILE *in, *out; /* to it, from it */
};

__attribute__((format(printf, 3, 4))) static bool ask(struct pytorch *p, char line[LINE],
                                                      const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vfprintf(p->in, fmt, ap);
    va_end(ap);
    fflush(p->in);
    if (!fgets(line, LINE, p->out))
        return false;
    line[strcspn(line, "\n")] = '\0';
    return true;
}

static bool start_pytorch(struct pytorch *p, char line[LINE])
{
    int to[2], from[2];
    char script[512];
    snprintf(script, sizeof(script), "%s/tests/gpu/baseline_pytorch.py", home_dir());
    if (pipe(to) != 0 || pipe(from) != 0)
        return false;
    p->pid = fork();
    if (p->pid == 0) {
        dup2(to[0], 0);
        dup2(from[1], 1);
        close_range(3, ~0u, 0);
        execlp("python3", "python3", script, (char *)NULL);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    p->in = fdopen(to[1], "w");
    p->out = fdopen(from[0], "r");
    return p->in && p->out && fgets(line, LINE, p->out);
}

struct ours {
    struct baseline *baseline;
    CUdeviceptr tensors[LIMIT_TENSORS];
    CUevent begin[BURST_MAX], end[BURST_MAX];
    struct kit_slot slot;
};

/* Median milliseconds of n runs. */
static double burst(struct ours *o, size_t n)
{
    double times[BURST_MAX];
    struct fault f = {0};
    for (size_t i = 0; i < n; i++) {
        cu.EventRecord(o->begin[i], NULL);
        if (baseline_enqueue(o->baseline, o->tensors, NULL, &f) != ERR_NONE)
            kit_die("a run", &f);
        cu.EventRecord(o->end[i], NULL);
    }
    if (driver_check(cu.StreamSynchronize(NULL), &f, "run the baseline") != ERR_NONE)
        kit_die("a run", &f);
    for (size_t i = 0; i < n; i++) {
        float ms = 0;
        cu.EventElapsedTime(&ms, o->begin[i], o->end[i]);
        times[i] = (double)ms;
    }
    return timing_median(times, n);
}

static bool compare(struct kit *k, struct ours *o, struct pytorch *p, double *ms, double *ratio)
{
    const int64_t *x = k->workload->axes;
    double ours[ROUNDS], ratios[ROUNDS];
    char line[LINE];
    if (!ask(p, line, "%s %lld %lld %lld %lld\n", k->problem->name, (long long)x[0],
             (long long)x[1], (long long)x[2], (long long)x[3]) ||
        strcmp(line, "ready") != 0)
        return false;
    double first = burst(o, BURST_MIN);
    size_t n = (size_t)fmin(fmax(BURST_MS / first, BURST_MIN), BURST_MAX);
    for (int i = -1; i < ROUNDS; i++) { /* one that does not count */
        double a = burst(o, n);
        if (!ask(p, line, "time %zu\n", n))
            return false;
        if (i < 0)
            continue;
        ours[i] = a;
        ratios[i] = a / strtod(line, NULL);
    }
    *ms = timing_median(ours, ROUNDS);
    *ratio = timing_median(ratios, ROUNDS);
    return true;
}

static size_t tests, failed;

static void try_problem(struct kit *k, const struct baseline_libraries *libraries, struct ours *o,
                        struct pytorch *p, const char *problem, const char *workload)
{
    struct fault f = {0};
    double ms = 0, ratio = 0;
    k->problem = problems_find(&k->registry.problems, problem);
    k->workload = k->problem ? problem_workload(k->problem, workload) : NULL;
    if (!k->workload)
        return;
    kit_measure(k);
    kit_slot_new(k, &o->slot, MEMORY_END, NULL);
    for (size_t i = 0; i < k->problem->tensor_count; i++)
        o->tensors[i] = o->slot.maps[i].address;
    o->baseline = baseline_new(libraries, &k->device, k->problem, k->workload, NULL, &f);
    if (!o->baseline)
        kit_die("a baseline", &f);
    bool ok = compare(k, o, p, &ms, &ratio) && fabs(ratio - 1) <= APART_MAX;
    json_t *named = baseline_json(o->baseline);
    printf("# %-15s %-11s %8.4f ms, %.4f of PyTorch's; %s %s\n", problem, workload, ms, ratio,
           json_string_value(json_object_get(named, "name")),
           json_string_value(json_object_get(named, "version")));
    json_decref(named);
    if (k->workload == k->problem->paper_workload)
        printf("baseline_vs_pytorch.%s %.4f\n", problem, ratio);
    failed += !ok;
    printf("%sok %zu - %s on %s takes as long as PyTorch's\n", ok ? "" : "not ", ++tests, problem,
           workload);
    baseline_free(o->baseline);
    for (size_t i = 0; i < k->problem->tensor_count; i++) {
        memory_unmap(&o->slot.maps[i]);
        memory_release(&o->slot.blocks[i]);
    }
}

int main(int argc, char **argv)
{
    struct kit k;
    struct baseline_libraries libraries;
    struct pytorch p = {0};
    struct fault f = {0};
    char line[LINE];
    static struct ours o;
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGPIPE, SIG_IGN);
    kit_open_problem(&k, "mha_fwd", NULL);
    const char *usual = k.workload->name;
    if (baseline_libraries_open(&libraries, &k.device, &f) != ERR_NONE ||
        !libraries.of[BASELINE_CUDNN].handle || !start_pytorch(&p, line)) {
        printf("1..0 # SKIP there is no cuDNN, or no PyTorch: %s\n",
               libraries.of[BASELINE_CUDNN].missing);
        return KIT_GPU_MISSING;
    }
    printf("# %s", line);
    for (size_t i = 0; i < BURST_MAX; i++) {
        cu.EventCreate(&o.begin[i], CU_EVENT_DEFAULT);
        cu.EventCreate(&o.end[i], CU_EVENT_DEFAULT);
    }
    for (int w = 1; w == 1 || w < argc; w++)
        for (size_t i = 0; i < COUNT_OF(problems); i++)
            try_problem(&k, &libraries, &o, &p, problems[i], w < argc ? argv[w] : usual);
    fclose(p.in);
    waitpid(p.pid, NULL, 0);
    printf("1..%zu\n", tests);
    return failed != 0;
}
