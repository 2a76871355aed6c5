// SPDX-License-Identifier: Apache-2.0
// Agent runs: starting one, reading one and the list. What is asked of a run is judged here as far
// as it can be; providers are the agents' matter.
#include <stdlib.h>
#include <string.h>

#include "core/db/runs.h"
#include "core/run.h"
#include "core/util.h"
#include "server/answer.h"
#include "server/api.h"
#include "server/run_parts.h"
#include "server/service.h"

enum {
    RUNS_OPEN = 32, /* of one owner at a time */
    LIST_DEFAULT = 50,
    LIST_MOST = 200,
};

/* ---- POST ---- */

/* The first messages of each variant, exactly as a call would send them. */
static json_t *first_messages(const json_t *document)
{
    const char *history = json_string_value(json_object_get(document, "history"));
    json_t *list = json_array(), *past = json_array();
    const json_t *prompt;
    size_t i;
    json_array_foreach(json_object_get(document, "prompts"), i, prompt)
    {
        json_t *row = run_messages((enum history)history_find(history),
                                   json_string_value(json_object_get(prompt, "system")),
                                   json_string_value(json_object_get(prompt, "task")), past);
        json_object_set(row, "variant", json_object_get(prompt, "variant"));
        json_object_set(row, "name", json_object_get(prompt, "name"));
        json_array_append_new(list, row);
    }
    json_decref(past);
    return list;
}

static enum err show_dry(struct request *r, json_t *document)
{
    json_t *messages = first_messages(document);
    json_t *lane = run_lane(r, json_string_value(json_object_get(document, "provider")));
    if (!lane) {
        json_decref(messages);
        return r->fault.code;
    }
    json_object_del(document, "prompts");
    return answer_json(r, 200,
                       json_pack("{s:b, s:O, s:o, s:o}", "valid", 1, "run", document, "lane", lane,
                                 "messages", messages));
}

static enum err store(struct request *r, const json_t *document)
{
    json_t *made = NULL;
    char *text = request_keep(r, json_dumps(document, JSON_COMPACT), free);
    if (!text)
        return fault_set(&r->fault, ERR_NO_MEMORY, "cannot store the run");
    enum err e = runs_create(r->db, r->who.owner_id, text, RUNS_OPEN, &made, &r->fault);
    if (e)
        return e;
    json_object_set(made, "provider", json_object_get(document, "provider"));
    made = run_shape(r, made);
    json_object_del(made, "provider");
    answer_header(r, "Location",
                  request_printf(r, "/v1/runs/%s", json_string_value(json_object_get(made, "id"))));
    return answer_json(r, 201, made);
}

static enum err create(struct request *r, struct run_request *q)
{
    bool dry_run;
    json_t *body;
    enum err e = request_yesno(r, "dry_run", &dry_run);
    if (!e && r->headers.idempotency_key)
        e = fault_set(&r->fault, ERR_BAD_REQUEST,
                      "runs take no Idempotency-Key: look at the list of runs before trying again");
    if (!e)
        e = run_body(r, false, &body);
    if (e)
        return e;
    run_parse(&r->service->registry, home_dir(), body, q, &r->faults);
    run_check_private(r, q->is_private, "$.visibility");
    if (faults_any(&r->faults))
        return ERR_INVALID;
    json_t *document =
        request_keep_json(r, run_document(q, home_dir(), prompts_tokenizer(), &r->fault));
    if (!document)
        return r->fault.code ? r->fault.code : ERR_NO_MEMORY;
    return dry_run ? show_dry(r, document) : store(r, document);
}

enum err run_start_post(struct request *r)
{
    struct run_request q = {0};
    enum err e = create(r, &q);
    run_release(&q);
    return e;
}

/* ---- one run ---- */

static enum err show(struct request *r);

/* Is it still running, and may we wait for it? */
static enum err keep_waiting(struct request *r, bool *wait)
{
    *wait = false;
    if (!request_may_wait(r))
        return ERR_NONE;
    json_t *head = NULL;
    enum err e = runs_rev(r->db, r->subject, request_viewer(r), &head, &r->fault);
    const char *state = json_string_value(json_object_get(head, "state"));
    *wait = !e && state && strcmp(state, "done") != 0;
    json_decref(head);
    return e;
}

/* Everything said of a run raises its rev; only who serves it changes without. */
static const char *tag_of(struct request *r, const json_t *document)
{
    return request_printf(r, "\"%lld-%lld\"",
                          (long long)json_integer_value(json_object_get(document, "rev")),
                          (long long)json_integer_value(
                              json_object_get(json_object_get(document, "lane"), "workers")));
}

static enum err show(struct request *r)
{
    bool wait;
    json_t *document = NULL;
    enum err e = keep_waiting(r, &wait);
    if (e || wait)
        return e ? e : request_park(r, r->subject, show);
    e = runs_get(r->db, r->subject, request_viewer(r), &document, &r->fault);
    if (e)
        return e;
    document = request_keep_json(r, run_shape(r, document));
    const char *state = json_string_value(json_object_get(document, "state"));
    if (r->wait_ms && state && strcmp(state, "done") != 0) { /* the wait was over before it */
        answer_header(r, "Location", request_printf(r, "/v1/runs/%s", r->subject));
        return answer_json(r, 202, json_incref(document));
    }
    if (answer_not_modified(r, tag_of(r, document)))
        return ERR_NONE;
    return answer_json(r, 200, json_incref(document));
}

enum err run_document_get(struct request *r)
{
    enum err e = answer_wait(r);
    if (e)
        return e;
    memcpy(r->subject, r->captures[0], UUID_TEXT);
    return show(r);
}

/* ---- the list ---- */

static enum err read_filter(struct request *r, struct run_filter *q)
{
    int64_t limit;
    enum err e = request_number(r, "limit", 1, LIST_MOST, LIST_DEFAULT, &limit);
    *q = (struct run_filter){
        .problem = request_query(r, "problem"),
        .model = request_query(r, "model"),
        .state = request_query(r, "state"),
        .owner = request_query(r, "owner"),
        .before = request_query(r, "cursor"),
        .limit = (int)limit,
    };
    if (!e && q->state && strcmp(q->state, "running") != 0 && strcmp(q->state, "done") != 0)
        e = fault_set(&r->fault, ERR_BAD_PARAMETER, "state must be running or done");
    if (!e && q->before && !uuid_is_valid(q->before))
        e = fault_set(&r->fault, ERR_BAD_PARAMETER, "cursor must be one that a Link header gave");
    return e;
}

enum err run_list_get(struct request *r)
{
    struct run_filter q;
    json_t *document = NULL, *row;
    size_t i;
    enum err e = read_filter(r, &q);
    if (!e)
        e = runs_list(r->db, &q, request_viewer(r), &document, &r->fault);
    if (e)
        return e;
    request_keep_json(r, document);
    const char *next = json_string_value(json_object_get(document, "next"));
    if (next)
        answer_next(r, next);
    json_array_foreach(json_object_get(document, "items"), i, row) json_object_set_new(
        row, "url", json_sprintf("/v1/runs/%s", json_string_value(json_object_get(row, "id"))));
    return answer_tag(r, answer_json(r, 200, json_incref(document)));
}
