// SPDX-License-Identifier: Apache-2.0
// What files and programs tell of an answer, by table.
#include <stddef.h>
#include <string.h>

#include "agent/talk_parts.h"
#include "core/json.h"
#include "core/util.h"

enum { DELAY_MAX_MS = 3600 * 1000 };

struct told {
    const char *text, *reasoning;
    int finish;
    int64_t delay_ms;
    json_t *usage;
};

/* In the order of enum llm_finish. */
static const char *const finishes[] = {"none", "stop", "length", "refused", "other", NULL};

#define TOLD(f) .name = #f, .offset = offsetof(struct told, f)
static const struct json_field told_fields[] = {
    {TOLD(text), .kind = JSON_TEXT, .max = LLM_ANSWER_MAX},
    {TOLD(reasoning), .kind = JSON_TEXT, .max = LLM_ANSWER_MAX},
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

bool talk_read_told(const json_t *told, struct llm_answer *a, const char **text, int64_t *delay_ms,
                    struct fault *f)
{
    struct told t = {.finish = a->finish};
    struct faults faults = {0};
    json_read(told, told_fields, COUNT_OF(told_fields), &t, "$", &faults);
    if (t.usage)
        json_read(t.usage, usage_fields, COUNT_OF(usage_fields), &a->usage, "$.usage", &faults);
    if (t.text && !text)
        faults_add(&faults, "$.text", "has no meaning here");
    if (t.delay_ms && !delay_ms)
        faults_add(&faults, "$.delay_ms", "has no meaning here");
    bool ok = !faults_any(&faults);
    char first[LIMIT_DETAIL];
    if (!ok)
        fault_set(f, ERR_INVALID, "%s", faults_first(&faults, first, sizeof(first)));
    faults_release(&faults);
    a->finish = (enum llm_finish)t.finish;
    if (ok && t.reasoning)
        buf_adds(&a->reasoning, t.reasoning);
    if (text)
        *text = t.text;
    if (delay_ms)
        *delay_ms = t.delay_ms;
    return ok;
}
