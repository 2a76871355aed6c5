// SPDX-License-Identifier: Apache-2.0
// Trajectories whole: as documents, as the messages of a call, as files out and in.
#include <stdlib.h>
#include <string.h>

#include "core/db/runs.h"
#include "core/trajectory.h"
#include "server/api.h"
#include "server/run_parts.h"
#include "server/service.h"

#define LINES "application/x-ndjson"

enum { TURN_MOST = 999 };

enum err run_trajectory_get(struct request *r)
{
    int number;
    json_t *document = NULL;
    enum err e = run_trajectory_number(r, &number);
    if (!e)
        e = runs_trajectory(r->db, r->captures[0], number, request_viewer(r), &document, &r->fault);
    return e ? e : answer_tag(r, answer_json(r, 200, document));
}

/* ---- the messages of a call ---- */

/* What a call with this past is made of; of an import all that is known. */
static json_t *built(const json_t *document)
{
    const char *history = json_string_value(json_object_get(document, "history"));
    int h = history ? history_find(history) : -1;
    return run_messages(h < 0 ? HISTORY_FULL : (enum history)h,
                        json_string_value(json_object_get(document, "system")),
                        json_string_value(json_object_get(document, "task")),
                        json_object_get(document, "past"));
}

/* Those that were sent, if a call was made: what was added to its past since does not change them.
 */
static json_t *messages_of(const json_t *document)
{
    json_t *sent = json_object_get(document, "messages");
    json_t *shown = NULL;
    if (json_array_size(sent))
        shown = json_pack("{s:O, s:O, s:I}", "messages", sent, "sha256",
                          json_object_get(document, "sha256"), "tokens",
                          (json_int_t)messages_tokens(sent));
    else
        shown = built(document);
    static const char *const members[] = {"run", "trajectory", "n", "call"};
    for (size_t i = 0; i < COUNT_OF(members); i++)
        json_object_set(shown, members[i], json_object_get(document, members[i]));
    json_object_set_new(shown, "sent", json_boolean(json_array_size(sent) > 0));
    return shown;
}

enum err run_messages_get(struct request *r)
{
    int number;
    int64_t n;
    json_t *document = NULL;
    enum err e = run_trajectory_number(r, &number);
    if (!e)
        e = request_number(r, "n", 0, TURN_MOST, -1, &n);
    if (!e)
        e = runs_messages(r->db, r->captures[0], number, (int)n, request_viewer(r), &document,
                          &r->fault);
    if (e)
        return e;
    request_keep_json(r, document);
    return answer_tag(r, answer_json(r, 200, messages_of(document)));
}

/* ---- export ---- */

static int add_to_buf(const char *bytes, size_t n, void *b)
{
    buf_add(b, bytes, n);
    return 0;
}

/* Appends one document, on one line. */
static enum err add_trajectory(struct request *r, const json_t *run, int number, struct buf *out)
{
    json_t *trajectory = NULL;
    enum err e =
        runs_trajectory(r->db, r->captures[0], number, request_viewer(r), &trajectory, &r->fault);
    if (e)
        return e;
    json_t *document = trajectory_export(run, trajectory);
    json_decref(trajectory);
    if (!document || json_dump_callback(document, add_to_buf, out, JSON_COMPACT))
        e = fault_set(&r->fault, ERR_NO_MEMORY, "cannot export trajectory %d", number);
    buf_adds(out, "\n");
    json_decref(document);
    if (!e && out->failed)
        e = fault_set(&r->fault, ERR_UNAVAILABLE,
                      "the run is over %d bytes: export its trajectories one by one",
                      TRAJECTORY_BYTES);
    return e;
}

static enum err export(struct request *r, int only) {
    json_t *run = NULL; const json_t * row; size_t i; struct buf out;
    enum err e = runs_get(r->db, r->captures[0], request_viewer(r), &run, &r->fault);
    if (e) return e;
    request_keep_json(r, run);
    buf_init(&out, TRAJECTORY_BYTES);
    if (only >= 0) e = add_trajectory(r, run, only, &out);
    json_array_foreach(only < 0 ? json_object_get(run, "grid") : NULL, i, row) if (!e)
        e = add_trajectory(r, run, (int)json_integer_value(json_object_get(row, "trajectory")),
                           &out);
    if (!e) e = answer_buf(r, 200, only < 0 ? LINES : "application/json", &out);
    buf_release(&out);
    return answer_tag(r, e);
}

enum err run_export_get(struct request *r)
{
    return export(r, -1);
}

enum err run_trajectory_export_get(struct request *r)
{
    int number;
    enum err e = run_trajectory_number(r, &number);
    return e ? e : export(r, number);
}

/* ---- import ---- */

static enum err read_import(struct request *r, struct trajectory_import *given)
{
    const char *visibility = request_query(r, "visibility");
    *given = (struct trajectory_import){
        .problem = request_query(r, "problem"),
        .workload = request_query(r, "workload"),
        .arch = request_query(r, "arch"),
        .device = request_query(r, "device"),
        .model = request_query(r, "model"),
        .condition = request_query(r, "condition"),
        .name = request_query(r, "name"),
        .is_private = visibility && !strcmp(visibility, "private"),
    };
    if (visibility && !given->is_private && strcmp(visibility, "public") != 0)
        return fault_set(&r->fault, ERR_BAD_PARAMETER, "visibility must be public or private");
    run_check_private(r, given->is_private, "visibility");
    return faults_any(&r->faults) ? ERR_INVALID : ERR_NONE;
}

static enum err store_import(struct request *r, const json_t *document)
{
    json_t *made = NULL;
    char *text = request_keep(r, json_dumps(document, JSON_COMPACT), free);
    if (!text)
        return fault_set(&r->fault, ERR_NO_MEMORY, "cannot store the run");
    enum err e = runs_import(r->db, r->who.owner_id, text, &made, &r->fault);
    if (e)
        return e;
    const char *url =
        request_printf(r, "/v1/runs/%s", json_string_value(json_object_get(made, "id")));
    json_object_set_new(made, "url", json_string(url));
    answer_header(r, "Location", url);
    return answer_json(r, 201, made);
}

enum err run_import_post(struct request *r)
{
    struct trajectory_import given;
    json_t *document = NULL;
    enum err e = read_import(r, &given);
    if (e)
        return e;
    if (!trajectory_import(&r->service->registry, r->body.data ? r->body.data : "", r->body.len,
                           &given, &document, &r->faults))
        return ERR_INVALID;
    request_keep_json(r, document);
    return store_import(r, document);
}
