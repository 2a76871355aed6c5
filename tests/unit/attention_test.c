// SPDX-License-Identifier: Apache-2.0
/* The attention problems: their oracle against a model in double, at shapes that fill no tile; that
 * model's gradients against finite differences; what is derived; and that the exact transforms of
 * their redraws commute with the oracle, bit for bit. On the CPU device, by the PTX in the tree. */
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/submission.h"
#include "core/util.h"
#include "evaluator/check_tensors.h"
#include "evaluator/lint.h"
#include "tests/unit/attention_model.h"

static struct registry registry;
static struct buf oracle_ptx;

static const char *const names[] = {"mha_fwd", "mha_fwd_causal", "mha_bwd", "mha_bwd_causal"};

/* ---- running the oracle at a shape ---- */

struct ran {
    const struct problem *problem;
    struct problem as_oracle;
    struct workload workload;
    struct check_request request;
    struct tensors in, out; /* they share the inputs */
};

static void open_run(struct ran *r, const char *name, const int64_t axes[4], size_t distribution,
                     struct seed seed)
{
    struct fault f = {0};
    *r = (struct ran){.problem = problems_find(&registry.problems, name)};
    assert_non_null(r->problem);
    memcpy(r->workload.axes, axes, 4 * sizeof(*axes));
    r->request = (struct check_request){.problem = r->problem,
                                        .workload = &r->workload,
                                        .arch = &registry.archs.items[0],
                                        .oracle_ptx = oracle_ptx.data,
                                        .oracle_ptx_len = oracle_ptx.len};
    assert_int_equal(tensors_init(&r->in, r->problem, &r->workload, NULL, &f), ERR_NONE);
    tensors_draw_inputs(&r->in, &r->workload, &r->problem->distributions[distribution], seed);
    if (tensors_derive_inputs(&r->request, &r->in, &f) != ERR_NONE)
        fail_msg("%s: %s", name, f.detail);
}

static void run_oracle(struct ran *r)
{
    struct fault f = {0};
    tensors_release(&r->out);
    if (oracle_run(&r->request, &r->in, &r->as_oracle, &r->out, &f) != ERR_NONE)
        fail_msg("%s: %s", r->problem->name, f.detail);
}

static void close_run(struct ran *r)
{
    tensors_release(&r->out);
    tensors_release(&r->in);
}

static size_t tensor_of(const struct ran *r, const char *name)
{
    int i = problem_tensor(r->problem, name);
    assert_true(i >= 0);
    return (size_t)i;
}

static size_t elements_of(const struct ran *r, size_t i)
{
    int64_t shape[LIMIT_DIMS];
    return (size_t)problem_shape(r->problem, &r->workload, i, shape);
}

static void read_tensor(const struct ran *r, const char *name, double *to)
{
    size_t i = tensor_of(r, name);
    for (size_t e = 0; e < elements_of(r, i); e++)
        to[e] = dtype_load(r->problem->tensors[i].dtype, r->in.data[i], e);
}

/* ---- the oracle against the model ---- */

static struct attention model_of(const struct ran *r)
{
    const int64_t *x = r->workload.axes;
    struct attention a = {.B = (int)x[0],
                          .H = (int)x[1],
                          .S = (int)x[2],
                          .D = (int)x[3],
                          .causal = strstr(r->problem->name, "causal") != NULL};
    attention_open(&a);
    read_tensor(r, "Q", a.Q);
    read_tensor(r, "K", a.K);
    read_tensor(r, "V", a.V);
    return a;
}

static double distance(const float *got, const double *want, size_t n)
{
    double error = 0, norm = 0;
    for (size_t i = 0; i < n; i++) {
        error += ((double)got[i] - want[i]) * ((double)got[i] - want[i]);
        norm += want[i] * want[i];
    }
    return sqrt(error / norm);
}

static void close_to(const struct ran *r, const char *name, const double *want)
{
    size_t i = tensor_of(r, name);
    double far = distance(r->out.data[i], want, elements_of(r, i));
    if (!(far < 5e-6))
        fail_msg("%s: %s is off by %.2g", r->problem->name, name, far);
}

/* The derived inputs are the model's answer, O rounded to bf16. */
static void derived_is_forward(const struct ran *r, const struct attention *a)
{
    double *got = calloc(attention_elements(a), sizeof(*got));
    size_t off = 0;
    read_tensor(r, "O", got);
    for (size_t e = 0; e < attention_elements(a); e++) {
        double rounded = (double)bf16_to_float(bf16_from_double(a->O[e]));
        assert_true(fabs(got[e] - a->O[e]) <= 0.0041 * fabs(a->O[e]) + 1e-6);
        off += got[e] != rounded; /* the oracle's own error can tip a tie */
    }
    assert_true(off < attention_elements(a) / 500 + 2);
    read_tensor(r, "L", got);
    for (size_t e = 0; e < attention_rows(a); e++)
        assert_true(fabs(got[e] - a->LSE[e]) < 1e-5 * (1 + fabs(a->LSE[e])));
    free(got);
}

static void hold_against_model(const char *name, const int64_t axes[4], size_t distribution)
{
    struct ran r;
    open_run(&r, name, axes, distribution, (struct seed){7, (uint64_t)axes[3]});
    run_oracle(&r);
    struct attention a = model_of(&r);
    attention_forward(&a);
    if (r.problem->derive_launch) {
        derived_is_forward(&r, &a);
        read_tensor(&r, "O", a.O);
        read_tensor(&r, "L", a.LSE);
        read_tensor(&r, "dO", a.dO);
        attention_backward(&a);
        close_to(&r, "dQ", a.dQ);
        close_to(&r, "dK", a.dK);
        close_to(&r, "dV", a.dV);
    } else {
        close_to(&r, "O", a.O);
        close_to(&r, "LSE", a.LSE);
    }
    attention_close(&a);
    close_run(&r);
}

static void oracles_agree_with_a_model(void **state)
{
    (void)state;
    static const struct {
        int64_t axes[4];
        size_t distribution, problems; /* the first ones of `names` */
    } rows[] = {
        {{1, 2, 100, 64}, 0, 4},
        {{2, 1, 65, 96}, 1, 4},
        {{1, 1, 70, 256}, 0, 2},
        {{1, 1, 128, 128}, 1, 2},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        for (size_t n = 0; n < rows[i].problems; n++)
            hold_against_model(names[n], rows[i].axes, rows[i].distribution);
}

/* A single key: O is V, LSE its score. */
static void one_key_is_copied(void **state)
{
    (void)state;
    struct ran r;
    open_run(&r, "mha_fwd", (const int64_t[]){1, 1, 1, 64}, 0, (struct seed){1, 2});
    run_oracle(&r);
    const float *o = r.out.data[tensor_of(&r, "O")];
    double v[64];
    read_tensor(&r, "V", v);
    for (int i = 0; i < 64; i++)
        assert_true((double)o[i] == v[i]);
    close_run(&r);
}

/* ---- the model's gradients against finite differences ---- */

/* What dQ, dK, dV are the gradient of: the sum of O times dO. */
static double loss(struct attention *a, const double *dO)
{
    double sum = 0;
    attention_forward(a);
    for (size_t i = 0; i < attention_elements(a); i++)
        sum += a->O[i] * dO[i];
    return sum;
}

static void gradients_are_differences(void **state)
{
    (void)state;
    static const struct distribution normal = {.kind = DISTRIBUTION_NORMAL, .deviation = 1};
    for (int causal = 0; causal < 2; causal++) {
        struct attention a = {.B = 1, .H = 2, .S = 9, .D = 5, .causal = causal};
        attention_open(&a);
        size_t n = attention_elements(&a);
        double *inputs[] = {a.Q, a.K, a.V}, *gradients[] = {a.dQ, a.dK, a.dV};
        for (unsigned i = 0; i < 3; i++)
            inputs_fill((struct seed){3, 4}, &normal, i, DTYPE_f64, inputs[i], (int64_t)n);
        inputs_fill((struct seed){3, 4}, &normal, 4, DTYPE_f64, a.dO, (int64_t)n);
        attention_forward(&a);
        attention_backward(&a);
        for (size_t t = 0; t < 3; t++)
            for (size_t i = 0; i < n; i += 7) {
                double was = inputs[t][i], h = 1e-5;
                inputs[t][i] = was + h;
                double above = loss(&a, a.dO);
                inputs[t][i] = was - h;
                double below = loss(&a, a.dO);
                inputs[t][i] = was;
                assert_true(fabs((above - below) / (2 * h) - gradients[t][i]) < 1e-7);
            }
        attention_close(&a);
    }
}

/* ---- the transforms of the redraws (evaluator/cuda/redraw.h) ---- */

enum columns { AS_THEY_ARE, SIGNS_OF_QUERIES, SIGNS_OF_VALUES };

static const struct {
    const char *tensor;
    enum columns columns;
} transform[] = {
    {"Q", SIGNS_OF_QUERIES}, {"K", SIGNS_OF_QUERIES},  {"V", SIGNS_OF_VALUES},
    {"O", SIGNS_OF_VALUES},  {"LSE", AS_THEY_ARE},     {"L", AS_THEY_ARE},
    {"dO", SIGNS_OF_VALUES}, {"dQ", SIGNS_OF_QUERIES}, {"dK", SIGNS_OF_QUERIES},
    {"dV", SIGNS_OF_VALUES},
};

/* Heads permuted, the same way for every tensor; columns negated. `bytes`: of an element. */
static void transform_tensor(const struct ran *r, size_t i, size_t bytes, const void *from,
                             void *to)
{
    size_t heads = (size_t)(r->workload.axes[0] * r->workload.axes[1]);
    size_t n = elements_of(r, i), each = n / heads, D = (size_t)r->workload.axes[3];
    enum columns columns = AS_THEY_ARE;
    for (size_t t = 0; t < COUNT_OF(transform); t++)
        if (!strcmp(transform[t].tensor, r->problem->tensors[i].name))
            columns = transform[t].columns;
    for (size_t e = 0; e < n; e++) {
        size_t source = (e / each + 1) % heads * each + e % each;
        unsigned char *out = (unsigned char *)to + e * bytes;
        memcpy(out, (const unsigned char *)from + source * bytes, bytes);
        uint64_t bits = columns == SIGNS_OF_QUERIES ? 0x9e3779b97f4a7c15 : 0xc2b2ae3d27d4eb4f;
        if (columns != AS_THEY_ARE && bits >> (e % D % 61) & 1)
            out[bytes - 1] ^= 0x80;
    }
}

static void redraws_commute_with_the_oracle(void **state)
{
    (void)state;
    const int64_t axes[] = {2, 2, 66, 32};
    for (size_t n = 0; n < COUNT_OF(names); n++) {
        struct ran base, moved;
        open_run(&base, names[n], axes, n % 2, (struct seed){11, 12});
        open_run(&moved, names[n], axes, n % 2, (struct seed){13, 14});
        assert_string_equal(base.problem->redraw, "attention");
        for (size_t i = 0; i < base.problem->tensor_count; i++)
            if (base.problem->tensors[i].role == TENSOR_INPUT)
                transform_tensor(&base, i, dtype_bytes(base.problem->tensors[i].dtype),
                                 base.in.data[i], moved.in.data[i]);
        run_oracle(&base);
        run_oracle(&moved);
        for (size_t i = 0; i < base.problem->tensor_count; i++) {
            if (base.problem->tensors[i].role != TENSOR_OUTPUT)
                continue;
            size_t n_elements = elements_of(&base, i), size = n_elements * sizeof(float);
            const float *got = moved.out.data[i];
            float *want = malloc(size);
            transform_tensor(&base, i, sizeof(float), base.out.data[i], want);
            for (size_t e = 0; e < n_elements; e++)
                assert_true(got[e] == want[e]); /* 0 has no sign */
            assert_memory_not_equal(got, base.out.data[i], size);
            free(want);
        }
        close_run(&moved);
        close_run(&base);
    }
}

static void worthless_answers_fail(void **state)
{
    (void)state;
    const struct workload w = {.name = "tiny", .axes = {1, 2, 60, 32}};
    for (size_t n = 0; n < COUNT_OF(names); n++) {
        const struct problem *p = problems_find(&registry.problems, names[n]);
        json_t *rows = NULL;
        struct fault f = {0};
        if (problem_lint(p, &w, &registry.archs.items[0], &rows, &f) != ERR_NONE)
            fail_msg("%s", f.detail);
        assert_true(json_array_size(rows) >= 2 * 7 * 2);
        json_decref(rows);
    }
}

/* What is derived from transformed inputs is the transform of what is derived. */
static void derived_inputs_are_redrawn_alike(void **state)
{
    (void)state;
    const int64_t axes[] = {2, 2, 66, 32};
    struct ran base, moved;
    struct fault f = {0};
    open_run(&base, "mha_bwd_causal", axes, 1, (struct seed){11, 12});
    open_run(&moved, "mha_bwd_causal", axes, 1, (struct seed){13, 14});
    for (size_t i = 0; i < base.problem->tensor_count; i++) {
        const struct tensor_def *t = &base.problem->tensors[i];
        if (t->role == TENSOR_INPUT && !t->derived)
            transform_tensor(&base, i, dtype_bytes(t->dtype), base.in.data[i], moved.in.data[i]);
    }
    assert_int_equal(tensors_derive_inputs(&moved.request, &moved.in, &f), ERR_NONE);
    for (size_t i = 0; i < base.problem->tensor_count; i++) {
        const struct tensor_def *t = &base.problem->tensors[i];
        if (!t->derived)
            continue;
        void *want = malloc(base.in.bytes[i]);
        transform_tensor(&base, i, dtype_bytes(t->dtype), base.in.data[i], want);
        assert_memory_equal(moved.in.data[i], want, base.in.bytes[i]);
        free(want);
    }
    close_run(&moved);
    close_run(&base);
}

/* ---- */

static int set_up(void **state)
{
    (void)state;
    char path[PATH_MAX];
    if (registry_load(&registry, home_dir(), NULL) != ERR_NONE)
        return -1;
    const struct problem *p = problems_find(&registry.problems, "mha_fwd");
    buf_init(&oracle_ptx, LIMIT_PTX);
    snprintf(path, sizeof(path), "%s/%s", p ? p->folder : "", p ? p->oracle_ptx : "");
    return p && read_file(path, &oracle_ptx, NULL) == ERR_NONE ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    buf_release(&oracle_ptx);
    registry_release(&registry);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(oracles_agree_with_a_model),
        cmocka_unit_test(one_key_is_copied),
        cmocka_unit_test(gradients_are_differences),
        cmocka_unit_test(redraws_commute_with_the_oracle),
        cmocka_unit_test(worthless_answers_fail),
        cmocka_unit_test(derived_inputs_are_redrawn_alike),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
