/* SPDX-License-Identifier: Apache-2.0
 * UTF-8 and escaping for text that came from somebody else. */
#ifndef CORE_TEXT_H
#define CORE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Is this well-formed UTF-8 (no overlong form, no surrogate, at most U+10FFFF)? NUL is a fault too. */
bool text_is_utf8(const char *s, size_t len);

/* Largest n <= max such that s[0, n) does not end inside a UTF-8 sequence. */
size_t text_cut(const char *s, size_t len, size_t max);

/* Makes a string fit to show on one line: a sequence cut at the end is removed, tab and newline become
 * a space, other control characters (C1 and those that turn the direction of text too) and invalid bytes
 * become '?', byte for byte. In place. */
void text_sanitize(char *s);

/* Is `s` a name: a letter or '_', then letters, digits, '_', at most LIMIT_NAME bytes? */
bool text_is_name(const char *s);

#endif
