/* SPDX-License-Identifier: Apache-2.0
 * Attention as operation graphs of cuDNN's backend API: the library's functions, and the four
 * graphs as tables of nodes (evaluator/cuda/baseline_cudnn_graph.c). Knows no device; what a plan
 * is made of such a graph and how it is run is in evaluator/cuda/baseline_cudnn.c. */
#ifndef EVALUATOR_CUDA_BASELINE_CUDNN_GRAPH_H
#define EVALUATOR_CUDA_BASELINE_CUDNN_GRAPH_H

#ifdef HAVE_CUDNN /* it was there at configure time */

#include <cudnn_graph.h>

#include "evaluator/cuda/baseline_parts.h"

/* Filled by cudnn_load(). */
struct cudnn {
#define CUDNN(name) __typeof__(&cudnn##name) name;
#include "evaluator/cuda/baseline_cudnn.def"
#undef CUDNN
};
extern struct cudnn cudnn;

enum { CUDNN_FORWARD, CUDNN_BACKWARD, CUDNN_DIRECTIONS };

/* What the graphs read and write outside themselves. Tensors of the problem, two more buffers that
 * the caller owns, and scalars, which are passed by pointers to host memory. */
enum cudnn_argument {
    CUDNN_Q,
    CUDNN_K,
    CUDNN_V,
    CUDNN_O,
    CUDNN_LSE,
    CUDNN_DO,
    CUDNN_DQ,
    CUDNN_DK,
    CUDNN_DV,
    CUDNN_DQ_SUM,      /* f32 [B, H, S, D] */
    CUDNN_SOFTMAX_SUM, /* f32 [B, H, S] */
    CUDNN_SCALE,
    CUDNN_ONE,
    CUDNN_MINUS_INFINITY,
    CUDNN_ARGUMENTS
};

enum { CUDNN_DESCRIPTORS = 128, CUDNN_UIDS = 16 };

/* `{0}` is none. */
struct cudnn_graph {
    cudnnBackendDescriptor_t graph; /* finalized; one of … */
    cudnnBackendDescriptor_t descriptors[CUDNN_DESCRIPTORS];
    size_t count;
    /* Of the tensors that are not virtual: what they are called and what they stand for. */
    int64_t uids[CUDNN_UIDS];
    enum cudnn_argument arguments[CUDNN_UIDS];
    size_t uid_count;
    cudnnStatus_t status; /* the first that was no success */
};

/* Makes a descriptor of the graph's own, to be finalized by cudnn_finalize(). After a failure these
 * do nothing. */
cudnnBackendDescriptor_t cudnn_create(struct cudnn_graph *g, cudnnBackendDescriptorType_t type);
void cudnn_set(struct cudnn_graph *g, cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
               cudnnBackendAttributeType_t type, int64_t count, const void *values);
void cudnn_finalize(struct cudnn_graph *g, cudnnBackendDescriptor_t d);
/* Reads at most `count` values; how many there were. */
int64_t cudnn_get(struct cudnn_graph *g, cudnnBackendDescriptor_t d,
                  cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                  void *values);

/* Describes `a`. `handle` may be NULL: then there is no device, and plans cannot be made. */
enum err cudnn_graph_build(struct cudnn_graph *g, cudnnHandle_t handle,
                           const struct baseline_attention *a, struct fault *f);
void cudnn_graph_free(struct cudnn_graph *g);

/* ERR_UNAVAILABLE with the library's own words, unless `s` is success. */
enum err cudnn_check(cudnnStatus_t s, struct fault *f, const char *what);

#endif
#endif
