// SPDX-License-Identifier: Apache-2.0
// Progress of one submission or run as server-sent events. Resumes after Last-Event-ID; a client
// that comes back too late, or with a number that never was, gets `reset` with the whole state
// instead.
#include <stdlib.h>
#include <string.h>

#include "core/db/runs.h"
#include "server/answer.h"
#include "server/api.h"
#include "server/hub.h"
#include "server/run_parts.h"
#include "server/service.h"

static enum err read_position(struct request *r, int64_t *after)
{
    const char *text = r->headers.last_event_id;
    if (!text || !*text)
        text = request_query(r, "last_event_id");
    *after = 0;
    if (text && *text && !field_number(text, INT32_MAX, after))
        return fault_set(&r->fault, ERR_BAD_PARAMETER,
                         "Last-Event-ID must be the number of an event, not '%.64s'", text);
    return ERR_NONE;
}

/* What events are told of: how its document is read, and whether there is one to see. */
struct topic {
    json_t *(*document)(struct request *r);
    enum err (*rev)(struct db *db, const char *id, int64_t viewer, json_t **out, struct fault *f);
};

static json_t *submission_document_of(struct request *r)
{
    json_t *document = NULL;
    enum err e =
        store_submission_get(r->db, r->captures[0], request_viewer(r), &document, &r->fault);
    return e ? NULL : answer_shape(document);
}

static json_t *run_document_of(struct request *r)
{
    json_t *document = NULL;
    enum err e = runs_get(r->db, r->captures[0], request_viewer(r), &document, &r->fault);
    return e ? NULL : run_shape(r, document);
}

/* The document as text; without the turns of a run too large for one frame. */
static char *frame_text(json_t *document)
{
    char *text = json_dumps(document, ANSWER_JSON);
    if (!text || strlen(text) < LIMIT_REPORT)
        return text;
    free(text);
    json_object_del(document, "grid");
    return json_dumps(document, ANSWER_JSON);
}

/* `event: reset` with the state as GET shows it. */
static enum err snapshot(struct request *r, const struct topic *topic, const char **frame,
                         int64_t *rev)
{
    json_t *document = topic->document(r);
    if (!document)
        return r->fault.code ? r->fault.code : ERR_NO_MEMORY;
    *rev = json_integer_value(json_object_get(document, "rev"));
    char *text = frame_text(document);
    *frame = request_printf(r, "id: %lld\nevent: reset\ndata: %s\n\n", (long long)*rev,
                            text ? text : "null");
    free(text);
    json_decref(document);
    return ERR_NONE;
}

static enum err stream(struct request *r, const struct topic *topic, int64_t after, bool done,
                       bool reset)
{
    const char *opening = "";
    if (reset) {
        enum err e = snapshot(r, topic, &opening, &after);
        if (e)
            return e;
    }
    r->out.status = 200;
    r->out.type = "text/event-stream";
    answer_header(r, "X-Accel-Buffering", "no");
    if (r->method == METHOD_HEAD)
        return ERR_NONE;
    r->out.stream = stream_open(hub_streams(r->service->hub), r->captures[0], after, r->address,
                                opening, reset && done, &r->fault);
    return r->out.stream ? ERR_NONE : r->fault.code;
}

static enum err events(struct request *r, const struct topic *topic)
{
    int64_t after;
    enum err e = read_position(r, &after);
    json_t *head = NULL, *seen = NULL;
    if (!e) /* an id of the other kind is nothing here */
        e = topic->rev(r->db, r->captures[0], request_viewer(r), &seen, &r->fault);
    json_decref(seen);
    if (!e)
        e = store_events_head(r->db, r->captures[0], request_viewer(r), &head, &r->fault);
    if (e)
        return e;
    request_keep_json(r, head);
    int64_t rev = json_integer_value(json_object_get(head, "rev"));
    const json_t *oldest = json_object_get(head, "oldest");
    const char *state = json_string_value(json_object_get(head, "state"));
    bool done = state && !strcmp(state, "done");
    if (done && after == rev) { /* tells a browser to stop coming back */
        r->out.status = 204;
        return ERR_NONE;
    }
    int64_t reachable = json_is_integer(oldest) ? json_integer_value(oldest) - 1 : rev;
    return stream(r, topic, after, done, after < reachable || after > rev);
}

enum err submission_events(struct request *r)
{
    static const struct topic topic = {submission_document_of, store_submission_rev};
    return events(r, &topic);
}

enum err run_events(struct request *r)
{
    static const struct topic topic = {run_document_of, runs_rev};
    return events(r, &topic);
}
