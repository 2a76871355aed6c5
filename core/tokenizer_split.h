/* SPDX-License-Identifier: Apache-2.0
 * Cutting text into the words that a byte-level BPE never merges across. Used by core/tokenizer.c
 * alone. */
#ifndef CORE_TOKENIZER_SPLIT_H
#define CORE_TOKENIZER_SPLIT_H

#include <stdbool.h>
#include <stddef.h>

struct split_rules {
    bool gpt2;  /* words take one blank before them, nothing else */
    int digits; /* the longest run of digits in a word: 1, 3, or INT_MAX */
};

/* Bytes of the first word of a text of at least one byte. */
size_t split_word(const struct split_rules *rules, const char *text, size_t len);

#endif
