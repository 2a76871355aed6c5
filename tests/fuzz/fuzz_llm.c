// SPDX-License-Identifier: Apache-2.0
// What a provider sends: any bytes, as a stream and as a whole body, in any of the formats. The
// first byte chooses the format, the second the size of the pieces in which the rest comes.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/llm.h"
#include "agent/sse.h"
#include "tests/fuzz/promise.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct reading {
    const struct llm_format *format;
    struct llm_answer answer;
};

static void keeps_promises(const struct llm_answer *a)
{
    check(strlen(a->error) < LLM_ERROR);
    check(!a->blocks || json_is_array(a->blocks));
    check(*llm_finish_name(a->finish) != '\0');
    check(a->usage.input >= -1 && a->usage.output >= -1 && a->usage.cached >= -1);
}

static bool on_event(void *arg, const char *name, const char *text, size_t len)
{
    struct reading *r = arg;
    struct fault f = {0};
    check(strlen(text) <= len);
    bool read = llm_read_event(r->format, &r->answer, name, text, len, &f);
    check(read || f.detail[0]);
    keeps_promises(&r->answer);
    return read;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const formats[] = {"openai_chat", "openai_responses", "anthropic", "gemini"};
    if (size < 2)
        return 0;
    struct reading r = {.format = llm_format_find(formats[data[0] % 4])};
    size_t piece = data[1] % 64 + 1;
    const char *bytes = (const char *)data + 2;
    struct sse sse;
    llm_answer_init(&r.answer);
    sse_init(&sse, 4096, on_event, &r);
    bool more = true;
    for (size_t at = 0; at < size - 2 && more; at += piece)
        more = sse_feed(&sse, bytes + at, at + piece < size - 2 ? piece : size - 2 - at);
    sse_release(&sse);
    llm_answer_release(&r.answer);

    struct fault f = {0};
    llm_answer_init(&r.answer);
    check(llm_read_body(r.format, &r.answer, bytes, size - 2, &f) || f.detail[0]);
    keeps_promises(&r.answer);
    llm_answer_release(&r.answer);
    return 0;
}
