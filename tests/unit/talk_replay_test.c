// SPDX-License-Identifier: Apache-2.0
// Answers that are played back: which file is taken, what is told beside it, how it comes.
#include "talk_kit.h"

#include "agent/talk_replay.h"

static char folder[] = "/tmp/replay.XXXXXX";
static struct provider provider = {.name = "files", .format = "replay", .folder = folder};

static void put(const char *name, const char *text)
{
    put_file(folder, name, text, strlen(text), 0644);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    static const char *const names[] = {
        "0/1/2.md",   "0/2.md",     "2.md",     "9/9/0.json", "9/9/0.md", "9/9/1.json",
        "9/9/1.md",   "9/9/2.json", "9/9/2.md", "9/9/3.json", "9/9/3.md", "9/9/4.md",
        "9/9/5.json", "9/9/5.md",   "0/1",      "0",          "9/9",      "9"};
    char path[256];
    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        remove(path);
    }
    return rmdir(folder);
}

static void names(void **state)
{
    char path[REPLAY_PATH];
    (void)state;
    assert_true(replay_path(0, 0, 3, 7, "md", path));
    assert_string_equal(path, "0/3/7.md");
    assert_true(replay_path(1, 2, 3, 7, "json", path));
    assert_string_equal(path, "2/7.json");
    assert_true(replay_path(2, 2, 3, 7, "md", path));
    assert_string_equal(path, "7.md");
    assert_false(replay_path(3, 2, 3, 7, "md", path));
}

static void is_text(int variant, int trajectory, int turn, const char *text)
{
    struct told t = call(&provider, variant, trajectory, turn);
    assert_int_equal(t.end, TALK_ANSWERED);
    assert_int_equal(t.finish, LLM_STOP);
    assert_int_equal(t.usage.output, -1);
    assert_string_equal(t.text, text);
    told_release(&t);
}

static void the_most_exact_file_is_taken(void **state)
{
    (void)state;
    put("0/1/2.md", "exact");
    put("0/2.md", "of the variant");
    put("2.md", "of all");
    is_text(0, 1, 2, "exact");
    is_text(0, 7, 2, "of the variant");
    is_text(5, 7, 2, "of all");
}

static void a_missing_file_is_refused_by_its_name(void **state)
{
    struct told t = call(&provider, 4, 5, 6);
    (void)state;
    assert_int_equal(t.end, TALK_REFUSED);
    assert_string_equal(t.detail,
                        "provider files has no answer for this turn: there is no 4/5/6.md");
    told_release(&t);
}

static void what_is_told_beside(void **state)
{
    (void)state;
    put("9/9/0.md", "half a kern");
    put("9/9/0.json",
        "{\"finish\": \"length\", \"reasoning\": \"a\\u0000b\", \"usage\": {\"input\": 5,"
        " \"output\": 7, \"reasoning\": 2, \"cost_usd\": 0.5}}");
    struct told t = call(&provider, 9, 9, 0);
    assert_int_equal(t.end, TALK_ANSWERED);
    assert_int_equal(t.finish, LLM_LENGTH);
    assert_string_equal(t.reasoning, "a?b");
    assert_int_equal(t.usage.input, 5);
    assert_int_equal(t.usage.output, 7);
    assert_int_equal(t.usage.reasoning, 2);
    assert_int_equal(t.usage.cached, -1);
    assert_true(t.usage.cost_usd == 0.5);
    told_release(&t);
}

static void an_answer_that_breaks_off(void **state)
{
    (void)state;
    put("9/9/1.md", "half");
    put("9/9/1.json", "{\"finish\": \"none\", \"usage\": {\"input\": 5}}");
    struct told t = call(&provider, 9, 9, 1);
    assert_int_equal(t.end, TALK_CUT);
    assert_string_equal(t.text, "half");
    assert_int_equal(t.usage.input, -1); /* not all was told */
    told_release(&t);
}

static void a_delay_is_kept_and_filled(void **state)
{
    int64_t began = now_ms();
    (void)state;
    put("9/9/2.md", "\xe2\x80\xa6\xe2\x80\xa6\xe2\x80\xa6\xe2\x80\xa6\xe2\x80\xa6\xe2\x80\xa6");
    put("9/9/2.json", "{\"delay_ms\": 400}");
    struct told t = call(&provider, 9, 9, 2);
    assert_true(now_ms() - began >= 400);
    assert_true(t.steps >= 3);
    assert_int_equal(t.most % 3, 0); /* whole characters only */
    assert_int_equal(strlen(t.text), 18);
    told_release(&t);
}

static void nonsense_beside_is_refused_with_its_place(void **state)
{
    (void)state;
    put("9/9/3.md", "x");
    put("9/9/3.json", "{\"usage\": {\"input\": -1}}");
    struct told t = call(&provider, 9, 9, 3);
    assert_int_equal(t.end, TALK_REFUSED);
    assert_non_null(strstr(t.detail, "9/9/3.json: $.usage.input: "));
    told_release(&t);
    put("9/9/5.md", "x");
    put("9/9/5.json", "{");
    t = call(&provider, 9, 9, 5);
    assert_int_equal(t.end, TALK_REFUSED);
    told_release(&t);
}

static void bytes_that_are_no_text_become_text(void **state)
{
    static const char bytes[] = "a\xff"
                                "b\0c\xe2\x80"
                                "d\xc3";
    struct told t;
    (void)state;
    put_file(folder, "9/9/4.md", bytes, sizeof(bytes) - 1, 0644);
    t = call(&provider, 9, 9, 4);
    assert_int_equal(t.end, TALK_ANSWERED);
    assert_string_equal(t.text, "a?b?c??d?");
    told_release(&t);
}

static void a_call_can_be_cancelled_and_says_what_came(void **state)
{
    struct told told = {0}, other = {0};
    struct talker *t = talker_new(NULL);
    (void)state;
    put("9/9/2.json", "{\"delay_ms\": 400}");
    struct talk *k = kit_start(t, &provider, &told, 9, 9, 2);
    kit_start(t, &provider, &other, 9, 9, 2);
    assert_int_equal(talk_running(t), 2);
    for (int64_t until = now_ms() + 200; now_ms() < until;)
        talk_wait(t, NULL, 0, 20, NULL);
    size_t came = talk_answer(k)->text.len;
    assert_true(came > 0 && came < 18);
    talk_cancel(t, k);
    kit_wait(t, &other, 5000);
    assert_false(told.ended);
    told_release(&other);
    talker_free(t);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(the_most_exact_file_is_taken),
        cmocka_unit_test(a_missing_file_is_refused_by_its_name),
        cmocka_unit_test(what_is_told_beside),
        cmocka_unit_test(an_answer_that_breaks_off),
        cmocka_unit_test(a_delay_is_kept_and_filled),
        cmocka_unit_test(nonsense_beside_is_refused_with_its_place),
        cmocka_unit_test(bytes_that_are_no_text_become_text),
        cmocka_unit_test(a_call_can_be_cancelled_and_says_what_came),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
