// SPDX-License-Identifier: Apache-2.0
#include "agent/labels.h"

#include <string.h>

#include "core/util.h"
#include "core/words.h"

/* The first row that fits; a stage that is NULL is any. */
static const struct {
    const char *verdict, *stage, *label;
} rows[] = {
    {"PASSED", NULL, "correct"},        {"INCORRECT_NUMERICAL", NULL, "numerical"},
    {"COMPILE_ERROR", NULL, "compile"}, {"LAUNCH_ERROR", NULL, "plan"},
    {"RUNTIME_ERROR", NULL, "runtime"}, {"TIMEOUT", "sanitize", "sanitize_timeout"},
    {"TIMEOUT", NULL, "timeout"},       {"SANITIZER_ERROR", NULL, "runtime"},
    {"REJECTED", NULL, "other"},        {"IMPLAUSIBLE", NULL, "other"},
    {"INFRA_ERROR", NULL, "infra"},     {"CANCELLED", NULL, "infra"},
    {"INCORRECT_SHAPE", NULL, "other"}, {"INCORRECT_DTYPE", NULL, "other"},
};

/* "" if no stage failed. */
static const char *failed_stage(const json_t *report)
{
    const json_t *stage;
    size_t i;
    json_array_foreach(json_object_get(report, "stages"), i, stage)
    {
        const char *state = json_string_value(json_object_get(stage, "state"));
        const char *name = json_string_value(json_object_get(stage, "name"));
        if (state && name && !strcmp(state, "failed"))
            return name;
    }
    return "";
}

const char *label_of_verdict(const char *verdict, const json_t *report)
{
    for (size_t i = 0; verdict && i < COUNT_OF(rows); i++)
        if (!strcmp(rows[i].verdict, verdict) &&
            (!rows[i].stage || !strcmp(rows[i].stage, failed_stage(report))))
            return rows[i].label;
    return verdict ? "other" : "infra";
}

static const struct {
    const char *name, *label;
} extractions[] = {
    [EXTRACT_KERNEL] = {"kernel", "plan"},
    [EXTRACT_NO_BLOCK] = {"no_block", "extraction"},
    [EXTRACT_NO_KERNEL] = {"no_kernel", "extraction"},
    [EXTRACT_CUT] = {"cut", "cut"},
    [EXTRACT_TOO_LARGE] = {"too_large", "extraction"},
};

const char *label_of_extraction(enum extract_state s)
{
    return extractions[s].label;
}

const char *extraction_name(enum extract_state s)
{
    return extractions[s].name;
}
