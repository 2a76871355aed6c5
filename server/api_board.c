// SPDX-License-Identifier: Apache-2.0
// The board of one workload, and the state of the lanes.
#include <string.h>

#include "server/api.h"
#include "server/board.h"
#include "server/cache.h"
#include "server/csv.h"
#include "server/service.h"

enum { BOARD_DEFAULT = 100, BOARD_MOST = 1000 };

static const char *const board_columns[] = {"rank",
                                            "id",
                                            "label",
                                            "method",
                                            "owner",
                                            "speedup.value",
                                            "speedup.ci95.0",
                                            "speedup.ci95.1",
                                            "candidate_us",
                                            "flags",
                                            "target.executed",
                                            "target.tensor_share",
                                            "thread_instructions",
                                            "device_model",
                                            "attempts",
                                            "language",
                                            "created_at"};

static enum err read_filter(struct request *r, bool fallback, struct board_filter *q)
{
    const struct registry *all = &r->service->registry;
    const char *name = request_query(r, "problem"), *workload = request_query(r, "workload");
    const char *device = request_query(r, "device"), *arch = request_query(r, "arch");
    if (fallback && !name && all->problems.count)
        name = all->problems.items[0].name;
    if (fallback && !arch && all->archs.count)
        arch = all->archs.items[0].name;
    const struct problem *p = name ? problems_find(&all->problems, name) : NULL;
    if (!p)
        return fault_set(&r->fault, ERR_BAD_PARAMETER,
                         "problem must name one of /v1/problems, not '%.64s'", name ? name : "");
    bool cpu = device && !strcmp(device, "cpu");
    const struct workload *w = workload ? problem_workload(p, workload)
                               : cpu    ? p->cpu_workload
                                        : p->paper_workload;
    if (!w)
        return fault_set(&r->fault, ERR_BAD_PARAMETER,
                         "workload must be one of problem %s, not '%.64s'", p->name,
                         workload ? workload : "");
    if (!arch || !archs_find(&all->archs, arch))
        return fault_set(&r->fault, ERR_BAD_PARAMETER,
                         "arch must name one of /v1/archs, not '%.64s'", arch ? arch : "");
    *q = (struct board_filter){.problem = p->name,
                               .workload = w->name,
                               .arch = arch,
                               .device_model = cpu ? BOARD_CPU_MODEL : device};
    return ERR_NONE;
}

enum err board_read(struct request *r, bool fallback, struct board_filter *q, json_t **document)
{
    int64_t limit = 0, epoch = 0;
    enum err e = read_filter(r, fallback, q);
    if (!e)
        e = request_number(r, "limit", 1, BOARD_MOST, BOARD_DEFAULT, &limit);
    if (!e)
        e = request_number(r, "epoch", 1, INT32_MAX, 0, &epoch);
    if (e)
        return e;
    q->limit = (int)limit;
    q->epoch = epoch;
    e = store_leaderboard(r->db, q, document, &r->fault);
    if (!e)
        request_keep_json(r, *document);
    return e;
}

static enum err read_board(struct request *r)
{
    bool csv;
    struct board_filter q;
    json_t *document = NULL;
    enum err e = csv_wanted(r, &csv);
    if (!e)
        e = board_read(r, false, &q, &document);
    if (e)
        return e;
    if (csv)
        return answer_csv(r, board_columns, COUNT_OF(board_columns),
                          json_object_get(document, "items"));
    json_object_set_new(document, "problem", json_string(q.problem));
    json_object_set_new(document, "workload", json_string(q.workload));
    json_object_set_new(document, "arch", json_string(q.arch));
    return answer_json(r, 200, json_incref(document));
}

enum err leaderboard_get(struct request *r)
{
    if (cache_answer(r))
        return answer_tag(r, ERR_NONE);
    enum err e = read_board(r);
    if (!e)
        cache_keep(r);
    return answer_tag(r, e);
}

enum err queue_get(struct request *r)
{
    json_t *document = NULL;
    enum err e = store_queue(r->db, &document, &r->fault);
    return e ? e : answer_json(r, 200, document);
}

enum err workers_get(struct request *r)
{
    json_t *document = NULL;
    enum err e = store_workers(r->db, &document, &r->fault);
    return e ? e : answer_json(r, 200, document);
}
