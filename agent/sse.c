// SPDX-License-Identifier: Apache-2.0
#include "agent/sse.h"

#include <stdio.h>
#include <string.h>

void sse_init(struct sse *s, size_t max, sse_event *event, void *arg)
{
    *s = (struct sse){.event = event, .arg = arg};
    buf_init(&s->line, max);
    buf_init(&s->data, max);
}

void sse_release(struct sse *s)
{
    buf_release(&s->line);
    buf_release(&s->data);
}

/* A blank line ends an event; one without data is none. */
static bool dispatch(struct sse *s)
{
    bool more = true;
    if (s->data.len) { /* less the newline behind the last line */
        s->data.data[--s->data.len] = '\0';
        more = s->event(s->arg, s->name, s->data.data, s->data.len);
    }
    buf_clear(&s->data);
    s->name[0] = '\0';
    return more;
}

/* "field: value", "field:value" or "field". */
static bool take_line(struct sse *s)
{
    const char *line = s->line.len ? s->line.data : "";
    if (!*line)
        return dispatch(s);
    size_t field = strcspn(line, ":");
    const char *value = line + field + (line[field] == ':');
    value += *value == ' ';
    if (field == 4 && !memcmp(line, "data", 4)) {
        buf_adds(&s->data, value);
        buf_adds(&s->data, "\n");
    } else if (field == 5 && !memcmp(line, "event", 5)) {
        snprintf(s->name, sizeof(s->name), "%s", value);
    }
    return !s->data.failed;
}

bool sse_feed(struct sse *s, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n && !s->stopped;) {
        size_t run = i;
        while (run < n && bytes[run] != '\n' && bytes[run] != '\r')
            run++;
        if (run > i) {
            s->after_cr = false;
            buf_add(&s->line, bytes + i, run - i);
        }
        i = run;
        if (i == n)
            break;
        char end = bytes[i++];
        bool second_half = end == '\n' && s->after_cr;
        s->after_cr = end == '\r';
        if (second_half)
            continue;
        s->stopped = s->line.failed || !take_line(s);
        buf_clear(&s->line);
    }
    s->stopped = s->stopped || s->line.failed;
    return !s->stopped;
}
