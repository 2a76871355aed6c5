// SPDX-License-Identifier: Apache-2.0
#include "evaluator/tool/program.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/util.h"
#include "evaluator/tool/tool.h"

static int fail(int code, const char *what, const char *why)
{
    fprintf(stderr, "ptxvm run: %s%s%s\n", what, *why ? ": " : "", why);
    return code;
}

static enum err read_text(const char *path, size_t max, struct buf *out, struct fault *f)
{
    buf_init(out, max);
    return read_file(path, out, f);
}

static const char *workload_of(const struct registry *r, const struct run_options *o,
                               const char *problem)
{
    const struct problem *p = problems_find(&r->problems, problem);
    if (o->workload || !p)
        return o->workload;
    return o->ctas ? p->paper_workload->name : p->cpu_workload->name;
}

/* The body that a client would POST. */
static json_t *body_of(const struct registry *r, const struct run_options *o, const char *source,
                       struct fault *f)
{
    const char *dot = strrchr(o->file, '.'), *problem = o->problem ? o->problem : "gemm";
    const char *workload = workload_of(r, o, problem);
    json_t *body = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "source", source, "problem", problem,
                             "device", "cpu", "mode", "check", "arch", o->arch ? o->arch : "sm_90a",
                             "language", dot && !strcmp(dot, ".ptx") ? "ptx" : "cuda");
    if (!body) {
        fault_set(f, ERR_INVALID, "%s is no UTF-8 text", o->file);
        return NULL;
    }
    if (workload)
        json_object_set_new(body, "workload", json_string(workload));
    struct buf plan = {0};
    json_t *launch = NULL;
    if (o->plan && read_text(o->plan, LIMIT_BODY, &plan, f) == ERR_NONE)
        launch = json_parse(plan.data, plan.len, f);
    buf_release(&plan);
    if (launch)
        json_object_set_new(body, "launch", launch);
    if (!o->plan || launch)
        return body;
    json_decref(body);
    return NULL;
}

static int parse(struct tool_program *p, const json_t *body)
{
    struct faults faults = {0};
    size_t i;
    json_t *item;
    bool ok = submission_parse(&p->registry, body, &p->submission, &faults);
    json_array_foreach(faults.items, i, item)
        fprintf(stderr, "ptxvm run: %s: %s\n", json_string_value(json_object_get(item, "path")),
                json_string_value(json_object_get(item, "detail")));
    faults_release(&faults);
    return ok ? TOOL_OK : TOOL_USAGE;
}

static void compile(struct tool_program *p)
{
    const struct submission *s = &p->submission;
    struct compile_request request = {.language = language_name(s->language),
                                      .arch = s->arch,
                                      .source = s->source,
                                      .source_len = s->source_len,
                                      .plan = s->plan};
    compile_run(&request, &p->compiled);
    p->symbols = json_object();
    for (size_t i = 0; i < p->compiled.kernel_count; i++)
        json_object_set_new(p->symbols, p->compiled.kernels[i].name,
                            json_string(p->compiled.kernels[i].symbol));
    p->registers = compile_registers(&p->compiled);
}

/* ---- trace ---- */

static void on_line(void *arg, const char *line)
{
    struct tool_program *p = arg;
    if (!p->trace_left) {
        p->trace_cut++;
        return;
    }
    p->trace_left--;
    fprintf(p->trace_to_stderr ? stderr : stdout, "%s\n", line);
}

static const struct plan_launch *find_launch(const struct tool_program *p, const char *kernel)
{
    const struct plan *plan = p->submission.plan;
    for (size_t i = 0; i < plan->launch_count; i++) {
        const char *name = plan->launches[i].kernel;
        const char *symbol = json_string_value(json_object_get(p->symbols, name));
        if (!strcmp(name, kernel) || (symbol && !strcmp(symbol, kernel)))
            return &plan->launches[i];
    }
    return NULL;
}

static int begin_trace(struct tool_program *p, const struct run_options *o)
{
    if (!o->trace_kernel[0])
        return TOOL_OK;
    const struct plan_launch *l = find_launch(p, o->trace_kernel);
    if (!l)
        return fail(TOOL_USAGE, "--trace: the plan launches no such kernel", o->trace_kernel);
    uint64_t cta = o->trace_cta, grid[3], threads = 1, ctas = 1;
    for (int d = 0; d < 3; d++) {
        grid[d] = (uint64_t)l->grid[d];
        ctas *= grid[d];
        threads *= (uint64_t)l->block[d];
    }
    if (cta >> 63) {
        uint64_t x = cta & 0x7fffffff, y = cta >> 31 & 0xffff, z = cta >> 47 & 0xffff;
        cta = x < grid[0] && y < grid[1] ? x + grid[0] * (y + grid[1] * z) : ctas;
    }
    if (cta >= ctas || o->trace_warp * 32 >= threads)
        return fail(TOOL_USAGE, "--trace: the launch has no such CTA or warp", o->trace_kernel);
    p->trace_kernel = l->kernel;
    p->trace_left = o->trace_lines ? o->trace_lines : UINT64_MAX;
    p->trace_to_stderr = o->json;
    p->trace = (struct ptxvm_trace){
        .cta = cta, .warp = (uint32_t)o->trace_warp, .line = on_line, .arg = p};
    return TOOL_OK;
}

/* ---- */

static int read_oracle(struct tool_program *p)
{
    const struct problem *problem = p->submission.problem;
    struct fault f = {0};
    char path[PATH_MAX];
    if (!problem->oracle_ptx[0])
        return fail(TOOL_CANNOT_TELL, "the problem has no oracle for the cpu device",
                    problem->name);
    snprintf(path, sizeof(path), "%s/%s", problem->folder, problem->oracle_ptx);
    if (read_text(path, LIMIT_PTX, &p->oracle_ptx, &f) != ERR_NONE)
        return fail(TOOL_CANNOT_TELL, "oracle", f.detail);
    return TOOL_OK;
}

int program_open(const struct run_options *o, struct tool_program *out)
{
    struct fault f = {0};
    struct buf source = {0};
    *out = (struct tool_program){.compiled = {.verdict = VERDICT_INFRA_ERROR}};
    if (registry_load(&out->registry, home_dir(), &f) != ERR_NONE)
        return fail(TOOL_CANNOT_TELL, "cannot load the problems", f.detail);
    enum err read = read_text(o->file, LIMIT_SOURCE, &source, &f);
    json_t *body =
        read == ERR_NONE ? body_of(&out->registry, o, source.data ? source.data : "", &f) : NULL;
    int code = body ? parse(out, body) : fail(TOOL_USAGE, "cannot use what was given", f.detail);
    json_decref(body);
    buf_release(&source);
    if (code == TOOL_OK)
        code = read_oracle(out);
    if (code != TOOL_OK)
        return code;
    compile(out);
    if (out->compiled.verdict != VERDICT_PASSED)
        return out->compiled.verdict == VERDICT_INFRA_ERROR ? TOOL_CANNOT_TELL : TOOL_WRONG;
    return begin_trace(out, o);
}

void program_close(struct tool_program *p)
{
    compile_result_release(&p->compiled);
    submission_release(&p->submission);
    registry_release(&p->registry);
    json_decref(p->symbols);
    json_decref(p->registers);
    buf_release(&p->oracle_ptx);
    *p = (struct tool_program){0};
}

struct rig_spec program_rig(const struct tool_program *p, const struct run_options *o)
{
    const struct submission *s = &p->submission;
    return (struct rig_spec){
        .problem = s->problem,
        .workload = s->workload,
        .arch = s->arch,
        .plan = s->plan,
        .ptx = p->compiled.ptx.data,
        .ptx_len = p->compiled.ptx.len,
        .symbols = p->symbols,
        .registers = p->registers,
        .thread_instructions = UINT64_MAX >> 1,
        .plan_ms = o->deadline_ms,
        .schedule = o->seed,
        .threads = o->threads,
        .trace = p->trace.line ? &p->trace : NULL,
        .trace_kernel = p->trace_kernel,
    };
}

struct seed program_seed(const struct run_options *o, size_t n)
{
    return (struct seed){.high = o->seed, .low = n};
}
