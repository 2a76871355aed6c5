// SPDX-License-Identifier: Apache-2.0
// "open": the workload is brought onto the device, a runner is taken and given the plan, the module
// and every slot. The first submission of a workload also has the baseline chosen and compared.
#include <string.h>

#include "core/util.h"
#include "evaluator/cuda/keeper_job.h"

enum { CUBIN_MS = 10 * 1000, MAP_MS = 30 * 1000, PLAN_MS = 60 * 1000, BASELINE_MS = 30 * 1000 };

static const char *text_of(const json_t *request, const char *member)
{
    const char *text = json_string_value(json_object_get(request, member));
    return text ? text : "";
}

static bool take_cubin(struct keeper_job *j, struct keeper_end *end)
{
    struct wire_message m;
    struct fault f = {0};
    bool ok = wire_receive(j->fd, &m, LIMIT_CUBIN, CUBIN_MS, &f) == ERR_NONE;
    if (ok && m.kind == FRAME_CUBIN && m.len) {
        j->cubin = m.data;
        j->cubin_len = m.len;
        m.data = NULL;
    }
    wire_message_release(&m);
    return j->cubin || keeper_end_set(end, VERDICT_INFRA_ERROR, "the keeper got no module: %s",
                                      ok ? "another frame came" : f.detail);
}

static bool read_plan(struct keeper_job *j, const json_t *request, const struct problem *p,
                      const struct workload *w, struct keeper_end *end)
{
    struct faults faults = {0};
    char first[LIMIT_DETAIL];
    j->plan = plan_parse(json_object_get(request, "launch"), p, w, j->process->gpu.arch, "$.launch",
                         &faults);
    if (!j->plan)
        keeper_end_set(end, VERDICT_INFRA_ERROR, "the keeper got no plan: %.400s",
                       faults_first(&faults, first, sizeof(first)));
    faults_release(&faults);
    return j->plan != NULL;
}

/* The task with fresh bases. */
static bool find_task(struct keeper_job *j, const json_t *request, struct keeper_end *end)
{
    struct keeper_process *process = j->process;
    const struct problems *problems = &process->registry.problems;
    const struct problem *p = problems_find(problems, text_of(request, "problem"));
    const struct workload *w = p ? problem_workload(p, text_of(request, "workload")) : NULL;
    struct fault f = {0};
    if (!w)
        return keeper_end_set(end, VERDICT_INFRA_ERROR, "the keeper knows no such workload");
    if (strcmp(text_of(request, "arch"), process->gpu.arch->name) != 0)
        return keeper_end_set(end, VERDICT_INFRA_ERROR, "the device of this keeper is %s",
                              process->gpu.arch->name);
    if (!read_plan(j, request, p, w, end))
        return false;
    j->task = keeper_cache_get(&process->cache, (size_t)(p - problems->items), p, w, &f);
    return j->task || keeper_job_fault(j, &f, end);
}

/* Everything is sent before the first answer is read. */
static bool send_all(struct keeper_job *j, struct keeper_end *end)
{
    const struct keeper_task *t = j->task;
    struct keeper_child *r = &j->runner;
    struct keeper_ask open = {
        .request = json_incref(j->request), .cubin = j->cubin, .cubin_len = j->cubin_len};
    bool ok = keeper_child_send(r, &open, end);
    ok = ok && keeper_job_send_slot(j, r, ORDER_DUMMY, &t->dummy, MEMORY_END, end);
    ok = ok && keeper_job_send_slot(j, r, ORDER_DUMMY_START, &t->dummy, MEMORY_START, end);
    ok =
        ok && keeper_job_send_slot(j, r, ORDER_DUMMY_BASELINE, &t->dummy_baseline, MEMORY_END, end);
    for (int i = 0; ok && i < t->slots; i++)
        ok = keeper_job_send_slot(j, r, ORDER_CANDIDATE + i, &t->candidate[i], MEMORY_END, end) &&
             keeper_job_send_slot(j, r, ORDER_BASELINE + i, &t->baseline[i], MEMORY_END, end);
    return ok;
}

static bool set_up_runner(struct keeper_job *j, struct keeper_end *end)
{
    struct keeper_wait wait = {.timeout_ms = MAP_MS, .watch = &j->watch};
    int answers = 1 + 3 + 2 * j->task->slots;
    double start_s = now_s();
    if (!keeper_spares_take(&j->process->spares, KEEPER_RUNNER, &j->watch, &j->runner, end))
        return false;
    json_decref(j->sandbox);
    j->sandbox = json_incref(json_object_get(j->runner.ready, "sandbox"));
    keeper_job_part(j, "runner", start_s);
    start_s = now_s();
    bool ok = send_all(j, end);
    for (int i = 0; ok && i < answers; i++) {
        json_t *answer = keeper_child_receive(&j->runner, &wait, end);
        ok = answer != NULL;
        json_decref(answer);
    }
    keeper_job_part(j, "map", start_s);
    return ok;
}

/* What the baseline answers to the base of the next check, held against the oracle. */
static bool compare_baseline(struct keeper_job *j, struct keeper_end *end)
{
    struct keeper_task *t = j->task;
    const struct task_base *b = keeper_task_base(t, 0);
    struct fault f = {0};
    enum err e = keeper_task_copy_inputs(t, b, &t->dummy, MEMORY_END, &f);
    if (e == ERR_NONE)
        e = slot_reset(&t->dummy_baseline, &t->shape, MEMORY_END, &f);
    if (e == ERR_NONE)
        e = driver_check(cu.StreamSynchronize(NULL), &f, "make inputs");
    if (e != ERR_NONE)
        return keeper_job_fault(j, &f, end);
    json_t *answer = keeper_job_ask(j,
                                    json_pack("{s:s, s:i, s:s}", "op", "launch", "slot",
                                              ORDER_DUMMY_BASELINE, "side", "baseline"),
                                    BASELINE_MS, "the baseline", end);
    if (!answer)
        return false;
    json_decref(answer);
    json_t *list = json_array();
    for (size_t i = 0; i < t->problem->tensor_count && e == ERR_NONE; i++) {
        int64_t shape[LIMIT_DIMS];
        struct compare_task task = keeper_task_compare(t, i, b->distribution, shape);
        struct compare_result r;
        if (t->problem->tensors[i].role != TENSOR_OUTPUT)
            continue;
        e = gpu_compare(&t->gpu->kernels, &task, slot_address(&t->dummy_baseline, i, MEMORY_END),
                        b->tensors[i], &r, &f);
        if (e == ERR_NONE)
            json_array_append_new(list, compare_json(&task, &r));
    }
    t->baseline_check = list;
    return e == ERR_NONE || keeper_job_fault(j, &f, end);
}

/* Slots as they are in a timed batch, to choose on. */
static json_t *draw_slots(struct keeper_job *j, struct keeper_end *end)
{
    struct task_draw draws[ADMIT_SLOTS_MAX];
    struct fault f = {0};
    json_t *list = json_array();
    enum err e = keeper_task_draw(j->task, j->task->slots, 0, draws, &f);
    if (e == ERR_NONE)
        e = driver_check(cu.StreamSynchronize(NULL), &f, "make inputs");
    for (int i = 0; i < j->task->slots; i++)
        json_array_append_new(list, json_integer(ORDER_BASELINE + i));
    if (e != ERR_NONE)
        keeper_job_fault(j, &f, end);
    return list;
}

/* The first time the runner chooses, alone on the device and with nothing foreign loaded yet. */
static bool choose_baseline(struct keeper_job *j, struct keeper_end *end)
{
    struct device_lock *lock = &j->process->gpu.lock;
    struct fault f = {0};
    if (!j->task->plan && device_lock_take(lock, DEVICE_LOCK_EXCLUSIVE, PLAN_MS, &f) != ERR_NONE)
        return keeper_job_fault(j, &f, end);
    json_t *request = json_pack("{s:s}", "op", "plan");
    if (j->task->plan)
        json_object_set(request, "choice", json_object_get(j->task->plan, "choice"));
    else
        json_object_set_new(request, "slots", draw_slots(j, end));
    json_t *answer = keeper_job_ask(j, request, PLAN_MS, "choosing the baseline", end);
    bool ok = answer && (j->task->plan || json_is_string(json_object_get(answer, "choice")));
    if (ok && !j->task->plan)
        j->task->plan = json_incref(answer);
    json_decref(answer);
    return ok && end->verdict == VERDICT_PASSED;
}

bool keeper_open(struct keeper_job *j, const json_t *request, json_t *result,
                 struct keeper_end *end)
{
    (void)result;
    double start_s = now_s();
    if (!take_cubin(j, end) || !find_task(j, request, end))
        return false;
    j->request = json_deep_copy(request);
    keeper_job_part(j, "task", start_s);
    if (!set_up_runner(j, end))
        return false;
    /* A problem without a baseline can be checked all the same. */
    if (!json_is_object(json_object_get(j->runner.ready, "baseline")) ||
        !redraw_exists(j->task->problem))
        return true;
    start_s = now_s();
    bool ok = choose_baseline(j, end) && (j->task->baseline_check || compare_baseline(j, end));
    keeper_job_part(j, "baseline", start_s);
    return ok;
}
