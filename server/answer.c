// SPDX-License-Identifier: Apache-2.0
#include "server/answer.h"

#include <string.h>

#include "server/routes.h"

enum { LINES_BYTES = 8 * KIB };

enum err answer_wait(struct request *r)
{
    int64_t seconds;
    enum err e = request_number(r, "wait", 0, LIMIT_WAIT_S, 0, &seconds);
    r->wait_ms = seconds * 1000;
    return e;
}

void answer_next(struct request *r, const char *next)
{
    struct buf b;
    buf_init(&b, 4 * URL_TARGET);
    buf_addf(&b, "<%s?cursor=%s", r->route->pattern, next);
    for (size_t i = 0; i < r->url.parameter_count; i++) {
        const struct url_parameter *p = &r->url.parameters[i];
        if (!strcmp(p->name, "cursor"))
            continue;
        buf_addf(&b, "&%s=", p->name);
        url_encode(&b, p->value);
    }
    buf_adds(&b, ">; rel=\"next\"");
    const char *text = b.failed ? "" : request_printf(r, "%s", b.data);
    buf_release(&b);
    if (*text)
        answer_header(r, "Link", text);
}

static const char *text_of(const json_t *object, const char *name)
{
    const char *s = json_string_value(json_object_get(object, name));
    return s ? s : "";
}

static bool is_done(const json_t *document)
{
    return !strcmp(text_of(document, "state"), "done");
}

void answer_links(json_t *document, const char *id)
{
    json_object_set_new(document, "url", json_sprintf("/v1/submissions/%s", id));
    json_object_set_new(document, "events", json_sprintf("/v1/submissions/%s/events", id));
    if (is_done(document))
        json_object_set_new(document, "report", json_sprintf("/v1/submissions/%s/report", id));
}

/* Members in the order a reader wants them; what is not named here follows. */
static const char *const member_order[] = {
    "id",         "state",        "verdict",  "flags",        "detail",
    "speedup",    "candidate_us", "baseline", "target",       "thread_instructions",
    "rank",       "position",     "eta_s",    "lane",         "problem",
    "workload",   "arch",         "device",   "device_model", "language",
    "mode",       "label",        "method",   "owner",        "visibility",
    "created_at", "finished_at"};

/* Nulls say something about a result; before there is one, and about a place in a queue after it,
 * they do not. */
static bool is_shown(const json_t *value, const char *name, bool done)
{
    return !json_is_null(value) || (done && strcmp(name, "position") && strcmp(name, "eta_s"));
}

json_t *answer_shape(json_t *document)
{
    json_t *shaped = json_object(), *value;
    bool done = is_done(document);
    const char *name;
    for (size_t i = 0; i < COUNT_OF(member_order); i++) {
        value = json_object_get(document, member_order[i]);
        if (value && is_shown(value, member_order[i], done))
            json_object_set(shaped, member_order[i], value);
    }
    json_object_foreach(document, name,
                        value) if (!json_object_get(shaped, name) && is_shown(value, name, done))
        json_object_set(shaped, name, value);
    answer_links(shaped, text_of(document, "id"));
    json_decref(document);
    return shaped;
}

/* ---- five lines ---- */

static void line_state(const json_t *d, struct buf *b)
{
    buf_addf(b, "%s %s", is_done(d) ? "done" : text_of(d, "state"), text_of(d, "verdict"));
    size_t i;
    json_t *flag;
    json_array_foreach(json_object_get(d, "flags"), i, flag)
        buf_addf(b, "%s%s", i ? " " : " (", json_string_value(flag));
    if (json_array_size(json_object_get(d, "flags")))
        buf_adds(b, ")");
    if (json_is_integer(json_object_get(d, "position")))
        buf_addf(b, "position %lld", (long long)json_integer_value(json_object_get(d, "position")));
    const json_t *lane = json_object_get(d, "lane");
    if (json_is_false(json_object_get(lane, "healthy")))
        buf_addf(b, ", no worker serves %s", text_of(lane, "name"));
    buf_addf(b, "%s%s\n", *text_of(d, "detail") ? ": " : "", text_of(d, "detail"));
}

static void line_speed(const json_t *d, struct buf *b)
{
    const json_t *speedup = json_object_get(d, "speedup"),
                 *baseline = json_object_get(d, "baseline");
    const json_t *ci = json_object_get(speedup, "ci95");
    if (!json_is_object(speedup)) {
        buf_adds(b, "speedup: not timed\n");
        return;
    }
    buf_addf(b, "speedup: %.3f [%.3f, %.3f] over %s %s, %.2f us\n",
             json_number_value(json_object_get(speedup, "value")),
             json_number_value(json_array_get(ci, 0)), json_number_value(json_array_get(ci, 1)),
             text_of(baseline, "name"), text_of(baseline, "version"),
             json_number_value(json_object_get(d, "candidate_us")));
}

static void line_target(const json_t *d, struct buf *b)
{
    const json_t *target = json_object_get(d, "target");
    const json_t *executed = json_object_get(target, "executed"),
                 *share = json_object_get(target, "tensor_share");
    buf_addf(b, "target instructions: %s",
             json_is_true(executed)    ? "executed"
             : json_is_false(executed) ? "not executed"
                                       : "unknown");
    if (json_is_number(share))
        buf_addf(b, ", %.1f %% of the work on tensor units", 100 * json_number_value(share));
    buf_adds(b, "\n");
}

void answer_lines(const json_t *d, struct buf *b)
{
    const char *label = text_of(d, "label");
    buf_addf(b, "%s %s %s %s on %s%s%s\n", text_of(d, "id"), text_of(d, "problem"),
             text_of(d, "workload"), text_of(d, "arch"), text_of(d, "device"), *label ? ": " : "",
             label);
    line_state(d, b);
    line_speed(d, b);
    line_target(d, b);
    buf_addf(b, "%s\n", text_of(d, "url"));
}

/* ---- the answer ---- */

static bool wants_lines(const struct request *r)
{
    const char *accept = r->headers.accept;
    return accept && field_accept_weight(accept, "text/plain") >
                         field_accept_weight(accept, "application/json");
}

static enum err show(struct request *r, int status, json_t *document)
{
    if (!wants_lines(r))
        return answer_json(r, status, json_incref(document));
    struct buf b;
    buf_init(&b, LINES_BYTES);
    answer_lines(document, &b);
    return answer_buf(r, status, "text/plain; charset=utf-8", &b);
}

static enum err again(struct request *r)
{
    return answer_submission(r, 0);
}

/* Is there nothing to show yet, and may we wait for it? A cheap look, for the many that wait. */
static enum err keep_waiting(struct request *r, bool *wait)
{
    *wait = false;
    if (!request_may_wait(r))
        return ERR_NONE;
    json_t *head = NULL;
    enum err e = store_submission_rev(r->db, r->subject, request_viewer(r), &head, &r->fault);
    *wait = !e && !is_done(head);
    json_decref(head);
    return e;
}

enum err answer_submission(struct request *r, int finished_status)
{
    if (finished_status)
        r->finished_status = finished_status;
    bool wait;
    enum err e = keep_waiting(r, &wait);
    if (e || wait)
        return e ? e : request_park(r, r->subject, again);
    json_t *document = NULL;
    e = store_submission_get(r->db, r->subject, request_viewer(r), &document, &r->fault);
    if (e)
        return e;
    document = request_keep_json(r, answer_shape(document));
    if (is_done(document))
        return answer_tag(r, show(r, r->finished_status, document));
    answer_header(r, "Location", request_printf(r, "/v1/submissions/%s", r->subject));
    return show(r, 202, document);
}
