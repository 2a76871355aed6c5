// SPDX-License-Identifier: Apache-2.0
// The keeper's kernels on a GPU against the host: inputs bit for bit, what is measured of an output bit
// for bit, redraws that are what they claim to be, canaries that are noticed; and how fast they are.
// Then the whole of it on real workloads: what the oracle answers to redrawn inputs is its redrawn answer.
//
//   gpu_kernels
#include "evaluator/cuda/keeper_task.h"
#include "tests/gpu/kernels_checks.h"
#include "tests/gpu/runner_kit.h"

/* An output as large as the shape against itself in the oracle's type. */
static void test_speed(const struct kernels *k, const char *name, enum dtype oracle_dtype, int ndim,
                       const int64_t *shape)
{
    struct fault f = {0};
    int64_t n = 1;
    for (int i = 0; i < ndim; i++)
        n *= shape[i];
    CUdeviceptr o = room((size_t)n * 2), y = room((size_t)n * dtype_bytes(oracle_dtype));
    struct distribution normal = {.kind = DISTRIBUTION_NORMAL, .deviation = 1};
    struct seed seed = seed_draw();
    must(kernels_fill(k, seed, &normal, 0, DTYPE_bf16, o, n, &f), &f);
    must(kernels_fill(k, seed, &normal, 0, oracle_dtype, y, n, &f), &f);
    struct compare_task task = {.name = "C", .dtype = DTYPE_bf16, .oracle_dtype = oracle_dtype,
                                .ndim = ndim, .shape = shape, .rule = {.atol = 1e-2, .rtol = 1e-2, .excess_max = 4e-4}};
    struct compare_result r;
    struct gpu_comparer c;
    double start = 0, there_ms = 0;
    must(gpu_comparer_open(&c, k, &f), &f);
    for (int i = 0; i < 3; i++) {
        start = now_s();
        must(gpu_comparer_begin(&c, &task, o, y, &f), &f);
        cu.StreamSynchronize(c.kernels.stream);
        there_ms = (now_s() - start) * 1e3;
        must(gpu_comparer_end(&c, &r, &f), &f);
    }
    ok(r.strict && r.exact, "a large output equals its oracle");
    printf("# compare.%s_ms %.2f\n# compare.%s.on_the_device_ms %.2f\n", name,
           (now_s() - start) * 1e3, name, there_ms);
    gpu_comparer_close(&c);
    cu.MemFree(o);
    cu.MemFree(y);
}

static double wait_ms(double start_s)
{
    cu.StreamSynchronize(NULL);
    return (now_s() - start_s) * 1e3;
}

static size_t bytes_of(const struct keeper_task *t, size_t i)
{
    const struct tensor_def *def = &t->problem->tensors[i];
    int64_t shape[LIMIT_DIMS], n = problem_shape(t->problem, t->workload, i, shape);
    return (size_t)n * dtype_bytes(def->role == TENSOR_OUTPUT ? def->oracle_dtype : def->dtype);
}

/* How many values differ. A redraw that flips the sign of a 0 makes the other 0, where sums make the one that they
 * always make: that is no difference. */
static uint64_t count_values(enum dtype type, CUdeviceptr a, CUdeviceptr b, size_t bytes)
{
    unsigned char *x = malloc(bytes), *y = malloc(bytes);
    uint64_t different = 0;
    if (!x || !y || cu.MemcpyDtoH(x, a, bytes) || cu.MemcpyDtoH(y, b, bytes))
        die("cannot look at the tensors", "");
    for (size_t i = 0; i < bytes / dtype_bytes(type); i++)
        different += dtype_load(type, x, i) != dtype_load(type, y, i);
    free(x);
    free(y);
    return different;
}

/* The oracle over the inputs of a redrawn slot against what the redraw makes of the base's tensors. */
static bool oracle_agrees(struct keeper_task *t, const struct task_draw *d)
{
    struct fault f = {0};
    CUdeviceptr ours[LIMIT_TENSORS] = {0};
    const struct problem *p = t->problem;
    uint64_t different, all = 0;
    for (size_t i = 0; i < p->tensor_count; i++) {
        ours[i] = room(bytes_of(t, i));
        if (p->tensors[i].role == TENSOR_INPUT)
            cu.MemcpyDtoDAsync(ours[i], slot_address(&t->candidate[0], i, MEMORY_END),
                               bytes_of(t, i), NULL);
    }
    must(keeper_oracle_run(&t->oracle, ours, &f), &f);
    for (size_t i = 0; i < p->tensor_count; i++) {
        enum dtype type = p->tensors[i].role == TENSOR_OUTPUT ? p->tensors[i].oracle_dtype
                                                              : p->tensors[i].dtype;
        CUdeviceptr want = room(bytes_of(t, i));
        must(redraw_tensor(&t->gpu->kernels, p, t->workload, i, type, want, d->base->tensors[i],
                           &d->keys, &f), &f);
        must(kernels_count_different(&t->gpu->kernels, ours[i], want, bytes_of(t, i), &different,
                                     &f), &f);
        if (different) /* of most tensors no byte does */
            different = count_values(type, ours[i], want, bytes_of(t, i));
        if (different)
            printf("# %s: %llu values of %s differ\n", p->name, (unsigned long long)different,
                   p->tensors[i].name);
        all += different;
        cu.MemFree(want);
    }
    for (size_t i = 0; i < p->tensor_count; i++)
        cu.MemFree(ours[i]);
    return !all;
}

static void test_task(const struct keeper_gpu *g, const struct problem *p, const char *workload,
                      struct oracle_code *code)
{
    struct keeper_task *t = calloc(1, sizeof(*t));
    struct task_draw draws[ADMIT_SLOTS_MAX];
    struct fault f = {0};
    char what[200];
    const struct workload *w = problem_workload(p, workload);
    double start = now_s();
    must(keeper_task_open(t, g, p, w, 2, code, &f), &f);
    printf("# task.%s.%s_ms %.0f\n", p->name, workload, wait_ms(start));
    t->ring[t->turn].published = true;
    start = now_s();
    must(keeper_task_renew(t, &f), &f);
    printf("# base.%s.%s_ms %.1f\n", p->name, workload, wait_ms(start));
    start = now_s();
    must(keeper_task_draw(t, 2, 0, draws, &f), &f);
    printf("# redraw.%s.%s_ms %.2f of a slot\n", p->name, workload, wait_ms(start) / 2);
    snprintf(what, sizeof(what), "%s %s: the oracle's answer to redrawn inputs is its redrawn answer",
             p->name, workload);
    ok(oracle_agrees(t, &draws[0]), what);
    keeper_task_close(t);
    free(t);
}

static void test_tasks(const struct registry *registry)
{
    static const char *const names[] = {"mha_fwd", "mha_fwd_causal", "mha_bwd", "mha_bwd_causal"};
    static const char *const workloads[] = {"small", "s512_d96", "s4096_d128"};
    static struct keeper_gpu g;
    struct fault f = {0};
    must(keeper_gpu_open(&g, 0, &registry->archs, &f), &f);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct oracle_code code = {0};
        for (size_t j = 0; j < COUNT_OF(workloads); j++)
            test_task(&g, problems_find(&registry->problems, names[i]), workloads[j], &code);
        oracle_code_release(&code);
    }
    keeper_gpu_close(&g);
}

int main(void)
{
    static const int64_t gemm[] = {8192, 7168}, mha[] = {4, 48, 4096, 128};
    struct kit kit;
    struct kernels k;
    struct fault f = {0};
    setvbuf(stdout, NULL, _IOLBF, 0);
    kit_open(&kit, "small");
    must(kernels_open(&k, kit.arch, &f), &f);
    check_kernels(&k, kit.problem);
    test_speed(&k, "m8192_n7168", DTYPE_f64, 2, gemm);
    test_speed(&k, "b4_h48_s4096_d128", DTYPE_f32, 4, mha);
    test_tasks(&kit.registry);
    kernels_close(&k);
    printf("1..%d\n", checks);
    return failed > 0;
}
