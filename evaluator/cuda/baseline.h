/* SPDX-License-Identifier: Apache-2.0
 * What a candidate is measured against: the vendor's library on the same problem, one row per problem. All
 * that takes time or memory happens at set-up; queueing a baseline allocates nothing. */
#ifndef EVALUATOR_CUDA_BASELINE_H
#define EVALUATOR_CUDA_BASELINE_H

#include "core/problem.h"
#include "evaluator/cuda/memory.h"

/* A library kept ready, before the problem is known. `{0}` is none. */
struct baseline_library {
    const char *name; /* "cuBLAS"; static */
    char version[24]; /* "13.1.0" */
    void *handle;
};
/* Loads the library and runs it once, so that later nothing has to be opened. ERR_UNAVAILABLE says what is
 * missing. */
enum err baseline_library_open(struct baseline_library *out, const struct driver_device *d,
                               struct fault *f);

struct baseline;

/* Plans the problem's workload: the library's best guesses, of which the first is chosen. NULL with
 * ERR_UNAVAILABLE if the problem has no baseline or the library has no kernel for it. `library` and `d`
 * are borrowed. */
struct baseline *baseline_new(const struct baseline_library *library,
                              const struct driver_device *d, const struct problem *p,
                              const struct workload *w, struct fault *f);
void baseline_free(struct baseline *b);

/* How many ways of doing it there are to choose from (at least 1, at most BASELINE_CHOICES), and the
 * choice by number. */
enum { BASELINE_CHOICES = 8, BASELINE_CHOICE_TEXT = 129 };
size_t baseline_choices(const struct baseline *b);
void baseline_choose(struct baseline *b, size_t i);
/* The choice as text, for other processes with the same library. */
void baseline_choice_text(const struct baseline *b, char out[BASELINE_CHOICE_TEXT]);
bool baseline_choose_text(struct baseline *b, const char *text);

/* Queues one run over the problem's tensors in ABI order. */
enum err baseline_enqueue(const struct baseline *b, const CUdeviceptr tensors[LIMIT_TENSORS],
                          CUstream stream, struct fault *f);

#endif
