// SPDX-License-Identifier: Apache-2.0
// UTF-8 checks, cuts and escapes. Pure functions over bytes.
#include "core/text.h"

#include <ctype.h>
#include <string.h>

#include "core/limits.h"

/* Length of the well-formed sequence at s (1 to 4), or 0. Table 3-7 of the Unicode standard. */
static size_t sequence(const unsigned char *s, size_t len)
{
    if (s[0] < 0x80)
        return s[0] ? 1 : 0;
    size_t n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4 || len < n)
        return 0;
    unsigned low = s[0] == 0xe0 ? 0xa0 : s[0] == 0xf0 ? 0x90 : 0x80;
    unsigned high = s[0] == 0xed ? 0x9f : s[0] == 0xf4 ? 0x8f : 0xbf;
    if (s[1] < low || s[1] > high)
        return 0;
    for (size_t i = 2; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

bool text_is_utf8(const char *s, size_t len)
{
    for (size_t i = 0; i < len;) {
        size_t n = sequence((const unsigned char *)s + i, len - i);
        if (!n)
            return false;
        i += n;
    }
    return true;
}

size_t text_cut(const char *s, size_t len, size_t max)
{
    if (len <= max)
        return len;
    /* At most three continuation bytes belong to a character; more are noise and may be cut
     * anywhere. */
    for (size_t back = 0; back <= 3 && back <= max; back++)
        if (((unsigned char)s[max - back] & 0xc0) != 0x80)
            return max - back;
    return max;
}

/* Does the text end within the character that starts at s? */
static bool is_cut(const unsigned char *s, size_t len)
{
    size_t n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4 || len >= n)
        return false;
    for (size_t i = 1; i < len; i++)
        if ((s[i] & 0xc0) != 0x80)
            return false;
    return true;
}

/* Characters that show as nothing but change what the reader or the terminal makes of the rest: C0,
 * DEL, C1 (U+009B opens an escape sequence), line separators, and those that turn the direction of
 * text. */
static bool is_control(const unsigned char *s, size_t n)
{
    if (n == 1)
        return iscntrl(s[0]);
    if (n == 2)
        return s[0] == 0xc2 && s[1] < 0xa0;
    return n == 3 && s[0] == 0xe2 &&
           ((s[1] == 0x80 && (s[2] == 0x8e || s[2] == 0x8f || (s[2] >= 0xa8 && s[2] <= 0xae))) ||
            (s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9));
}

void text_sanitize(char *s)
{
    size_t len = strlen(s);
    for (size_t i = 0; i < len;) {
        size_t n = sequence((const unsigned char *)s + i, len - i);
        if (!n) {
            if (is_cut((const unsigned char *)s + i, len - i)) {
                s[i] = '\0';
                return;
            }
            s[i++] = '?';
            continue;
        }
        if (is_control((const unsigned char *)s + i, n))
            memset(s + i, s[i] == '\n' || s[i] == '\t' ? ' ' : '?', n);
        i += n;
    }
}

bool text_is_name(const char *s)
{
    size_t n = 0;
    for (; s[n]; n++)
        if (!(isalpha((unsigned char)s[n]) || s[n] == '_' || (n && isdigit((unsigned char)s[n]))))
            return false;
    return n && n <= LIMIT_NAME;
}
