// SPDX-License-Identifier: Apache-2.0
#include "evaluator/cuda/keeper_answer.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "core/util.h"

static const double longest_us = 3600e6;

/* Kinds that are not the kernel's own doing while it ran. */
static const struct {
    const char *kind;
    enum verdict verdict;
} kinds[] = {
    {"launch", VERDICT_LAUNCH_ERROR}, {"module", VERDICT_LAUNCH_ERROR},
    {"memory", VERDICT_LAUNCH_ERROR}, {"timeout", VERDICT_TIMEOUT},
    {"infra", VERDICT_INFRA_ERROR},
};

void keeper_end_release(struct keeper_end *end)
{
    json_decref(end->fault);
    end->fault = NULL;
}

bool keeper_end_set(struct keeper_end *end, enum verdict verdict, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(end->detail, sizeof(end->detail), fmt, ap);
    va_end(ap);
    text_sanitize(end->detail);
    end->verdict = verdict;
    return false;
}

static const char *text_of(const json_t *object, const char *member)
{
    const char *text = json_string_value(json_object_get(object, member));
    return text ? text : "";
}

/* "illegal_access in launch 1 (kernel<3>): an illegal memory access was encountered" */
static void describe(const json_t *fault, enum verdict verdict, struct keeper_end *end)
{
    const json_t *launch = json_object_get(fault, "launch");
    const char *kernel = text_of(fault, "kernel"), *detail = text_of(fault, "detail");
    char where[200] = "";
    if (json_is_integer(launch))
        snprintf(where, sizeof(where), " in launch %lld", (long long)json_integer_value(launch));
    if (*kernel)
        snprintf(where + strlen(where), sizeof(where) - strlen(where), " (%.120s)", kernel);
    if (verdict == VERDICT_INFRA_ERROR)
        keeper_end_set(end, verdict, "%s", *detail ? detail : "the runner gave no reason");
    else
        keeper_end_set(end, verdict, "%.32s%s: %s", text_of(fault, "kind"), where, detail);
}

bool keeper_answer_judge(const json_t *answer, struct keeper_end *end)
{
    if (json_is_true(json_object_get(answer, "ok")))
        return true;
    const json_t *fault = json_object_get(answer, "fault");
    const char *kind = text_of(fault, "kind");
    enum verdict verdict = *kind ? VERDICT_RUNTIME_ERROR : VERDICT_INFRA_ERROR;
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (!strcmp(kinds[i].kind, kind))
            verdict = kinds[i].verdict;
    describe(fault, verdict, end);
    keeper_end_release(end);
    if (verdict != VERDICT_INFRA_ERROR)
        end->fault = json_deep_copy(fault);
    return false;
}

bool keeper_answer_times(const json_t *list, double *us, size_t count)
{
    if (json_array_size(list) != count)
        return false;
    for (size_t i = 0; i < count; i++) {
        const json_t *v = json_array_get(list, i);
        us[i] = json_number_value(v);
        if (!json_is_number(v) || !isfinite(us[i]) || us[i] <= 0 || us[i] > longest_us)
            return false;
    }
    return true;
}
