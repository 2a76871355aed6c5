// SPDX-License-Identifier: Apache-2.0
// How providers write requests and answers: one row each, below two functions each. Sources: the
// providers' API references, as of 2026.
//   openai_chat       POST /chat/completions; also self-hosted servers and OpenRouter:
//   reasoning_content or
//                     reasoning, usage.cost
//   openai_responses  POST /responses
//   anthropic         POST /messages, version 2023-06-01; thinking blocks go back as they came
//   gemini            POST /models/MODEL:streamGenerateContent?alt=sse
#include "agent/llm.h"

#include <string.h>

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* Overwrites a count if this event tells it: streams tell some twice, the last is the whole. */
static void count(int64_t *to, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (json_is_integer(value) && json_integer_value(value) >= 0)
        *to = json_integer_value(value);
}

/* `to` NULL: nowhere. */
static void append(struct buf *to, const json_t *object, const char *key)
{
    const json_t *text = json_object_get(object, key);
    if (to && json_is_string(text))
        buf_add(to, json_string_value(text), json_string_length(text));
}

static void option(json_t *body, const char *key, const struct llm_request *r, const char *param)
{
    json_t *value = json_object_get(r->params, param);
    if (value && !json_is_null(value))
        json_object_set(body, key, value);
}

/* Words of a format for why it stopped. */
struct finish_word {
    const char *word;
    enum llm_finish finish;
};
static const struct finish_word finish_words[] = {
    {"stop", LLM_STOP},
    {"end_turn", LLM_STOP},
    {"stop_sequence", LLM_STOP},
    {"STOP", LLM_STOP},
    {"completed", LLM_STOP},
    {"length", LLM_LENGTH},
    {"max_tokens", LLM_LENGTH},
    {"MAX_TOKENS", LLM_LENGTH},
    {"max_output_tokens", LLM_LENGTH},
    {"model_context_window_exceeded", LLM_LENGTH},
    {"content_filter", LLM_REFUSED},
    {"refusal", LLM_REFUSED},
    {"SAFETY", LLM_REFUSED},
    {"RECITATION", LLM_REFUSED},
    {"PROHIBITED_CONTENT", LLM_REFUSED},
    {"BLOCKLIST", LLM_REFUSED},
};

/* A refusal stays one, whatever else is told of the end. */
static void finish(struct llm_answer *a, const json_t *object, const char *key)
{
    const char *word = text_of(object, key);
    if (!*word || a->finish == LLM_REFUSED)
        return;
    a->finish = LLM_OTHER;
    for (size_t i = 0; i < sizeof(finish_words) / sizeof(finish_words[0]); i++)
        if (!strcmp(word, finish_words[i].word))
            a->finish = finish_words[i].finish;
}

/* One answer is asked for; where a provider tells of more, in any order, the first counts. */
static const json_t *first_of(const json_t *choices)
{
    const json_t *choice;
    size_t i;
    json_array_foreach(choices, i, choice)
    {
        if (!json_integer_value(json_object_get(choice, "index")))
            return choice;
    }
    return NULL;
}

/* A text that says why there is no other. */
static void refuse(struct llm_answer *a, const json_t *object, const char *key)
{
    if (!json_is_string(json_object_get(object, key)))
        return;
    append(&a->text, object, key);
    a->finish = LLM_REFUSED;
}

/* [{"role", "content"}] of the messages, system included or not. */
static json_t *plain_messages(const json_t *messages, bool with_system)
{
    json_t *list = json_array();
    const json_t *m;
    size_t i;
    json_array_foreach(messages, i, m) if (with_system || strcmp(text_of(m, "role"), "system") != 0)
        json_array_append_new(list, json_pack("{s:s, s:O}", "role", text_of(m, "role"), "content",
                                              json_object_get(m, "content")));
    return list;
}

static const json_t *system_message(const json_t *messages)
{
    const json_t *first = json_array_get(messages, 0);
    return strcmp(text_of(first, "role"), "system") ? NULL : json_object_get(first, "content");
}

/* ---- chat completions ---- */

static json_t *chat_body(const struct llm_request *r)
{
    json_t *body =
        json_pack("{s:s, s:o, s:b, s:{s:b}, s:I}", "model", r->model, "messages",
                  plain_messages(r->messages, true), "stream", 1, "stream_options", "include_usage",
                  1, "max_completion_tokens", (json_int_t)r->max_output);
    option(body, "temperature", r, "temperature");
    option(body, "top_p", r, "top_p");
    option(body, "reasoning_effort", r, "effort");
    return body;
}

static bool chat_read(struct llm_answer *a, const char *name, const json_t *data)
{
    (void)name;
    const json_t *choices = json_object_get(data, "choices"),
                 *usage = json_object_get(data, "usage");
    if (!json_is_array(choices) && !json_is_object(usage))
        return false;
    const json_t *choice = first_of(choices), *part = json_object_get(choice, "delta");
    if (!part)
        part = json_object_get(choice, "message");
    append(&a->text, part, "content");
    const char *thoughts = json_is_string(json_object_get(part, "reasoning_content"))
                               ? "reasoning_content"
                               : "reasoning";
    append(&a->reasoning, part, thoughts);
    refuse(a, part, "refusal");
    finish(a, choice, "finish_reason");
    count(&a->usage.input, usage, "prompt_tokens");
    count(&a->usage.output, usage, "completion_tokens");
    count(&a->usage.cached, json_object_get(usage, "prompt_tokens_details"), "cached_tokens");
    count(&a->usage.reasoning, json_object_get(usage, "completion_tokens_details"),
          "reasoning_tokens");
    if (json_is_number(json_object_get(usage, "cost")))
        a->usage.cost_usd = json_number_value(json_object_get(usage, "cost"));
    return true;
}

/* ---- responses ---- */

static json_t *responses_body(const struct llm_request *r)
{
    json_t *body = json_pack("{s:s, s:o, s:b, s:b, s:I}", "model", r->model, "input",
                             plain_messages(r->messages, false), "stream", 1, "store", 0,
                             "max_output_tokens", (json_int_t)r->max_output);
    const json_t *system = system_message(r->messages);
    if (system)
        json_object_set(body, "instructions", (json_t *)system);
    option(body, "temperature", r, "temperature");
    option(body, "top_p", r, "top_p");
    const char *effort = text_of(r->params, "effort");
    json_t *reasoning = json_pack("{s:s}", "summary", "auto");
    if (*effort)
        json_object_set_new(reasoning, "effort", json_string(effort));
    json_object_set_new(body, "reasoning", reasoning);
    return body;
}

/* The response object: in the last event of a stream, or the whole body. Its text is used only
 * where no deltas came before. */
static void read_response(struct llm_answer *a, const json_t *response)
{
    const json_t *usage = json_object_get(response, "usage"), *item, *part;
    size_t i, k;
    count(&a->usage.input, usage, "input_tokens");
    count(&a->usage.output, usage, "output_tokens");
    count(&a->usage.cached, json_object_get(usage, "input_tokens_details"), "cached_tokens");
    count(&a->usage.reasoning, json_object_get(usage, "output_tokens_details"), "reasoning_tokens");
    finish(a, response, "status");
    finish(a, json_object_get(response, "incomplete_details"), "reason");
    if (a->text.len)
        return;
    struct buf *thoughts = a->reasoning.len ? NULL : &a->reasoning;
    json_array_foreach(json_object_get(response, "output"), i, item)
    {
        struct buf *to = strcmp(text_of(item, "type"), "reasoning") ? &a->text : thoughts;
        json_array_foreach(json_object_get(item, "content"), k, part)
        {
            append(to, part, "text");
            refuse(a, part, "refusal");
        }
        json_array_foreach(json_object_get(item, "summary"), k, part)
            append(thoughts, part, "text");
    }
}

static bool responses_read(struct llm_answer *a, const char *name, const json_t *data)
{
    if (!name) {
        read_response(a, data);
        return json_is_array(json_object_get(data, "output"));
    }
    const char *type = text_of(data, "type");
    if (!*type)
        return false;
    const json_t *response = json_object_get(data, "response");
    if (!strcmp(type, "response.output_text.delta"))
        append(&a->text, data, "delta");
    else if (!strcmp(type, "response.refusal.delta"))
        refuse(a, data, "delta");
    else if (!strcmp(type, "response.reasoning_summary_text.delta") ||
             !strcmp(type, "response.reasoning_text.delta"))
        append(&a->reasoning, data, "delta");
    else if (!strcmp(type, "response.completed") || !strcmp(type, "response.incomplete")) {
        read_response(a, response);
        a->done = true;
    } else if (!strcmp(type, "response.failed") || !strcmp(type, "error")) {
        llm_answer_fail_by(a, response ? json_object_get(response, "error") : data);
    }
    return true; /* there are many further events, and there will be more */
}

/* ---- anthropic messages ---- */

/* Thinking blocks of earlier answers go back with their text. The end of the conversation so far is
 * marked for the cache: what was sent before costs a tenth. */
static json_t *anthropic_messages(const json_t *messages)
{
    json_t *list = json_array();
    const json_t *m;
    size_t i, n = json_array_size(messages);
    json_array_foreach(messages, i, m)
    {
        if (!strcmp(text_of(m, "role"), "system"))
            continue;
        json_t *blocks = json_object_get(m, "blocks") ? json_deep_copy(json_object_get(m, "blocks"))
                                                      : json_array();
        json_t *text =
            json_pack("{s:s, s:O}", "type", "text", "text", json_object_get(m, "content"));
        if (i + 1 == n)
            json_object_set_new(text, "cache_control", json_pack("{s:s}", "type", "ephemeral"));
        json_array_append_new(blocks, text);
        json_array_append_new(
            list, json_pack("{s:s, s:o}", "role", text_of(m, "role"), "content", blocks));
    }
    return list;
}

static json_t *anthropic_body(const struct llm_request *r)
{
    json_t *body = json_pack("{s:s, s:o, s:b, s:I}", "model", r->model, "messages",
                             anthropic_messages(r->messages), "stream", 1, "max_tokens",
                             (json_int_t)r->max_output);
    const json_t *system = system_message(r->messages);
    if (system)
        json_object_set_new(body, "system",
                            json_pack("[{s:s, s:O, s:{s:s}}]", "type", "text", "text", system,
                                      "cache_control", "type", "ephemeral"));
    option(body, "temperature", r, "temperature");
    option(body, "top_p", r, "top_p");
    const char *effort = text_of(r->params, "effort");
    if (*effort && strcmp(effort, "none") != 0) {
        json_object_set_new(body, "thinking", json_pack("{s:s}", "type", "adaptive"));
        json_object_set_new(body, "output_config", json_pack("{s:s}", "effort", effort));
    }
    return body;
}

static void anthropic_usage(struct llm_answer *a, const json_t *usage)
{
    int64_t plain = -1;
    count(&plain, usage, "input_tokens");
    count(&a->usage.cached, usage, "cache_read_input_tokens");
    count(&a->usage.cache_write, usage, "cache_creation_input_tokens");
    if (plain >= 0) /* theirs leaves out what the cache gave and took */
        a->usage.input = plain + (a->usage.cached > 0 ? a->usage.cached : 0) +
                         (a->usage.cache_write > 0 ? a->usage.cache_write : 0);
    count(&a->usage.output, usage, "output_tokens");
    count(&a->usage.reasoning, json_object_get(usage, "output_tokens_details"), "thinking_tokens");
}

/* Puts what a thought grew by into its block: once, since each time costs its whole length. */
static void settle(struct llm_answer *a)
{
    json_t *block = json_array_get(a->blocks, json_array_size(a->blocks) - 1);
    if (a->thought.len)
        json_object_set_new(block, "thinking", json_stringn(a->thought.data, a->thought.len));
    if (a->signature.len)
        json_object_set_new(block, "signature", json_stringn(a->signature.data, a->signature.len));
    buf_clear(&a->thought);
    buf_clear(&a->signature);
}

static bool is_thought(const json_t *block)
{
    return !strcmp(text_of(block, "type"), "thinking") ||
           !strcmp(text_of(block, "type"), "redacted_thinking");
}

static void keep_block(struct llm_answer *a, const json_t *block)
{
    if (json_array_size(a->blocks) == LLM_BLOCKS_MAX) {
        llm_answer_fail(a, "it told more thoughts than can be kept");
        return;
    }
    if (!a->blocks)
        a->blocks = json_array();
    json_array_append_new(a->blocks, json_deep_copy(block));
}

static bool anthropic_whole(struct llm_answer *a, const json_t *data)
{
    const json_t *content = json_object_get(data, "content"), *block;
    size_t i;
    json_array_foreach(content, i, block)
    {
        append(&a->text, block, "text");
        append(&a->reasoning, block, "thinking");
        if (is_thought(block))
            keep_block(a, block);
    }
    anthropic_usage(a, json_object_get(data, "usage"));
    finish(a, data, "stop_reason");
    return json_is_array(content);
}

static bool anthropic_read(struct llm_answer *a, const char *name, const json_t *data)
{
    const char *type = text_of(data, "type");
    if (!name)
        return anthropic_whole(a, data);
    if (!strcmp(type, "message_start")) {
        anthropic_usage(a, json_object_get(json_object_get(data, "message"), "usage"));
    } else if (!strcmp(type, "content_block_start")) {
        const json_t *block = json_object_get(data, "content_block");
        settle(a);
        append(&a->text, block, "text");
        if (is_thought(block)) {
            append(&a->thought, block, "thinking");
            append(&a->signature, block, "signature");
            keep_block(a, block);
        }
    } else if (!strcmp(type, "content_block_delta")) {
        const json_t *delta = json_object_get(data, "delta");
        append(&a->text, delta, "text");
        append(&a->reasoning, delta, "thinking");
        append(&a->thought, delta, "thinking");
        append(&a->signature, delta, "signature");
    } else if (!strcmp(type, "content_block_stop")) {
        settle(a);
    } else if (!strcmp(type, "message_delta")) {
        finish(a, json_object_get(data, "delta"), "stop_reason");
        anthropic_usage(a, json_object_get(data, "usage"));
        settle(a);
    } else if (!strcmp(type, "message_stop")) {
        a->done = true;
    }
    return *type != '\0';
}

/* ---- gemini ---- */

static json_t *gemini_body(const struct llm_request *r)
{
    json_t *contents = json_array();
    const json_t *m, *system = system_message(r->messages);
    size_t i;
    json_array_foreach(r->messages, i, m)
    {
        const char *role = text_of(m, "role");
        if (strcmp(role, "system") != 0)
            json_array_append_new(contents,
                                  json_pack("{s:s, s:[{s:O}]}", "role",
                                            strcmp(role, "assistant") ? "user" : "model", "parts",
                                            "text", json_object_get(m, "content")));
    }
    json_t *config = json_pack("{s:I, s:{s:b}}", "maxOutputTokens", (json_int_t)r->max_output,
                               "thinkingConfig", "includeThoughts", 1);
    option(config, "temperature", r, "temperature");
    option(config, "topP", r, "top_p");
    const char *effort = text_of(r->params, "effort");
    if (*effort)
        json_object_set_new(json_object_get(config, "thinkingConfig"), "thinkingLevel",
                            json_string(effort));
    json_t *body = json_pack("{s:o, s:o}", "contents", contents, "generationConfig", config);
    if (system)
        json_object_set_new(body, "systemInstruction",
                            json_pack("{s:[{s:O}]}", "parts", "text", system));
    return body;
}

static bool gemini_read(struct llm_answer *a, const char *name, const json_t *data)
{
    (void)name;
    const json_t *candidates = json_object_get(data, "candidates"), *part;
    const json_t *candidate = first_of(candidates);
    const json_t *usage = json_object_get(data, "usageMetadata");
    size_t i;
    json_array_foreach(json_object_get(json_object_get(candidate, "content"), "parts"), i, part)
        append(json_is_true(json_object_get(part, "thought")) ? &a->reasoning : &a->text, part,
               "text");
    finish(a, candidate, "finishReason");
    finish(a, json_object_get(data, "promptFeedback"), "blockReason");
    count(&a->usage.input, usage, "promptTokenCount");
    count(&a->usage.cached, usage, "cachedContentTokenCount");
    int64_t answer = -1;
    count(&answer, usage, "candidatesTokenCount");
    count(&a->usage.reasoning, usage, "thoughtsTokenCount");
    if (answer >= 0) /* theirs leaves the thoughts out */
        a->usage.output = answer + (a->usage.reasoning > 0 ? a->usage.reasoning : 0);
    a->done = a->finish != LLM_NONE;
    return json_is_array(candidates) || json_is_object(usage);
}

static const struct llm_format formats[] = {
    {"openai_chat", "/chat/completions", "Authorization", "Bearer ", NULL, chat_body, chat_read},
    {"openai_responses", "/responses", "Authorization", "Bearer ", NULL, responses_body,
     responses_read},
    {"anthropic", "/messages", "x-api-key", "", "anthropic-version: 2023-06-01", anthropic_body,
     anthropic_read},
    {"gemini", "/models/%s:streamGenerateContent?alt=sse", "x-goog-api-key", "", NULL, gemini_body,
     gemini_read},
};

const struct llm_format *llm_format_find(const char *name)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        if (!strcmp(formats[i].name, name))
            return &formats[i];
    return NULL;
}
