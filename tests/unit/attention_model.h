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

static inline void attention_turn(const struct attention *a, size_t head)
{
    size_t S = (size_t)a->S, D = (size_t)a->D;
    double *copy = malloc(S * D * sizeof(*copy)), *o = a->O + head * D;
    memcpy(copy, o, S * D * sizeof(*copy));
    for (size_t i = 0; i < S * D; i++)
        o[i % D * S + i / D] = copy[i];
    free(copy);
}

/* O and LSE of Q, K, V. */
static inline void attention_forward(const struct attention *a)
{
    for (size_t head = 0; head < attention_rows(a); head += (size_t)a->S) {
        for (int query = 0; query < a->S; query++)
            attention_query(a, head, query);
        if (a->mistake == TRANSPOSED)
            attention_turn(a, head);
    }
}

/* dQ, dK, dV of Q, K, V, dO and of O and LSE as they are. */
static inline void attention_backward(const struct attention *a)
{
    size_t D = (size_t)a->D, n = attention_elements(a) * sizeof(double);
    double scale = attention_scale(a);
    memset(a->dQ, 0, n);
    memset(a->dK, 0, n);
    memset(a->dV, 0, n);
    for (size_t i = 0; i < attention_rows(a); i++) {
        size_t head = i / (size_t)a->S * (size_t)a->S;
        const double *q = a->Q + i * D, *g = a->dO + i * D;
        double delta = attention_dot(a, g, a->O + i * D);
        for (size_t j = head; j < head + (size_t)a->S; j++) {
            if (!attention_sees(a, (int)(i - head), (int)(j - head)))
                continue;
            const double *k = a->K + j * D, *v = a->V + j * D;
            double p = exp(attention_dot(a, q, k) * scale - a->LSE[i]);
            double ds = p * (attention_dot(a, g, v) - delta) * scale;
            for (size_t d = 0; d < D; d++) {
                a->dQ[i * D + d] += ds * k[d];
                a->dK[j * D + d] += ds * q[d];
                a->dV[j * D + d] += p * g[d];
            }
        }
    }
}

#endif
