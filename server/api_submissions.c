// SPDX-License-Identifier: Apache-2.0
// Reading submissions: one, and the list.
#include <string.h>

#include "core/words.h"
#include "server/answer.h"
#include "server/api.h"
#include "server/csv.h"

enum { LIST_DEFAULT = 50, LIST_MOST = 200 };

enum err submission_get(struct request *r)
{
    enum err e = answer_wait(r);
    if (e)
        return e;
    memcpy(r->subject, r->captures[0], UUID_TEXT);
    return answer_submission(r, 200);
}

static const char *const list_columns[] = {"id",
                                           "created_at",
                                           "problem",
                                           "workload",
                                           "arch",
                                           "device",
                                           "language",
                                           "mode",
                                           "state",
                                           "verdict",
                                           "flags",
                                           "speedup.value",
                                           "speedup.ci95.0",
                                           "speedup.ci95.1",
                                           "candidate_us",
                                           "target.executed",
                                           "label",
                                           "method",
                                           "owner"};

static bool is_state(const char *s)
{
    return !strcmp(s, "queued") || !strcmp(s, "running") || !strcmp(s, "done");
}

/* Names of all verdicts, for messages. */
static const char *verdict_list(struct request *r)
{
    struct buf b;
    buf_init(&b, LIMIT_DETAIL);
    for (int v = 0; v < VERDICT_COUNT; v++)
        buf_addf(&b, "%s%s", v ? ", " : "", verdict_name((enum verdict)v));
    const char *text = b.failed ? "" : request_printf(r, "%s", b.data);
    buf_release(&b);
    return text;
}

static enum err read_filter(struct request *r, struct submission_filter *q)
{
    int64_t limit;
    enum err e = request_number(r, "limit", 1, LIST_MOST, LIST_DEFAULT, &limit);
    *q = (struct submission_filter){
        .problem = request_query(r, "problem"),
        .arch = request_query(r, "arch"),
        .device = request_query(r, "device"),
        .state = request_query(r, "state"),
        .verdict = request_query(r, "verdict"),
        .label = request_query(r, "label"),
        .owner = request_query(r, "owner"),
        .before = request_query(r, "cursor"),
        .limit = (int)limit,
    };
    if (!e && q->state && !is_state(q->state))
        e = fault_set(&r->fault, ERR_BAD_PARAMETER, "state must be queued, running or done");
    if (!e && q->verdict && verdict_find(q->verdict) < 0)
        e = fault_set(&r->fault, ERR_BAD_PARAMETER, "there is no verdict '%.64s'; there are %s",
                      q->verdict, verdict_list(r));
    if (!e && q->before && !uuid_is_valid(q->before))
        e = fault_set(&r->fault, ERR_BAD_PARAMETER, "cursor must be one that a Link header gave");
    return e;
}

enum err submissions_list(struct request *r)
{
    bool csv;
    struct submission_filter q;
    enum err e = csv_wanted(r, &csv);
    if (!e)
        e = read_filter(r, &q);
    json_t *document = NULL;
    if (!e)
        e = store_submission_list(r->db, &q, request_viewer(r), &document, &r->fault);
    if (e)
        return e;
    request_keep_json(r, document);
    const char *next = json_string_value(json_object_get(document, "next"));
    if (next)
        answer_next(r, next);
    json_t *items = json_object_get(document, "items"), *row;
    if (csv)
        return answer_csv(r, list_columns, COUNT_OF(list_columns), items);
    size_t i;
    json_array_foreach(items, i, row) json_array_set_new(items, i, answer_shape(json_incref(row)));
    return answer_tag(r, answer_json(r, 200, json_incref(document)));
}
