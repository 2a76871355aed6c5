// SPDX-License-Identifier: Apache-2.0
/* The process around a check: reads its request from a pipe, confines itself, answers in frames. */
#include "evaluator/runner.h"

#include <stdlib.h>

#include "core/json.h"
#include "core/log.h"
#include "core/submission.h"
#include "core/util.h"
#include "evaluator/check_ahead.h"
#include "evaluator/sandbox.h"
#include "evaluator/sanitize_run.h"

struct serving {
    struct registry registry;
    json_t *request, *module;
    char *ptx, *oracle_ptx;
    struct plan *plan;
    struct check_request check;
    int sanitize; /* a boolean, as jansson unpacks them */
    int out_fd;
};

static enum err read_frame(int fd, enum frame_kind want, char **data, size_t *len, struct fault *f)
{
    enum frame_kind kind;
    enum err e = frame_read(fd, &kind, data, len, f);
    if (e == ERR_NONE && kind != want)
        e = fault_set(f, ERR_BAD_REQUEST, "cannot read the request: frame %d, not %d", kind, want);
    return e;
}

/* A document and the text that goes with it. */
static enum err read_frames(int fd, json_t **document, char **ptx, size_t *ptx_len, struct fault *f)
{
    char *text = NULL;
    size_t len;
    enum err e = read_frame(fd, FRAME_REQUEST, &text, &len, f);
    if (e == ERR_NONE && !(*document = json_parse(text, len, f)))
        e = f->code;
    free(text);
    return e == ERR_NONE ? read_frame(fd, FRAME_PTX, ptx, ptx_len, f) : e;
}

static enum err read_seeds(struct serving *s, const json_t *seeds, struct fault *f)
{
    for (size_t i = 0; i < s->check.problem->distribution_count; i++) {
        const char *text = json_string_value(json_array_get(seeds, i));
        if (!text || !seed_parse(text, &s->check.seeds[i]))
            return fault_set(f, ERR_BAD_REQUEST, "cannot read the request: seed %zu", i);
    }
    return ERR_NONE;
}

static void on_progress(void *arg, size_t done, size_t total)
{
    const struct serving *s = arg;
    json_t *event = json_pack("{s:I, s:I}", "done", (json_int_t)done, "total", (json_int_t)total);
    frame_write_json(s->out_fd, FRAME_EVENT, event);
    json_decref(event);
}

static enum err read_request(struct serving *s, struct fault *f)
{
    const char *problem, *workload, *arch;
    json_t *launch, *seeds;
    json_int_t instructions, plan_ms;
    if (json_unpack(s->request, "{s:s, s:s, s:s, s:o, s:o, s:I, s:I, s:b}", "problem", &problem,
                    "workload", &workload, "arch", &arch, "launch", &launch, "seeds", &seeds,
                    "thread_instructions", &instructions, "plan_ms", &plan_ms, "sanitize", &s->sanitize))
        return fault_set(f, ERR_BAD_REQUEST, "cannot read the request: members are missing");
    struct check_request *c = &s->check;
    c->problem = problems_find(&s->registry.problems, problem);
    c->workload = c->problem ? problem_workload(c->problem, workload) : NULL;
    c->arch = archs_find(&s->registry.archs, arch);
    if (!c->workload || !c->arch)
        return fault_set(f, ERR_NOT_FOUND, "cannot read the request: no %s, %s, %s here", problem,
                         workload, arch);
    struct faults faults = {0};
    char first[LIMIT_DETAIL];
    s->plan = plan_parse(launch, c->problem, c->workload, c->arch, "$.launch", &faults);
    if (!s->plan)
        fault_set(f, ERR_INVALID, "%s", faults_first(&faults, first, sizeof(first)));
    faults_release(&faults);
    if (!s->plan)
        return ERR_INVALID;
    c->plan = s->plan;
    c->oracle_ptx = s->oracle_ptx;
    c->thread_instructions = (uint64_t)instructions;
    c->plan_ms = plan_ms;
    c->progress = on_progress;
    c->arg = s;
    return read_seeds(s, seeds, f);
}

static enum err read_module(struct serving *s, struct fault *f)
{
    struct check_request *c = &s->check;
    json_t *symbols, *registers = NULL;
    int assembled;
    if (json_unpack(s->module, "{s:o, s?o, s:b}", "symbols", &symbols, "registers", &registers, "assembled",
                    &assembled))
        return fault_set(f, ERR_BAD_REQUEST, "cannot read the module: members are missing");
    c->symbols = symbols;
    c->registers = registers;
    c->assembled = assembled;
    c->ptx = s->ptx;
    return ERR_NONE;
}

static bool answer_sanitize(const struct serving *s)
{
    json_t *json = sanitize_run(&s->check);
    json_object_set_new(json, "sandbox", sandbox_layers());
    bool ok = frame_write_json(s->out_fd, FRAME_RESULT, json);
    json_decref(json);
    return ok;
}

static bool answer_check(const struct serving *s)
{
    struct check_answer a;
    check_run(&s->check, &a);
    json_t *json = check_answer_json(&a);
    json_object_set_new(json, "sandbox", sandbox_layers());
    bool ok = (!a.log.len || frame_write(s->out_fd, FRAME_LOG, a.log.data, a.log.len)) &&
              (!a.capture.len ||
               frame_write(s->out_fd, FRAME_CAPTURE, a.capture.data, a.capture.len)) &&
              frame_write_json(s->out_fd, FRAME_RESULT, json);
    json_decref(json);
    check_answer_release(&a);
    return ok;
}

int runner_serve(int in_fd, int out_fd)
{
    struct serving s = {.out_fd = out_fd};
    struct fault f = {0};
    struct sandbox_spec confine = {.role = SANDBOX_COMPUTE};
    enum err e = registry_load(&s.registry, home_dir(), &f);
    if (e == ERR_NONE) {
        e = sandbox_enter(&confine, &f); /* from here on no file, no network */
        if (e == ERR_NONE)
            e = read_frames(in_fd, &s.request, &s.oracle_ptx, &s.check.oracle_ptx_len, &f);
        if (e == ERR_NONE)
            e = read_request(&s, &f);
        if (e == ERR_NONE && !s.sanitize)
            s.check.ahead = check_ahead_make(&s.check);
        if (e == ERR_NONE)
            e = read_frames(in_fd, &s.module, &s.ptx, &s.check.ptx_len, &f);
        if (e == ERR_NONE)
            e = read_module(&s, &f);
        if (e == ERR_NONE && !(s.sanitize ? answer_sanitize(&s) : answer_check(&s)))
            e = fault_set(&f, ERR_IO, "cannot answer: the other side closed");
        check_ahead_free(s.check.ahead);
        plan_free(s.plan);
        json_decref(s.request);
        json_decref(s.module);
        free(s.ptx);
        free(s.oracle_ptx);
        registry_release(&s.registry);
    }
    if (e != ERR_NONE)
        log_error("cannot serve", "reason=\"%s\"", f.detail);
    return e == ERR_NONE ? 0 : 1;
}
