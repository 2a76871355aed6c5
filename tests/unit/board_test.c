// SPDX-License-Identifier: Apache-2.0
// The board against a real PostgreSQL: who is on it, and in which order.
#include <stdlib.h>

#include "core/words.h"
#include "submitted.h"

static void the_board_ranks_the_best_of_each_entry(void **state)
{
    struct db *db = *state;
    static const struct {
        const char *label, *report;
    } rows[] = {
        {"ann", "{\"verdict\":\"PASSED\",\"device_model\":\"H100\",\"epoch\":1,\"speedup\":{"
                "\"value\":1.1,\"ci95\":[1.0,1.2]}}"},
        {"ann", "{\"verdict\":\"PASSED\",\"device_model\":\"H100\",\"epoch\":1,\"speedup\":{"
                "\"value\":1.3}}"},
        {"bob", "{\"verdict\":\"PASSED\",\"device_model\":\"H100\",\"epoch\":1,\"speedup\":{"
                "\"value\":1.2}}"},
        {"eve", "{\"verdict\":\"INCORRECT_NUMERICAL\",\"device_model\":\"H100\",\"epoch\":1}"},
        {"cpu", "{\"verdict\":\"PASSED\",\"device_model\":\"ptxvm\",\"epoch\":1,\"speedup\":null,"
                "\"counts\":{\"thread_instructions\":9}}"},
        {"few", "{\"verdict\":\"PASSED\",\"device_model\":\"ptxvm\",\"epoch\":1,\"speedup\":null,"
                "\"counts\":{\"thread_instructions\":5}}"},
        {"old", "{\"verdict\":\"PASSED\",\"device_model\":\"H100\",\"epoch\":0,\"speedup\":{"
                "\"value\":9}}"},
    };
    struct created_submission c;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct new_submission s = a_submission();
        s.label = rows[i].label;
        evaluated(db, s, rows[i].report, &c);
    }
    struct new_submission hidden = a_submission();
    hidden.label = "hidden";
    hidden.is_private = true;
    evaluated(db, hidden, rows[1].report, &c);
    static const char *const want[] = {"ann", "bob", "few", "cpu"};
    json_t *board;
    struct board_filter q = {.problem = "gemm", .workload = "small", .arch = "sm_90a", .limit = 10};
    assert_ok(store_leaderboard(db, &q, &board, f));
    json_t *items = json_object_get(board, "items");
    assert_int_equal(json_array_size(items), COUNT_OF(want));
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        json_t *item = json_array_get(items, i), *rank = json_object_get(item, "rank");
        assert_string_equal(text_of(item, "label"), want[i]);
        assert_int_equal(json_integer_value(rank), i < 2 ? i + 1 : 0);
        assert_int_equal(json_is_null(rank), i >= 2);
    }
    assert_int_equal(json_integer_value(json_object_get(json_array_get(items, 0), "attempts")), 2);
    json_decref(board);
    q.device_model = "ptxvm";
    assert_ok(store_leaderboard(db, &q, &board, f));
    assert_int_equal(json_array_size(json_object_get(board, "items")), 2);
    json_decref(board);
}

/* Half widths in ln: 0.01 each, so a difference below sqrt(2) * 0.01 may be none. Bands have a
 * first; who is close to the second only begins another. */
static void entries_that_cannot_be_told_apart_share_a_rank(void **state)
{
    struct db *db = *state;
    static const struct {
        double value;
        int rank;
    } rows[] = {{1.200, 1}, {1.190, 1}, {1.184, 1}, {1.182, 4}, {1.100, 5}, {1.099, 5}, {0.9, 7}};
    struct created_submission c;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct new_submission s = a_submission();
        char label[16], report[256];
        snprintf(label, sizeof(label), "%zu", i);
        snprintf(report, sizeof(report),
                 "{\"verdict\":\"PASSED\",\"device_model\":\"NVIDIA H200\",\"epoch\":1,\"speedup\":"
                 "{\"value\":%.4f,\"ci95\":[%.8f,%.8f]}}",
                 rows[i].value, rows[i].value * 0.990049834, rows[i].value * 1.010050167);
        s.label = label;
        evaluated(db, s, report, &c);
    }
    static const char *const wanted[] = {NULL, "gpu", "h200", "NVIDIA H200"};
    json_t *board;
    struct board_filter q = {.problem = "gemm", .workload = "small", .arch = "sm_90a", .limit = 10};
    for (size_t i = 0; i < COUNT_OF(wanted); i++) {
        q.device_model = wanted[i];
        assert_ok(store_leaderboard(db, &q, &board, f));
        json_t *items = json_object_get(board, "items");
        assert_int_equal(json_array_size(items), COUNT_OF(rows));
        for (size_t k = 0; k < COUNT_OF(rows); k++)
            assert_int_equal(json_integer_value(json_object_get(json_array_get(items, k), "rank")),
                             rows[k].rank);
        json_decref(board);
    }
    q.device_model = "h100";
    assert_ok(store_leaderboard(db, &q, &board, f));
    assert_int_equal(json_array_size(json_object_get(board, "items")), 0);
    json_decref(board);
    assert_string_equal(sql("SELECT board_rank(id) FROM submissions WHERE label = '5'"), "5");
}

/* 5 times a product of parts says nothing about 0.9 of the library. */
static void baselines_are_not_mixed(void **state)
{
    struct db *db = *state;
    static const struct {
        const char *label, *workload, *baseline;
        double value;
    } rows[] = {
        {"a", "small", "cuDNN", 1.0},
        {"b", "small", "cuBLAS (composed)", 5.0},
        {"a", "small", "cuBLAS (composed)", 4.0},
        {"c", "small", "cuDNN", 0.9},
        {"d", "other", "cuBLAS (composed)", 3.0},
    };
    struct created_submission c;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct new_submission s = a_submission();
        char report[256];
        snprintf(
            report, sizeof(report),
            "{\"verdict\":\"PASSED\",\"device_model\":\"NVIDIA H200\",\"epoch\":1,\"baseline\":"
            "{\"name\":\"%s\",\"version\":\"9\",\"us\":1},\"speedup\":{\"value\":%.1f}}",
            rows[i].baseline, rows[i].value);
        s.label = rows[i].label;
        s.workload = rows[i].workload;
        evaluated(db, s, report, &c);
    }
    static const struct {
        const char *workload, *want;
    } boards[] = {{"small", "1:a 2:c "}, {"other", "1:d "}};
    for (size_t i = 0; i < COUNT_OF(boards); i++) {
        struct board_filter q = {
            .problem = "gemm", .workload = boards[i].workload, .arch = "sm_90a", .limit = 10};
        json_t *board, *item;
        char got[64] = "";
        size_t k, at = 0;
        assert_ok(store_leaderboard(db, &q, &board, f));
        json_array_foreach(json_object_get(board, "items"), k, item) at += (size_t)snprintf(
            got + at, sizeof(got) - at, "%d:%s ",
            (int)json_integer_value(json_object_get(item, "rank")), text_of(item, "label"));
        assert_string_equal(got, boards[i].want);
        json_decref(board);
    }
    assert_string_equal(sql("SELECT board_rank(id) FROM submissions WHERE label = 'b'"), "1");
}

/* "rank:label attempts" of each entry, best first. */
static void board_is(struct db *db, const char *want)
{
    struct board_filter q = {.problem = "gemm", .workload = "small", .arch = "sm_90a", .limit = 10};
    json_t *board, *item;
    char got[128] = "";
    size_t i, at = 0;
    assert_ok(store_leaderboard(db, &q, &board, f));
    json_array_foreach(json_object_get(board, "items"), i, item) at += (size_t)snprintf(
        got + at, sizeof(got) - at, "%d:%s %.1f of %d, ",
        (int)json_integer_value(json_object_get(item, "rank")), text_of(item, "label"),
        json_number_value(json_object_get(json_object_get(item, "speedup"), "value")),
        (int)json_integer_value(json_object_get(item, "attempts")));
    assert_string_equal(got, want);
    json_decref(board);
    assert_string_equal(sql("SELECT coalesce(string_agg(x, '; '), '') FROM board_check() x"), "");
}

static const char *passed(double speedup)
{
    static char report[160];
    snprintf(report, sizeof(report),
             "{\"verdict\":\"PASSED\",\"device_model\":\"NVIDIA H200\",\"epoch\":1,\"speedup\":{"
             "\"value\":%.1f}}",
             speedup);
    return report;
}

static void rerun(struct db *db, const char *id, const char *report)
{
    struct job j;
    json_t *doc;
    assert_ok(store_submission_rerun(db, id, 0, 9, &doc, f));
    json_decref(doc);
    assert_true(claim(db, &j));
    assert_true(deliver(db, &j, report));
    job_release_memory(&j);
}

static void the_best_stays_the_best(void **state)
{
    struct db *db = *state;
    struct created_submission first, second;
    struct new_submission s = a_submission();
    s.label = "ann";
    evaluated(db, s, passed(1.5), &first);
    evaluated(db, s, passed(1.2), &second);
    board_is(db, "1:ann 1.5 of 2, ");
    rerun(db, first.id, passed(1.4)); /* slower: takes nothing away */
    board_is(db, "1:ann 1.5 of 3, ");
    rerun(db, first.id, passed(1.6));
    board_is(db, "1:ann 1.6 of 4, ");
    rerun(db, first.id, "{\"verdict\":\"INFRA_ERROR\"}"); /* ours: no attempt */
    board_is(db, "1:ann 1.6 of 4, ");
    rerun(db, first.id, "{\"verdict\":\"INCORRECT_NUMERICAL\"}"); /* found wrong */
    board_is(db, "1:ann 1.2 of 5, ");
    rerun(db, first.id, passed(1.3)); /* and right again */
    board_is(db, "1:ann 1.6 of 6, ");
    sql("UPDATE submissions SET visibility = 'private' WHERE id = (SELECT min(id::text)::uuid FROM "
        "submissions)");
    board_is(db, "1:ann 1.2 of 1, ");
    sql("UPDATE submissions SET visibility = 'public'");
    board_is(db, "1:ann 1.6 of 6, ");
    sql("SELECT boards_rebuild()");
    board_is(db, "1:ann 1.6 of 6, ");
    sql("UPDATE board_entries SET speedup = 9");
    assert_string_equal(sql("SELECT count(*) FROM board_check()"), "1");
    sql("UPDATE board_attempts SET attempts = 9");
    assert_string_equal(sql("SELECT count(*) FROM board_check()"), "2");
}

static void an_operator_hides_and_shows(void **state)
{
    struct db *db = *state;
    struct created_submission best, other;
    struct new_submission s = a_submission();
    json_t *doc, *board;
    s.label = "ann";
    evaluated(db, s, passed(1.5), &best);
    evaluated(db, s, passed(1.2), &other);
    assert_ok(store_submission_hide(db, best.id, VIEWER_ADMIN, "reads a file", &doc, f));
    assert_string_equal(text_of(json_object_get(doc, "hidden"), "reason"), "reads a file");
    json_decref(doc);
    board_is(db, "1:ann 1.2 of 2, ");
    struct board_filter q = {.problem = "gemm", .workload = "small", .arch = "sm_90a", .limit = 10};
    assert_ok(store_leaderboard(db, &q, &board, f));
    const json_t *hidden = json_object_get(board, "hidden");
    assert_int_equal(json_array_size(hidden), 1);
    assert_string_equal(text_of(json_array_get(hidden, 0), "id"), best.id);
    assert_string_equal(text_of(json_array_get(hidden, 0), "reason"), "reads a file");
    json_decref(board);
    assert_ok(store_submission_get(db, best.id, VIEWER_ADMIN, &doc, f));
    assert_string_equal(text_of(json_object_get(doc, "hidden"), "reason"), "reads a file");
    assert_true(json_is_null(json_object_get(doc, "rank")));
    json_decref(doc);
    rerun(db, best.id, passed(1.7)); /* stays hidden */
    board_is(db, "1:ann 1.2 of 3, ");
    for (int i = 0; i < 2; i++) { /* twice is harmless */
        assert_ok(store_submission_hide(db, best.id, VIEWER_ADMIN, NULL, &doc, f));
        assert_true(json_is_null(json_object_get(doc, "hidden")));
        json_decref(doc);
    }
    board_is(db, "1:ann 1.7 of 3, ");
    struct fault fault = {0};
    assert_int_equal(store_submission_hide(db, "01a22971-c52b-75bd-b28d-feb012af546b", VIEWER_ADMIN,
                                           "x", &doc, &fault),
                     ERR_NOT_FOUND);
    assert_string_equal(sql("SELECT count(*) FROM audit WHERE action IN ('hide', 'unhide')"), "3");
}

static void a_board_says_what_else_there_is(void **state)
{
    struct db *db = *state;
    static const struct {
        const char *label, *device_model, *baseline;
        int epoch;
    } rows[] = {
        {"a", "H100", "b\"lib", 0}, {"b", "H100", "lib (composed)", 2},
        {"c", "H100", "zlib", 2},   {"d", "H200", "b\"lib", 2},
        {"e", "H200", "old", 1},    {"f", "ptxvm", "", 2},
    };
    struct created_submission c;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct new_submission s = a_submission();
        s.label = rows[i].label;
        json_t *report = json_pack("{s:s, s:s, s:i}", "verdict", "PASSED", "device_model",
                                   rows[i].device_model, "epoch", rows[i].epoch);
        if (*rows[i].baseline) {
            json_object_set_new(
                report, "baseline",
                json_pack("{s:s, s:s, s:f}", "name", rows[i].baseline, "version", "1", "us", 2.0));
            json_object_set_new(report, "speedup", json_pack("{s:f}", "value", 1.5));
        }
        char *text = json_dumps(report, 0);
        evaluated(db, s, text, &c);
        free(text);
        json_decref(report);
    }
    static const struct {
        const char *device_model, *baseline;
        int epoch;
        const char *head, *labels;
    } boards[] = {
        {NULL, NULL, 0, "2 [0, 1, 2] \"b\\\"lib\" [\"b\\\"lib\", \"lib (composed)\", \"zlib\"]",
         "df"},
        {"H100", NULL, 0, "2 [0, 2] \"zlib\" [\"lib (composed)\", \"zlib\"]", "c"},
        {"H100", "lib (composed)", 2, "2 [0, 2] \"lib (composed)\" [\"lib (composed)\", \"zlib\"]",
         "b"},
        {"H200", NULL, 1, "1 [1, 2] \"old\" [\"old\"]", "e"},
        {"H200", "none", 0, "2 [1, 2] \"none\" [\"b\\\"lib\"]", ""},
        {"ptxvm", NULL, 0, "2 [2] null []", "f"},
        {NULL, NULL, 7, "7 [0, 1, 2] null []", ""},
        {"B200", NULL, 0, "null [] null []", ""},
    };
    for (size_t i = 0; i < COUNT_OF(boards); i++) {
        struct board_filter q = {.problem = "gemm",
                                 .workload = "small",
                                 .arch = "sm_90a",
                                 .limit = 10,
                                 .device_model = boards[i].device_model,
                                 .baseline = boards[i].baseline,
                                 .epoch = boards[i].epoch};
        static const char *const members[] = {"epoch", "epochs", "baseline", "baselines"};
        json_t *board, *item;
        char got[128] = "", labels[8] = "";
        size_t k;
        assert_ok(store_leaderboard(db, &q, &board, f));
        for (k = 0; k < COUNT_OF(members); k++) {
            char *text = json_dumps(json_object_get(board, members[k]), JSON_ENCODE_ANY);
            snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s", k ? " " : "", text);
            free(text);
        }
        assert_string_equal(got, boards[i].head);
        json_array_foreach(json_object_get(board, "items"), k, item)
            snprintf(labels + k, sizeof(labels) - k, "%s", text_of(item, "label"));
        assert_string_equal(labels, boards[i].labels);
        json_decref(board);
    }
}

/* core/flags.def owns the names; the database writes them. */
static void flags_have_one_list_of_names(void **state)
{
    (void)state;
    char statement[64], *want, *got;
    for (unsigned bits = 0; bits < 1U << 7; bits++) {
        json_t *names = flags_names(bits), *theirs;
        snprintf(statement, sizeof(statement), "SELECT flag_names(%u)", bits);
        theirs = json_loads(sql(statement), JSON_DECODE_ANY, NULL);
        want = json_dumps(names, JSON_COMPACT);
        got = json_dumps(theirs, JSON_COMPACT);
        assert_string_equal(got, want);
        free(got);
        free(want);
        json_decref(names);
        json_decref(theirs);
    }
}

#define test(fn) cmocka_unit_test_setup_teardown(fn, database_setup, database_teardown)

static const struct CMUnitTest tests[] = {
    test(the_board_ranks_the_best_of_each_entry),
    test(entries_that_cannot_be_told_apart_share_a_rank),
    test(baselines_are_not_mixed),
    test(the_best_stays_the_best),
    test(an_operator_hides_and_shows),
    test(a_board_says_what_else_there_is),
    test(flags_have_one_list_of_names),
};

database_main(tests, NULL, NULL)
