// SPDX-License-Identifier: Apache-2.0
// Reading CSV: rows, quotes, line ends, and what is refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/csv_read.h"

/* All rows as "a|b;c|d;", or the fault. */
static const char *rows(const char *text, size_t len)
{
    static char out[512];
    struct csv_reader r;
    struct fault f = {0};
    char *copy = malloc(len + 1);
    assert_non_null(copy);
    memcpy(copy, text, len);
    copy[len] = '\0';
    out[0] = '\0';
    bool got = true;
    enum err e = csv_open(&r, copy, len, &f);
    while (e == ERR_NONE && (e = csv_next(&r, &got, &f)) == ERR_NONE && got) {
        for (size_t i = 0; i < r.count; i++)
            snprintf(out + strlen(out), sizeof(out) - strlen(out), "%s%s", i ? "|" : "",
                     r.fields[i]);
        snprintf(out + strlen(out), sizeof(out) - strlen(out), ";");
    }
    if (e != ERR_NONE)
        snprintf(out, sizeof(out), "%s", f.detail);
    free(copy);
    return out;
}

static void reads(void **state)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"", ""},
        {"a", "a;"},
        {"a,b\nc,d\n", "a|b;c|d;"},
        {"a,b\r\nc,d\r\n", "a|b;c|d;"},
        {"a,b\rc,d", "a|b;c|d;"},
        {"\n\na\n\n\nb\n", "a;b;"},
        {",\n", "|;"},
        {"a,,b,\n", "a||b|;"},
        {"\"a\"\n", "a;"},
        {"\"a,b\",c\n", "a,b|c;"},
        {"\"a\"\"b\"\n", "a\"b;"},
        {"\"\"\n", ";"},
        {"\"\",\"\"", "|;"},
        {"\"a\nb\",c\r\nd", "a\nb|c;d;"},
        {"a\"b,c\n", "a\"b|c;"},
        {"\"", "cannot read line 1: a quote is not closed"},
        {"a\nb,\"c\n", "cannot read line 2: a quote is not closed"},
        {"\"a\"b\n", "cannot read line 1: there is text behind a quoted field"},
        {"\"a\nb\"\nc,\"d\"e", "cannot read line 3: there is text behind a quoted field"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_string_equal(rows(cases[i].text, strlen(cases[i].text)), cases[i].want);
}

static void refuses_a_nul(void **state)
{
    (void)state;
    assert_string_equal(rows("a,\0b", 4), "cannot read the table: byte 2 is a NUL");
}

static void refuses_too_many_fields(void **state)
{
    (void)state;
    char text[2 * CSV_FIELDS + 1] = {0};
    memset(text, ',', CSV_FIELDS - 1);
    assert_string_equal(rows(text, strlen(text)) + CSV_FIELDS - 1, ";");
    memset(text, ',', CSV_FIELDS);
    assert_string_equal(rows(text, strlen(text)), "cannot read line 1: there are too many fields");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads),
        cmocka_unit_test(refuses_a_nul),
        cmocka_unit_test(refuses_too_many_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
