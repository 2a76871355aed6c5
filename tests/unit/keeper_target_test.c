// SPDX-License-Identifier: Apache-2.0
// What several launches have executed together, and how unknown stays unknown.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#ifdef HAVE_CUDA
#include "evaluator/cuda/keeper_target.h"

#define COUNTED(executed, warps, share, reason)                                                    \
    "{\"ok\": true, \"executed\": " executed ", \"families\": {\"gmma\": {\"warps\": " warps       \
    ", \"threads\": 32}}, \"tensor_share\": " share ", \"reason\": " reason "}"

static json_t *target(const char *answer)
{
    json_t *parsed = json_loads(answer, 0, NULL);
    assert_non_null(parsed);
    json_t *out = keeper_target_of(parsed);
    json_decref(parsed);
    return out;
}

/* The sum of two answers as canonical text. */
static void sum_is(const char *first, const char *second, const char *want)
{
    json_t *a = target(first), *b = target(second);
    assert_true(keeper_target_known(a));
    keeper_target_add(a, b);
    char *text = json_dumps(a, JSON_SORT_KEYS | JSON_COMPACT);
    assert_string_equal(text, want);
    free(text);
    json_decref(a);
    json_decref(b);
}

static void counts_add_up(void **state)
{
    (void)state;
    sum_is(
        COUNTED("false", "0", "0.0", "null"), COUNTED("true", "5", "0.75", "null"),
        "{\"executed\":true,\"families\":{\"gmma\":{\"threads\":64,\"warps\":5}},\"reason\":null,"
        "\"tensor_share\":0.75}");
    sum_is(
        COUNTED("true", "7", "0.25", "null"), COUNTED("false", "5", "0.5", "null"),
        "{\"executed\":true,\"families\":{\"gmma\":{\"threads\":64,\"warps\":12}},\"reason\":null,"
        "\"tensor_share\":0.75}");
}

static void one_without_a_share_leaves_none(void **state)
{
    (void)state;
    sum_is(COUNTED("true", "1", "0.25", "null"), COUNTED("true", "1", "null", "\"no shape\""),
           "{\"executed\":true,\"families\":{\"gmma\":{\"threads\":64,\"warps\":2}},\"reason\":"
           "\"no shape\","
           "\"tensor_share\":null}");
    sum_is(COUNTED("true", "1", "null", "\"no shape\""), COUNTED("true", "1", "0.25", "null"),
           "{\"executed\":true,\"families\":{\"gmma\":{\"threads\":64,\"warps\":2}},\"reason\":"
           "\"no shape\","
           "\"tensor_share\":null}");
}

static void one_unknown_makes_all_unknown(void **state)
{
    (void)state;
    sum_is(
        COUNTED("true", "1", "0.25", "null"),
        "{\"ok\": true, \"executed\": null, \"families\": null, \"tensor_share\": null, "
        "\"reason\": \"not permitted\"}",
        "{\"executed\":null,\"families\":null,\"reason\":\"not permitted\",\"tensor_share\":null}");
}

static void garbage_is_unknown(void **state)
{
    (void)state;
    json_t *t =
        target("{\"executed\": \"yes\", \"families\": 7, \"tensor_share\": [], \"reason\": 1}");
    assert_false(keeper_target_known(t));
    assert_string_equal(json_string_value(json_object_get(t, "reason")),
                        "the verifier gave no reason");
    json_decref(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_add_up),
        cmocka_unit_test(one_without_a_share_leaves_none),
        cmocka_unit_test(one_unknown_makes_all_unknown),
        cmocka_unit_test(garbage_is_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
#include <stdio.h>

int main(void)
{
    printf("1..0 # SKIP built without the headers of CUDA\n");
    return 0;
}
#endif
