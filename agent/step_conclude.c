// SPDX-License-Identifier: Apache-2.0
// The conclusion of a step whose submission has been evaluated: label, feedback, the turn's row.
#include <string.h>

#include "agent/hand.h"
#include "agent/labels.h"
#include "core/json.h"

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* A report is never needed: its verdict is told beside it. */
static json_t *report_of(const json_t *work, const char *verdict)
{
    const char *text = text_of(work, "report");
    struct fault ignored = {0};
    json_t *report = text ? json_parse(text, strlen(text), &ignored) : NULL;
    return report ? report : json_pack("{s:s}", "verdict", verdict);
}

static int executed(const json_t *report)
{
    const json_t *told = json_object_get(json_object_get(report, "target"), "executed");
    return json_is_boolean(told) ? json_is_true(told) : -1;
}

enum err step_conclude_begin(struct hand *h, struct fault *f)
{
    const json_t *work = h->job.work;
    const char *verdict = text_of(work, "verdict");
    json_t *report = report_of(work, verdict ? verdict : "INFRA_ERROR");
    struct conclusion *c = &h->conclusion;
    c->label = label_of_verdict(verdict, report);
    c->correct = !strcmp(c->label, "correct");
    c->infra = !strcmp(c->label, "infra");
    c->inst = executed(report);
    if (c->correct)
        c->speedup =
            json_number_value(json_object_get(json_object_get(report, "speedup"), "value"));
    const json_t *tokens = json_object_get(json_object_get(work, "stored"), "reasoning_tokens");
    c->reasoning_tokens = json_is_integer(tokens) ? json_integer_value(tokens) : -1;
    struct feedback_turn turn = hand_turn(h);
    json_t *feedback =
        feedback_of_report(&turn, report, text_of(work, "log"), text_of(work, "source"));
    json_decref(report);
    return hand_conclusion(h, feedback, f);
}
