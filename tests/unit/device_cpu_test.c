// SPDX-License-Identifier: Apache-2.0
/* What a launch plan can ask of the CPU device beyond one launch: scratch buffers of every kind,
 * offsets, structs by value, several launches, captures, the limits of time and work, and what is
 * not there yet. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "core/json.h"
#include "core/submission.h"
#include "core/util.h"
#include "evaluator/compile.h"
#include "evaluator/evaluate.h"
#include "tests/unit/tiny_home.h"

static struct registry registry;

/* Adds up in fp32 scratch, then rounds. `order` is made by a launch of its own; `table` holds
 * literals; `unset` must be poison, else the answer is wrong. */
static const char source[] =
    "struct Shape { unsigned short step; long long n; int k; };\n"
    "__device__ float widen(unsigned short v) { return __uint_as_float((unsigned)v << 16); }\n"
    "__global__ void fill(int *order, int m) {\n"
    "    for (int i = 0; i < m; i++) order[i] = m - 1 - i;\n"
    "}\n"
    "__global__ void multiply(const unsigned short *A, const unsigned short *B, float *sum,\n"
    "                         const int *order, const float *table, const float *unset, Shape s) {\n"
    "    int row = order[blockIdx.x], column = threadIdx.x;\n"
    "    for (int k = 0; k < s.k; k += s.step)\n"
    "        sum[row * s.n + column] += widen(A[row * s.k + k]) * widen(B[column * s.k + k]) * table[1];\n"
    "    if (*unset == *unset) sum[row * s.n + column] = -1;\n"
    "}\n"
    "__global__ void finish(const float *sum, unsigned short *C, int n, int *order) {\n"
    "    unsigned bits = __float_as_uint(sum[blockIdx.x * n + threadIdx.x]);\n"
    "    C[blockIdx.x * n + threadIdx.x] = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;\n"
    "    if (n < 0 || VANDAL) order[0] = 7;\n"
    "}\n";

/* The struct's first member is two bytes wide: an f16 whose bits are 1, so that `n` must be
 * aligned. table: 0, 0, 3, 1 as f32; the argument starts at its third element. */
static const char plan[] =
    "{\"defines\": {\"VANDAL\": %d},"
    " \"buffers\": {"
    "  \"sum\": {\"dtype\": \"f32\", \"shape\": [\"M\", \"N\"], \"init\": \"zero\"},"
    "  \"order\": {\"dtype\": \"i32\", \"shape\": [\"M\"], \"capture\": true, \"init\": {\"launch\":"
    "   {\"kernel\": \"fill\", \"grid\": [1], \"block\": [1], \"args\": [{\"buffer\": \"order\"}, {\"i32\": \"M\"}]}}},"
    "  \"table\": {\"dtype\": \"f32\", \"shape\": [4], \"init\": {\"data\": \"AAAAAAAAAAAAAEBAAACAPw==\"}},"
    "  \"unset\": {\"dtype\": \"f32\", \"shape\": [1]}},"
    " \"launches\": ["
    "  {\"kernel\": \"multiply\", \"grid\": [\"M\"], \"block\": [\"N\"], \"args\": [{\"tensor\": \"A\"},"
    "   {\"tensor\": \"B\"}, {\"buffer\": \"sum\"}, {\"buffer\": \"order\"}, {\"buffer\": \"table\", \"offset\": 2},"
    "   {\"buffer\": \"unset\"}, {\"struct\": [{\"f16\": 5.9604644775390625e-8}, {\"i64\": \"N\"}, {\"i32\": \"K\"}]}]},"
    "  {\"kernel\": \"finish\", \"grid\": [\"M\"], \"block\": [\"N\"], \"args\": [{\"buffer\": \"sum\"},"
    "   {\"tensor\": \"C\"}, {\"i32\": \"N\"}, {\"buffer\": \"order\"}]}]}";

static void run(const char *text, const char *plan_text, struct evaluation_limits limits,
                struct evaluation *e)
{
    struct submission s = {0};
    struct faults faults = {0};
    struct fault f = {0};
    json_t *launch = plan_text ? json_parse(plan_text, strlen(plan_text), &f) : NULL;
    if (plan_text && !launch)
        fail_msg("%s", f.detail);
    json_t *body = json_pack("{s:s, s:s, s:s, s:s, s:s, s:o*}", "problem", "gemm", "arch", "sm_90a",
                             "device", "cpu", "mode", "check", "source", text, "launch", launch);
    if (!submission_parse(&registry, body, &s, &faults)) {
        char first[LIMIT_DETAIL];
        fail_msg("%s", faults_first(&faults, first, sizeof(first)));
    }
    struct evaluation_request q = {.registry = &registry, .submission = &s, .device = "cpu",
                                   .limits = limits};
    assert_int_equal(evaluate(&q, NULL, e, NULL), ERR_NONE);
    submission_release(&s);
    json_decref(body);
}

static void expect(const struct evaluation *e, enum verdict verdict, const char *word)
{
    char *text = json_dumps(e->report, JSON_INDENT(1));
    if (e->verdict != verdict || !strstr(text, word))
        print_message("%s\n%s\n", text, e->log.data ? e->log.data : "");
    assert_string_equal(verdict_name(e->verdict), verdict_name(verdict));
    assert_non_null(strstr(text, word));
    free(text);
}

static void buffers_do_what_the_plan_says(void **state)
{
    (void)state;
    char text[4096];
    struct evaluation e;
    snprintf(text, sizeof(text), plan, 0);
    run(source, text, (struct evaluation_limits){0}, &e);
    expect(&e, VERDICT_PASSED, "\"strict\": true");
    assert_int_equal(e.capture.len, 93 * sizeof(int32_t));
    for (int i = 0; i < 93; i++) {
        int32_t got;
        memcpy(&got, e.capture.data + (size_t)i * sizeof(got), sizeof(got));
        assert_int_equal(got, 92 - i);
    }
    const json_t *captures = json_object_get(e.report, "captures");
    assert_int_equal(json_array_size(captures), 1);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(captures, 0), "bytes")), 93 * 4);
    evaluation_release(&e);
}

static void a_made_buffer_is_sealed(void **state)
{
    (void)state;
    char text[4096];
    struct evaluation e;
    snprintf(text, sizeof(text), plan, 1);
    run(source, text, (struct evaluation_limits){0}, &e);
    expect(&e, VERDICT_RUNTIME_ERROR, "read_only_write");
    const json_t *fault = json_array_get(json_object_get(e.report, "faults"), 0);
    assert_int_equal(json_integer_value(json_object_get(fault, "launch")), 1);
    assert_string_equal(json_string_value(json_object_get(fault, "tensor")), "order");
    evaluation_release(&e);
}

static const char endless[] =
    "/*ptxbench-launch {\"launches\": [{\"kernel\": \"spin\", \"grid\": [4], \"block\": [32], \"args\": "
    "[{\"tensor\": \"C\"}]}]} */\n"
    "__global__ void spin(volatile short *C) { while (C[0] != 1) C[threadIdx.x] = 0; }\n";

static void budgets_end_a_loop(void **state)
{
    (void)state;
    struct evaluation e;
    run(endless, NULL, (struct evaluation_limits){.thread_instructions = 100000}, &e);
    expect(&e, VERDICT_TIMEOUT, "budget");
    evaluation_release(&e);
    run(endless, NULL, (struct evaluation_limits){.check_ms = 5000}, &e);
    expect(&e, VERDICT_TIMEOUT, "ms");
    evaluation_release(&e);
}

/* Ours, not theirs: says which instruction, and where. */
static void unsupported_is_our_failure(void **state)
{
    (void)state;
    struct evaluation e;
    run("/*ptxbench-launch {\"launches\": [{\"kernel\": \"add\", \"grid\": [1], \"block\": [32], "
        "\"args\": [{\"tensor\": \"C\"}]}]} */\n"
        "__global__ void add(unsigned *C) {\n"
        "    asm volatile(\"multimem.red.relaxed.sys.global.add.u32 [%0], 1;\" :: \"l\"(C)); }\n",
        NULL, (struct evaluation_limits){0}, &e);
    expect(&e, VERDICT_INFRA_ERROR, "unsupported_instruction");
    expect(&e, VERDICT_INFRA_ERROR, "instruction multimem.red.relaxed.sys.global.add.u32 at line ");
    expect(&e, VERDICT_INFRA_ERROR, "\"line\": 3");
    evaluation_release(&e);
}

/* The runner got ready beside the compiler: it goes, and what it was given is not told. */
static void a_source_that_does_not_compile_leaves_no_runner(void **state)
{
    (void)state;
    struct evaluation e;
    run("/*ptxbench-launch {\"launches\": [{\"kernel\": \"k\", \"grid\": [1], \"block\": [32], "
        "\"args\": [{\"tensor\": \"C\"}]}]} */\n__global__ void k(unsigned *C) { nonsense }\n",
        NULL, (struct evaluation_limits){0}, &e);
    expect(&e, VERDICT_COMPILE_ERROR, "nonsense");
    assert_true(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
    assert_int_equal(json_array_size(json_object_get(e.report, "seeds")), 0);
    evaluation_release(&e);
}

static int set_up(void **state)
{
    (void)state;
    struct fault f = {0};
    if (!tiny_home_make() || registry_load(&registry, home_dir(), &f) != ERR_NONE) {
        print_error("%s\n", f.detail);
        return -1;
    }
    return 0;
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
    json_t *can = compile_capabilities();
    bool have_nvrtc = json_is_string(json_object_get(can, "nvrtc"));
    json_decref(can);
    if (!have_nvrtc) {
        print_message("skipped: NVRTC is not installed\n");
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffers_do_what_the_plan_says),
        cmocka_unit_test(a_source_that_does_not_compile_leaves_no_runner),
        cmocka_unit_test(a_made_buffer_is_sealed),
        cmocka_unit_test(budgets_end_a_loop),
        cmocka_unit_test(unsupported_is_our_failure),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
