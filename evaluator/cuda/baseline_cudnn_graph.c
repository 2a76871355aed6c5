// SPDX-License-Identifier: Apache-2.0
// The graphs are what cuDNN's heuristics recognise as attention; other ways of writing down the
// same sums either have no plan or one that is several times as slow. Order and kind of the nodes
// are facts about the library, found by trying.
#include "evaluator/cuda/baseline_cudnn_graph.h"

#ifdef HAVE_CUDNN

#include <string.h>

#include "core/util.h"

struct cudnn cudnn;

enum { ALIGNMENT = 16, NODES_MAX = 24, DIMS = 4 };

/* Shapes of tensors with their order in memory. */
enum layout {
    ROWS,      /* [B, H, S, D] */
    ROWS_T,    /* [B, H, D, S]: the same memory read the other way */
    SCORES,    /* [B, H, S, S] */
    SCORES_T,  /* [B, H, S, S], columns first */
    PER_ROW,   /* [B, H, S, 1] */
    ONE_VALUE, /* [1, 1, 1, 1] */
};

#define VIRTUAL CUDNN_ARGUMENTS
#define F32 CUDNN_DATA_FLOAT
#define BF16 CUDNN_DATA_BFLOAT16

/* Every tensor of both directions; its number is its uid. */
enum tensor {
    NONE,
    Q,
    K,
    KT,
    V,
    VT,
    O,
    LSE,
    DO,
    DQ,
    DK,
    DV,
    DQ_SUM,
    SOFTMAX_SUM,
    SCALE,
    ONE,
    MINUS_INFINITY,
    PRODUCT,
    SCALED,
    ROW,
    COLUMN,
    MASK,
    MASKED,
    MAXIMUM,
    SHIFTED,
    POWERS,
    SUM,
    LOG_SUM,
    WEIGHTS,
    DO_O,
    DO_O_SUM,
    PROBABILITY,
    PROBABILITY_T,
    D_PROBABILITY,
    D_CENTRED,
    D_WEIGHTED,
    D_SCORES,
    D_SCORES_T,
    TENSORS
};

static const struct {
    enum layout layout;
    cudnnDataType_t type;
    enum cudnn_argument argument;
} tensors[TENSORS] = {
    [Q] = {ROWS, BF16, CUDNN_Q},
    [K] = {ROWS, BF16, VIRTUAL},
    [KT] = {ROWS_T, BF16, CUDNN_K},
    [V] = {ROWS, BF16, CUDNN_V},
    [VT] = {ROWS_T, BF16, CUDNN_V},
    [O] = {ROWS, BF16, CUDNN_O},
    [LSE] = {PER_ROW, F32, CUDNN_LSE},
    [DO] = {ROWS, BF16, CUDNN_DO},
    [DQ] = {ROWS, BF16, CUDNN_DQ},
    [DK] = {ROWS, BF16, CUDNN_DK},
    [DV] = {ROWS, BF16, CUDNN_DV},
    [DQ_SUM] = {ROWS, F32, CUDNN_DQ_SUM},
    [SOFTMAX_SUM] = {PER_ROW, F32, CUDNN_SOFTMAX_SUM},
    [SCALE] = {ONE_VALUE, F32, CUDNN_SCALE},
    [ONE] = {ONE_VALUE, F32, CUDNN_ONE},
    [MINUS_INFINITY] = {ONE_VALUE, F32, CUDNN_MINUS_INFINITY},
    [PRODUCT] = {SCORES, F32, VIRTUAL},
    [SCALED] = {SCORES, F32, VIRTUAL},
    [ROW] = {SCORES, CUDNN_DATA_INT32, VIRTUAL},
    [COLUMN] = {SCORES, CUDNN_DATA_INT32, VIRTUAL},
    [MASK] = {SCORES, CUDNN_DATA_BOOLEAN, VIRTUAL},
    [MASKED] = {SCORES, F32, VIRTUAL},
    [MAXIMUM] = {PER_ROW, F32, VIRTUAL},
    [SHIFTED] = {SCORES, F32, VIRTUAL},
    [POWERS] = {SCORES, F32, VIRTUAL},
    [SUM] = {PER_ROW, F32, VIRTUAL},
    [LOG_SUM] = {PER_ROW, F32, VIRTUAL},
    [WEIGHTS] = {SCORES, BF16, VIRTUAL},
    [DO_O] = {ROWS, F32, VIRTUAL},
    [DO_O_SUM] = {PER_ROW, F32, VIRTUAL},
    [PROBABILITY] = {SCORES, F32, VIRTUAL},
    [PROBABILITY_T] = {SCORES_T, BF16, VIRTUAL},
    [D_PROBABILITY] = {SCORES, F32, VIRTUAL},
    [D_CENTRED] = {SCORES, F32, VIRTUAL},
    [D_WEIGHTED] = {SCORES, F32, VIRTUAL},
    [D_SCORES] = {SCORES, F32, VIRTUAL},
    [D_SCORES_T] = {SCORES_T, BF16, VIRTUAL},
};

/* What a node does: y = x op b, or by `t`. The mode is that of pointwise nodes, the operator of
 * reductions, or the axis of an index. */
enum kind { MATMUL, POINTWISE, INDEX, REDUCTION, RESHAPE };
struct node {
    enum kind kind;
    int mode;
    enum tensor x, b, y, t;
};

/* Rows of the mask are left out where nothing is masked, and what they mask is read instead. */
struct recipe {
    struct node nodes[NODES_MAX];
    enum tensor unmasked;
};

#define CAUSAL_MASK(x)                                                                             \
    {INDEX, 2, x, NONE, ROW, NONE}, {INDEX, 3, x, NONE, COLUMN, NONE},                             \
        {POINTWISE, CUDNN_POINTWISE_CMP_GE, ROW, COLUMN, MASK, NONE},                              \
    {                                                                                              \
        POINTWISE, CUDNN_POINTWISE_BINARY_SELECT, x, MINUS_INFINITY, MASKED, MASK                  \
    }

static const struct recipe recipes[] = {
    [CUDNN_FORWARD] = {{{MATMUL, 0, Q, KT, PRODUCT, NONE},
                        {POINTWISE, CUDNN_POINTWISE_MUL, PRODUCT, SCALE, SCALED, NONE},
                        CAUSAL_MASK(SCALED),
                        {REDUCTION, CUDNN_REDUCE_TENSOR_MAX, MASKED, NONE, MAXIMUM, NONE},
                        {POINTWISE, CUDNN_POINTWISE_SUB, MASKED, MAXIMUM, SHIFTED, NONE},
                        {POINTWISE, CUDNN_POINTWISE_EXP, SHIFTED, NONE, POWERS, NONE},
                        {REDUCTION, CUDNN_REDUCE_TENSOR_ADD, POWERS, NONE, SUM, NONE},
                        {POINTWISE, CUDNN_POINTWISE_LOG, SUM, NONE, LOG_SUM, NONE},
                        {POINTWISE, CUDNN_POINTWISE_ADD, MAXIMUM, LOG_SUM, LSE, NONE},
                        {POINTWISE, CUDNN_POINTWISE_DIV, POWERS, SUM, WEIGHTS, NONE},
                        {MATMUL, 0, WEIGHTS, V, O, NONE}},
                       SCALED},
    [CUDNN_BACKWARD] = {{{POINTWISE, CUDNN_POINTWISE_MUL, DO, O, DO_O, NONE},
                         {REDUCTION, CUDNN_REDUCE_TENSOR_ADD, DO_O, NONE, DO_O_SUM, NONE},
                         /* Without this product by one the plan runs, and dQ and dK are NaN. */
                         {POINTWISE, CUDNN_POINTWISE_MUL, DO_O_SUM, ONE, SOFTMAX_SUM, NONE},
                         {MATMUL, 0, Q, KT, PRODUCT, NONE},
                         {POINTWISE, CUDNN_POINTWISE_MUL, PRODUCT, SCALE, SCALED, NONE},
                         {POINTWISE, CUDNN_POINTWISE_SUB, SCALED, LSE, SHIFTED, NONE},
                         CAUSAL_MASK(SHIFTED),
                         {POINTWISE, CUDNN_POINTWISE_EXP, MASKED, NONE, PROBABILITY, NONE},
                         {RESHAPE, 0, PROBABILITY, NONE, PROBABILITY_T, NONE},
                         {MATMUL, 0, PROBABILITY_T, DO, DV, NONE},
                         {MATMUL, 0, DO, VT, D_PROBABILITY, NONE},
                         {POINTWISE, CUDNN_POINTWISE_SUB, D_PROBABILITY, SOFTMAX_SUM, D_CENTRED,
                          NONE},
                         {POINTWISE, CUDNN_POINTWISE_MUL, D_CENTRED, PROBABILITY, D_WEIGHTED, NONE},
                         {POINTWISE, CUDNN_POINTWISE_MUL, D_WEIGHTED, SCALE, D_SCORES, NONE},
                         {RESHAPE, 0, D_SCORES, NONE, D_SCORES_T, NONE},
                         {MATMUL, 0, D_SCORES_T, Q, DK, NONE},
                         {RESHAPE, 0, KT, NONE, K, NONE},
                         {MATMUL, 0, D_SCORES, K, DQ_SUM, NONE},
                         {POINTWISE, CUDNN_POINTWISE_IDENTITY, DQ_SUM, NONE, DQ, NONE}},
                        SHIFTED},
};

/* Where a node keeps its operands and what describes its operation. */
static const struct {
    cudnnBackendDescriptorType_t node, operation;
    cudnnBackendAttributeName_t operation_at, mode, precision;
    cudnnBackendAttributeType_t mode_type;
    cudnnBackendAttributeName_t x, b, y;
    bool has_operation, has_mode;
} kinds[] = {
    [MATMUL] = {CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, CUDNN_BACKEND_MATMUL_DESCRIPTOR,
                CUDNN_ATTR_OPERATION_MATMUL_DESC, 0, CUDNN_ATTR_MATMUL_COMP_TYPE, 0,
                CUDNN_ATTR_OPERATION_MATMUL_ADESC, CUDNN_ATTR_OPERATION_MATMUL_BDESC,
                CUDNN_ATTR_OPERATION_MATMUL_CDESC, true, false},
    [POINTWISE] = {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_BACKEND_POINTWISE_DESCRIPTOR,
                   CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, CUDNN_ATTR_POINTWISE_MODE,
                   CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_POINTWISE_MODE,
                   CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                   CUDNN_ATTR_OPERATION_POINTWISE_YDESC, true, true},
    [REDUCTION] = {CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, CUDNN_BACKEND_REDUCTION_DESCRIPTOR,
                   CUDNN_ATTR_OPERATION_REDUCTION_DESC, CUDNN_ATTR_REDUCTION_OPERATOR,
                   CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE,
                   CUDNN_ATTR_OPERATION_REDUCTION_XDESC, 0, CUDNN_ATTR_OPERATION_REDUCTION_YDESC,
                   true, true},
    [RESHAPE] = {CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR, 0, 0, 0, 0, 0,
                 CUDNN_ATTR_OPERATION_RESHAPE_XDESC, 0, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, false,
                 false},
};

enum err cudnn_check(cudnnStatus_t s, struct fault *f, const char *what)
{
    char said[160] = "";
    if (s == CUDNN_STATUS_SUCCESS)
        return ERR_NONE;
    cudnn.GetLastErrorString(said, sizeof(said));
    return fault_set(f, ERR_UNAVAILABLE, "cannot %s: cuDNN answers %d (%s) %s", what, (int)s,
                     cudnn.GetErrorString(s), said);
}

cudnnBackendDescriptor_t cudnn_create(struct cudnn_graph *g, cudnnBackendDescriptorType_t type)
{
    cudnnBackendDescriptor_t d = NULL;
    if (g->status == CUDNN_STATUS_SUCCESS && g->count == CUDNN_DESCRIPTORS)
        g->status = CUDNN_STATUS_INTERNAL_ERROR;
    if (g->status == CUDNN_STATUS_SUCCESS)
        g->status = cudnn.BackendCreateDescriptor(type, &d);
    if (d)
        g->descriptors[g->count++] = d;
    return d;
}

void cudnn_set(struct cudnn_graph *g, cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
               cudnnBackendAttributeType_t type, int64_t count, const void *values)
{
    if (g->status == CUDNN_STATUS_SUCCESS)
        g->status = cudnn.BackendSetAttribute(d, name, type, count, values);
}

void cudnn_finalize(struct cudnn_graph *g, cudnnBackendDescriptor_t d)
{
    if (g->status == CUDNN_STATUS_SUCCESS)
        g->status = cudnn.BackendFinalize(d);
}

int64_t cudnn_get(struct cudnn_graph *g, cudnnBackendDescriptor_t d,
                  cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                  void *values)
{
    int64_t found = 0;
    if (g->status == CUDNN_STATUS_SUCCESS)
        g->status = cudnn.BackendGetAttribute(d, name, type, count, &found, values);
    return found < count ? found : count;
}

static void shape(const struct baseline_attention *a, enum layout layout, int64_t dims[DIMS],
                  int64_t strides[DIMS])
{
    int64_t h = a->h, s = a->s, d = a->d;
    const int64_t shapes[][2][DIMS] = {
        [ROWS] = {{a->b, h, s, d}, {h * s * d, s * d, d, 1}},
        [ROWS_T] = {{a->b, h, d, s}, {h * s * d, s * d, 1, d}},
        [SCORES] = {{a->b, h, s, s}, {h * s * s, s * s, s, 1}},
        [SCORES_T] = {{a->b, h, s, s}, {h * s * s, s * s, 1, s}},
        [PER_ROW] = {{a->b, h, s, 1}, {h * s, s, 1, 1}},
        [ONE_VALUE] = {{1, 1, 1, 1}, {1, 1, 1, 1}},
    };
    memcpy(dims, shapes[layout][0], sizeof(shapes[layout][0]));
    memcpy(strides, shapes[layout][1], sizeof(shapes[layout][1]));
}

static cudnnBackendDescriptor_t tensor(struct cudnn_graph *g, const struct baseline_attention *a,
                                       enum tensor t)
{
    int64_t dims[DIMS], strides[DIMS], alignment = ALIGNMENT, uid = t;
    enum cudnn_argument argument = tensors[t].argument;
    bool is_virtual = argument == VIRTUAL, by_value = argument >= CUDNN_SCALE && !is_virtual;
    shape(a, tensors[t].layout, dims, strides);
    cudnnBackendDescriptor_t d = cudnn_create(g, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    cudnn_set(g, d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &tensors[t].type);
    cudnn_set(g, d, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, DIMS, dims);
    cudnn_set(g, d, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, DIMS, strides);
    cudnn_set(g, d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &uid);
    cudnn_set(g, d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment);
    cudnn_set(g, d, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual);
    cudnn_set(g, d, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &by_value);
    cudnn_finalize(g, d);
    if (!is_virtual && g->uid_count < CUDNN_UIDS) {
        g->uids[g->uid_count] = uid;
        g->arguments[g->uid_count++] = argument;
    }
    return d;
}

static cudnnBackendDescriptor_t operation(struct cudnn_graph *g, const struct node *n)
{
    cudnnDataType_t precision = CUDNN_DATA_FLOAT;
    enum kind kind = n->kind == INDEX ? POINTWISE : n->kind;
    int mode = n->kind == INDEX ? CUDNN_POINTWISE_GEN_INDEX : n->mode;
    int64_t axis = n->mode;
    /* What compares is a truth value. */
    if (n->kind == POINTWISE && mode == CUDNN_POINTWISE_CMP_GE)
        precision = CUDNN_DATA_BOOLEAN;
    cudnnBackendDescriptor_t d = cudnn_create(g, kinds[kind].operation);
    if (kinds[kind].has_mode)
        cudnn_set(g, d, kinds[kind].mode, kinds[kind].mode_type, 1, &mode);
    cudnn_set(g, d, kinds[kind].precision, CUDNN_TYPE_DATA_TYPE, 1, &precision);
    if (n->kind == INDEX)
        cudnn_set(g, d, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, 1, &axis);
    cudnn_finalize(g, d);
    return d;
}

struct building {
    struct cudnn_graph *g;
    const struct baseline_attention *a;
    const struct recipe *recipe;
    cudnnBackendDescriptor_t made[TENSORS]; /* tensors so far */
};

static void operand(struct building *b, cudnnBackendDescriptor_t node,
                    cudnnBackendAttributeName_t name, enum tensor t)
{
    if (t == NONE)
        return;
    if (t == MASKED && !b->a->causal)
        t = b->recipe->unmasked;
    if (!b->made[t])
        b->made[t] = tensor(b->g, b->a, t);
    cudnn_set(b->g, node, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &b->made[t]);
}

static cudnnBackendDescriptor_t add(struct building *b, const struct node *n)
{
    enum kind kind = n->kind == INDEX ? POINTWISE : n->kind;
    cudnnBackendDescriptor_t does = kinds[kind].has_operation ? operation(b->g, n) : NULL;
    cudnnBackendDescriptor_t d = cudnn_create(b->g, kinds[kind].node);
    if (does)
        cudnn_set(b->g, d, kinds[kind].operation_at, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &does);
    operand(b, d, kinds[kind].x, n->x);
    operand(b, d, kinds[kind].b, n->b);
    operand(b, d, kinds[kind].y, n->y);
    operand(b, d, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, n->t);
    cudnn_finalize(b->g, d);
    return d;
}

static bool masks(const struct node *n)
{
    return n->y == ROW || n->y == COLUMN || n->y == MASK || n->y == MASKED;
}

enum err cudnn_graph_build(struct cudnn_graph *g, cudnnHandle_t handle,
                           const struct baseline_attention *a, struct fault *f)
{
    *g = (struct cudnn_graph){0};
    struct building b = {
        .g = g, .a = a, .recipe = &recipes[a->backward ? CUDNN_BACKWARD : CUDNN_FORWARD]};
    cudnnBackendDescriptor_t nodes[NODES_MAX];
    int64_t count = 0;
    for (const struct node *n = b.recipe->nodes; n < b.recipe->nodes + NODES_MAX && n->y; n++)
        if (a->causal || !masks(n))
            nodes[count++] = add(&b, n);
    g->graph = cudnn_create(g, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    cudnn_set(g, g->graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, count,
              nodes);
    if (handle)
        cudnn_set(g, g->graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
    cudnn_finalize(g, g->graph);
    enum err e = cudnn_check(g->status, f, "describe attention");
    if (e != ERR_NONE)
        cudnn_graph_free(g);
    return e;
}

void cudnn_graph_free(struct cudnn_graph *g)
{
    while (g->count)
        cudnn.BackendDestroyDescriptor(g->descriptors[--g->count]);
    *g = (struct cudnn_graph){0};
}

#endif
