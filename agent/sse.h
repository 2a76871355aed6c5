/* SPDX-License-Identifier: Apache-2.0
 * Reads server-sent events (WHATWG HTML, 9.2) out of bytes that come in any pieces. Pure. Comments
 * and the fields "id" and "retry" are of no use here and are skipped. */
#ifndef AGENT_SSE_H
#define AGENT_SSE_H

#include "core/buf.h"

/* `data`: the event's data lines, joined by newlines, NUL-terminated; `name` "" if it has none.
 * Both are the reader's. False: no more is wanted; the reader stops and stays stopped. */
typedef bool sse_event(void *arg, const char *name, const char *data, size_t len);

enum { SSE_NAME = 64 };

struct sse {
    sse_event *event;
    void *arg;
    struct buf line, data;
    char name[SSE_NAME];
    bool stopped, after_cr;
};

/* `max`: most bytes of one event's data, and of one line. */
void sse_init(struct sse *s, size_t max, sse_event *event, void *arg);
void sse_release(struct sse *s);

/* False: stopped by the callback, or an event was larger than `max` (then s->data or s->line has
 * failed). An event that no blank line has ended when the bytes end is not an event. */
bool sse_feed(struct sse *s, const char *bytes, size_t n);

#endif
