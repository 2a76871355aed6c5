/* SPDX-License-Identifier: Apache-2.0
 * JSON written straight into a buffer: for answers of thousands of values, where making an object of
 * each and printing that takes longer than all the rest. The caller writes brackets and commas. */
#ifndef CORE_JSON_TEXT_H
#define CORE_JSON_TEXT_H

#include <stdint.h>

#include "core/buf.h"

void json_add_integer(struct buf *b, int64_t v);
/* As jansson prints it with JSON_REAL_PRECISION(15), byte for byte; null where that has no answer
 * (infinite, no number). */
void json_add_real(struct buf *b, double v);
/* NULL, or bytes that are not UTF-8: null. */
void json_add_string(struct buf *b, const char *s);

#endif
