/* SPDX-License-Identifier: Apache-2.0
 * Matrix products by cublasLtMatmul, rows first: C[m, n] = alpha op(A) op(B), fp32 accumulation,
 * `batch` times over matrices that lie one behind the other. */
#ifndef EVALUATOR_CUDA_BASELINE_PRODUCT_H
#define EVALUATOR_CUDA_BASELINE_PRODUCT_H

#include <cublasLt.h>

#include "evaluator/cuda/baseline_parts.h"

enum { PRODUCT_WORKSPACE = 32 * 1024 * 1024 };

struct product_spec {
    uint64_t m, n, k, batch;
    bool a_transposed, b_transposed; /* stored as [k, m], as [n, k] */
    cudaDataType_t out;              /* A and B are bf16 */
};

/* `{0}` is none. */
struct product {
    cublasLtHandle_t handle; /* the library's */
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t a, b, c;
    cublasLtMatmulAlgo_t algorithms[BASELINE_CHOICES],
        chosen; /* the library's guesses, best first */
    size_t count;
};

/* Asks the library how. ERR_UNAVAILABLE if it has no way. */
enum err product_new(struct product *out, const struct baseline_library *library,
                     const struct product_spec *spec, struct fault *f);
void product_free(struct product *p);

/* Queues it; `workspace` has PRODUCT_WORKSPACE bytes. */
enum err product_enqueue(const struct product *p, float alpha, CUdeviceptr a, CUdeviceptr b,
                         CUdeviceptr c, CUdeviceptr workspace, CUstream stream, struct fault *f);

#endif
