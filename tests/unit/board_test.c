// SPDX-License-Identifier: Apache-2.0
// The board against a real PostgreSQL: who is on it, and in which order.
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

#define test(fn) cmocka_unit_test_setup_teardown(fn, database_setup, database_teardown)

static const struct CMUnitTest tests[] = {
    test(the_board_ranks_the_best_of_each_entry),
    test(entries_that_cannot_be_told_apart_share_a_rank),
    test(baselines_are_not_mixed),
};

database_main(tests, NULL, NULL)
