// SPDX-License-Identifier: Apache-2.0
// The library counts columns first: what is C[m, n] with rows first reads there as C' (n x m) =
// op(B') op(A'), so B is its first operand and A its second, and a matrix that we call transposed
// is one that it does not.
#include "evaluator/cuda/baseline_product.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "core/util.h"

enum { WARM_SIZE = 256 };

static struct functions {
#define CUBLAS(name) __typeof__(&cublasLt##name) name;
#include "evaluator/cuda/baseline_cublas.def"
#undef CUBLAS
} lt;

static const struct baseline_entry entries[] = {
#define CUBLAS(name) {"cublasLt" #name, offsetof(struct functions, name)},
#include "evaluator/cuda/baseline_cublas.def"
#undef CUBLAS
};

static enum err lt_check(cublasStatus_t s, struct fault *f, const char *what)
{
    return s == CUBLAS_STATUS_SUCCESS
               ? ERR_NONE
               : fault_set(f, ERR_UNAVAILABLE, "cannot %s: cuBLAS answers %d", what, (int)s);
}

static cublasStatus_t describe_matrix(cublasLtMatrixLayout_t *out, cudaDataType_t type,
                                      uint64_t rows, uint64_t columns, uint64_t batch)
{
    int32_t count = (int32_t)batch;
    int64_t stride = (int64_t)(rows * columns);
    cublasStatus_t s = lt.MatrixLayoutCreate(out, type, columns, rows, (int64_t)columns);
    if (batch == 1)
        return s;
    s = s ? s
          : lt.MatrixLayoutSetAttribute(*out, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
                                        sizeof(count));
    return s ? s
             : lt.MatrixLayoutSetAttribute(*out, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                           &stride, sizeof(stride));
}

static cublasStatus_t describe(struct product *p, const struct product_spec *x)
{
    cublasOperation_t first = x->b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
                      second = x->a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasStatus_t s = lt.MatmulDescCreate(&p->operation, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    s = s ? s
          : lt.MatmulDescSetAttribute(p->operation, CUBLASLT_MATMUL_DESC_TRANSA, &first,
                                      sizeof(first));
    s = s ? s
          : lt.MatmulDescSetAttribute(p->operation, CUBLASLT_MATMUL_DESC_TRANSB, &second,
                                      sizeof(second));
    s = s ? s
          : describe_matrix(&p->a, CUDA_R_16BF, x->a_transposed ? x->k : x->m,
                            x->a_transposed ? x->m : x->k, x->batch);
    s = s ? s
          : describe_matrix(&p->b, CUDA_R_16BF, x->b_transposed ? x->n : x->k,
                            x->b_transposed ? x->k : x->n, x->batch);
    return s ? s : describe_matrix(&p->c, x->out, x->m, x->n, x->batch);
}

static cublasStatus_t find_algorithms(struct product *p)
{
    size_t workspace = PRODUCT_WORKSPACE;
    cublasLtMatmulPreference_t preference = NULL;
    cublasLtMatmulHeuristicResult_t results[BASELINE_CHOICES];
    int found = 0;
    cublasStatus_t s = lt.MatmulPreferenceCreate(&preference);
    s = s ? s
          : lt.MatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                            &workspace, sizeof(workspace));
    s = s ? s
          : lt.MatmulAlgoGetHeuristic(p->handle, p->operation, p->b, p->a, p->c, p->c, preference,
                                      BASELINE_CHOICES, results, &found);
    if (preference)
        lt.MatmulPreferenceDestroy(preference);
    for (int i = 0; s == CUBLAS_STATUS_SUCCESS && i < found; i++)
        if (results[i].state == CUBLAS_STATUS_SUCCESS)
            p->algorithms[p->count++] = results[i].algo;
    if (p->count)
        p->chosen = p->algorithms[0];
    return s || p->count ? s : CUBLAS_STATUS_NOT_SUPPORTED;
}

enum err product_new(struct product *out, const struct baseline_library *library,
                     const struct product_spec *spec, struct fault *f)
{
    *out = (struct product){.handle = library->handle};
    enum err e = lt_check(describe(out, spec), f, "describe the baseline");
    if (e == ERR_NONE)
        e = lt_check(find_algorithms(out), f, "find an algorithm for the baseline");
    if (e != ERR_NONE)
        product_free(out);
    return e;
}

void product_free(struct product *p)
{
    cublasLtMatrixLayout_t layouts[] = {p->a, p->b, p->c};
    for (size_t i = 0; i < COUNT_OF(layouts); i++)
        if (layouts[i])
            lt.MatrixLayoutDestroy(layouts[i]);
    if (p->operation)
        lt.MatmulDescDestroy(p->operation);
    *p = (struct product){0};
}

enum err product_enqueue(const struct product *p, float alpha, CUdeviceptr a, CUdeviceptr b,
                         CUdeviceptr c, CUdeviceptr workspace, CUstream stream, struct fault *f)
{
    float zero = 0;
    void *out = (void *)(uintptr_t)c;
    cublasStatus_t s =
        lt.Matmul(p->handle, p->operation, &alpha, (const void *)(uintptr_t)b, p->b,
                  (const void *)(uintptr_t)a, p->a, &zero, out, p->c, out, p->c, &p->chosen,
                  (void *)(uintptr_t)workspace, PRODUCT_WORKSPACE, (cudaStream_t)stream);
    return lt_check(s, f, "queue the baseline");
}

/* One small product, so that the library has opened all it needs. */
static enum err warm(const struct baseline_library *library, const struct driver_device *d,
                     struct fault *f)
{
    static const struct product_spec spec = {.m = WARM_SIZE,
                                             .n = WARM_SIZE,
                                             .k = WARM_SIZE,
                                             .batch = 1,
                                             .b_transposed = true,
                                             .out = CUDA_R_16BF};
    enum { MATRIX = 2 * WARM_SIZE * WARM_SIZE };
    struct product p;
    struct memory area = {0};
    enum err e = product_new(&p, library, &spec, f);
    if (e == ERR_NONE)
        e = memory_new(&area, d, MATRIX + PRODUCT_WORKSPACE, MEMORY_START, f);
    CUdeviceptr at = area.map.address;
    if (e == ERR_NONE)
        e = driver_check(cu.MemsetD8Async(at, 0, MATRIX, NULL), f, "clear memory");
    if (e == ERR_NONE)
        e = product_enqueue(&p, 1, at, at, at, at + MATRIX, NULL, f);
    if (e == ERR_NONE)
        e = driver_check(cu.StreamSynchronize(NULL), f, "run the baseline");
    memory_free(&area);
    product_free(&p);
    return e;
}

static enum err load(struct fault *f)
{
    static const char *const places[] = {
        "libcublasLt.so.13", "/usr/local/cuda/lib64/libcublasLt.so.13", "libcublasLt.so.12"};
    void *library = NULL;
    for (size_t i = 0; i < COUNT_OF(places) && !library; i++)
        library = dlopen(places[i], RTLD_NOW | RTLD_LOCAL);
    return library ? baseline_load(library, "cuBLAS", entries, COUNT_OF(entries), &lt, f)
                   : fault_set(f, ERR_UNAVAILABLE, "cannot load cuBLAS: %s", dlerror());
}

enum err baseline_cublas_open(struct baseline_library *out, const struct driver_device *d,
                              struct fault *f)
{
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
