// SPDX-License-Identifier: Apache-2.0
// Turns that the paper's agent wrote: what one came to is read from the fields of its feedback.
#include <string.h>

#include "core/trajectory_parts.h"
#include "core/util.h"
#include "core/words.h"

static const char *text_at(const json_t *object, const char *name)
{
    const char *s = json_string_value(json_object_get(object, name));
    return s ? s : "";
}

/* Its words of an evaluation that did not pass, in our labels. */
static const struct {
    const char *status, *label;
} statuses[] = {{"INCORRECT_NUMERICAL", "numerical"},
                {"COMPILE_ERROR", "compile"},
                {"RUNTIME_ERROR", "runtime"},
                {"TIMEOUT", "timeout"}};

/* Of the first workload that did not pass; "" if none says. */
static const char *failed_status(const json_t *traces)
{
    const json_t *trace;
    size_t i;
    json_array_foreach(traces, i, trace)
    {
        const char *status = text_at(trace, "status");
        if (!*status)
            status = text_at(json_object_get(trace, "evaluation"), "status");
        if (strcmp(status, "PASSED") != 0)
            return status;
    }
    return "";
}

/* Label and verdict by the fields of the feedback; nothing is read from text, since a kernel's own
 * output is among it. */
static void judge(json_t *step, const json_t *extra)
{
    const char *event = text_at(extra, "event"), *label = "other", *verdict = NULL;
    if (!strcmp(event, "no_code")) {
        label = "extraction";
    } else if (!strcmp(event, "evaluation") && json_is_true(json_object_get(extra, "all_passed"))) {
        label = "correct";
        verdict = "PASSED";
    } else if (!strcmp(event, "evaluation")) {
        const char *status = failed_status(json_object_get(extra, "traces"));
        for (size_t i = 0; i < COUNT_OF(statuses); i++)
            if (!strcmp(status, statuses[i].status))
                label = statuses[i].label;
        verdict = verdict_find(status) >= 0 ? status : NULL;
    } else if (!strcmp(event, "test_failed") &&
               json_integer_value(json_object_get(extra, "returncode")) == 137) {
        label = "profile_timeout";
    }
    bool correct = !strcmp(label, "correct");
    double speedup = json_number_value(json_object_get(extra, "min_speedup"));
    json_object_set_new(step, "label", json_string(label));
    json_object_set_new(step, "correct", json_boolean(correct));
    json_object_set_new(step, "speedup", correct && speedup > 0 ? json_real(speedup) : json_null());
    json_object_set_new(step, "verdict", verdict ? json_string(verdict) : json_null());
    if (verdict)
        json_object_set_new(step, "feedback", json_pack("{s:s}", "verdict", verdict));
}

/* One of two names, of a count; null if there is none that makes sense. */
static json_t *count_at(const json_t *object, const char *name, const char *other)
{
    const json_t *v = json_object_get(object, name);
    if (!json_is_integer(v))
        v = json_object_get(object, other);
    return json_is_integer(v) && json_integer_value(v) >= 0 ? json_integer(json_integer_value(v))
                                                            : json_null();
}

/* What the provider told: by OpenAI's names or Anthropic's. */
static json_t *usage_of(const json_t *extra)
{
    const json_t *usage = json_object_get(json_object_get(extra, "response"), "usage");
    const json_t *out = json_object_get(usage, "completion_tokens_details");
    const json_t *in = json_object_get(usage, "prompt_tokens_details");
    double cost = json_number_value(json_object_get(extra, "cost"));
    if (!json_is_object(out))
        out = json_object_get(usage, "output_tokens_details");
    if (!json_is_object(in))
        in = usage;
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "status", "stored", "tokens_in",
                     count_at(usage, "prompt_tokens", "input_tokens"), "cached",
                     count_at(in, "cached_tokens", "cache_read_input_tokens"), "tokens_out",
                     count_at(usage, "completion_tokens", "output_tokens"), "reasoning_tokens",
                     count_at(out, "reasoning_tokens", "thinking_tokens"), "usd",
                     cost > 0 ? json_real(cost) : json_null());
}

static json_t *time_at(const json_t *extra)
{
    const json_t *v = json_object_get(extra, "timestamp");
    return json_is_number(v) ? trajectory_time(json_number_value(v)) : json_null();
}

/* What our own extraction finds in it, so that turns can be compared: the label is
 * not touched. */
static void find_source(json_t *step, const json_t *answer)
{
    static const char *const words[] = {"kernel", "no_block", "no_kernel", "cut", "too_large"};
    struct extraction x;
    const char *text = json_string_value(answer);
    extract(text ? text : "", json_string_length(answer), &x);
    json_object_set_new(step, "extraction", json_string(words[x.state]));
    if (x.state == EXTRACT_KERNEL && !x.source.failed && x.source.len)
        json_object_set_new(step, "source", json_stringn(x.source.data, x.source.len));
    extraction_release(&x);
}

json_t *trajectory_guess(const json_t *answer, const json_t *feedback, json_int_t n)
{
    const json_t *asked = json_object_get(answer, "extra");
    const json_t *got = json_object_get(feedback, "extra");
    json_t *call = usage_of(asked), *done = time_at(asked);
    json_object_set_new(call, "finished_at", done);
    json_object_set(call, "started_at", done);
    json_t *step = json_pack("{s:I, s:i, s:s, s:b, s:O, s:o, s:o, s:[]}", "n", n, "try", 0, "state",
                             feedback ? "done" : "left", "counted", feedback != NULL, "created_at",
                             done, "finished_at", time_at(got), "call", call, "calls");
    find_source(step, json_object_get(answer, "content"));
    if (feedback)
        judge(step, got);
    return step;
}
