// SPDX-License-Identifier: Apache-2.0
#include "evaluator/cuda/keeper_timing.h"

#include <math.h>

/* How far two verdicts on the same kernel are apart. On an H200 (tests/gpu/results, 2026-11-30):
 * the same kernel on both sides, every time in a fresh process, is off by 0.0012 at most in 20
 * tries; of wgmma_cluster.cu 9 verdicts in a row span 0.0023. No interval is narrower than this on
 * either side. */
#define SAME_KERNEL_SPREAD 0.002

static json_t *rounded(double v, double digits)
{
    return json_real(round(v * digits) / digits);
}

static json_t *microseconds(double us)
{
    return rounded(us, 1e3);
}

static json_t *blocks_json(const struct keeper_timing *t)
{
    json_t *list = json_array();
    for (size_t i = 0; i < t->count; i++) {
        const struct timing_block *b = &t->blocks[i];
        json_array_append_new(list, json_pack("[o, o, o, o]", rounded(b->baseline[0], 100),
                                              rounded(b->candidate[0], 100),
                                              rounded(b->candidate[1], 100),
                                              rounded(b->baseline[1], 100)));
    }
    return list;
}

static json_t *launches_json(const struct keeper_timing *t)
{
    json_t *list = json_array();
    const struct plan *plan = t->job->plan;
    for (size_t i = 0; i < plan->launch_count; i++)
        json_array_append_new(list, json_pack("{s:s, s:o}", "kernel", plan->launches[i].kernel,
                                              "us", microseconds(t->launch_us[i])));
    return list;
}

/* How the baseline was chosen: see "plan" of evaluator/wire.h. */
static void add_choice(const struct keeper_timing *t, json_t *baseline)
{
    const json_t *us = json_object_get(t->task->plan, "us");
    json_t *tried = json_array();
    for (size_t i = 0; i < json_array_size(us); i++)
        json_array_append_new(tried, microseconds(json_number_value(json_array_get(us, i))));
    json_object_set(baseline, "chosen", json_object_get(t->task->plan, "chosen"));
    json_object_set_new(baseline, "choices_us", tried);
}

static json_t *timing_json(const struct keeper_timing *t, const struct timing_summary *s,
                           double flops)
{
    json_t *out =
        json_pack("{s:I, s:I, s:i, s:{s:o, s:o, s:o, s:o}, s:{s:o, s:o}, s:o, s:o, s:o}", "blocks",
                  (json_int_t)t->count, "batches", (json_int_t)t->batches, "slots", t->spread.slots,
                  "candidate", "median_us", microseconds(s->candidate_us), "mean_us",
                  microseconds(s->candidate_mean_us), "first_us", microseconds(s->first_us),
                  "rest_us", microseconds(s->rest_us), "baseline", "median_us",
                  microseconds(s->baseline_us), "mean_us", microseconds(s->baseline_mean_us),
                  "floor_us", t->floor_us > 0 ? microseconds(t->floor_us) : json_null(), "tflops",
                  rounded(flops / s->candidate_us / 1e6, 100), "roofline_share",
                  rounded(s->roofline_share, 1e4));
    add_choice(t, json_object_get(out, "baseline"));
    if (t->launch_us[0] > 0)
        json_object_set_new(out, "launches", launches_json(t));
    json_object_set_new(out, "block_us", blocks_json(t));
    json_object_set_new(out, "environment", nvml_set_json(&t->environment));
    json_object_set(out, "parts_ms", t->job->parts);
    return out;
}

static json_t *baseline_json(const struct keeper_timing *t, const struct timing_summary *s)
{
    json_t *out = json_deep_copy(json_object_get(t->task->plan, "baseline"));
    if (!json_is_object(out))
        return json_null();
    json_object_set_new(out, "us", microseconds(s->baseline_us));
    return out;
}

static void judge(const struct timing_summary *s, const struct timing_limits *limits,
                  struct keeper_end *end)
{
    end->flags |= s->flags;
    if (s->implausible && end->verdict == VERDICT_PASSED)
        keeper_end_set(
            end, VERDICT_IMPLAUSIBLE,
            "the median run takes %.2f us, and the device can do the work in %.2f us at best",
            s->candidate_us, limits->roofline_us);
}

bool keeper_timing_report(const struct keeper_timing *t, json_t *result, struct keeper_end *end)
{
    const struct keeper_gpu *g = &t->job->process->gpu;
    const struct keeper_task *task = t->task;
    double flops = (double)problem_flops(task->problem, task->workload);
    double bytes = (double)problem_bytes(task->problem, task->workload);
    struct timing_limits limits = {
        .same_kernel_spread = SAME_KERNEL_SPREAD,
        .floor_us = t->floor_us,
        .roofline_us = order_roofline_us(flops, bytes, g->flops_per_s, g->bytes_per_s),
        .slowed_down = nvml_slowed_down(&t->environment),
    };
    struct timing_summary s;
    if (!t->count)
        return end->verdict == VERDICT_PASSED;
    if (!timing_summarise(t->blocks, t->count, &limits, task->ring[task->turn].seed.low, &s))
        return keeper_end_set(end, VERDICT_INFRA_ERROR, "the times make no sense");
    json_object_set_new(result, "speedup",
                        json_pack("{s:o, s:[o, o]}", "value", rounded(s.speedup, 1e5), "ci95",
                                  rounded(s.ci_low, 1e5), rounded(s.ci_high, 1e5)));
    json_object_set_new(result, "candidate_us", microseconds(s.candidate_us));
    json_object_set_new(result, "baseline", baseline_json(t, &s));
    json_object_set_new(result, "timing", timing_json(t, &s, flops));
    judge(&s, &limits, end);
    return end->verdict == VERDICT_PASSED;
}
