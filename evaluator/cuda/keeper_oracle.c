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

enum { NAMES_MAX = ORACLE_STEPS * LIMIT_LAUNCHES };

/* The kernels of every step, NULL-terminated; borrowed from the plans. */
static void list_names(const struct keeper_oracle *o, const char *names[NAMES_MAX + 1])
{
    size_t n = 0;
    for (size_t i = 0; i < o->count; i++)
        for (size_t j = 0; j < o->steps[i].plan->launch_count; j++)
            names[n++] = o->steps[i].plan->launches[j].kernel;
    names[n] = NULL;
}

/* Defines are those of the last step, the answer's. */
static enum err compile(struct oracle_code *out, const struct keeper_gpu *g,
                        const struct problem *p, const struct keeper_oracle *o, struct fault *f)
{
    char path[PATH_MAX];
    const char *names[NAMES_MAX + 1];
    struct buf source;
    buf_init(&source, LIMIT_SOURCE);
    list_names(o, names);
    snprintf(path, sizeof(path), "%s/%s", p->folder, p->oracle_source);
    enum err e = read_file(path, &source, f);
    struct compile_request request = {.language = "cuda",
                                      .arch = g->arch,
                                      .source = source.data,
                                      .source_len = source.len,
                                      .plan = o->steps[o->count - 1].plan,
                                      .names = names,
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
static bool fits(const struct oracle_code *c, const struct problem *p,
                 const struct keeper_oracle *o)
{
    const char *names[NAMES_MAX + 1];
    bool ok = c->problem == p && !o->steps[o->count - 1].plan->define_count;
    list_names(o, names);
    for (size_t i = 0; ok && names[i]; i++)
        ok = json_object_get(c->symbols, names[i]) != NULL;
    return ok;
}

static enum err read_step(struct keeper_oracle *o, const struct keeper_gpu *g,
                          const struct workload *w,
                          void (*as)(const struct problem *, struct problem *),
                          const struct problem *p, const json_t *plan, struct fault *f)
{
    struct oracle_step *s = &o->steps[o->count++];
    struct faults faults = {0};
    char first[LIMIT_DETAIL];
    as(p, &s->as);
    s->plan = plan_parse(plan, &s->as, w, g->arch, "$.oracle", &faults);
    enum err e = s->plan ? ERR_NONE
                         : fault_set(f, ERR_INTERNAL, "cannot read the oracle's plan: %.400s",
                                     faults_first(&faults, first, sizeof(first)));
    faults_release(&faults);
    return e;
}

static enum err load(struct oracle_step *s, const struct keeper_gpu *g, const struct workload *w,
                     const struct oracle_code *code, struct fault *f)
{
    struct launcher_spec spec = {.device = &g->device,
                                 .problem = &s->as,
                                 .workload = w,
                                 .plan = s->plan,
                                 .symbols = code->symbols,
                                 .cubin = code->cubin.data,
                                 .cubin_len = code->cubin.len};
    struct launch_fault fault = {0};
    s->launcher = launcher_new(&spec, &fault);
    if (s->launcher && launcher_load(s->launcher, &fault))
        return ERR_NONE;
    return fault_set(f, ERR_UNAVAILABLE, "cannot load the oracle: %.400s", fault.detail);
}

enum err keeper_oracle_open(struct keeper_oracle *o, const struct keeper_gpu *g,
                            const struct problem *p, const struct workload *w,
                            struct oracle_code *code, struct fault *f)
{
    *o = (struct keeper_oracle){0};
    enum err e = ERR_NONE;
    if (p->derive_launch)
        e = read_step(o, g, w, problem_as_derive, p, p->derive_launch, f);
    if (e == ERR_NONE)
        e = read_step(o, g, w, problem_as_oracle, p, p->oracle_launch, f);
    bool given = e == ERR_NONE && fits(code, p, o);
    struct oracle_code *use = given || !code->problem ? code : &o->own;
    if (e == ERR_NONE && !given)
        e = compile(use, g, p, o, f);
    for (size_t i = 0; i < o->count && e == ERR_NONE; i++)
        e = load(&o->steps[i], g, w, use, f);
    if (e != ERR_NONE)
        keeper_oracle_close(o);
    return e;
}

void keeper_oracle_close(struct keeper_oracle *o)
{
    for (size_t i = 0; i < o->count; i++) {
        launcher_free(o->steps[i].launcher);
        plan_free(o->steps[i].plan);
    }
    oracle_code_release(&o->own);
    *o = (struct keeper_oracle){0};
}

enum err keeper_oracle_run(const struct keeper_oracle *o, const CUdeviceptr tensors[LIMIT_TENSORS],
                           struct fault *f)
{
    struct launch_fault fault = {0};
    bool ok = true;
    for (size_t i = 0; i < o->count && ok; i++) {
        struct launcher *l = o->steps[i].launcher;
        ok = launcher_bind(l, ORACLE_SLOT, tensors, &fault) && launcher_prepare(l, NULL, &fault) &&
             launcher_enqueue(l, ORACLE_SLOT, NULL, NULL, &fault);
    }
    return ok ? ERR_NONE
              : fault_set(f, ERR_UNAVAILABLE, "cannot run the oracle: %.400s", fault.detail);
}
