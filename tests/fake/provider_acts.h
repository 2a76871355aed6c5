/* SPDX-License-Identifier: Apache-2.0
 * What tests/fake/provider.c does for a model of that name, errors apart. */
#ifndef TESTS_FAKE_PROVIDER_ACTS_H
#define TESTS_FAKE_PROVIDER_ACTS_H

#include "tests/fake/provider_exchange.h"

/* ---- answers ---- */

static const char *const hello[] = {"Hello, ", "w\xc3\xb6rld", " \xe2\x89\xa4 1.", NULL};

static struct reply reply_of(const struct exchange *x)
{
    return (struct reply){.model = x->model, .reasoning = "", .pieces = hello, .usage = true};
}

static struct buf stream_of(const struct exchange *x, const struct reply *r)
{
    struct buf out;
    buf_init(&out, 2 * HUGE_BYTES);
    write_stream(x->format, &out, r);
    return out;
}

static void answer(struct exchange *x, const struct reply *r)
{
    struct buf out;
    if (x->stream) {
        out = stream_of(x, r);
        begin_stream(x);
        chunk(x, out.data, out.len);
        last_chunk(x);
    } else {
        buf_init(&out, 2 * HUGE_BYTES);
        write_whole(x->format, &out, r);
        send_body(x, 200, "application/json", "", out.data, out.len);
    }
    buf_release(&out);
}

static void act_normal(struct exchange *x)
{
    struct reply r = reply_of(x);
    answer(x, &r);
}

/* Seven bytes at a time, so that no event, character or line comes whole. */
static void act_stream(struct exchange *x)
{
    struct reply r = reply_of(x);
    struct buf out = stream_of(x, &r);
    begin_stream(x);
    for (size_t at = 0; at < out.len && !x->close; at += 7) {
        chunk(x, out.data + at, out.len - at < 7 ? out.len - at : 7);
        rest_ms(1);
    }
    last_chunk(x);
    buf_release(&out);
}

/* JSON, though a stream was asked for. */
static void act_whole(struct exchange *x)
{
    x->stream = false;
    act_normal(x);
}

static void act_reasoning(struct exchange *x)
{
    struct reply r = reply_of(x);
    r.reasoning = "Let me think.";
    answer(x, &r);
}

static void act_reasoning_whole(struct exchange *x)
{
    x->stream = false;
    act_reasoning(x);
}

static void act_no_usage(struct exchange *x)
{
    struct reply r = reply_of(x);
    r.usage = false;
    answer(x, &r);
}

static void act_length(struct exchange *x)
{
    struct reply r = reply_of(x);
    r.why = WHY_LENGTH;
    answer(x, &r);
}

static void act_refusal(struct exchange *x)
{
    static const char *const sorry[] = {"I cannot ", "help with that.", NULL};
    struct reply r = reply_of(x);
    r.pieces = sorry;
    r.why = WHY_REFUSAL;
    answer(x, &r);
}

static void act_two_choices(struct exchange *x)
{
    struct reply r = reply_of(x);
    r.second = "Another choice. ";
    answer(x, &r);
}

static void act_nothing_said(struct exchange *x)
{
    static const char *const nothing[] = {NULL};
    struct reply r = reply_of(x);
    r.pieces = nothing;
    answer(x, &r);
}

/* U+0000 as JSON may write it. */
static void act_nul_escaped(struct exchange *x)
{
    struct reply r = reply_of(x);
    struct buf out = stream_of(x, &r);
    char *at = strstr(out.data, "Hello, ");
    begin_stream(x);
    chunk(x, out.data, (size_t)(at - out.data));
    chunk(x, "\\u0000", 6);
    chunk(x, at, strlen(at));
    last_chunk(x);
    buf_release(&out);
}

/* 256 KiB, a KiB each 5 ms. */
static void act_long(struct exchange *x)
{
    static const char line[] = "add.f32 %f1, %f2, %f3; // sixty-four bytes, one line of a kernel\n";
    char piece[1024];
    const char *const pieces[] = {piece, NULL};
    struct reply r = reply_of(x);
    for (size_t i = 0; i + 1 < sizeof(piece); i++)
        piece[i] = line[i % (sizeof(line) - 1)];
    piece[sizeof(piece) - 1] = '\0';
    r.pieces = pieces;
    struct buf out = stream_of(x, &r);
    char *from = strstr(out.data, "add.f32"), *start = from, *end = strstr(from, "\n\n") + 2;
    while (start > out.data && (start[-1] != '\n' || (start > out.data + 1 && start[-2] != '\n')))
        start--;
    begin_stream(x);
    chunk(x, out.data, (size_t)(start - out.data));
    for (int i = 0; i < 256 && !x->close; i++) {
        chunk(x, start, (size_t)(end - start));
        rest_ms(5);
    }
    chunk(x, end, strlen(end));
    last_chunk(x);
    buf_release(&out);
}

/* ---- streams that break ---- */

/* Where a stream is broken off: in the middle of the second piece of the text, behind the first,
 * before any. */
static size_t in_text(const struct buf *stream)
{
    return (size_t)(strstr(stream->data, "w\xc3\xb6rld") + 4 - stream->data);
}

static size_t after_first_piece(const struct buf *stream)
{
    return (size_t)(strstr(strstr(stream->data, "Hello, "), "\n\n") + 2 - stream->data);
}

static size_t before_text(const struct buf *stream)
{
    return stream->len ? 5 : 0;
}

static void half(struct exchange *x, enum framing framing,
                 size_t (*where)(const struct buf *stream))
{
    struct reply r = reply_of(x);
    struct buf out = stream_of(x, &r);
    head(x, 200, "text/event-stream", "", framing, 10 * out.len);
    if (framing == CHUNKED)
        chunk(x, out.data, where(&out));
    else
        put(x, out.data, where(&out));
    buf_release(&out);
}

static void act_cut(struct exchange *x)
{
    half(x, CHUNKED, in_text);
    x->close = true;
}

/* The end of the connection ends the body: HTTP alone cannot tell that more was to come. */
static void act_cut_close(struct exchange *x)
{
    half(x, BY_CLOSE, in_text);
    x->close = true;
}

static void act_cut_length(struct exchange *x)
{
    half(x, LENGTH, in_text);
    x->close = true;
}

/* Without a word of TLS, with a reset of TCP. */
static void act_cut_tls(struct exchange *x)
{
    half(x, BY_CLOSE, in_text);
    rest_ms(50); /* a reset takes along what was not read yet */
    x->close = x->rude = true;
}

static void act_cut_before_text(struct exchange *x)
{
    half(x, CHUNKED, before_text);
    x->close = true;
}

static void act_cut_whole(struct exchange *x)
{
    struct reply r = reply_of(x);
    struct buf out;
    buf_init(&out, 1 << 16);
    write_whole(x->format, &out, &r);
    head(x, 200, "application/json", "", LENGTH, out.len);
    put(x, out.data, out.len / 2);
    buf_release(&out);
    x->close = true;
}

/* A stream that HTTP ends well, in the middle of an event. */
static void act_malformed(struct exchange *x)
{
    half(x, CHUNKED, in_text);
    chunk(x, "\n\n", 2);
    last_chunk(x);
}

static void act_malformed_whole(struct exchange *x)
{
    static const char text[] = "{\"choices\": [{\"message\": {\"content\": \"Hel";
    send_body(x, 200, "application/json", "", text, sizeof(text) - 1);
}

/* Bytes in the middle of the text. */
static void spoiled(struct exchange *x, const char *bytes, size_t n)
{
    struct reply r = reply_of(x);
    struct buf out = stream_of(x, &r);
    const char *at = strstr(out.data, "rld");
    begin_stream(x);
    chunk(x, out.data, (size_t)(at - out.data));
    chunk(x, bytes, n);
    chunk(x, at, strlen(at));
    last_chunk(x);
    buf_release(&out);
}

static void act_bad_utf8(struct exchange *x)
{
    spoiled(x, "\xff\xc3", 2);
}

static void act_nul(struct exchange *x)
{
    spoiled(x, "\0", 1);
}

static void act_surrogate(struct exchange *x)
{
    spoiled(x, "\\ud800", 6);
}

static void act_html(struct exchange *x)
{
    static const char page[] =
        "<!doctype html><html><head><title>502 Bad Gateway</title></head>\n<body><h1>502 Bad "
        "Gateway</h1>\n<script>data: {}</script></body></html>\n";
    send_body(x, 200, "text/html", "", page, sizeof(page) - 1);
}

static void act_html_502(struct exchange *x)
{
    static const char page[] = "<html><body><h1>502 Bad Gateway</h1><hr>nginx</body></html>\n";
    send_body(x, 502, "text/html", "", page, sizeof(page) - 1);
}

static void act_empty(struct exchange *x)
{
    send_body(x, 200, "text/event-stream", "", "", 0);
}

/* Another provider's answer. */
static void act_other_format(struct exchange *x)
{
    static const char text[] = "data: {\"ok\": true, \"lines\": [1, 2, 3]}\n\n";
    send_body(x, 200, "text/event-stream", "", text, sizeof(text) - 1);
}

static void act_not_http(struct exchange *x)
{
    put(x, "SSH-2.0-OpenSSH_9.2\r\n", 21);
    x->close = true;
}

static void act_hang_up(struct exchange *x)
{
    x->close = true;
}

static void act_redirect(struct exchange *x)
{
    char more[128];
    snprintf(more, sizeof(more), "Location: http://127.0.0.1:%d/stolen\r\n", listeners[0].port);
    send_body(x, 307, "text/html", more, "elsewhere", 9);
}

static void act_keepalive_close(struct exchange *x)
{
    struct reply r = reply_of(x);
    answer(x, &r);
    x->close = true;
}

/* ---- slow ---- */

static void act_drip(struct exchange *x)
{
    struct reply r = reply_of(x);
    struct buf out = stream_of(x, &r);
    begin_stream(x);
    for (size_t i = 0; i < out.len && !x->close; i++) {
        chunk(x, out.data + i, 1);
        rest_ms(1000);
    }
    last_chunk(x);
    buf_release(&out);
}

static void act_stall(struct exchange *x)
{
    begin_stream(x);
    wait_for_its_end(x);
}

static void act_stall_in_text(struct exchange *x)
{
    half(x, CHUNKED, in_text);
    wait_for_its_end(x);
}

static void act_silent(struct exchange *x)
{
    wait_for_its_end(x);
}

static void act_slow_headers(struct exchange *x)
{
    rest_ms(1000);
    act_normal(x);
}

/* ---- large ---- */

/* `n` bytes of filler as the body goes on. */
static void filler(struct exchange *x, size_t n)
{
    char block[65536];
    memset(block, 'x', sizeof(block));
    for (size_t did = 0; did < n && !x->close; did += sizeof(block))
        chunk(x, block, sizeof(block));
}

/* A stream in which one piece of the text, or of the thoughts, is long; `events` times. */
static void large(struct exchange *x, bool thoughts, size_t bytes, int events)
{
    static const char *const mark[] = {"HERE", NULL};
    struct reply r = reply_of(x);
    if (thoughts)
        r.reasoning = "HERE";
    else
        r.pieces = mark;
    struct buf out = stream_of(x, &r);
    char *at = strstr(out.data, "HERE"), *end = strstr(at, "\n\n") + 2, *start = at;
    while (start > out.data && strncmp(start - 1, "\ndata: ", 7) != 0)
        start--;
    begin_stream(x);
    chunk(x, out.data, (size_t)(start - out.data));
    for (int i = 0; i < events && !x->close; i++) {
        chunk(x, start, (size_t)(at - start));
        filler(x, bytes);
        chunk(x, at, (size_t)(end - at));
    }
    chunk(x, end, strlen(end));
    last_chunk(x);
    buf_release(&out);
}

static void act_huge(struct exchange *x)
{
    large(x, false, 65536, HUGE_BYTES / 65536);
}

static void act_huge_event(struct exchange *x)
{
    large(x, false, HUGE_BYTES, 1);
}

static void act_huge_reasoning(struct exchange *x)
{
    large(x, true, 65536, HUGE_BYTES / 65536);
}

static void act_huge_line(struct exchange *x)
{
    begin_stream(x);
    filler(x, HUGE_BYTES);
    last_chunk(x);
}

static void act_huge_error(struct exchange *x)
{
    static const char begin[] = "{\"error\": {\"message\": \"";
    head(x, 500, "application/json", "", CHUNKED, 0);
    chunk(x, begin, sizeof(begin) - 1);
    filler(x, HUGE_BYTES);
    chunk(x, "\"}}", 3);
    last_chunk(x);
}

static void act_huge_head(struct exchange *x)
{
    char line[1024];
    memset(line, 'x', sizeof(line));
    memcpy(line, "X-Filler: ", 10);
    memcpy(line + sizeof(line) - 2, "\r\n", 2);
    put(x, "HTTP/1.1 200 OK\r\n", 17);
    for (size_t n = 0; n < HUGE_BYTES && !x->close; n += sizeof(line))
        put(x, line, sizeof(line));
    put(x, "\r\n", 2);
    x->close = true;
}

/* Thirty MiB of events that each say little. */
static void act_huge_count(struct exchange *x)
{
    static const char *const ones[FORMATS] = {
        "data: {\"choices\":[]}\n\n",
        "data: {\"type\":\"x\"}\n\n",
        "data: {\"type\":\"content_block_start\",\"content_block\":{\"type\":\"thinking\"}}\n\n",
        "data: {\"candidates\":[]}\n\n",
    };
    struct buf block;
    buf_init(&block, 1 << 17);
    while (block.len < 65536)
        buf_adds(&block, ones[x->format]);
    begin_stream(x);
    for (size_t n = 0; n < HUGE_BYTES && !x->close; n += block.len)
        chunk(x, block.data, block.len);
    last_chunk(x);
    buf_release(&block);
}

static const struct {
    const char *name;
    void (*act)(struct exchange *x);
} acts[] = {
    {"normal", act_normal},
    {"stream", act_stream},
    {"whole", act_whole},
    {"reasoning", act_reasoning},
    {"reasoning-whole", act_reasoning_whole},
    {"no-usage", act_no_usage},
    {"length", act_length},
    {"refusal", act_refusal},
    {"two-choices", act_two_choices},
    {"nothing-said", act_nothing_said},
    {"nul-escaped", act_nul_escaped},
    {"long", act_long},
    {"cut", act_cut},
    {"cut-close", act_cut_close},
    {"cut-length", act_cut_length},
    {"cut-tls", act_cut_tls},
    {"cut-before-text", act_cut_before_text},
    {"cut-whole", act_cut_whole},
    {"malformed", act_malformed},
    {"malformed-whole", act_malformed_whole},
    {"bad-utf8", act_bad_utf8},
    {"nul", act_nul},
    {"surrogate", act_surrogate},
    {"html", act_html},
    {"html-502", act_html_502},
    {"empty", act_empty},
    {"other-format", act_other_format},
    {"not-http", act_not_http},
    {"hang-up", act_hang_up},
    {"redirect", act_redirect},
    {"keepalive-close", act_keepalive_close},
    {"drip", act_drip},
    {"stall", act_stall},
    {"stall-in-text", act_stall_in_text},
    {"silent", act_silent},
    {"slow-headers", act_slow_headers},
    {"huge", act_huge},
    {"huge-event", act_huge_event},
    {"huge-reasoning", act_huge_reasoning},
    {"huge-line", act_huge_line},
    {"huge-error", act_huge_error},
    {"huge-head", act_huge_head},
    {"huge-count", act_huge_count},
};

#endif
