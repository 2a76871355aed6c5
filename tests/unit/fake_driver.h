/* SPDX-License-Identifier: Apache-2.0
 * A CUDA driver in host memory, for tests of the keeper without a GPU. An address of the device is
 * one of ours; mappable memory is a memfd, so that other processes can have it; a kernel of
 * evaluator/cuda/kernels_*.cu is a function here, which does the same in the simplest way. The redraw
 * is another one (rows and columns are rotated), as good as any for the keeper. */
#ifndef TESTS_FAKE_DRIVER_H
#define TESTS_FAKE_DRIVER_H

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/util.h"
#include "evaluator/compare_hints.h"
#include "evaluator/compare_parts.h"
#include "evaluator/cuda/kernels.h"

enum { FAKE_GRANULE = 4096 };

static size_t fake_free_bytes = (size_t)1 << 30; /* what cuMemGetInfo says */
static long fake_fail_at;                        /* the k-th allocation from now fails; 0: none */

static inline bool fake_fails(void)
{
    return fake_fail_at > 0 && --fake_fail_at == 0;
}

static inline void *fake_at(CUdeviceptr at)
{
    return (void *)(uintptr_t)at;
}

/* ---- memory ---- */

static CUresult fake_create(CUmemGenericAllocationHandle *out, size_t size,
                            const CUmemAllocationProp *prop, unsigned long long flags)
{
    (void)prop, (void)flags;
    if (fake_fails())
        return CUDA_ERROR_OUT_OF_MEMORY;
    int fd = memfd_create("device", MFD_CLOEXEC);
    *out = (CUmemGenericAllocationHandle)fd;
    return fd >= 0 && ftruncate(fd, (off_t)size) == 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult fake_release(CUmemGenericAllocationHandle handle)
{
    return close((int)handle) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult fake_export(void *fd, CUmemGenericAllocationHandle handle,
                            CUmemAllocationHandleType type, unsigned long long flags)
{
    (void)type, (void)flags;
    *(int *)fd = fcntl((int)handle, F_DUPFD_CLOEXEC, 0);
    return *(int *)fd >= 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult fake_reserve(CUdeviceptr *out, size_t size, size_t align, CUdeviceptr wish,
                             unsigned long long flags)
{
    (void)align, (void)wish, (void)flags;
    void *p = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *out = (CUdeviceptr)(uintptr_t)p;
    return p != MAP_FAILED ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult fake_map(CUdeviceptr at, size_t size, size_t offset,
                         CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    (void)flags;
    if (fake_fails())
        return CUDA_ERROR_INVALID_VALUE;
    void *p =
        mmap(fake_at(at), size, PROT_NONE, MAP_SHARED | MAP_FIXED, (int)handle, (off_t)offset);
    return p != MAP_FAILED ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult fake_access(CUdeviceptr at, size_t size, const CUmemAccessDesc *desc, size_t count)
{
    (void)count;
    int protection =
        desc->flags == CU_MEM_ACCESS_FLAGS_PROT_READ ? PROT_READ : PROT_READ | PROT_WRITE;
    return mprotect(fake_at(at), size, protection) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult fake_unmap(CUdeviceptr at, size_t size)
{
    (void)at, (void)size; /* goes with the reservation */
    return CUDA_SUCCESS;
}

static CUresult fake_unreserve(CUdeviceptr at, size_t size)
{
    return munmap(fake_at(at), size) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult fake_alloc(CUdeviceptr *out, size_t bytes)
{
    *out = fake_fails() ? 0 : (CUdeviceptr)(uintptr_t)malloc(bytes);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult fake_free(CUdeviceptr at)
{
    free(fake_at(at));
    return CUDA_SUCCESS;
}

static CUresult fake_info(size_t *free_bytes, size_t *total)
{
    *free_bytes = *total = fake_free_bytes;
    return CUDA_SUCCESS;
}

static CUresult fake_host_alloc(void **out, size_t bytes, unsigned flags)
{
    (void)flags;
    *out = fake_fails() ? NULL : malloc(bytes);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult fake_host_free(void *at)
{
    free(at);
    return CUDA_SUCCESS;
}

static CUresult fake_host_address(CUdeviceptr *out, void *at, unsigned flags)
{
    (void)flags;
    *out = (CUdeviceptr)(uintptr_t)at;
    return CUDA_SUCCESS;
}

static CUresult fake_set(CUdeviceptr at, unsigned char byte, size_t bytes, CUstream stream)
{
    (void)stream;
    memset(fake_at(at), byte, bytes);
    return CUDA_SUCCESS;
}

static CUresult fake_copy(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    (void)stream;
    memcpy(fake_at(to), fake_at(from), bytes);
    return CUDA_SUCCESS;
}

static CUresult fake_read(void *to, CUdeviceptr from, size_t bytes)
{
    memcpy(to, fake_at(from), bytes);
    return CUDA_SUCCESS;
}

static CUresult fake_read_async(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    (void)stream;
    return fake_read(to, from, bytes);
}

/* ---- kernels ---- */

/* Where row or column i of n comes from, and whether it is negated. */
static inline int64_t fake_place(int64_t i, int64_t n, uint64_t key)
{
    return key ? (int64_t)(((uint64_t)i + key % (uint64_t)n) % (uint64_t)n) : i;
}

static inline bool fake_negated(int64_t i, uint64_t key)
{
    return key && ((key >> (i % 61)) & 1);
}

static inline void fake_fill(void **arguments)
{
    struct {
        CUdeviceptr out;
        int64_t n;
        uint64_t high, low;
        uint32_t tensor;
        int32_t dtype, kind;
        double mean, deviation;
        int64_t lowest, span;
        double spike_deviation;
        int64_t spikes;
        CUdeviceptr quantiles;
    } f;
    memcpy(&f, arguments[0], sizeof(f));
    struct distribution d = {.kind = (enum distribution_kind)f.kind,
                             .mean = f.mean,
                             .deviation = f.deviation,
                             .low = f.lowest,
                             .high = f.lowest + f.span - 1,
                             .spike_deviation = f.spike_deviation,
                             .spikes = f.spikes};
    inputs_fill((struct seed){f.high, f.low}, &d, f.tensor, (enum dtype)f.dtype, fake_at(f.out),
                f.n);
}

static inline void fake_place_columns(void **arguments)
{
    uint32_t *from = fake_at(*(CUdeviceptr *)arguments[0]);
    int64_t n = *(int64_t *)arguments[1];
    uint64_t key = *(uint64_t *)arguments[2];
    bool move = *(int32_t *)arguments[3];
    for (int64_t i = 0; i < n; i++)
        from[i] = (uint32_t)(move ? fake_place(i, n, key) : i) | (uint32_t)fake_negated(i, key)
                                                                     << 31;
}

static inline void fake_redraw(void **arguments)
{
    struct {
        CUdeviceptr out, in;
        int64_t rows, columns;
        uint64_t key;
        CUdeviceptr from;
        int64_t period;
        int32_t bytes, parts, row_signs, whole;
    } r;
    memcpy(&r, arguments[0], sizeof(r));
    const uint32_t *places = fake_at(r.from);
    enum dtype t = r.bytes == 8 ? DTYPE_f64 : r.bytes == 4 ? DTYPE_f32 : DTYPE_bf16;
    for (int64_t i = 0; i < r.rows; i++)
        for (int64_t j = 0; j < r.columns; j++) {
            int64_t in = j % r.period;
            uint32_t place = places ? places[in] : (uint32_t)in;
            bool negated = (r.row_signs && fake_negated(i, r.key)) != (places ? place >> 31 : 0);
            size_t at =
                (size_t)(fake_place(i, r.rows, r.key) * r.columns + j - in + (place & 0x7fffffff));
            double v = dtype_load(t, fake_at(r.in), at);
            dtype_store(t, fake_at(r.out), (size_t)(i * r.columns + j), negated ? -v : v);
        }
}

static inline void fake_count_other(void **arguments)
{
    const uint8_t *area = fake_at(*(CUdeviceptr *)arguments[0]);
    uint64_t *count = fake_at(*(CUdeviceptr *)arguments[3]);
    for (int64_t i = 0; i < *(int64_t *)arguments[1]; i++)
        *count += area[i] != *(uint32_t *)arguments[2];
}

static inline void fake_count_different(void **arguments)
{
    const uint8_t *a = fake_at(*(CUdeviceptr *)arguments[0]),
                  *b = fake_at(*(CUdeviceptr *)arguments[1]);
    uint64_t *count = fake_at(*(CUdeviceptr *)arguments[3]);
    for (int64_t i = 0; i < *(int64_t *)arguments[2]; i++)
        *count += a[i] != b[i];
}

/* The places of "sample" in evaluator/wire.h. */
static inline void fake_sample(const void *from, uint64_t elements, uint64_t first, uint64_t step,
                               size_t bytes, void *to, size_t n)
{
    for (uint64_t i = 0; i < n; i++)
        memcpy((char *)to + i * bytes, (const char *)from + (first + i * step) % elements * bytes,
               bytes);
}

static inline void fake_sample_elements(const CUlaunchConfig *c, void **arguments)
{
    fake_sample(fake_at(*(CUdeviceptr *)arguments[0]), *(uint64_t *)arguments[1],
                *(uint64_t *)arguments[2], *(uint64_t *)arguments[3], *(uint32_t *)arguments[4],
                fake_at(*(CUdeviceptr *)arguments[5]), (size_t)c->gridDimX * c->blockDimX);
}

/* What a comparison is asked, and what it tells of many rows: as in evaluator/cuda/gpu_compare.c. */
struct fake_comparison {
    CUdeviceptr output, oracle;
    int32_t dtype, oracle_dtype;
    int64_t matrices, height, width;
    double atol, rtol;
    CUdeviceptr rows, tiles, totals, worsts, lows;
    int64_t total_count, worst_count;
};
struct fake_total {
    struct compare_sums sum;
    int64_t bad, nan, inf, unwritten, mismatches;
    int64_t first_bad, last_bad_row, first_bad_column, last_bad_column;
    double max_abs, max_rel;
};
struct fake_worst {
    double excess;
    int64_t row;
    struct compare_sums sum;
};

/* The sums of a box of one matrix. */
static inline struct compare_sums fake_sums(const struct fake_comparison *c, int64_t top,
                                            int64_t left, int64_t height, int64_t width)
{
    struct compare_sums s = {0};
    for (int64_t i = top; i < top + height; i++)
        for (int64_t j = left; j < left + width; j++) {
            size_t at = (size_t)(i * c->width + j);
            uint64_t cell = 0;
            double o = dtype_load((enum dtype)c->dtype, fake_at(c->output), at);
            double y = dtype_load((enum dtype)c->oracle_dtype, fake_at(c->oracle), at);
            dtype_store((enum dtype)c->dtype, &cell, 0, y);
            double rounded = dtype_load((enum dtype)c->dtype, &cell, 0);
            if (!isfinite(o) || !isfinite(rounded))
                continue;
            s.error += (o - y) * (o - y);
            s.rounding += (rounded - y) * (rounded - y);
            s.reference += y * y;
            s.n++;
        }
    return s;
}

/* Of row i; rows come in order. */
static inline void fake_join_bad(struct fake_total *t, int64_t i, int64_t width,
                                 const struct compare_result *r)
{
    if (!r->bad)
        return;
    bool first = !t->bad;
    t->first_bad = first ? i * width + r->first_bad : t->first_bad;
    t->last_bad_row = i;
    if (first || r->first_bad < t->first_bad_column)
        t->first_bad_column = r->first_bad;
    if (first || r->bad_high[1] > t->last_bad_column)
        t->last_bad_column = r->bad_high[1];
    t->bad += r->bad;
}

static inline void fake_join(struct fake_total *t, const struct compare_sums *sum,
                             const struct compare_result *r)
{
    t->sum.error += sum->error;
    t->sum.rounding += sum->rounding;
    t->sum.reference += sum->reference;
    t->sum.n += sum->n;
    t->nan += r->nan;
    t->inf += r->inf;
    t->unwritten += r->unwritten;
    t->mismatches += r->mismatches;
    t->max_abs = fmax(t->max_abs, r->max_abs);
    t->max_rel = fmax(t->max_rel, r->max_rel);
}

static inline void fake_compare_rows(void **arguments)
{
    struct fake_comparison c;
    memcpy(&c, arguments[0], sizeof(c));
    struct compare_sums *rows = fake_at(c.rows);
    struct fake_total *totals = fake_at(c.totals);
    memset(totals, 0, (size_t)c.total_count * sizeof(*totals));
    for (int64_t i = 0; i < c.matrices * c.height; i++) {
        size_t bytes = dtype_bytes((enum dtype)c.dtype),
               wide = dtype_bytes((enum dtype)c.oracle_dtype);
        struct compare_task t = {.name = "row",
                                 .dtype = (enum dtype)c.dtype,
                                 .oracle_dtype = (enum dtype)c.oracle_dtype,
                                 .output =
                                     (char *)fake_at(c.output) + (size_t)(i * c.width) * bytes,
                                 .oracle = (char *)fake_at(c.oracle) + (size_t)(i * c.width) * wide,
                                 .ndim = 1,
                                 .shape = &c.width,
                                 .rule = {.atol = c.atol, .rtol = c.rtol}};
        struct compare_result r;
        if (compare(&t, &r, NULL) != ERR_NONE)
            abort();
        rows[i] = fake_sums(&c, i, 0, 1, c.width);
        fake_join_bad(&totals[i % c.total_count], i, c.width, &r);
        fake_join(&totals[i % c.total_count], &rows[i], &r);
    }
}

static inline void fake_compare_tiles(void **arguments)
{
    struct fake_comparison c;
    memcpy(&c, arguments[0], sizeof(c));
    struct compare_sums *tiles = fake_at(c.tiles);
    for (int64_t m = 0; m < c.matrices; m++)
        for (int64_t top = 0; top < c.height; top += COMPARE_TILE)
            for (int64_t left = 0; left < c.width; left += COMPARE_TILE)
                *tiles++ = fake_sums(&c, m * c.height + top, left,
                                     c.height - top < COMPARE_TILE ? c.height - top : COMPARE_TILE,
                                     c.width - left < COMPARE_TILE ? c.width - left : COMPARE_TILE);
}

/* No row is nearly zero here. */
static inline double fake_excess(const struct compare_sums *s)
{
    double squared = s->error - s->rounding;
    return squared <= 0 ? 0 : s->reference > 0 ? sqrt(squared / s->reference) : INFINITY;
}

static inline void fake_rate_rows(void **arguments)
{
    struct fake_comparison c;
    memcpy(&c, arguments[0], sizeof(c));
    const struct compare_sums *rows = fake_at(c.rows);
    struct fake_worst *worsts = fake_at(c.worsts);
    for (int64_t i = 0; i < c.worst_count; i++)
        worsts[i] = (struct fake_worst){.row = -1};
    for (int64_t i = 0; i < c.matrices * c.height; i++) {
        struct fake_worst *w = &worsts[i % c.worst_count];
        double excess = fake_excess(&rows[i]);
        if (w->row < 0 || excess > w->excess)
            *w = (struct fake_worst){excess, i, rows[i]};
    }
}

static inline void fake_count_low_rows(void **arguments)
{
    struct fake_comparison c;
    memcpy(&c, arguments[0], sizeof(c));
    const struct compare_sums *rows = fake_at(c.rows);
    const struct fake_worst *worsts = fake_at(c.worsts);
    int64_t *lows = fake_at(c.lows);
    double most = 0;
    for (int64_t i = 0; i < c.worst_count; i++)
        most = fmax(most, worsts[i].excess);
    memset(lows, 0, (size_t)c.worst_count * sizeof(*lows));
    for (int64_t i = 0; i < c.matrices * c.height; i++)
        lows[0] += 4 * fake_excess(&rows[i]) < most;
}

/* Hints are not what these tests are about: nothing fits anything. */
static inline void fake_fit(const CUlaunchConfig *c, void **arguments)
{
    CUdeviceptr fits;
    memcpy(&fits, (char *)arguments[0] + 56, sizeof(fits)); /* last of struct fitting */
    struct compare_fit *out = fake_at(fits);
    for (size_t i = 0; i < (size_t)c->gridDimX * c->blockDimX / KERNELS_LANES; i++)
        out[i] = (struct compare_fit){.lowest = INFINITY, .highest = -INFINITY};
}

/* A function is the number of its kernel, plus one; any other is the oracle's. */
static void (*fake_oracle)(void **arguments);

/* How each kernel of ours is played. */
static void (*const fake_kernels[KERNEL_COUNT])(void **arguments) = {
    [KERNEL_fill_tensor] = fake_fill,
    [KERNEL_place_columns] = fake_place_columns,
    [KERNEL_redraw_tensor] = fake_redraw,
    [KERNEL_count_other] = fake_count_other,
    [KERNEL_count_different] = fake_count_different,
    [KERNEL_compare_rows] = fake_compare_rows,
    [KERNEL_compare_tiles] = fake_compare_tiles,
    [KERNEL_rate_rows] = fake_rate_rows,
    [KERNEL_count_low_rows] = fake_count_low_rows,
};

static CUresult fake_launch(const CUlaunchConfig *c, CUfunction function, void **arguments,
                            void **extra)
{
    (void)extra;
    size_t kernel = (size_t)(uintptr_t)function - 1;
    if (kernel == KERNEL_sample_elements)
        fake_sample_elements(c, arguments);
    else if (kernel == KERNEL_fit_tensor)
        fake_fit(c, arguments);
    else if (kernel < KERNEL_COUNT)
        fake_kernels[kernel](arguments);
    else
        fake_oracle(arguments);
    return CUDA_SUCCESS;
}

/* ---- streams and modules: everything has happened already ---- */

static CUresult fake_stream(CUstream *out, unsigned flags)
{
    (void)flags;
    *out = NULL;
    return CUDA_SUCCESS;
}

static CUresult fake_of_stream(CUstream stream)
{
    (void)stream;
    return CUDA_SUCCESS;
}

static CUresult fake_wait(void)
{
    return CUDA_SUCCESS;
}

static CUresult fake_module(CUmodule *out, const void *image, unsigned n, CUjit_option *options,
                            void **values)
{
    (void)image, (void)n, (void)options, (void)values;
    *out = (CUmodule)(uintptr_t)1;
    return CUDA_SUCCESS;
}

static CUresult fake_unload(CUmodule module)
{
    (void)module;
    return CUDA_SUCCESS;
}

static CUresult fake_function(CUfunction *out, CUmodule module, const char *name)
{
    (void)module, (void)name;
    *out = (CUfunction)(uintptr_t)1000;
    return CUDA_SUCCESS;
}

static CUresult fake_load(CUfunction function)
{
    (void)function;
    return CUDA_SUCCESS;
}

/* Puts all of that into `cu`, and opens `k`. `oracle` gets a kernel's arguments. */
static inline void fake_driver(struct kernels *k, void (*oracle)(void **arguments))
{
    fake_oracle = oracle;
    cu.MemCreate = fake_create;
    cu.MemRelease = fake_release;
    cu.MemExportToShareableHandle = fake_export;
    cu.MemAddressReserve = fake_reserve;
    cu.MemMap = fake_map;
    cu.MemSetAccess = fake_access;
    cu.MemUnmap = fake_unmap;
    cu.MemAddressFree = fake_unreserve;
    cu.MemAlloc = fake_alloc;
    cu.MemFree = fake_free;
    cu.MemGetInfo = fake_info;
    cu.MemHostAlloc = fake_host_alloc;
    cu.MemFreeHost = fake_host_free;
    cu.MemHostGetDevicePointer = fake_host_address;
    cu.MemsetD8Async = fake_set;
    cu.MemcpyDtoDAsync = fake_copy;
    cu.MemcpyDtoH = fake_read;
    cu.MemcpyDtoHAsync = fake_read_async;
    cu.LaunchKernelEx = fake_launch;
    cu.StreamCreate = fake_stream;
    cu.StreamDestroy = cu.StreamSynchronize = cu.StreamQuery = fake_of_stream;
    cu.CtxSynchronize = fake_wait;
    cu.ModuleLoadDataEx = fake_module;
    cu.ModuleUnload = fake_unload;
    cu.ModuleGetFunction = fake_function;
    cu.FuncLoad = fake_load;
    for (uintptr_t i = 0; i < KERNEL_COUNT; i++)
        k->functions[i] = (CUfunction)(i + 1);
    fake_alloc(&k->counts, KERNELS_COUNTS * 8);
    fake_alloc(&k->places, KERNELS_COLUMNS * 4);
}

#endif
