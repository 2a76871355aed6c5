// SPDX-License-Identifier: Apache-2.0
// Programs that answer, well and badly, and that nothing of them is left.
#include "talk_kit.h"

#include <errno.h>
#include <signal.h>

static char folder[] = "/tmp/script.XXXXXX", path[64];

/* Does what its first argument says. */
static const char script[] =
    "#!/bin/sh\n"
    "case $1 in\n"
    "plain) cat >/dev/null; printf 'An answer.\\n' ;;\n"
    "echo) cat ;;\n"
    "json) printf '%s' '{\"text\": \"a\\u0000b\", \"reasoning\": \"hm\", \"finish\": \"length\", "
    "\"usage\": {\"output\": 3}}' ;;\n"
    "cut) printf '%s' '{\"text\": \"half\", \"finish\": \"none\"}' ;;\n"
    "wrong) printf '%s' '{\"text\": \"x\", \"finish\": \"perhaps\"}' ;;\n"
    "object) printf '%s' '{\"no\": \"text\"}' ;;\n"
    "bytes) printf 'a\\377b' ;;\n"
    "fails) echo first >&2; echo \"no luck with $TEST_KEY\" >&2; echo >&2; exit 3 ;;\n"
    "dies) kill -SEGV $$ ;;\n"
    "slow) sleep 60 & echo $! >\"$2/child\"; wait ;;\n"
    "leaves) sleep 60 & echo $! >\"$2/child\"; echo done ;;\n"
    "deaf) exec </dev/null; echo heard nothing ;;\n"
    "flood) exec yes ;;\n"
    "noise) yes | head -c 300000 >&2; echo quiet >&2; exit 1 ;;\n"
    "environment) env | cut -d = -f 1 | sort | tr '\\n' ' ' ;;\n"
    "esac\n";

static struct provider program(const char *word)
{
    return (struct provider){
        .name = "own", .format = "script", .program = {path, word, folder}, .timeout_s = 10};
}

static int make_script(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof(path), "%s/script", folder);
    put_file(folder, "script", script, sizeof(script) - 1, 0755);
    setenv("PTXBENCH_DATABASE", "host=secret", 1);
    return 0;
}

static int remove_script(void **state)
{
    char child[80];
    (void)state;
    snprintf(child, sizeof(child), "%s/child", folder);
    remove(child);
    remove(path);
    return rmdir(folder);
}

/* The process that the script started itself, which must be gone in a moment. */
static void child_is_gone(void)
{
    char name[80];
    struct buf b;
    buf_init(&b, 100);
    snprintf(name, sizeof(name), "%s/child", folder);
    assert_int_equal(read_file(name, &b, NULL), ERR_NONE);
    pid_t pid = (pid_t)strtol(b.data, NULL, 10);
    assert_true(pid > 1);
    buf_release(&b);
    snprintf(name, sizeof(name), "/proc/%d/stat", pid);
    for (int i = 0; i < 100; i++) {
        buf_init(&b, 4096);
        enum err e = read_file(name, &b, NULL);
        bool gone = e != ERR_NONE || strstr(b.data, ") Z");
        buf_release(&b);
        if (gone)
            return;
        usleep(20000);
    }
    fail_msg("process %d lives", pid);
}

static struct told run(const char *word)
{
    struct provider p = program(word);
    return call(&p, 0, 0, 0);
}

static void ends(const char *word, enum talk_end end, const char *text, const char *detail)
{
    struct told t = run(word);
    assert_int_equal(t.end, end);
    assert_string_equal(t.text, text);
    if (detail)
        assert_non_null(strstr(t.detail, detail));
    told_release(&t);
}

static void answers(void **state)
{
    (void)state;
    ends("plain", TALK_ANSWERED, "An answer.\n", NULL);
    ends("deaf", TALK_ANSWERED, "heard nothing\n", NULL);
    ends("object", TALK_ANSWERED, "{\"no\": \"text\"}", NULL);
    ends("bytes", TALK_ANSWERED, "a?b", NULL);
    ends("cut", TALK_CUT, "half", "broke off");
    struct told t = run("json");
    assert_int_equal(t.end, TALK_ANSWERED);
    assert_string_equal(t.text, "a?b");
    assert_string_equal(t.reasoning, "hm");
    assert_int_equal(t.finish, LLM_LENGTH);
    assert_int_equal(t.usage.output, 3);
    told_release(&t);
}

static void it_is_told_what_is_asked(void **state)
{
    struct told t = run("echo");
    (void)state;
    json_t *got = json_loads(t.text, 0, NULL);
    json_t *messages = kit_messages();
    assert_non_null(got);
    assert_string_equal(json_string_value(json_object_get(got, "model")), "m");
    assert_int_equal(json_integer_value(json_object_get(got, "max_output")), 100);
    assert_true(json_equal(json_object_get(got, "messages"), messages));
    json_decref(messages);
    json_decref(got);
    told_release(&t);
}

static void failures(void **state)
{
    (void)state;
    ends("dies", TALK_BROKEN, "", "was killed by signal 11");
    ends("wrong", TALK_BROKEN, "x", "$.finish");
    ends("flood", TALK_BROKEN, "", "wrote more than 8 MiB");
    ends("noise", TALK_BROKEN, "", "ended with status 1: quiet");
    struct provider none = program("plain");
    none.program[0] = "/nonexistent/program";
    struct told t = call(&none, 0, 0, 0);
    assert_int_equal(t.end, TALK_REFUSED);
    told_release(&t);
}

static void a_key_is_not_in_the_reason(void **state)
{
    struct provider p = program("fails");
    (void)state;
    setenv("TEST_KEY", "sk-0123456789", 1);
    p.key_env = "TEST_KEY";
    struct told t = call(&p, 0, 0, 0);
    assert_int_equal(t.end, TALK_BROKEN);
    assert_non_null(strstr(t.detail, "ended with status 3: no luck with ***"));
    assert_null(strstr(t.detail, "0123456789"));
    told_release(&t);
}

static void it_sees_little_of_our_environment(void **state)
{
    struct provider p = program("environment");
    (void)state;
    setenv("TEST_KEY", "sk-0123456789", 1);
    p.key_env = "TEST_KEY";
    struct told t = call(&p, 0, 0, 0);
    assert_non_null(strstr(t.text, "PATH "));
    assert_non_null(strstr(t.text, "TEST_KEY "));
    assert_null(strstr(t.text, "PTXBENCH"));
    told_release(&t);
}

static void its_time_is_up(void **state)
{
    struct provider p = program("slow");
    int64_t began = now_ms();
    (void)state;
    p.timeout_s = 1;
    struct told t = call(&p, 0, 0, 0);
    assert_true(now_ms() - began < 5000);
    assert_int_equal(t.end, TALK_BROKEN);
    assert_non_null(strstr(t.detail, "took longer than 1 s"));
    told_release(&t);
    child_is_gone();
}

static void what_it_leaves_running_is_ended(void **state)
{
    int64_t began = now_ms();
    (void)state;
    ends("leaves", TALK_ANSWERED, "done\n", NULL);
    assert_true(now_ms() - began < 10000);
    child_is_gone();
}

static void a_call_that_is_cancelled_is_killed(void **state)
{
    struct provider p = program("slow");
    struct told told = {0};
    struct talker *t = talker_new(NULL);
    char child[80];
    (void)state;
    snprintf(child, sizeof(child), "%s/child", folder);
    remove(child);
    struct talk *k = kit_start(t, &p, &told, 0, 0, 0);
    for (int i = 0; i < 500 && access(child, F_OK); i++)
        talk_wait(t, NULL, 0, 20, NULL);
    usleep(20000);
    talk_cancel(t, k);
    assert_false(told.ended);
    assert_int_equal(talk_running(t), 0);
    talker_free(t);
    child_is_gone();
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers),
        cmocka_unit_test(it_is_told_what_is_asked),
        cmocka_unit_test(failures),
        cmocka_unit_test(a_key_is_not_in_the_reason),
        cmocka_unit_test(it_sees_little_of_our_environment),
        cmocka_unit_test(its_time_is_up),
        cmocka_unit_test(what_it_leaves_running_is_ended),
        cmocka_unit_test(a_call_that_is_cancelled_is_killed),
    };
    return cmocka_run_group_tests(tests, make_script, remove_script);
}
