// SPDX-License-Identifier: Apache-2.0
#include "evaluator/check_ahead.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ALIGN = 256 };

struct trial {
    struct tensors inputs;
    struct tensors answer; /* inputs as above, outputs in `pages` */
    unsigned char *pages;  /* NULL: forgotten */
};

struct check_ahead {
    struct problem as_oracle;
    size_t page_bytes; /* of the outputs of one answer */
    size_t count;
    struct trial trials[LIMIT_DISTRIBUTIONS];
};

static size_t tensor_bytes(const struct problem *p, const struct workload *w, size_t i)
{
    int64_t shape[LIMIT_DIMS];
    size_t bytes = (size_t)problem_shape(p, w, i, shape) * dtype_bytes(p->tensors[i].dtype);
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

/* Bytes of the tensors of one role; those of the input are the same for the oracle. */
static size_t role_bytes(const struct problem *p, const struct workload *w, bool outputs)
{
    size_t sum = 0;
    for (size_t i = 0; i < p->tensor_count; i++)
        if ((p->tensors[i].role == TENSOR_OUTPUT) == outputs)
            sum += tensor_bytes(p, w, i);
    return sum;
}

/* An answer without contents, in pages of its own. */
static bool lay_out(struct check_ahead *a, struct trial *t, const struct workload *w)
{
    const struct problem *p = &a->as_oracle;
    t->pages =
        mmap(NULL, a->page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (t->pages == MAP_FAILED) {
        t->pages = NULL;
        return false;
    }
    t->answer = (struct tensors){.problem = p};
    for (size_t i = 0, at = 0; i < p->tensor_count; i++) {
        int64_t shape[LIMIT_DIMS];
        t->answer.bytes[i] =
            (size_t)problem_shape(p, w, i, shape) * dtype_bytes(p->tensors[i].dtype);
        t->answer.data[i] = t->inputs.data[i];
        if (p->tensors[i].role == TENSOR_OUTPUT) {
            t->answer.data[i] = t->pages + at;
            at += tensor_bytes(p, w, i);
        }
    }
    return true;
}

static bool make_trial(struct check_ahead *a, const struct check_request *q, size_t n)
{
    struct trial *t = &a->trials[n];
    struct fault f;
    if (tensors_init(&t->inputs, q->problem, q->workload, NULL, &f) != ERR_NONE)
        return false;
    tensors_draw_inputs(&t->inputs, q->workload, &q->problem->distributions[n], q->seeds[n]);
    return tensors_derive_inputs(q, &t->inputs, &f) == ERR_NONE && lay_out(a, t, q->workload) &&
           oracle_answer(q, &t->answer, &f) == ERR_NONE &&
           mprotect(t->pages, a->page_bytes, PROT_NONE) == 0;
}

struct check_ahead *check_ahead_make(const struct check_request *request)
{
    struct check_request q = *request;
    struct check_ahead *a = calloc(1, sizeof(*a));
    if (!a)
        return NULL;
    problem_as_oracle(q.problem, &a->as_oracle);
    size_t page = (size_t)sysconf(_SC_PAGESIZE), count = q.problem->distribution_count;
    size_t answer = role_bytes(&a->as_oracle, q.workload, true);
    size_t one =
        answer + role_bytes(q.problem, q.workload, true) + role_bytes(q.problem, q.workload, false);
    a->page_bytes = (answer + page) / page * page;
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    q.threads = online > 1 ? (int)online - 1
                           : 1; /* the compiler's is the longer way: leave it a processor */
    bool ok = one <= CHECK_AHEAD_BYTES / count;
    for (; ok && a->count < count; a->count++)
        ok = make_trial(a, &q, a->count);
    if (ok)
        return a;
    check_ahead_free(a);
    return NULL;
}

void check_ahead_free(struct check_ahead *a)
{
    for (size_t i = 0; a && i < LIMIT_DISTRIBUTIONS; i++) {
        check_ahead_close(a, i);
        tensors_release(&a->trials[i].inputs);
    }
    free(a);
}

void check_ahead_inputs(const struct check_ahead *a, size_t trial, struct tensors *to)
{
    const struct problem *p = to->problem;
    for (size_t i = 0; i < p->tensor_count; i++)
        if (p->tensors[i].role == TENSOR_INPUT)
            memcpy(to->data[i], a->trials[trial].inputs.data[i], to->bytes[i]);
}

bool check_ahead_open(struct check_ahead *a, size_t trial, struct tensors *answer)
{
    struct trial *t = &a->trials[trial];
    if (!t->pages || mprotect(t->pages, a->page_bytes, PROT_READ) != 0)
        return false;
    *answer = t->answer;
    return true;
}

void check_ahead_close(struct check_ahead *a, size_t trial)
{
    if (a->trials[trial].pages)
        munmap(a->trials[trial].pages, a->page_bytes);
    a->trials[trial].pages = NULL;
}
