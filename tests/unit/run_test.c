// SPDX-License-Identifier: Apache-2.0
// What a run asks for: defaults, every fault with its path, and the messages that come of it.
#include <stdlib.h>

#include "tests/unit/domain.h"

#include "core/run.h"

#define HOME PTXBENCH_SOURCE_DIR
#define BASE "'problem': 'gemm', 'arch': 'sm_90a', 'provider': 'replay', 'model': 'm'"

static struct run_request accept(const char *members)
{
    char body[2048];
    struct faults faults = {0};
    struct run_request q;
    snprintf(body, sizeof(body), "{" BASE "%s%s}", *members ? ", " : "", members);
    json_t *document = quoted(body);
    if (!run_parse(&registry, HOME, document, &q, &faults)) {
        char first[2 * LIMIT_DETAIL];
        fail_msg("%s in %s", faults_first(&faults, first, sizeof(first)), body);
    }
    assert_false(faults_any(&faults));
    json_decref(document);
    return q;
}

static void defaults(void **state)
{
    (void)state;
    struct run_request q = accept("");
    assert_string_equal(q.workload->name, "m8192_n7168_k5120");
    assert_string_equal(q.device, "gpu");
    assert_string_equal(q.name, "");
    assert_string_equal(q.condition, "");
    assert_int_equal(q.per_variant, 4);
    assert_int_equal(q.turns, 8);
    assert_true(q.target_speedup == 1.2);
    assert_int_equal(q.history, HISTORY_FULL);
    assert_int_equal(q.style, FEEDBACK_FULL);
    assert_int_equal(json_object_size(q.params), 0);
    assert_int_equal(q.max_tokens, 0);
    assert_true(q.max_usd == 0);
    assert_false(q.is_private);
    run_release(&q);
    q = accept("'device': 'cpu'");
    assert_string_equal(q.workload->name, "small");
    run_release(&q);
    run_release(&(struct run_request){0});
}

/* No hint, then two hints: the three variants of the paper's runs. */
static void variants_of_each_problem(void **state)
{
    (void)state;
    static const struct {
        const char *problem, *arch, *variants;
    } rows[] = {
        {"gemm", "sm_90a", "complete gemm-multicast gemm-warps"},
        {"gemm", "sm_100a", "complete gemm-pair gemm-store"},
        {"mha_fwd", "sm_90a", "complete forward-overlap forward-turns"},
        {"mha_fwd_causal", "sm_100a", "complete forward-plain forward"},
        {"mha_bwd", "sm_90a", "backward-forward backward complete"},
        {"mha_bwd_causal", "sm_100a", "backward-pair backward complete"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char names[RUN_VARIANTS * (LIMIT_NAME + 2)] = "";
        struct faults faults = {0};
        struct run_request q;
        json_t *body = json_pack("{s:s, s:s, s:s, s:s}", "problem", rows[i].problem, "arch",
                                 rows[i].arch, "provider", "p", "model", "m");
        assert_true(run_parse(&registry, HOME, body, &q, &faults));
        for (size_t k = 0, n = 0; k < q.variant_count; k++)
            n +=
                (size_t)snprintf(names + n, sizeof(names) - n, "%s%s", k ? " " : "", q.variants[k]);
        assert_string_equal(names, rows[i].variants);
        run_release(&q);
        json_decref(body);
    }
}

static void what_was_asked_for(void **state)
{
    (void)state;
    struct run_request q = accept(
        "'workload': 'small', 'device': 'h200', 'name': 'mine\\u0007', 'condition': 'w/o rules', "
        "'variants': ['parameters', 'contract'], 'trajectories': 128, 'turns': 64, "
        "'target_speedup': 2, 'history': 'latest-pair', 'feedback': 'paper', 'params': "
        "{'temperature': 1, 'top_p': 0.95, 'effort': 'xhigh', 'max_tokens': 4096}, 'budget': "
        "{'tokens': 1000000, 'usd': 2.5}, 'visibility': 'private'");
    assert_string_equal(q.name, "mine?");
    assert_int_equal(q.variant_count, 2);
    assert_int_equal(q.history, HISTORY_LATEST_PAIR);
    assert_int_equal(q.style, FEEDBACK_PAPER);
    json_t *document = run_document(&q, HOME, NULL, NULL);
    assert_non_null(document);
    json_t *prompts = json_incref(json_object_get(document, "prompts"));
    json_object_del(document, "prompts");
    json_t *want = quoted(
        "{'problem': 'gemm', 'workload': 'small', 'arch': 'sm_90a', 'device': 'h200', 'name': "
        "'mine?', 'provider': 'replay', 'model': 'm', 'condition': 'w/o rules', 'variants': "
        "['parameters', 'contract'], 'trajectories': 128, 'turns': 64, 'target_speedup': 2.0, "
        "'history': 'latest-pair', 'feedback': 'paper', 'params': {'temperature': 1, 'top_p': "
        "0.95, "
        "'effort': 'xhigh', 'max_tokens': 4096}, 'budget': {'tokens': 1000000, 'usd': 2.5}, "
        "'visibility': 'private'}");
    assert_true(json_equal(document, want));
    assert_int_equal(json_array_size(prompts), 2);
    json_decref(document);
    json_decref(want);
    json_decref(prompts);
    run_release(&q);
}

/* A run is sent what the preview shows, cut where the problem begins. */
static void prompts_are_those_of_the_preview(void **state)
{
    (void)state;
    struct run_request q = accept("'variants': ['gemm-warps'], 'budget': {'tokens': null}");
    json_t *document = run_document(&q, HOME, NULL, NULL);
    json_t *prompt = json_array_get(json_object_get(document, "prompts"), 0);
    const char *system = json_string_value(json_object_get(prompt, "system"));
    const char *task = json_string_value(json_object_get(prompt, "task"));
    struct prompt_request request = {.home = HOME,
                                     .arch = q.arch,
                                     .problem = q.problem,
                                     .workload = q.workload,
                                     .variant = "gemm-warps"};
    struct prompt p;
    struct buf whole, joined;
    buf_init(&whole, 4 * MIB);
    buf_init(&joined, 4 * MIB);
    assert_int_equal(prompt_build(&request, &p, NULL), ERR_NONE);
    prompt_text(&p, &whole);
    buf_addf(&joined, "%s\n%s", system, task);
    assert_string_equal(joined.data, whole.data);
    assert_null(strstr(system, "Workload m8192_n7168_k5120"));
    assert_non_null(strstr(task, "Workload m8192_n7168_k5120"));
    assert_int_equal(json_integer_value(json_object_get(prompt, "tokens")), p.tokens);
    assert_true(json_is_true(json_object_get(prompt, "estimated")));
    assert_string_equal(json_string_value(json_object_get(prompt, "name")), "gemm-warps");
    assert_true(json_is_null(json_object_get(json_object_get(document, "budget"), "tokens")));
    assert_true(json_is_null(json_object_get(json_object_get(document, "budget"), "usd")));
    prompt_release(&p);
    buf_release(&whole);
    buf_release(&joined);
    json_decref(document);
    run_release(&q);
}

static void bad_requests(void **state)
{
    (void)state;
    static const struct {
        const char *body, *path, *detail;
    } rows[] = {
        {"7", "$", "must be an object"},
        {"{'arch': 'sm_90a', 'provider': 'p', 'model': 'm'}", "$.problem", "is required"},
        {"{'problem': 'gemm', 'provider': 'p', 'model': 'm'}", "$.arch", "is required"},
        {"{'problem': 'gemm', 'arch': 'sm_90a', 'model': 'm'}", "$.provider", "is required"},
        {"{'problem': 'gemm', 'arch': 'sm_90a', 'provider': 'p'}", "$.model", "is required"},
        {"{'problem': 'gem', 'arch': 'sm_90a'}", "$.problem", "there are: gemm, mha_bwd"},
        {"{'problem': 'gemm', 'arch': 'sm_80'}", "$.arch", "there are: sm_90a, sm_100a"},
        {"{" BASE ", 'workload': 'tiny'}", "$.workload", "'tiny' is not a workload of gemm"},
        {"{" BASE ", 'device': 'b200'}", "$.device", "'b200' is not a device of sm_90a"},
        {"{'problem': 'gemm', 'arch': 'sm_90a', 'provider': 'a/b'}", "$.provider",
         "must be a name of letters"},
        {"{'problem': 'gemm', 'arch': 'sm_90a', 'provider': 'a,b'}", "$.provider",
         "must be a name of letters"},
        {"{'problem': 'gemm', 'arch': 'sm_90a', 'model': 'a b'}", "$.model", "without blanks"},
        {"{" BASE ", 'url': 'http://127.0.0.1'}", "$.url", "is not a known field"},
        {"{" BASE ", 'variants': []}", "$.variants", "must be of 1 to 16 entries, not 0"},
        {"{" BASE ", 'variants': ['contract', 7]}", "$.variants[1]", "must be a string"},
        {"{" BASE ", 'variants': ['contract', 'contract']}", "$.variants[1]", "is named twice"},
        {"{" BASE ", 'variants': ['../contract']}", "$.variants[0]",
         "is not a prompt variant of sm_90a; there are: backward-forward, backward, complete"},
        {"{" BASE ", 'trajectories': 0}", "$.trajectories", "must be 1 to 256, not 0"},
        {"{" BASE ", 'trajectories': 86}", "$.trajectories",
         "86 trajectories of each of 3 variants are 258; a run has at most 256"},
        {"{" BASE ", 'turns': 65}", "$.turns", "must be 1 to 64, not 65"},
        {"{" BASE ", 'turns': 1.5}", "$.turns", "must be an integer"},
        {"{" BASE ", 'target_speedup': 0}", "$.target_speedup", "must be 0.01 to 1000, not 0"},
        {"{" BASE ", 'history': 'none'}", "$.history",
         "must be one of full, latest-pair, single-user"},
        {"{" BASE ", 'feedback': 'no'}", "$.feedback", "must be one of full, paper"},
        {"{" BASE ", 'params': {'temperature': 2.1}}", "$.params.temperature", "must be 0 to 2"},
        {"{" BASE ", 'params': {'top_p': -1}}", "$.params.top_p", "must be 0 to 1"},
        {"{" BASE ", 'params': {'effort': 'max'}}", "$.params.effort",
         "must be one of none, low, medium, high, xhigh"},
        {"{" BASE ", 'params': {'max_tokens': 0}}", "$.params.max_tokens", "must be 1 to"},
        {"{" BASE ", 'params': {'base_url': 'http://127.0.0.1'}}", "$.params.base_url",
         "is not a known field"},
        {"{" BASE ", 'params': []}", "$.params", "must be an object"},
        {"{" BASE ", 'budget': {'tokens': -1}}", "$.budget.tokens", "must be 0 to"},
        {"{" BASE ", 'budget': {'usd': -0.5}}", "$.budget.usd", "must be 0 to 1000000, not -0.5"},
        {"{" BASE ", 'budget': {'eur': 1}}", "$.budget.eur", "is not a known field"},
        {"{" BASE ", 'visibility': 'secret'}", "$.visibility", "must be one of public, private"},
        {"{" BASE ", 'name': 'a\\u0000'}", "$.name", "must not hold a NUL"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct faults faults = {0};
        struct run_request q;
        json_t *body = quoted(rows[i].body);
        assert_false(run_parse(&registry, HOME, body, &q, &faults));
        expect_fault(&faults, rows[i].path, rows[i].detail);
        run_release(&q);
        faults_release(&faults);
        json_decref(body);
    }
}

static void all_faults_in_one_answer(void **state)
{
    (void)state;
    struct faults faults = {0};
    struct run_request q;
    json_t *body =
        quoted("{'problem': 'x', 'arch': 'y', 'provider': ' ', 'model': ' ', 'turns': 0, "
               "'params': {'top_p': 7, 'temperature': 7}, 'more': 1}");
    assert_false(run_parse(&registry, HOME, body, &q, &faults));
    assert_int_equal(json_array_size(faults.items), 8);
    faults_release(&faults);
    run_release(&q);
    json_decref(body);
}

static void messages_have_a_name(void **state)
{
    (void)state;
    json_t *past = quoted("[{'answer': 'a', 'blocks': null, 'feedback': 'f'}, {'answer': 'b', "
                          "'blocks': [{'type': 'thinking'}], 'feedback': 'g'}]");
    json_t *got = run_messages(HISTORY_LATEST_PAIR, "s", "t", past);
    json_t *want =
        quoted("[{'role': 'system', 'content': 's'}, {'role': 'user', 'content': 't'}, "
               "{'role': 'assistant', 'content': 'b', 'blocks': [{'type': 'thinking'}]}, "
               "{'role': 'user', 'content': 'g'}]");
    char hex[SHA256_HEX];
    char *text = json_canonical(want);
    sha256_hex(text, strlen(text), hex);
    assert_true(json_equal(json_object_get(got, "messages"), want));
    assert_string_equal(json_string_value(json_object_get(got, "sha256")), hex);
    assert_int_equal(json_integer_value(json_object_get(got, "tokens")), messages_tokens(want));
    free(text);
    json_decref(got);
    json_decref(want);
    json_decref(past);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),
        cmocka_unit_test(variants_of_each_problem),
        cmocka_unit_test(what_was_asked_for),
        cmocka_unit_test(prompts_are_those_of_the_preview),
        cmocka_unit_test(bad_requests),
        cmocka_unit_test(all_faults_in_one_answer),
        cmocka_unit_test(messages_have_a_name),
    };
    return cmocka_run_group_tests_name("run", tests, registry_setup, registry_teardown);
}
