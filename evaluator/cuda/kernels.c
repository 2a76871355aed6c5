// SPDX-License-Identifier: Apache-2.0
#include "evaluator/cuda/kernels.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "core/util.h"
#include "evaluator/compile.h"

enum {
    THREADS = KERNELS_THREADS,
    BLOCKS_MAX = 1 << 16,
    KERNELS_SOURCE = 256 * KIB,
    PIECE = 16, /* bytes that a redraw moves at once */
    PART_BYTES = 32 * KIB,
};

_Static_assert(DTYPE_f64 == 0 && DTYPE_f32 == 1 && DTYPE_f16 == 2 && DTYPE_bf16 == 3,
               "kernels_common.cu numbers the types like this");
_Static_assert(DISTRIBUTION_NORMAL == 0 && DISTRIBUTION_INTEGERS == 1 && DISTRIBUTION_SPIKY == 2,
               "and the kinds of inputs");

static const char *const names[KERNEL_COUNT + 1] = {
#define KERNEL(name) #name,
#include "evaluator/cuda/kernels.def"
#undef KERNEL
    NULL,
};

bool kernels_know(enum dtype t)
{
    return t <= DTYPE_bf16;
}

/* Compiles and loads the file; its functions are found by name. */
static enum err load(struct kernels *k, const struct arch *arch, const struct buf *source,
                     struct fault *f)
{
    struct compile_request request = {.language = "cuda",
                                      .arch = arch,
                                      .source = source->data,
                                      .source_len = source->len,
                                      .names = names};
    struct compile_result compiled;
    compile_run(&request, &compiled);
    enum err e = ERR_NONE;
    if (compiled.verdict != VERDICT_PASSED || !compiled.cubin.len)
        e = fault_set(f, ERR_UNAVAILABLE, "cannot compile the keeper's kernels: %s",
                      compiled.detail            ? compiled.detail
                      : compiled.no_cubin_reason ? compiled.no_cubin_reason
                                                 : "no cubin came out");
    if (e == ERR_NONE)
        e = driver_check(cu.ModuleLoadData(&k->module, compiled.cubin.data), f,
                         "load the keeper's kernels");
    for (int i = 0; i < KERNEL_COUNT && e == ERR_NONE; i++)
        e = driver_check(cu.ModuleGetFunction(&k->functions[i], k->module, names[i]), f, "find %s",
                         names[i]);
    compile_result_release(&compiled);
    return e;
}

static enum err make_tables(struct kernels *k, struct fault *f)
{
    size_t bytes = NORMAL_TABLE * sizeof(float);
    enum err e = driver_check(cu.MemAlloc(&k->quantiles, bytes), f, "allocate the quantile table");
    if (e == ERR_NONE)
        e = driver_check(cu.MemcpyHtoD(k->quantiles, inputs_normal_table(), bytes), f,
                         "copy the quantile table");
    if (e == ERR_NONE)
        e = driver_check(cu.MemAlloc(&k->counts, KERNELS_COUNTS * 8), f, "allocate counters");
    return e == ERR_NONE ? driver_check(cu.MemAlloc(&k->places, KERNELS_COLUMNS * 4), f,
                                        "allocate places of columns")
                         : e;
}

enum err kernels_source(struct buf *out, struct fault *f)
{
    static const char *const parts[] = {"common", "inputs", "compare"};
    enum err e = ERR_NONE;
    for (size_t i = 0; i < COUNT_OF(parts) && e == ERR_NONE; i++) {
        char path[PATH_MAX];
        struct buf part;
        snprintf(path, sizeof(path), "%s/evaluator/cuda/kernels_%s.cu", home_dir(), parts[i]);
        buf_init(&part, KERNELS_SOURCE);
        e = read_file(path, &part, f);
        buf_addf(out, "#line 1 \"kernels_%s.cu\"\n", parts[i]);
        buf_add(out, part.data, part.len);
        buf_release(&part);
    }
    if (e == ERR_NONE && out->failed)
        e = fault_set(f, ERR_TOO_LARGE, "the keeper's kernels are larger than %zu bytes", out->max);
    return e;
}

enum err kernels_open(struct kernels *k, const struct arch *arch, struct fault *f)
{
    *k = (struct kernels){0};
    struct buf source;
    buf_init(&source, KERNELS_SOURCE);
    enum err e = kernels_source(&source, f);
    if (e == ERR_NONE)
        e = load(k, arch, &source, f);
    buf_release(&source);
    return e == ERR_NONE ? make_tables(k, f) : e;
}

void kernels_close(struct kernels *k)
{
    if (k->quantiles)
        cu.MemFree(k->quantiles);
    if (k->counts)
        cu.MemFree(k->counts);
    if (k->places)
        cu.MemFree(k->places);
    if (k->module)
        cu.ModuleUnload(k->module);
    *k = (struct kernels){0};
}

static enum err launch(const struct kernels *k, enum kernel kernel, int64_t threads,
                       void **arguments, struct fault *f)
{
    int64_t blocks = (threads + THREADS - 1) / THREADS;
    CUlaunchConfig config = {.gridDimX = (unsigned)(blocks < BLOCKS_MAX ? blocks : BLOCKS_MAX),
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .hStream = k->stream,
                             .blockDimX = THREADS,
                             .blockDimY = 1,
                             .blockDimZ = 1};
    return driver_check(cu.LaunchKernelEx(&config, k->functions[kernel], arguments, NULL), f,
                        "launch %s", names[kernel]);
}

enum err kernels_launch(const struct kernels *k, enum kernel kernel, int64_t threads,
                        void *argument, struct fault *f)
{
    void *arguments[] = {argument};
    return launch(k, kernel, threads, arguments, f);
}

enum err kernels_fill(const struct kernels *k, struct seed s, const struct distribution *d,
                      unsigned tensor, enum dtype t, CUdeviceptr out, int64_t n, struct fault *f)
{
    struct { /* struct fill of kernels_inputs.cu */
        CUdeviceptr out;
        int64_t n;
        uint64_t seed_high, seed_low;
        uint32_t tensor;
        int32_t dtype, kind;
        double mean, deviation;
        int64_t low, span;
        double spike_deviation;
        int64_t spikes;
        CUdeviceptr quantiles;
    } fill = {.out = out,
              .n = n,
              .seed_high = s.high,
              .seed_low = s.low,
              .tensor = tensor,
              .dtype = (int32_t)t,
              .kind = (int32_t)d->kind,
              .mean = d->mean,
              .deviation = d->deviation,
              .low = d->low,
              .span = d->high - d->low + 1,
              .spike_deviation = d->spike_deviation,
              .spikes = d->spikes,
              .quantiles = k->quantiles};
    return kernels_launch(k, KERNEL_fill_tensor, (n + 7) / 8, &fill, f);
}

/* A row is shared by so many blocks that each has about PART_BYTES of it. */
static int parts_of(int64_t row_bytes)
{
    return (int)(row_bytes / PART_BYTES < 1 ? 1 : row_bytes / PART_BYTES);
}

enum err kernels_redraw(const struct kernels *k, enum dtype t, CUdeviceptr out, CUdeviceptr in,
                        const struct kernels_moves *m, struct fault *f)
{
    int64_t bytes = (int64_t)dtype_bytes(t), period_bytes = m->period * bytes;
    struct { /* struct redraw of kernels_inputs.cu */
        CUdeviceptr out, in;
        int64_t rows, columns;
        uint64_t row_key;
        CUdeviceptr columns_from;
        int64_t period;
        int32_t element_bytes, parts, row_signs, whole;
    } redraw = {
        .out = out,
        .in = in,
        .rows = m->rows,
        .columns = m->columns,
        .row_key = m->row_key,
        .columns_from = m->column_key ? k->places : 0,
        .period = m->period,
        .element_bytes = (int32_t)bytes,
        .parts = parts_of(m->columns * bytes),
        .row_signs = m->row_signs,
        .whole = !(m->column_key && m->columns_move) && period_bytes % PIECE == 0,
    };
    CUdeviceptr places = k->places;
    int64_t period = m->period;
    uint64_t key = m->column_key;
    int32_t move = m->columns_move;
    void *placing[] = {&places, &period, &key, &move};
    enum err e = ERR_NONE;
    if (key && period > KERNELS_COLUMNS)
        return fault_set(f, ERR_UNAVAILABLE, "cannot redraw %lld columns", (long long)period);
    if (key)
        e = launch(k, KERNEL_place_columns, period, placing, f);
    return e == ERR_NONE ? kernels_launch(k, KERNEL_redraw_tensor,
                                          redraw.rows * redraw.parts * KERNELS_THREADS, &redraw, f)
                         : e;
}

enum err kernels_clear_counts(const struct kernels *k, struct fault *f)
{
    return driver_check(cu.MemsetD8Async(k->counts, 0, KERNELS_COUNTS * 8, k->stream), f,
                        "clear counters");
}

enum err kernels_read_counts(const struct kernels *k, uint64_t *out, size_t n, struct fault *f)
{
    enum err e =
        driver_check(cu.MemcpyDtoHAsync(out, k->counts, n * 8, k->stream), f, "read counters");
    return e == ERR_NONE ? driver_check(cu.StreamSynchronize(k->stream), f, "wait for counters")
                         : e;
}

enum err kernels_count_other_at(const struct kernels *k, struct memory_range range, uint8_t byte,
                                size_t at, struct fault *f)
{
    int64_t n = (int64_t)range.bytes;
    uint32_t value = byte;
    CUdeviceptr counter = k->counts + 8 * at;
    void *arguments[] = {&range.address, &n, &value, &counter};
    return n ? launch(k, KERNEL_count_other, n, arguments, f) : ERR_NONE;
}

enum err kernels_count_other(const struct kernels *k, struct memory_range range, uint8_t byte,
                             uint64_t *count, struct fault *f)
{
    enum err e = kernels_clear_counts(k, f);
    if (e == ERR_NONE)
        e = kernels_count_other_at(k, range, byte, 0, f);
    return e == ERR_NONE ? kernels_read_counts(k, count, 1, f) : e;
}

enum err kernels_count_different(const struct kernels *k, CUdeviceptr a, CUdeviceptr b, size_t n,
                                 uint64_t *count, struct fault *f)
{
    int64_t bytes = (int64_t)n;
    CUdeviceptr counter = k->counts;
    void *arguments[] = {&a, &b, &bytes, &counter};
    enum err e = kernels_clear_counts(k, f);
    if (e == ERR_NONE)
        e = launch(k, KERNEL_count_different, bytes / 16 + 1, arguments, f);
    return e == ERR_NONE ? kernels_read_counts(k, count, 1, f) : e;
}

enum err kernels_sample(const struct kernels *k, enum dtype t, CUdeviceptr from, int64_t elements,
                        uint64_t first, uint64_t step, int64_t n, CUdeviceptr out, struct fault *f)
{
    uint32_t bytes = (uint32_t)dtype_bytes(t);
    void *arguments[] = {&from, &elements, &first, &step, &bytes, &out};
    return launch(k, KERNEL_sample_elements, n, arguments, f);
}
