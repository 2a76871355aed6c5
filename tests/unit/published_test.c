// SPDX-License-Identifier: Apache-2.0
// From a table of turns and the rules to the document that is stored.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/published.h"

#define HEADING                                                                                    \
    "outcome,model,gpu,definition,run,trajectory,turn,reasoning_tokens,speedup,target_"            \
    "instruction\n"

static const char rules_text[] =
    "{\"source\": \"a test\", \"turns_per_trajectory\": 8, \"trajectories_per_variant\": 2,"
    " \"gpus\": {\"H\": \"Hopper\"}, \"models\": {\"m + notes\": {\"model\": \"m\", \"condition\": "
    "\"notes\"}},"
    " \"definitions\": {\"d\": {\"problem\": \"p\", \"workload\": \"w\"}},"
    " \"selections\": [{\"run\": \"cut-*\", \"why\": \"one of two\", \"cells\": [{\"variants\": "
    "[1]}]},"
    "   {\"run\": \"split\", \"cells\": [{\"variants\": [0], \"condition\": \"a\"},"
    "                                {\"variants\": [1], \"condition\": \"b\"}]},"
    "   {\"run\": \"r*\", \"cells\": [{}]}],"
    " \"overrides\": [{\"run\": \"r1\", \"turns\": 4, \"target\": 3, \"source\": \"s\"},"
    "                {\"run\": \"absent\", \"turns\": 4, \"target\": 3, \"source\": \"s\"}]}";

/* The document of a table as canonical text, or the fault; valid until the next call. */
static const char *document(const char *rows)
{
    static char out[4096];
    char csv[2048];
    struct fault f = {0};
    json_t *rules = json_loads(rules_text, 0, NULL);
    assert_non_null(rules);
    snprintf(csv, sizeof(csv), "%s%s", HEADING, rows);
    json_t *made = published_document(rules, csv, strlen(csv), &f);
    char *text = made ? json_dumps(made, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    snprintf(out, sizeof(out), "%s", text ? text : f.detail);
    free(text);
    json_decref(made);
    json_decref(rules);
    return out;
}

static void a_turn_becomes_a_row(void **state)
{
    (void)state;
    const char *text = document("Correct,m,H,d,r1,3,0,12,0.5,1\nRuntime error,m,H,d,r1,3,1,,,\n");
    assert_non_null(strstr(text, "\"turns\":[[\"r1\",3,0,\"correct\",true,true,0.5,12],"
                                 "[\"r1\",3,1,\"runtime\",false,null,null,null]]"));
    assert_non_null(strstr(
        text, "\"cells\":[{\"condition\":\"\",\"device_model\":\"Hopper\",\"key\":\"m|H|d|\","
              "\"model\":\"m\",\"problem\":\"p\",\"workload\":\"w\"}]"));
    assert_non_null(strstr(text, "\"trajectories\":[{\"cell\":\"m|H|d|\",\"n\":3,\"variant\":1}]"));
    assert_non_null(strstr(
        text, "\"overrides\":[{\"cell\":\"m|H|d|\",\"source\":\"s\",\"target\":3,\"turns\":4}]"));
}

static void names_without_a_rule_stay(void **state)
{
    (void)state;
    const char *text = document("Correct,other,X,e,r2,0,0,1,1,\n");
    assert_non_null(strstr(text,
                           "\"device_model\":\"X\",\"key\":\"other|X|e|\",\"model\":\"other\","
                           "\"problem\":\"e\",\"workload\":\"\""));
}

static void a_variant_in_no_cell_says_why(void **state)
{
    (void)state;
    const char *text = document("Correct,m,H,d,cut-1,0,0,1,1,\nCorrect,m,H,d,cut-1,2,0,1,1,\n");
    assert_non_null(strstr(text, "{\"left_out\":\"one of two\",\"n\":0,\"variant\":0}"));
    assert_non_null(strstr(text, "{\"cell\":\"m|H|d|\",\"n\":2,\"variant\":1}"));
}

static void a_run_can_be_in_two_cells(void **state)
{
    (void)state;
    const char *text = document("Correct,m,H,d,split,0,0,1,1,\nCorrect,m,H,d,split,2,0,1,1,\n");
    assert_non_null(strstr(text, "{\"cell\":\"m|H|d|a\",\"n\":0,\"variant\":0}"));
    assert_non_null(strstr(text, "{\"cell\":\"m|H|d|b\",\"n\":2,\"variant\":1}"));
}

static void a_model_can_carry_its_condition(void **state)
{
    (void)state;
    assert_non_null(strstr(document("Correct,m + notes,H,d,r2,0,0,1,1,\n"),
                           "\"key\":\"m|H|d|notes\",\"model\":\"m\""));
}

static void bad_rows_are_named(void **state)
{
    static const struct {
        const char *row, *want;
    } cases[] = {
        {"Perfect,m,H,d,r,0,0,1,1,\n", "cannot read line 2: there is no outcome 'Perfect'"},
        {"Correct,m,H,d,other,0,0,1,1,\n", "cannot read line 2: no rule selects run 'other'"},
        {"Correct,m,H,d,r,-1,0,1,1,\n", "cannot read line 2: not a trajectory and turn: '-1'"},
        {"Correct,m,H,d,r,0,,1,1,\n", "cannot read line 2: not a trajectory and turn: '0'"},
        {"Correct,m,H,d,r,0,0,many,1,\n", "cannot read line 2: not a number of tokens: 'many'"},
        {"Correct,m,H,d,r,0,0,1,nan,\n", "cannot read line 2: not a speedup: 'nan'"},
        {"Correct,m,H,d,r,0,0,1,0,\n", "cannot read line 2: not a speedup: '0'"},
        {"Correct,m,H,d,r,0,0,1,1,2\n",
         "cannot read line 2: target_instruction is not 0 or 1: '2'"},
        {"Correct,m\n",
         "cannot read line 2: the heading has another number of fields than this row, which "
         "begins 'Correct'"},
        {"\"Correct\n", "cannot read line 2: a quote is not closed"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_string_equal(document(cases[i].row), cases[i].want);
}

static void a_missing_column_is_named(void **state)
{
    (void)state;
    struct fault f = {0};
    char csv[] = "model,gpu\n";
    json_t *rules = json_loads(rules_text, 0, NULL);
    assert_null(published_document(rules, csv, strlen(csv), &f));
    assert_string_equal(f.detail, "cannot read the table: it has no column definition");
    json_decref(rules);
    rules = json_object();
    assert_null(published_document(rules, csv, strlen(csv), &f));
    assert_int_equal(f.code, ERR_INVALID);
    json_decref(rules);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_turn_becomes_a_row),
        cmocka_unit_test(names_without_a_rule_stay),
        cmocka_unit_test(a_variant_in_no_cell_says_why),
        cmocka_unit_test(a_run_can_be_in_two_cells),
        cmocka_unit_test(a_model_can_carry_its_condition),
        cmocka_unit_test(bad_rows_are_named),
        cmocka_unit_test(a_missing_column_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
