// SPDX-License-Identifier: Apache-2.0
// What all formats share: the answer's life, JSON in, prices.
#include "agent/llm.h"

#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "core/text.h"
#include "core/util.h"

const char *llm_finish_name(enum llm_finish f)
{
    static const char *const names[] = {
        [LLM_NONE] = "none",       [LLM_STOP] = "stop",   [LLM_LENGTH] = "length",
        [LLM_REFUSED] = "refused", [LLM_OTHER] = "other",
    };
    return names[f];
}

void llm_answer_init(struct llm_answer *a)
{
    *a = (struct llm_answer){.usage = {-1, -1, -1, -1, -1, -1}};
    buf_init(&a->text, LLM_ANSWER_MAX);
    buf_init(&a->reasoning, LLM_ANSWER_MAX);
    buf_init(&a->thought, LLM_ANSWER_MAX);
    buf_init(&a->signature, LLM_ANSWER_MAX);
}

void llm_answer_release(struct llm_answer *a)
{
    buf_release(&a->text);
    buf_release(&a->reasoning);
    buf_release(&a->thought);
    buf_release(&a->signature);
    json_decref(a->blocks);
    a->blocks = NULL;
}

void llm_answer_fail(struct llm_answer *a, const char *why)
{
    snprintf(a->error, sizeof(a->error), "%s", *why ? why : "an error without a message");
    text_sanitize(a->error);
}

/* Words and numbers of providers for "not now". */
static bool is_busy(const json_t *word)
{
    static const char *const words[] = {
        "overloaded_error", "rate_limit_error",   "rate_limit_exceeded", "server_is_overloaded",
        "slow_down",        "RESOURCE_EXHAUSTED", "UNAVAILABLE"};
    json_int_t n = json_integer_value(word);
    for (size_t i = 0; json_is_string(word) && i < COUNT_OF(words); i++)
        if (!strcmp(json_string_value(word), words[i]))
            return true;
    return n == 429 || n == 503 || n == 529;
}

void llm_answer_fail_by(struct llm_answer *a, const json_t *error)
{
    const char *text =
        json_string_value(json_is_string(error) ? error : json_object_get(error, "message"));
    a->busy = is_busy(json_object_get(error, "type")) || is_busy(json_object_get(error, "code")) ||
              is_busy(json_object_get(error, "status"));
    llm_answer_fail(a, text ? text : "");
}

/* Every provider tells of an error as {"error": "…"} or {"error": {"message": "…"}}, with a status
 * or in the middle of a stream. */
static bool read_error(struct llm_answer *a, const json_t *data)
{
    const json_t *error = json_object_get(data, "error");
    if (!error || json_is_null(error))
        return false;
    llm_answer_fail_by(a, error);
    return true;
}

static bool read_json(const struct llm_format *format, struct llm_answer *a, const char *name,
                      const char *text, size_t len, struct fault *f)
{
    struct fault why = {0};
    json_t *data = json_parse(text, len, &why);
    if (!data) {
        fault_set(f, ERR_BAD_REQUEST, "the provider's answer is not JSON: %s", why.detail);
        return false;
    }
    bool known = read_error(a, data) || (json_is_object(data) && format->read(a, name, data));
    json_decref(data);
    if (!known)
        fault_set(f, ERR_BAD_REQUEST, "the provider's answer is not of the format %s",
                  format->name);
    bool large = a->text.failed || a->reasoning.failed || a->signature.failed;
    if (known && large)
        fault_set(f, ERR_TOO_LARGE, "the provider's answer is larger than %d MiB",
                  LLM_ANSWER_MAX / (1024 * 1024));
    return known && !large;
}

bool llm_read_event(const struct llm_format *format, struct llm_answer *a, const char *name,
                    const char *data, size_t len, struct fault *f)
{
    if (len == 6 && !memcmp(data, "[DONE]", 6)) {
        a->done = true;
        return true;
    }
    return read_json(format, a, name, data, len, f);
}

bool llm_read_body(const struct llm_format *format, struct llm_answer *a, const char *body,
                   size_t len, struct fault *f)
{
    if (!read_json(format, a, NULL, body, len, f))
        return false;
    a->done = !a->error[0];
    return true;
}

double llm_cost(const struct llm_usage *u, const struct llm_prices *p)
{
    if (u->cost_usd >= 0)
        return u->cost_usd;
    if (u->input < 0 || u->output < 0 || p->input < 0 || p->output < 0)
        return -1;
    double cached = u->cached > 0 ? (double)u->cached : 0;
    double written = u->cache_write > 0 ? (double)u->cache_write : 0;
    double plain = (double)u->input - cached - written;
    return (plain * p->input + cached * (p->cached < 0 ? p->input : p->cached) +
            written * (p->cache_write < 0 ? p->input : p->cache_write) +
            (double)u->output * p->output) /
           1e6;
}
