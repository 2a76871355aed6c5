// SPDX-License-Identifier: Apache-2.0
#include "agent/http.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

struct http {
    CURLM *multi;
    struct http_call *calls; /* a list: there are tens */
    size_t running;
};

struct http_call {
    struct http_call *next;
    CURL *easy;
    struct curl_slist *headers;
    size_t max_bytes, bytes;
    bool too_large, stopped;
    bool (*on_bytes)(void *arg, int status, const char *bytes, size_t n);
    void (*on_done)(void *arg, const struct http_result *result);
    void *arg;
    char why[CURL_ERROR_SIZE];
};

struct http *http_new(struct fault *f)
{
    struct http *h = calloc(1, sizeof(*h));
    if (h && !curl_global_init(CURL_GLOBAL_DEFAULT))
        h->multi = curl_multi_init();
    if (h && h->multi)
        return h;
    free(h);
    fault_set(f, ERR_NO_MEMORY, "cannot start libcurl");
    return NULL;
}

static void destroy(struct http *h, struct http_call *call)
{
    for (struct http_call **at = &h->calls; *at; at = &(*at)->next)
        if (*at == call) {
            *at = call->next;
            break;
        }
    h->running--;
    curl_multi_remove_handle(h->multi, call->easy);
    curl_easy_cleanup(call->easy);
    curl_slist_free_all(call->headers);
    free(call);
}

void http_free(struct http *h)
{
    if (!h)
        return;
    while (h->calls)
        destroy(h, h->calls);
    curl_multi_cleanup(h->multi);
    curl_global_cleanup();
    free(h);
}

static size_t take(char *bytes, size_t size, size_t n, void *arg)
{
    struct http_call *call = arg;
    long status = 0;
    n *= size;
    call->bytes += n;
    if (call->bytes > call->max_bytes) {
        call->too_large = true;
        return CURL_WRITEFUNC_ERROR;
    }
    curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    if (call->on_bytes && !call->on_bytes(call->arg, (int)status, bytes, n)) {
        call->stopped = true;
        return CURL_WRITEFUNC_ERROR;
    }
    return n;
}

static bool add_headers(struct http_call *call, const char *const *headers)
{
    for (; *headers; headers++) {
        struct curl_slist *more = curl_slist_append(call->headers, *headers);
        if (!more)
            return false;
        call->headers = more;
    }
    return true;
}

static bool set_up(struct http_call *call, const struct http_request *r)
{
    CURL *e = call->easy;
    return !curl_easy_setopt(e, CURLOPT_URL, r->url) &&
           !curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https") &&
           !curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L) &&
           !curl_easy_setopt(e, CURLOPT_USERAGENT, "ptxbench-agent/" PTXBENCH_VERSION) &&
           !curl_easy_setopt(e, CURLOPT_HTTPHEADER, call->headers) &&
           !curl_easy_setopt(e, CURLOPT_POSTFIELDS, r->body) &&
           !curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body_len) &&
           !curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT, 30L) &&
           !curl_easy_setopt(e, CURLOPT_TIMEOUT, (long)r->timeout_s) &&
           !curl_easy_setopt(e, CURLOPT_LOW_SPEED_LIMIT, 1L) &&
           !curl_easy_setopt(e, CURLOPT_LOW_SPEED_TIME, (long)r->stall_s) &&
           !curl_easy_setopt(e, CURLOPT_ERRORBUFFER, call->why) &&
           !curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, take) &&
           !curl_easy_setopt(e, CURLOPT_WRITEDATA, call) &&
           !curl_easy_setopt(e, CURLOPT_PRIVATE, call);
}

struct http_call *http_start(struct http *h, const struct http_request *r, struct fault *f)
{
    struct http_call *call = calloc(1, sizeof(*call));
    if (!call || !(call->easy = curl_easy_init())) {
        free(call);
        fault_set(f, ERR_NO_MEMORY, "cannot start a request: out of memory");
        return NULL;
    }
    call->max_bytes = r->max_bytes;
    call->on_bytes = r->on_bytes;
    call->on_done = r->on_done;
    call->arg = r->arg;
    call->next = h->calls;
    h->calls = call;
    h->running++;
    if (add_headers(call, r->headers) && set_up(call, r) &&
        !curl_multi_add_handle(h->multi, call->easy))
        return call;
    destroy(h, call);
    fault_set(f, ERR_INTERNAL, "cannot start a request");
    return NULL;
}

void http_cancel(struct http *h, struct http_call *call)
{
    destroy(h, call);
}

static enum http_end end_of(const struct http_call *call, CURLcode code)
{
    return call->too_large                    ? HTTP_TOO_LARGE
           : call->stopped                    ? HTTP_STOPPED
           : code == CURLE_OK                 ? HTTP_DONE
           : code == CURLE_OPERATION_TIMEDOUT ? HTTP_TIMEOUT
                                              : HTTP_FAILED;
}

/* The call is gone before its callback runs, which may start others. */
static void finish(struct http *h, struct http_call *call, CURLcode code)
{
    void (*on_done)(void *, const struct http_result *) = call->on_done;
    void *arg = call->arg;
    struct http_result result = {.end = end_of(call, code)};
    char why[CURL_ERROR_SIZE];
    long status = 0;
    curl_off_t retry = 0;
    curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(call->easy, CURLINFO_RETRY_AFTER, &retry);
    memcpy(why, call->why, sizeof(why));
    result.status = (int)status;
    result.retry_after_s = retry;
    result.detail = result.end == HTTP_DONE        ? ""
                    : result.end == HTTP_TOO_LARGE ? "the answer is larger than allowed"
                    : *why                         ? why
                                                   : curl_easy_strerror(code);
    destroy(h, call);
    on_done(arg, &result);
}

static void finish_all(struct http *h)
{
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(h->multi, &left))) {
        struct http_call *call = NULL;
        CURLcode code = message->data.result;
        if (message->msg != CURLMSG_DONE)
            continue;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&call);
        finish(h, call, code);
    }
}

enum err http_wait(struct http *h, struct pollfd *fds, size_t count, int timeout_ms,
                   struct fault *f)
{
    struct curl_waitfd extra[HTTP_FDS];
    int running;
    if (count > HTTP_FDS)
        return fault_set(f, ERR_INTERNAL, "cannot wait for more than %d descriptors", HTTP_FDS);
    for (size_t i = 0; i < count; i++)
        extra[i] = (struct curl_waitfd){.fd = fds[i].fd, .events = CURL_WAIT_POLLIN};
    CURLMcode code = curl_multi_perform(h->multi, &running);
    finish_all(h);
    if (!code)
        code = curl_multi_poll(h->multi, extra, (unsigned)count, timeout_ms, NULL);
    for (size_t i = 0; i < count; i++)
        fds[i].revents = extra[i].revents & CURL_WAIT_POLLIN ? POLLIN : 0;
    if (!code)
        code = curl_multi_perform(h->multi, &running);
    finish_all(h);
    return code ? fault_set(f, ERR_IO, "cannot wait for requests: %s", curl_multi_strerror(code))
                : ERR_NONE;
}

size_t http_running(const struct http *h)
{
    return h->running;
}
