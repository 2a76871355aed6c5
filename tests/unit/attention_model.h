/* SPDX-License-Identifier: Apache-2.0
 * Attention in plain loops of double, forward and backward, and the mistakes that kernels for it
 * make. Shares nothing with the oracle. */
#ifndef TESTS_UNIT_ATTENTION_MODEL_H
#define TESTS_UNIT_ATTENTION_MODEL_H

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum mistake {
    NO_MISTAKE,
    EDGE_MORE,   /* causal: sees key i + 1 too */
    EDGE_LESS,   /* causal: does not see itself, but for the first query */
    NO_SCALE,    /* scores without 1 / sqrt(D) */
    SCALE_TWICE, /* scores / D */
    LSE_LOG2,    /* the log-sum-exp to base 2 */
    LAST_BLOCK,  /* the last 64 keys are not looked at */
    ONE_HEAD,    /* head (1, 0) reads another head's values */
    TRANSPOSED,  /* O of each head, [S, D], written as [D, S] */
    NO_RESCALE,  /* the online softmax keeps its old O when the maximum grows */
    TILE_LEFT,   /* rows 64 to 127 of head (0, 1) are zero in every output */
    ROW_LEFT,    /* row 500 of each 1000 is zero in every output */
    /* of a backward alone */
    OUTER_SCALE, /* dQ and dK without 1 / sqrt(D) */
    NO_DELTA,    /* dS = P dP */
    L_BASE_2,    /* P as if the log-sum-exp given were to base 2 */
    PART_LEFT,   /* dQ has no part of the keys 64 to 127 */
    ADDED_TWICE, /* the part of the keys 64 to 127 is added to dQ twice */
};

struct attention {
    int B, H, S, D;
    bool causal;
    enum mistake mistake;
    double *Q, *K, *V, *O, *dO, *LSE, *dQ, *dK, *dV; /* of one allocation */
    double *memory;
};

static inline size_t attention_rows(const struct attention *a)
{
    return (size_t)a->B * (size_t)a->H * (size_t)a->S;
}

static inline size_t attention_elements(const struct attention *a)
{
    return attention_rows(a) * (size_t)a->D;
}

/* With B, H, S, D given. Everything zero. */
static inline void attention_open(struct attention *a)
{
    size_t n = attention_elements(a);
    double **tensors[] = {&a->Q, &a->K, &a->V, &a->O, &a->dO, &a->dQ, &a->dK, &a->dV};
    a->memory = calloc(8 * n + attention_rows(a), sizeof(double));
    for (size_t i = 0; i < 8; i++)
        *tensors[i] = a->memory + i * n;
    a->LSE = a->memory + 8 * n;
}

static inline void attention_close(struct attention *a)
{
    free(a->memory);
}

static inline bool attention_sees(const struct attention *a, int query, int key)
{
    int edge = a->mistake == EDGE_MORE ? 1 : a->mistake == EDGE_LESS && query ? -1 : 0;
    if (a->mistake == LAST_BLOCK && key >= a->S - 64)
        return false;
    return !a->causal || key <= query + edge;
}

static inline double attention_scale(const struct attention *a)
{
    return a->mistake == NO_SCALE ? 1 : a->mistake == SCALE_TWICE ? 1.0 / a->D : 1 / sqrt(a->D);
}

static inline double attention_dot(const struct attention *a, const double *x, const double *y)
{
    double sum = 0;
    for (int d = 0; d < a->D; d++)
        sum += x[d] * y[d];
    return sum;
}

/* One query of the head that begins at row `head`; keys in blocks of 64, as kernels do. */
static inline void attention_query(const struct attention *a, size_t head, int query)
{
    size_t D = (size_t)a->D, row = head + (size_t)query;
    size_t values = a->mistake == ONE_HEAD && head == (size_t)a->H * (size_t)a->S ? 0 : head;
    double most = -INFINITY, total = 0, *o = a->O + row * D;
    memset(o, 0, D * sizeof(*o));
    for (int block = 0; block < a->S; block += 64) {
        double scores[64], higher = most;
        int n = a->S - block < 64 ? a->S - block : 64;
        for (int j = 0; j < n; j++) {
            double s = attention_dot(a, a->Q + row * D, a->K + (head + (size_t)(block + j)) * D);
            scores[j] = attention_sees(a, query, block + j) ? s * attention_scale(a) : -INFINITY;
            higher = fmax(higher, scores[j]);
        }
        if (isinf(higher))
            continue;
        double kept = exp(most - higher);
        total *= kept;
        for (size_t d = 0; d < D && a->mistake != NO_RESCALE; d++)
            o[d] *= kept;
        for (int j = 0; j < n; j++) {
            const double *v = a->V + (values + (size_t)(block + j)) * D;
            double p = exp(scores[j] - higher);
            total += p;
            for (size_t d = 0; d < D; d++)
                o[d] += p * v[d];
        }
        most = higher;
    }
    for (size_t d = 0; d < D; d++)
        o[d] /= total > 0 ? total : 1;
    a->LSE[row] = (most + log(total)) * (a->mistake == LSE_LOG2 ? 1 / log(2) : 1);
}

/* One head of a tensor transposed: [S, D] written as [D, S]. */
static inline void attention_turn(const struct attention *a, double *x, size_t head)
{
    size_t S = (size_t)a->S, D = (size_t)a->D;
    double *copy = malloc(S * D * sizeof(*copy));
    memcpy(copy, x + head * D, S * D * sizeof(*copy));
    for (size_t i = 0; i < S * D; i++)
        x[head * D + i % D * S + i / D] = copy[i];
    free(copy);
}

/* Rows of an output, `width` wide, that a kernel left out. */
static inline void attention_leave(const struct attention *a, double *x, size_t width)
{
    for (size_t i = 0; i < attention_rows(a); i++) {
        size_t tile = i / 64 * 64;
        if ((a->mistake == TILE_LEFT && tile == (size_t)a->S + 64) ||
            (a->mistake == ROW_LEFT && i % 1000 == 500))
            memset(x + i * width, 0, width * sizeof(*x));
    }
}

/* O and LSE of Q, K, V. */
static inline void attention_forward(const struct attention *a)
{
    for (size_t head = 0; head < attention_rows(a); head += (size_t)a->S) {
        for (int query = 0; query < a->S; query++)
            attention_query(a, head, query);
        if (a->mistake == TRANSPOSED)
            attention_turn(a, a->O, head);
    }
    attention_leave(a, a->O, (size_t)a->D);
    attention_leave(a, a->LSE, 1);
}

/* What one query of the head that begins at row `head` adds to dQ, dK, dV. */
static inline void attention_gradients(const struct attention *a, size_t head, size_t i)
{
    size_t D = (size_t)a->D, other = a->mistake == ONE_HEAD && head == (size_t)a->H * (size_t)a->S;
    double scale = attention_scale(a), outer = a->mistake == OUTER_SCALE ? 1 : scale;
    double lse = a->LSE[i] * (a->mistake == L_BASE_2 ? log(2) : 1);
    const double *q = a->Q + i * D, *g = a->dO + i * D;
    double delta = a->mistake == NO_DELTA ? 0 : attention_dot(a, g, a->O + i * D);
    for (size_t j = 0; j < (size_t)a->S; j++) {
        if (!attention_sees(a, (int)(i - head), (int)j))
            continue;
        const double *k = a->K + (head + j) * D, *v = a->V + ((other ? 0 : head) + j) * D;
        double p = exp(attention_dot(a, q, k) * scale - lse);
        double ds = p * (attention_dot(a, g, v) - delta) * outer;
        double times = j / 64 != 1                 ? 1
                       : a->mistake == PART_LEFT   ? 0
                       : a->mistake == ADDED_TWICE ? 2
                                                   : 1;
        for (size_t d = 0; d < D; d++) {
            a->dQ[i * D + d] += ds * k[d] * times;
            a->dK[(head + j) * D + d] += ds * q[d];
            a->dV[(head + j) * D + d] += p * g[d];
        }
    }
}

/* dQ, dK, dV of Q, K, V, dO and of O and LSE as they are. */
static inline void attention_backward(const struct attention *a)
{
    double *gradients[] = {a->dQ, a->dK, a->dV};
    for (size_t t = 0; t < 3; t++)
        memset(gradients[t], 0, attention_elements(a) * sizeof(double));
    for (size_t i = 0; i < attention_rows(a); i++)
        attention_gradients(a, i / (size_t)a->S * (size_t)a->S, i);
    for (size_t t = 0; t < 3; t++) {
        for (size_t head = 0; head < attention_rows(a) && a->mistake == TRANSPOSED;
             head += (size_t)a->S)
            attention_turn(a, gradients[t], head);
        attention_leave(a, gradients[t], (size_t)a->D);
    }
}

#endif
