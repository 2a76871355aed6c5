// SPDX-License-Identifier: Apache-2.0
// What an owner may do to a submission, and what an operator may.
#include <string.h>

#include "server/answer.h"
#include "server/api.h"
#include "server/service.h"

enum err submission_cancel(struct request *r)
{
    json_t *document = NULL;
    enum err e =
        store_submission_cancel(r->db, r->captures[0], request_viewer(r), &document, &r->fault);
    if (e)
        return e;
    answer_links(document, r->captures[0]);
    bool cancelling = json_is_true(json_object_get(document, "cancelling"));
    return answer_json(r, cancelling ? 202 : 200, document);
}

enum err submission_rerun(struct request *r)
{
    json_t *document = NULL;
    enum err e = store_submission_rerun(r->db, r->captures[0], request_viewer(r),
                                        r->service->config.queued_limit, &document, &r->fault);
    if (e)
        return e;
    answer_links(document, r->captures[0]);
    answer_header(r, "Location", request_printf(r, "/v1/submissions/%s", r->captures[0]));
    return answer_json(r, 202, document);
}

static enum err hide(struct request *r, const char *reason)
{
    json_t *document = NULL;
    enum err e = store_submission_hide(r->db, r->captures[0], request_viewer(r), reason, &document,
                                       &r->fault);
    if (e)
        return e;
    answer_links(document, r->captures[0]);
    return answer_json(r, 200, document);
}

enum err submission_hide(struct request *r)
{
    enum { REASON = 500 };
    const char *reason = request_query(r, "reason");
    if (!reason || !*reason || strlen(reason) > REASON)
        return fault_set(&r->fault, ERR_BAD_PARAMETER,
                         "reason must say why, in at most %d bytes: it is shown to everybody",
                         REASON);
    return hide(r, reason);
}

enum err submission_unhide(struct request *r)
{
    return hide(r, NULL);
}
