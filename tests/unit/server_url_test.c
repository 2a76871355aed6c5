// SPDX-License-Identifier: Apache-2.0
// Targets, header values and the door: everything that judges foreign bytes before a route is known.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/util.h"
#include "server/door.h"
#include "server/fields.h"
#include "server/routes.h"
#include "server/service.h"
#include "server/url.h"

#define ID "01a22971-c52b-75bd-b28d-feb012af546b"

static void test_targets(void **state)
{
    (void)state;
    static const struct {
        const char *target;
        enum err want;
    } rows[] = {
        {"/", ERR_NONE},
        {"/v1/submissions?limit=3&problem=gemm", ERR_NONE},
        {"/%76%31", ERR_NONE},
        {"/a?x=%C3%A9+b", ERR_NONE},
        {"/a?&&x", ERR_NONE},
        {"", ERR_BAD_REQUEST},
        {"v1", ERR_BAD_REQUEST},
        {"*", ERR_BAD_REQUEST},
        {"http://127.0.0.1/v1", ERR_BAD_REQUEST},
        {"/%", ERR_BAD_REQUEST},
        {"/%4", ERR_BAD_REQUEST},
        {"/%4g", ERR_BAD_REQUEST},
        {"/%00", ERR_BAD_REQUEST},
        {"/a?x=%00", ERR_BAD_REQUEST},
        {"/%ff", ERR_BAD_REQUEST},
        {"/\xc0\xaf", ERR_BAD_REQUEST},
        {"/a?x=1&x=2", ERR_BAD_PARAMETER},
        {"/a?x=1&%78=2", ERR_BAD_PARAMETER},
        {"/1/2/3/4/5/6/7/8", ERR_NONE},
        {"/1/2/3/4/5/6/7/8/9", ERR_NOT_FOUND},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct url u;
        struct fault f = {0};
        enum err e = url_parse(rows[i].target, &u, &f);
        if (e != rows[i].want)
            fail_msg("%s: got %s, want %s", rows[i].target, err_code(e), err_code(rows[i].want));
        assert_int_equal(f.code, e);
    }
}

static void test_long_targets(void **state)
{
    (void)state;
    char target[URL_TARGET + 2];
    memset(target, 'a', sizeof(target));
    target[0] = '/';
    target[URL_TARGET] = '\0';
    struct url u;
    assert_int_equal(url_parse(target, &u, NULL), ERR_NONE);
    target[URL_TARGET] = 'a';
    target[URL_TARGET + 1] = '\0';
    assert_int_equal(url_parse(target, &u, NULL), ERR_BAD_REQUEST);
    struct buf b;
    buf_init(&b, 4096);
    buf_adds(&b, "/?");
    for (int i = 0; i <= URL_PARAMETERS; i++)
        buf_addf(&b, "p%d=1&", i);
    assert_int_equal(url_parse(b.data, &u, NULL), ERR_BAD_REQUEST);
    buf_release(&b);
}

static void test_parameters_are_decoded(void **state)
{
    (void)state;
    struct url u;
    assert_int_equal(url_parse("/a?label=J%C3%B6rg+%2B%26+co&empty=&flag", &u, NULL), ERR_NONE);
    assert_string_equal(url_parameter(&u, "label"), "J\xc3\xb6rg +& co");
    assert_string_equal(url_parameter(&u, "empty"), "");
    assert_string_equal(url_parameter(&u, "flag"), "");
    assert_null(url_parameter(&u, "none"));
    struct buf b;
    buf_init(&b, 100);
    url_encode(&b, "J\xc3\xb6rg +& co");
    assert_string_equal(b.data, "J%C3%B6rg%20%2B%26%20co");
    buf_release(&b);
}

static void test_patterns_are_typed(void **state)
{
    (void)state;
    static const struct {
        const char *target, *pattern, *capture; /* NULL: no match; "": match without capture */
    } rows[] = {
        {"/", "/", ""},
        {"/v1", "/v1", ""},
        {"/v1/", "/v1", NULL},
        {"/v1", "/v1/submissions", NULL},
        {"/v1/submissions/" ID, "/v1/submissions/:uuid", ID},
        {"/v1/submissions/abc", "/v1/submissions/:uuid", NULL},
        {"/v1/submissions/" ID "/", "/v1/submissions/:uuid", NULL},
        {"/v1/submissions/" ID "0", "/v1/submissions/:uuid", NULL},
        {"/v1/submissions/" ID "%2Fsource", "/v1/submissions/:uuid/source", NULL},
        {"/v1/problems/gemm", "/v1/problems/:name", "gemm"},
        {"/v1/problems/..", "/v1/problems/:name", NULL},
        {"/v1/problems/a%2Fb", "/v1/problems/:name", NULL},
        {"/v1/problems/", "/v1/problems/:name", NULL},
        {"/n/12", "/n/:int", "12"},
        {"/n/-1", "/n/:int", NULL},
        {"/n/9999999999999999999", "/n/:int", NULL},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct url u;
        assert_int_equal(url_parse(rows[i].target, &u, NULL), ERR_NONE);
        const char *captures[1] = {""};
        bool match = url_matches(&u, rows[i].pattern, captures, 1);
        if (match != (rows[i].capture != NULL))
            fail_msg("%s against %s: %d", rows[i].target, rows[i].pattern, match);
        if (match)
            assert_string_equal(captures[0], rows[i].capture);
    }
}

static void test_accept_weights(void **state)
{
    (void)state;
    static const struct {
        const char *accept;
        int text, json;
    } rows[] = {
        {NULL, 1000, 1000},
        {"*/*", 1000, 1000},
        {"text/plain", 1000, 0},
        {"text/*;q=0.5, application/json", 500, 1000},
        {"text/plain;q=0.8, */*;q=0.1", 800, 100},
        {"TEXT/PLAIN; charset=utf-8; q=0.25", 250, 0},
        {"text/plain;q=0", 0, 0},
        {"text/plain;q=7", 1000, 0},
        {",,;q=,text", 0, 0},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_int_equal(field_accept_weight(rows[i].accept, "text/plain"), rows[i].text);
        assert_int_equal(field_accept_weight(rows[i].accept, "application/json"), rows[i].json);
    }
}

static void test_small_fields(void **state)
{
    (void)state;
    char out[FIELD_MEDIA];
    field_media_type(" Application/JSON; charset=utf-8", out);
    assert_string_equal(out, "application/json");
    field_media_type(NULL, out);
    assert_string_equal(out, "");
    assert_true(field_etag_matches("\"a\", W/\"b\"", "\"b\""));
    assert_true(field_etag_matches("*", "\"b\""));
    assert_false(field_etag_matches("\"bb\"", "\"b\""));
    assert_false(field_etag_matches(NULL, "\"b\""));
    assert_string_equal(field_bearer("bearer  abc"), "abc");
    assert_null(field_bearer("Basic abc"));
    assert_null(field_bearer("Bearer "));
    assert_true(field_host("LocalHost:80", out));
    assert_string_equal(out, "localhost");
    assert_true(field_host("[::1]:80", out));
    assert_string_equal(out, "[::1]");
    assert_false(field_host("localhost:80x", out));
    assert_false(field_host("[::1", out));
    assert_false(field_host("", out));
    assert_true(field_origin_is("http://localhost:8080", "localhost:8080"));
    assert_false(field_origin_is("http://localhost:8081", "localhost:8080"));
    assert_false(field_origin_is("null", "localhost:8080"));
    int64_t n;
    assert_true(field_number("60", 60, &n) && n == 60);
    assert_false(field_number("61", 60, &n));
    assert_false(field_number("-1", 60, &n));
    assert_false(field_number("1e3", 60, &n));
    assert_false(field_number("", 60, &n));
}

static bool in_range(const char *range, const char *address)
{
    struct cidr c;
    uint8_t a[16];
    assert_true(cidr_parse(range, &c));
    assert_true(address_parse(address, a));
    return cidr_holds(&c, a);
}

static void test_ranges(void **state)
{
    (void)state;
    assert_true(in_range("10.0.0.0/8", "10.200.3.4"));
    assert_false(in_range("10.0.0.0/8", "11.0.0.1"));
    assert_true(in_range("192.168.1.128/25", "192.168.1.255"));
    assert_false(in_range("192.168.1.128/25", "192.168.1.127"));
    assert_true(in_range("127.0.0.1", "127.0.0.1"));
    assert_true(in_range("fd00::/8", "fd12::1"));
    assert_false(in_range("0.0.0.0/0", "::1"));
    struct cidr c;
    assert_false(cidr_parse("10.0.0.0/33", &c));
    assert_false(cidr_parse("ten", &c));
    assert_false(cidr_parse("10.0.0.0/", &c));
}

/* ---- the door ---- */

struct header {
    const char *name, *value;
};

static enum err knock(const char *peer, const struct header *headers, struct request *r)
{
    static struct service service;
    service.config = (struct config){.listen = "127.0.0.1", .hosts = {"bench.example"}, .host_count = 1,
                                     .proxy_count = 1};
    assert_true(cidr_parse("10.0.0.0/8", &service.config.proxies[0]));
    *r = (struct request){.service = &service};
    assert_true(address_parse(peer, r->address));
    struct door d = {.headers = &r->headers};
    for (; headers->name; headers++)
        door_header(&d, headers->name, headers->value);
    return door_check(&d, r);
}

static void test_the_door(void **state)
{
    (void)state;
    static const struct {
        struct header headers[4];
        enum err want;
    } rows[] = {
        {{{"Host", "localhost:8080"}}, ERR_NONE},
        {{{"Host", "Bench.Example"}}, ERR_NONE},
        {{{"Host", "evil.example"}}, ERR_MISDIRECTED},
        {{{"Host", "localhost.evil.example"}}, ERR_MISDIRECTED},
        {{{"Accept", "*/*"}}, ERR_MISDIRECTED},
        {{{"Host", "localhost"}, {"Origin", "http://localhost"}}, ERR_NONE},
        {{{"Host", "localhost"}, {"Origin", "http://evil.example"}}, ERR_FOREIGN_ORIGIN},
        {{{"Host", "localhost"}, {"Origin", "null"}}, ERR_FOREIGN_ORIGIN},
        {{{"Host", "localhost"}, {"Content-Length", "3"}, {"content-length", "3"}}, ERR_NONE},
        {{{"Host", "localhost"}, {"Content-Length", "3"}, {"Content-Length", "4"}}, ERR_BAD_REQUEST},
        {{{"Host", "localhost"}, {"Content-Length", "3"}, {"Transfer-Encoding", "chunked"}}, ERR_BAD_REQUEST},
        {{{"Host", "localhost"}, {"Transfer-Encoding", "chunked"}, {"Content-Length", "3"}}, ERR_BAD_REQUEST},
        {{{"Host", "localhost"}, {"Content-Length", "+3"}}, ERR_BAD_REQUEST},
        {{{"Host", "localhost"}, {"Content-Encoding", "gzip"}}, ERR_CONTENT_TYPE},
        {{{"Host", "localhost"}, {"Content-Encoding", "identity"}}, ERR_NONE},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct request r;
        enum err e = knock("127.0.0.1", rows[i].headers, &r);
        if (e != rows[i].want)
            fail_msg("row %zu: got %s, want %s", i, err_code(e), err_code(rows[i].want));
    }
}

static void test_who_is_local(void **state)
{
    (void)state;
    static const struct {
        const char *peer, *forwarded, *client;
        bool local;
    } rows[] = {
        {"127.0.0.1", NULL, "127.0.0.1", true},
        {"::1", NULL, "::1", true},
        {"192.0.2.1", NULL, "192.0.2.1", false},
        {"127.0.0.1", "192.0.2.1", "127.0.0.1", false},        /* a proxy that nobody named */
        {"10.0.0.1", "192.0.2.1", "192.0.2.1", false},
        {"10.0.0.1", "127.0.0.1", "127.0.0.1", false},         /* a lie, or a proxy's own */
        {"10.0.0.1", "1.2.3.4, 192.0.2.1, 10.0.0.2", "192.0.2.1", false},
        {"10.0.0.1", "nonsense", "10.0.0.1", false},
        {"192.0.2.1", "127.0.0.1", "192.0.2.1", false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct request r;
        struct header headers[3] = {{"Host", "localhost"}};
        if (rows[i].forwarded)
            headers[1] = (struct header){"X-Forwarded-For", rows[i].forwarded};
        assert_int_equal(knock(rows[i].peer, headers, &r), ERR_NONE);
        char text[FIELD_ADDRESS];
        address_text(r.address, text);
        assert_string_equal(text, rows[i].client);
        assert_int_equal(r.local, rows[i].local);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_targets),
        cmocka_unit_test(test_long_targets),
        cmocka_unit_test(test_parameters_are_decoded),
        cmocka_unit_test(test_patterns_are_typed),
        cmocka_unit_test(test_accept_weights),
        cmocka_unit_test(test_small_fields),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_the_door),
        cmocka_unit_test(test_who_is_local),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
