// SPDX-License-Identifier: Apache-2.0
// Attention by cuDNN. The first runner of a workload asks the library's heuristics and takes their
// first answer, which is what frameworks run (the others were several times as slow wherever they
// were tried); that compiles for up to a second. The choice that it hands on is the whole plan,
// code included, so every later runner has it within milliseconds, and the same one.
#include "evaluator/cuda/baseline_cudnn.h"

#ifdef HAVE_CUDNN

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/util.h"

enum { KNOBS_MAX = 32, CHOICE_BYTES = 16 * MIB };
/* A plan that keeps the scores in memory is not the one we want. */
#define WORKSPACE_MAX ((int64_t)256 * MIB)

struct attention {
    struct baseline base;
    cudnnHandle_t handle;     /* the library's */
    struct cudnn_graph graph; /* owns also what the plan is made of … */
    cudnnBackendDescriptor_t plan;
    bool backward;
    struct memory dq_sum, softmax_sum, workspace;
    float scale, one, minus_infinity;
};

static void attention_free(struct baseline *b)
{
    struct attention *a = (struct attention *)b;
    cudnn_graph_free(&a->graph);
    memory_free(&a->workspace);
    memory_free(&a->softmax_sum);
    memory_free(&a->dq_sum);
    free(a);
}

/* "engine 8: 12=3 13=0": its number and the knobs that are set. They mean something in one version.
 */
static void name_engine(struct attention *a, cudnnBackendDescriptor_t config)
{
    struct cudnn_graph *g = &a->graph;
    cudnnBackendDescriptor_t engine = cudnn_create(g, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    cudnnBackendDescriptor_t knobs[KNOBS_MAX];
    int64_t number = -1;
    for (size_t i = 0; i < KNOBS_MAX; i++)
        knobs[i] = cudnn_create(g, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
    cudnn_get(g, config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &engine);
    cudnn_get(g, engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &number);
    int64_t count = cudnn_get(g, config, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                              CUDNN_TYPE_BACKEND_DESCRIPTOR, KNOBS_MAX, knobs);
    char *text = a->base.engine;
    size_t room = sizeof(a->base.engine), at = 0;
    at += (size_t)snprintf(text, room, "engine %lld%s", (long long)number, count ? ":" : "");
    for (int64_t i = 0; i < count && at < room; i++) {
        int64_t value = 0;
        int type = 0;
        cudnn_get(g, knobs[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &type);
        cudnn_get(g, knobs[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, 1, &value);
        at += (size_t)snprintf(text + at, room - at, " %d=%lld", type, (long long)value);
    }
}

static void make_plan(struct attention *a, cudnnBackendAttributeName_t from,
                      cudnnBackendAttributeType_t type, int64_t count, const void *values)
{
    struct cudnn_graph *g = &a->graph;
    a->plan = cudnn_create(g, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    cudnn_set(g, a->plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &a->handle);
    cudnn_set(g, a->plan, from, type, count, values);
    cudnn_finalize(g, a->plan);
}

static void choose_plan(struct attention *a)
{
    struct cudnn_graph *g = &a->graph;
    cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
    cudnnBackendDescriptor_t asked = cudnn_create(g, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR),
                             config = cudnn_create(g, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    cudnn_set(g, asked, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
              &g->graph);
    cudnn_set(g, asked, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
    cudnn_finalize(g, asked);
    if (!cudnn_get(g, asked, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                   &config) &&
        g->status == CUDNN_STATUS_SUCCESS)
        g->status = CUDNN_STATUS_NOT_SUPPORTED;
    make_plan(a, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
              &config);
    if (g->status != CUDNN_STATUS_SUCCESS)
        return;
    name_engine(a, config);
    g->status = CUDNN_STATUS_SUCCESS; /* a plan is good without a name, too */
}

/* A choice is the engine's name, a newline, and the plan as the library writes it. */
static void restore_plan(struct attention *a, const char *choice)
{
    const char *plan = strchr(choice, '\n');
    int64_t length = plan ? (int64_t)strlen(plan + 1) : 0;
    if (!length) {
        a->graph.status = CUDNN_STATUS_BAD_PARAM;
        return;
    }
    snprintf(a->base.engine, sizeof(a->base.engine), "%.*s", (int)(plan - choice), choice);
    make_plan(a, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, length, plan + 1);
}

static char *attention_choice(const struct baseline *b)
{
    const struct attention *a = (const struct attention *)b;
    int64_t length = 0;
    size_t named = strlen(a->base.engine);
    if (cudnn.BackendGetAttribute(a->plan, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION,
                                  CUDNN_TYPE_CHAR, 0, &length, NULL) != CUDNN_STATUS_SUCCESS ||
        length < 1 || length > CHOICE_BYTES)
        return NULL;
    char *text = calloc(1, named + 1 + (size_t)length + 1);
    if (!text)
        return NULL;
    memcpy(text, a->base.engine, named);
    text[named] = '\n';
    cudnnStatus_t s =
        cudnn.BackendGetAttribute(a->plan, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION,
                                  CUDNN_TYPE_CHAR, length, &length, text + named + 1);
    if (s == CUDNN_STATUS_SUCCESS)
        return text;
    free(text);
    return NULL;
}

static enum err find_room(struct attention *a, const struct driver_device *d,
                          const struct baseline_attention *what, struct fault *f)
{
    size_t rows = (size_t)(what->b * what->h * what->s) * sizeof(float);
    int64_t workspace = 0;
    cudnn_get(&a->graph, a->plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1,
              &workspace);
    enum err e = cudnn_check(a->graph.status, f, "plan attention");
    if (e == ERR_NONE && workspace > WORKSPACE_MAX)
        e = fault_set(f, ERR_UNAVAILABLE, "cannot plan attention: it takes %lld bytes of workspace",
                      (long long)workspace);
    if (e == ERR_NONE)
        e = memory_new(&a->workspace, d, (size_t)workspace, MEMORY_START, f);
    if (e == ERR_NONE && what->backward)
        e = memory_new(&a->dq_sum, d, rows * (size_t)what->d, MEMORY_START, f);
    if (e == ERR_NONE && what->backward)
        e = memory_new(&a->softmax_sum, d, rows, MEMORY_START, f);
    return e;
}

static struct baseline *attention_plan(const struct baseline_task *t, struct fault *f)
{
    struct attention *a = calloc(1, sizeof(*a));
    struct baseline_attention what;
    if (!a || !baseline_attention(t->problem, t->workload, &what)) {
        fault_set(f, ERR_NO_MEMORY, "cannot set up the baseline: out of memory");
        free(a);
        return NULL;
    }
    a->handle = t->library->handle;
    a->backward = what.backward;
    a->scale = 1 / sqrtf((float)what.d);
    a->one = 1;
    a->minus_infinity = -INFINITY;
    a->base.choices = 1;
    a->base.operations = 8; /* up to three kernels were seen, and memory that is cleared */
    enum err e = cudnn_graph_build(&a->graph, a->handle, &what, f);
    if (e == ERR_NONE && t->choice)
        restore_plan(a, t->choice);
    else if (e == ERR_NONE)
        choose_plan(a);
    if (e == ERR_NONE)
        e = find_room(a, t->device, &what, f);
    if (e == ERR_NONE)
        return &a->base;
    attention_free(&a->base);
    return NULL;
}

/* Where the graph finds one of its arguments. */
static void *argument(const struct attention *a, enum cudnn_argument which,
                      const CUdeviceptr tensors[LIMIT_TENSORS])
{
    static const size_t places[CUDNN_DIRECTIONS][CUDNN_ARGUMENTS] = {
        {[CUDNN_Q] = 0, [CUDNN_K] = 1, [CUDNN_V] = 2, [CUDNN_O] = 3, [CUDNN_LSE] = 4},
        {[CUDNN_Q] = 0,
         [CUDNN_K] = 1,
         [CUDNN_V] = 2,
         [CUDNN_O] = 3,
         [CUDNN_DO] = 4,
         [CUDNN_LSE] = 5,
         [CUDNN_DQ] = 6,
         [CUDNN_DK] = 7,
         [CUDNN_DV] = 8},
    };
    switch (which) {
    case CUDNN_DQ_SUM:
        return (void *)(uintptr_t)a->dq_sum.map.address;
    case CUDNN_SOFTMAX_SUM:
        return (void *)(uintptr_t)a->softmax_sum.map.address;
    case CUDNN_SCALE:
        return (void *)(uintptr_t)&a->scale;
    case CUDNN_ONE:
        return (void *)(uintptr_t)&a->one;
    case CUDNN_MINUS_INFINITY:
        return (void *)(uintptr_t)&a->minus_infinity;
    default:
        return (void *)(uintptr_t)tensors[places[a->backward][which]];
    }
}

static enum err attention_enqueue(const struct baseline *b,
                                  const CUdeviceptr tensors[LIMIT_TENSORS], CUstream stream,
                                  struct fault *f)
{
    const struct attention *a = (const struct attention *)b;
    struct cudnn_graph pack = {0}; /* of one descriptor */
    void *pointers[CUDNN_UIDS], *workspace = (void *)(uintptr_t)a->workspace.map.address;
    int64_t count = (int64_t)a->graph.uid_count;
    for (int64_t i = 0; i < count; i++)
        pointers[i] = argument(a, a->graph.arguments[i], tensors);
    cudnnBackendDescriptor_t d = cudnn_create(&pack, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    cudnn_set(&pack, d, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, a->graph.uids);
    cudnn_set(&pack, d, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count,
              pointers);
    cudnn_set(&pack, d, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
    cudnn_finalize(&pack, d);
    cudnnStatus_t s = pack.status;
    s = s ? s : cudnn.SetStream(a->handle, (cudaStream_t)stream);
    s = s ? s : cudnn.BackendExecute(a->handle, a->plan, d);
    cudnn_graph_free(&pack);
    return cudnn_check(s, f, "queue the baseline");
}

const struct baseline_kind baseline_cudnn = {
    .name = "cuDNN",
    .library = BASELINE_CUDNN,
    .plan = attention_plan,
    .free = attention_free,
    .choice = attention_choice,
    .enqueue = attention_enqueue,
};

#else

const struct baseline_kind baseline_cudnn = {.name = "cuDNN", .library = BASELINE_CUDNN};

#endif
