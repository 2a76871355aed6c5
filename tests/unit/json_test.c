// SPDX-License-Identifier: Apache-2.0
// JSON by field table: each kind, each bound, unknown members, and the parser's own refusals.
#include "tests/unit/domain.h"

struct target {
    const char *text;
    int choice;
    int64_t integer;
    double number;
    bool yes;
    json_t *object, *list, *any;
};

static const char *const choices[] = {"red", "green", NULL};

#define AT(member) offsetof(struct target, member)

static const struct json_field fields[] = {
    {"text", JSON_TEXT, true, AT(text), 1, 4, NULL},
    {"choice", JSON_CHOICE, false, AT(choice), 0, 0, choices},
    {"integer", JSON_INT64, false, AT(integer), -2, 5, NULL},
    {"number", JSON_DOUBLE, false, AT(number), 0, 0, NULL},
    {"yes", JSON_YESNO, false, AT(yes), 0, 0, NULL},
    {"object", JSON_MEMBER, false, AT(object), 0, 0, NULL},
    {"list", JSON_LIST, false, AT(list), 1, 2, NULL},
    {"any", JSON_VALUE, false, AT(any), 0, 0, NULL},
};

static void reads_every_kind(void **state)
{
    (void)state;
    struct faults faults = {0};
    struct target t = {0};
    json_t *v = quoted(
        "{'text': 'abcd', 'choice': 'green', 'integer': -2, 'number': 3, 'yes': true, 'object': {},"
        " 'list': [1, 2], 'any': 'x'}");
    assert_true(json_read(v, fields, COUNT_OF(fields), &t, "$", &faults));
    assert_string_equal(t.text, "abcd");
    assert_true(t.choice == 1 && t.integer == -2 && t.number == 3 && t.yes);
    assert_true(json_is_object(t.object) && json_array_size(t.list) == 2 && json_is_string(t.any));
    json_decref(v);
}

static void keeps_what_is_not_given(void **state)
{
    (void)state;
    struct faults faults = {0};
    struct target t = {.choice = 7, .integer = 9, .yes = true};
    json_t *v = quoted("{'text': 'a', 'choice': null, 'yes': null}");
    assert_true(json_read(v, fields, COUNT_OF(fields), &t, "$", &faults));
    assert_true(t.choice == 7 && t.integer == 9 && t.yes);
    json_decref(v);
}

static void names_every_fault(void **state)
{
    (void)state;
    static const struct {
        const char *json, *path, *detail;
    } rows[] = {
        {"7", "$.x", "must be an object"},
        {"{}", "$.x.text", "is required"},
        {"{'text': null}", "$.x.text", "is required"},
        {"{'text': 7}", "$.x.text", "must be a string"},
        {"{'text': ''}", "$.x.text", "must be of 1 to 4 bytes, not 0"},
        {"{'text': 'abcde'}", "$.x.text", "not 5"},
        {"{'text': 'a\\u0000b'}", "$.x.text", "must not hold a NUL"},
        {"{'text': 'a', 'choice': 'blue'}", "$.x.choice", "must be one of red, green, not 'blue'"},
        {"{'text': 'a', 'choice': 'red\\u0000'}", "$.x.choice", "must be one of"},
        {"{'text': 'a', 'choice': 1}", "$.x.choice", "must be a string"},
        {"{'text': 'a', 'integer': 6}", "$.x.integer", "must be -2 to 5, not 6"},
        {"{'text': 'a', 'integer': 1.0}", "$.x.integer", "must be an integer"},
        {"{'text': 'a', 'number': '1'}", "$.x.number", "must be a number"},
        {"{'text': 'a', 'yes': 1}", "$.x.yes", "must be true or false"},
        {"{'text': 'a', 'object': []}", "$.x.object", "must be an object"},
        {"{'text': 'a', 'list': []}", "$.x.list", "must be of 1 to 2 entries, not 0"},
        {"{'text': 'a', 'list': {}}", "$.x.list", "must be an array"},
        {"{'text': 'a', 'other': 1}", "$.x.other", "is not a known field"},
        {"{'text': 'a', 'te\\u001bxt': 1}", "$.x.te?xt", "is not a known field"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct faults faults = {0};
        struct target t = {0};
        json_t *v = quoted(rows[i].json);
        assert_false(json_read(v, fields, COUNT_OF(fields), &t, "$.x", &faults));
        expect_fault(&faults, rows[i].path, rows[i].detail);
        assert_int_equal(json_array_size(faults.items), 1);
        faults_release(&faults);
        json_decref(v);
    }
}

static void refuses_what_is_not_json(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "",
        "{",
        "{} x",
        "{'a': 1, 'a': 2}",
        "nan",
        "[1e999]",
        "[99999999999999999999]",
        "['\\ud800']",
        "[01]",
        "{'\\u0000': 1}",
        "[\xff]",
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char text[64];
        snprintf(text, sizeof(text), "%s", rows[i]);
        for (char *c = text; *c; c++)
            *c = *c == '\'' ? '"' : *c;
        struct fault f = {0};
        json_t *v = json_parse(text, strlen(text), &f);
        if (v)
            fail_msg("accepted %s", text);
        assert_int_equal(f.code, ERR_NOT_JSON);
        assert_non_null(strstr(f.detail, "line 1"));
    }
    enum { DEEP = 100000 };
    char *deep = malloc(DEEP);
    memset(deep, '[', DEEP);
    assert_null(json_parse(deep, DEEP, NULL));
    free(deep);
    json_t *number = json_parse("7", 1, NULL);
    assert_int_equal(json_integer_value(number), 7);
    json_decref(number);
}

static void canonical_is_independent_of_order(void **state)
{
    (void)state;
    json_t *a = quoted("{'b': [1, 2.5], 'a': {'y': null, 'x': 'z'}}");
    json_t *b = quoted("{ 'a' : {'x': 'z', 'y': null}, 'b': [1, 2.5] }");
    char *x = json_canonical(a), *y = json_canonical(b);
    assert_string_equal(x, y);
    assert_string_equal(x, "{\"a\":{\"x\":\"z\",\"y\":null},\"b\":[1,2.5]}");
    free(x);
    free(y);
    json_decref(a);
    json_decref(b);
}

static void paths(void **state)
{
    (void)state;
    assert_string_equal(json_at("$", "launch").text, "$.launch");
    assert_string_equal(json_at_index(json_at("$", "a").text, 12).text, "$.a[12]");
    char path[2 * JSON_PATH];
    memset(path, 'p', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    assert_int_equal(strlen(json_at(path, "x").text), JSON_PATH - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_kind),
        cmocka_unit_test(keeps_what_is_not_given),
        cmocka_unit_test(names_every_fault),
        cmocka_unit_test(refuses_what_is_not_json),
        cmocka_unit_test(canonical_is_independent_of_order),
        cmocka_unit_test(paths),
    };
    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
