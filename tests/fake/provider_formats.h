/* SPDX-License-Identifier: Apache-2.0
 * What providers of language models write, after their API references as of 2026: one answer as a
 * stream of server-sent events or whole, and errors. For tests/fake/provider.c; written apart from
 * agent/llm_formats.c, which reads it. */
#ifndef TESTS_FAKE_PROVIDER_FORMATS_H
#define TESTS_FAKE_PROVIDER_FORMATS_H

#include <jansson.h>
#include <stdbool.h>
#include <string.h>

#include "core/buf.h"

enum format { CHAT, RESPONSES, ANTHROPIC, GEMINI, FORMATS };
enum why { WHY_STOP, WHY_LENGTH, WHY_REFUSAL, WHYS };

enum { PIECES = 64, PIECE = 64 };

/* An answer to be written. 100 tokens in, 60 of them cached (and 10 written to the cache where that
 * is told), 20 out, 7 of them thoughts if there are any. */
struct reply {
    const char *model, *reasoning; /* "": no thoughts */
    const char *const *pieces;     /* of the text; NULL-terminated */
    const char *second;            /* of another choice; NULL: none */
    enum why why;
    bool usage;
};

/* One event of a stream: takes `data`. */
static inline void event(struct buf *out, const char *name, json_t *data)
{
    char *text = json_dumps(data, JSON_COMPACT);
    if (name)
        buf_addf(out, "event: %s\n", name);
    buf_adds(out, "data: ");
    buf_adds(out, text);
    buf_adds(out, "\n\n");
    free(text);
    json_decref(data);
}

static inline json_t *joined(const char *const *pieces)
{
    struct buf all;
    buf_init(&all, 1 << 24);
    buf_adds(&all, "");
    for (; *pieces; pieces++)
        buf_adds(&all, *pieces);
    json_t *text = json_stringn(all.data, all.len);
    buf_release(&all);
    return text;
}

static inline const char *word(enum format f, enum why why)
{
    static const char *const words[FORMATS][WHYS] = {
        [CHAT] = {"stop", "length", "content_filter"},
        [RESPONSES] = {"completed", "incomplete", "completed"},
        [ANTHROPIC] = {"end_turn", "max_tokens", "refusal"},
        [GEMINI] = {"STOP", "MAX_TOKENS", "SAFETY"},
    };
    return words[f][why];
}

/* ---- chat completions ---- */

static inline json_t *chat_usage(const struct reply *r)
{
    return json_pack("{s:i, s:i, s:i, s:{s:i}, s:{s:i}}", "prompt_tokens", 100, "completion_tokens",
                     20, "total_tokens", 120, "prompt_tokens_details", "cached_tokens", 60,
                     "completion_tokens_details", "reasoning_tokens", *r->reasoning ? 7 : 0);
}

static inline void chat_chunk(struct buf *out, const struct reply *r, int index, const char *key,
                              const char *text, const char *why)
{
    event(out, NULL,
          json_pack("{s:s, s:s, s:s, s:[{s:i, s:{s:s}, s:s?}]}", "id", "chatcmpl-1", "object",
                    "chat.completion.chunk", "model", r->model, "choices", "index", index, "delta",
                    key, text, "finish_reason", why));
}

static inline void chat_stream(struct buf *out, const struct reply *r)
{
    chat_chunk(out, r, 0, "role", "assistant", NULL);
    if (*r->reasoning)
        chat_chunk(out, r, 0, "reasoning_content", r->reasoning, NULL);
    for (const char *const *p = r->pieces; *p; p++) {
        if (r->second)
            chat_chunk(out, r, 1, "content", r->second, NULL);
        chat_chunk(out, r, 0, "content", *p, NULL);
    }
    chat_chunk(out, r, 0, "content", "", word(CHAT, r->why));
    if (r->second)
        chat_chunk(out, r, 1, "content", "", "length");
    if (r->usage)
        event(out, NULL,
              json_pack("{s:s, s:[], s:o}", "id", "chatcmpl-1", "choices", "usage", chat_usage(r)));
    buf_adds(out, "data: [DONE]\n\n");
}

static inline json_t *chat_whole(const struct reply *r)
{
    json_t *message = json_pack("{s:s, s:o}", "role", "assistant", "content", joined(r->pieces));
    if (*r->reasoning)
        json_object_set_new(message, "reasoning_content", json_string(r->reasoning));
    json_t *a =
        json_pack("{s:s, s:s, s:[{s:i, s:o, s:s}]}", "object", "chat.completion", "model", r->model,
                  "choices", "index", 0, "message", message, "finish_reason", word(CHAT, r->why));
    if (r->usage)
        json_object_set_new(a, "usage", chat_usage(r));
    return a;
}

/* ---- responses ---- */

static inline json_t *responses_whole(const struct reply *r)
{
    bool no = r->why == WHY_REFUSAL;
    json_t *a = json_pack("{s:s, s:s, s:s, s:[]}", "object", "response", "model", r->model,
                          "status", word(RESPONSES, r->why), "output");
    json_t *output = json_object_get(a, "output");
    if (*r->reasoning)
        json_array_append_new(output,
                              json_pack("{s:s, s:[{s:s, s:s}]}", "type", "reasoning", "summary",
                                        "type", "summary_text", "text", r->reasoning));
    json_array_append_new(output,
                          json_pack("{s:s, s:s, s:[{s:s, s:o}]}", "type", "message", "role",
                                    "assistant", "content", "type", no ? "refusal" : "output_text",
                                    no ? "refusal" : "text", joined(r->pieces)));
    if (r->why == WHY_LENGTH)
        json_object_set_new(a, "incomplete_details",
                            json_pack("{s:s}", "reason", "max_output_tokens"));
    if (r->usage)
        json_object_set_new(a, "usage",
                            json_pack("{s:i, s:{s:i}, s:i, s:{s:i}}", "input_tokens", 100,
                                      "input_tokens_details", "cached_tokens", 60, "output_tokens",
                                      20, "output_tokens_details", "reasoning_tokens",
                                      *r->reasoning ? 7 : 0));
    return a;
}

static inline void responses_event(struct buf *out, const char *type, json_t *data)
{
    json_object_set_new(data, "type", json_string(type));
    event(out, type, data);
}

static inline void responses_stream(struct buf *out, const struct reply *r)
{
    const char *more =
        r->why == WHY_REFUSAL ? "response.refusal.delta" : "response.output_text.delta";
    responses_event(out, "response.created",
                    json_pack("{s:{s:s}}", "response", "status", "in_progress"));
    if (*r->reasoning)
        responses_event(out, "response.reasoning_summary_text.delta",
                        json_pack("{s:s}", "delta", r->reasoning));
    responses_event(out, "response.output_item.added",
                    json_pack("{s:{s:s}}", "item", "type", "message"));
    for (const char *const *p = r->pieces; *p; p++)
        responses_event(out, more, json_pack("{s:s, s:i}", "delta", *p, "content_index", 0));
    responses_event(out, "response.output_text.done",
                    json_pack("{s:o}", "text", joined(r->pieces)));
    responses_event(out, r->why == WHY_LENGTH ? "response.incomplete" : "response.completed",
                    json_pack("{s:o}", "response", responses_whole(r)));
}

/* ---- anthropic messages ---- */

static inline json_t *anthropic_usage_in(const struct reply *r, int output)
{
    return r->usage
               ? json_pack("{s:i, s:i, s:i, s:i}", "input_tokens", 30, "cache_read_input_tokens",
                           60, "cache_creation_input_tokens", 10, "output_tokens", output)
               : json_object();
}

static inline void anthropic_block(struct buf *out, int index, const char *type, const char *key,
                                   const char *const *pieces)
{
    bool thought = !strcmp(type, "thinking");
    event(out, "content_block_start",
          json_pack("{s:s, s:i, s:{s:s, s:s}}", "type", "content_block_start", "index", index,
                    "content_block", "type", type, key, ""));
    for (; *pieces; pieces++)
        event(out, "content_block_delta",
              json_pack("{s:s, s:i, s:{s:s, s:s}}", "type", "content_block_delta", "index", index,
                        "delta", "type", thought ? "thinking_delta" : "text_delta", key, *pieces));
    if (thought)
        event(out, "content_block_delta",
              json_pack("{s:s, s:i, s:{s:s, s:s}}", "type", "content_block_delta", "index", index,
                        "delta", "type", "signature_delta", "signature", "c2ln"));
    event(out, "content_block_stop",
          json_pack("{s:s, s:i}", "type", "content_block_stop", "index", index));
}

static inline void anthropic_stream(struct buf *out, const struct reply *r)
{
    const char *const thoughts[] = {r->reasoning, NULL};
    event(out, "message_start",
          json_pack("{s:s, s:{s:s, s:s, s:o}}", "type", "message_start", "message", "id", "msg_1",
                    "model", r->model, "usage", anthropic_usage_in(r, 1)));
    event(out, "ping", json_pack("{s:s}", "type", "ping"));
    if (*r->reasoning)
        anthropic_block(out, 0, "thinking", "thinking", thoughts);
    anthropic_block(out, *r->reasoning ? 1 : 0, "text", "text", r->pieces);
    json_t *delta = json_pack("{s:s, s:{s:s, s:n}}", "type", "message_delta", "delta",
                              "stop_reason", word(ANTHROPIC, r->why), "stop_sequence");
    if (r->usage)
        json_object_set_new(delta, "usage",
                            json_pack("{s:i, s:{s:i}}", "output_tokens", 20,
                                      "output_tokens_details", "thinking_tokens",
                                      *r->reasoning ? 7 : 0));
    event(out, "message_delta", delta);
    event(out, "message_stop", json_pack("{s:s}", "type", "message_stop"));
}

static inline json_t *anthropic_whole(const struct reply *r)
{
    json_t *content = json_array();
    if (*r->reasoning)
        json_array_append_new(content, json_pack("{s:s, s:s, s:s}", "type", "thinking", "thinking",
                                                 r->reasoning, "signature", "c2ln"));
    json_array_append_new(content,
                          json_pack("{s:s, s:o}", "type", "text", "text", joined(r->pieces)));
    return json_pack("{s:s, s:s, s:s, s:o, s:s, s:o}", "type", "message", "role", "assistant",
                     "model", r->model, "content", content, "stop_reason", word(ANTHROPIC, r->why),
                     "usage", anthropic_usage_in(r, 20));
}

/* ---- gemini ---- */

/* One response, as a whole body or as an event of a stream. */
static inline json_t *gemini_chunk(const struct reply *r, json_t *parts, int index, const char *why)
{
    json_t *a = json_pack("{s:[{s:{s:s, s:o}, s:i}], s:s}", "candidates", "content", "role",
                          "model", "parts", parts, "index", index, "modelVersion", r->model);
    if (why)
        json_object_set_new(json_array_get(json_object_get(a, "candidates"), 0), "finishReason",
                            json_string(why));
    if (r->usage)
        json_object_set_new(a, "usageMetadata",
                            json_pack("{s:i, s:i, s:i, s:i}", "promptTokenCount", 100,
                                      "cachedContentTokenCount", 60, "candidatesTokenCount",
                                      *r->reasoning ? 13 : 20, "thoughtsTokenCount",
                                      *r->reasoning ? 7 : 0));
    return a;
}

static inline json_t *gemini_thought(const struct reply *r)
{
    return json_pack("{s:s, s:b}", "text", r->reasoning, "thought", 1);
}

static inline void gemini_stream(struct buf *out, const struct reply *r)
{
    if (*r->reasoning)
        event(out, NULL, gemini_chunk(r, json_pack("[o]", gemini_thought(r)), 0, NULL));
    for (const char *const *p = r->pieces; *p; p++) {
        if (r->second)
            event(out, NULL, gemini_chunk(r, json_pack("[{s:s}]", "text", r->second), 1, NULL));
        event(out, NULL, gemini_chunk(r, json_pack("[{s:s}]", "text", *p), 0, NULL));
    }
    if (r->second)
        event(out, NULL, gemini_chunk(r, json_array(), 1, "MAX_TOKENS"));
    event(out, NULL, gemini_chunk(r, json_array(), 0, word(GEMINI, r->why)));
}

static inline json_t *gemini_whole(const struct reply *r)
{
    json_t *parts = json_array();
    if (*r->reasoning)
        json_array_append_new(parts, gemini_thought(r));
    json_array_append_new(parts, json_pack("{s:o}", "text", joined(r->pieces)));
    return gemini_chunk(r, parts, 0, word(GEMINI, r->why));
}

/* ---- of all formats ---- */

static inline void write_stream(enum format f, struct buf *out, const struct reply *r)
{
    static void (*const streams[])(struct buf *, const struct reply *) = {
        chat_stream, responses_stream, anthropic_stream, gemini_stream};
    streams[f](out, r);
}

static inline void write_whole(enum format f, struct buf *out, const struct reply *r)
{
    static json_t *(*const wholes[])(const struct reply *) = {chat_whole, responses_whole,
                                                              anthropic_whole, gemini_whole};
    json_t *a = wholes[f](r);
    char *text = json_dumps(a, JSON_INDENT(2));
    buf_adds(out, text);
    free(text);
    json_decref(a);
}

/* An error as a body. `kind`: the word of the format for it. */
static inline json_t *error_of(enum format f, int status, const char *kind, const char *message)
{
    switch (f) {
    case ANTHROPIC:
        return json_pack("{s:s, s:{s:s, s:s}, s:s}", "type", "error", "error", "type", kind,
                         "message", message, "request_id", "req_1");
    case GEMINI:
        return json_pack("{s:{s:i, s:s, s:s}}", "error", "code", status, "message", message,
                         "status", kind);
    default:
        return json_pack("{s:{s:s, s:s, s:n, s:s}}", "error", "message", message, "type", kind,
                         "param", "code", kind);
    }
}

/* The same in the middle of a stream that began well. */
static inline void error_event(enum format f, struct buf *out, int status, const char *kind,
                               const char *message)
{
    if (f == RESPONSES)
        responses_event(out, "response.failed",
                        json_pack("{s:{s:s, s:{s:s, s:s}}}", "response", "status", "failed",
                                  "error", "code", kind, "message", message));
    else
        event(out, f == ANTHROPIC ? "error" : NULL, error_of(f, status, kind, message));
}

#endif
