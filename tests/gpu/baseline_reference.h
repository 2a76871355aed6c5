/* SPDX-License-Identifier: Apache-2.0
 * Attention in double precision for sampled rows of three heads, on the host: rows of O and dQ, and
 * columns of scores, which are rows of dK and dV. Slow, and short enough to be seen right. */
#ifndef TESTS_GPU_BASELINE_REFERENCE_H
#define TESTS_GPU_BASELINE_REFERENCE_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/dtype.h"
#include "evaluator/cuda/driver.h"

enum { REFERENCE_HEADS = 3, REFERENCE_ROWS = 12, REFERENCE_TENSORS = 9 };

struct reference_task {
    bool backward, causal;
    int64_t heads;
    size_t s, d;
    CUdeviceptr tensors[16]; /* of the problem: Q K V O LSE, or Q K V O dO L dQ dK dV */
};

/* One head on the host, as floats. */
struct reference_head {
    const struct reference_task *t;
    float *x[REFERENCE_TENSORS];
    double scale;
    double *p; /* a row or column of scores */
};
enum { REF_Q, REF_K, REF_V, REF_O, REF_DO, REF_LSE, REF_DQ, REF_DK, REF_DV };

/* Largest error and largest magnitude of an output so far. */
struct reference_error {
    double worst, top;
};

static inline void reference_see(struct reference_error *e, double got, double want)
{
    double error = fabs(got - want);
    e->worst = error <= e->worst ? e->worst : error;
    if (!(error <= e->worst)) /* no number */
        e->worst = INFINITY;
    e->top = fmax(e->top, fabs(want));
}

static inline double reference_dot(const float *a, const float *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

static inline bool reference_load(struct reference_head *h, size_t head)
{
    static const int forward[] = {REF_Q, REF_K, REF_V, REF_O, REF_LSE};
    size_t s = h->t->s, d = h->t->d, count = h->t->backward ? REFERENCE_TENSORS : 5;
    bool ok = true;
    for (size_t i = 0; i < count && ok; i++) {
        int which = h->t->backward ? (int)i : forward[i];
        bool sums = which == REF_LSE;
        size_t n = sums ? s : s * d, bytes = sums ? 4 : 2;
        uint16_t *raw = malloc(n * bytes);
        h->x[which] = malloc(n * sizeof(float));
        ok = raw && h->x[which] &&
             cu.MemcpyDtoH(raw, h->t->tensors[i] + head * n * bytes, n * bytes) == CUDA_SUCCESS;
        for (size_t j = 0; ok && j < n && !sums; j++)
            h->x[which][j] = bf16_to_float(raw[j]);
        if (ok && sums)
            memcpy(h->x[which], raw, n * sizeof(float));
        free(raw);
    }
    h->scale = 1 / sqrt((double)d);
    h->p = malloc(s * sizeof(double));
    return ok && h->p;
}

static inline void reference_free(struct reference_head *h)
{
    for (size_t i = 0; i < REFERENCE_TENSORS; i++)
        free(h->x[i]);
    free(h->p);
}

/* Row i: O and LSE, or dQ. */
static inline void reference_row(struct reference_head *h, size_t i, struct reference_error *e)
{
    size_t d = h->t->d, seen = h->t->causal ? i + 1 : h->t->s;
    double top = -INFINITY, sum = 0, lse;
    for (size_t j = 0; j < seen; j++) {
        h->p[j] = h->scale * reference_dot(h->x[REF_Q] + i * d, h->x[REF_K] + j * d, d);
        top = fmax(top, h->p[j]);
    }
    for (size_t j = 0; j < seen; j++)
        sum += exp(h->p[j] - top);
    lse = top + log(sum);
    if (!h->t->backward)
        reference_see(&e[1], (double)h->x[REF_LSE][i], lse);
    double delta = h->t->backward ? reference_dot(h->x[REF_DO] + i * d, h->x[REF_O] + i * d, d) : 0;
    for (size_t j = 0; j < seen; j++) {
        double p = exp(h->p[j] - lse);
        h->p[j] = !h->t->backward
                      ? p
                      : p * h->scale *
                            (reference_dot(h->x[REF_DO] + i * d, h->x[REF_V] + j * d, d) - delta);
    }
    for (size_t c = 0; c < d; c++) {
        const float *from = h->x[h->t->backward ? REF_K : REF_V];
        double want = 0;
        for (size_t j = 0; j < seen; j++)
            want += h->p[j] * (double)from[j * d + c];
        reference_see(&e[0], (double)h->x[h->t->backward ? REF_DQ : REF_O][i * d + c], want);
    }
}

/* Column j of the scores: dK and dV. */
static inline void reference_column(struct reference_head *h, size_t j, struct reference_error *e)
{
    size_t d = h->t->d, first = h->t->causal ? j : 0;
    double dk[256] = {0}, dv[256] = {0};
    for (size_t i = first; i < h->t->s; i++) {
        const float *q = h->x[REF_Q] + i * d, *d_o = h->x[REF_DO] + i * d;
        double p =
            exp(h->scale * reference_dot(q, h->x[REF_K] + j * d, d) - (double)h->x[REF_LSE][i]);
        double ds = p * h->scale *
                    (reference_dot(d_o, h->x[REF_V] + j * d, d) -
                     reference_dot(d_o, h->x[REF_O] + i * d, d));
        for (size_t c = 0; c < d; c++) {
            dk[c] += ds * (double)q[c];
            dv[c] += p * (double)d_o[c];
        }
    }
    for (size_t c = 0; c < d; c++) {
        reference_see(&e[1], (double)h->x[REF_DK][j * d + c], dk[c]);
        reference_see(&e[2], (double)h->x[REF_DV][j * d + c], dv[c]);
    }
}

/* errors[output] = largest error over the largest element. False if something cannot be read. */
static inline bool reference_compare(const struct reference_task *t, double errors[3])
{
    struct reference_error e[3] = {{0, 0}};
    bool ok = true;
    for (int k = 0; k < REFERENCE_HEADS && ok; k++) {
        struct reference_head h = {.t = t};
        size_t head = (size_t)(t->heads - 1) * (size_t)k / (REFERENCE_HEADS - 1);
        ok = reference_load(&h, head);
        for (size_t n = 0; n < REFERENCE_ROWS && ok; n++) { /* the first, the last, others */
            size_t i = n == 0 ? 0 : n == 1 ? t->s - 1 : n * 7919 % t->s;
            reference_row(&h, i, e);
            if (t->backward)
                reference_column(&h, i, e);
        }
        reference_free(&h);
    }
    for (int i = 0; i < 3; i++)
        errors[i] = e[i].top > 0 ? e[i].worst / e[i].top : 0;
    return ok;
}

#endif
