// SPDX-License-Identifier: Apache-2.0
// The problems hold what the benchmark's paper holds; a document with any one mistake does not load.
#include "tests/unit/catalogue.h"

static void gemm(void **state)
{
    (void)state;
    const struct problem *p = problems_find(&registry.problems, "gemm");
    assert_non_null(p);
    assert_null(problems_find(&registry.problems, "gem"));
    assert_int_equal(p->tensor_count, 3);
    assert_int_equal(problem_tensor(p, "C"), 2);
    assert_int_equal(problem_tensor(p, "D"), -1);
    assert_string_equal(p->paper_workload->name, "m8192_n7168_k5120");
    assert_string_equal(p->cpu_workload->name, "small");
    int64_t shape[LIMIT_DIMS];
    assert_int_equal(problem_shape(p, p->paper_workload, 0, shape), INT64_C(8192) * 5120);
    assert_true(shape[0] == 8192 && shape[1] == 5120);
    assert_int_equal(problem_shape(p, p->cpu_workload, 2, shape), 512 * 512);
    assert_int_equal(problem_flops(p, p->paper_workload), INT64_C(601295421440));
    assert_int_equal(problem_bytes(p, p->cpu_workload), 2 * (2 * 512 * 256 + 512 * 512));
    assert_true(p->atol == 1e-2 && p->rtol == 1e-2 && p->tensors[2].strict_excess == 4e-4);
    assert_int_equal(p->distribution_count, 2);
    assert_true(p->distributions[1].exact && p->distributions[1].low == -16);
    assert_string_equal(p->redraw, "gemm_rows");
    assert_int_equal(p->tensors[2].oracle_dtype, DTYPE_f64);
    struct problem oracle;
    problem_as_oracle(p, &oracle);
    assert_int_equal(oracle.tensors[2].dtype, DTYPE_f64);
    assert_int_equal(oracle.tensors[0].dtype, DTYPE_bf16);
    assert_int_equal(p->tensors[2].dtype, DTYPE_bf16);
}

/* 82 workloads in 17 (N, K) pairs, each pair's largest M the paper's own, with a uuid. */
static void workloads(void **state)
{
    (void)state;
    const struct problem *p = problems_find(&registry.problems, "gemm");
    size_t pairs = 0;
    assert_int_equal(p->workload_count, 83);
    for (size_t i = 0; i < p->workload_count; i++) {
        const struct workload *w = &p->workloads[i];
        char name[LIMIT_NAME + 1];
        snprintf(name, sizeof(name), "m%lld_n%lld_k%lld", (long long)w->axes[0],
                 (long long)w->axes[1], (long long)w->axes[2]);
        if (w != p->cpu_workload)
            assert_string_equal(w->name, name);
        assert_ptr_equal(problem_workload(p, w->name), w);
        assert_int_equal(w->paper, w->uuid[0] != '\0');
        if (w->uuid[0])
            assert_true(uuid_is_valid(w->uuid));
        pairs += w->paper;
        for (size_t k = 0; k < p->workload_count; k++)
            if (w->paper && p->workloads[k].axes[1] == w->axes[1] &&
                p->workloads[k].axes[2] == w->axes[2])
                assert_true(p->workloads[k].axes[0] <= w->axes[0]);
    }
    assert_int_equal(pairs, 17);
    assert_string_equal(p->paper_workload->uuid, "94920358-01a8-4c5b-9209-3103fd490e94");
}

/* Number of workloads of each attention problem, and of those that are the paper's. */
static const struct {
    const char *name, *uuid; /* of s4096_d128 */
    size_t workloads, papers;
    int64_t flops;           /* of s4096_d128 */
} attention[] = {
    {"mha_fwd", "bc38b351-d595-451b-9153-8e225702e53b", 25, 7, INT64_C(1649267441664)},
    {"mha_fwd_causal", "6d2f67a7-225a-4af5-87d3-cbb99b496325", 25, 7, INT64_C(824633720832)},
    {"mha_bwd", "38c3b07c-f006-5f5e-9860-ba214c805a6b", 19, 12, INT64_C(4123168604160)},
    {"mha_bwd_causal", "c119b3f0-c051-5e96-9c2a-2268d992fe1a", 19, 12, INT64_C(2061584302080)},
};

static void attentions(void **state)
{
    (void)state;
    for (size_t n = 0; n < COUNT_OF(attention); n++) {
        const struct problem *p = problems_find(&registry.problems, attention[n].name);
        assert_non_null(p);
        const struct workload *paper = p->paper_workload;
        assert_string_equal(paper->name, "s4096_d128");
        assert_string_equal(paper->uuid, attention[n].uuid);
        assert_int_equal(problem_flops(p, paper), attention[n].flops);
        size_t papers = 0;
        for (size_t i = 0; i < p->workload_count; i++) {
            const struct workload *w = &p->workloads[i];
            char name[LIMIT_NAME + 1];
            snprintf(name, sizeof(name), "s%lld_d%lld", (long long)w->axes[2],
                     (long long)w->axes[3]);
            if (w != p->cpu_workload)
                assert_true(!strcmp(w->name, name) && w->axes[0] == 4 && w->axes[1] == 48);
            if (w->uuid[0])
                assert_true(uuid_is_valid(w->uuid));
            papers += w->paper;
        }
        assert_int_equal(p->workload_count, attention[n].workloads);
        assert_int_equal(papers, attention[n].papers);
        /* Every tensor once: that is the least traffic. */
        int64_t shape[LIMIT_DIMS], bytes = 0;
        for (size_t i = 0; i < p->tensor_count; i++) {
            const struct tensor_def *t = &p->tensors[i];
            bytes += problem_shape(p, paper, i, shape) * (int64_t)dtype_bytes(t->dtype);
            assert_int_equal(t->strict_excess > 0, t->role == TENSOR_OUTPUT);
        }
        assert_int_equal(problem_bytes(p, paper), bytes);
        assert_string_equal(p->redraw, "attention");
        assert_string_equal(p->distributions[0].name, "randn");
        assert_int_equal(p->distributions[1].kind, DISTRIBUTION_SPIKY);
        assert_true(p->distributions[1].spike_deviation == 10 && p->distributions[1].spikes == 66);
    }
}

static void derived(void **state)
{
    (void)state;
    const struct problem *p = problems_find(&registry.problems, "mha_bwd");
    struct problem derive, oracle;
    problem_as_derive(p, &derive);
    problem_as_oracle(p, &oracle);
    assert_non_null(p->derive_launch);
    for (size_t i = 0; i < p->tensor_count; i++) {
        const struct tensor_def *t = &p->tensors[i];
        bool made = !strcmp(t->name, "O") || !strcmp(t->name, "L");
        assert_int_equal(t->derived, made);
        assert_int_equal(derive.tensors[i].role, made ? TENSOR_OUTPUT : t->role);
        assert_int_equal(derive.tensors[i].dtype, t->dtype);
        assert_int_equal(oracle.tensors[i].dtype, t->role == TENSOR_OUTPUT ? DTYPE_f32 : t->dtype);
    }
    p = problems_find(&registry.problems, "gemm");
    assert_null(p->derive_launch);
}

static void variables(void **state)
{
    (void)state;
    const struct problem *p = problems_find(&registry.problems, "gemm");
    struct expr_var vars[LIMIT_AXES + 1];
    assert_int_equal(problem_vars(p, p->cpu_workload, 132, vars), 4);
    assert_string_equal(vars[2].name, "K");
    assert_int_equal(vars[2].value, 256);
    assert_string_equal(vars[3].name, "num_sms");
    assert_int_equal(vars[3].value, 132);
}

static void hold_mistakes(const char *problem, const struct broken *rows, size_t count)
{
    const struct problem *p = problems_find(&registry.problems, problem);
    for (size_t i = 0; i < count; i++) {
        json_t *document = json_deep_copy(p->document);
        char wrapped[64];
        snprintf(wrapped, sizeof(wrapped), "[%s]", rows[i].value ? rows[i].value : "0");
        json_t *list = quoted(wrapped);
        edit(document, rows[i].where, rows[i].value ? json_incref(json_array_get(list, 0)) : NULL);
        json_decref(list);
        char *text = json_dumps(document, 0);
        scratch_write("problems", problem, "problem.json", text);
        struct problems problems;
        struct fault f = {0};
        assert_int_equal(problems_load(&problems, scratch_home, &f), ERR_INVALID);
        if (!strstr(f.detail, rows[i].fault))
            fail_msg("%s=%s: '%s'", rows[i].where, rows[i].value, f.detail);
        assert_null(problems.items);
        free(text);
        json_decref(document);
        scratch_remove("problems", problem, "problem.json");
    }
}

static void mistakes(void **state)
{
    (void)state;
    static const struct broken rows[] = {
        {"title", NULL, "$.title: is required"},
        {"surprise", "1", "$.surprise: is not a known field"},
        {"axes.0", "'num_sms'", "'num_sms' is taken"},
        {"axes.1", "'M'", "'M' is taken"},
        {"axes.1", "3", "is not a name"},
        {"tensors.0.dtype", "'f8'", "'f8' is not a dtype"},
        {"tensors.1.name", "'A'", "tensor 'A' is given twice"},
        {"tensors.1.name", "'1B'", "is not a name"},
        {"tensors.0.role", "'output'", "inputs come before outputs"},
        {"tensors.2.role", "'input'", "must hold an input and an output"},
        {"tensors.0.shape.0", "'M/3'", "is not exact"},
        {"tensors.0.shape.0", "'num_sms'", "unknown name 'num_sms'"},
        {"tensors.0.shape.0", "'M-M'", "is 0, not 1 to"},
        {"tensors.0.shape.0", "'M*M*M*M'", "not 1 to"},
        {"tensors.0.shape.0", "7", "must be an expression"},
        {"tensors.0.shape", "[]", "$.tensors[0].shape"},
        {"workloads.3.name", "'small'", "workload 'small' is given twice"},
        {"workloads.3.axes.M", "0", "axis M must be 1 to"},
        {"workloads.3.axes.M", NULL, "axis M must be 1 to"},
        {"workloads.3.axes.Q", "1", "must give every axis and no other"},
        {"workloads.3.paper", "1", "$.workloads[3].paper: must be true or false"},
        {"default_workload", "'m1'", "'m1' is not a workload"},
        {"cpu_workload", "'m1'", "'m1' is not a workload"},
        {"flops", "'2*M*N*Q'", "unknown name 'Q'"},
        {"bytes", "'M-9000'", "bytes of"},
        {"rules.paper.atol", "-1", "must not be negative"},
        {"rules.strict", NULL, "$.rules.strict: is required"},
        {"rules.strict.cosine", "1", "$.rules.strict.cosine: is not a known field"},
        {"distributions.0.deviation", "0", "inputs must vary"},
        {"distributions.0.low", "1", "normal takes mean and deviation"},
        {"distributions.1.high", NULL, "integers take low and high"},
        {"distributions.1.high", "-16", "inputs must vary"},
        {"distributions.1.name", "'normal'", "given twice"},
        {"distributions.0.kind", "'cauchy'", "must be one of normal, integers, spiky"},
        {"distributions.0.spikes", "66", "normal takes mean and deviation"},
        {"rules.strict.excess", "-1", "must give 'C' a number, 0 or more"},
        {"tensors.2.derived", "true", "only an input is derived"},
        {"tensors.1.derived", "true", "'derive' belongs with derived tensors"},
        {"oracle.ptx", "'../gemm/oracle.ptx'", "must be a file of the problem's folder"},
        {"oracle.ptx", "'../common/.'", "must be a file of the problem's folder"},
        {"oracle.source", "'../../etc/passwd'", "must be a file of the problem's folder"},
        {"oracle.outputs.C", "'bf16'", "must give 'C' as f32 or f64"},
        {"oracle.outputs.C", NULL, "must give 'C' as f32 or f64"},
        {"oracle.outputs.A", "'f32'", "must name every output and nothing else"},
        {"oracle.launch", NULL, "$.oracle.launch: is required"},
    };
    static const struct broken of_attention[] = {
        {"oracle.derive", NULL, "'derive' belongs with derived tensors"},
        {"oracle.derive.launch", NULL, "$.oracle.derive.launch: is required"},
        {"oracle.derive.source", "'x.cu'", "$.oracle.derive.source: is not a known field"},
        {"rules.strict.excess.dQ", NULL, "must give 'dQ' a number, 0 or more"},
        {"rules.strict.excess.Q", "1", "must name every output and nothing else"},
        {"rules.strict.excess.dV", "'1'", "must give 'dV' a number, 0 or more"},
        {"distributions.1.spikes", "0", "must be 1 to 65535"},
        {"distributions.1.spikes", NULL, "spiky these and spikes"},
        {"distributions.1.spike_deviation", "0", "spikes must vary"},
        {"distributions.1.deviation", "0", "inputs must vary"},
    };
    hold_mistakes("gemm", rows, COUNT_OF(rows));
    hold_mistakes("mha_bwd", of_attention, COUNT_OF(of_attention));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gemm),
        cmocka_unit_test(workloads),
        cmocka_unit_test(attentions),
        cmocka_unit_test(derived),
        cmocka_unit_test(variables),
        cmocka_unit_test_setup_teardown(mistakes, scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests_name("problem", tests, registry_setup, registry_teardown);
}
