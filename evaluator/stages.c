// SPDX-License-Identifier: Apache-2.0
#include "evaluator/stages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/submission.h"
#include "core/util.h"
#include "evaluator/device.h"

static bool compile_tick(void *arg)
{
    return !stages_cancelled(arg);
}

struct compile_request stages_compile_request(const struct submission *s, const struct plan *plan,
                                              const char *options[LIMIT_OPTIONS + 1])
{
    size_t n = json_array_size(s->options);
    for (size_t i = 0; i <= LIMIT_OPTIONS; i++)
        options[i] = i < n ? json_string_value(json_array_get(s->options, i)) : NULL;
    return (struct compile_request){
        .language = language_name(s->language), .arch = s->arch, .source = s->source,
        .source_len = s->source_len, .options = options, .plan = plan, .wake_fd = -1,
    };
}

json_t *stages_symbols(const struct compile_result *c)
{
    json_t *symbols = json_object();
    for (size_t i = 0; i < c->kernel_count; i++)
        json_object_set_new(symbols, c->kernels[i].name, json_string(c->kernels[i].symbol));
    return symbols;
}

/* Compiles and inspects in one child; what inspection found is told by the next stage. */
static void run_compile(struct evaluating *e, struct stage_result *r)
{
    const char *options[LIMIT_OPTIONS + 1];
    const struct submission *s = e->request->submission;
    struct compile_request request = stages_compile_request(s, s->plan, options);
    request.timeout_ms = e->limits.compile_ms;
    request.tick = compile_tick;
    request.arg = e;
    struct compile_result *c = &e->compiled;
    compile_run(&request, c);
    report_compile(e->out->report, c);
    buf_add(&e->out->ptx, c->ptx.data, c->ptx.len);
    buf_add(&e->out->cubin, c->cubin.data, c->cubin.len);
    buf_add(&e->out->log, c->log.data, c->log.len);
    r->wall_ms = (double)c->compile_ms;
    if (c->verdict != VERDICT_PASSED && c->stage == STAGE_compile) {
        r->verdict = c->verdict;
        snprintf(r->detail, sizeof(r->detail), "%s", c->detail ? c->detail : "");
    }
}

static void run_inspect(struct evaluating *e, struct stage_result *r)
{
    const struct compile_result *c = &e->compiled;
    r->wall_ms = (double)c->inspect_ms;
    r->verdict = c->verdict;
    if (c->verdict != VERDICT_PASSED)
        snprintf(r->detail, sizeof(r->detail), "%s", c->detail ? c->detail : "");
}

/* For each stage: the lowest mode that runs it, and what runs it where the device has no say. */
static const struct {
    enum mode from;
    stage_function *run;
} rows[STAGE_COUNT] = {
    [STAGE_compile] = {MODE_COMPILE, run_compile},
    [STAGE_inspect] = {MODE_COMPILE, run_inspect},
    [STAGE_check] = {MODE_CHECK, NULL},
    [STAGE_sanitize] = {MODE_RANK, NULL},
    [STAGE_time] = {MODE_RANK, NULL},
    [STAGE_verify] = {MODE_RANK, NULL},
};

void stages_event(const struct evaluating *e, const char *kind, json_t *members)
{
    json_t *event = json_pack("{s:s, s:s}", "kind", kind, "stage", stage_name(e->stage));
    if (members)
        json_object_update(event, members);
    json_decref(members);
    if (e->hooks->event)
        e->hooks->event(e->hooks->arg, event);
    json_decref(event);
}

bool stages_cancelled(const struct evaluating *e)
{
    return e->hooks->cancelled && e->hooks->cancelled(e->hooks->arg);
}

static void note(struct evaluating *e, enum stage_state state, double wall_ms, const char *detail)
{
    report_stage(e->out->report, e->stage, state, wall_ms, detail);
    json_t *members = json_pack("{s:s, s:f}", "state", stage_state_name(state), "wall_ms",
                                report_ms(wall_ms));
    if (detail && *detail)
        json_object_set_new(members, "detail", json_string(detail));
    stages_event(e, "stage", members);
}

static void run(struct evaluating *e, stage_function *function, struct stage_result *r)
{
    *r = (struct stage_result){.verdict = VERDICT_PASSED};
    stages_event(e, "stage", json_pack("{s:s}", "state", "started"));
    double start = now_s();
    if (stages_cancelled(e)) {
        r->verdict = VERDICT_CANCELLED;
        snprintf(r->detail, sizeof(r->detail), "cancelled on request");
    } else {
        function(e, r);
    }
    if (r->wall_ms == 0)
        r->wall_ms = (now_s() - start) * 1e3;
    note(e, r->skipped ? STAGE_SKIPPED : r->verdict == VERDICT_PASSED ? STAGE_PASSED : STAGE_FAILED,
         r->wall_ms, r->detail);
    if (r->verdict == VERDICT_PASSED)
        r->detail[0] = '\0';
}

void stages_run(struct evaluating *e, struct stage_result *end)
{
    enum mode mode = e->request->submission->mode;
    *end = (struct stage_result){.verdict = VERDICT_PASSED};
    if (mode >= rows[STAGE_check].from && e->device->begin)
        e->device->begin(e);
    for (int s = 0; s < STAGE_COUNT; s++) {
        e->stage = (enum stage)s;
        stage_function *function = rows[s].run ? rows[s].run : e->device->stages[s].run;
        char why[LIMIT_DETAIL];
        if (end->verdict != VERDICT_PASSED) {
            note(e, STAGE_SKIPPED, 0, "an earlier stage decided");
        } else if (mode < rows[s].from) {
            snprintf(why, sizeof(why), "mode %s stops before it", mode_name(mode));
            note(e, STAGE_SKIPPED, 0, why);
        } else if (!function) {
            note(e, STAGE_SKIPPED, 0, e->device->stages[s].missing);
        } else {
            run(e, function, end);
        }
    }
}
