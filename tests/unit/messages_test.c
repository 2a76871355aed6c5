// SPDX-License-Identifier: Apache-2.0
// What a call carries of the past, under each policy, and whether it fits.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/messages.h"

static json_t *past(int turns)
{
    json_t *list = json_array();
    for (int i = 1; i <= turns; i++)
        json_array_append_new(
            list, json_pack("{s:o, s:o, s:o}", "answer", json_sprintf("a%d", i), "feedback",
                            json_sprintf("f%d", i), "blocks",
                            i == 2 ? json_pack("[{s:s}]", "type", "thinking") : json_null()));
    return list;
}

static void each_policy(void **state)
{
    static const struct {
        enum history h;
        int turns;
        const char *want;
    } cases[] = {
        {HISTORY_FULL, 0, "system:s|user:t"},
        {HISTORY_LATEST_PAIR, 0, "system:s|user:t"},
        {HISTORY_SINGLE_USER, 0, "system:s|user:t"},
        {HISTORY_FULL, 2, "system:s|user:t|assistant:a1|user:f1|assistant:a2+|user:f2"},
        {HISTORY_LATEST_PAIR, 2, "system:s|user:t|assistant:a2+|user:f2"},
        {HISTORY_SINGLE_USER, 2, "system:s|user:t\n\na1\n\nf1\n\na2\n\nf2"},
        {HISTORY_LATEST_PAIR, 3, "system:s|user:t|assistant:a3|user:f3"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        json_t *turns = past(cases[i].turns), *m;
        json_t *list = messages_build(cases[i].h, "s", "t", turns);
        char got[256] = "";
        size_t k, at = 0;
        json_array_foreach(list, k, m) at +=
            (size_t)snprintf(got + at, sizeof(got) - at, "%s%s:%s%s", k ? "|" : "",
                             json_string_value(json_object_get(m, "role")),
                             json_string_value(json_object_get(m, "content")),
                             json_object_get(m, "blocks") ? "+" : "");
        assert_string_equal(got, cases[i].want);
        json_decref(list);
        json_decref(turns);
    }
}

static void policies_have_names(void **state)
{
    (void)state;
    for (int h = HISTORY_FULL; h <= HISTORY_SINGLE_USER; h++)
        assert_int_equal(history_find(history_name((enum history)h)), h);
    assert_int_equal(history_find("none"), -1);
}

static void a_call_fits_or_not(void **state)
{
    json_t *none = past(0), *two = past(2);
    json_t *short_list = messages_build(HISTORY_FULL, "system text", "task", none);
    json_t *long_list = messages_build(HISTORY_FULL, "system text", "task", two);
    int64_t tokens = messages_tokens(short_list);
    (void)state;
    assert_true(tokens > 2 * MESSAGE_TOKENS);
    assert_true(messages_tokens(long_list) > tokens + 4 * MESSAGE_TOKENS);
    assert_true(messages_fit(short_list, tokens + 100, 100));
    assert_false(messages_fit(short_list, tokens + 99, 100));
    assert_true(messages_fit(long_list, 0, 1000000));
    json_decref(short_list);
    json_decref(long_list);
    json_decref(none);
    json_decref(two);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_policy),
        cmocka_unit_test(policies_have_names),
        cmocka_unit_test(a_call_fits_or_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
