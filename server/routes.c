// SPDX-License-Identifier: Apache-2.0
#include "server/routes.h"

#include <string.h>

#include "core/trajectory.h"
#include "core/util.h"
#include "server/api.h"
#include "server/files.h"
#include "server/metrics.h"
#include "server/service.h"

#define JSON "application/json"
#define TEXT "text/plain"

#define FIELDS "problem workload arch device language mode label method options visibility"
#define RUN_MEMBERS                                                                                \
    "problem! workload arch! device name provider! model! condition variants trajectories turns "  \
    "target_speedup history feedback params budget visibility"
#define CELLS "origin model device problem workload condition format"

const struct route routes[] = {
    {METHOD_POST, "/v1/submissions", submissions_create, .need = NEED_SUBMIT, .body = LIMIT_BODY,
     .query = "wait dry_run " FIELDS, .answer = JSON,
     .summary = "submit a kernel: JSON, or the bare source with the fields as query parameters"},
    {METHOD_GET, "/v1/submissions", submissions_list, .answer = JSON,
     .query = "cursor limit format problem arch device state verdict label owner",
     .summary = "submissions, newest first"},
    {METHOD_GET, "/v1/submissions/:uuid", submission_get, .query = "wait", .answer = JSON,
     .summary = "state and result of a submission"},
    {METHOD_GET, "/v1/submissions/:uuid/source", submission_source, .answer = TEXT,
     .summary = "the source as submitted"},
    {METHOD_GET, "/v1/submissions/:uuid/ptx", submission_ptx, .answer = TEXT,
     .summary = "PTX of the latest evaluation"},
    {METHOD_GET, "/v1/submissions/:uuid/cubin", submission_cubin,
     .answer = "application/octet-stream", .summary = "compiled module of the latest evaluation"},
    {METHOD_GET, "/v1/submissions/:uuid/log", submission_log, .answer = TEXT,
     .summary = "compiler log of the latest evaluation"},
    {METHOD_GET, "/v1/submissions/:uuid/report", submission_report, .answer = JSON,
     .summary = "whole report of the latest evaluation"},
    {METHOD_POST, "/v1/submissions/:uuid/cancel", submission_cancel, .need = NEED_SUBMIT,
     .answer = JSON, .summary = "stop an unfinished evaluation"},
    {METHOD_POST, "/v1/submissions/:uuid/rerun", submission_rerun, .need = NEED_SUBMIT,
     .answer = JSON, .summary = "evaluate again; earlier results stay"},
    {METHOD_POST, "/v1/submissions/:uuid/hide", submission_hide, .need = NEED_ADMIN,
     .query = "reason", .answer = JSON,
     .summary = "take it off the boards, for a reason that is shown there"},
    {METHOD_POST, "/v1/submissions/:uuid/unhide", submission_unhide, .need = NEED_ADMIN,
     .answer = JSON, .summary = "put it back on the boards"},
    {METHOD_GET, "/v1/submissions/:uuid/events", submission_events, .query = "last_event_id",
     .answer = "text/event-stream", .summary = "progress as server-sent events, resumable"},
    {METHOD_POST, "/v1/runs", run_start_post, .need = NEED_SUBMIT, .body = 256 * KIB,
     .query = "dry_run", .members = RUN_MEMBERS, .answer = JSON,
     .summary = "start a run: a model on a problem, as trajectories of turns"},
    {METHOD_GET, "/v1/runs", run_list_get, .answer = JSON,
     .query = "cursor limit problem model state owner", .summary = "runs, newest first"},
    {METHOD_POST, "/v1/runs/import", run_import_post, .need = NEED_SUBMIT, .body = TRAJECTORY_BYTES,
     .query = "problem workload arch device model condition name visibility",
     .members = "info messages! trajectory_format", .lines = true, .answer = JSON,
     .summary = "take in a run from files of trajectories"},
    {METHOD_GET, "/v1/runs/:uuid", run_document_get, .query = "wait", .answer = JSON,
     .summary = "state of a run and every turn of its trajectories"},
    {METHOD_GET, "/v1/runs/:uuid/events", run_events, .query = "last_event_id",
     .answer = "text/event-stream", .summary = "progress as server-sent events, resumable"},
    {METHOD_GET, "/v1/runs/:uuid/export", run_export_get, .answer = "application/x-ndjson",
     .summary = "every trajectory, one a line, as mini-swe-agent 1.1 writes them"},
    {METHOD_POST, "/v1/runs/:uuid/cancel", run_cancel_post, .need = NEED_SUBMIT, .answer = JSON,
     .summary = "stop a run; answers under way are kept when they come"},
    {METHOD_POST, "/v1/runs/:uuid/resume", run_resume_post, .need = NEED_SUBMIT, .body = 4 * KIB,
     .members = "budget", .answer = JSON,
     .summary = "go on with trajectories that were stopped or failed"},
    {METHOD_POST, "/v1/runs/:uuid/extend", run_extend_post, .need = NEED_SUBMIT, .body = 4 * KIB,
     .members = "turns target_speedup", .answer = JSON,
     .summary = "more turns, or a higher target"},
    {METHOD_GET, "/v1/runs/:uuid/trajectories/:int", run_trajectory_get, .answer = JSON,
     .summary = "a trajectory with every text"},
    {METHOD_GET, "/v1/runs/:uuid/trajectories/:int/messages", run_messages_get, .query = "n",
     .answer = JSON, .summary = "the messages of the call of a turn, to the byte"},
    {METHOD_GET, "/v1/runs/:uuid/trajectories/:int/export", run_trajectory_export_get,
     .answer = JSON, .summary = "a trajectory as mini-swe-agent 1.1 writes it"},
    {METHOD_POST, "/v1/runs/:uuid/trajectories/:int/supervision", run_supervision_post,
     .need = NEED_SUBMIT, .body = 64 * KIB, .members = "n! text!", .answer = JSON,
     .summary = "add to the feedback of a turn, apart from what the service says"},
    {METHOD_GET, "/v1/problems", problems_list, .on_spot = true, .answer = JSON,
     .summary = "problems of this installation"},
    {METHOD_GET, "/v1/problems/:name", problem_get, .on_spot = true, .answer = JSON,
     .summary = "definition of a problem: axes, tensors, workloads, rules"},
    {METHOD_GET, "/v1/archs", archs_list, .on_spot = true, .answer = JSON,
     .summary = "architectures of this installation"},
    {METHOD_GET, "/v1/archs/:name", arch_get, .on_spot = true, .answer = JSON,
     .summary = "an architecture: limits, instruction families, peaks"},
    {METHOD_GET, "/v1/prompts", prompts_list, .without_db = true, .query = "arch", .answer = JSON,
     .summary = "prompt variants of an architecture"},
    {METHOD_GET, "/v1/prompts/preview", prompt_preview, .without_db = true, .answer = JSON,
     .query = "arch problem workload variant",
     .summary = "a prompt with its components and their tokens; as plain text on request"},
    {METHOD_GET, "/v1/leaderboard", leaderboard_get, .cached = true, .answer = JSON,
     .query = "problem workload arch device epoch baseline limit format",
     .summary = "the board of one workload on one architecture"},
    {METHOD_GET, "/board", board_html_get, .cached = true, .answer = "text/html",
     .query = "problem workload arch device epoch baseline limit",
     .summary = "the same as a plain page, for browsers without scripts"},
    {METHOD_GET, "/published", published_html_get, .without_db = true, .answer = "text/html",
     .summary = "the paper's tables as a plain page"},
    {METHOD_GET, "/v1/metrics/turn_correctness", turn_correctness_get, .cached = true,
     .answer = JSON, .query = "turns " CELLS,
     .summary = "correct turns and best speedup per model and problem"},
    {METHOD_GET, "/v1/metrics/fast_p", fast_p_get, .cached = true, .answer = JSON,
     .query = "turns p curves limit " CELLS,
     .summary = "Fast_p: share of turns that are correct and faster than p"},
    {METHOD_GET, "/v1/metrics/transitions", transitions_get, .cached = true, .answer = JSON,
     .query = "limit " CELLS, .summary = "labels per turn and how they follow each other"},
    {METHOD_GET, "/v1/queue", queue_get, .answer = JSON,
     .summary = "lanes: waiting, running, health"},
    {METHOD_GET, "/v1/workers", workers_get, .answer = JSON, .summary = "workers and what they do"},
    {METHOD_GET, "/v1/openapi.json", openapi_get, .on_spot = true, .answer = JSON,
     .summary = "this API as OpenAPI 3.1"},
    {METHOD_GET, "/v1", index_get, .on_spot = true, .answer = JSON, .summary = "list of endpoints"},
    {METHOD_GET, "/healthz", health_get, .on_spot = true, .answer = JSON,
     .summary = "the process is alive"},
    {METHOD_GET, "/readyz", ready_get, .without_db = true, .answer = JSON,
     .summary = "database reachable, schema right, not shutting down"},
    {METHOD_GET, "/metrics", metrics_get, .without_db = true, .answer = TEXT,
     .summary = "counters for Prometheus"},
    {METHOD_GET, "/version", version_get, .on_spot = true, .answer = JSON,
     .summary = "versions of program and interface"},
};
const size_t route_count = COUNT_OF(routes);

const struct route files_route = {METHOD_GET, "/*", files_get, .on_spot = true,
                                  .summary = "files of the page"};

static const struct parameter parameters[] = {
#define PARAMETER(name, type, meaning) {#name, type, meaning},
#include "server/parameters.def"
#undef PARAMETER
};

static const struct parameter members[] = {
#define MEMBER(name, type, meaning) {#name, type, meaning},
#include "server/members.def"
#undef MEMBER
};

static const char *const methods[] = {
    [METHOD_GET] = "GET",         [METHOD_HEAD] = "HEAD",   [METHOD_POST] = "POST",
    [METHOD_OPTIONS] = "OPTIONS", [METHOD_OTHER] = "OTHER",
};

const char *method_name(enum method m)
{
    return methods[m];
}

enum method method_find(const char *name)
{
    for (int m = 0; m < METHOD_OTHER; m++)
        if (!strcmp(methods[m], name))
            return (enum method)m;
    return METHOD_OTHER;
}

static const struct parameter *find(const struct parameter *rows, size_t count, const char *name,
                                    size_t n)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(rows[i].name) == n && !memcmp(rows[i].name, name, n))
            return &rows[i];
    return NULL;
}

const struct parameter *parameter_find(const char *name, size_t n)
{
    return find(parameters, COUNT_OF(parameters), name, n);
}

const struct parameter *member_find(const char *name, size_t n)
{
    return find(members, COUNT_OF(members), name, n);
}

/* Is `word` one of the space-separated words of `list` (NULL: empty)? */
static bool has_word(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *s = list; s && *s; s += strcspn(s, " "), s += *s == ' ')
        if (strcspn(s, " ") == n && !memcmp(s, word, n))
            return true;
    return false;
}

static enum err check_query(struct request *r)
{
    for (size_t i = 0; i < r->url.parameter_count; i++)
        if (!has_word(r->route->query, r->url.parameters[i].name))
            return fault_set(&r->fault, ERR_BAD_PARAMETER,
                             "there is no query parameter '%.64s' here; there %s%s",
                             r->url.parameters[i].name, r->route->query ? "are: " : "are none",
                             r->route->query ? r->route->query : "");
    return ERR_NONE;
}

static void allow_add(char allow[ROUTES_ALLOW], enum method m)
{
    size_t n = strlen(allow);
    snprintf(allow + n, ROUTES_ALLOW - n, "%s%s", n ? ", " : "",
             m == METHOD_GET ? "GET, HEAD" : methods[m]);
}

enum err routes_find(struct request *r, char allow[ROUTES_ALLOW])
{
    enum method wanted = r->method == METHOD_HEAD ? METHOD_GET : r->method;
    allow[0] = '\0';
    r->route = NULL;
    const char *captures[REQUEST_CAPTURES] = {0};
    for (size_t i = 0; i < route_count; i++) {
        if (!url_matches(&r->url, routes[i].pattern, captures, REQUEST_CAPTURES))
            continue;
        allow_add(allow, routes[i].method);
        if (routes[i].method != wanted && r->method != METHOD_OPTIONS)
            continue;
        r->route = &routes[i];
        memcpy(r->captures, captures, sizeof(captures));
    }
    if (!allow[0] && (files_has(r->service->files, &r->url) || files_wants_page(r))) {
        allow_add(allow, METHOD_GET);
        r->route = wanted == METHOD_GET || wanted == METHOD_OPTIONS ? &files_route : NULL;
    }
    if (!allow[0])
        return fault_set(&r->fault, ERR_NOT_FOUND,
                         "there is nothing at this address; /v1 lists the endpoints");
    allow_add(allow, METHOD_OPTIONS);
    if (!r->route)
        return fault_set(&r->fault, ERR_METHOD, "this address takes %s", allow);
    return r->route == &files_route || r->method == METHOD_OPTIONS ? ERR_NONE : check_query(r);
}

size_t route_index(const struct route *route)
{
    return route == &files_route ? route_count + 1 : (size_t)(route - routes);
}

void route_template(const struct route *route, char *out, size_t size)
{
    static const struct {
        const char *capture, *name;
    } names[] = {{":uuid", "{id}"}, {":name", "{name}"}, {":int", "{number}"}};
    size_t n = 0;
    out[0] = '\0';
    for (const char *p = route->pattern; *p && n + 1 < size;) {
        size_t skip = 0;
        for (size_t i = 0; *p == ':' && i < COUNT_OF(names); i++)
            if (!strncmp(p, names[i].capture, strlen(names[i].capture))) {
                n += (size_t)snprintf(out + n, size - n, "%s", names[i].name);
                skip = strlen(names[i].capture);
            }
        if (!skip) {
            out[n++] = *p;
            out[n] = '\0';
            skip = 1;
        }
        p += skip;
    }
}
