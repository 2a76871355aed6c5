// SPDX-License-Identifier: Apache-2.0
// Submissions: defaults, every way in gives the same thing, and each fault with its path.
#include <limits.h>

#include "tests/unit/domain.h"

#define PLAN "{\"launches\": [{\"kernel\": \"k\", \"grid\": [\"num_sms\"], \"block\": [32]}]}"
#define LAUNCH "'launch': {'launches': [{'kernel': 'k', 'grid': ['num_sms'], 'block': [32]}]}"
#define CUDA "'source': '__global__ void k() {}'"
#define BASE "'problem': 'gemm', 'arch': 'sm_90a', "

static struct submission accept(const char *body)
{
    struct faults faults = {0};
    struct submission s;
    json_t *document = quoted(body);
    if (!submission_parse(&registry, document, &s, &faults)) {
        char first[2 * LIMIT_DETAIL];
        fail_msg("%s in %s", faults_first(&faults, first, sizeof(first)), body);
    }
    assert_false(faults_any(&faults));
    json_decref(document);
    return s;
}

static void defaults(void **state)
{
    (void)state;
    static const struct {
        const char *members;
        enum mode mode;
        const char *device, *workload, *lane;
        enum language language;
    } rows[] = {
        {CUDA, MODE_RANK, "gpu", "m8192_n7168_k5120", "sm_90a/gpu", LANGUAGE_CUDA},
        {CUDA ", 'device': 'cpu'", MODE_RANK, "cpu", "small", "sm_90a/cpu", LANGUAGE_CUDA},
        {CUDA ", 'mode': 'check'", MODE_CHECK, "cpu", "small", "sm_90a/cpu", LANGUAGE_CUDA},
        {CUDA ", 'mode': 'compile'", MODE_COMPILE, "cpu", "small", "sm_90a/cpu", LANGUAGE_CUDA},
        {CUDA ", 'mode': 'check', 'device': 'h200'", MODE_CHECK, "h200", "m8192_n7168_k5120",
         "sm_90a/h200", LANGUAGE_CUDA},
        {CUDA ", 'device': 'cpu', 'workload': 'm70_n5120_k5120'", MODE_RANK, "cpu",
         "m70_n5120_k5120", "sm_90a/cpu", LANGUAGE_CUDA},
        {"'source': '.version 8.0'", MODE_RANK, "gpu", "m8192_n7168_k5120", "sm_90a/gpu",
         LANGUAGE_PTX},
        {"'source': '// by me\\n /* and\\nme */\\n.version 8.0'", MODE_RANK, "gpu",
         "m8192_n7168_k5120", "sm_90a/gpu", LANGUAGE_PTX},
        {"'source': '// .version'", MODE_RANK, "gpu", "m8192_n7168_k5120", "sm_90a/gpu",
         LANGUAGE_CUDA},
        {"'source': '.version 8.0', 'language': 'cuda', 'label': null", MODE_RANK, "gpu",
         "m8192_n7168_k5120", "sm_90a/gpu", LANGUAGE_CUDA},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char body[1024], lane[LANE_TEXT];
        snprintf(body, sizeof(body), "{" BASE LAUNCH ", %s}", rows[i].members);
        struct submission s = accept(body);
        submission_lane(&s, lane);
        assert_int_equal(s.mode, rows[i].mode);
        assert_int_equal(s.language, rows[i].language);
        assert_string_equal(s.device, rows[i].device);
        assert_string_equal(s.workload->name, rows[i].workload);
        assert_string_equal(lane, rows[i].lane);
        assert_string_equal(s.label, "");
        assert_int_equal(json_array_size(s.options), 0);
        assert_int_equal(s.plan->launches[0].grid[0], 132);
        submission_release(&s);
    }
    submission_release(&(struct submission){0});
}

static void the_ways_in_agree(void **state)
{
    (void)state;
    static const char source[] = "/*ptxbench-launch " PLAN "*/\n__global__ void k() {}";
    json_t *query =
        quoted("{'problem': 'gemm', 'arch': 'sm_90a', 'device': 'cpu', 'label': 'me', 'options':"
               " '--use_fast_math,-maxrregcount=64', 'method': 'by\\u0007hand'}");
    struct submission bare, again;
    struct faults faults = {0};
    assert_true(submission_bare(&registry, source, strlen(source), query, &bare, &faults));
    assert_string_equal(bare.source, source);
    assert_int_equal(bare.source_len, strlen(source));
    assert_string_equal(bare.method, "by?hand");
    assert_int_equal(json_array_size(bare.options), 2);

    json_t *document = submission_document(&bare);
    assert_non_null(document);
    assert_null(json_object_get(document, "source"));
    /* A database may reorder members; the plan in the source must not count as a second one. */
    char *text = json_canonical(document);
    json_t *stored = json_parse(text, strlen(text), NULL);
    assert_true(
        submission_from_document(&registry, stored, source, strlen(source), &again, &faults));
    json_t *document2 = submission_document(&again);
    char *text2 = json_canonical(document2);
    assert_string_equal(text, text2);
    assert_string_equal(again.source, source);
    assert_int_equal(again.plan->launch_count, 1);

    json_t *body = json_deep_copy(document);
    json_object_del(body, "launch");
    json_object_set_new(body, "source", json_string(source));
    struct submission whole;
    assert_true(submission_parse(&registry, body, &whole, &faults));
    json_t *document3 = submission_document(&whole);
    assert_true(json_equal(document, document3));

    submission_release(&bare);
    submission_release(&again);
    submission_release(&whole);
    json_decref(query);
    json_decref(document);
    json_decref(document2);
    json_decref(document3);
    json_decref(stored);
    json_decref(body);
    free(text);
    free(text2);
}

static void bad_bodies(void **state)
{
    (void)state;
    static const struct {
        const char *body, *path, *detail;
    } rows[] = {
        {"[]", "$", "must be an object"},
        {"7", "$", "must be an object"},
        {"{" BASE LAUNCH "}", "$.source", "is required"},
        {"{" BASE LAUNCH ", 'source': null}", "$.source", "is required"},
        {"{" BASE CUDA ", 'launch': null}", "$.launch", "is required: here, or in the source"},
        {"{" BASE LAUNCH ", 'source': ''}", "$.source", "of 1 to 1048576 bytes, not 0"},
        {"{" BASE LAUNCH ", 'source': 7}", "$.source", "must be a string"},
        {"{" BASE LAUNCH ", 'source': 'a\\u0000b'}", "$.source", "must not hold a NUL"},
        {"{" BASE LAUNCH ", 'source': '\\ufeffint x;'}", "$.source",
         "must not begin with a byte order mark"},
        {"{'arch': 'sm_90a', " LAUNCH "," CUDA "}", "$.problem", "is required"},
        {"{'problem': 'gem', 'arch': 'sm_90a', " LAUNCH "," CUDA "}", "$.problem",
         "'gem' is not a problem here; there are: gemm"},
        {"{'problem': 'gemm', " LAUNCH "," CUDA "}", "$.arch", "is required"},
        {"{'problem': 'gemm', 'arch': 'sm_80', " LAUNCH "," CUDA "}", "$.arch",
         "there are: sm_90a, sm_100a"},
        {"{" BASE LAUNCH "," CUDA ", 'workload': 'm1'}", "$.workload",
         "is not a workload of gemm; there are: small"},
        {"{" BASE LAUNCH "," CUDA ", 'device': 'b200'}", "$.device",
         "there are: cpu, gpu, h100, h200"},
        {"{" BASE LAUNCH "," CUDA ", 'device': ''}", "$.device", "of 1 to 31 bytes"},
        {"{" BASE LAUNCH "," CUDA ", 'mode': 'race'}", "$.mode",
         "must be one of compile, check, rank"},
        {"{" BASE LAUNCH "," CUDA ", 'language': 'rust'}", "$.language",
         "must be one of cuda, ptx"},
        {"{" BASE LAUNCH "," CUDA ", 'surprise': 1}", "$.surprise", "is not a known field"},
        {"{" BASE LAUNCH "," CUDA ", 'options': '-O3'}", "$.options", "must be an array"},
        {"{" BASE LAUNCH "," CUDA ", 'options': ['-O3']}", "$.options[0]",
         "allowed: --use_fast_math, -maxrregcount=N (16 to 255)"},
        {"{" BASE LAUNCH "," CUDA ", 'options': [7]}", "$.options[0]", "is not allowed"},
        {"{" BASE LAUNCH "," CUDA ", 'options': ['--use_fast_math=true']}", "$.options[0]",
         "is not allowed"},
        {"{" BASE LAUNCH "," CUDA ", 'options': ['--use_fast_math\\u0000']}", "$.options[0]",
         "is not allowed"},
        {"{" BASE LAUNCH "," CUDA ", 'options': ['-maxrregcount=15']}", "$.options[0]",
         "is not allowed"},
        {"{" BASE LAUNCH "," CUDA ", 'options': ['-maxrregcount=256']}", "$.options[0]",
         "is not allowed"},
        {"{" BASE LAUNCH "," CUDA ", 'options': ['-maxrregcount= 64']}", "$.options[0]",
         "is not allowed"},
        {"{" BASE LAUNCH "," CUDA ", 'options': ['-maxrregcount=+64']}", "$.options[0]",
         "is not allowed"},
        {"{" BASE LAUNCH "," CUDA ", 'options': ['-maxrregcount=64x']}", "$.options[0]",
         "is not allowed"},
        {"{" BASE LAUNCH "," CUDA ", 'options': ['-maxrregcount=']}", "$.options[0]",
         "is not allowed"},
        {"{" BASE LAUNCH "," CUDA ", 'options': ['-maxrregcount=64', '-maxrregcount=32']}",
         "$.options[1]", "given twice"},
        {"{" BASE LAUNCH ", 'source': '.version 8', 'options': ['--use_fast_math']}",
         "$.options[0]", "does not apply to language ptx"},
        {"{" BASE CUDA "}", "$.launch", "is required: here, or in the source"},
        {"{" BASE CUDA ", 'launch': 'x'}", "$.launch", "must be an object"},
        {"{" BASE CUDA ", 'launch': {}}", "$.launch.launches", "is required"},
        {"{" BASE LAUNCH ", 'source': '/*ptxbench-launch {}*/'}", "$.launch", "which one?"},
        {"{" BASE "'source': '/*ptxbench-launch {}*/'}", "$.source#launch.launches", "is required"},
        {"{" BASE "'source': '/*ptxbench-launch {'}", "$.source", "is not closed"},
        {"{" BASE "'source': '.version 8', 'launch': {'defines': {'A': 1}, 'launches': [{'kernel': "
                  "'k', 'grid': [1],"
         " 'block': [1]}]}}",
         "$.launch.defines", "do not apply to language ptx"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct faults faults = {0};
        struct submission s;
        json_t *body = quoted(rows[i].body);
        assert_false(submission_parse(&registry, body, &s, &faults));
        if (!has_fault(&faults, rows[i].path, rows[i].detail))
            print_error("%s\n", rows[i].body);
        expect_fault(&faults, rows[i].path, rows[i].detail);
        assert_null(s.source); /* nothing is left to release */
        faults_release(&faults);
        json_decref(body);
    }
}

static void all_faults_in_one_answer(void **state)
{
    (void)state;
    struct faults faults = {0};
    struct submission s;
    json_t *body =
        quoted("{'problem': 'gemm', 'arch': 'sm_90a', 'mode': 'x', 'options': ['-G'], 'source': 1,"
               " 'launch': {'launches': [{'kernel': 'k{', 'grid': [0], 'args': [{'i32': 'Q'}]}]}}");
    assert_false(submission_parse(&registry, body, &s, &faults));
    static const char *const paths[] = {
        "$.mode",
        "$.options[0]",
        "$.source",
        "$.launch.launches[0].kernel",
        "$.launch.launches[0].grid[0]",
        "$.launch.launches[0].block",
        "$.launch.launches[0].args[0].i32",
    };
    for (size_t i = 0; i < COUNT_OF(paths); i++)
        expect_fault(&faults, paths[i], "");
    assert_int_equal(json_array_size(faults.items), COUNT_OF(paths));
    faults_release(&faults);
    json_decref(body);
}

static void bad_bare_sources(void **state)
{
    (void)state;
    static const struct {
        const char *source;
        size_t len;
        const char *detail;
    } rows[] = {
        {"", 0, "is required"},
        {NULL, 0, "is required"},
        {"a\0b", 3, "must not hold a NUL"},
        {"a\xff", 2, "must be UTF-8"},
        {"\xed\xa0\x80", 3, "must be UTF-8"},
        {"\xef\xbb\xbf.version 8.0", 15, "must not begin with a byte order mark"},
    };
    json_t *query = quoted("{'problem': 'gemm', 'arch': 'sm_90a'}");
    struct faults faults = {0};
    struct submission s;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_false(submission_bare(&registry, rows[i].source, rows[i].len, query, &s, &faults));
        expect_fault(&faults, "$.source", rows[i].detail);
        faults_release(&faults);
    }
    char *large = malloc(LIMIT_SOURCE + 1);
    memset(large, ' ', LIMIT_SOURCE + 1);
    assert_false(submission_bare(&registry, large, LIMIT_SOURCE + 1, query, &s, &faults));
    expect_fault(&faults, "$.source", "at most 1 MiB");
    faults_release(&faults);
    memcpy(large, "/*ptxbench-launch " PLAN "*/", sizeof("/*ptxbench-launch " PLAN "*/") - 1);
    assert_true(submission_bare(&registry, large, LIMIT_SOURCE, query, &s, &faults));
    assert_int_equal(s.source_len, LIMIT_SOURCE);
    submission_release(&s);
    json_object_set_new(query, "source", json_string("x"));
    assert_false(submission_bare(&registry, large, LIMIT_SOURCE, query, &s, &faults));
    expect_fault(&faults, "$.source", "given twice");
    faults_release(&faults);
    assert_false(submission_bare(&registry, large, LIMIT_SOURCE, NULL, &s, &faults));
    expect_fault(&faults, "$.problem", "is required");
    faults_release(&faults);
    json_decref(query);
    free(large);
}

/* The k-th allocation of the JSON library fails, for every k: nothing crashes, nothing leaks, and
 * what is accepted is whole. */
static long allocations_left;

static void *failing_malloc(size_t size)
{
    return allocations_left-- > 0 ? malloc(size) : NULL;
}

static void survives_lack_of_memory(void **state)
{
    (void)state;
    json_t *body =
        quoted("{" BASE CUDA ", 'options': ['--use_fast_math'], 'mode': 'check', " LAUNCH "}");
    json_t *bad = quoted("{'problem': 'x', 'arch': 'y', 'launch': {}, 'source': 7}");
    json_malloc_t malloc_before;
    json_free_t free_before;
    json_get_alloc_funcs(&malloc_before, &free_before);
    for (long k = 0; k < 40; k++) {
        struct faults faults = {0}, more = {0};
        struct submission s, t;
        json_set_alloc_funcs(failing_malloc, free);
        allocations_left = k;
        bool good = submission_parse(&registry, body, &s, &faults);
        allocations_left = k;
        bool worse = submission_parse(&registry, bad, &t, &more);
        allocations_left = LONG_MAX;
        assert_int_equal(good, !faults_any(&faults));
        assert_false(worse);
        assert_true(faults_any(&more)); /* a fault may lose its text, never itself */
        if (good) {
            assert_int_equal(s.plan->launch_count, 1);
            assert_int_equal(json_array_size(s.options), 1);
            submission_release(&s);
        }
        faults_release(&faults);
        faults_release(&more);
        json_set_alloc_funcs(malloc_before, free_before);
    }
    json_decref(body);
    json_decref(bad);
}

static void words(void **state)
{
    (void)state;
    assert_int_equal(language_find("ptx"), LANGUAGE_PTX);
    assert_int_equal(language_find("c"), -1);
    assert_int_equal(mode_find("rank"), MODE_RANK);
    assert_int_equal(mode_find(""), -1);
    assert_string_equal(mode_name(MODE_CHECK), "check");
    json_t *options = submission_options();
    assert_int_equal(json_array_size(options), 2);
    assert_string_equal(json_string_value(json_object_get(json_array_get(options, 1), "option")),
                        "-maxrregcount=");
    json_decref(options);
}

static void a_registry_without_a_home(void **state)
{
    (void)state;
    struct registry r;
    struct fault f = {0};
    assert_int_equal(registry_load(&r, "/nonexistent", &f), ERR_IO);
    registry_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),
        cmocka_unit_test(the_ways_in_agree),
        cmocka_unit_test(bad_bodies),
        cmocka_unit_test(all_faults_in_one_answer),
        cmocka_unit_test(bad_bare_sources),
        cmocka_unit_test(survives_lack_of_memory),
        cmocka_unit_test(words),
        cmocka_unit_test(a_registry_without_a_home),
    };
    return cmocka_run_group_tests_name("submission", tests, registry_setup, registry_teardown);
}
