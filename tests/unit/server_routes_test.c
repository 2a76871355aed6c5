// SPDX-License-Identifier: Apache-2.0
// The routes table held against itself and against what is derived from it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/util.h"
#include "server/answer.h"
#include "server/api.h"
#include "server/csv.h"
#include "server/files.h"
#include "server/routes.h"
#include "server/service.h"

static struct service service;

static enum err find(struct request *r, enum method method, const char *target, char allow[ROUTES_ALLOW])
{
    *r = (struct request){.service = &service, .method = method};
    assert_int_equal(url_parse(target, &r->url, NULL), ERR_NONE);
    return routes_find(r, allow);
}

static void test_every_row_is_complete(void **state)
{
    (void)state;
    for (size_t i = 0; i < route_count; i++) {
        const struct route *row = &routes[i];
        assert_non_null(row->handler);
        assert_non_null(row->summary);
        assert_non_null(row->answer);
        for (const char *s = row->query; s && *s; s += strcspn(s, " "), s += *s == ' ')
            if (!parameter_find(s, strcspn(s, " ")))
                fail_msg("%s: parameter %s is not in parameters.def", row->pattern, s);
        for (const char *s = row->members; s && *s; s += strcspn(s, " "), s += *s == ' ')
            if (!member_find(s, strcspn(s, "! ")))
                fail_msg("%s: member %s is not in members.def", row->pattern, s);
        for (size_t k = 0; k < i; k++)
            assert_false(row->method == routes[k].method && !strcmp(row->pattern, routes[k].pattern));
        assert_int_equal(route_index(row), i);
    }
}

static void test_finding(void **state)
{
    (void)state;
    static const struct {
        enum method method;
        const char *target;
        enum err want;
        const char *allow;
    } rows[] = {
        {METHOD_GET, "/v1/submissions", ERR_NONE, "POST, GET, HEAD, OPTIONS"},
        {METHOD_HEAD, "/v1/submissions", ERR_NONE, "POST, GET, HEAD, OPTIONS"},
        {METHOD_OTHER, "/v1/submissions", ERR_METHOD, "POST, GET, HEAD, OPTIONS"},
        {METHOD_POST, "/v1/problems", ERR_METHOD, "GET, HEAD, OPTIONS"},
        {METHOD_HEAD, "/v1/submissions/01a22971-c52b-75bd-b28d-feb012af546b/cancel", ERR_METHOD, "POST, OPTIONS"},
        {METHOD_OPTIONS, "/v1/submissions/01a22971-c52b-75bd-b28d-feb012af546b/cancel", ERR_NONE, "POST, OPTIONS"},
        {METHOD_GET, "/v1/nothing", ERR_NOT_FOUND, ""},
        {METHOD_POST, "/v1/submissions/xyz/cancel", ERR_NOT_FOUND, ""},
        {METHOD_GET, "/v1/submissions?limit=1", ERR_NONE, "POST, GET, HEAD, OPTIONS"},
        {METHOD_GET, "/v1/submissions?wait=1", ERR_BAD_PARAMETER, "POST, GET, HEAD, OPTIONS"},
        {METHOD_GET, "/healthz?x", ERR_BAD_PARAMETER, "GET, HEAD, OPTIONS"},
        {METHOD_GET, "/", ERR_NONE, "GET, HEAD, OPTIONS"},
        {METHOD_GET, "/app.js", ERR_NONE, "GET, HEAD, OPTIONS"},
        {METHOD_POST, "/app.js", ERR_METHOD, "GET, HEAD, OPTIONS"},
        {METHOD_GET, "/../core/err.c", ERR_NOT_FOUND, ""},
        {METHOD_GET, "/..%2Fcore%2Ferr.c", ERR_NOT_FOUND, ""},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct request r;
        char allow[ROUTES_ALLOW];
        enum err e = find(&r, rows[i].method, rows[i].target, allow);
        if (e != rows[i].want || strcmp(allow, rows[i].allow))
            fail_msg("%s %s: got %s, allow '%s'", method_name(rows[i].method), rows[i].target, err_code(e), allow);
    }
}

static json_t *document_of(handler_fn *handler)
{
    struct request r = {.service = &service};
    assert_int_equal(handler(&r), ERR_NONE);
    assert_int_equal(r.out.status, 200);
    json_t *document = json_loadb(r.out.body, r.out.len, 0, NULL);
    request_release(&r);
    assert_non_null(document);
    return document;
}

static void test_openapi_and_index_name_every_row(void **state)
{
    (void)state;
    json_t *openapi = document_of(openapi_get), *index = document_of(index_get);
    for (size_t i = 0; i < route_count; i++) {
        char path[128];
        route_template(&routes[i], path, sizeof(path));
        assert_null(strchr(path, ':'));
        json_t *item = json_object_get(json_object_get(openapi, "paths"), path);
        json_t *op = json_object_get(item, routes[i].method == METHOD_POST ? "post" : "get");
        if (!json_object_get(op, "responses"))
            fail_msg("%s is not in the OpenAPI document", path);
    }
    assert_int_equal(json_array_size(json_object_get(index, "endpoints")), route_count);
    json_decref(openapi);
    json_decref(index);
}

static void test_problems_are_rfc_9457(void **state)
{
    (void)state;
    struct request r = {.service = &service, .id = "abc"};
    faults_add(&r.faults, "$.arch", "is required");
    answer_problem(&r, ERR_INVALID);
    assert_int_equal(r.out.status, 422);
    assert_string_equal(r.out.type, "application/problem+json");
    json_t *p = json_loadb(r.out.body, r.out.len, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(p, "code")), "invalid_submission");
    assert_int_equal(json_integer_value(json_object_get(p, "status")), 422);
    assert_string_equal(json_string_value(json_object_get(p, "detail")), "$.arch: is required");
    assert_string_equal(json_string_value(json_object_get(p, "instance")), "urn:request:abc");
    json_t *first = json_array_get(json_object_get(p, "errors"), 0);
    assert_string_equal(json_string_value(json_object_get(first, "path")), "$.arch");
    json_decref(p);
    request_release(&r);
}

static void test_csv_is_quoted(void **state)
{
    (void)state;
    static const char *const columns[] = {"a", "b.c", "d.1", "flags"};
    json_t *rows = json_pack("[{s:s, s:{s:f}, s:[i, i], s:[s, s]}, {s:s}]", "a", "x,\"y\"\n", "b", "c", 12.3, "d", 1, 2,
                             "flags", "loose", "noisy", "a", "=cmd()");
    struct request r = {.service = &service};
    assert_int_equal(answer_csv(&r, columns, COUNT_OF(columns), rows), ERR_NONE);
    assert_string_equal(r.out.body, "a,b.c,d.1,flags\r\n\"x,\"\"y\"\"\n\",12.3,2,loose noisy\r\n\"'=cmd()\",,,\r\n");
    request_release(&r);
    json_decref(rows);
}

static void test_shape_and_lines(void **state)
{
    (void)state;
    json_t *d = json_pack("{s:n, s:s, s:s, s:s, s:n, s:[s], s:{s:f, s:[f, f]}, s:f, s:{s:s, s:s}, s:{s:b, s:f}}",
                          "position", "state", "done", "verdict", "PASSED", "id", "x", "detail", "flags", "loose",
                          "speedup", "value", 1.25, "ci95", 1.2, 1.3, "candidate_us", 12.0, "baseline", "name",
                          "cuBLAS", "version", "13", "target", "executed", 1, "tensor_share", 0.5);
    d = answer_shape(d);
    assert_null(json_object_get(d, "position"));
    assert_true(json_is_null(json_object_get(d, "detail")));
    assert_string_equal(json_string_value(json_object_get(d, "report")), "/v1/submissions/x/report");
    assert_string_equal(json_object_iter_key(json_object_iter(d)), "id");
    struct buf b;
    buf_init(&b, 4096);
    answer_lines(d, &b);
    assert_non_null(strstr(b.data, "done PASSED (loose)\nspeedup: 1.250 [1.200, 1.300] over cuBLAS 13, 12.00 us\n"
                                   "target instructions: executed, 50.0 % of the work on tensor units\n"
                                   "/v1/submissions/x\n"));
    int lines = 0;
    for (const char *s = b.data; *s; s++)
        lines += *s == '\n';
    assert_int_equal(lines, 5);
    buf_release(&b);
    json_decref(d);
}

static void test_release_of_nothing(void **state)
{
    (void)state;
    struct request r = {0};
    request_release(&r);
    request_release(&r);
}

static int setup(void **state)
{
    (void)state;
    struct fault f = {0};
    service.files = files_load(PTXBENCH_SOURCE_DIR, &f);
    return service.files ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    files_free(service.files);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_row_is_complete),
        cmocka_unit_test(test_finding),
        cmocka_unit_test(test_openapi_and_index_name_every_row),
        cmocka_unit_test(test_problems_are_rfc_9457),
        cmocka_unit_test(test_csv_is_quoted),
        cmocka_unit_test(test_shape_and_lines),
        cmocka_unit_test(test_release_of_nothing),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
