/* SPDX-License-Identifier: Apache-2.0
 * Cutting, merging and counting of tokens, and tokenizer files that are wrong. */
#include "core/tokenizer.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/tokenizer_split.h"
#include "core/util.h"

static const struct split_rules gpt4 = {.digits = 3}, qwen = {.digits = 1}, gpt2 = {true, INT_MAX};

/* Words are written with '|' between them. */
static void words(void **state)
{
    (void)state;
    static const struct {
        const struct split_rules *rules;
        const char *words;
    } rows[] = {
        {&gpt4, "Hello| world"},
        {&gpt4, "I|'m| it|'S| don|'t| we|'ll| '|quoted|'"},
        {&gpt4, "a|=b|;\n\n|c"},
        {&gpt4, "x|123|45| |678"},
        {&qwen, "x|1|2|3|4| |5"},
        {&gpt2, "x|12345| 678"},
        {&gpt4, "for| (|int| i| =| |0|;"},
        {&gpt4, "if|  | x"},
        {&gpt4, "end|   "},
        {&gpt4, "a|\n|b"},
        {&gpt4, "a| \n \n|   | b"},
        {&gpt2, "a| \n \n   | b"},
        {&gpt4, "_name|->|field|[|0|]"},
        {&gpt4, " \t|\ttab"},
        {&gpt4, "größer| als| …| 日本語"},
        {&gpt4, "don|'T"},
        {&gpt2, "don|'|T"},
        {&gpt4, "\xff\xfe|a"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char text[128], got[256] = "";
        size_t n = 0, at = 0;
        for (const char *p = rows[i].words; *p; p++)
            if (*p != '|')
                text[n++] = *p;
        while (at < n) {
            size_t word = split_word(rows[i].rules, text + at, n - at);
            assert_true(word > 0 && word <= n - at);
            snprintf(got + strlen(got), sizeof got - strlen(got), "%s%.*s", at ? "|" : "",
                     (int)word, text + at);
            at += word;
        }
        assert_string_equal(got, rows[i].words);
    }
}

/* All bytes, and a few merges. U+0120 stands for a blank. */
static char *vocabulary(const char *pattern, bool pairs)
{
    static const char *const merges[][2] = {{"l", "l"},    {"h", "e"}, {"he", "ll"},
                                            {"hell", "o"}, {"Ġ", "w"}, {"o", "r"}};
    struct buf b;
    unsigned next = 0x100, number = 0;
    buf_init(&b, 64 * KIB);
    buf_adds(&b, "{\"model\": {\"type\": \"BPE\", \"vocab\": {");
    for (unsigned byte = 0; byte < 256; byte++) {
        bool own = (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte != 0xad);
        buf_addf(&b, "\"\\u%04x\": %u, ", own ? byte : next, number++);
        next += !own;
    }
    for (size_t i = 0; i < COUNT_OF(merges); i++)
        buf_addf(&b, "%s\"%s%s\": %u", i ? ", " : "", merges[i][0], merges[i][1], number++);
    buf_adds(&b, "}, \"merges\": [");
    for (size_t i = 0; i < COUNT_OF(merges); i++)
        buf_addf(&b, pairs ? "%s[\"%s\", \"%s\"]" : "%s\"%s %s\"", i ? ", " : "", merges[i][0],
                 merges[i][1]);
    buf_adds(&b, "]}");
    if (pattern)
        buf_addf(&b,
                 ", \"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": [{\"type\": "
                 "\"Split\", "
                 "\"pattern\": {\"Regex\": \"%s\"}}, {\"type\": \"ByteLevel\"}]}",
                 pattern);
    buf_adds(&b, "}");
    return buf_take(&b, NULL);
}

static void counts(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t tokens;
    } rows[] = {
        {"", 0},
        {"h", 1},
        {"hello", 1},
        {"hell", 1},
        {"helo", 3},
        {"lll", 2},
        {"hello world", 5 /* hello, Ġw, or, l, d */},
        {"\xff\n", 2},
        {" w w", 2},
        {"hellohello", 2},
        {"12", 2},
        {"ö", 2},
    };
    for (int pairs = 0; pairs < 2; pairs++) {
        struct fault f = {0};
        char *text = vocabulary("\\\\p{N}", pairs);
        struct tokenizer *t = tokenizer_parse(text, strlen(text), &f);
        free(text);
        if (!t)
            fail_msg("%s", f.detail);
        for (size_t i = 0; i < COUNT_OF(rows); i++)
            if (tokenizer_count(t, rows[i].text, strlen(rows[i].text)) != rows[i].tokens)
                fail_msg("'%s': %lld", rows[i].text,
                         (long long)tokenizer_count(t, rows[i].text, strlen(rows[i].text)));
        tokenizer_free(t);
    }
}

static void long_words_are_counted(void **state)
{
    (void)state;
    static char text[100000];
    memset(text, 'l', sizeof text);
    char *json = vocabulary(NULL, false);
    struct tokenizer *t = tokenizer_parse(json, strlen(json), NULL);
    free(json);
    assert_non_null(t);
    assert_int_equal(tokenizer_count(t, text, sizeof text), sizeof text / 2);
    tokenizer_free(t);
}

static void wrong_files_are_refused(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "",
        "[]",
        "{}",
        "{\"model\": 7}",
        "{\"model\": {\"type\": \"Unigram\", \"vocab\": {}, \"merges\": []}}",
        "{\"model\": {\"vocab\": {}}}",
        "{\"model\": {\"vocab\": [], \"merges\": []}}",
        "{\"model\": {\"vocab\": {\"a\": 1, \"b\": 2}, \"merges\": [\"a b\"]}}",
        "{\"model\": {\"vocab\": {\"a\": -1, \"b\": 2, \"ab\": 3}, \"merges\": [\"a b\"]}}",
        "{\"model\": {\"vocab\": {\"a\": 1, \"b\": 2, \"ab\": 3}, \"merges\": [\"ab\"]}}",
        "{\"model\": {\"vocab\": {\"a\": 1, \"b\": 2, \"ab\": 3}, \"merges\": [[\"a\"]]}}",
        "{\"model\": {\"vocab\": {\"a\": 1, \"b\": 2, \"ab\": 3}, \"merges\": [7]}}",
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct fault f = {0};
        struct tokenizer *t = tokenizer_parse(rows[i], strlen(rows[i]), &f);
        if (t || !f.detail[0])
            fail_msg("taken: %s", rows[i]);
    }
    struct fault f = {0};
    assert_null(tokenizer_load("/nonexistent", &f));
    assert_non_null(strstr(f.detail, "/nonexistent"));
    tokenizer_free(NULL);
}

static void estimates_are_near(void **state)
{
    (void)state;
    static const char text[] = "// Waits until the phase with this parity (0 or 1) is complete.\n"
                               "void mbarrier_wait(uint64_t *bar, uint32_t parity);\n";
    int64_t n = tokenizer_estimate(text, strlen(text));
    assert_true(n >= 30 && n <= 42); /* 36 by a vocabulary of 100,000 */
    assert_int_equal(tokenizer_estimate("", 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words),
        cmocka_unit_test(counts),
        cmocka_unit_test(long_words_are_counted),
        cmocka_unit_test(wrong_files_are_refused),
        cmocka_unit_test(estimates_are_near),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
