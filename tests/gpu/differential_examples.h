/* SPDX-License-Identifier: Apache-2.0
 * The examples of the repository on the GPU and on ptxvm, workload `small`, the same inputs. */
#ifndef TESTS_GPU_DIFFERENTIAL_EXAMPLES_H
#define TESTS_GPU_DIFFERENTIAL_EXAMPLES_H

#include <glob.h>
#include <math.h>

#include "core/json.h"
#include "core/submission.h"
#include "core/util.h"
#include "evaluator/check_tensors.h"
#include "evaluator/compile.h"
#include "evaluator/cuda/launch.h"
#include "evaluator/runner_rig.h"

static int checks, failed;

static inline void die(const char *what, const char *why)
{
    printf("Bail out! %s: %s\n", what, why);
    exit(1);
}

static inline void ok(bool good, const char *what)
{
    failed += !good;
    printf("%sok %d - %s\n", good ? "" : "not ", ++checks, what);
}

static inline CUdeviceptr room(size_t bytes)
{
    CUdeviceptr p = 0;
    if (cu.MemAlloc(&p, bytes) != CUDA_SUCCESS)
        die("no device memory", "");
    return p;
}

/* One example, compiled, with its tensors. */
struct example {
    const struct driver_device *device;
    const struct problem *problem;
    const struct workload *workload;
    const struct arch *arch;
    struct plan *plan;
    json_t *symbols;
    struct compile_result compiled;
    struct tensors gpu, vm; /* share the inputs */
};

static inline bool example_compile(struct example *e, const char *path, char why[LIMIT_DETAIL])
{
    struct fault f = {0};
    struct faults faults = {0};
    struct buf source;
    bool is_ptx = strstr(path, ".ptx") != NULL;
    buf_init(&source, LIMIT_SOURCE);
    json_t *document = read_file(path, &source, &f) == ERR_NONE
                           ? plan_embedded(source.data, source.len, &f)
                           : NULL;
    e->plan =
        document ? plan_parse(document, e->problem, e->workload, e->arch, "$", &faults) : NULL;
    json_decref(document);
    snprintf(why, LIMIT_DETAIL, "%s", faults_any(&faults) ? "its plan is not valid" : f.detail);
    faults_release(&faults);
    if (e->plan) {
        struct compile_request request = {.language = is_ptx ? "ptx" : "cuda",
                                          .arch = e->arch,
                                          .source = source.data,
                                          .source_len = source.len,
                                          .plan = e->plan};
        compile_run(&request, &e->compiled);
        snprintf(why, LIMIT_DETAIL, "%s", e->compiled.detail ? e->compiled.detail : "");
        for (size_t i = 0; i < e->compiled.kernel_count; i++)
            json_object_set_new(e->symbols, e->compiled.kernels[i].name,
                                json_string(e->compiled.kernels[i].symbol));
    }
    buf_release(&source);
    return e->plan && e->compiled.verdict == VERDICT_PASSED;
}

static inline bool example_on_gpu(struct example *e, char why[LIMIT_DETAIL])
{
    struct launcher_spec spec = {.device = e->device,
                                 .problem = e->problem,
                                 .workload = e->workload,
                                 .plan = e->plan,
                                 .symbols = e->symbols,
                                 .cubin = e->compiled.cubin.data,
                                 .cubin_len = e->compiled.cubin.len};
    struct launch_fault fault = {0};
    CUdeviceptr at[LIMIT_TENSORS] = {0};
    for (size_t i = 0; i < e->problem->tensor_count; i++) {
        at[i] = room(e->gpu.bytes[i]);
        cu.MemcpyHtoD(at[i], e->gpu.data[i], e->gpu.bytes[i]);
    }
    struct launcher *l = launcher_new(&spec, &fault);
    bool good = l && launcher_load(l, &fault) && launcher_bind(l, 0, at, &fault) &&
                launcher_run(l, 0, NULL, &fault);
    for (size_t i = 0; i < e->problem->tensor_count; i++) {
        if (good && e->problem->tensors[i].role == TENSOR_OUTPUT)
            cu.MemcpyDtoH(e->gpu.data[i], at[i], e->gpu.bytes[i]);
        cu.MemFree(at[i]);
    }
    launcher_free(l);
    snprintf(why, LIMIT_DETAIL, "%s", fault.detail);
    return good;
}

static inline bool example_on_vm(struct example *e, char why[LIMIT_DETAIL])
{
    struct fault f = {0};
    struct rig_run run = {0};
    struct rig_spec spec = {.problem = e->problem,
                            .workload = e->workload,
                            .arch = e->arch,
                            .plan = e->plan,
                            .ptx = e->compiled.ptx.data,
                            .ptx_len = e->compiled.ptx.len,
                            .symbols = e->symbols,
                            .tensors = e->vm.data,
                            .thread_instructions = UINT64_MAX >> 1,
                            .plan_ms = 60000};
    struct rig *rig = rig_new(&spec, &f);
    if (rig)
        rig_run(rig, &run);
    bool good = rig && run.status == PTXVM_OK;
    snprintf(why, LIMIT_DETAIL, "%s", rig ? run.detail : f.detail);
    rig_run_release(&run);
    rig_free(rig);
    return good;
}

/* The largest |value| of every row of an output: its last axis. */
static inline double row_most(enum dtype t, const void *data, size_t first, size_t n)
{
    double most = 0;
    for (size_t i = first; i < first + n; i++)
        most = fmax(most, fabs(dtype_load(t, data, i)));
    return most;
}

/* How far two honest runs may be apart. Sums that the accumulator holds exactly: not at all. Else
 * both sides add in their own order and have their own exp2. fp32 outputs show that alone. bf16
 * outputs round it once more, 2^-7 from one to the next at most; and a kernel of attention rounds P
 * and dS to bf16 between its products: where the two sides fall beside a tie, one term of a sum is
 * off by 2^-8 of itself, and no term is much larger than the largest sum of its row. */
static inline double example_bound(const struct distribution *d, enum dtype t, double value,
                                   double most)
{
    if (d->exact)
        return 0;
    return t == DTYPE_bf16 ? 0x1p-7 * fabs(value) + 0x1p-8 * most + 0x1p-10
                           : 0x1p-14 * fabs(value) + 0x1p-14;
}

/* Elements that are farther apart. `worst`: the largest share of the bound, of those that have one.
 */
static inline size_t example_differences(const struct example *e, const struct distribution *d,
                                         double *worst)
{
    size_t bad = 0;
    for (size_t t = 0; t < e->problem->tensor_count; t++) {
        const struct tensor_def *def = &e->problem->tensors[t];
        const void *gpu = e->gpu.data[t], *vm = e->vm.data[t];
        int64_t shape[LIMIT_DIMS];
        problem_shape(e->problem, e->workload, t, shape);
        size_t width = (size_t)shape[def->ndim - 1];
        size_t n = def->role == TENSOR_OUTPUT ? e->gpu.bytes[t] / dtype_bytes(def->dtype) : 0;
        double most = 0;
        for (size_t i = 0; i < n; i++) {
            if (i % width == 0)
                most = row_most(def->dtype, vm, i, width);
            double y = dtype_load(def->dtype, vm, i);
            double apart = fabs(dtype_load(def->dtype, gpu, i) - y);
            double bound = example_bound(d, def->dtype, y, most);
            bad += !(apart <= bound);
            *worst = d->exact ? *worst : fmax(*worst, apart / bound);
        }
    }
    return bad;
}

/* Inputs that the oracle makes of others: random ones would be no attention at all. */
static inline void example_derive(struct example *e)
{
    struct check_request request = {
        .problem = e->problem, .workload = e->workload, .arch = e->arch};
    struct fault f = {0};
    struct buf ptx;
    char path[sizeof(e->problem->folder) + LIMIT_NAME + 2];
    buf_init(&ptx, LIMIT_PTX);
    snprintf(path, sizeof(path), "%s/%s", e->problem->folder, e->problem->oracle_ptx);
    if (e->problem->derive_launch) {
        if (read_file(path, &ptx, &f) != ERR_NONE)
            die("no oracle", f.detail);
        request.oracle_ptx = ptx.data;
        request.oracle_ptx_len = ptx.len;
        if (tensors_derive_inputs(&request, &e->gpu, &f) != ERR_NONE)
            die("no derived inputs", f.detail);
    }
    buf_release(&ptx);
}

static inline bool example_try(struct example *e, const struct distribution *d, double *worst,
                               char why[LIMIT_DETAIL])
{
    struct fault f = {0};
    struct seed seed = {7, 11};
    bool good = tensors_init(&e->gpu, e->problem, e->workload, NULL, &f) == ERR_NONE &&
                tensors_init(&e->vm, e->problem, e->workload, &e->gpu, &f) == ERR_NONE;
    if (!good)
        die("out of memory", "");
    tensors_draw_inputs(&e->gpu, e->workload, d, seed);
    example_derive(e);
    tensors_poison_outputs(&e->gpu);
    tensors_poison_outputs(&e->vm);
    good = example_on_gpu(e, why) && example_on_vm(e, why);
    size_t bad = good ? example_differences(e, d, worst) : 0;
    if (bad)
        snprintf(why, LIMIT_DETAIL, "%zu elements differ on %s inputs", bad, d->name);
    tensors_release(&e->vm);
    tensors_release(&e->gpu);
    return good && !bad;
}

/* All of them; the number that differ. */
static inline size_t diff_examples(const struct driver_device *device, size_t *count)
{
    struct registry r;
    struct fault f = {0};
    glob_t found;
    char pattern[600];
    size_t bad = 0;
    if (registry_load(&r, home_dir(), &f) != ERR_NONE)
        die("registry", f.detail);
    for (size_t p = 0; p < r.problems.count; p++) {
        const struct problem *problem = &r.problems.items[p];
        snprintf(pattern, sizeof(pattern), "%s/examples/*.*", problem->folder);
        if (glob(pattern, 0, NULL, &found) != 0)
            continue;
        for (size_t i = 0; i < found.gl_pathc; i++, ++*count) {
            struct example e = {.device = device,
                                .problem = problem,
                                .workload = problem->cpu_workload,
                                .arch = archs_find(&r.archs, "sm_90a"),
                                .symbols = json_object()};
            char why[LIMIT_DETAIL] = "", what[LIMIT_DETAIL + 200];
            double worst = 0;
            bool good = example_compile(&e, found.gl_pathv[i], why);
            for (size_t d = 0; good && d < problem->distribution_count; d++)
                good = example_try(&e, &problem->distributions[d], &worst, why);
            snprintf(what, sizeof(what), "example %.60s %.100s%s%s", problem->name,
                     strrchr(found.gl_pathv[i], '/') + 1, good ? "" : ": ", good ? "" : why);
            ok(good, what);
            printf("# at most %.3f of the bound\n", worst);
            bad += !good;
            compile_result_release(&e.compiled);
            plan_free(e.plan);
            json_decref(e.symbols);
        }
        globfree(&found);
    }
    registry_release(&r);
    return bad;
}

#endif
