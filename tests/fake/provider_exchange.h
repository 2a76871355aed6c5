/* SPDX-License-Identifier: Apache-2.0
 * One request to tests/fake/provider.c and how bytes of an answer go out: over TCP or TLS, in the
 * framings of HTTP. */
#ifndef TESTS_FAKE_PROVIDER_EXCHANGE_H
#define TESTS_FAKE_PROVIDER_EXCHANGE_H

#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>

#include <openssl/ssl.h>

#include "tests/fake/provider_formats.h"

enum { LISTENERS = 16, HUGE_BYTES = 30 << 20, LINGER_S = 60 };

struct listener {
    const char *name;
    int fd, port;
    SSL_CTX *tls;
};

static struct listener listeners[LISTENERS];
struct exchange {
    const struct listener *at;
    int fd;
    SSL *ssl;
    struct buf in; /* head and body of the request */
    size_t head;   /* bytes of the head */
    json_t *body;
    char method[16], path[512], model[128], act[128], key[512];
    enum format format;
    bool stream; /* asked for one */
    bool close,
        rude; /* the connection after the answer; without a word of TLS, with a reset of TCP */
};

static void put(struct exchange *x, const char *bytes, size_t n)
{
    while (n && !x->close) {
        ssize_t did = x->ssl ? SSL_write(x->ssl, bytes, (int)(n < 16384 ? n : 16384))
                             : send(x->fd, bytes, n, MSG_NOSIGNAL);
        x->close = did <= 0;
        if (x->close)
            return;
        bytes += did;
        n -= (size_t)did;
    }
}

static ssize_t take(struct exchange *x, char *bytes, size_t n)
{
    return x->ssl ? SSL_read(x->ssl, bytes, (int)n) : recv(x->fd, bytes, n, 0);
}

static void rest_ms(int ms)
{
    poll(NULL, 0, ms);
}

/* Until the other side goes, or for that long. */
static void wait_for_its_end(struct exchange *x)
{
    char byte;
    struct pollfd fd = {.fd = x->fd, .events = POLLIN | POLLRDHUP};
    while (poll(&fd, 1, LINGER_S * 1000) > 0)
        if (take(x, &byte, 1) <= 0)
            break;
    x->close = true;
}

/* How the end of a body is told. */
enum framing { LENGTH, CHUNKED, BY_CLOSE };

static void head(struct exchange *x, int status, const char *type, const char *more,
                 enum framing framing, size_t len)
{
    char text[1024], size[64] = "";
    if (framing == LENGTH)
        snprintf(size, sizeof(size), "Content-Length: %zu\r\n", len);
    int n = snprintf(text, sizeof(text), "HTTP/1.1 %d %s\r\nContent-Type: %s\r\n%s%s\r\n", status,
                     status < 300 ? "OK" : "Not OK", type, more,
                     framing == LENGTH    ? size
                     : framing == CHUNKED ? "Transfer-Encoding: chunked\r\n"
                                          : "Connection: close\r\n");
    put(x, text, (size_t)n);
}

/* None of no bytes: that would be the last. */
static void chunk(struct exchange *x, const char *bytes, size_t n)
{
    char size[32];
    if (!n)
        return;
    put(x, size, (size_t)snprintf(size, sizeof(size), "%zx\r\n", n));
    put(x, bytes, n);
    put(x, "\r\n", 2);
}

static void last_chunk(struct exchange *x)
{
    put(x, "0\r\n\r\n", 5);
}

static void begin_stream(struct exchange *x)
{
    head(x, 200, "text/event-stream", "Cache-Control: no-cache\r\n", CHUNKED, 0);
}

static void send_body(struct exchange *x, int status, const char *type, const char *more,
                      const char *body, size_t n)
{
    head(x, status, type, more, LENGTH, n);
    put(x, body, n);
}

static void send_json(struct exchange *x, int status, const char *more, json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT);
    send_body(x, status, "application/json", more, text, strlen(text));
    free(text);
    json_decref(value);
}

#endif
