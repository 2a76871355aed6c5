// SPDX-License-Identifier: Apache-2.0
// gemm by cublasLtMatmul: bf16 in and out, fp32 accumulation, a fixed workspace. The library's
// heuristic gives several algorithms for shape, alignment and workspace. Its first is what frameworks
// run, and it is poor for some shapes, so the keeper has all of them measured once per workload and
// tells every runner the same one: see do_plan() of evaluator/cuda/runner.c.
//
// The library counts columns first. What is C[M, N] = A[M, K] B[N, K]^T with rows first reads there
// as C' (N x M) = op_T(B' (K x N)) A' (K x M): B is its first operand, transposed, and A its
// second.
#include <cublasLt.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/util.h"
#include "evaluator/cuda/baseline.h"

enum { WORKSPACE_BYTES = 32 * MIB, WARM_SIZE = 256 };

static struct functions {
#define CUBLAS(name) __typeof__(&cublasLt##name) name;
#include "evaluator/cuda/baseline_cublas.def"
#undef CUBLAS
} lt;

static const struct {
    const char *name;
    size_t offset;
} entries[] = {
#define CUBLAS(name) {"cublasLt" #name, offsetof(struct functions, name)},
#include "evaluator/cuda/baseline_cublas.def"
#undef CUBLAS
};

/* Problems that are one matrix product over the tensors A, B, C, and what their axes are called. */
static const struct product {
    const char *problem, *rows, *columns, *inner;
} products[] = {
    {"gemm", "M", "N", "K"},
};

struct baseline {
    cublasLtHandle_t handle; /* the library's */
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t a, b, c; /* of the library's operands */
    cublasLtMatmulAlgo_t algorithms[BASELINE_CHOICES], chosen;
    size_t count;
    struct memory workspace;
};

static enum err lt_check(cublasStatus_t s, struct fault *f, const char *what)
{
    return s == CUBLAS_STATUS_SUCCESS
               ? ERR_NONE
               : fault_set(f, ERR_UNAVAILABLE, "cannot %s: cuBLAS answers %d", what, (int)s);
}

static enum err load(struct fault *f)
{
    static const char *const places[] = {
        "libcublasLt.so.13", "/usr/local/cuda/lib64/libcublasLt.so.13", "libcublasLt.so.12"};
    void *library = NULL;
    for (size_t i = 0; i < COUNT_OF(places) && !library; i++)
        library = dlopen(places[i], RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return fault_set(f, ERR_UNAVAILABLE, "cannot load cuBLAS: %s", dlerror());
    for (size_t i = 0; i < COUNT_OF(entries); i++) {
        void *symbol = dlsym(library, entries[i].name);
        if (!symbol)
            return fault_set(f, ERR_UNAVAILABLE, "cannot use cuBLAS: it has no %s",
                             entries[i].name);
        memcpy((char *)&lt + entries[i].offset, &symbol, sizeof(symbol));
    }
    return ERR_NONE;
}

/* Operand formats. The order of rows and columns is the library's. */
static cublasStatus_t describe(struct baseline *b, uint64_t m, uint64_t n, uint64_t k)
{
    cublasOperation_t transposed = CUBLAS_OP_T;
    cublasStatus_t s = lt.MatmulDescCreate(&b->operation, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    s = s ? s
          : lt.MatmulDescSetAttribute(b->operation, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
                                      sizeof(transposed));
    s = s ? s : lt.MatrixLayoutCreate(&b->a, CUDA_R_16BF, k, n, (int64_t)k);
    s = s ? s : lt.MatrixLayoutCreate(&b->b, CUDA_R_16BF, k, m, (int64_t)k);
    return s ? s : lt.MatrixLayoutCreate(&b->c, CUDA_R_16BF, n, m, (int64_t)n);
}

static cublasStatus_t find_algorithms(struct baseline *b)
{
    size_t workspace = WORKSPACE_BYTES;
    cublasLtMatmulPreference_t preference = NULL;
    cublasLtMatmulHeuristicResult_t results[BASELINE_CHOICES];
    int found = 0;
    cublasStatus_t s = lt.MatmulPreferenceCreate(&preference);
    s = s ? s
          : lt.MatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                            &workspace, sizeof(workspace));
    s = s ? s
          : lt.MatmulAlgoGetHeuristic(b->handle, b->operation, b->a, b->b, b->c, b->c, preference,
                                      BASELINE_CHOICES, results, &found);
    if (preference)
        lt.MatmulPreferenceDestroy(preference);
    if (s == CUBLAS_STATUS_SUCCESS && found < 1)
        s = CUBLAS_STATUS_NOT_SUPPORTED;
    for (int i = 0; s == CUBLAS_STATUS_SUCCESS && i < found; i++)
        if (results[i].state == CUBLAS_STATUS_SUCCESS)
            b->algorithms[b->count++] = results[i].algo;
    if (b->count)
        b->chosen = b->algorithms[0];
    return s || b->count ? s : CUBLAS_STATUS_NOT_SUPPORTED;
}

static struct baseline *plan(const struct baseline_library *library, const struct driver_device *d,
                             uint64_t m, uint64_t n, uint64_t k, struct fault *f)
{
    struct baseline *b = calloc(1, sizeof(*b));
    if (!b) {
        fault_set(f, ERR_NO_MEMORY, "cannot set up the baseline: out of memory");
        return NULL;
    }
    b->handle = library->handle;
    if (lt_check(describe(b, m, n, k), f, "describe the baseline") == ERR_NONE &&
        lt_check(find_algorithms(b), f, "find an algorithm for the baseline") == ERR_NONE &&
        memory_new(&b->workspace, d, WORKSPACE_BYTES, MEMORY_START, f) == ERR_NONE)
        return b;
    baseline_free(b);
    return NULL;
}

void baseline_free(struct baseline *b)
{
    if (!b)
        return;
    memory_free(&b->workspace);
    cublasLtMatrixLayout_t layouts[] = {b->a, b->b, b->c};
    for (size_t i = 0; i < COUNT_OF(layouts); i++)
        if (layouts[i])
            lt.MatrixLayoutDestroy(layouts[i]);
    if (b->operation)
        lt.MatmulDescDestroy(b->operation);
    free(b);
}

size_t baseline_choices(const struct baseline *b)
{
    return b->count;
}

void baseline_choose(struct baseline *b, size_t i)
{
    b->chosen = b->algorithms[i];
}

/* The library's type is plain data that keeps its meaning between processes. */
_Static_assert(2 * sizeof(cublasLtMatmulAlgo_t) + 1 == BASELINE_CHOICE_TEXT, "a choice fits its text");

void baseline_choice_text(const struct baseline *b, char out[BASELINE_CHOICE_TEXT])
{
    hex_encode((const uint8_t *)&b->chosen, sizeof(b->chosen), out);
}

bool baseline_choose_text(struct baseline *b, const char *text)
{
    cublasLtMatmulAlgo_t algorithm;
    if (!hex_decode(text, (uint8_t *)&algorithm, sizeof(algorithm)))
        return false;
    b->chosen = algorithm;
    return true;
}

static int64_t axis(const struct problem *p, const struct workload *w, const char *name)
{
    for (size_t i = 0; i < p->axis_count; i++)
        if (!strcmp(p->axes[i], name))
            return w->axes[i];
    return 0;
}

struct baseline *baseline_new(const struct baseline_library *library, const struct driver_device *d,
                              const struct problem *p, const struct workload *w, struct fault *f)
{
    for (size_t i = 0; i < COUNT_OF(products) && library->handle; i++) {
        const struct product *x = &products[i];
        if (!strcmp(p->name, x->problem))
            return plan(library, d, (uint64_t)axis(p, w, x->rows), (uint64_t)axis(p, w, x->columns),
                        (uint64_t)axis(p, w, x->inner), f);
    }
    fault_set(f, ERR_UNAVAILABLE, "there is no baseline for problem %s%s", p->name,
              library->handle ? "" : ": cuBLAS is not loaded");
    return NULL;
}

enum err baseline_enqueue(const struct baseline *b, const CUdeviceptr tensors[LIMIT_TENSORS],
                          CUstream stream, struct fault *f)
{
    float one = 1, zero = 0;
    const void *first = (const void *)(uintptr_t)tensors[1],
               *second = (const void *)(uintptr_t)tensors[0];
    void *out = (void *)(uintptr_t)tensors[2];
    cublasStatus_t s =
        lt.Matmul(b->handle, b->operation, &one, first, b->a, second, b->b, &zero, out, b->c, out,
                  b->c, &b->chosen, (void *)(uintptr_t)b->workspace.map.address, WORKSPACE_BYTES,
                  (cudaStream_t)stream);
    return lt_check(s, f, "queue the baseline");
}

/* One small product, so that the library has opened all it needs. */
static enum err warm(const struct baseline_library *library, const struct driver_device *d,
                     struct fault *f)
{
    struct memory area = {0};
    struct baseline *b = plan(library, d, WARM_SIZE, WARM_SIZE, WARM_SIZE, f);
    if (!b)
        return ERR_UNAVAILABLE;
    enum err e = memory_new(&area, d, 2 * WARM_SIZE * WARM_SIZE, MEMORY_START, f);
    CUdeviceptr tensors[LIMIT_TENSORS] = {area.map.address, area.map.address, area.map.address};
    if (e == ERR_NONE)
        e = driver_check(cu.MemsetD8Async(area.map.address, 0, area.map.bytes, NULL), f,
                         "clear memory");
    if (e == ERR_NONE)
        e = baseline_enqueue(b, tensors, NULL, f);
    if (e == ERR_NONE)
        e = driver_check(cu.StreamSynchronize(NULL), f, "run the baseline");
    memory_free(&area);
    baseline_free(b);
    return e;
}

enum err baseline_library_open(struct baseline_library *out, const struct driver_device *d,
                               struct fault *f)
{
    *out = (struct baseline_library){.name = "cuBLAS"};
    enum err e = load(f);
    if (e != ERR_NONE)
        return e;
    size_t version = lt.GetVersion(); /* 130100 for 13.1.0 */
    snprintf(out->version, sizeof(out->version), "%zu.%zu.%zu", version / 10000,
             version / 100 % 100, version % 100);
    cublasLtHandle_t handle = NULL;
    e = lt_check(lt.Create(&handle), f, "start cuBLAS");
    out->handle = handle;
    return e == ERR_NONE ? warm(out, d, f) : e;
}
