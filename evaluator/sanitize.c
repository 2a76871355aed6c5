// SPDX-License-Identifier: Apache-2.0
#include "evaluator/sanitize.h"

#include <ctype.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/submission.h"
#include "core/util.h"
#include "evaluator/runner.h"
#include "evaluator/stages.h"

static const int64_t memory_bytes = INT64_C(4) << 30;

struct sanitizing {
    const struct submission *submission;
    const struct compile_result *compiled;
    const struct workload *workload; /* the problem's cpu workload */
    pthread_t thread;
    atomic_bool stop;
    bool joined;
    char skipped[LIMIT_DETAIL];
    struct seed seed;
    struct plan *plan;          /* for that workload */
    struct compile_result again; /* where the plan compiles to something else there */
    struct outcome outcome;
    json_t *json;
    double wall_ms;
};

static void skip(struct sanitizing *s, const char *why)
{
    snprintf(s->skipped, sizeof(s->skipped), "%s", why);
}

/* ---- does the plan tell its kernels the size? ---- */

/* Is `name` one of the identifiers in `text`? */
static bool mentions(const char *text, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = text; (at = strstr(at, name)); at += n) {
        bool begins = at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_');
        bool ends = !(isalnum((unsigned char)at[n]) || at[n] == '_');
        if (begins && ends)
            return true;
    }
    return false;
}

/* A list of arguments: scalars count, also inside structs; names of tensors and maps do not. */
static bool args_mention(const json_t *args, const char *axis)
{
    static const char *const names[] = {"tensor", "buffer", "tensor_map", "offset"};
    const json_t *arg;
    size_t i;
    json_array_foreach((json_t *)args, i, arg) {
        const char *key;
        json_t *value;
        json_object_foreach((json_t *)arg, key, value) {
            bool is_name = false;
            for (size_t k = 0; k < COUNT_OF(names); k++)
                is_name = is_name || !strcmp(key, names[k]);
            if (!is_name && (args_mention(json_is_array(value) ? value : NULL, axis) ||
                             (json_is_string(value) && mentions(json_string_value(value), axis))))
                return true;
        }
    }
    return false;
}

/* By an argument, by a define, or by an expression in the name of a kernel. */
static bool plan_tells(const json_t *plan, const char *axis)
{
    const char *key;
    json_t *value;
    size_t i;
    json_object_foreach(json_object_get(plan, "defines"), key, value)
        if (json_is_string(value) && mentions(json_string_value(value), axis))
            return true;
    json_array_foreach(json_object_get(plan, "launches"), i, value) {
        const char *kernel = json_string_value(json_object_get(value, "kernel"));
        const char *expression = kernel ? strchr(kernel, '{') : NULL;
        if ((expression && mentions(expression, axis)) ||
            args_mention(json_object_get(value, "args"), axis))
            return true;
    }
    return false;
}

static bool told_everything(struct sanitizing *s)
{
    const struct problem *p = s->submission->problem;
    for (size_t i = 0; i < p->axis_count; i++) {
        if (s->workload->axes[i] == s->submission->workload->axes[i] ||
            plan_tells(s->submission->launch, p->axes[i]))
            continue;
        char why[LIMIT_DETAIL];
        snprintf(why, sizeof(why), "the plan does not tell its kernels %s: they are for one size only",
                 p->axes[i]);
        skip(s, why);
        return false;
    }
    return true;
}

/* ---- the module ---- */

static bool resolve_plan(struct sanitizing *s)
{
    const struct submission *b = s->submission;
    struct faults faults = {0};
    char first[LIMIT_DETAIL], why[LIMIT_DETAIL];
    s->plan = plan_parse(b->launch, b->problem, s->workload, b->arch, "$.launch", &faults);
    if (!s->plan) {
        snprintf(why, sizeof(why), "the plan does not fit workload %s: %.400s", s->workload->name,
                 faults_first(&faults, first, sizeof(first)));
        skip(s, why);
    }
    faults_release(&faults);
    return s->plan != NULL;
}

/* Does the plan ask for the very module that was compiled? */
static bool same_module(const struct sanitizing *s)
{
    const struct plan *a = s->submission->plan, *b = s->plan;
    bool same = a->define_count == b->define_count;
    for (size_t i = 0; same && i < a->define_count; i++)
        same = !strcmp(a->defines[i].name, b->defines[i].name) &&
               a->defines[i].value == b->defines[i].value;
    for (size_t i = 0; same && i < b->launch_count; i++)
        same = compile_symbol(s->compiled, b->launches[i].kernel) != NULL;
    for (size_t i = 0; same && i < b->buffer_count; i++)
        same = !b->buffers[i].launch ||
               compile_symbol(s->compiled, b->buffers[i].launch->kernel) != NULL;
    return same;
}

static bool on_tick(void *arg)
{
    return !atomic_load(&((struct sanitizing *)arg)->stop);
}

/* The module to run: what was compiled, or what the plan makes of the source at this size. */
static const struct compile_result *module_of(struct sanitizing *s)
{
    const char *options[LIMIT_OPTIONS + 1];
    char why[LIMIT_DETAIL];
    if (same_module(s))
        return s->compiled;
    struct compile_request request = stages_compile_request(s->submission, s->plan, options);
    request.tick = on_tick;
    request.arg = s;
    compile_run(&request, &s->again);
    if (s->again.verdict == VERDICT_PASSED)
        return &s->again;
    snprintf(why, sizeof(why), "it does not compile for workload %s: %.400s", s->workload->name,
             s->again.detail ? s->again.detail : verdict_name(s->again.verdict));
    skip(s, why);
    return NULL;
}

/* ---- the run ---- */

static void take_answer(struct sanitizing *s)
{
    const json_t *json = s->outcome.json;
    const char *skipped = json_string_value(json_object_get(json, "skipped"));
    char seed[SEED_TEXT];
    if (!json || skipped) {
        skip(s, skipped ? skipped : s->outcome.detail);
        return;
    }
    seed_text(s->seed, seed);
    s->json = json_pack("{s:s, s:s, s:s, s:O?, s:O?}", "device", "ptxvm", "workload",
                        s->workload->name, "seed", seed, "thread_instructions",
                        json_object_get(json, "thread_instructions"), "findings",
                        json_object_get(json, "findings"));
}

static void run(struct sanitizing *s, const struct compile_result *module)
{
    const struct submission *b = s->submission;
    json_t *symbols = stages_symbols(module), *registers = compile_registers(module);
    struct runner_request request = {
        .check = {
            .problem = b->problem, .workload = s->workload, .arch = b->arch, .plan = s->plan,
            .symbols = symbols, .registers = registers, .ptx = module->ptx.data,
            .ptx_len = module->ptx.len, .oracle_ptx = "", .thread_instructions = SANITIZE_THREAD_INSTRUCTIONS,
            .plan_ms = SANITIZE_MS,
        },
        .sanitize = true, .launch = b->launch, .timeout_ms = 2 * SANITIZE_MS,
        .memory_bytes = memory_bytes, .tick = on_tick, .arg = s,
    };
    s->seed = seed_draw();
    for (size_t i = 0; i < b->problem->distribution_count; i++)
        request.check.seeds[i] = s->seed;
    runner_run(&request, &s->outcome);
    take_answer(s);
    json_decref(symbols);
    json_decref(registers);
}

static void *work(void *arg)
{
    struct sanitizing *s = arg;
    double start = now_s();
    const struct compile_result *module = NULL;
    if (told_everything(s) && resolve_plan(s) && (module = module_of(s)))
        run(s, module);
    s->wall_ms = (now_s() - start) * 1e3;
    return NULL;
}

struct sanitizing *sanitize_start(const struct submission *b, const struct compile_result *compiled)
{
    struct sanitizing *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->submission = b;
    s->compiled = compiled;
    s->workload = b->problem->cpu_workload;
    if (pthread_create(&s->thread, NULL, work, s) == 0)
        return s;
    free(s);
    return NULL;
}

bool sanitize_wait(struct sanitizing *s, int ms)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += (long)(ms % 1000) * 1000000;
    until.tv_sec += ms / 1000 + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    if (!s->joined)
        s->joined = pthread_timedjoin_np(s->thread, NULL, &until) == 0;
    return s->joined;
}

struct sanitize_result sanitize_result(const struct sanitizing *s)
{
    return (struct sanitize_result){
        .skipped = s->skipped[0] ? s->skipped : NULL, .json = s->json,
        .verdict = s->json ? s->outcome.verdict : VERDICT_PASSED, .detail = s->outcome.detail,
        .wall_ms = s->wall_ms,
    };
}

void sanitize_free(struct sanitizing *s)
{
    if (!s)
        return;
    atomic_store(&s->stop, true);
    if (!s->joined)
        pthread_join(s->thread, NULL);
    plan_free(s->plan);
    compile_result_release(&s->again);
    outcome_release(&s->outcome);
    json_decref(s->json);
    free(s);
}
