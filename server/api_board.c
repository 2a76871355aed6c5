// SPDX-License-Identifier: Apache-2.0
// The board of one workload, and the state of the lanes.
#include <string.h>

#include "server/api.h"
#include "server/board.h"
#include "server/csv.h"
#include "server/service.h"

enum { BOARD_DEFAULT = 100, BOARD_MOST = 1000, BOARD_BYTES = 8 * MIB };

static const char *const board_columns[] = {"rank",
                                            "id",
                                            "label",
                                            "method",
                                            "owner",
                                            "speedup.value",
                                            "speedup.ci95.0",
                                            "speedup.ci95.1",
                                            "candidate_us",
                                            "tflops",
                                            "baseline.name",
                                            "baseline.version",
                                            "baseline.us",
                                            "flags",
                                            "target.executed",
                                            "target.tensor_share",
                                            "target.counts",
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
                               .device_model = cpu ? BOARD_CPU_MODEL : device,
                               .baseline = request_query(r, "baseline")};
    return ERR_NONE;
}

static enum err read_query(struct request *r, bool fallback, struct board_filter *q)
{
    int64_t limit = 0, epoch = 0;
    enum err e = read_filter(r, fallback, q);
    if (!e)
        e = request_number(r, "limit", 1, BOARD_MOST, BOARD_DEFAULT, &limit);
    if (!e)
        e = request_number(r, "epoch", 1, INT32_MAX, 0, &epoch);
    q->limit = (int)limit;
    q->epoch = epoch;
    return e;
}

enum err board_read(struct request *r, bool fallback, struct board_filter *q, json_t **document)
{
    enum err e = read_query(r, fallback, q);
    if (!e)
        e = store_leaderboard(r->db, q, document, &r->fault);
    if (!e)
        request_keep_json(r, *document);
    return e;
}

/* The database's own text with the board's name before it: a board is read far more often than
 * anything else, and nothing in it needs to be understood here. */
static enum err answer_board(struct request *r, const struct board_filter *q)
{
    const struct problem *p = problems_find(&r->service->registry.problems, q->problem);
    const struct workload *w = problem_workload(p, q->workload);
    struct buf b;
    buf_init(&b, BOARD_BYTES);
    buf_addf(&b, "{\"problem\":\"%s\",\"workload\":\"%s\",\"arch\":\"%s\",\"flops\":%lld,",
             q->problem, q->workload, q->arch, (long long)problem_flops(p, w));
    enum err e = store_board_text(r->db, q, &b, &r->fault);
    if (!e && !b.failed) {
        buf_adds(&b, "\n");
        return answer_buf(r, 200, "application/json", &b);
    }
    buf_release(&b);
    return e ? e : fault_set(&r->fault, ERR_NO_MEMORY, "cannot build the answer");
}

/* The rate that a time comes to, by the problem's own count of useful operations. */
static void add_rates(const struct request *r, const struct board_filter *q, json_t *items)
{
    const struct problem *p = problems_find(&r->service->registry.problems, q->problem);
    double flops = (double)problem_flops(p, problem_workload(p, q->workload));
    size_t i;
    json_t *item;
    json_array_foreach(items, i, item)
    {
        double us = json_number_value(json_object_get(item, "candidate_us"));
        if (us > 0)
            json_object_set_new(item, "tflops", json_real(flops / us / 1e6));
    }
}

static enum err read_board(struct request *r)
{
    bool csv;
    struct board_filter q;
    json_t *document = NULL;
    enum err e = csv_wanted(r, &csv);
    if (e)
        return e;
    if (!csv) {
        e = read_query(r, false, &q);
        return e ? e : answer_board(r, &q);
    }
    e = board_read(r, false, &q, &document);
    if (!e)
        add_rates(r, &q, json_object_get(document, "items"));
    return e ? e
             : answer_csv(r, board_columns, COUNT_OF(board_columns),
                          json_object_get(document, "items"));
}

enum err leaderboard_get(struct request *r)
{
    return read_board(r);
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
