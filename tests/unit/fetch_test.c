// SPDX-License-Identifier: Apache-2.0
// Requests to a server on a real socket that behaves well and badly: each ends once, in a clear
// state.
#include <arpa/inet.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/fetch.h"

/* What the server does with the next connection. */
enum manner { WHOLE, CUT, HANG_UP, SILENT, DRIP, ENDLESS };

struct behaviour {
    enum manner manner;
    const char *
        answer; /* WHOLE: all of it; CUT: then the connection is closed; DRIP: a byte each 100 ms */
};

struct server {
    int listener;
    struct behaviour now;
    char request[8192];   /* the last one, headers and body */
    pthread_mutex_t lock; /* of the two above */
    pthread_t thread;
    char url[64];
};

static void put(int fd, const char *bytes, size_t n)
{
    while (n) {
        ssize_t did = send(fd, bytes, n, MSG_NOSIGNAL);
        if (did <= 0)
            return;
        bytes += did;
        n -= (size_t)did;
    }
}

/* Until the body is whole: what the tests send ends in '}'. */
static void take_request(int fd, char *request, size_t size)
{
    size_t len = 0;
    while (len + 1 < size) {
        ssize_t did = recv(fd, request + len, size - 1 - len, 0);
        if (did <= 0)
            break;
        len += (size_t)did;
        if (request[len - 1] == '}' || request[0] == 0x16) /* that would be TLS */
            break;
    }
    request[len] = '\0';
}

static void behave(const struct behaviour *b, int fd)
{
    static const char head[] = "HTTP/1.1 200 OK\r\n\r\n";
    char filler[4096];
    memset(filler, 'x', sizeof(filler));
    switch (b->manner) {
    case WHOLE:
    case CUT:
        put(fd, b->answer, strlen(b->answer));
        break;
    case HANG_UP:
        break;
    case SILENT: /* until the other side gives up */
        recv(fd, filler, sizeof(filler), 0);
        break;
    case DRIP:
        for (const char *at = b->answer; *at; at++) {
            put(fd, at, 1);
            usleep(1000);
        }
        break;
    case ENDLESS:
        put(fd, head, sizeof(head) - 1);
        for (int i = 0; i < 10000; i++)
            put(fd, filler, sizeof(filler));
        break;
    }
}

static void *serve(void *arg)
{
    struct server *s = arg;
    for (int fd; (fd = accept(s->listener, NULL, NULL)) >= 0;) {
        char request[sizeof(s->request)];
        take_request(fd, request, sizeof(request));
        pthread_mutex_lock(&s->lock);
        memcpy(s->request, request, sizeof(request));
        struct behaviour now = s->now;
        pthread_mutex_unlock(&s->lock);
        behave(&now, fd);
        close(fd);
    }
    return NULL;
}

static void set_manner(struct server *s, struct behaviour b)
{
    pthread_mutex_lock(&s->lock);
    s->now = b;
    pthread_mutex_unlock(&s->lock);
}

static void saw(struct server *s, const char *part)
{
    pthread_mutex_lock(&s->lock);
    bool seen = strstr(s->request, part);
    pthread_mutex_unlock(&s->lock);
    assert_true(seen);
}

static int start_server(void **state)
{
    struct server *s = calloc(1, sizeof(*s));
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    pthread_mutex_init(&s->lock, NULL);
    s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(s->listener, (struct sockaddr *)&address, len) || listen(s->listener, 16) ||
        getsockname(s->listener, (struct sockaddr *)&address, &len))
        return -1;
    snprintf(s->url, sizeof(s->url), "http://127.0.0.1:%d/v1", ntohs(address.sin_port));
    *state = s;
    return pthread_create(&s->thread, NULL, serve, s);
}

static int stop_server(void **state)
{
    struct server *s = *state;
    shutdown(s->listener, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    close(s->listener);
    free(s);
    return 0;
}

struct call {
    int ended, status;
    enum fetch_end end;
    int64_t retry_after_s;
    char detail[256], body[4096];
    size_t bytes, stop_after;
};

static bool on_bytes(void *arg, int status, const char *bytes, size_t n)
{
    struct call *c = arg;
    c->status = status;
    if (c->bytes + n < sizeof(c->body))
        memcpy(c->body + c->bytes, bytes, n);
    c->bytes += n;
    return !c->stop_after || c->bytes < c->stop_after;
}

static void on_done(void *arg, const struct fetch_result *result)
{
    struct call *c = arg;
    c->ended++;
    c->end = result->end;
    c->status = result->status;
    c->retry_after_s = result->retry_after_s;
    snprintf(c->detail, sizeof(c->detail), "%s", result->detail);
}

static struct fetch_call *start(struct fetcher *h, const char *url, struct call *c,
                                int64_t timeout_s)
{
    static const char *const headers[] = {"Content-Type: application/json", "X-Key: k", NULL};
    struct fetch_request r = {.url = url,
                              .headers = headers,
                              .body = "{\"a\": 1}",
                              .body_len = 8,
                              .timeout_s = timeout_s,
                              .stall_s = timeout_s,
                              .max_bytes = 1 << 20,
                              .on_bytes = on_bytes,
                              .on_done = on_done,
                              .arg = c};
    struct fault f = {0};
    struct fetch_call *call = fetch_start(h, &r, &f);
    assert_non_null(call);
    return call;
}

static void run(struct fetcher *h)
{
    struct fault f = {0};
    for (int i = 0; i < 1000 && fetch_running(h); i++)
        assert_int_equal(fetch_wait(h, NULL, 0, 100, &f), ERR_NONE);
    assert_int_equal(fetch_running(h), 0);
}

#define OK "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"

static void every_manner_ends_in_a_clear_state(void **state)
{
    static const struct {
        const char *name;
        struct behaviour behaviour;
        enum fetch_end end;
        int status;
        int64_t retry;
        const char *body;
    } cases[] = {
        {"normal", {WHOLE, OK "hello"}, FETCH_DONE, 200, 0, "hello"},
        {"to the end of the connection",
         {WHOLE, "HTTP/1.1 200 OK\r\n\r\nhello"},
         FETCH_DONE,
         200,
         0,
         "hello"},
        {"chunked",
         {WHOLE,
          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"},
         FETCH_DONE,
         200,
         0,
         "hello"},
        {"a slow drip", {DRIP, OK "hello"}, FETCH_DONE, 200, 0, "hello"},
        {"cut in the middle", {CUT, OK "hel"}, FETCH_FAILED, 200, 0, "hel"},
        {"cut in a chunk",
         {CUT, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhel"},
         FETCH_FAILED,
         200,
         0,
         "hel"},
        {"hung up on", {HANG_UP, NULL}, FETCH_FAILED, 0, 0, ""},
        {"no HTTP", {CUT, "SSH-2.0-x\r\n"}, FETCH_FAILED, 0, 0, NULL},
        {"429",
         {WHOLE, "HTTP/1.1 429 Slow\r\nRetry-After: 7\r\nContent-Length: 2\r\n\r\n{}"},
         FETCH_DONE,
         429,
         7,
         "{}"},
        {"500", {WHOLE, "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"}, FETCH_DONE, 500, 0, ""},
        {"a redirect is not followed",
         {WHOLE, "HTTP/1.1 302 Go\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"},
         FETCH_DONE,
         302,
         0,
         ""},
        {"without end", {ENDLESS, NULL}, FETCH_TOO_LARGE, 200, 0, NULL},
    };
    struct server *s = *state;
    struct fault f = {0};
    struct fetcher *h = fetch_new(&f);
    assert_non_null(h);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct call c = {0};
        set_manner(s, cases[i].behaviour);
        start(h, s->url, &c, 20);
        run(h);
        print_message("%s: %s\n", cases[i].name, c.detail);
        assert_int_equal(c.ended, 1);
        assert_int_equal(c.end, cases[i].end);
        assert_int_equal(c.status, cases[i].status);
        assert_int_equal(c.retry_after_s, cases[i].retry);
        assert_int_equal(c.detail[0] == '\0', c.end == FETCH_DONE);
        if (cases[i].body)
            assert_string_equal(c.body, cases[i].body);
        saw(s, "POST /v1 HTTP/1.1\r\n");
        saw(s, "X-Key: k\r\n");
        saw(s, "\r\n\r\n{\"a\": 1}");
    }
    fetch_free(h);
}

static void a_silent_server_costs_its_time(void **state)
{
    struct server *s = *state;
    struct fault f = {0};
    struct fetcher *h = fetch_new(&f);
    struct call c = {0};
    set_manner(s, (struct behaviour){SILENT, NULL});
    start(h, s->url, &c, 1);
    run(h);
    assert_int_equal(c.end, FETCH_TIMEOUT);
    assert_int_equal(c.status, 0);
    fetch_free(h);
}

static void nobody_there_or_no_trust(void **state)
{
    struct server *s = *state;
    struct fault f = {0};
    struct fetcher *h = fetch_new(&f);
    char url[80];
    struct call none = {0}, plain = {0}, file = {0};
    set_manner(s, (struct behaviour){WHOLE, OK "hello"});
    start(h, "http://127.0.0.1:1/", &none, 5);
    snprintf(url, sizeof(url), "https%s", s->url + 4); /* this server speaks no TLS */
    start(h, url, &plain, 5);
    start(h, "file:///etc/passwd", &file, 5);
    run(h);
    assert_int_equal(none.end, FETCH_FAILED);
    assert_int_equal(plain.end, FETCH_FAILED);
    assert_int_equal(file.end, FETCH_FAILED);
    assert_int_equal(file.bytes, 0);
    fetch_free(h);
}

static void a_call_may_be_ended_from_both_sides(void **state)
{
    struct server *s = *state;
    struct fault f = {0};
    struct fetcher *h = fetch_new(&f);
    struct call stopped = {.stop_after = 1}, cancelled = {0}, left = {0};
    set_manner(s, (struct behaviour){WHOLE, OK "hello"});
    start(h, s->url, &stopped, 5);
    run(h);
    assert_int_equal(stopped.end, FETCH_STOPPED);
    fetch_cancel(h, start(h, s->url, &cancelled, 5));
    assert_int_equal(fetch_running(h), 0);
    start(h, s->url, &left, 5);
    fetch_free(h);
    assert_int_equal(cancelled.ended + left.ended, 0);
}

static void other_descriptors_wake_it(void **state)
{
    struct fault f = {0};
    struct fetcher *h = fetch_new(&f);
    int ends[2];
    (void)state;
    assert_int_equal(pipe(ends), 0);
    struct pollfd fd = {.fd = ends[0], .events = POLLIN};
    assert_int_equal(fetch_wait(h, &fd, 1, 0, &f), ERR_NONE);
    assert_int_equal(fd.revents, 0);
    assert_int_equal(write(ends[1], "x", 1), 1);
    assert_int_equal(fetch_wait(h, &fd, 1, 10000, &f), ERR_NONE);
    assert_int_equal(fd.revents, POLLIN);
    close(ends[0]);
    close(ends[1]);
    fetch_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_manner_ends_in_a_clear_state),
        cmocka_unit_test(a_silent_server_costs_its_time),
        cmocka_unit_test(nobody_there_or_no_trust),
        cmocka_unit_test(a_call_may_be_ended_from_both_sides),
        cmocka_unit_test(other_descriptors_wake_it),
    };
    return cmocka_run_group_tests(tests, start_server, stop_server);
}
