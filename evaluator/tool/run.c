/* SPDX-License-Identifier: Apache-2.0
 * `ptxvm run FILE`: what the evaluation of a submission does on the device cpu, with more to see
 * and in this very process: for one's own kernels, not for those of strangers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/util.h"
#include "evaluator/check.h"
#include "evaluator/check_tensors.h"
#include "evaluator/tool/program.h"
#include "evaluator/tool/results.h"
#include "evaluator/tool/sample.h"
#include "evaluator/tool/tool.h"

/* What ended the run goes to "faults", what is only worth knowing to "notes". */
static void take_findings(json_t *report, json_t *findings)
{
    json_t *finding, *faults = json_array();
    size_t i;
    json_array_foreach(findings, i, finding)
    {
        const char *kind = json_string_value(json_object_get(finding, "kind"));
        if (kind && !strcmp(kind, "note"))
            results_note(report, "%s", json_string_value(json_object_get(finding, "detail")));
        else
            json_array_append(faults, finding);
    }
    json_object_set_new(report, "faults", faults);
}

/* The whole grid, as an evaluation checks it. */
static int check_whole(const struct tool_program *p, const struct run_options *o, json_t *report)
{
    const struct submission *s = &p->submission;
    struct check_request request = {
        .problem = s->problem,
        .workload = s->workload,
        .arch = s->arch,
        .plan = s->plan,
        .symbols = p->symbols,
        .registers = p->registers,
        .assembled = p->compiled.cubin.len > 0,
        .ptx = p->compiled.ptx.data,
        .ptx_len = p->compiled.ptx.len,
        .oracle_ptx = p->oracle_ptx.data,
        .oracle_ptx_len = p->oracle_ptx.len,
        .thread_instructions = UINT64_MAX >> 1,
        .plan_ms = o->deadline_ms,
        .schedule = o->seed,
        .threads = o->threads,
        .trace = p->trace.line ? &p->trace : NULL,
        .trace_kernel = p->trace_kernel,
    };
    struct check_answer a;
    for (size_t i = 0; i < s->problem->distribution_count; i++)
        request.seeds[i] = program_seed(o, i);
    check_run(&request, &a);
    results_verdict(report, verdict_name(a.verdict), a.flags, a.detail, json_incref(a.check));
    take_findings(report, a.faults);
    if (a.counts)
        json_object_set(report, "counts", a.counts);
    if (a.families) {
        json_t *target = json_object_get(report, "target");
        json_object_set(target, "families", a.families);
        json_object_set_new(target, "tensor_share", json_real(a.tensor_share));
    }
    results_log(report, &a.log);
    int code = a.verdict == VERDICT_PASSED        ? TOOL_OK
               : a.verdict == VERDICT_INFRA_ERROR ? TOOL_CANNOT_TELL
                                                  : TOOL_WRONG;
    check_answer_release(&a);
    return code;
}

/* ---- other schedules ---- */

struct schedules {
    const struct tool_program *program;
    const struct run_options *options;
    struct tensors first, other; /* share the inputs */
    json_t *differ;
};

static bool run_one(struct schedules *s, uint64_t seed, struct tensors *into, char *why,
                    size_t size)
{
    struct fault f = {0};
    struct rig_run run = {0};
    struct rig_spec spec = program_rig(s->program, s->options);
    spec.tensors = into->data;
    spec.schedule = seed;
    spec.trace = NULL;
    tensors_poison_outputs(into);
    struct rig *rig = rig_new(&spec, &f);
    if (rig)
        rig_run(rig, &run);
    bool ok = rig && run.status == PTXVM_OK;
    snprintf(why, size, "%s", ok ? "" : rig ? run.detail : f.detail);
    rig_run_release(&run);
    rig_free(rig);
    return ok;
}

static void note(struct schedules *s, uint64_t seed, const char *detail)
{
    json_array_append_new(s->differ,
                          json_pack("{s:I, s:s}", "seed", (json_int_t)seed, "detail", detail));
}

/* Tells the first element of each output that differs from the first schedule's. */
static void compare_one(struct schedules *s, uint64_t seed)
{
    const struct problem *p = s->program->submission.problem;
    for (size_t t = 0; t < p->tensor_count; t++) {
        size_t size = dtype_bytes(p->tensors[t].dtype), n = s->first.bytes[t] / size, count = 0,
               at = 0;
        const unsigned char *a = s->first.data[t], *b = s->other.data[t];
        if (p->tensors[t].role != TENSOR_OUTPUT)
            continue;
        for (size_t i = n; i-- > 0;)
            if (memcmp(a + i * size, b + i * size, size) != 0)
                count++, at = i;
        char detail[LIMIT_DETAIL];
        snprintf(detail, sizeof(detail),
                 "%zu of %zu elements of %s are other bits; element %zu: %.9g, was %.9g", count, n,
                 p->tensors[t].name, at, dtype_load(p->tensors[t].dtype, b, at),
                 dtype_load(p->tensors[t].dtype, a, at));
        if (count)
            note(s, seed, detail);
    }
}

static int try_schedules(const struct tool_program *p, const struct run_options *o, json_t *report)
{
    const struct submission *sub = &p->submission;
    struct schedules s = {.program = p, .options = o, .differ = json_array()};
    struct fault f = {0};
    char why[LIMIT_DETAIL] = "";
    const struct check_request oracle = {
        .problem = sub->problem,
        .workload = sub->workload,
        .arch = sub->arch,
        .oracle_ptx = p->oracle_ptx.data,
        .oracle_ptx_len = p->oracle_ptx.len,
    };
    bool ok = tensors_init(&s.first, sub->problem, sub->workload, NULL, &f) == ERR_NONE &&
              tensors_init(&s.other, sub->problem, sub->workload, &s.first, &f) == ERR_NONE;
    if (ok) {
        tensors_draw_inputs(&s.first, sub->workload, &sub->problem->distributions[0],
                            program_seed(o, 0));
        ok = tensors_derive_inputs(&oracle, &s.first, &f) == ERR_NONE;
    }
    if (ok)
        ok = run_one(&s, o->seed, &s.first, why, sizeof(why));
    for (uint64_t n = 1; ok && n < o->schedules; n++)
        if (run_one(&s, o->seed + n, &s.other, why, sizeof(why)))
            compare_one(&s, o->seed + n);
        else
            note(&s, o->seed + n, why);
    if (!ok)
        results_note(report, "schedules were not compared: %s", why[0] ? why : f.detail);
    bool differ = json_array_size(s.differ) > 0;
    json_object_set_new(
        report, "schedules",
        json_pack("{s:I, s:o}", "run", (json_int_t)(ok ? o->schedules : 0), "differ", s.differ));
    tensors_release(&s.other);
    tensors_release(&s.first);
    return !ok ? TOOL_CANNOT_TELL : differ ? TOOL_WRONG : TOOL_OK;
}

/* ---- */

static void show(const struct tool_program *p, const struct run_options *o, const json_t *report)
{
    if (p->trace_cut)
        fprintf(o->json ? stderr : stdout, "… and %llu more instructions (--trace-lines)\n",
                (unsigned long long)p->trace_cut);
    if (o->json) {
        json_dumpf(report, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
        putchar('\n');
    } else {
        results_show(stdout, report, p->submission.source, o->count);
    }
}

/* It does not compile, or nothing here compiles it. */
static void tell_compile(const struct tool_program *p, json_t *report)
{
    const struct compile_result *c = &p->compiled;
    bool theirs = c->verdict != VERDICT_INFRA_ERROR;
    results_verdict(report, theirs ? verdict_name(c->verdict) : NULL, 0, c->detail ? c->detail : "",
                    NULL);
    results_log(report, &c->log);
}

int tool_run(int argc, char **argv)
{
    struct run_options o;
    struct tool_program p;
    if (!run_options_read(argc, argv, &o))
        return TOOL_USAGE;
    if (o.help) {
        fputs(run_usage, stdout);
        return TOOL_OK;
    }
    int code = program_open(&o, &p);
    json_t *report = p.submission.plan ? results_begin(o.file, &p.submission) : NULL;
    bool compiled = report && p.compiled.verdict == VERDICT_PASSED;
    if (compiled && code == TOOL_OK) {
        code = o.ctas ? sample_run(&p, &o, report) : check_whole(&p, &o, report);
        bool ended =
            !json_array_size(json_object_get(report, "faults")) && code != TOOL_CANNOT_TELL;
        int agree = ended && o.schedules > 1 ? try_schedules(&p, &o, report) : TOOL_OK;
        code = code == TOOL_OK ? agree : code;
        show(&p, &o, report);
    } else if (report && !compiled && p.compiled.detail) {
        tell_compile(&p, report);
        show(&p, &o, report);
    }
    json_decref(report);
    program_close(&p);
    return code;
}
