// SPDX-License-Identifier: Apache-2.0
#include "core/json_text.h"

#include <float.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS = 15, LEAST_EXPONENT = -4, INTEGER_BYTES = 20, REAL_BYTES = 40 };

void json_add_integer(struct buf *b, int64_t v)
{
    char text[INTEGER_BYTES];
    size_t at = INTEGER_BYTES;
    uint64_t n = v < 0 ? -(uint64_t)v : (uint64_t)v;
    do {
        text[--at] = (char)('0' + n % 10);
        n /= 10;
    } while (n);
    if (v < 0)
        text[--at] = '-';
    buf_add(b, text + at, INTEGER_BYTES - at);
}

/* Any number, as jansson finishes it: with a point, without '+' and zeros before an exponent. */
static size_t print_real(double v, char text[REAL_BYTES])
{
    size_t n = (size_t)snprintf(text, REAL_BYTES, "%.*g", DIGITS, v);
    char *e = strchr(text, 'e');
    if (!e && !strchr(text, '.')) {
        memcpy(text + n, ".0", 3);
        return n + 2;
    }
    if (!e)
        return n;
    char *to = e + 1, *from = e + 1;
    if (*from == '-')
        to++;
    from++; /* printf always writes a sign */
    while (*from == '0')
        from++;
    memmove(to, from, strlen(from) + 1);
    return strlen(text);
}

/* The place of the first digit of a number that printf writes without an exponent: 0 for 1 to 10. */
static int exponent_of(double v)
{
    static const double powers[] = {1e-4, 1e-3, 1e-2, 1e-1, 1e0,  1e1,  1e2,  1e3,  1e4, 1e5,
                                    1e6,  1e7,  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14};
    int i = v < 1 ? 0 : -LEAST_EXPONENT;
    while (i + 1 < (int)(sizeof(powers) / sizeof(powers[0])) && v >= powers[i + 1])
        i++;
    return i + LEAST_EXPONENT;
}

/* The digits of a number from 1e-4 to 1e15 as one integer; 0 where a long double cannot tell which way
 * to round: its 64 bits hold such a power of ten exactly, and leave 14 behind the last digit. */
static uint64_t digits_of(double v, int exponent)
{
    static const long double powers[] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,
                                         1e7L,  1e8L,  1e9L,  1e10L, 1e11L, 1e12L, 1e13L,
                                         1e14L, 1e15L, 1e16L, 1e17L, 1e18L};
    static const uint64_t least = 100000000000000;
    if (LDBL_MANT_DIG < 64)
        return 0;
    long double scaled = v * powers[DIGITS - 1 - exponent];
    uint64_t digits = (uint64_t)scaled;
    long double rest = scaled - (long double)digits;
    if (rest > 0.499L && rest < 0.501L)
        return 0;
    digits += rest > 0.5L;
    return digits >= least && digits < 10 * least ? digits : 0;
}

/* Without the zeros at the end, but with one behind the point. */
static size_t print_digits(uint64_t digits, int exponent, char text[REAL_BYTES])
{
    char all[DIGITS];
    size_t n = 0;
    int count = DIGITS, whole = exponent + 1;
    for (int i = DIGITS; i-- > 0; digits /= 10)
        all[i] = (char)('0' + digits % 10);
    while (count > 1 && all[count - 1] == '0')
        count--;
    if (whole <= 0) {
        text[n++] = '0';
        text[n++] = '.';
        for (int i = whole; i < 0; i++)
            text[n++] = '0';
        memcpy(text + n, all, (size_t)count);
        return n + (size_t)count;
    }
    memcpy(text, all, (size_t)whole); /* the zeros that were cut are still there */
    n = (size_t)whole;
    text[n++] = '.';
    if (count <= whole) {
        text[n++] = '0';
        return n;
    }
    memcpy(text + n, all + whole, (size_t)(count - whole));
    return n + (size_t)(count - whole);
}

void json_add_real(struct buf *b, double v)
{
    char text[REAL_BYTES];
    if (!isfinite(v)) {
        buf_adds(b, "null");
        return;
    }
    int exponent = 0;
    uint64_t digits = 0;
    if (v >= 1e-4 && v < 1e15) {
        exponent = exponent_of(v);
        digits = digits_of(v, exponent);
    }
    buf_add(b, text, digits ? print_digits(digits, exponent, text) : print_real(v, text));
}

void json_add_string(struct buf *b, const char *s)
{
    json_t *string = s ? json_string(s) : NULL;
    char *text = string ? json_dumps(string, JSON_ENCODE_ANY) : NULL;
    buf_adds(b, text ? text : "null");
    free(text);
    json_decref(string);
}
