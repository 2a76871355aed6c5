/* SPDX-License-Identifier: Apache-2.0
 * Tokens of PTX text: see lex.h. */
#include "evaluator/ptxvm/lex.h"

#include <stdlib.h>
#include <string.h>

#include "core/util.h"

enum { FLOAT_TEXT_MAX = 128 };

static bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

static bool is_letter(char c)
{
    return (unsigned char)((c | 32) - 'a') < 26;
}

static bool is_name_char(char c)
{
    return is_letter(c) || is_digit(c) || c == '_' || c == '$';
}

/* Value of a digit of any base up to 16, or 16 and more. */
static unsigned digit_value(char c)
{
    if (is_digit(c))
        return (unsigned)(c - '0');
    return is_letter(c) ? (unsigned)((c | 32) - 'a') + 10 : 99;
}

void ptx_lex_init(struct ptx_lex *l, const char *text, size_t len)
{
    *l = (struct ptx_lex){.at = text, .end = text + len, .line_start = text, .line = 1};
}

static void new_line(struct ptx_lex *l)
{
    l->line++;
    l->line_start = l->at;
}

static void skip_line(struct ptx_lex *l)
{
    const char *newline = memchr(l->at, '\n', (size_t)(l->end - l->at));
    l->at = newline ? newline : l->end;
}

/* At the opening of a block comment. False if it does not end. */
static bool skip_comment(struct ptx_lex *l)
{
    for (l->at += 2; l->end - l->at >= 2;) {
        char c = *l->at++;
        if (c == '\n')
            new_line(l);
        if (c == '*' && *l->at == '/') {
            l->at++;
            return true;
        }
    }
    l->at = l->end;
    l->error = "comment without end";
    return false;
}

/* A line marker of a preprocessor: # 1 "file". */
static bool is_line_marker(const struct ptx_lex *l)
{
    const char *p = l->at + 1;
    while (p < l->end && (*p == ' ' || *p == '\t'))
        p++;
    return p > l->at + 1 && p < l->end && is_digit(*p);
}

static bool at_pair(const struct ptx_lex *l, const char *pair)
{
    return l->end - l->at >= 2 && l->at[0] == pair[0] && l->at[1] == pair[1];
}

static void skip_blank(struct ptx_lex *l)
{
    while (l->at < l->end) {
        char c = *l->at;
        if (c == '\n') {
            l->at++;
            new_line(l);
        } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
            l->at++;
        } else if (c == '#' ? is_line_marker(l) : at_pair(l, "//")) {
            skip_line(l);
        } else if (at_pair(l, "/*")) {
            if (!skip_comment(l))
                return;
        } else {
            return;
        }
    }
}

char ptx_lex_peek(struct ptx_lex *l)
{
    skip_blank(l);
    return l->at < l->end ? *l->at : '\0';
}

bool ptx_lex_touches_suffix(const struct ptx_lex *l)
{
    return l->at == l->text + l->len && l->at < l->end && *l->at == '.';
}

uint32_t ptx_lex_suffix(struct ptx_lex *l)
{
    const char *start = l->at;
    while (l->at < l->end && (is_name_char(*l->at) || *l->at == '.' || *l->at == ':'))
        l->at++;
    return (uint32_t)(l->at - start);
}

static void fail(struct ptx_lex *l, const char *error)
{
    l->kind = TOK_ERROR;
    l->error = error;
    l->at = l->end;
}

bool ptx_lex_skip_block(struct ptx_lex *l)
{
    int depth = 1;
    while (depth) {
        skip_blank(l);
        if (l->at == l->end)
            return false;
        char c = *l->at++;
        if (c == '"') {
            while (l->at < l->end && *l->at != '"' && *l->at != '\n')
                l->at++;
            if (l->at < l->end && *l->at == '"')
                l->at++;
        }
        depth += (c == '{') - (c == '}');
    }
    ptx_lex_next(l);
    return true;
}

static void read_name(struct ptx_lex *l)
{
    uint32_t h = 2166136261u;
    const char *p = l->at;
    do
        h = (h ^ (unsigned char)*p++) * 16777619u;
    while (p < l->end && is_name_char(*p));
    l->at = p;
    l->len = (uint32_t)(p - l->text);
    l->hash = h;
    l->kind = TOK_NAME;
}

static void read_word(struct ptx_lex *l)
{
    l->text = ++l->at;
    while (l->at < l->end && is_name_char(*l->at))
        l->at++;
    l->len = (uint32_t)(l->at - l->text);
    l->kind = TOK_WORD;
}

static void read_string(struct ptx_lex *l)
{
    l->text = ++l->at;
    while (l->at < l->end && *l->at != '"' && *l->at != '\n')
        l->at += *l->at == '\\' && l->end - l->at >= 2 && l->at[1] != '\n' ? 2 : 1;
    if (l->at >= l->end || *l->at != '"') {
        fail(l, "string without end");
        return;
    }
    l->len = (uint32_t)(l->at++ - l->text);
    l->kind = TOK_STRING;
}

/* 0f3F800000, 0d3FF0000000000000: exactly so many hexadecimal digits. */
static void read_float_bits(struct ptx_lex *l, int digits, enum ptx_token kind)
{
    l->at += 2;
    l->value = 0;
    for (int i = 0; i < digits; i++) {
        if (l->at >= l->end || digit_value(*l->at) >= 16) {
            fail(l,
                 digits == 8 ? "0f needs 8 hexadecimal digits" : "0d needs 16 hexadecimal digits");
            return;
        }
        l->value = l->value << 4 | digit_value(*l->at++);
    }
    l->kind = kind;
}

static void read_integer(struct ptx_lex *l, unsigned base, int prefix)
{
    l->at += prefix;
    const char *start = l->at;
    l->value = 0;
    for (; l->at < l->end && digit_value(*l->at) < base; l->at++) {
        unsigned digit = digit_value(*l->at);
        if (l->value > (UINT64_MAX - digit) / base) {
            fail(l, "integer over 64 bits");
            return;
        }
        l->value = l->value * base + digit;
    }
    if (l->at == start && prefix) {
        fail(l, "number without digits");
        return;
    }
    l->is_unsigned = l->value > INT64_MAX;
    if (l->at < l->end && *l->at == 'U') {
        l->is_unsigned = true;
        l->at++;
    }
    l->kind = TOK_INT;
}

/* Is this a decimal constant with a point or an exponent? Sets where it ends. */
static bool is_decimal_float(const struct ptx_lex *l, const char **end)
{
    const char *p = l->at;
    bool is_float = false;
    while (p < l->end && is_digit(*p))
        p++;
    if (p < l->end && *p == '.') {
        is_float = true;
        for (p++; p < l->end && is_digit(*p);)
            p++;
    }
    if (p < l->end && (*p | 32) == 'e') {
        const char *q = p + 1;
        if (q < l->end && (*q == '+' || *q == '-'))
            q++;
        if (q < l->end && is_digit(*q)) {
            is_float = true;
            while (q < l->end && is_digit(*q))
                q++;
            p = q;
        }
    }
    *end = p;
    return is_float;
}

static void read_number(struct ptx_lex *l)
{
    char second = l->end - l->at >= 2 && *l->at == '0' ? (char)(l->at[1] | 32) : '\0';
    const char *end;
    if (second == 'x') {
        read_integer(l, 16, 2);
    } else if (second == 'b') {
        read_integer(l, 2, 2);
    } else if (second == 'f') {
        read_float_bits(l, 8, TOK_F32);
    } else if (second == 'd') {
        read_float_bits(l, 16, TOK_F64);
    } else if (is_decimal_float(l, &end)) {
        char text[FLOAT_TEXT_MAX];
        size_t len = (size_t)(end - l->at);
        if (len >= sizeof text) {
            fail(l, "floating-point constant too long");
            return;
        }
        memcpy(text, l->at, len);
        text[len] = '\0';
        double value = strtod(text, NULL);
        memcpy(&l->value, &value, sizeof value);
        l->at = end;
        l->kind = TOK_F64;
    } else {
        read_integer(l, *l->at == '0' ? 8 : 10, 0);
    }
    if (l->kind != TOK_ERROR && l->at < l->end && is_name_char(*l->at))
        fail(l, "malformed number");
    l->len = (uint32_t)(l->at - l->text);
}

static void read_mark(struct ptx_lex *l)
{
    static const struct {
        char text[3];
        enum ptx_token kind;
    } doubles[] = {{"<<", TOK_SHL}, {">>", TOK_SHR}, {"<=", TOK_LE},      {">=", TOK_GE},
                   {"==", TOK_EQ},  {"!=", TOK_NE},  {"&&", TOK_AND_AND}, {"||", TOK_OR_OR}};
    l->kind = (unsigned char)*l->at;
    l->len = 1;
    if (l->end - l->at >= 2 && strchr("<>=&|", l->at[1]) && l->at[1])
        for (size_t i = 0; i < COUNT_OF(doubles); i++)
            if (l->at[0] == doubles[i].text[0] && l->at[1] == doubles[i].text[1]) {
                l->kind = doubles[i].kind;
                l->len = 2;
            }
    l->at += l->len;
}

void ptx_lex_next(struct ptx_lex *l)
{
    skip_blank(l);
    l->text = l->at;
    l->len = 0;
    l->token_line = l->line;
    l->token_column = (uint32_t)(l->at - l->line_start) + 1;
    if (l->at >= l->end) {
        l->kind = l->error ? TOK_ERROR : TOK_END;
        return;
    }
    char c = *l->at;
    char next = l->end - l->at >= 2 ? l->at[1] : '\0';
    if (is_letter(c) || ((c == '%' || c == '_' || c == '$') && is_name_char(next)))
        read_name(l);
    else if (is_digit(c) || (c == '.' && is_digit(next)))
        read_number(l);
    else if (c == '.' && is_name_char(next))
        read_word(l);
    else if (c == '"')
        read_string(l);
    else
        read_mark(l);
}
