// SPDX-License-Identifier: Apache-2.0
// The pattern of GPT-4 and Qwen, tried in this order:
//
//   's 't 're 've 'm 'll 'd          in either case
//   one mark or blank, then letters  the mark may be missing
//   digits                           1 or 3 of them, as the rules say
//   a blank, then marks, then line ends
//   blanks that end in line ends
//   blanks, but for the last one if a word follows
//
// and that of GPT-2: the contractions in lower case, then [blank] letters, [blank] digits, [blank]
// marks, blanks.
#include "core/tokenizer_split.h"

#include <string.h>

enum kind { LETTER, DIGIT, BLANK, LINE_END, MARK };

/* Kind and length of the character at `text`; of a byte that is no UTF-8, a mark of one byte. */
static enum kind kind_of(const char *text, size_t len, size_t *size)
{
    unsigned char c = (unsigned char)text[0];
    *size = 1;
    if (c == '\n' || c == '\r')
        return LINE_END;
    if (c == ' ' || (c >= '\t' && c <= '\f'))
        return BLANK;
    if (c >= '0' && c <= '9')
        return DIGIT;
    if ((c | 0x20) >= 'a' && (c | 0x20) <= 'z')
        return LETTER;
    size_t n = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc2 ? 2 : 1;
    if (n == 1 || n > len)
        return MARK;
    unsigned long point = c & (0xffu >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return MARK;
        point = point << 6 | (text[i] & 0x3f);
    }
    *size = n;
    if (point == 0xa0 || point == 0x3000 || (point >= 0x2000 && point <= 0x200a))
        return BLANK;
    /* Latin-1 marks; general punctuation up to the dingbats: arrows, operators, boxes. */
    bool mark = (point < 0xc0 && point != 0xaa && point != 0xb5 && point != 0xba) ||
                point == 0xd7 || point == 0xf7 || (point >= 0x2010 && point < 0x2c00) ||
                (point >= 0x3001 && point < 0x3005) || point >= 0x1f000;
    return mark ? MARK : LETTER;
}

/* End of the run of one kind that begins at `from`, at most `most` characters. */
static size_t run(const char *text, size_t len, size_t from, enum kind kind, int most)
{
    size_t size;
    while (most-- > 0 && from < len && kind_of(text + from, len - from, &size) == kind)
        from += size;
    return from;
}

/* Length of a contraction, or 0. */
static size_t contraction(const char *text, size_t len, bool any_case)
{
    static const char *const ends[] = {"s", "t", "re", "ve", "m", "ll", "d"};
    if (text[0] != '\'')
        return 0;
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        size_t n = strlen(ends[i]), k = 0;
        while (k < n && 1 + k < len && (text[1 + k] | (any_case ? 0x20 : 0)) == ends[i][k])
            k++;
        if (k == n)
            return n + 1;
    }
    return 0;
}

/* Blanks and line ends from 0 on: how far they go, and behind the last line end among them. */
static size_t white(const char *text, size_t len, size_t *lines)
{
    size_t at = 0, size;
    *lines = 0;
    while (at < len) {
        enum kind k = kind_of(text + at, len - at, &size);
        if (k != BLANK && k != LINE_END)
            break;
        at += size;
        if (k == LINE_END)
            *lines = at;
    }
    return at;
}

/* Blanks before a word: the last one belongs to it. */
static size_t blanks(const char *text, size_t len, bool cut_at_lines)
{
    size_t lines, end = white(text, len, &lines), size, last = 0;
    if (cut_at_lines && lines)
        return lines;
    if (end == len)
        return end;
    for (size_t at = 0; at < end; at += size) {
        last = at;
        kind_of(text + at, len - at, &size);
    }
    return last ? last : end;
}

size_t split_word(const struct split_rules *rules, const char *text, size_t len)
{
    size_t first, size = 0;
    enum kind k = kind_of(text, len, &first);
    size_t n = contraction(text, len, !rules->gpt2);
    if (n)
        return n;
    enum kind next = first < len ? kind_of(text + first, len - first, &size) : LINE_END;
    bool lead = rules->gpt2 ? text[0] == ' ' : k == BLANK || k == MARK;
    if (k == LETTER || (lead && next == LETTER))
        return run(text, len, k == LETTER ? 0 : first, LETTER, (int)(len & 0x7fffffff));
    if (k == DIGIT)
        return run(text, len, 0, DIGIT, rules->digits);
    if (rules->gpt2 && text[0] == ' ' && next == DIGIT)
        return run(text, len, 1, DIGIT, rules->digits);
    if (k == MARK || (text[0] == ' ' && next == MARK)) {
        size_t end = run(text, len, k == MARK ? 0 : 1, MARK, (int)(len & 0x7fffffff));
        return rules->gpt2 ? end : run(text, len, end, LINE_END, (int)(len & 0x7fffffff));
    }
    return blanks(text, len, !rules->gpt2);
}
