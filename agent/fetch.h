/* SPDX-License-Identifier: Apache-2.0
 * Many HTTP requests at one time, in one thread: the one file that knows libcurl. Certificates are
 * verified, with the authorities of $SSL_CERT_FILE too if it is set; redirects are not followed;
 * proxies of the environment are used for https: alone; every request has a time and a size beyond
 * which it is ended. */
#ifndef AGENT_FETCH_H
#define AGENT_FETCH_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

enum fetch_end {
    FETCH_DONE,      /* a status and a whole body came */
    FETCH_FAILED,    /* no connection, no trust, or it broke */
    FETCH_TIMEOUT,   /* took too long in all, or nothing came for too long */
    FETCH_TOO_LARGE, /* the body passed the request's ceiling */
    FETCH_STOPPED,   /* on_bytes wanted no more */
};

struct fetch_result {
    enum fetch_end end;
    int status;            /* 0: none came */
    int64_t retry_after_s; /* as the server asked; 0: it did not */
    const char *detail;    /* why, if not FETCH_DONE; the callee's */
};

struct fetch_request {
    const char *url;
    const char *const *headers; /* "Name: value", NULL-terminated; copied */
    const char *body;           /* POSTed; must live until on_done */
    size_t body_len;
    int64_t timeout_s, stall_s;
    size_t max_bytes;
    /* `status` is known by then. False: no more is wanted. */
    bool (*on_bytes)(void *arg, int status, const char *bytes, size_t n);
    void (*on_done)(void *arg, const struct fetch_result *result);
    void *arg;
};

struct fetcher;
struct fetch_call;

/* Once a process. NULL with the reason in `f`. */
struct fetcher *fetch_new(struct fault *f);
/* Ends every call without a callback. */
void fetch_free(struct fetcher *h);

/* Starts a call; it ends with exactly one on_done, from fetch_wait(). NULL: it could not start. */
struct fetch_call *fetch_start(struct fetcher *h, const struct fetch_request *r, struct fault *f);
/* Ends it at once, without on_done. */
void fetch_cancel(struct fetcher *h, struct fetch_call *call);

/* Moves all calls forward and runs their callbacks; waits for something to do, for one of `fds`
 * (revents are filled in), or for timeout_ms. Callbacks may start and cancel calls. At most
 * FETCH_FDS fds. */
enum { FETCH_FDS = 8 };
enum err fetch_wait(struct fetcher *h, struct pollfd *fds, size_t count, int timeout_ms,
                    struct fault *f);

size_t fetch_running(const struct fetcher *h);

#endif
