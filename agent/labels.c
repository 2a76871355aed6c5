// SPDX-License-Identifier: Apache-2.0
#include "agent/labels.h"

#include <string.h>

#include "core/util.h"

static const struct {
    const char *verdict, *label;
} rows[] = {
#define VERDICT(name, exit_code, fault_of, label, meaning) {#name, #label},
#include "core/verdicts.def"
#undef VERDICT
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
    if (verdict && !strcmp(verdict, "TIMEOUT") && !strcmp(failed_stage(report), "sanitize"))
        return "sanitize_timeout";
    for (size_t i = 0; verdict && i < COUNT_OF(rows); i++)
        if (!strcmp(rows[i].verdict, verdict))
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
