// SPDX-License-Identifier: Apache-2.0
// Fenced blocks of a model's answer. One pass over its lines; a block is looked at when its fence
// closes.
#include "core/extract.h"

#include <string.h>
#include <strings.h>

#include "core/limits.h"

struct line {
    const char *at;
    size_t len;    /* without its end */
    size_t indent; /* spaces and tabs before the first other character */
};

/* The fence that opened the block the pass is in. */
struct fence {
    char mark; /* '`' or '~'; 0: not inside a block */
    size_t length, indent;
    const char *info;
    size_t info_len;
    const char *body; /* the first line behind it */
};

static bool next_line(const char **at, const char *end, struct line *out)
{
    if (*at == end)
        return false;
    const char *newline = memchr(*at, '\n', (size_t)(end - *at));
    const char *stop = newline ? newline : end;
    out->at = *at;
    out->len = (size_t)(stop - *at);
    *at = newline ? newline + 1 : end;
    if (out->len && out->at[out->len - 1] == '\r')
        out->len--;
    out->indent = 0;
    while (out->indent < out->len && (out->at[out->indent] == ' ' || out->at[out->indent] == '\t'))
        out->indent++;
    return true;
}

/* Is the line a fence, and which? The info string of one made of backticks holds none. */
static bool read_fence(const struct line *l, struct fence *out)
{
    const char *s = l->at + l->indent;
    size_t left = l->len - l->indent;
    if (!left || (*s != '`' && *s != '~'))
        return false;
    size_t n = 0;
    while (n < left && s[n] == *s)
        n++;
    if (n < 3 || (*s == '`' && memchr(s + n, '`', left - n)))
        return false;
    *out = (struct fence){.mark = *s, .length = n, .indent = l->indent};
    out->info = s + n;
    out->info_len = left - n;
    while (out->info_len && (*out->info == ' ' || *out->info == '\t')) {
        out->info++;
        out->info_len--;
    }
    while (out->info_len && strchr(" \t", out->info[out->info_len - 1]))
        out->info_len--;
    return true;
}

static bool holds(const char *s, size_t len, const char *word)
{
    return memmem(s, len, word, strlen(word)) != NULL;
}

static bool holds_kernel(const char *s, size_t len)
{
    return holds(s, len, "__global__") || (holds(s, len, ".version") && holds(s, len, ".entry"));
}

/* A plan: called json, or called nothing and an object. */
static bool holds_plan(const struct fence *f, size_t len)
{
    if (f->info_len)
        return f->info_len >= 4 && !strncasecmp(f->info, "json", 4) &&
               (f->info_len == 4 || strchr(" \t5c", f->info[4]));
    const char *s = f->body;
    while (len && strchr(" \t\r\n", *s)) {
        s++;
        len--;
    }
    return len && *s == '{' && holds(s, len, "\"launches\"");
}

/* Takes a block's lines, less the indent that its fence had. */
static void take(struct buf *out, const struct fence *f, const char *end)
{
    const char *at = f->body;
    struct line l;
    buf_clear(out);
    if (!f->indent) {
        buf_add(out, at, (size_t)(end - at));
        return;
    }
    while (next_line(&at, end, &l)) {
        size_t less = l.indent < f->indent ? l.indent : f->indent;
        buf_add(out, l.at + less, (size_t)(at - l.at) - less);
    }
}

static void closed(struct extraction *x, const struct fence *f, const char *end)
{
    size_t len = (size_t)(end - f->body);
    x->blocks++;
    if (holds_kernel(f->body, len)) {
        x->cut_behind = false;
        x->state = len > LIMIT_SOURCE ? EXTRACT_TOO_LARGE : EXTRACT_KERNEL;
        if (x->state == EXTRACT_KERNEL)
            take(&x->source, f, end);
    } else if (holds_plan(f, len) && len <= LIMIT_SOURCE) {
        take(&x->plan, f, end);
    }
}

/* The block never closes: at the end of the answer, or where a further one opens. */
static void left_open(struct extraction *x, const struct fence *f, const char *end)
{
    if (!f->mark || !holds_kernel(f->body, (size_t)(end - f->body)))
        return;
    x->cut_behind = true;
    if (x->state == EXTRACT_NO_BLOCK || x->state == EXTRACT_NO_KERNEL)
        x->state = EXTRACT_CUT;
}

static bool closes(const struct fence *open, const struct fence *f)
{
    return open->mark == f->mark && f->length >= open->length && !f->info_len;
}

/* In source code no line starts with a fence, so this one opens a block although another is open.
 * Inside longer fences, or those of the other mark, it is text. */
static bool reopens(const struct fence *open, const struct fence *f)
{
    return !open->mark || (open->mark == f->mark && f->length >= open->length && f->info_len);
}

static const char *behind_thoughts(const char *answer, size_t len)
{
    static const char end[] = "</think>";
    const char *at = answer, *found;
    while ((found = memmem(at, len - (size_t)(at - answer), end, sizeof(end) - 1)))
        at = found + sizeof(end) - 1;
    return at;
}

void extract(const char *answer, size_t len, struct extraction *out)
{
    *out = (struct extraction){.state = EXTRACT_NO_BLOCK};
    buf_init(&out->source, LIMIT_SOURCE + 1);
    buf_init(&out->plan, LIMIT_SOURCE + 1);

    const char *at = behind_thoughts(answer, len), *end = answer + len;
    struct fence open = {0}, f;
    struct line l;
    while (next_line(&at, end, &l)) {
        if (!read_fence(&l, &f))
            continue;
        if (open.mark && closes(&open, &f)) {
            closed(out, &open, l.at);
            open.mark = 0;
        } else if (reopens(&open, &f)) {
            left_open(out, &open, l.at);
            open = f;
            open.body = at;
        }
    }
    left_open(out, &open, end);
    if (out->state == EXTRACT_NO_BLOCK && open.mark) /* cut before its kernel began */
        out->state = EXTRACT_CUT;
    if (out->state == EXTRACT_NO_BLOCK && out->blocks)
        out->state = EXTRACT_NO_KERNEL;
    if (out->state != EXTRACT_KERNEL) {
        buf_clear(&out->source);
        buf_clear(&out->plan);
    }
}

void extraction_release(struct extraction *x)
{
    buf_release(&x->source);
    buf_release(&x->plan);
}

const char *extract_state_text(enum extract_state s)
{
    static const char *const texts[] = {
        [EXTRACT_KERNEL] = "",
        [EXTRACT_NO_BLOCK] = "the answer holds no fenced block",
        [EXTRACT_NO_KERNEL] =
            "no fenced block of the answer holds a kernel (__global__, or .entry in PTX)",
        [EXTRACT_CUT] =
            "the block that should hold the kernel is not closed: the answer was cut off",
        [EXTRACT_TOO_LARGE] = "the kernel is larger than a submission may be (1 MiB)",
    };
    return texts[s];
}
