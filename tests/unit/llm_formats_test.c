// SPDX-License-Identifier: Apache-2.0
// Requests as each provider wants them, and answers as each writes them: streamed in any pieces,
// whole, broken. The bytes of the answers are ours, after the providers' API references.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/llm.h"
#include "agent/sse.h"

static const char chat[] =
    ": comment\n\n"
    "data: {\"choices\": [{\"delta\": {\"role\": \"assistant\", \"content\": \"\"}}]}\n\n"
    "data: {\"choices\": [{\"delta\": {\"reasoning_content\": \"hm\"}}]}\r\n\r\n"
    "data: {\"choices\": [{\"delta\": {\"content\": \"Hel\"}}]}\n\n"
    "data: {\"choices\": [{\"delta\": {\"content\": \"lo\"}, \"finish_reason\": \"length\"}]}\n\n"
    "data: {\"choices\": [], \"usage\": {\"prompt_tokens\": 100, \"completion_tokens\": 20, "
    "\"cost\": 0.5,\n"
    "data:  \"prompt_tokens_details\": {\"cached_tokens\": 60},\n"
    "data:  \"completion_tokens_details\": {\"reasoning_tokens\": 7}}}\n\n"
    "data: [DONE]\n\n";

static const char responses[] =
    "event: response.created\ndata: {\"type\": \"response.created\", \"response\": {}}\n\n"
    "event: x\ndata: {\"type\": \"response.reasoning_summary_text.delta\", \"delta\": \"hm\"}\n\n"
    "event: x\ndata: {\"type\": \"response.output_text.delta\", \"delta\": \"Hel\"}\n\n"
    "event: x\ndata: {\"type\": \"response.output_text.delta\", \"delta\": \"lo\"}\n\n"
    "event: x\ndata: {\"type\": \"response.incomplete\", \"response\": {\"status\": \"incomplete\","
    " \"incomplete_details\": {\"reason\": \"max_output_tokens\"}, \"usage\": {\"input_tokens\": "
    "100,"
    " \"input_tokens_details\": {\"cached_tokens\": 60}, \"output_tokens\": 20,"
    " \"output_tokens_details\": {\"reasoning_tokens\": 7}}}}\n\n";

static const char anthropic[] =
    "event: message_start\ndata: {\"type\": \"message_start\", \"message\": {\"usage\": "
    "{\"input_tokens\": 30,"
    " \"cache_read_input_tokens\": 60, \"cache_creation_input_tokens\": 10, \"output_tokens\": "
    "1}}}\n\n"
    "event: content_block_start\ndata: {\"type\": \"content_block_start\", \"index\": 0,"
    " \"content_block\": {\"type\": \"thinking\", \"thinking\": \"\", \"signature\": \"\"}}\n\n"
    "event: ping\ndata: {\"type\": \"ping\"}\n\n"
    "event: content_block_delta\ndata: {\"type\": \"content_block_delta\", \"delta\": {\"type\":"
    " \"thinking_delta\", \"thinking\": \"h\"}}\n\n"
    "event: content_block_delta\ndata: {\"type\": \"content_block_delta\", \"delta\": {\"type\":"
    " \"thinking_delta\", \"thinking\": \"m\"}}\n\n"
    "event: content_block_delta\ndata: {\"type\": \"content_block_delta\", \"delta\": {\"type\":"
    " \"signature_delta\", \"signature\": \"sig\"}}\n\n"
    "event: content_block_start\ndata: {\"type\": \"content_block_start\", \"index\": 1,"
    " \"content_block\": {\"type\": \"text\", \"text\": \"\"}}\n\n"
    "event: content_block_delta\ndata: {\"type\": \"content_block_delta\", \"delta\": {\"type\":"
    " \"text_delta\", \"text\": \"Hello\"}}\n\n"
    "event: message_delta\ndata: {\"type\": \"message_delta\", \"delta\": {\"stop_reason\": "
    "\"max_tokens\"},"
    " \"usage\": {\"output_tokens\": 20, \"output_tokens_details\": {\"thinking_tokens\": 7}}}\n\n"
    "event: message_stop\ndata: {\"type\": \"message_stop\"}\n\n";

static const char gemini[] =
    "data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"hm\", \"thought\": "
    "true}]}}]}\n\n"
    "data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"Hel\"}, {\"text\": \"lo\"}]},"
    " \"finishReason\": \"MAX_TOKENS\"}], \"usageMetadata\": {\"promptTokenCount\": 100,"
    " \"cachedContentTokenCount\": 60, \"candidatesTokenCount\": 13, \"thoughtsTokenCount\": "
    "7}}\n\n";

struct stream {
    const char *format, *bytes;
};
static const struct stream streams[] = {
    {"openai_chat", chat},
    {"openai_responses", responses},
    {"anthropic", anthropic},
    {"gemini", gemini},
};
enum { STREAMS = sizeof(streams) / sizeof(streams[0]) };

struct reading {
    const struct llm_format *format;
    struct llm_answer answer;
    struct fault fault;
};

static bool on_event(void *arg, const char *name, const char *data, size_t len)
{
    struct reading *r = arg;
    return llm_read_event(r->format, &r->answer, name, data, len, &r->fault);
}

/* Reads bytes in pieces of `piece`. */
static bool read_stream(const char *format, const char *bytes, size_t n, size_t piece,
                        struct reading *r)
{
    struct sse sse;
    bool good = true;
    *r = (struct reading){.format = llm_format_find(format)};
    assert_non_null(r->format);
    llm_answer_init(&r->answer);
    sse_init(&sse, 1 << 20, on_event, r);
    for (size_t at = 0; at < n && good; at += piece)
        good = sse_feed(&sse, bytes + at, at + piece < n ? piece : n - at);
    sse_release(&sse);
    return good;
}

static const char *string(const struct buf *b)
{
    return b->len ? b->data : "";
}

static void streams_of_all_formats_say_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < STREAMS; i++)
        for (size_t piece = 1; piece < 4000; piece = piece * 3 + 1) {
            struct reading r;
            assert_true(read_stream(streams[i].format, streams[i].bytes, strlen(streams[i].bytes),
                                    piece, &r));
            const struct llm_usage *u = &r.answer.usage;
            assert_string_equal(string(&r.answer.text), "Hello");
            assert_string_equal(string(&r.answer.reasoning), "hm");
            assert_int_equal(r.answer.finish, LLM_LENGTH);
            assert_true(r.answer.done);
            assert_int_equal(u->input, 100);
            assert_int_equal(u->cached, 60);
            assert_int_equal(u->output, 20);
            assert_int_equal(u->reasoning, 7);
            assert_string_equal(r.answer.error, "");
            llm_answer_release(&r.answer);
        }
}

static void a_cut_stream_is_not_done(void **state)
{
    (void)state;
    for (size_t i = 0; i < STREAMS; i++) {
        struct reading r;
        size_t half = (size_t)(strstr(streams[i].bytes, "Hel") - streams[i].bytes);
        assert_true(read_stream(streams[i].format, streams[i].bytes, half, 7, &r));
        assert_false(r.answer.done);
        assert_int_equal(r.answer.finish, LLM_NONE);
        assert_string_equal(string(&r.answer.reasoning), "hm");
        llm_answer_release(&r.answer);
    }
}

static void thoughts_that_were_signed_go_back_as_they_came(void **state)
{
    struct reading r;
    (void)state;
    assert_true(read_stream("anthropic", anthropic, strlen(anthropic), 5, &r));
    json_t *messages =
        json_pack("[{s:s, s:s}, {s:s, s:s}, {s:s, s:s, s:O}, {s:s, s:s}]", "role", "system",
                  "content", "sys", "role", "user", "content", "q", "role", "assistant", "content",
                  "Hello", "blocks", r.answer.blocks, "role", "user", "content", "again");
    json_t *params = json_pack("{s:s, s:f}", "effort", "xhigh", "temperature", 0.5);
    struct llm_request request = {"m", messages, params, 1000};
    json_t *body = r.format->body(&request);
    json_t *want = json_loads(
        "{\"model\": \"m\", \"stream\": true, \"max_tokens\": 1000, \"temperature\": 0.5,"
        " \"thinking\": {\"type\": \"adaptive\"}, \"output_config\": {\"effort\": \"xhigh\"},"
        " \"system\": [{\"type\": \"text\", \"text\": \"sys\", \"cache_control\": {\"type\": "
        "\"ephemeral\"}}],"
        " \"messages\": [{\"role\": \"user\", \"content\": [{\"type\": \"text\", \"text\": "
        "\"q\"}]},"
        "  {\"role\": \"assistant\", \"content\": [{\"type\": \"thinking\", \"thinking\": \"hm\","
        "   \"signature\": \"sig\"}, {\"type\": \"text\", \"text\": \"Hello\"}]},"
        "  {\"role\": \"user\", \"content\": [{\"type\": \"text\", \"text\": \"again\","
        "   \"cache_control\": {\"type\": \"ephemeral\"}}]}]}",
        0, NULL);
    assert_non_null(want);
    assert_true(json_equal(body, want));
    json_decref(want);
    json_decref(body);
    json_decref(params);
    json_decref(messages);
    llm_answer_release(&r.answer);
}

static void requests_carry_what_was_asked_for(void **state)
{
    static const struct {
        const char *format, *want;
    } cases[] = {
        {"openai_chat",
         "{\"model\": \"m\", \"stream\": true, \"stream_options\": {\"include_usage\": true},"
         " \"max_completion_tokens\": 9, \"top_p\": 0.5, \"reasoning_effort\": \"low\", "
         "\"messages\": ["
         "{\"role\": \"system\", \"content\": \"s\"}, {\"role\": \"user\", \"content\": \"u\"},"
         "{\"role\": \"assistant\", \"content\": \"a\"}]}"},
        {"openai_responses", "{\"model\": \"m\", \"stream\": true, \"store\": false, "
                             "\"max_output_tokens\": 9, \"top_p\": 0.5,"
                             " \"instructions\": \"s\", \"reasoning\": {\"summary\": \"auto\", "
                             "\"effort\": \"low\"}, \"input\": ["
                             "{\"role\": \"user\", \"content\": \"u\"}, {\"role\": \"assistant\", "
                             "\"content\": \"a\"}]}"},
        {"gemini",
         "{\"generationConfig\": {\"maxOutputTokens\": 9, \"topP\": 0.5, \"thinkingConfig\":"
         " {\"includeThoughts\": true, \"thinkingLevel\": \"low\"}},"
         " \"systemInstruction\": {\"parts\": [{\"text\": \"s\"}]}, \"contents\": ["
         "{\"role\": \"user\", \"parts\": [{\"text\": \"u\"}]},"
         "{\"role\": \"model\", \"parts\": [{\"text\": \"a\"}]}]}"},
    };
    json_t *messages =
        json_pack("[{s:s, s:s}, {s:s, s:s}, {s:s, s:s}]", "role", "system", "content", "s", "role",
                  "user", "content", "u", "role", "assistant", "content", "a");
    json_t *params = json_pack("{s:s, s:f, s:n}", "effort", "low", "top_p", 0.5, "temperature");
    struct llm_request request = {"m", messages, params, 9};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        json_t *body = llm_format_find(cases[i].format)->body(&request);
        json_t *want = json_loads(cases[i].want, 0, NULL);
        assert_non_null(want);
        char *text = json_dumps(body, JSON_SORT_KEYS);
        if (!json_equal(body, want))
            fail_msg("%s: %s", cases[i].format, text);
        free(text);
        json_decref(want);
        json_decref(body);
    }
    json_decref(params);
    json_decref(messages);
}

static void whole_bodies_are_read_too(void **state)
{
    static const struct stream bodies[] = {
        {"openai_chat",
         "{\"choices\": [{\"message\": {\"content\": \"Hello\", \"reasoning\": \"hm\"},"
         " \"finish_reason\": \"stop\"}], \"usage\": {\"prompt_tokens\": 3,"
         " \"completion_tokens\": 2}}"},
        {"openai_responses",
         "{\"status\": \"completed\", \"output\": [{\"type\": \"message\", \"content\": ["
         "{\"type\": \"output_text\", \"text\": \"Hello\"}]}], \"usage\":"
         " {\"input_tokens\": 3, \"output_tokens\": 2}}"},
        {"anthropic",
         "{\"type\": \"message\", \"content\": [{\"type\": \"thinking\", \"thinking\": \"hm\"},"
         " {\"type\": \"text\", \"text\": \"Hello\"}], \"stop_reason\": \"end_turn\","
         " \"usage\": {\"input_tokens\": 3, \"output_tokens\": 2}}"},
        {"gemini",
         "{\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"Hello\"}]}, \"finishReason\":"
         " \"STOP\"}], \"usageMetadata\": {\"promptTokenCount\": 3, \"candidatesTokenCount\": 2}}"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        struct llm_answer a;
        struct fault f = {0};
        llm_answer_init(&a);
        assert_true(llm_read_body(llm_format_find(bodies[i].format), &a, bodies[i].bytes,
                                  strlen(bodies[i].bytes), &f));
        assert_string_equal(string(&a.text), "Hello");
        assert_int_equal(a.finish, LLM_STOP);
        assert_true(a.done);
        assert_int_equal(a.usage.input, 3);
        assert_int_equal(a.usage.output, 2);
        assert_int_equal(a.usage.reasoning, -1);
        llm_answer_release(&a);
    }
}

static void errors_are_told_and_made_harmless(void **state)
{
    static const struct {
        const char *format, *body, *want;
    } cases[] = {
        {"openai_chat", "{\"error\": {\"message\": \"no\\nsuch \\u001b[31mmodel\"}}",
         "no such ?[31mmodel"},
        {"openai_chat", "{\"error\": \"overloaded\"}", "overloaded"},
        {"anthropic", "{\"type\": \"error\", \"error\": {\"type\": \"overloaded_error\"}}",
         "an error without a message"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct llm_answer a;
        struct fault f = {0};
        llm_answer_init(&a);
        assert_true(llm_read_body(llm_format_find(cases[i].format), &a, cases[i].body,
                                  strlen(cases[i].body), &f));
        assert_string_equal(a.error, cases[i].want);
        assert_false(a.done);
        llm_answer_release(&a);
    }
    static const char *const broken[] = {"", "{", "[]", "null", "{\"x\": 1}", "<html>", "\xff\xfe"};
    for (size_t format = 0; format < STREAMS; format++)
        for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
            struct llm_answer a;
            struct fault f = {0};
            llm_answer_init(&a);
            assert_false(llm_read_body(llm_format_find(streams[format].format), &a, broken[i],
                                       strlen(broken[i]), &f));
            assert_non_null(strstr(f.detail, "the provider's answer is not"));
            llm_answer_release(&a);
        }
}

/* Reads a whole stream and returns whether it was one. */
static bool read_all(const char *format, const char *bytes, struct reading *r)
{
    return read_stream(format, bytes, strlen(bytes), 11, r);
}

static void one_answer_of_two_is_read(void **state)
{
    static const struct stream two[] = {
        {"openai_chat",
         "data: {\"choices\": [{\"index\": 1, \"delta\": {\"content\": \"B\"}}]}\n\n"
         "data: {\"choices\": [{\"index\": 1, \"delta\": {\"content\": \"B\"}},"
         " {\"index\": 0, \"delta\": {\"content\": \"A\"}}]}\n\n"
         "data: {\"choices\": [{\"index\": 0, \"delta\": {}, \"finish_reason\": \"stop\"}]}\n\n"
         "data: {\"choices\": [{\"index\": 1, \"delta\": {}, \"finish_reason\": \"length\"}]}\n\n"},
        {"gemini",
         "data: {\"candidates\": [{\"index\": 1, \"content\": {\"parts\": [{\"text\": \"B\"}]},"
         " \"finishReason\": \"MAX_TOKENS\"}]}\n\n"
         "data: {\"candidates\": [{\"index\": 0, \"content\": {\"parts\": [{\"text\": \"A\"}]},"
         " \"finishReason\": \"STOP\"}]}\n\n"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(two) / sizeof(two[0]); i++) {
        struct reading r;
        assert_true(read_all(two[i].format, two[i].bytes, &r));
        assert_string_equal(string(&r.answer.text), "A");
        assert_int_equal(r.answer.finish, LLM_STOP);
        llm_answer_release(&r.answer);
    }
}

static void a_refusal_stays_one(void **state)
{
    static const struct stream refusals[] = {
        {"openai_chat", "data: {\"choices\": [{\"delta\": {\"refusal\": \"No.\"}}]}\n\n"
                        "data: {\"choices\": [{\"delta\": {\"refusal\": null}, \"finish_reason\": "
                        "\"stop\"}]}\n\n"},
        {"openai_responses",
         "data: {\"type\": \"response.refusal.delta\", \"delta\": \"No.\"}\n\n"
         "data: {\"type\": \"response.completed\", \"response\": {\"status\": \"completed\","
         " \"output\": [{\"type\": \"message\", \"content\": [{\"type\": \"refusal\", \"refusal\": "
         "\"No.\"}]}]}}\n\n"},
        {"openai_responses",
         "data: {\"type\": \"response.completed\", \"response\": {\"status\": \"completed\","
         " \"output\": [{\"type\": \"message\", \"content\": [{\"type\": \"refusal\", \"refusal\": "
         "\"No.\"}]}]}}\n\n"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        struct reading r;
        assert_true(read_all(refusals[i].format, refusals[i].bytes, &r));
        assert_string_equal(string(&r.answer.text), "No.");
        assert_int_equal(r.answer.finish, LLM_REFUSED);
        llm_answer_release(&r.answer);
    }
}

static void thoughts_are_not_the_answer(void **state)
{
    static const char body[] =
        "{\"status\": \"completed\", \"output\": [{\"type\": \"reasoning\", \"summary\": "
        "[{\"text\": \"h\"}], \"content\": [{\"type\": \"reasoning_text\", \"text\": \"m\"}]},"
        " {\"type\": \"message\", \"content\": [{\"type\": \"output_text\", \"text\": \"Hi\"}]}]}";
    struct llm_answer a;
    struct fault f = {0};
    (void)state;
    llm_answer_init(&a);
    assert_true(llm_read_body(llm_format_find("openai_responses"), &a, body, strlen(body), &f));
    assert_string_equal(string(&a.text), "Hi");
    assert_string_equal(string(&a.reasoning), "mh");
    llm_answer_release(&a);
}

/* A megabyte of thoughts in pieces, then more blocks than anybody thinks. */
static void thoughts_in_many_pieces_and_blocks(void **state)
{
    static const char *const event =
        "{\"type\": \"content_block_delta\", \"delta\": "
        "{\"type\": \"thinking_delta\", \"thinking\": \"tick tock \"}}";
    static const char *const start = "{\"type\": \"content_block_start\", \"content_block\": "
                                     "{\"type\": \"thinking\", \"thinking\": \"\"}}";
    static const char *const stop = "{\"type\": \"content_block_stop\"}";
    enum { PIECES = 100000 };
    struct reading r = {.format = llm_format_find("anthropic")};
    (void)state;
    llm_answer_init(&r.answer);
    assert_true(on_event(&r, "x", start, strlen(start)));
    for (int i = 0; i < PIECES; i++)
        assert_true(on_event(&r, "x", event, strlen(event)));
    assert_true(on_event(&r, "x", stop, strlen(stop)));
    json_t *thought = json_object_get(json_array_get(r.answer.blocks, 0), "thinking");
    assert_int_equal(json_string_length(thought), PIECES * 10);
    for (int i = 1; i < LLM_BLOCKS_MAX; i++)
        assert_true(on_event(&r, "x", start, strlen(start)));
    assert_string_equal(r.answer.error, "");
    assert_true(on_event(&r, "x", start, strlen(start)));
    assert_string_equal(r.answer.error, "it told more thoughts than can be kept");
    assert_int_equal(json_array_size(r.answer.blocks), LLM_BLOCKS_MAX);
    assert_int_equal(
        json_string_length(json_object_get(json_array_get(r.answer.blocks, 0), "thinking")),
        PIECES * 10);
    llm_answer_release(&r.answer);
}

static void want_of_room_is_told_from_other_failures(void **state)
{
    static const struct {
        const char *format, *data;
        bool busy;
    } cases[] = {
        {"anthropic", "{\"type\": \"error\", \"error\": {\"type\": \"overloaded_error\"}}", true},
        {"anthropic", "{\"type\": \"error\", \"error\": {\"type\": \"api_error\"}}", false},
        {"openai_chat", "{\"error\": {\"code\": 429, \"message\": \"later\"}}", true},
        {"openai_chat", "{\"error\": \"later\"}", false},
        {"openai_responses",
         "{\"type\": \"response.failed\", \"response\": {\"error\": {\"code\": "
         "\"rate_limit_exceeded\"}}}",
         true},
        {"openai_responses", "{\"type\": \"error\", \"code\": \"server_error\"}", false},
        {"gemini", "{\"error\": {\"code\": 503, \"status\": \"UNAVAILABLE\"}}", true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct reading r = {.format = llm_format_find(cases[i].format)};
        llm_answer_init(&r.answer);
        assert_true(on_event(&r, "error", cases[i].data, strlen(cases[i].data)));
        assert_string_not_equal(r.answer.error, "");
        assert_int_equal(r.answer.busy, cases[i].busy);
        llm_answer_release(&r.answer);
    }
}

static void a_call_costs_what_the_prices_say(void **state)
{
    static const struct llm_prices prices = {5, 0.5, 6.25, 25};
    static const struct llm_prices unknown = {-1, -1, -1, -1};
    struct llm_usage u = {
        .input = 1000, .cached = 600, .cache_write = 100, .output = 200, .cost_usd = -1};
    (void)state;
    assert_float_equal(llm_cost(&u, &prices), (300 * 5 + 600 * 0.5 + 100 * 6.25 + 200 * 25) / 1e6,
                       1e-12);
    assert_true(llm_cost(&u, &unknown) < 0);
    u.cost_usd = 0.25;
    assert_float_equal(llm_cost(&u, &prices), 0.25, 0);
    struct llm_usage nothing = {-1, -1, -1, -1, -1, -1};
    assert_true(llm_cost(&nothing, &prices) < 0);
}

static void an_event_has_a_ceiling(void **state)
{
    struct sse sse;
    struct reading r = {.format = llm_format_find("openai_chat")};
    (void)state;
    llm_answer_init(&r.answer);
    sse_init(&sse, 64, on_event, &r);
    bool good = sse_feed(&sse, "data: ", 6);
    for (int i = 0; i < 10 && good; i++)
        good = sse_feed(&sse, "0123456789", 10);
    assert_false(good);
    assert_false(sse_feed(&sse, "\n\n", 2));
    sse_release(&sse);
    llm_answer_release(&r.answer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_of_all_formats_say_the_same),
        cmocka_unit_test(a_cut_stream_is_not_done),
        cmocka_unit_test(thoughts_that_were_signed_go_back_as_they_came),
        cmocka_unit_test(requests_carry_what_was_asked_for),
        cmocka_unit_test(whole_bodies_are_read_too),
        cmocka_unit_test(errors_are_told_and_made_harmless),
        cmocka_unit_test(one_answer_of_two_is_read),
        cmocka_unit_test(a_refusal_stays_one),
        cmocka_unit_test(thoughts_are_not_the_answer),
        cmocka_unit_test(thoughts_in_many_pieces_and_blocks),
        cmocka_unit_test(want_of_room_is_told_from_other_failures),
        cmocka_unit_test(a_call_costs_what_the_prices_say),
        cmocka_unit_test(an_event_has_a_ceiling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
