// SPDX-License-Identifier: Apache-2.0
#include "evaluator/outcome.h"

#include <stdio.h>

#include "core/json.h"

void outcome_init(struct outcome *o)
{
    *o = (struct outcome){.verdict = VERDICT_INFRA_ERROR};
    buf_init(&o->log, LIMIT_LOG);
    buf_init(&o->capture, LIMIT_CAPTURE);
}

void outcome_release(struct outcome *o)
{
    json_decref(o->json);
    buf_release(&o->log);
    buf_release(&o->capture);
    *o = (struct outcome){0};
}

bool outcome_take(struct outcome *o, const struct frame *frame, outcome_progress *progress, void *arg)
{
    json_t *event;
    switch (frame->kind) {
    case FRAME_EVENT:
        event = json_parse(frame->data, frame->len, NULL);
        if (event && progress)
            progress(arg, event);
        json_decref(event);
        return event != NULL;
    case FRAME_LOG:
        buf_add(&o->log, frame->data, frame->len);
        return !o->log.failed;
    case FRAME_CAPTURE:
        buf_add(&o->capture, frame->data, frame->len);
        return !o->capture.failed;
    case FRAME_RESULT:
        json_decref(o->json);
        o->json = json_parse(frame->data, frame->len, NULL);
        return json_is_object(o->json);
    default:
        return false;
    }
}

bool outcome_read(struct outcome *o)
{
    const char *verdict = json_string_value(json_object_get(o->json, "verdict"));
    const char *detail = json_string_value(json_object_get(o->json, "detail"));
    int found = verdict ? verdict_find(verdict) : -1;
    if (found < 0 || !detail)
        return false;
    o->verdict = (enum verdict)found;
    o->flags = (unsigned)json_integer_value(json_object_get(o->json, "flags"));
    snprintf(o->detail, sizeof(o->detail), "%s", detail);
    return true;
}

void outcome_give_up(struct outcome *o, enum verdict verdict, const char *detail)
{
    json_decref(o->json);
    o->json = NULL;
    o->verdict = verdict;
    snprintf(o->detail, sizeof(o->detail), "%s", detail);
}
