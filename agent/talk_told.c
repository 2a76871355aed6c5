// SPDX-License-Identifier: Apache-2.0
// What files and programs tell of an answer, by table.
#include <stddef.h>
#include <string.h>

#include "agent/talk_parts.h"
#include "core/json.h"
#include "core/util.h"

enum { DELAY_MAX_MS = 3600 * 1000 };

struct told {
    json_t *text, *reasoning, *usage; /* the first two: strings that may hold a NUL */
    int finish;
    int64_t delay_ms;
};

/* In the order of enum llm_finish. */
static const char *const finishes[] = {"none", "stop", "length", "refused", "other", NULL};

#define TOLD(f) .name = #f, .offset = offsetof(struct told, f)
static const struct json_field told_fields[] = {
    {TOLD(text), .kind = JSON_VALUE},
    {TOLD(reasoning), .kind = JSON_VALUE},
    {TOLD(finish), .kind = JSON_CHOICE, .choices = finishes},
    {TOLD(delay_ms), .kind = JSON_INT64, .max = DELAY_MAX_MS},
    {TOLD(usage), .kind = JSON_MEMBER},
};

#define USAGE(f) .name = #f, .offset = offsetof(struct llm_usage, f)
#define TOKENS(f) USAGE(f), .kind = JSON_INT64, .min = 0, .max = INT64_C(1000000000000)
static const struct json_field usage_fields[] = {
    {TOKENS(input)},  {TOKENS(cached)},    {TOKENS(cache_write)},
    {TOKENS(output)}, {TOKENS(reasoning)}, {USAGE(cost_usd), .kind = JSON_DOUBLE},
};

static void add_text(struct buf *b, const json_t *text, const char *path, struct faults *faults)
{
    if (text && !json_is_string(text))
        faults_add(faults, path, "must be a string");
    else if (text)
        buf_add(b, json_string_value(text), json_string_length(text));
    if (b->failed)
        faults_add(faults, path, "is larger than %d MiB", LLM_ANSWER_MAX / MIB);
}

bool talk_read_told(const json_t *told, struct llm_answer *a, int64_t *delay_ms, struct fault *f)
{
    struct told t = {.finish = (int)a->finish};
    struct faults faults = {0};
    json_read(told, told_fields, COUNT_OF(told_fields), &t, "$", &faults);
    if (t.usage)
        json_read(t.usage, usage_fields, COUNT_OF(usage_fields), &a->usage, "$.usage", &faults);
    add_text(&a->text, t.text, "$.text", &faults);
    add_text(&a->reasoning, t.reasoning, "$.reasoning", &faults);
    a->finish = (enum llm_finish)t.finish;
    if (delay_ms)
        *delay_ms = t.delay_ms;
    bool ok = !faults_any(&faults);
    char first[LIMIT_DETAIL];
    if (!ok)
        fault_set(f, ERR_INVALID, "%s", faults_first(&faults, first, sizeof(first)));
    faults_release(&faults);
    return ok;
}
