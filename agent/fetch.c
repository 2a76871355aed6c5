// SPDX-License-Identifier: Apache-2.0
#include "agent/fetch.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct fetcher {
    CURLM *multi;
    struct fetch_call *calls; /* a list: there are tens */
    size_t running;
};

struct fetch_call {
    struct fetch_call *next;
    CURL *easy;
    struct curl_slist *headers;
    size_t max_bytes, bytes;
    bool too_large, stopped;
    bool (*on_bytes)(void *arg, int status, const char *bytes, size_t n);
    void (*on_done)(void *arg, const struct fetch_result *result);
    void *arg;
    char why[CURL_ERROR_SIZE];
};

struct fetcher *fetch_new(struct fault *f)
{
    struct fetcher *h = calloc(1, sizeof(*h));
    if (h && !curl_global_init(CURL_GLOBAL_DEFAULT))
        h->multi = curl_multi_init();
    if (h && h->multi)
        return h;
    free(h);
    fault_set(f, ERR_NO_MEMORY, "cannot start libcurl");
    return NULL;
}

static void destroy(struct fetcher *h, struct fetch_call *call)
{
    for (struct fetch_call **at = &h->calls; *at; at = &(*at)->next)
        if (*at == call) {
            *at = call->next;
            break;
        }
    h->running--;
    curl_multi_remove_handle(h->multi, call->easy);
    curl_easy_cleanup(call->easy);
    for (struct curl_slist *line = call->headers; line; line = line->next)
        explicit_bzero(line->data, strlen(line->data)); /* one of them may be a key */
    curl_slist_free_all(call->headers);
    free(call);
}

void fetch_free(struct fetcher *h)
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
    struct fetch_call *call = arg;
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

static bool add_headers(struct fetch_call *call, const char *const *headers)
{
    for (; *headers; headers++) {
        struct curl_slist *more = curl_slist_append(call->headers, *headers);
        if (!more)
            return false;
        call->headers = more;
    }
    return true;
}

/* Plain http is for this host itself, and what is sent there is nobody else's. */
static bool set_proxy(CURL *e, const char *url)
{
    return strncasecmp(url, "http://", 7) || !curl_easy_setopt(e, CURLOPT_PROXY, "");
}

/* libcurl leaves this variable, unlike OpenSSL itself, to its callers. */
static bool trust(CURL *e)
{
    const char *file = getenv("SSL_CERT_FILE");
    return !file || !*file || !curl_easy_setopt(e, CURLOPT_CAINFO, file);
}

static bool set_up(struct fetch_call *call, const struct fetch_request *r)
{
    CURL *e = call->easy;
    return trust(e) && !curl_easy_setopt(e, CURLOPT_URL, r->url) &&
           !curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https") && set_proxy(e, r->url) &&
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

struct fetch_call *fetch_start(struct fetcher *h, const struct fetch_request *r, struct fault *f)
{
    struct fetch_call *call = calloc(1, sizeof(*call));
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

void fetch_cancel(struct fetcher *h, struct fetch_call *call)
{
    destroy(h, call);
}

static enum fetch_end end_of(const struct fetch_call *call, CURLcode code)
{
    return call->too_large                    ? FETCH_TOO_LARGE
           : call->stopped                    ? FETCH_STOPPED
           : code == CURLE_OK                 ? FETCH_DONE
           : code == CURLE_OPERATION_TIMEDOUT ? FETCH_TIMEOUT
                                              : FETCH_FAILED;
}

/* The call is gone before its callback runs, which may start others. */
static void finish(struct fetcher *h, struct fetch_call *call, CURLcode code)
{
    void (*on_done)(void *, const struct fetch_result *) = call->on_done;
    void *arg = call->arg;
    struct fetch_result result = {.end = end_of(call, code)};
    char why[CURL_ERROR_SIZE];
    long status = 0;
    curl_off_t retry = 0;
    curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(call->easy, CURLINFO_RETRY_AFTER, &retry);
    memcpy(why, call->why, sizeof(why));
    result.status = (int)status;
    result.retry_after_s = retry;
    result.detail = result.end == FETCH_DONE        ? ""
                    : result.end == FETCH_TOO_LARGE ? "the answer is larger than allowed"
                    : *why                          ? why
                                                    : curl_easy_strerror(code);
    destroy(h, call);
    on_done(arg, &result);
}

/* True if a call has ended. */
static bool finish_all(struct fetcher *h)
{
    CURLMsg *message;
    bool ended = false;
    int left;
    while ((message = curl_multi_info_read(h->multi, &left))) {
        struct fetch_call *call = NULL;
        CURLcode code = message->data.result;
        if (message->msg != CURLMSG_DONE)
            continue;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&call);
        finish(h, call, code);
        ended = true;
    }
    return ended;
}

enum err fetch_wait(struct fetcher *h, struct pollfd *fds, size_t count, int timeout_ms,
                    struct fault *f)
{
    struct curl_waitfd extra[FETCH_FDS];
    int running;
    if (count > FETCH_FDS)
        return fault_set(f, ERR_INTERNAL, "cannot wait for more than %d descriptors", FETCH_FDS);
    for (size_t i = 0; i < count; i++)
        extra[i] = (struct curl_waitfd){.fd = fds[i].fd, .events = CURL_WAIT_POLLIN};
    CURLMcode code = curl_multi_perform(h->multi, &running);
    if (finish_all(h))
        timeout_ms = 0; /* whoever waits has something to do */
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

size_t fetch_running(const struct fetcher *h)
{
    return h->running;
}
