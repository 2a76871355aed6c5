// SPDX-License-Identifier: Apache-2.0
// What comes of an answer that is stored: a submission, or, where it gives none, the conclusion of
// the step at once. Read it from its end backwards.
#include <string.h>

#include "agent/hand.h"
#include "agent/labels.h"
#include "core/json.h"
#include "core/util.h"

enum {
    PRIORITY_NORMAL = 1,
    QUOTA_MS = 5000, /* a place frees with every job */
    LABEL = LIMIT_LABEL + 1,
};

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* ---- submit ---- */

static enum err submit(struct hand *h, struct fault *f)
{
    struct new_submission n = new_submission_of(&h->submission, h->request);
    n.owner_id = json_integer_value(json_object_get(h->job.work, "owner"));
    n.is_private = !strcmp(text_of(h->job.work, "visibility"), "private");
    n.priority = PRIORITY_NORMAL;
    n.queued_limit = DEFAULT_QUEUED_LIMIT;
    bool mine = false;
    enum err e = step_submit(h->bench->db, &h->job, extraction_name(h->x.state), &n, &mine, f);
    hand_fault_point("submitted");
    if (e == ERR_QUOTA) {
        h->delay_ms = QUOTA_MS;
        return hand_then(h, hand_delay, "the owner has too many submissions waiting");
    }
    h->done = e == ERR_NONE;
    return e;
}

/* The run's name, or what the database calls one that has none: a run is one entry of a board, however many turns
 * it has. */
static void write_label(const struct hand *h, char out[LABEL])
{
    snprintf(out, LABEL, "%.*s", LIMIT_NAME, text_of(h->job.work, "name"));
}

/* The body that a person would have POSTed. A plan that is not JSON is a fault of its own. */
static json_t *body_of(const struct hand *h, struct faults *faults)
{
    const json_t *work = h->job.work;
    struct fault why = {0};
    char label[LABEL];
    write_label(h, label);
    json_t *body = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "problem",
                             text_of(work, "problem"), "workload", text_of(work, "workload"),
                             "arch", text_of(work, "arch"), "device", text_of(work, "device"),
                             "mode", "rank", "label", label, "method", text_of(work, "model"));
    json_object_set_new(body, "source", json_stringn(h->x.source.data, h->x.source.len));
    if (!h->x.plan.len)
        return body;
    json_t *plan = json_parse(h->x.plan.data, h->x.plan.len, &why);
    if (plan)
        json_object_set_new(body, "launch", plan);
    else
        faults_add(faults, "$.launch", "is not JSON: %s", why.detail);
    return body;
}

static enum err refuse(struct hand *h, const json_t *errors, struct fault *f)
{
    struct feedback_turn turn = hand_turn(h);
    h->errors = json_dumps(errors, JSON_COMPACT);
    h->conclusion.source = h->x.source.data;
    h->conclusion.source_len = h->x.source.len;
    return hand_conclusion(h, feedback_of_plan(&turn, errors), f);
}

static enum err judge_kernel(struct hand *h, struct fault *f)
{
    struct faults faults = {0};
    json_t *body = body_of(h, &faults), *document = NULL;
    enum err e = ERR_NONE;
    if (!faults_any(&faults))
        submission_parse(&h->bench->registry, body, &h->submission, &faults);
    json_decref(body);
    if (faults_any(&faults))
        e = refuse(h, faults.items, f);
    else if (!(document = submission_document(&h->submission)) ||
             !(h->request = json_canonical(document)))
        e = fault_set(f, ERR_NO_MEMORY, "cannot submit a kernel: out of memory");
    else
        h->next = submit;
    json_decref(document);
    faults_release(&faults);
    return e;
}

/* Looks at an answer that is stored. */
enum err step_judge(struct hand *h, struct fault *f)
{
    hand_fault_point("stored");
    extract(h->answer.len ? h->answer.data : "", h->answer.len, &h->x);
    buf_release(&h->answer);
    if (h->x.source.failed)
        return fault_set(f, ERR_NO_MEMORY, "cannot look at an answer: out of memory");
    h->conclusion.extraction = extraction_name(h->x.state);
    h->conclusion.label = label_of_extraction(h->x.state);
    if (h->x.state == EXTRACT_KERNEL)
        return judge_kernel(h, f);
    struct feedback_turn turn = hand_turn(h);
    return hand_conclusion(h, feedback_of_extraction(&turn, &h->x), f);
}
