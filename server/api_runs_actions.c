// SPDX-License-Identifier: Apache-2.0
// What an owner may do to a run.
#include <string.h>

#include "core/db/runs.h"
#include "core/run.h"
#include "server/api.h"
#include "server/run_parts.h"

enum { SUPERVISION_MOST = 16 * KIB };

/* "Not found" means to the store that the caller may not change it; who can see it is told so. */
static enum err refuse(struct request *r, enum err e)
{
    json_t *seen = NULL;
    struct fault why = {0};
    if (e != ERR_NOT_FOUND || runs_rev(r->db, r->captures[0], request_viewer(r), &seen, &why))
        return e;
    json_decref(seen);
    return fault_set(&r->fault, ERR_FORBIDDEN, "only its owner may change a run");
}

static enum err answer(struct request *r, enum err e, json_t *document)
{
    if (e)
        return refuse(r, e);
    return answer_json(r, 200, run_shape(r, document));
}

enum err run_cancel_post(struct request *r)
{
    json_t *document = NULL;
    enum err e = runs_cancel(r->db, r->captures[0], request_viewer(r), &document, &r->fault);
    return answer(r, e, document);
}

enum err run_resume_post(struct request *r)
{
    json_t *body, *document = NULL;
    json_t *given = NULL;
    static const struct json_field fields[] = {{.name = "budget", .kind = JSON_MEMBER}};
    struct run_budget budget = {.tokens = -1, .usd = -1};
    enum err e = run_body(r, true, &body);
    if (e)
        return e;
    if (json_read(body, fields, COUNT_OF(fields), &given, "$", &r->faults) && given)
        run_budget_read(given, "$.budget", &budget, &r->faults);
    if (faults_any(&r->faults))
        return ERR_INVALID;
    e = runs_resume(r->db, r->captures[0], request_viewer(r), budget.tokens, budget.usd, &document,
                    &r->fault);
    return answer(r, e, document);
}

struct extension {
    int64_t turns; /* 0: no more of them */
    double target; /* 0: the same */
};

enum err run_extend_post(struct request *r)
{
    struct extension in = {0};
    static const struct json_field fields[] = {
        {.name = "turns",
         .kind = JSON_INT64,
         .offset = offsetof(struct extension, turns),
         .min = 1,
         .max = RUN_TURNS},
        {.name = "target_speedup",
         .kind = JSON_DOUBLE,
         .offset = offsetof(struct extension, target)},
    };
    json_t *body, *document = NULL;
    enum err e = run_body(r, true, &body);
    if (e)
        return e;
    json_read(body, fields, COUNT_OF(fields), &in, "$", &r->faults);
    if (json_is_number(json_object_get(body, "target_speedup")))
        run_target_check(in.target, "$.target_speedup", &r->faults);
    if (!in.turns && !(in.target > 0) && !faults_any(&r->faults))
        faults_add(&r->faults, "$", "must say how far: turns, or target_speedup, or both");
    if (faults_any(&r->faults))
        return ERR_INVALID;
    e = runs_extend(r->db, r->captures[0], request_viewer(r), (int)in.turns, in.target, &document,
                    &r->fault);
    return answer(r, e, document);
}

struct supervision {
    int64_t n;
    const char *text;
};

enum err run_supervision_post(struct request *r)
{
    struct supervision in = {0};
    static const struct json_field fields[] = {
        {.name = "n",
         .kind = JSON_INT64,
         .required = true,
         .offset = offsetof(struct supervision, n),
         .min = 0,
         .max = RUN_TURNS - 1},
        {.name = "text",
         .kind = JSON_TEXT,
         .required = true,
         .offset = offsetof(struct supervision, text),
         .min = 1,
         .max = SUPERVISION_MOST},
    };
    int trajectory;
    json_t *body, *document = NULL;
    enum err e = run_trajectory_number(r, &trajectory);
    if (!e)
        e = run_body(r, false, &body);
    if (e)
        return e;
    if (!json_read(body, fields, COUNT_OF(fields), &in, "$", &r->faults))
        return ERR_INVALID;
    e = runs_supervise(r->db, r->captures[0], trajectory, (int)in.n, request_viewer(r), in.text,
                       &document, &r->fault);
    if (e == ERR_NOT_FOUND)
        return fault_set(&r->fault, e,
                         "there is no such turn of a run of yours: it must have begun");
    return answer(r, e, document);
}
