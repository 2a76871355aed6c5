// SPDX-License-Identifier: Apache-2.0
// "time": the candidate against the baseline. Before each batch every slot gets inputs redrawn by
// keys that did not exist before, and poisoned outputs; after it every output of the candidate is
// compared with the oracle's, redrawn by the same keys.
#include <stdlib.h>

#include "core/util.h"
#include "evaluator/cuda/keeper_timing.h"

enum {
    WARM_COLD_MS = 300, /* from idle clocks */
    WARM_HOT_MS = 60,   /* if they are up already */
    WARM_SPARE_MS = 5000,
    FLOOR_RUNS = 20,
    FLOOR_MS = 10 * 1000,
    SPLIT_RUNS = 8,
    SPLIT_RUNS_MIN = 3,
    PROBE_SLOTS = 2, /* of the batch that tells whether it is slow */
    LOCK_MS = 50 * 1000,
};
/* Clocks count as up from this share of the highest one. */
#define CLOCKS_UP 0.85
/* A candidate that is slower than that, and would keep the device for longer than that, is not
 * timed to 0.1 %: the device is worth more. Judged by blocks that count, never by the warm-up, so
 * nothing is gained by being slow in it. */
#define SLOW_SPEEDUP 0.25
#define SLOW_US 1000e3
/* The launches of a plan apart are worth that much time. */
#define SPLIT_US 100e3

static struct nvml_sample sample(struct keeper_timing *t)
{
    struct nvml_sample s;
    double start_s = now_s();
    nvml_read(&t->job->process->gpu.nvml, &s);
    nvml_set_add(&t->environment, &s);
    keeper_job_part(t->job, "samples", start_s);
    return s;
}

static bool clocks_are_up(struct keeper_timing *t)
{
    struct nvml_sample s = sample(t);
    return s.sm_mhz > CLOCKS_UP * s.max_sm_mhz; /* not if either is unknown */
}

static bool warm_up(struct keeper_timing *t, struct keeper_end *end)
{
    double start_s = now_s();
    int ms = clocks_are_up(t) ? WARM_HOT_MS : WARM_COLD_MS;
    json_t *answer =
        keeper_job_ask(t->job,
                       json_pack("{s:s, s:i, s:i, s:i}", "op", "warm", "candidate", ORDER_DUMMY,
                                 "baseline", ORDER_DUMMY_BASELINE, "ms", ms),
                       2 * t->batch_ms + WARM_SPARE_MS, "the warm-up", end);
    json_decref(answer);
    keeper_job_part(t->job, "warm", start_s);
    return answer != NULL;
}

/* Fresh inputs and poison for one batch. */
static bool redraw_batch(struct keeper_timing *t, int slots, struct keeper_end *end)
{
    struct fault f = {0};
    double start_s = now_s();
    enum err e = keeper_task_draw(t->task, slots, t->batches, t->draws, &f);
    if (e == ERR_NONE)
        e = driver_check(cu.StreamSynchronize(NULL), &f, "redraw inputs");
    keeper_job_part(t->job, "redraw", start_s);
    return e == ERR_NONE || keeper_job_fault(t->job, &f, end);
}

static bool run_batch(struct keeper_timing *t, int slots, struct keeper_end *end)
{
    double us[2 * ADMIT_SLOTS_MAX];
    size_t count = 2 * (size_t)slots;
    double start_s = now_s();
    t->sample = keeper_sample_draw();
    buf_clear(&t->job->capture); /* samples of the batch before */
    struct keeper_ask ask = {.request = json_pack("{s:s, s:o, s:i, s:I, s:I}", "op", "batch",
                                                  "order", order_batch(slots, t->spread.lead),
                                                  "untimed", 2 * t->spread.lead, "sample_first",
                                                  (json_int_t)t->sample.first, "sample_step",
                                                  (json_int_t)t->sample.step)};
    if (!keeper_child_send(&t->job->runner, &ask, end))
        return false;
    sample(t); /* while it runs: before and after, the clocks are those of an idle device */
    json_t *answer = keeper_job_receive(t->job, t->batch_ms, "a batch of timed runs", end);
    keeper_job_part(t->job, "batches", start_s);
    if (!answer)
        return false;
    bool ok = keeper_answer_times(json_object_get(answer, "us"), us, count) &&
              t->job->capture.len == keeper_sample_bytes(t->task, slots);
    json_decref(answer);
    if (!ok)
        return keeper_end_set(end, VERDICT_INFRA_ERROR, "the runner gave no times or no samples");
    order_blocks(us, slots, &t->blocks[t->count]);
    t->count += count / 4;
    t->batches++;
    return true;
}

/* One output on its way through a lane. */
struct comparing {
    bool busy;
    const struct distribution *distribution;
    int64_t shape[LIMIT_DIMS];
};

static enum err end_lane(struct keeper_timing *t, struct task_lane *lane, struct comparing *c,
                         struct fault *f)
{
    struct compare_result r;
    if (!c->busy)
        return ERR_NONE;
    c->busy = false;
    enum err e = gpu_comparer_end(&lane->comparer, &r, f);
    if (e == ERR_NONE)
        check_tally_output(&t->tally, &lane->comparer.task, &r, c->distribution,
                           " while it was timed", NULL);
    return e;
}

static enum err begin_lane(struct keeper_timing *t, struct task_lane *lane, struct comparing *c,
                           int s, size_t i, struct fault *f)
{
    const struct keeper_task *task = t->task;
    const struct task_base *b = t->draws[s].base;
    c->distribution = b->distribution;
    struct compare_task what = keeper_task_compare(task, i, b->distribution, c->shape);
    enum err e = redraw_tensor(&lane->comparer.kernels, task->problem, task->workload, i,
                               task->problem->tensors[i].oracle_dtype, lane->answer, b->tensors[i],
                               &t->draws[s].keys, f);
    if (e == ERR_NONE)
        e = gpu_comparer_begin(&lane->comparer, &what,
                               slot_address(&task->candidate[s], i, MEMORY_END), lane->answer, f);
    c->busy = e == ERR_NONE;
    return e;
}

/* Every output of the candidate in the last batch, several at a time. */
static bool compare_batch(struct keeper_timing *t, int slots, struct keeper_end *end)
{
    struct keeper_task *task = t->task;
    struct comparing comparing[TASK_LANES] = {{0}};
    struct slot_damage damage = {0};
    struct fault f = {0};
    enum err e = ERR_NONE;
    size_t at = 0;
    double start_s = now_s();
    for (int s = 0; s < slots; s++)
        for (size_t i = 0; i < task->problem->tensor_count && e == ERR_NONE; i++) {
            if (task->problem->tensors[i].role != TENSOR_OUTPUT)
                continue;
            size_t lane = at++ % TASK_LANES;
            e = end_lane(t, &task->lanes[lane], &comparing[lane], &f);
            if (e == ERR_NONE)
                e = begin_lane(t, &task->lanes[lane], &comparing[lane], s, i, &f);
        }
    for (size_t lane = 0; lane < TASK_LANES; lane++) {
        struct fault later = {0};
        enum err ended = end_lane(t, &task->lanes[lane], &comparing[lane], &later);
        f = e == ERR_NONE ? later : f;
        e = e == ERR_NONE ? ended : e;
    }
    if (e == ERR_NONE)
        e = slot_check(task->candidate, (size_t)slots, &task->shape, MEMORY_END,
                       &task->gpu->kernels, &damage, &f);
    keeper_job_part(t->job, "compare", start_s);
    if (e != ERR_NONE)
        return keeper_job_fault(t->job, &f, end);
    if (t->tally.verdict != VERDICT_PASSED)
        return keeper_end_set(end, t->tally.verdict, "%s", t->tally.detail);
    return keeper_job_damage(&damage, end);
}

/* Was every output finished when its launch ended? */
static bool check_samples(struct keeper_timing *t, int slots, struct keeper_end *end)
{
    struct fault f = {0};
    size_t changed = 0;
    const char *tensor = "";
    double start_s = now_s();
    enum err e = keeper_sample_compare(t->task, slots, &t->sample, t->job->capture.data, &changed,
                                       &tensor, &f);
    keeper_job_part(t->job, "compare", start_s);
    if (e != ERR_NONE)
        return keeper_job_fault(t->job, &f, end);
    return !changed ||
           keeper_end_set(end, VERDICT_INCORRECT_NUMERICAL,
                          "%s: %zu of %d elements that were looked at right behind a timed run "
                          "were written later",
                          tensor, changed, slots * WIRE_SAMPLES);
}

static double block_us(const struct timing_block *b)
{
    return b->baseline[0] + b->baseline[1] + b->candidate[0] + b->candidate[1];
}

/* Is every block so far far slower than the baseline, and would all that are left be too long? */
static bool is_slow(const struct keeper_timing *t)
{
    double launches = t->spread.batches * t->spread.slots;
    for (size_t i = 0; i < t->count; i++) {
        const double *b = t->blocks[i].baseline, *c = t->blocks[i].candidate;
        if (b[0] + b[1] > SLOW_SPEEDUP * (c[0] + c[1]) || (c[0] + c[1]) / 2 * launches < SLOW_US)
            return false;
    }
    return true;
}

static bool batch(struct keeper_timing *t, int slots, struct keeper_end *end)
{
    return redraw_batch(t, slots, end) && run_batch(t, slots, end) &&
           compare_batch(t, slots, end) && check_samples(t, slots, end);
}

/* One block alone, and then one more if the candidate is slow, or all that there have to be. */
static bool run_batches(struct keeper_timing *t, struct keeper_end *end)
{
    if (!batch(t, PROBE_SLOTS, end))
        return false;
    t->spread = order_spread(t->task->slots, block_us(&t->blocks[0]));
    size_t total = (size_t)t->spread.batches;
    bool ok = true;
    keeper_job_progress(t->job, 0, total);
    if (is_slow(t))
        return batch(t, PROBE_SLOTS, end);
    for (size_t i = 0; ok && i < total; i++) {
        ok = batch(t, t->spread.slots, end);
        keeper_job_progress(t->job, i + 1, total);
    }
    return ok;
}

static size_t split_runs(const struct keeper_timing *t)
{
    const double *c = t->blocks[0].candidate;
    double runs = SPLIT_US / c[0];
    return runs < SPLIT_RUNS_MIN ? SPLIT_RUNS_MIN : runs < SPLIT_RUNS ? (size_t)runs : SPLIT_RUNS;
}

/* What it takes to launch nothing, and what each launch of a plan takes. */
static bool run_extras(struct keeper_timing *t, struct keeper_end *end)
{
    double us[WIRE_ENTRIES], start_s = now_s();
    size_t launches = t->job->plan->launch_count, runs = split_runs(t);
    json_t *answer =
        keeper_job_ask(t->job, json_pack("{s:s, s:i}", "op", "floor", "count", FLOOR_RUNS),
                       FLOOR_MS, "the empty kernel", end);
    bool ok = answer != NULL;
    if (ok && keeper_answer_times(json_object_get(answer, "us"), us, FLOOR_RUNS))
        t->floor_us = timing_median(us, FLOOR_RUNS);
    json_decref(answer);
    if (ok && launches > 1) {
        answer = keeper_job_ask(t->job,
                                json_pack("{s:s, s:i, s:I}", "op", "split", "slot", ORDER_DUMMY,
                                          "repeat", (json_int_t)runs),
                                t->batch_ms, "timing every launch", end);
        ok = answer != NULL;
        for (size_t i = 0; ok && i < launches; i++)
            if (keeper_answer_times(json_array_get(json_object_get(answer, "us"), i), us, runs))
                t->launch_us[i] = timing_median(us, runs);
        json_decref(answer);
    }
    keeper_job_part(t->job, "extras", start_s);
    return ok;
}

static bool can_time(const struct keeper_timing *t, struct keeper_end *end)
{
    if (!redraw_exists(t->task->problem))
        return keeper_end_set(end, VERDICT_INFRA_ERROR,
                              "problem %s has no redraw, so nothing is timed",
                              t->task->problem->name);
    if (!t->task->plan)
        return keeper_end_set(end, VERDICT_INFRA_ERROR, "there is no baseline for problem %s here",
                              t->task->problem->name);
    return true;
}

bool keeper_time(struct keeper_job *j, const json_t *request, json_t *result,
                 struct keeper_end *end)
{
    static struct keeper_timing t; /* large; one job at a time */
    struct device_lock *lock = &j->process->gpu.lock;
    struct fault f = {0};
    double start_s = now_s();
    t = (struct keeper_timing){.job = j,
                               .task = j->task,
                               .batch_ms = json_integer_value(json_object_get(request, "ms")),
                               .spread = order_spread(j->task->slots, 0)};
    size_t total = (size_t)t.spread.batches;
    if (!can_time(&t, end))
        return false;
    check_tally_init(&t.tally);
    keeper_spares_settle(&j->process->spares, &j->watch);
    keeper_job_part(j, "settle", start_s);
    keeper_job_progress(j, 0, total); /* a client takes long silence for a hang */
    bool ok = warm_up(&t, end);
    keeper_job_progress(j, 0, total);
    if (ok && device_lock_take(lock, DEVICE_LOCK_EXCLUSIVE, LOCK_MS, &f) != ERR_NONE)
        ok = keeper_job_fault(j, &f, end);
    ok = ok && run_batches(&t, end) && run_extras(&t, end);
    keeper_child_kill(&j->runner);
    /* For the next submission, beside what is left of this one. */
    if (device_lock_take(lock, DEVICE_LOCK_SHARED, 0, NULL) == ERR_NONE)
        keeper_spares_start(&j->process->spares);
    keeper_job_part(j, "time", start_s);
    if (t.tally.has_strict && !t.tally.strict)
        end->flags |= FLAG_loose;
    check_tally_release(&t.tally);
    buf_clear(&j->capture);
    return keeper_timing_report(&t, result, end) && ok;
}
