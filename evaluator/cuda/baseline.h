/* SPDX-License-Identifier: Apache-2.0
 * What a candidate is measured against: a vendor's library on the same problem. A problem may have
 * several baselines, best first: see the table of evaluator/cuda/baseline.c. All that takes time,
 * files or memory happens at set-up; queueing a baseline allocates nothing on the device. */
#ifndef EVALUATOR_CUDA_BASELINE_H
#define EVALUATOR_CUDA_BASELINE_H

#include "core/problem.h"
#include "evaluator/cuda/memory.h"

/* A library kept ready, before the problem is known. */
struct baseline_library {
    const char *name;           /* "cuDNN"; static */
    char version[24];           /* "9.19.0" */
    void *handle;               /* NULL: it is not there … */
    char missing[LIMIT_DETAIL]; /* … and why */
};
enum { BASELINE_CUBLAS, BASELINE_CUDNN, BASELINE_LIBRARIES };
/* `{0}` is none. */
struct baseline_libraries {
    struct baseline_library of[BASELINE_LIBRARIES];
};

/* Loads what is there and has it open all it will need, since a confined process can open nothing.
 * What is missing says so. ERR_UNAVAILABLE if nothing is there. */
enum err baseline_libraries_open(struct baseline_libraries *out, const struct driver_device *d,
                                 struct fault *f);

struct baseline;

/* Plans the problem's workload by the first of its baselines that this host has. With `choice`
 * (else NULL), which baseline_choice() of a process with the same libraries has given, exactly that
 * one in exactly that way, without looking for another. NULL with ERR_UNAVAILABLE if there is none.
 * `libraries` and `d` are borrowed. */
struct baseline *baseline_new(const struct baseline_libraries *libraries,
                              const struct driver_device *d, const struct problem *p,
                              const struct workload *w, const char *choice, struct fault *f);
void baseline_free(struct baseline *b);

/* {"name": "cuDNN", "version": "9.19.0", "engine"?: "…", "reason"?: why no better one was taken};
 * the caller owns it. */
json_t *baseline_json(const struct baseline *b);

/* How many ways of doing it there are to choose from (at least 1, at most BASELINE_CHOICES), and
 * the choice by number. */
enum { BASELINE_CHOICES = 8 };
size_t baseline_choices(const struct baseline *b);
void baseline_choose(struct baseline *b, size_t i);
/* The baseline and its choice as text, for baseline_new() in other processes; the caller frees it.
 * NULL: out of memory, or the library cannot say it. */
char *baseline_choice(const struct baseline *b);

/* Queues one run over the problem's tensors in ABI order. */
enum err baseline_enqueue(const struct baseline *b, const CUdeviceptr tensors[LIMIT_TENSORS],
                          CUstream stream, struct fault *f);
/* At most how many operations one run puts into the stream. */
size_t baseline_operations(const struct baseline *b);

#endif
