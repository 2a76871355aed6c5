// SPDX-License-Identifier: Apache-2.0
#include "evaluator/tool/sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/util.h"
#include "evaluator/runner_families.h"
#include "evaluator/tool/pairs.h"
#include "evaluator/tool/results.h"
#include "evaluator/tool/tool.h"

struct sample {
    const struct tool_program *program;
    const struct run_options *options;
    json_t *report;
    struct world world;
    struct oracle_part oracle;
    struct lazy *scratch[LIMIT_BUFFERS];
    void *buffers[LIMIT_BUFFERS];
    uint64_t *clusters; /* numbers of those that run */
    size_t count;
    uint64_t total, cluster[3], atomics;
    struct check_tally tally;
    struct pairs_count elements;
    char why[LIMIT_DETAIL]; /* why nothing can be said */
};

static bool cannot(struct sample *s, const char *why)
{
    snprintf(s->why, sizeof(s->why), "%s", why);
    return false;
}

/* ---- which CTAs ---- */

static bool judge_plan(struct sample *s)
{
    const struct plan *plan = s->program->submission.plan;
    if (plan->launch_count != 1)
        return cannot(
            s,
            "the plan has several launches: CTAs of a later one read what CTAs of an earlier one "
            "wrote that are not run");
    if (plan->launches[0].cooperative)
        return cannot(s, "the launch is cooperative: its CTAs wait for each other");
    if (s->program->submission.problem->derive_launch)
        return cannot(s, "an input of this problem is made by a whole run of the oracle: run the "
                         "whole grid of a small workload instead");
    return true;
}

/* Number of the cluster that has a CTA in it. */
static uint64_t cluster_of(const struct sample *s, uint64_t cta)
{
    const struct plan_launch *l = &s->program->submission.plan->launches[0];
    uint64_t at[3], number = 0;
    for (int d = 0; d < 3; d++) {
        at[d] = cta % (uint64_t)l->grid[d] / s->cluster[d];
        cta /= (uint64_t)l->grid[d];
    }
    for (int d = 2; d >= 0; d--)
        number = number * ((uint64_t)l->grid[d] / s->cluster[d]) + at[d];
    return number;
}

static bool has(const struct sample *s, uint64_t number)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->clusters[i] == number)
            return true;
    return false;
}

/* Draws distinct clusters; the traced one is always among them. */
static bool choose(struct sample *s, struct rig *rig)
{
    const struct plan_launch *l = &s->program->submission.plan->launches[0];
    struct ptxvm_kernel kernel;
    if (!rig_kernel(rig, 0, &kernel))
        return cannot(s, "the module has no such kernel");
    s->total = 1;
    for (int d = 0; d < 3; d++) {
        uint64_t given = l->cluster[0] ? (uint64_t)l->cluster[d] : kernel.required_cluster[d];
        s->cluster[d] = given ? given : 1;
        if ((uint64_t)l->grid[d] % s->cluster[d])
            return cannot(s, "the grid is no multiple of the cluster");
        s->total *= (uint64_t)l->grid[d] / s->cluster[d];
    }
    size_t want = s->options->ctas < s->total ? s->options->ctas : s->total;
    uint64_t state = s->options->seed;
    s->clusters = calloc(want, sizeof(*s->clusters));
    if (!s->clusters)
        return cannot(s, "out of memory");
    if (s->program->trace.line)
        s->clusters[s->count++] = cluster_of(s, s->program->trace.cta);
    while (s->count < want) {
        uint64_t number = world_random(&state) % s->total;
        if (!has(s, number))
            s->clusters[s->count++] = number;
    }
    return true;
}

/* ---- running them ---- */

static void fill_scratch(void *arg, void *to, size_t offset, size_t n)
{
    const struct plan_buffer *b = arg;
    memset(to, b->init == BUFFER_ZERO || b->init == BUFFER_DATA ? 0 : POISON_BYTE, n);
    if (b->init == BUFFER_DATA && offset < b->data.len)
        memcpy(to, b->data.data + offset, b->data.len - offset < n ? b->data.len - offset : n);
}

static bool open_scratch(struct sample *s)
{
    struct plan *plan = s->program->submission.plan;
    struct fault f = {0};
    for (size_t i = 0; i < plan->buffer_count; i++) {
        s->scratch[i] =
            lazy_new((size_t)plan->buffers[i].bytes, fill_scratch, &plan->buffers[i], &f);
        if (!s->scratch[i])
            return cannot(s, f.detail);
        s->buffers[i] = lazy_data(s->scratch[i]);
    }
    return true;
}

static struct rig *new_rig(struct sample *s, bool traced)
{
    struct fault f = {0};
    struct rig_spec spec = program_rig(s->program, s->options);
    spec.tensors = s->world.data;
    spec.sample = s->clusters;
    spec.sample_count = s->count;
    spec.buffers = s->buffers;
    spec.trace = traced ? spec.trace : NULL;
    struct rig *rig = rig_new(&spec, &f);
    if (!rig)
        cannot(s, f.detail);
    return rig;
}

/* Atomics that other CTAs could see. */
static uint64_t count_atomics(const json_t *forms)
{
    const char *name;
    json_t *row;
    uint64_t count = 0;
    json_object_foreach((json_t *)forms, name, row)
    {
        bool atomic = !strncmp(name, "atom.", 5) || !strncmp(name, "red.", 4) ||
                      !strncmp(name, "cp.reduce.async.bulk", 20);
        if (atomic && !strstr(name, ".shared") && strncmp(name, "red.async", 9) != 0)
            count += (uint64_t)json_integer_value(json_object_get(row, "threads"));
        else if (atomic && strstr(name, ".global.shared"))
            count += (uint64_t)json_integer_value(json_object_get(row, "threads"));
    }
    return count;
}

/* A run that did not end well. */
static bool judge_end(struct sample *s, struct rig_run *run)
{
    static const char *const waits =
        "the sampled CTAs did not end: it may be that they wait for CTAs that are not run (a "
        "barrier or a flag "
        "across the grid). Run the whole grid of a small workload instead";
    if (run->status == PTXVM_OK)
        return true;
    if (run->status == PTXVM_DEADLOCK || run->status == PTXVM_DEADLINE ||
        run->status == PTXVM_BUDGET)
        return cannot(s, waits);
    if (run->status == PTXVM_UNSUPPORTED)
        return cannot(s, run->detail);
    if (run->fault)
        json_array_append(json_object_get(s->report, "faults"), run->fault);
    return check_tally_stop(&s->tally,
                            run->status == PTXVM_LAUNCH || run->status == PTXVM_NO_MEMORY
                                ? VERDICT_LAUNCH_ERROR
                                : VERDICT_RUNTIME_ERROR,
                            "%s", run->detail);
}

static bool run_candidate(struct sample *s, bool first)
{
    struct rig_run run;
    struct rig *rig = new_rig(s, first);
    if (!rig)
        return false;
    rig_run(rig, &run);
    if (first) {
        results_counts(s->report, &run.counts, &s->program->submission);
        json_object_set_new(json_object_get(s->report, "target"), "tensor_share", json_null());
        results_log(s->report, rig_log(rig));
        s->atomics = count_atomics(run.counts.forms);
    }
    bool ok = judge_end(s, &run);
    rig_run_release(&run);
    rig_free(rig);
    return ok;
}

static bool trial(struct sample *s, size_t n)
{
    const struct problem *problem = s->world.problem;
    const struct distribution *d = &problem->distributions[n];
    struct seed seed = program_seed(s->options, n);
    world_draw(&s->world, d, seed);
    for (size_t i = 0; i < LIMIT_BUFFERS && s->scratch[i]; i++)
        lazy_reset(s->scratch[i]);
    if (!run_candidate(s, n == 0))
        return false;
    if (n == 0 && !oracle_part_open(&s->oracle, s->program, &s->world, s->why))
        return false;
    json_t *list = json_array();
    bool ok = true;
    for (size_t i = 0; ok && i < problem->tensor_count; i++)
        if (problem->tensors[i].role == TENSOR_OUTPUT)
            ok =
                pairs_judge(&(struct pairs_task){&s->world, &s->oracle, i, d, s->options->seed + 1},
                            &s->tally, list, &s->elements, s->why);
    check_tally_trial(&s->tally, d, seed, NULL, list);
    return ok && s->tally.verdict == VERDICT_PASSED;
}

/* ---- what is said ---- */

static void describe(const struct sample *s)
{
    bool clusters = s->cluster[0] * s->cluster[1] * s->cluster[2] > 1;
    json_t *numbers = json_array();
    for (size_t i = 0; i < s->count; i++)
        json_array_append_new(numbers, json_integer((json_int_t)s->clusters[i]));
    json_object_set_new(
        s->report, "sample",
        json_pack("{s:s, s:I, s:I, s:o, s:I, s:I}", "unit", clusters ? "clusters" : "CTAs", "run",
                  (json_int_t)s->count, "of", (json_int_t)s->total, "numbers", numbers, "written",
                  (json_int_t)s->elements.written, "checked", (json_int_t)s->elements.checked));
    if (s->atomics)
        results_note(
            s->report,
            "%llu atomics on global memory: CTAs that draw tiles from a counter, or add into "
            "the same results, do otherwise when all of them run",
            (unsigned long long)s->atomics);
}

static bool run_all(struct sample *s)
{
    struct fault f = {0};
    const struct submission *sub = &s->program->submission;
    if (!judge_plan(s))
        return false;
    if (world_open(&s->world, sub->problem, sub->workload, NULL, &f) != ERR_NONE)
        return cannot(s, f.detail);
    if (!open_scratch(s))
        return false;
    struct rig *rig = new_rig(s, false);
    bool ok = rig && choose(s, rig);
    rig_free(rig);
    for (size_t n = 0; ok && n < sub->problem->distribution_count; n++)
        ok = trial(s, n);
    if (ok && !s->elements.written)
        return cannot(s, "the sampled CTAs wrote nothing that could be checked");
    if (s->atomics && s->tally.verdict == VERDICT_INCORRECT_NUMERICAL)
        return cannot(s, "what the sampled CTAs wrote is not the result, but they use atomics on "
                         "global memory: it "
                         "may be a part of it. Run the whole grid of a small workload instead");
    return ok;
}

int sample_run(const struct tool_program *p, const struct run_options *o, json_t *report)
{
    struct sample s = {.program = p, .options = o, .report = report};
    check_tally_init(&s.tally);
    run_all(&s);
    describe(&s);
    json_t *check = check_tally_finish(&s.tally);
    results_verdict(report, s.why[0] ? NULL : verdict_name(s.tally.verdict), s.tally.flags,
                    s.why[0] ? s.why : s.tally.detail, check);
    int code = s.why[0]                            ? TOOL_CANNOT_TELL
               : s.tally.verdict == VERDICT_PASSED ? TOOL_OK
                                                   : TOOL_WRONG;
    oracle_part_close(&s.oracle);
    for (size_t i = 0; i < LIMIT_BUFFERS; i++)
        lazy_free(s.scratch[i]);
    world_close(&s.world);
    free(s.clusters);
    check_tally_release(&s.tally);
    return code;
}
