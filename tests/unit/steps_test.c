// SPDX-License-Identifier: Apache-2.0
// Steps of runs against a real PostgreSQL, worked on by an agent that only pretends.
#include "run_kit.h"

static void a_run_lives_its_whole_life(void **state)
{
    struct db *db = *state;
    char id[UUID_TEXT];
    run_make(db, 0, run_text(1, 1, 4, ""), id);
    for (int i = 0; i < 4; i++)
        whole_turn(db, i % 2 ? "correct" : "compile", i % 2 ? 0.5 : 0);
    json_t *doc = run_read(db, id);
    assert_string_equal(word(doc, "state"), "done");
    json_decref(doc);
    assert_ok(runs_trajectory(db, id, 0, 0, &doc, f));
    json_decref(doc);
    assert_sound(db);
}

#define test(fn) cmocka_unit_test_setup_teardown(fn, database_setup, database_teardown)

static const struct CMUnitTest tests[] = {
    test(a_run_lives_its_whole_life),
};

database_main(tests, NULL, NULL)
