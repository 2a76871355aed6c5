/* SPDX-License-Identifier: Apache-2.0
 * See follow.h. */
#include "cli/follow.h"

#include <string.h>
#include <unistd.h>

#include "cli/table.h"
#include "core/util.h"

enum { OUTAGE_MS = 60 * 1000, POLL_S = 10 };

struct watching {
    FILE *progress;
    int64_t deadline_ms;
};

/* Stops the stream once the submission is done, or time is up. */
static bool on_event(void *arg, const char *kind, const json_t *data)
{
    const struct watching *w = arg;
    const char *state = json_string_value(json_object_get(data, "state"));
    bool is_state = strcmp(kind, "state") == 0 || strcmp(kind, "reset") == 0;
    if (w->progress)
        event_print(w->progress, kind, data);
    return !(is_state && state && strcmp(state, "done") == 0) && now_ms() < w->deadline_ms;
}

static bool is_done(const json_t *submission)
{
    const char *state = json_string_value(json_object_get(submission, "state"));
    return state && strcmp(state, "done") == 0;
}

static bool may_pass(enum err e)
{
    return e == ERR_UNAVAILABLE || e == ERR_DEADLINE || e == ERR_DATABASE || e == ERR_BUSY ||
           e == ERR_DRAINING;
}

enum err follow(struct client *c, const char *id, FILE *progress, long timeout_s, json_t **out,
                struct fault *f)
{
    char events[96], get[96];
    struct watching w = {progress, now_ms() + timeout_s * 1000};
    struct stream s = {.path = events, .event = on_event, .arg = &w};
    snprintf(events, sizeof(events), "/v1/submissions/%s/events", id);

    for (int64_t answered_ms = now_ms();;) {
        enum err streamed = client_stream(c, &s, NULL);
        int64_t left_s = (w.deadline_ms - now_ms()) / 1000;
        int64_t wait_s = streamed == ERR_NONE || left_s <= 0 ? 0 : left_s < POLL_S ? left_s : POLL_S;
        snprintf(get, sizeof(get), "/v1/submissions/%s?wait=%d", id, (int)wait_s);
        json_t *submission = NULL;
        enum err e = client_json(c, &(struct request){.method = "GET", .path = get}, &submission, f);
        if (!e && (is_done(submission) || now_ms() >= w.deadline_ms)) {
            *out = submission;
            return ERR_NONE;
        }
        json_decref(submission);
        if (!e)
            answered_ms = now_ms();
        else if (!may_pass(e) || now_ms() - answered_ms > OUTAGE_MS)
            return e;
        else
            sleep(1);
    }
}
