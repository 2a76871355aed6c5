// SPDX-License-Identifier: Apache-2.0
#include "evaluator/lint.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "core/util.h"
#include "evaluator/check_tensors.h"

struct lint {
    struct check_request request; /* problem, workload, arch, oracle */
    const struct distribution *distribution;
    struct tensors got, want, other; /* the answer under trial; right ones for two seeds */
    json_t *rows;
    struct fault *fault;
};

/* An answer that takes no work: fills output `i` of l->got. `input` is for copies. */
typedef void answer_function(struct lint *l, size_t i, int64_t n, size_t input);

static void fill(struct lint *l, size_t i, int64_t n, double value)
{
    for (int64_t e = 0; e < n; e++)
        dtype_store(l->got.problem->tensors[i].dtype, l->got.data[i], (size_t)e, value);
}

static void zeros(struct lint *l, size_t i, int64_t n, size_t input)
{
    (void)input;
    fill(l, i, n, 0);
}

static void ones(struct lint *l, size_t i, int64_t n, size_t input)
{
    (void)input;
    fill(l, i, n, 1);
}

static void mean(struct lint *l, size_t i, int64_t n, size_t input)
{
    (void)input;
    double sum = 0;
    for (int64_t e = 0; e < n; e++)
        sum += dtype_load(l->want.problem->tensors[i].dtype, l->want.data[i], (size_t)e);
    fill(l, i, n, n ? sum / (double)n : 0);
}

static void other_seed(struct lint *l, size_t i, int64_t n, size_t input)
{
    (void)input;
    for (int64_t e = 0; e < n; e++)
        dtype_store(l->got.problem->tensors[i].dtype, l->got.data[i], (size_t)e,
                    dtype_load(l->other.problem->tensors[i].dtype, l->other.data[i], (size_t)e));
}

static void input_copy(struct lint *l, size_t i, int64_t n, size_t input)
{
    const struct tensor_def *in = &l->got.problem->tensors[input];
    int64_t have = (int64_t)(l->got.bytes[input] / dtype_bytes(in->dtype));
    for (int64_t e = 0; e < n; e++)
        dtype_store(l->got.problem->tensors[i].dtype, l->got.data[i], (size_t)e,
                    dtype_load(in->dtype, l->got.data[input], (size_t)(e % have)));
}

static const struct {
    const char *name;
    answer_function *make;
    bool per_input;
} answers[] = {
    {"zeros", zeros, false},
    {"ones", ones, false},
    {"mean of the answer", mean, false},
    {"answer to another seed", other_seed, false},
    {"copy of an input", input_copy, true},
};

static enum err try_answer(struct lint *l, size_t a, size_t i, size_t input)
{
    int64_t shape[LIMIT_DIMS];
    struct compare_task task =
        tensors_task(&l->got, &l->want, l->request.workload, l->distribution, i, shape);
    struct compare_result r;
    int64_t n = problem_shape(l->got.problem, l->request.workload, i, shape);
    answers[a].make(l, i, n, input);
    enum err e = compare(&task, &r, l->fault);
    if (e != ERR_NONE)
        return e;
    json_t *row = json_pack("{s:s, s:s, s:s, s:I, s:I, s:b}", "distribution",
                            l->distribution->name, "answer", answers[a].name, "tensor", task.name,
                            "bad", (json_int_t)r.bad, "elements", (json_int_t)r.elements, "passes",
                            r.paper);
    json_array_append_new(l->rows, row);
    if (r.paper)
        e = fault_set(l->fault, ERR_INVALID, "problem %s accepts %s as tensor %s on %s inputs",
                      l->got.problem->name, answers[a].name, task.name, l->distribution->name);
    return e;
}

static enum err try_answers(struct lint *l)
{
    const struct problem *p = l->request.problem;
    enum err e = ERR_NONE;
    for (size_t i = 0; i < p->tensor_count; i++)
        for (size_t a = 0; a < COUNT_OF(answers) && p->tensors[i].role == TENSOR_OUTPUT; a++)
            for (size_t input = 0; input < (answers[a].per_input ? p->tensor_count : 1); input++) {
                bool fits = !answers[a].per_input || p->tensors[input].role == TENSOR_INPUT;
                if (e == ERR_NONE && fits)
                    e = try_answer(l, a, i, input);
            }
    return e;
}

/* The oracle's answer to one seed, whose inputs stay in l->got. */
static enum err answer_seed(struct lint *l, struct seed seed, struct problem *as_oracle,
                            struct tensors *answer)
{
    const struct check_request *q = &l->request;
    tensors_draw_inputs(&l->got, q->workload, l->distribution, seed);
    enum err e = tensors_derive_inputs(q, &l->got, l->fault);
    if (e == ERR_NONE)
        e = oracle_run(q, &l->got, as_oracle, answer, l->fault);
    return e;
}

/* The oracle's answers to two seeds, then every answer against the first. */
static enum err lint_distribution(struct lint *l)
{
    struct problem as_oracle;
    enum err e = answer_seed(l, (struct seed){1, 2}, &as_oracle, &l->other);
    if (e == ERR_NONE)
        e = answer_seed(l, (struct seed){3, 4}, &as_oracle, &l->want);
    if (e == ERR_NONE)
        e = try_answers(l);
    tensors_release(&l->want);
    tensors_release(&l->other);
    return e;
}

enum err problem_lint(const struct problem *p, const struct workload *w, const struct arch *a,
                      json_t **rows, struct fault *f)
{
    char path[PATH_MAX];
    struct buf oracle;
    struct lint l = {.request = {.problem = p, .workload = w, .arch = a}, .rows = json_array(),
                     .fault = f};
    buf_init(&oracle, LIMIT_PTX);
    snprintf(path, sizeof(path), "%s/%s", p->folder, p->oracle_ptx);
    enum err e = read_file(path, &oracle, f);
    l.request.oracle_ptx = oracle.data;
    l.request.oracle_ptx_len = oracle.len;
    if (e == ERR_NONE)
        e = tensors_init(&l.got, p, w, NULL, f);
    for (size_t d = 0; d < p->distribution_count && e == ERR_NONE; d++) {
        l.distribution = &p->distributions[d];
        e = lint_distribution(&l);
    }
    tensors_release(&l.got);
    buf_release(&oracle);
    *rows = l.rows;
    return e;
}
