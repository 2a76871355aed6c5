/* SPDX-License-Identifier: Apache-2.0
 * What a check makes before there is a module: inputs and answers are those that it would make
 * itself, and an answer cannot be read before its trial is judged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/submission.h"
#include "core/util.h"
#include "evaluator/check_ahead.h"

static struct registry registry;
static struct buf oracle;

static struct check_request request_of(const struct problem *p, const struct workload *w)
{
    char path[512];
    struct check_request q = {.problem = p, .workload = w, .arch = &registry.archs.items[0]};
    for (size_t i = 0; i < p->distribution_count; i++)
        q.seeds[i] = (struct seed){7, i};
    snprintf(path, sizeof path, "%s/%s", p->folder, p->oracle_ptx);
    buf_clear(&oracle);
    assert_int_equal(read_file(path, &oracle, NULL), ERR_NONE);
    q.oracle_ptx = oracle.data;
    q.oracle_ptx_len = oracle.len;
    return q;
}

/* Pieces of this process's memory that nobody may touch. */
struct closed {
    size_t from[4096], to[4096], count;
};

static void look(struct closed *c)
{
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    c->count = 0;
    while (c->count < 4096 && fgets(line, sizeof line, maps))
        if (strstr(line, " ---p ") &&
            sscanf(line, "%zx-%zx", &c->from[c->count], &c->to[c->count]) == 2)
            c->count++;
    fclose(maps);
}

/* Bytes that are closed now and were not then; a sanitizer keeps large pieces closed of its own. */
static size_t newly_closed(const struct closed *then)
{
    static struct closed now;
    size_t sum = 0;
    look(&now);
    for (size_t i = 0; i < now.count; i++) {
        bool old = false;
        for (size_t k = 0; k < then->count; k++)
            old |= now.from[i] < then->to[k] && then->from[k] < now.to[i];
        sum += old ? 0 : now.to[i] - now.from[i];
    }
    return sum;
}

static void same(const struct tensors *a, const struct tensors *b, enum tensor_role role)
{
    for (size_t i = 0; i < a->problem->tensor_count; i++)
        if (a->problem->tensors[i].role == role) {
            assert_int_equal(a->bytes[i], b->bytes[i]);
            assert_memory_equal(a->data[i], b->data[i], a->bytes[i]);
        }
}

static void one_problem(const char *name, const struct workload *w)
{
    const struct problem *p = problems_find(&registry.problems, name);
    struct check_request q = request_of(p, w);
    struct fault f = {0};
    struct tensors want, got, inputs, copied;
    struct problem as_oracle;
    static struct closed before;
    size_t answers = 0;
    look(&before);
    struct check_ahead *a = check_ahead_make(&q);
    assert_non_null(a);
    size_t closed = newly_closed(&before);
    assert_int_equal(tensors_init(&copied, p, q.workload, NULL, &f), ERR_NONE);
    assert_int_equal(tensors_init(&inputs, p, q.workload, NULL, &f), ERR_NONE);
    for (size_t n = 0; n < p->distribution_count; n++) {
        tensors_draw_inputs(&inputs, q.workload, &p->distributions[n], q.seeds[n]);
        assert_int_equal(tensors_derive_inputs(&q, &inputs, &f), ERR_NONE);
        assert_int_equal(oracle_run(&q, &inputs, &as_oracle, &want, &f), ERR_NONE);
        check_ahead_inputs(a, n, &copied);
        same(&inputs, &copied, TENSOR_INPUT);
        assert_true(check_ahead_open(a, n, &got));
        same(&want, &got, TENSOR_OUTPUT);
        for (size_t i = 0; i < p->tensor_count; i++)
            answers += p->tensors[i].role == TENSOR_OUTPUT ? got.bytes[i] : 0;
        tensors_release(&got);
        tensors_release(&want);
        check_ahead_close(a, n);
        assert_false(check_ahead_open(a, n, &got)); /* once and no more */
    }
    assert_true(closed >= answers);
    assert_true(newly_closed(&before) < answers / 2); /* guard pages of threads are closed, too */
    tensors_release(&inputs);
    tensors_release(&copied);
    check_ahead_free(a);
}

static void answers_are_those_of_the_oracle(void **state)
{
    (void)state;
    one_problem("gemm", &(struct workload){.name = "tiny", .axes = {93, 64, 128}});
    /* inputs that the oracle makes */
    one_problem("mha_bwd_causal", &(struct workload){.name = "tiny", .axes = {1, 2, 60, 32}});
}

static void what_is_too_large_is_left_to_the_check(void **state)
{
    (void)state;
    const struct problem *p = problems_find(&registry.problems, "gemm");
    const struct workload huge = {.name = "huge", .axes = {CHECK_AHEAD_BYTES / 128, 64, 128}};
    struct check_request q = request_of(p, &huge);
    assert_null(check_ahead_make(&q));
    q = request_of(p, p->cpu_workload);
    q.oracle_ptx = "nonsense";
    q.oracle_ptx_len = 8;
    assert_null(check_ahead_make(&q));
    check_ahead_free(NULL);
}

static int set_up(void **state)
{
    (void)state;
    buf_init(&oracle, LIMIT_PTX);
    return registry_load(&registry, home_dir(), NULL) == ERR_NONE ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    buf_release(&oracle);
    registry_release(&registry);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_those_of_the_oracle),
        cmocka_unit_test(what_is_too_large_is_left_to_the_check),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
