/* SPDX-License-Identifier: Apache-2.0
 * See follow.h. */
#include "cli/follow.h"

#include <string.h>
#include <unistd.h>

#include "cli/table.h"
#include "core/util.h"

enum { OUTAGE_MS = 60 * 1000, POLL_S = 10 };

static bool is_done(const json_t *submission)
{
    const char *state = json_string_value(json_object_get(submission, "state"));
    return state && strcmp(state, "done") == 0;
}

/* Stops the stream once the submission is done. */
static bool on_event(void *progress, const char *kind, const json_t *data)
{
    if (progress)
        event_print(progress, kind, data);
    return !is_done(data) || (strcmp(kind, "state") != 0 && strcmp(kind, "reset") != 0);
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
    struct stream s = {.path = events, .event = on_event, .arg = progress};
    snprintf(events, sizeof(events), "/v1/submissions/%s/events", id);

    int64_t deadline_ms = now_ms() + timeout_s * 1000;
    for (int64_t answered_ms = now_ms();;) {
        s.timeout_s = 1 + (deadline_ms - now_ms()) / 1000;
        enum err streamed = client_stream(c, &s, NULL);
        int64_t left_s = (deadline_ms - now_ms()) / 1000;
        int64_t wait_s = streamed == ERR_NONE || left_s <= 0 ? 0 : left_s < POLL_S ? left_s : POLL_S;
        snprintf(get, sizeof(get), "/v1/submissions/%s?wait=%d", id, (int)wait_s);
        json_t *submission = NULL;
        enum err e = client_json(c, &(struct request){.method = "GET", .path = get}, &submission, f);
        if (!e && (is_done(submission) || now_ms() >= deadline_ms)) {
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
