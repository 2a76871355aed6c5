// SPDX-License-Identifier: Apache-2.0
#include "core/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buf_init(struct buf *b, size_t max)
{
    *b = (struct buf){.max = max};
}

void buf_release(struct buf *b)
{
    free(b->data);
    *b = (struct buf){.max = b->max};
}

void buf_clear(struct buf *b)
{
    b->len = 0;
    b->failed = false;
    if (b->data)
        b->data[0] = '\0';
}

char *buf_room(struct buf *b, size_t n)
{
    if (b->failed || n > b->max || b->len > b->max - n) {
        b->failed = true;
        return NULL;
    }
    size_t need = b->len + n + 1;
    if (need > b->cap) {
        size_t cap = b->cap ? b->cap : 128;
        while (cap < need)
            cap *= 2;
        char *data = realloc(b->data, cap);
        if (!data) {
            b->failed = true;
            return NULL;
        }
        data[b->len] = '\0'; /* a string even if the room is never used */
        b->data = data;
        b->cap = cap;
    }
    return b->data + b->len;
}

void buf_add(struct buf *b, const void *bytes, size_t n)
{
    char *room = buf_room(b, n);
    if (!room)
        return;
    if (n)
        memcpy(room, bytes, n);
    b->len += n;
    b->data[b->len] = '\0';
}

void buf_adds(struct buf *b, const char *s)
{
    buf_add(b, s, strlen(s));
}

void buf_addf(struct buf *b, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    char *room = n < 0 ? NULL : buf_room(b, (size_t)n);
    if (!room) {
        b->failed = true;
    } else {
        vsnprintf(room, (size_t)n + 1, fmt, again);
        b->len += (size_t)n;
    }
    va_end(again);
}

char *buf_take(struct buf *b, size_t *len)
{
    if (b->failed) {
        buf_release(b);
        return NULL;
    }
    if (!b->data)
        buf_add(b, "", 0);
    char *data = b->data;
    if (len)
        *len = b->len;
    *b = (struct buf){.max = b->max};
    return data;
}
