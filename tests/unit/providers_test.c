// SPDX-License-Identifier: Apache-2.0
// The host's file of providers: what it may say, what is refused and where, and how keys are kept.
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/providers.h"

static const char good[] =
    "{\"providers\": {"
    " \"near\": {\"format\": \"openai_chat\", \"url\": \"http://127.0.0.1:8000/v1\", \"models\": "
    "{\"q\":"
    "  {\"max_output\": 100}}},"
    " \"far\": {\"format\": \"anthropic\", \"url\": \"https://api.example/v1\", \"key_env\": "
    "\"TEST_KEY\","
    "  \"models\": {\"m\": {\"context\": 200000, \"max_output\": 64000, \"price\": {\"input\": 5,"
    "  \"output\": 25}}}, \"concurrency\": 3, \"requests_per_minute\": 60, \"timeout_s\": 10},"
    " \"files\": {\"format\": \"replay\", \"folder\": \"/answers\", \"models\": {\"m\": "
    "{\"max_output\": 1}}},"
    " \"own\": {\"format\": \"script\", \"program\": [\"/bin/cat\", \"-\"], \"models\": {\"m\":"
    "  {\"max_output\": 1}}}}}";

static void a_good_file(void **state)
{
    json_t *document = json_loads(good, 0, NULL);
    struct providers p;
    struct faults faults = {0};
    (void)state;
    assert_true(providers_parse(document, &p, &faults));
    json_decref(document);
    assert_int_equal(p.count, 4);
    const struct provider *far = providers_find(&p, "far");
    assert_string_equal(far->url, "https://api.example/v1");
    assert_int_equal(far->concurrency, 3);
    const struct provider_model *m = provider_model(far, "m");
    assert_int_equal(m->context, 200000);
    assert_float_equal(m->prices.output, 25, 0);
    assert_true(m->prices.cached < 0);
    assert_null(provider_model(far, "other"));
    const struct provider *near = providers_find(&p, "near");
    assert_int_equal(near->concurrency, 8);
    assert_int_equal(near->timeout_s, 1800);
    assert_int_equal(provider_model(near, "q")->context, 0);
    assert_string_equal(providers_find(&p, "own")->program[1], "-");
    assert_null(providers_find(&p, "own")->program[2]);
    assert_null(providers_find(&p, "none"));
    providers_release(&p);
}

#define ONE(members) "{\"providers\": {\"p\": {" members "}}}"
#define MODELS "\"models\": {\"m\": {\"max_output\": 1}}"

static void bad_files_say_where(void **state)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"{}", "$.providers"},
        {"{\"providers\": {}}", "$.providers: must name 1 to 64"},
        {ONE(MODELS), "$.providers.p.format"},
        {ONE("\"format\": \"x\", " MODELS), "$.providers.p.format: is no format"},
        {ONE("\"format\": \"anthropic\", " MODELS), "$.providers.p.url: is needed"},
        {ONE("\"format\": \"anthropic\", \"url\": \"http://example.org\", " MODELS),
         "must be https://"},
        {ONE("\"format\": \"anthropic\", \"url\": \"http://localhost.evil.org/\", " MODELS),
         "must be https://"},
        {ONE("\"format\": \"anthropic\", \"url\": \"http://localhost:x@evil.org/\", " MODELS),
         "must be https://"},
        {ONE("\"format\": \"anthropic\", \"url\": \"file:///etc/passwd\", " MODELS),
         "must be https://"},
        {ONE("\"format\": \"replay\", \"folder\": \"/a\", \"url\": \"https://x\", " MODELS),
         "has no meaning"},
        {ONE("\"format\": \"replay\", " MODELS), "$.providers.p.folder: is needed"},
        {ONE("\"format\": \"script\", \"program\": [\"cat\"], " MODELS), "full path"},
        {ONE("\"format\": \"script\", \"program\": [\"/cat\", 1], " MODELS),
         "$.providers.p.program[1]"},
        {ONE("\"format\": \"replay\", \"folder\": \"/a\""), "$.providers.p.models"},
        {ONE("\"format\": \"replay\", \"folder\": \"/a\", \"models\": {}"),
         "must name 1 to 256 models"},
        {ONE("\"format\": \"replay\", \"folder\": \"/a\", \"models\": {\"m\": {}}"),
         "$.providers.p.models.m.max_output"},
        {ONE("\"format\": \"replay\", \"folder\": \"/a\", \"timeout_s\": 0, " MODELS), "timeout_s"},
        {ONE("\"format\": \"openai_chat\", \"url\": \"https://x\", \"key_env\": \"A\", "
             "\"key_file\": \"/a\", " MODELS),
         "one is enough"},
        {ONE("\"format\": \"openai_chat\", \"url\": \"https://x\", \"key\": \"sk-1\", " MODELS),
         "$.providers.p.key"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        json_t *document = json_loads(cases[i].text, 0, NULL);
        struct providers p;
        struct faults faults = {0};
        char first[LIMIT_DETAIL];
        assert_non_null(document);
        assert_false(providers_parse(document, &p, &faults));
        const char *text = faults_first(&faults, first, sizeof(first));
        if (!strstr(text, cases[i].want))
            fail_msg("case %zu: %s", i, text);
        assert_null(strstr(text, "sk-1"));
        faults_release(&faults);
        providers_release(&p);
        json_decref(document);
    }
}

static void keys_come_from_where_they_are_kept(void **state)
{
    char path[] = "/tmp/ptxbench-key.XXXXXX";
    int fd = mkstemp(path);
    struct provider env = {.name = "e", .key_env = "PTXBENCH_TEST_KEY"};
    struct provider file = {.name = "f", .key_file = path}, none = {.name = "n"};
    struct fault f = {0};
    struct buf key;
    (void)state;
    assert_true(fd >= 0 && write(fd, "secret \n", 8) == 8);
    close(fd);

    unsetenv("PTXBENCH_TEST_KEY");
    assert_int_equal(provider_key(&env, &key, &f), ERR_UNAVAILABLE);
    provider_key_wipe(&key);
    setenv("PTXBENCH_TEST_KEY", "k1", 1);
    assert_int_equal(provider_key(&env, &key, &f), ERR_NONE);
    assert_string_equal(key.data, "k1");
    provider_key_wipe(&key);
    setenv("PTXBENCH_TEST_KEY", "sec\nret", 1);
    assert_int_equal(provider_key(&env, &key, &f), ERR_INVALID);
    assert_null(strstr(f.detail, "ret"));
    provider_key_wipe(&key);
    unsetenv("PTXBENCH_TEST_KEY");

    assert_int_equal(provider_key(&file, &key, &f), ERR_NONE);
    assert_string_equal(key.data, "secret");
    provider_key_wipe(&key);
    chmod(path, 0644);
    assert_int_equal(provider_key(&file, &key, &f), ERR_FORBIDDEN);
    provider_key_wipe(&key);
    unlink(path);
    assert_int_equal(provider_key(&file, &key, &f), ERR_IO);
    provider_key_wipe(&key);

    assert_int_equal(provider_key(&none, &key, &f), ERR_NONE);
    assert_int_equal(key.len, 0);
    provider_key_wipe(&key);
}

static void files_are_read(void **state)
{
    char path[] = "/tmp/ptxbench-providers.XXXXXX";
    int fd = mkstemp(path);
    struct providers p;
    struct fault f = {0};
    (void)state;
    assert_true(fd >= 0 && write(fd, good, sizeof(good) - 1) == (ssize_t)sizeof(good) - 1);
    assert_int_equal(providers_load(path, &p, &f), ERR_NONE);
    assert_int_equal(p.count, 4);
    providers_release(&p);
    assert_int_equal(ftruncate(fd, 20), 0);
    assert_int_equal(providers_load(path, &p, &f), ERR_NOT_JSON);
    providers_release(&p);
    close(fd);
    unlink(path);
    assert_int_equal(providers_load(path, &p, &f), ERR_NOT_FOUND);
    providers_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_file),
        cmocka_unit_test(bad_files_say_where),
        cmocka_unit_test(keys_come_from_where_they_are_kept),
        cmocka_unit_test(files_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
