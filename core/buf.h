/* SPDX-License-Identifier: Apache-2.0
 * A growing byte buffer that is born with its maximum. Once an append would pass the maximum or
 * memory runs out the buffer is `failed` and stays so: check once, at the end. `data` is always
 * NUL-terminated after the first append. */
#ifndef CORE_BUF_H
#define CORE_BUF_H

#include <stdbool.h>
#include <stddef.h>

struct buf {
    char *data; /* owned; NULL while empty */
    size_t len, cap, max;
    bool failed;
};

void buf_init(struct buf *b, size_t max);
void buf_release(struct buf *b);
void buf_clear(struct buf *b);
void buf_add(struct buf *b, const void *bytes, size_t n);
void buf_adds(struct buf *b, const char *s);
__attribute__((format(printf, 2, 3))) void buf_addf(struct buf *b, const char *fmt, ...);
/* Makes room for n more bytes and a NUL and returns where they go, or NULL (failed). Commit with
 * b->len += n, and put the NUL behind them. */
char *buf_room(struct buf *b, size_t n);
/* Hands the bytes over: caller frees. An empty buffer gives "". NULL if the buffer failed. */
char *buf_take(struct buf *b, size_t *len);

#endif
