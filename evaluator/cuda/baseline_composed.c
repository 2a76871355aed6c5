// SPDX-License-Identifier: Apache-2.0
// Attention for hosts without cuDNN: matrix products by cuBLAS, and our own kernels between them
// (baseline_composed.cu). Scores go through memory, for as many heads at a time as a fixed
// workspace holds, so it is several times as slow as a fused kernel, and never mixed with one under
// one name.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/util.h"
#include "evaluator/cuda/baseline_product.h"

enum { THREADS = 256, HEADS_MAX = 64, PTX_BYTES = 256 * KIB };
/* For scores and weights; one head has to fit in any case. */
#define ROOM_BYTES ((size_t)1024 * MIB)

/* Every product of either direction, per head: [S, D] and [S, S]. */
enum step { SCORES, OUTPUT, D_VALUES, D_WEIGHTS, D_KEYS, D_QUERIES, STEPS };
/* What lies in the workspace, in this order; f32, f32, bf16, bf16. */
enum { X_SCORES, X_D_WEIGHTS, X_WEIGHTS, X_D_SCORES, PARTS };

struct composed {
    struct baseline base;
    struct baseline_attention attention;
    int64_t chunk; /* heads at a time; divides their number */
    struct product products[STEPS];
    struct memory workspace, room;
    CUdeviceptr parts[PARTS];
    CUmodule kernels;
    CUfunction weights, gradients;
};

static void composed_free(struct baseline *b)
{
    struct composed *c = (struct composed *)b;
    for (size_t i = 0; i < STEPS; i++)
        product_free(&c->products[i]);
    memory_free(&c->room);
    memory_free(&c->workspace);
    if (c->kernels)
        cu.ModuleUnload(c->kernels);
    free(c);
}

static enum err plan_products(struct composed *c, const struct baseline_library *library,
                              struct fault *f)
{
    uint64_t s = (uint64_t)c->attention.s, d = (uint64_t)c->attention.d, n = (uint64_t)c->chunk;
    const struct product_spec specs[STEPS] = {
        [SCORES] = {s, s, d, n, false, true, CUDA_R_32F},      /* Q K^T */
        [OUTPUT] = {s, d, s, n, false, false, CUDA_R_16BF},    /* P V */
        [D_VALUES] = {s, d, s, n, true, false, CUDA_R_16BF},   /* P^T dO */
        [D_WEIGHTS] = {s, s, d, n, false, true, CUDA_R_32F},   /* dO V^T */
        [D_KEYS] = {s, d, s, n, true, false, CUDA_R_16BF},     /* dS^T Q */
        [D_QUERIES] = {s, d, s, n, false, false, CUDA_R_16BF}, /* dS K */
    };
    enum err e = ERR_NONE;
    for (int i = 0; i < STEPS && e == ERR_NONE; i++)
        if (i == SCORES || (i != OUTPUT) == c->attention.backward)
            e = product_new(&c->products[i], library, &specs[i], f);
    return e;
}

static enum err find_room(struct composed *c, const struct driver_device *d, struct fault *f)
{
    size_t elements = (size_t)c->attention.s * (size_t)c->attention.s;
    size_t heads = (size_t)(c->attention.b * c->attention.h);
    size_t sizes[PARTS] = {4 * elements, c->attention.backward ? 4 * elements : 0, 2 * elements,
                           c->attention.backward ? 2 * elements : 0},
           each = 0, at = 0;
    for (int i = 0; i < PARTS; i++)
        each += sizes[i];
    size_t chunk = ROOM_BYTES / each < heads ? ROOM_BYTES / each : heads;
    while (chunk > 1 && (chunk > HEADS_MAX || heads % chunk))
        chunk--;
    c->chunk = chunk ? (int64_t)chunk : 1;
    enum err e = memory_new(&c->room, d, (size_t)c->chunk * each, MEMORY_START, f);
    for (int i = 0; i < PARTS; i++) {
        c->parts[i] = c->room.map.address + at;
        at += (size_t)c->chunk * sizes[i];
    }
    return e == ERR_NONE ? memory_new(&c->workspace, d, PRODUCT_WORKSPACE, MEMORY_START, f) : e;
}

/* The text is kept in lines, as compilers need not take long literals. */
static const char *const lines[] = {
#include "evaluator/cuda/baseline_composed.inc"
};

static enum err load_kernels(struct composed *c, struct fault *f)
{
    const struct {
        const char *name;
        CUfunction *out;
    } ours[] = {{"attention_weights", &c->weights}, {"attention_gradients", &c->gradients}};
    struct buf ptx;
    buf_init(&ptx, PTX_BYTES);
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        buf_adds(&ptx, lines[i]);
    CUresult r = cu.ModuleLoadData(&c->kernels, ptx.data);
    for (size_t i = 0; i < COUNT_OF(ours) && r == CUDA_SUCCESS; i++) {
        r = cu.ModuleGetFunction(ours[i].out, c->kernels, ours[i].name);
        r = r ? r : cu.FuncLoad(*ours[i].out);
    }
    buf_release(&ptx);
    return driver_check(r, f, "load the baseline's kernels");
}

static struct baseline *composed_plan(const struct baseline_task *t, struct fault *f)
{
    struct composed *c = calloc(1, sizeof(*c));
    if (!c || !baseline_attention(t->problem, t->workload, &c->attention)) {
        fault_set(f, ERR_NO_MEMORY, "cannot set up the baseline: out of memory");
        free(c);
        return NULL;
    }
    enum err e = find_room(c, t->device, f);
    if (e == ERR_NONE)
        e = plan_products(c, t->library, f);
    if (e == ERR_NONE)
        e = load_kernels(c, f);
    int64_t rounds = c->attention.b * c->attention.h / c->chunk;
    c->base.choices = 1;
    c->base.operations = (size_t)rounds * 2 * (STEPS + 1); /* a product may be two */
    if (e == ERR_NONE)
        return &c->base;
    composed_free(&c->base);
    return NULL;
}

/* There is one way: every product's first. */
static char *composed_choice(const struct baseline *b)
{
    (void)b;
    return strdup("");
}

/* A kernel with one block for each row of the heads at hand. */
static enum err launch(const struct composed *c, CUfunction kernel, void **arguments,
                       CUstream stream, struct fault *f)
{
    CUlaunchConfig config = {.gridDimX = (unsigned)(c->chunk * c->attention.s),
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = THREADS,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .hStream = stream};
    return driver_check(cu.LaunchKernelEx(&config, kernel, arguments, NULL), f,
                        "launch the baseline's kernel");
}

static enum err multiply(const struct composed *c, enum step step, CUdeviceptr a, CUdeviceptr b,
                         CUdeviceptr out, CUstream stream, struct fault *f)
{
    return product_enqueue(&c->products[step], 1, a, b, out, c->workspace.map.address, stream, f);
}

/* One chunk of heads; `t` are the tensors' addresses there: Q K V O LSE. */
static enum err forward(const struct composed *c, const CUdeviceptr *t, CUstream stream,
                        struct fault *f)
{
    enum { Q, K, V, O, LSE };
    const struct baseline_attention *a = &c->attention;
    CUdeviceptr scores = c->parts[X_SCORES], weights = c->parts[X_WEIGHTS], lse = t[LSE];
    int s = (int)a->s, causal = a->causal;
    float scale = 1 / sqrtf((float)a->d);
    void *arguments[] = {&scores, &weights, &lse, &s, &scale, &causal};
    enum err e = multiply(c, SCORES, t[Q], t[K], scores, stream, f);
    if (e == ERR_NONE)
        e = launch(c, c->weights, arguments, stream, f);
    return e == ERR_NONE ? multiply(c, OUTPUT, weights, t[V], t[O], stream, f) : e;
}

/* Likewise: Q K V O dO L dQ dK dV. */
static enum err backward(const struct composed *c, const CUdeviceptr *t, CUstream stream,
                         struct fault *f)
{
    enum { Q, K, V, O, DO, LSE, DQ, DK, DV };
    const struct baseline_attention *a = &c->attention;
    CUdeviceptr scores = c->parts[X_SCORES], d_weights = c->parts[X_D_WEIGHTS],
                weights = c->parts[X_WEIGHTS], d_scores = c->parts[X_D_SCORES], o = t[O],
                d_o = t[DO], lse = t[LSE];
    int s = (int)a->s, d = (int)a->d, causal = a->causal;
    float scale = 1 / sqrtf((float)a->d);
    void *arguments[] = {&scores,   &d_weights, &o, &d_o,   &lse,   &weights,
                         &d_scores, &s,         &d, &scale, &causal};
    enum err e = multiply(c, SCORES, t[Q], t[K], scores, stream, f);
    if (e == ERR_NONE)
        e = multiply(c, D_WEIGHTS, t[DO], t[V], d_weights, stream, f);
    if (e == ERR_NONE)
        e = launch(c, c->gradients, arguments, stream, f);
    if (e == ERR_NONE)
        e = multiply(c, D_VALUES, weights, t[DO], t[DV], stream, f);
    if (e == ERR_NONE)
        e = multiply(c, D_KEYS, d_scores, t[Q], t[DK], stream, f);
    return e == ERR_NONE ? multiply(c, D_QUERIES, d_scores, t[K], t[DQ], stream, f) : e;
}

static enum err composed_enqueue(const struct baseline *b, const CUdeviceptr tensors[LIMIT_TENSORS],
                                 CUstream stream, struct fault *f)
{
    const struct composed *c = (const struct composed *)b;
    const struct baseline_attention *a = &c->attention;
    size_t count = a->backward ? 9 : 5, sums = a->backward ? 5 : 4; /* which is [B, H, S], f32 */
    size_t rows = (size_t)(c->chunk * a->s), wide = rows * (size_t)a->d * 2;
    enum err e = ERR_NONE;
    for (int64_t head = 0; head < a->b * a->h && e == ERR_NONE; head += c->chunk) {
        CUdeviceptr at[LIMIT_TENSORS];
        for (size_t i = 0; i < count; i++)
            at[i] = tensors[i] + (size_t)(head / c->chunk) * (i == sums ? rows * 4 : wide);
        e = (a->backward ? backward : forward)(c, at, stream, f);
    }
    return e;
}

const struct baseline_kind baseline_composed = {
    .name = "cuBLAS (composed)",
    .library = BASELINE_CUBLAS,
    .plan = composed_plan,
    .free = composed_free,
    .choice = composed_choice,
    .enqueue = composed_enqueue,
};
