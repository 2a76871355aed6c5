// SPDX-License-Identifier: Apache-2.0
/* Every problem refuses answers that take no work, and the oracle is right: on the CPU device it
 * agrees with a plain loop in double precision. Needs no compiler: the oracle's PTX is part of the
 * tree. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/submission.h"
#include "core/util.h"
#include "evaluator/check_tensors.h"
#include "evaluator/lint.h"
#include "tests/unit/tiny_home.h"

static struct registry registry;

static void worthless_answers_fail(void **state)
{
    (void)state;
    for (size_t i = 0; i < registry.problems.count; i++) {
        const struct problem *p = &registry.problems.items[i];
        struct fault f = {0};
        json_t *rows = NULL;
        enum err e = problem_lint(p, p->cpu_workload, &registry.archs.items[0], &rows, &f);
        if (e != ERR_NONE)
            print_error("%s\n", f.detail);
        assert_int_equal(e, ERR_NONE);
        assert_true(json_array_size(rows) >= 5 * p->distribution_count);
        json_decref(rows);
    }
}

/* A problem whose tolerance covers its answers is the one that lint exists for. */
static void a_tolerant_problem_is_refused(void **state)
{
    (void)state;
    struct problem loose = *problems_find(&registry.problems, "gemm");
    struct fault f = {0};
    json_t *rows = NULL;
    loose.atol = 1e6;
    assert_int_equal(problem_lint(&loose, loose.cpu_workload, &registry.archs.items[0], &rows, &f),
                     ERR_INVALID);
    assert_non_null(strstr(f.detail, "accepts zeros"));
    json_decref(rows);
}

static void the_gemm_oracle_multiplies(void **state)
{
    (void)state;
    const struct problem *p = problems_find(&registry.problems, "gemm");
    struct buf ptx;
    char path[512];
    buf_init(&ptx, LIMIT_PTX);
    snprintf(path, sizeof(path), "%s/%s", p->folder, p->oracle_ptx);
    assert_int_equal(read_file(path, &ptx, NULL), ERR_NONE);
    struct check_request q = {.problem = p, .workload = p->cpu_workload,
                              .arch = &registry.archs.items[0], .oracle_ptx = ptx.data,
                              .oracle_ptx_len = ptx.len};
    struct tensors in, out;
    struct problem as_oracle;
    struct fault f = {0};
    assert_int_equal(tensors_init(&in, p, q.workload, NULL, &f), ERR_NONE);
    tensors_draw_inputs(&in, q.workload, &p->distributions[0], (struct seed){5, 6});
    if (oracle_run(&q, &in, &as_oracle, &out, &f) != ERR_NONE)
        fail_msg("%s", f.detail);
    int64_t m = q.workload->axes[0], n = q.workload->axes[1], k = q.workload->axes[2];
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t l = 0; l < k; l++)
                sum += dtype_load(DTYPE_bf16, in.data[0], (size_t)(i * k + l)) *
                       dtype_load(DTYPE_bf16, in.data[1], (size_t)(j * k + l));
            assert_true(fabs(sum - ((const double *)out.data[2])[i * n + j]) < 1e-9);
        }
    tensors_release(&out);
    tensors_release(&in);
    buf_release(&ptx);
}

static int set_up(void **state)
{
    (void)state;
    return tiny_home_make() && registry_load(&registry, home_dir(), NULL) == ERR_NONE ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    registry_release(&registry);
    tiny_home_remove();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worthless_answers_fail),
        cmocka_unit_test(a_tolerant_problem_is_refused),
        cmocka_unit_test(the_gemm_oracle_multiplies),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
