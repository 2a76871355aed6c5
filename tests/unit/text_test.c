// SPDX-License-Identifier: Apache-2.0
// UTF-8 by the book: every code point's own encoding is accepted, everything else is not; cuts and
// clean-up of foreign text.
#include "core/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/util.h"

static size_t encode(uint32_t c, char out[4])
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(lead[n] | c);
    return n;
}

static void every_code_point(void **state)
{
    (void)state;
    for (uint32_t c = 0; c < 0x120000; c++) {
        char s[4];
        size_t n = encode(c, s);
        bool is_character = c && c <= 0x10ffff && !(c >= 0xd800 && c <= 0xdfff);
        if (text_is_utf8(s, n) != is_character)
            fail_msg("U+%04X", c);
        if (n > 1 && (text_is_utf8(s, n - 1) || text_is_utf8(s + 1, n - 1)))
            fail_msg("part of U+%04X", c);
    }
}

static void malformed(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "\xc0\x80",         "\xc1\xbf",         "\xe0\x80\x80", "\xe0\x9f\xbf", "\xf0\x80\x80\x80",
        "\xf0\x8f\xbf\xbf", "\xf5\x80\x80\x80", "\xff",         "\xfe",         "\x80",
        "a\xbfz",           "\xc3\x28",         "\xe2\x28\xa1", "\xe2\x82\x28",
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_false(text_is_utf8(rows[i], strlen(rows[i])));
    assert_true(text_is_utf8("", 0));
    assert_false(text_is_utf8("a\0b", 3));
}

static void cuts(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t max, cut;
    } rows[] = {
        {"abc", 5, 3},
        {"abc", 3, 3},
        {"abc", 2, 2},
        {"abc", 0, 0},
        {"a\xc3\xa9z", 2, 1},
        {"a\xc3\xa9z", 3, 3},
        {"\xe2\x82\xac", 2, 0},
        {"x\xf0\x9f\x98\x80", 4, 1},
        {"x\xf0\x9f\x98\x80", 5, 5},
        {"\x80\x80\x80\x80\x80\x80\x80\x80", 6, 6}, /* noise does not make the cut run away */
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_int_equal(text_cut(rows[i].text, strlen(rows[i].text), rows[i].max), rows[i].cut);
}

static void sanitized(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out;
    } rows[] = {
        {"plain", "plain"},
        {"", ""},
        {"a\tb\nc\rd", "a b c?d"},
        {"\x1b[31m", "?[31m"},
        {"\x7f", "?"},
        {"caf\xc3\xa9", "caf\xc3\xa9"},
        {"caf\xc3", "caf"},
        {"\xf0\x9f\x98", ""},
        {"\xe2\x82", ""},
        {"\xff"
         "ab",
         "?ab"}, /* a stray byte near the end takes nothing with it */
        {"\xc3(", "?("},
        {"a\x80", "a?"},
        {"\xf5\x80", "??"},
        {"\xc2\x9b"
         "31m",
         "??31m"}, /* C1: opens an escape sequence */
        {"a\xe2\x80\xae"
         "b",
         "a???b"}, /* right-to-left override */
        {"a\xe2\x81\xa6"
         "b",
         "a???b"},
        {"a\xe2\x80\xa8"
         "b",
         "a???b"},
        {"\xe2\x80\x93", "\xe2\x80\x93"},
        {"\xc2\xa0", "\xc2\xa0"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char s[32];
        snprintf(s, sizeof(s), "%s", rows[i].in);
        text_sanitize(s);
        assert_string_equal(s, rows[i].out);
        assert_true(text_is_utf8(s, strlen(s)));
    }
    /* Whatever two bytes follow a letter, the result is well-formed. */
    for (unsigned a = 1; a < 256; a++)
        for (unsigned b = 1; b < 256; b++) {
            char s[] = {'x', (char)a, (char)b, '\0'};
            text_sanitize(s);
            assert_true(text_is_utf8(s, strlen(s)));
        }
}

static void names(void **state)
{
    (void)state;
    assert_true(text_is_name("a") && text_is_name("_") && text_is_name("tA_9"));
    assert_false(text_is_name("") || text_is_name("9a") || text_is_name("a-b") ||
                 text_is_name("a b") || text_is_name("\xc3\xa9"));
    char s[LIMIT_NAME + 2];
    memset(s, 'n', sizeof(s));
    s[LIMIT_NAME] = '\0';
    assert_true(text_is_name(s));
    s[LIMIT_NAME] = 'n';
    s[LIMIT_NAME + 1] = '\0';
    assert_false(text_is_name(s));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_point), cmocka_unit_test(malformed), cmocka_unit_test(cuts),
        cmocka_unit_test(sanitized),        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
