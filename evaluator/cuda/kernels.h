/* SPDX-License-Identifier: Apache-2.0
 * The keeper's own kernels (evaluator/cuda/kernels_*.cu) and what the host says to them: the inputs of
 * evaluator/inputs.h, redraws, canaries. Everything is queued into `stream` unless it says that it
 * waits. */
#ifndef EVALUATOR_CUDA_KERNELS_H
#define EVALUATOR_CUDA_KERNELS_H

#include "core/arch.h"
#include "core/buf.h"
#include "evaluator/cuda/memory.h"
#include "evaluator/inputs.h"

/* The kernels, by name. */
enum kernel {
#define KERNEL(name) KERNEL_##name,
#include "evaluator/cuda/kernels.def"
#undef KERNEL
    KERNEL_COUNT
};

struct kernels {
    CUmodule module;
    CUfunction functions[KERNEL_COUNT];
    CUdeviceptr quantiles; /* of the normal distribution */
    CUdeviceptr counts;    /* KERNELS_COUNTS u64 */
    CUdeviceptr places;    /* KERNELS_COLUMNS u32: where the columns of a redraw come from */
    CUstream stream;       /* NULL: the default one; a copy of this struct may have another, and then
                              needs places of its own */
};
enum {
    KERNELS_COUNTS = 4096,
    KERNELS_COLUMNS = 1 << 20,
    KERNELS_THREADS = 256, /* of a block */
    KERNELS_LANES = 32,    /* of a warp */
};

/* Appends their source, the files of home_dir() one behind the other. */
enum err kernels_source(struct buf *out, struct fault *f);
/* Compiles it for `arch` and loads it; takes a second. */
enum err kernels_open(struct kernels *k, const struct arch *arch, struct fault *f);
void kernels_close(struct kernels *k);

/* Queues a kernel that takes one struct by value. */
enum err kernels_launch(const struct kernels *k, enum kernel kernel, int64_t threads, void *argument,
                        struct fault *f);

/* Does the device know elements of this type? Floats only. */
bool kernels_know(enum dtype t);

/* inputs_fill() on the device. */
enum err kernels_fill(const struct kernels *k, struct seed s, const struct distribution *d,
                      unsigned tensor, enum dtype t, CUdeviceptr out, int64_t n, struct fault *f);

/* A tensor as rows, whose columns repeat after a period, and how it is redrawn:
 * out[i, j] = s_i t_j in[pi(i), sigma(j)]. The signs s and the bijection pi follow from the row key, t and
 * sigma from the column key, j being counted within its period; a key of 0 leaves rows (columns) where and
 * as they are. */
struct kernels_moves {
    int64_t rows, columns, period; /* columns: a multiple of the period, which is at most KERNELS_COLUMNS */
    uint64_t row_key, column_key;
    bool row_signs;    /* else s is 1 */
    bool columns_move; /* else sigma is the identity */
};
enum err kernels_redraw(const struct kernels *k, enum dtype t, CUdeviceptr out, CUdeviceptr in,
                        const struct kernels_moves *m, struct fault *f);

/* Counters: cleared, counted into by number, read. Reading waits. */
enum err kernels_clear_counts(const struct kernels *k, struct fault *f);
enum err kernels_read_counts(const struct kernels *k, uint64_t *out, size_t n, struct fault *f);
/* How many bytes of the range are not `byte`, added to counter `at`. */
enum err kernels_count_other_at(const struct kernels *k, struct memory_range range, uint8_t byte,
                                size_t at, struct fault *f);

/* The same at once: how many bytes of the range are not `byte`. Waits. */
enum err kernels_count_other(const struct kernels *k, struct memory_range range, uint8_t byte,
                             uint64_t *count, struct fault *f);
/* How many of the first n bytes at a and b differ. Waits. */
enum err kernels_count_different(const struct kernels *k, CUdeviceptr a, CUdeviceptr b, size_t n,
                                 uint64_t *count, struct fault *f);

/* out[i] = element (first + i * step) mod elements, for i < n (a multiple of 256). */
enum err kernels_sample(const struct kernels *k, enum dtype t, CUdeviceptr from, int64_t elements,
                        uint64_t first, uint64_t step, int64_t n, CUdeviceptr out, struct fault *f);

#endif
