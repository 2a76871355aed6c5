/* SPDX-License-Identifier: Apache-2.0
 * A client of the keeper, for programs that evaluate through it: compile, open, check, time, verify,
 * and what is told of an outcome. */
#ifndef TESTS_GPU_KEEPER_KIT_H
#define TESTS_GPU_KEEPER_KIT_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/submission.h"
#include "core/util.h"
#include "evaluator/compile.h"
#include "evaluator/keeper.h"
#include "evaluator/wire.h"

enum {
    GPU_MISSING = 77,
    START_MS = 60000,
    ANSWER_MS = 120000,
    PLAN_MS = 2000,
    PAUSE_US = 1500 * 1000
};

static struct registry registry;
static struct keeper keeper;
static int tests, failed;

static inline void report(bool ok, const char *name)
{
    failed += !ok;
    printf("%sok %d - %s\n", ok ? "" : "not ", ++tests, name);
    fflush(stdout);
}

static inline void die(const char *what, const char *why)
{
    printf("Bail out! %s: %s\n", what, why);
    exit(1);
}

/* ---- a submission ---- */

struct code {
    const char *problem, *workload;
    json_t *launch, *symbols;
    int plan_ms; /* that one run may take */
    struct compile_result compiled;
};

/* `launch`: the plan, which is taken; NULL: it is in the source. */
static inline void compile_plan(struct code *c, const char *problem, const char *workload,
                                const char *source, json_t *launch)
{
    struct fault f = {0};
    struct faults faults = {0};
    *c = (struct code){.problem = problem, .workload = workload, .plan_ms = PLAN_MS};
    const struct problem *p = problems_find(&registry.problems, c->problem);
    const struct arch *arch = archs_find(&registry.archs, "sm_90a");
    c->launch = launch ? launch : plan_embedded(source, strlen(source), &f);
    struct plan *plan = plan_parse(c->launch, p, problem_workload(p, workload), arch, "$", &faults);
    if (!plan)
        die("plan", faults_first(&faults, f.detail, sizeof(f.detail)));
    struct compile_request request = {.language = "cuda",
                                      .arch = arch,
                                      .source = source,
                                      .source_len = strlen(source),
                                      .plan = plan,
                                      .wake_fd = -1};
    compile_run(&request, &c->compiled);
    if (c->compiled.verdict != VERDICT_PASSED)
        die("compile", c->compiled.detail);
    c->symbols = json_object();
    for (size_t i = 0; i < c->compiled.kernel_count; i++)
        json_object_set_new(c->symbols, c->compiled.kernels[i].name,
                            json_string(c->compiled.kernels[i].symbol));
    plan_free(plan);
}

static inline void compile(struct code *c, const char *workload, const char *source)
{
    compile_plan(c, "gemm", workload, source, NULL);
}

static inline void code_release(struct code *c)
{
    json_decref(c->launch);
    json_decref(c->symbols);
    compile_result_release(&c->compiled);
}

static inline void compile_file(struct code *c, const char *problem, const char *workload,
                                const char *name)
{
    char path[512];
    struct buf source;
    struct fault f = {0};
    buf_init(&source, LIMIT_SOURCE);
    snprintf(path, sizeof(path), "%.300s/problems/%.60s/examples/%.60s.cu", home_dir(), problem,
             name);
    if (read_file(path, &source, &f) != ERR_NONE)
        die(path, f.detail);
    compile_plan(c, problem, workload, source.data, NULL);
    buf_release(&source);
}

/* ---- the protocol ---- */

enum { OPEN, CHECK, TIME, VERIFY, OPERATIONS };
static const char *const names[] = {"open", "check", "time", "verify"};

struct outcome {
    json_t *results[OPERATIONS]; /* NULL: not reached */
    double ms[OPERATIONS], wait_ms;
    size_t printed, captured, progress;
};

static inline void outcome_release(struct outcome *o)
{
    for (int i = 0; i < OPERATIONS; i++)
        json_decref(o->results[i]);
    *o = (struct outcome){0};
}

static inline json_t *receive(int fd, struct outcome *o)
{
    struct wire_message m;
    struct fault f = {0};
    json_t *result = NULL;
    bool going = true;
    while (going && !result) {
        going = wire_receive(fd, &m, LIMIT_FRAME, ANSWER_MS, &f) == ERR_NONE;
        o->printed += going && m.kind == FRAME_LOG ? m.len : 0;
        o->captured += going && m.kind == FRAME_CAPTURE ? m.len : 0;
        o->progress += going && m.kind == FRAME_EVENT;
        if (going && m.kind == FRAME_RESULT)
            result = json_incref(m.json);
        wire_message_release(&m);
    }
    return result ? result : json_pack("{s:s, s:s}", "verdict", "GONE", "detail", f.detail);
}

static inline void send_request(int fd, const struct code *c, int operation)
{
    json_t *request = json_pack("{s:s, s:i}", "op", names[operation], "ms",
                                c->plan_ms);
    if (operation == OPEN) {
        json_object_set_new(request, "problem", json_string(c->problem));
        json_object_set_new(request, "workload", json_string(c->workload));
        json_object_set_new(request, "arch", json_string("sm_90a"));
        json_object_set(request, "launch", c->launch);
        json_object_set(request, "symbols", c->symbols);
    }
    if (operation == TIME)
        json_object_set_new(request, "ms", json_integer(10 * c->plan_ms));
    wire_send_json(fd, FRAME_REQUEST, request, NULL, 0, ANSWER_MS, NULL);
    json_decref(request);
    if (operation == OPEN)
        wire_send(fd, FRAME_CUBIN, c->compiled.cubin.data, c->compiled.cubin.len, NULL, 0,
                  ANSWER_MS, NULL);
}

static inline const char *text(const json_t *object, const char *member)
{
    const char *s = json_string_value(json_object_get(object, member));
    return s ? s : "";
}

static inline int open_connection(void)
{
    int fd = -1;
    struct fault f = {0};
    if (keeper_connect(&keeper, &fd, &f) != ERR_NONE)
        die("connect", f.detail);
    return fd;
}

/* Up to and with `last`; true if all passed. */
static inline bool evaluate(const struct code *c, int last, struct outcome *o)
{
    int fd = open_connection();
    bool ok = true;
    *o = (struct outcome){0};
    for (int i = OPEN; ok && i <= last; i++) {
        double start = now_s();
        send_request(fd, c, i);
        o->results[i] = receive(fd, o);
        o->ms[i] = (now_s() - start) * 1e3;
        ok = !strcmp(text(o->results[i], "verdict"), "PASSED");
    }
    o->wait_ms = o->ms[OPEN] - json_number_value(json_object_get(o->results[OPEN], "wall_ms"));
    close(fd);
    return ok;
}

static inline const json_t *last_result(const struct outcome *o)
{
    const json_t *r = NULL;
    for (int i = 0; i < OPERATIONS && o->results[i]; i++)
        r = o->results[i];
    return r;
}

static inline void show(const char *name, const struct outcome *o)
{
    char *faults = json_dumps(json_object_get(last_result(o), "faults"), JSON_COMPACT);
    printf("# %-28s %-20s %s %s\n", name, text(last_result(o), "verdict"),
           text(last_result(o), "detail"), faults ? faults : "");
    free(faults);
    fflush(stdout);
}

static inline double number(const json_t *object, const char *member)
{
    return json_number_value(json_object_get(object, member));
}

/* ---- what comes out ---- */

static inline void show_parts(const struct outcome *o)
{
    const json_t *parts = json_object_get(o->results[VERIFY], "parts_ms");
    char *all = json_dumps(parts, JSON_COMPACT);
    printf("#   open %.0f (waited %.0f), check %.0f, time %.0f, verify %.0f ms; parts %s\n",
           o->ms[OPEN], o->wait_ms, o->ms[CHECK], o->ms[TIME], o->ms[VERIFY], all ? all : "");
    free(all);
}

static inline double lane_s(const struct outcome *o)
{
    return (o->ms[OPEN] - o->wait_ms + o->ms[CHECK] + o->ms[TIME] + o->ms[VERIFY]) / 1e3;
}

static inline void show_example(const char *name, const struct outcome *o)
{
    const json_t *time = o->results[TIME], *timing = json_object_get(time, "timing");
    const json_t *ci = json_object_get(json_object_get(time, "speedup"), "ci95");
    char *target = json_dumps(json_object_get(o->results[VERIFY], "target"), JSON_COMPACT);
    printf("# %-14s %s %.4f [%.4f, %.4f], %.1f us against %.1f, %.0f TFLOP/s, %.0f %% of the "
           "roofline, "
           "floor %.2f us, flags %d, lane %.3f s\n",
           name, text(last_result(o), "verdict"), number(json_object_get(time, "speedup"), "value"),
           json_number_value(json_array_get(ci, 0)), json_number_value(json_array_get(ci, 1)),
           number(time, "candidate_us"), number(json_object_get(time, "baseline"), "us"),
           number(timing, "tflops"), 100 * number(timing, "roofline_share"),
           number(timing, "floor_us"),
           (int)number(time, "flags") | (int)number(o->results[CHECK], "flags"), lane_s(o));
    show_parts(o);
    printf("#   target %.300s\n", target ? target : "");
    free(target);
    fflush(stdout);
}

/* Where the time of one warm submission goes: the one behind a pause, in which spare processes
 * start and bases are drawn, and the one that follows another at once. */
struct lane {
    double warm_s, behind_another_s; /* the least seen; INFINITY: not seen */
    json_t *parts;                   /* of the first */
};

static inline void note_lane(struct lane *lane, const struct outcome *o, bool paused)
{
    double s = lane_s(o);
    if (!paused)
        lane->behind_another_s = fmin(lane->behind_another_s, s);
    if (!paused || s >= lane->warm_s)
        return;
    lane->warm_s = s;
    json_decref(lane->parts);
    lane->parts = json_deep_copy(json_object_get(o->results[VERIFY], "parts_ms"));
    for (int i = 0; i < OPERATIONS; i++) {
        char name[32];
        snprintf(name, sizeof(name), "all_of_%s", names[i]);
        json_object_set_new(lane->parts, name, json_real(o->ms[i]));
    }
}

static inline void show_lane(struct lane *lane, const char *problem)
{
    const char *part;
    json_t *ms;
    printf("gpu_lane_seconds.%s.warm %.3f\n", problem, lane->warm_s);
    printf("gpu_lane_seconds.%s.behind_another %.3f\n", problem, lane->behind_another_s);
    json_object_foreach(lane->parts, part, ms)
        printf("gpu_lane.%s.%s_ms %.1f\n", problem, part, json_number_value(ms));
    json_decref(lane->parts);
}

/* ---- the keeper ---- */

static inline bool start(void)
{
    struct fault f = {0};
    double begin = now_s();
    if (keeper_start(&keeper, 0, &f) != ERR_NONE ||
        keeper_wait(&keeper, START_MS, &f) != ERR_NONE) {
        printf("1..0 # SKIP %s\n", f.detail);
        return false;
    }
    char *device = json_dumps(keeper.device, JSON_COMPACT);
    printf("# ready after %.0f ms on %s\n", (now_s() - begin) * 1e3, device ? device : "");
    free(device);
    return true;
}

#endif
