/* SPDX-License-Identifier: Apache-2.0
 * How tests/fake/provider.c fails as providers say that they fail. */
#ifndef TESTS_FAKE_PROVIDER_ERRORS_H
#define TESTS_FAKE_PROVIDER_ERRORS_H

#include <time.h>

#include "tests/fake/provider_acts.h"

enum { DATE_S = 30 };

/* What each provider says; OpenAI has two APIs and one way of errors. "KEY" and "MODEL" stand for
 * those it got. */
struct words {
    const char *kind, *message;
};
static const struct mishap {
    const char *name;
    int status;
    const char *retry_after; /* "DATE": in DATE_S */
    int times;               /* then all is normal; 0: for ever */
    bool in_stream; /* with status 200, as an event; after a piece of the text if times is < 0 */
    struct words openai, anthropic, gemini;
} mishaps[] = {
#define BUSY                                                                                       \
    {"rate_limit_exceeded",                                                                        \
     "Rate limit reached for MODEL in organization org-x on tokens per min (TPM): Limit 30000"},   \
        {"rate_limit_error",                                                                       \
         "This request would exceed your organization's rate limit of 30,000 tokens per minute"},  \
    {                                                                                              \
        "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."                    \
    }
#define FULL                                                                                       \
    {"server_is_overloaded", "Our servers are currently overloaded. Please try again later."},     \
        {"overloaded_error", "Overloaded"},                                                        \
    {                                                                                              \
        "UNAVAILABLE", "The model is overloaded. Please try again later."                          \
    }
    {"429", 429, "2", 1, false, BUSY},
    {"429-always", 429, "7", 0, false, BUSY},
    {"429-date", 429, "DATE", 0, false, BUSY},
    {"429-plain", 429, NULL, 0, false, BUSY},
    {"429-soon", 429, "soon", 0, false, BUSY},
    {"503", 503, NULL, 0, false, FULL},
    {"529", 529, NULL, 0, false, FULL},
    {"overloaded-stream", 529, NULL, 0, true, FULL},
    {"overloaded-in-text", 529, NULL, -1, true, FULL},
    {"500",
     500,
     NULL,
     0,
     false,
     {"server_error", "The server had an error while processing your request. Sorry about that!"},
     {"api_error", "Internal server error"},
     {"INTERNAL", "An internal error has occurred."}},
    {"401",
     401,
     NULL,
     0,
     false,
     {"invalid_api_key", "You didn't provide an API key."},
     {"authentication_error", "invalid x-api-key"},
     {"UNAUTHENTICATED", "Request had invalid authentication credentials."}},
    {"key-echo",
     401,
     NULL,
     0,
     false,
     {"invalid_api_key",
      "Incorrect API key provided: KEY. You can find your API key at your account."},
     {"authentication_error", "invalid x-api-key KEY"},
     {"UNAUTHENTICATED", "API key not valid: KEY. Please pass a valid API key."}},
    {"key-echo-500",
     500,
     NULL,
     0,
     false,
     {"e", "KEY failed"},
     {"e", "KEY failed"},
     {"e", "KEY failed"}},
    {"key-echo-stream",
     500,
     NULL,
     -1,
     true,
     {"e", "KEY failed"},
     {"e", "KEY failed"},
     {"e", "KEY failed"}},
    {"404",
     404,
     NULL,
     0,
     false,
     {"model_not_found", "The model MODEL does not exist or you do not have access to it."},
     {"not_found_error", "model: MODEL"},
     {"NOT_FOUND", "models/MODEL is not found for API version v1beta"}},
    {"400-context",
     400,
     NULL,
     0,
     false,
     {"context_length_exceeded",
      "This model's maximum context length is 128000 tokens. However, your messages "
      "resulted in 130001 tokens."},
     {"invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum"},
     {"INVALID_ARGUMENT",
      "The input token count (1148576) exceeds the maximum number of tokens allowed (1048576)."}},
};

static json_t *error_for(const struct exchange *x, const struct mishap *m, const struct words *w,
                         char text[1024])
{
    const char *mark = strstr(w->message, "KEY"), *with = x->key;
    size_t skip = 3;
    if (!mark && (mark = strstr(w->message, "MODEL"))) {
        with = x->model;
        skip = 5;
    }
    snprintf(text, 1024, "%.*s%s%s", mark ? (int)(mark - w->message) : 0, w->message,
             mark ? with : "", mark ? mark + skip : w->message);
    return error_of(x->format, m->status, w->kind, text);
}

static void go_wrong(struct exchange *x, const struct mishap *m)
{
    const struct words *w = x->format == ANTHROPIC ? &m->anthropic
                            : x->format == GEMINI  ? &m->gemini
                                                   : &m->openai;
    char text[1024], more[128] = "", date[64];
    time_t then = time(NULL) + DATE_S;
    struct tm tm;
    json_t *error = error_for(x, m, w, text);
    if (m->in_stream) {
        struct buf out;
        buf_init(&out, 1 << 16);
        error_event(x->format, &out, m->status, w->kind, text);
        if (m->times < 0)
            half(x, CHUNKED, after_first_piece);
        else
            begin_stream(x);
        chunk(x, out.data, out.len);
        last_chunk(x);
        buf_release(&out);
        json_decref(error);
        return;
    }
    strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&then, &tm));
    if (m->retry_after)
        snprintf(more, sizeof(more), "Retry-After: %s\r\n",
                 strcmp(m->retry_after, "DATE") ? m->retry_after : date);
    send_json(x, m->status, more, error);
}

#endif
