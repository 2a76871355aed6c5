/* SPDX-License-Identifier: Apache-2.0
 * Tokens of PTX text. One token is current; ptx_lex_next() moves on. Knows characters, comments and
 * numbers, and nothing of the grammar. */
#ifndef EVALUATOR_PTXVM_LEX_H
#define EVALUATOR_PTXVM_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A punctuation mark is its own character; the others begin past them. */
enum ptx_token {
    TOK_END = 256,
    TOK_ERROR,  /* lex->error says why */
    TOK_NAME,   /* foo, $L1, %r1 */
    TOK_WORD,   /* .reg, .b32: the text without the '.' */
    TOK_INT,    /* value */
    TOK_F32,    /* 0f3F800000: value is its bits */
    TOK_F64,    /* 0d…, 1.5: value is its bits */
    TOK_STRING, /* the text without the quotes */
    TOK_SHL,
    TOK_SHR,
    TOK_LE,
    TOK_GE,
    TOK_EQ,
    TOK_NE,
    TOK_AND_AND,
    TOK_OR_OR,
};

struct ptx_lex {
    const char *at, *end;   /* what is left to read, after the current token */
    const char *line_start; /* for the column */
    uint32_t line;          /* of `at`, from 1 */

    int kind; /* enum ptx_token or a character */
    const char *text;
    uint32_t len;
    uint32_t hash; /* ptx_hash() of the text: names only */
    uint64_t value;
    bool is_unsigned;                  /* TOK_INT with suffix U or above INT64_MAX */
    uint32_t token_line, token_column; /* where the token begins, both from 1 */
    const char *error;                 /* static text */
};

void ptx_lex_init(struct ptx_lex *l, const char *text, size_t len);
void ptx_lex_next(struct ptx_lex *l);

/* The next character that is neither blank nor comment, or 0 at the end; consumes what it skips.
 * The current token stays. */
char ptx_lex_peek(struct ptx_lex *l);
/* Does a '.' follow the current token without a blank? */
bool ptx_lex_touches_suffix(const struct ptx_lex *l);
/* Length of the run of suffix words (".async.shared::cta") that begins right at `l->at`, which it
 * consumes; 0 if none does. */
uint32_t ptx_lex_suffix(struct ptx_lex *l);
/* Consumes everything up to and with the '}' that closes the current '{'; the next token follows.
 * False if the text ends first. */
bool ptx_lex_skip_block(struct ptx_lex *l);

#endif
