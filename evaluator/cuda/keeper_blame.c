// SPDX-License-Identifier: Apache-2.0
#include "evaluator/cuda/keeper_blame.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MAP_MS = 30 * 1000 };

/* Runs of one plan in which more is allowed than in the one that failed. A side is a tensor's: twice
 * its number, and 1 more for the one behind it. */
struct inquiry {
    struct keeper_job *job;
    const struct task_base *base;
    enum memory_place place;
    int64_t plan_ms;
    struct keeper_child child; /* pid 0: none that could still run something */
};

enum outcome { OUTCOME_RAN, OUTCOME_FAULTED, OUTCOME_UNKNOWN };

static bool is_illegal_access(const struct keeper_end *end)
{
    const char *kind = json_string_value(json_object_get(end->fault, "kind"));
    return kind && !strcmp(kind, "illegal_access");
}

static bool prepare(const struct inquiry *q)
{
    const struct keeper_task *t = q->job->task;
    return keeper_task_copy_inputs(t, q->base, &t->dummy, q->place, NULL) == ERR_NONE &&
           slot_reset(&t->dummy, &t->shape, q->place, NULL) == ERR_NONE &&
           cu.StreamSynchronize(NULL) == CUDA_SUCCESS;
}

static bool receive(struct inquiry *q, int64_t timeout_ms, struct keeper_end *end)
{
    struct keeper_wait wait = {.timeout_ms = timeout_ms, .watch = &q->job->watch};
    json_t *answer = keeper_child_receive(&q->child, &wait, end);
    json_decref(answer);
    return answer != NULL;
}

/* A runner that has the plan. */
static bool set_up(struct inquiry *q, struct keeper_end *end)
{
    struct keeper_job *j = q->job;
    struct keeper_spares *spares = &j->process->spares;
    struct keeper_ask open = {.cubin = j->cubin, .cubin_len = j->cubin_len};
    if (q->child.pid)
        return true;
    if (!keeper_spares_take(spares, KEEPER_RUNNER, &j->watch, &q->child, end))
        return false;
    keeper_spares_start(spares); /* the next one gets warm meanwhile */
    open.request = json_incref(j->request);
    return keeper_child_send(&q->child, &open, end) && receive(q, MAP_MS, end);
}

static json_t *open_sides(size_t from, size_t to)
{
    json_t *ahead = json_array(), *behind = json_array();
    for (size_t i = from; i < to; i++)
        json_array_append_new(i % 2 ? behind : ahead, json_integer((json_int_t)i / 2));
    return json_pack("{s:o, s:o}", "ahead", ahead, "behind", behind);
}

static bool launch(struct inquiry *q, size_t from, size_t to, struct keeper_end *end)
{
    struct keeper_job *j = q->job;
    struct keeper_ask run = {.request = json_pack("{s:s, s:i, s:s}", "op", "launch", "slot",
                                                  ORDER_DUMMY, "side", "candidate")};
    if (!keeper_job_send_open(j, &q->child, ORDER_DUMMY, &j->task->dummy, q->place,
                              open_sides(from, to), end) ||
        !receive(q, MAP_MS, end)) {
        json_decref(run.request);
        return false;
    }
    return keeper_child_send(&q->child, &run, end) && receive(q, q->plan_ms, end);
}

/* The plan once, where inputs may be written and sides `from` … `to` - 1 are open. */
static enum outcome run(struct inquiry *q, size_t from, size_t to)
{
    struct keeper_end end = {0};
    enum outcome outcome = OUTCOME_UNKNOWN;
    if (prepare(q) && set_up(q, &end) && launch(q, from, to, &end))
        outcome = OUTCOME_RAN;
    else if (is_illegal_access(&end))
        outcome = OUTCOME_FAULTED;
    if (outcome != OUTCOME_RAN)
        keeper_child_stop(&q->child);
    keeper_end_release(&end);
    return outcome;
}

/* The first input that is not what it was; NULL: none. */
static const char *changed_input(const struct inquiry *q)
{
    const struct keeper_task *t = q->job->task;
    for (size_t i = 0; i < t->problem->tensor_count; i++) {
        uint64_t different = 0;
        if (t->problem->tensors[i].role != TENSOR_INPUT ||
            kernels_count_different(&t->gpu->kernels, slot_address(&t->dummy, i, q->place),
                                    q->base->tensors[i], t->shape.bytes[i], &different,
                                    NULL) != ERR_NONE)
            continue;
        if (different)
            return t->problem->tensors[i].name;
    }
    return NULL;
}

/* Halves the sides of `count` that are open, of which the plan needs one. False if it is not one. */
static bool find_side(struct inquiry *q, size_t count, size_t *side)
{
    size_t from = 0, to = count;
    enum outcome last = OUTCOME_FAULTED;
    while (to - from > 1) {
        size_t middle = (from + to) / 2;
        last = run(q, from, middle);
        if (last == OUTCOME_UNKNOWN)
            return false;
        if (last == OUTCOME_RAN)
            to = middle;
        else
            from = middle;
    }
    *side = from;
    return last == OUTCOME_RAN || run(q, from, to) == OUTCOME_RAN;
}

/* Adds to the sentence, and a tensor to the fault. */
__attribute__((format(printf, 3, 4))) static void name(struct keeper_end *end, const char *tensor,
                                                       const char *fmt, ...)
{
    char more[128], detail[LIMIT_DETAIL];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(more, sizeof(more), fmt, ap);
    va_end(ap);
    snprintf(detail, sizeof(detail), "%.360s: %s", end->detail, more);
    snprintf(end->detail, sizeof(end->detail), "%s", detail);
    if (tensor)
        json_object_set_new(end->fault, "tensor", json_string(tensor));
    json_object_set_new(end->fault, "detail", json_string(detail));
}

static void inquire(struct inquiry *q, struct keeper_end *end)
{
    const struct problem *p = q->job->task->problem;
    size_t sides = 2 * p->tensor_count, side;
    enum outcome all = run(q, 0, sides);
    const char *input = all == OUTCOME_RAN ? changed_input(q) : NULL;
    if (input)
        name(end, input, "it writes to tensor %s, which is an input", input);
    else if (all == OUTCOME_RAN && find_side(q, sides, &side))
        name(end, p->tensors[side / 2].name, "it reaches %s tensor %s",
             side % 2 ? "behind the end of" : "ahead of the start of", p->tensors[side / 2].name);
    else if (all == OUTCOME_FAULTED)
        name(end, NULL, "at an address that is not near a tensor");
}

void keeper_blame(struct keeper_job *j, const struct task_base *base, enum memory_place place,
                  int64_t plan_ms, struct keeper_end *end)
{
    struct inquiry q = {.job = j,
                        .base = base,
                        .place = place,
                        .plan_ms = plan_ms,
                        .child = {.fd = -1, .print = -1}};
    if (!is_illegal_access(end))
        return;
    keeper_child_kill(&j->runner);
    inquire(&q, end);
    keeper_child_stop(&q.child);
}
