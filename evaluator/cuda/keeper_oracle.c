// SPDX-License-Identifier: Apache-2.0
#include "evaluator/cuda/keeper_oracle.h"

#include <limits.h>
#include <stdio.h>

#include "core/util.h"
#include "evaluator/compile.h"

enum { ORACLE_SLOT = 0 };

void oracle_code_release(struct oracle_code *c)
{
    json_decref(c->symbols);
    buf_release(&c->cubin);
    *c = (struct oracle_code){0};
}

static enum err compile(struct oracle_code *out, const struct keeper_gpu *g,
                        const struct problem *p, const struct plan *plan, struct fault *f)
{
    char path[PATH_MAX];
    struct buf source;
    buf_init(&source, LIMIT_SOURCE);
    snprintf(path, sizeof(path), "%s/%s", p->folder, p->oracle_source);
    enum err e = read_file(path, &source, f);
    struct compile_request request = {.language = "cuda",
                                      .arch = g->arch,
                                      .source = source.data,
                                      .source_len = source.len,
                                      .plan = plan,
                                      .wake_fd = -1};
    struct compile_result c = {0};
    if (e == ERR_NONE)
        compile_run(&request, &c);
    if (e == ERR_NONE && (c.verdict != VERDICT_PASSED || !c.cubin.len))
        e = fault_set(f, ERR_UNAVAILABLE, "cannot compile the oracle of %s: %.400s", p->name,
                      c.detail            ? c.detail
                      : c.no_cubin_reason ? c.no_cubin_reason
                                          : "no cubin came out");
    if (e == ERR_NONE) {
        *out = (struct oracle_code){.problem = p, .symbols = json_object()};
        buf_init(&out->cubin, LIMIT_CUBIN);
        buf_add(&out->cubin, c.cubin.data, c.cubin.len);
        for (size_t i = 0; i < c.kernel_count; i++)
            json_object_set_new(out->symbols, c.kernels[i].name, json_string(c.kernels[i].symbol));
    }
    compile_result_release(&c);
    buf_release(&source);
    return e;
}

/* Defines and name expressions may follow from the workload. */
static bool fits(const struct oracle_code *c, const struct problem *p, const struct plan *plan)
{
    bool ok = c->problem == p && !plan->define_count;
    for (size_t i = 0; ok && i < plan->launch_count; i++)
        ok = json_object_get(c->symbols, plan->launches[i].kernel) != NULL;
    return ok;
}

static enum err load(struct keeper_oracle *o, const struct keeper_gpu *g, const struct workload *w,
                     const struct oracle_code *code, struct fault *f)
{
    struct launcher_spec spec = {.device = &g->device,
                                 .problem = &o->as_oracle,
                                 .workload = w,
                                 .plan = o->plan,
                                 .symbols = code->symbols,
                                 .cubin = code->cubin.data,
                                 .cubin_len = code->cubin.len};
    struct launch_fault fault = {0};
    o->launcher = launcher_new(&spec, &fault);
    if (o->launcher && launcher_load(o->launcher, &fault))
        return ERR_NONE;
    return fault_set(f, ERR_UNAVAILABLE, "cannot load the oracle: %.400s", fault.detail);
}

enum err keeper_oracle_open(struct keeper_oracle *o, const struct keeper_gpu *g,
                            const struct problem *p, const struct workload *w,
                            struct oracle_code *code, struct fault *f)
{
    struct faults faults = {0};
    char first[LIMIT_DETAIL];
    *o = (struct keeper_oracle){0};
    problem_as_oracle(p, &o->as_oracle);
    o->plan = plan_parse(p->oracle_launch, &o->as_oracle, w, g->arch, "$.oracle.launch", &faults);
    enum err e = o->plan ? ERR_NONE
                         : fault_set(f, ERR_INTERNAL, "cannot read the oracle's plan: %.400s",
                                     faults_first(&faults, first, sizeof(first)));
    faults_release(&faults);
    bool given = e == ERR_NONE && fits(code, p, o->plan);
    struct oracle_code *use = given || !code->problem ? code : &o->own;
    if (e == ERR_NONE && !given)
        e = compile(use, g, p, o->plan, f);
    if (e == ERR_NONE)
        e = load(o, g, w, use, f);
    if (e != ERR_NONE)
        keeper_oracle_close(o);
    return e;
}

void keeper_oracle_close(struct keeper_oracle *o)
{
    launcher_free(o->launcher);
    plan_free(o->plan);
    oracle_code_release(&o->own);
    *o = (struct keeper_oracle){0};
}

enum err keeper_oracle_run(const struct keeper_oracle *o, const CUdeviceptr tensors[LIMIT_TENSORS],
                           struct fault *f)
{
    struct launch_fault fault = {0};
    if (launcher_bind(o->launcher, ORACLE_SLOT, tensors, &fault) &&
        launcher_prepare(o->launcher, NULL, &fault) &&
        launcher_enqueue(o->launcher, ORACLE_SLOT, NULL, NULL, &fault))
        return ERR_NONE;
    return fault_set(f, ERR_UNAVAILABLE, "cannot run the oracle: %.400s", fault.detail);
}
