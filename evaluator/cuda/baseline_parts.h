/* SPDX-License-Identifier: Apache-2.0
 * For evaluator/cuda/baseline*.c only: what a kind of baseline is made of. */
#ifndef EVALUATOR_CUDA_BASELINE_PARTS_H
#define EVALUATOR_CUDA_BASELINE_PARTS_H

#include "evaluator/cuda/baseline.h"

/* What there is to plan. */
struct baseline_task {
    const struct baseline_library *library; /* open */
    const struct driver_device *device;
    const struct problem *problem;
    const struct workload *workload;
    const char *choice; /* text of the same kind's choice(), or NULL */
};

/* One way of computing problems: "cuDNN". */
struct baseline_kind {
    const char *name;
    int library; /* that it needs */
    struct baseline *(*plan)(const struct baseline_task *t, struct fault *f);
    void (*free)(struct baseline *b);
    void (*choose)(struct baseline *b, size_t i); /* NULL: there is one choice */
    char *(*choice)(const struct baseline *b);
    enum err (*enqueue)(const struct baseline *b, const CUdeviceptr tensors[LIMIT_TENSORS],
                        CUstream stream, struct fault *f);
};
extern const struct baseline_kind baseline_cublas, baseline_cudnn, baseline_composed;

/* The first member of what a kind plans. */
struct baseline {
    const struct baseline_kind *kind; /* … and `library` are set by baseline_new() */
    const struct baseline_library *library;
    size_t choices, operations;
    char engine[160];          /* "" if it has no name */
    char reason[LIMIT_DETAIL]; /* why no better one was taken; set by baseline_new() */
};

/* Open `out`, whose name is set. */
enum err baseline_cublas_open(struct baseline_library *out, const struct driver_device *d,
                              struct fault *f);
enum err baseline_cudnn_open(struct baseline_library *out, const struct driver_device *d,
                             struct fault *f);

/* An axis of a workload by name; 0 if the problem has none of that name. */
int64_t baseline_axis(const struct problem *p, const struct workload *w, const char *name);

/* The problems that are attention: tensors Q K V O LSE, or Q K V O dO L dQ dK dV, axes B H S D. */
struct baseline_attention {
    bool backward, causal;
    int64_t b, h, s, d;
};
bool baseline_attention(const struct problem *p, const struct workload *w,
                        struct baseline_attention *out);

/* A table of functions to fill from a library: see CUBLAS() and CUDNN(). */
struct baseline_entry {
    const char *name;
    size_t offset;
};
enum err baseline_load(void *library, const char *called, const struct baseline_entry *entries,
                       size_t count, void *table, struct fault *f);

#endif
