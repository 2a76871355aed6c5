// SPDX-License-Identifier: Apache-2.0
// gemm by cublasLtMatmul: bf16 in and out, fp32 accumulation, a fixed workspace. The library's
// heuristic gives several algorithms for shape, alignment and workspace. Its first is what
// frameworks run, and it is poor for some shapes, so the keeper has all of them measured once per
// workload and tells every runner the same one: see do_plan() of evaluator/cuda/runner.c.
#include <stdlib.h>

#include "core/util.h"
#include "evaluator/cuda/baseline_product.h"

/* C[M, N] = A[M, K] B[N, K]^T */
enum { A, B, C };

struct gemm {
    struct baseline base;
    struct product product;
    struct memory workspace;
};

/* The library's type is plain data that keeps its meaning between processes. */
enum { CHOICE_TEXT = 2 * sizeof(cublasLtMatmulAlgo_t) + 1 };

static void gemm_free(struct baseline *b)
{
    struct gemm *g = (struct gemm *)b;
    memory_free(&g->workspace);
    product_free(&g->product);
    free(g);
}

static bool take_choice(struct gemm *g, const char *text)
{
    cublasLtMatmulAlgo_t algorithm;
    if (!hex_decode(text, (uint8_t *)&algorithm, sizeof(algorithm)))
        return false;
    g->product.chosen = algorithm;
    return true;
}

static struct baseline *gemm_plan(const struct baseline_task *t, struct fault *f)
{
    struct gemm *g = calloc(1, sizeof(*g));
    struct product_spec spec = {.m = (uint64_t)baseline_axis(t->problem, t->workload, "M"),
                                .n = (uint64_t)baseline_axis(t->problem, t->workload, "N"),
                                .k = (uint64_t)baseline_axis(t->problem, t->workload, "K"),
                                .batch = 1,
                                .b_transposed = true,
                                .out = CUDA_R_16BF};
    if (!g) {
        fault_set(f, ERR_NO_MEMORY, "cannot set up the baseline: out of memory");
        return NULL;
    }
    enum err e = product_new(&g->product, t->library, &spec, f);
    if (e == ERR_NONE)
        e = memory_new(&g->workspace, t->device, PRODUCT_WORKSPACE, MEMORY_START, f);
    if (e == ERR_NONE && t->choice && !take_choice(g, t->choice))
        e = fault_set(f, ERR_UNAVAILABLE, "the baseline has no such choice");
    g->base.choices = g->product.count;
    g->base.operations = 2; /* a split one adds up its parts */
    if (e == ERR_NONE)
        return &g->base;
    gemm_free(&g->base);
    return NULL;
}

static void gemm_choose(struct baseline *b, size_t i)
{
    struct gemm *g = (struct gemm *)b;
    g->product.chosen = g->product.algorithms[i];
}

static char *gemm_choice(const struct baseline *b)
{
    const struct gemm *g = (const struct gemm *)b;
    char *text = malloc(CHOICE_TEXT);
    if (text)
        hex_encode((const uint8_t *)&g->product.chosen, sizeof(g->product.chosen), text);
    return text;
}

static enum err gemm_enqueue(const struct baseline *b, const CUdeviceptr tensors[LIMIT_TENSORS],
                             CUstream stream, struct fault *f)
{
    const struct gemm *g = (const struct gemm *)b;
    return product_enqueue(&g->product, 1, tensors[A], tensors[B], tensors[C],
                           g->workspace.map.address, stream, f);
}

const struct baseline_kind baseline_cublas = {
    .name = "cuBLAS",
    .library = BASELINE_CUBLAS,
    .plan = gemm_plan,
    .free = gemm_free,
    .choose = gemm_choose,
    .choice = gemm_choice,
    .enqueue = gemm_enqueue,
};
