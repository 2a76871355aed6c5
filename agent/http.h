/* SPDX-License-Identifier: Apache-2.0
 * Many HTTP requests at one time, in one thread: the one file that knows libcurl. Certificates are
 * verified, redirects are not followed, and every request has a time and a size beyond which it is
 * ended. */
#ifndef AGENT_HTTP_H
#define AGENT_HTTP_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

enum http_end {
    HTTP_DONE,      /* a status and a whole body came */
    HTTP_FAILED,    /* no connection, no trust, or it broke */
    HTTP_TIMEOUT,   /* took too long in all, or nothing came for too long */
    HTTP_TOO_LARGE, /* the body passed the request's ceiling */
    HTTP_STOPPED,   /* on_bytes wanted no more */
};

struct http_result {
    enum http_end end;
    int status;            /* 0: none came */
    int64_t retry_after_s; /* as the server asked; 0: it did not */
    const char *detail;    /* why, if not HTTP_DONE; the callee's */
};

struct http_request {
    const char *url;
    const char *const *headers; /* "Name: value", NULL-terminated; copied */
    const char *body;           /* POSTed; must live until on_done */
    size_t body_len;
    int64_t timeout_s, stall_s;
    size_t max_bytes;
    /* `status` is known by then. False: no more is wanted. */
    bool (*on_bytes)(void *arg, int status, const char *bytes, size_t n);
    void (*on_done)(void *arg, const struct http_result *result);
    void *arg;
};

struct http;
struct http_call;

/* Once a process. NULL with the reason in `f`. */
struct http *http_new(struct fault *f);
/* Ends every call without a callback. */
void http_free(struct http *h);

/* Starts a call; it ends with exactly one on_done, from http_wait(). NULL: it could not start. */
struct http_call *http_start(struct http *h, const struct http_request *r, struct fault *f);
/* Ends it at once, without on_done. */
void http_cancel(struct http *h, struct http_call *call);

/* Moves all calls forward and runs their callbacks; waits for something to do, for one of `fds`
 * (revents are filled in), or for timeout_ms. Callbacks may start and cancel calls. At most
 * HTTP_FDS fds. */
enum { HTTP_FDS = 8 };
enum err http_wait(struct http *h, struct pollfd *fds, size_t count, int timeout_ms,
                   struct fault *f);

size_t http_running(const struct http *h);

#endif
