/* SPDX-License-Identifier: Apache-2.0
 * A keeper in little, for programs that test the runner alone: it makes slots with random inputs,
 * starts `ptxbench-gpu runner`, and asks. Nothing is checked against an oracle here. */
#ifndef TESTS_GPU_RUNNER_KIT_H
#define TESTS_GPU_RUNNER_KIT_H

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/json.h"
#include "core/submission.h"
#include "core/util.h"
#include "evaluator/compile.h"
#include "evaluator/cuda/memory.h"
#include "evaluator/wire.h"

enum {
    KIT_GPU_MISSING = 77,
    KIT_ANSWER_MS = 60000,
    KIT_TENSORS = 3,                /* of gemm */
    KIT_PERIOD = 4 * 1024 * 1024 - 3, /* elements of inputs repeat; rows do not, as it is odd */
};

struct kit {
    struct driver_device device;
    struct registry registry;
    const struct problem *problem;
    const struct workload *workload;
    const struct arch *arch;
    size_t bytes[LIMIT_TENSORS];
};

struct kit_slot {
    struct memory_block blocks[LIMIT_TENSORS];
    struct memory_map maps[LIMIT_TENSORS];
};

struct kit_code {
    json_t *plan, *symbols;
    struct compile_result compiled;
};

struct kit_runner {
    pid_t pid;
    int fd;
    json_t *event;  /* "ready" or "failed" */
    size_t tensors; /* of the problem that was opened */
};

static inline void kit_die(const char *what, const struct fault *f)
{
    printf("Bail out! %s: %s\n", what, f ? f->detail : "");
    exit(1);
}

/* Sizes of the tensors of the workload. */
static inline void kit_measure(struct kit *k)
{
    for (size_t i = 0; i < k->problem->tensor_count; i++) {
        int64_t shape[LIMIT_DIMS];
        k->bytes[i] = (size_t)problem_shape(k->problem, k->workload, i, shape) *
                      dtype_bytes(k->problem->tensors[i].dtype);
    }
}

/* `workload`: NULL for the problem's own. */
static inline void kit_open_problem(struct kit *k, const char *problem, const char *workload)
{
    struct fault f = {0};
    if (registry_load(&k->registry, home_dir(), &f) != ERR_NONE)
        kit_die("registry", &f);
    if (driver_open(0, &k->device, &f) != ERR_NONE) {
        printf("1..0 # SKIP %s\n", f.detail);
        exit(KIT_GPU_MISSING);
    }
    k->problem = problems_find(&k->registry.problems, problem);
    if (k->problem)
        k->workload =
            workload ? problem_workload(k->problem, workload) : k->problem->paper_workload;
    if (!k->problem || !k->workload)
        kit_die("there is no such problem or workload", NULL);
    k->arch = archs_find(&k->registry.archs, "sm_90a");
    kit_measure(k);
}

static inline void kit_open(struct kit *k, const char *workload)
{
    kit_open_problem(k, "gemm", workload);
}

/* What repeats in tensor i: random bf16 in about N(0, 1), from one seed; in an f32, which here is a
 * log-sum-exp, about what that is of 4096 scores. */
static inline void *kit_pattern(const struct kit *k, size_t i)
{
    enum dtype t = k->problem->tensors[i].dtype;
    void *pattern = malloc(KIT_PERIOD * dtype_bytes(t));
    uint64_t x = 88172645463325252u + i;
    for (size_t j = 0; pattern && j < KIT_PERIOD; j++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        double sum = 0;
        for (int n = 0; n < 4; n++)
            sum += (double)(x >> (16 * n) & 0xffff) / 65536 - 0.5;
        dtype_store(t, pattern, j, t == DTYPE_f32 ? 8.8 : sum * 1.732);
    }
    return pattern;
}

/* Inputs by their patterns; outputs poisoned. */
static inline void kit_fill(const struct kit *k, struct kit_slot *s)
{
    struct fault f = {0};
    for (size_t i = 0; i < k->problem->tensor_count; i++) {
        bool output = k->problem->tensors[i].role == TENSOR_OUTPUT;
        size_t n = KIT_PERIOD * dtype_bytes(k->problem->tensors[i].dtype);
        void *pattern = output ? NULL : kit_pattern(k, i);
        CUresult r = cu.MemsetD8Async(s->maps[i].address, 0xff, k->bytes[i], NULL);
        for (size_t at = 0; pattern && at < k->bytes[i] && r == CUDA_SUCCESS; at += n)
            r = cu.MemcpyHtoD(s->maps[i].address + at, pattern,
                              k->bytes[i] - at < n ? k->bytes[i] - at : n);
        free(pattern);
        if (driver_check(r, &f, "fill a slot") != ERR_NONE)
            kit_die("slot", &f);
    }
}

static inline void kit_slot_new(const struct kit *k, struct kit_slot *s, enum memory_place place,
                                const struct kit_slot *like)
{
    struct fault f = {0};
    for (size_t i = 0; i < k->problem->tensor_count; i++) {
        if (memory_create(&s->blocks[i], &k->device, k->bytes[i], true, &f) != ERR_NONE ||
            memory_map(&s->maps[i], &k->device, &s->blocks[i], k->bytes[i], place,
                       MEMORY_READ_WRITE, &f) != ERR_NONE)
            kit_die("slot", &f);
        if (like)
            cu.MemcpyDtoDAsync(s->maps[i].address, like->maps[i].address, k->bytes[i], NULL);
    }
    if (!like)
        kit_fill(k, s);
    cu.StreamSynchronize(NULL);
}

/* Compiles a source with an embedded plan. */
static inline void kit_compile(const struct kit *k, const char *source, struct kit_code *out)
{
    struct fault f = {0};
    struct faults faults = {0};
    out->plan = plan_embedded(source, strlen(source), &f);
    struct plan *plan =
        out->plan ? plan_parse(out->plan, k->problem, k->workload, k->arch, "$", &faults) : NULL;
    if (!plan) {
        faults_first(&faults, f.detail, sizeof(f.detail));
        kit_die("plan", &f);
    }
    struct compile_request request = {.language = "cuda",
                                      .arch = k->arch,
                                      .source = source,
                                      .source_len = strlen(source),
                                      .plan = plan};
    compile_run(&request, &out->compiled);
    if (out->compiled.verdict != VERDICT_PASSED) {
        fault_set(&f, ERR_INVALID, "%s", out->compiled.detail);
        kit_die("compile", &f);
    }
    out->symbols = json_object();
    for (size_t i = 0; i < plan->launch_count; i++)
        json_object_set_new(out->symbols, plan->launches[i].kernel,
                            json_string(compile_symbol(&out->compiled, plan->launches[i].kernel)));
    for (size_t i = 0; i < plan->buffer_count; i++)
        if (plan->buffers[i].launch)
            json_object_set_new(
                out->symbols, plan->buffers[i].launch->kernel,
                json_string(compile_symbol(&out->compiled, plan->buffers[i].launch->kernel)));
    plan_free(plan);
}

static inline json_t *kit_receive(struct kit_runner *r)
{
    struct wire_message m;
    struct fault f = {0};
    json_t *json = NULL;
    while (wire_receive(r->fd, &m, LIMIT_FRAME, KIT_ANSWER_MS, &f) == ERR_NONE) {
        json = json_incref(m.json);
        wire_message_release(&m);
        if (json)
            return json;
    }
    wire_message_release(&m);
    return json_pack("{s:b, s:{s:s, s:s}}", "ok", 0, "fault", "kind", "gone", "detail", f.detail);
}

/* Sends a request (taken) with descriptors and returns the answer. */
static inline json_t *kit_ask(struct kit_runner *r, json_t *request, const int *fds, size_t count)
{
    wire_send_json(r->fd, FRAME_REQUEST, request, fds, count, KIT_ANSWER_MS, NULL);
    json_decref(request);
    return kit_receive(r);
}

static inline bool kit_ok(json_t *answer)
{
    bool ok = json_is_true(json_object_get(answer, "ok"));
    if (!ok) {
        char *text = json_dumps(answer, JSON_COMPACT);
        printf("# %s\n", text);
        free(text);
    }
    json_decref(answer);
    return ok;
}

/* Starts the program in one of its roles, "runner" or "verifier". */
static inline bool kit_start_as(struct kit_runner *r, const char *role)
{
    int ends[2];
    char path[512];
    *r = (struct kit_runner){.pid = -1, .fd = -1};
    snprintf(path, sizeof(path), "%s/ptxbench-gpu", program_dir());
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return false;
    fflush(stdout);
    r->pid = fork();
    if (r->pid == 0) {
        if (ends[1] == WIRE_FD)
            fcntl(WIRE_FD, F_SETFD, 0);
        else
            dup2(ends[1], WIRE_FD);
        char *argv[] = {path, (char *)(uintptr_t)role, (char *)(uintptr_t) "--device",
                        (char *)(uintptr_t) "0", NULL};
        static const char *const kept[] = {"PATH", "PTXBENCH_CUDNN", "CUDA_HOME"};
        static char variables[COUNT_OF(kept) + 1][4096];
        char *envp[COUNT_OF(kept) + 2] = {variables[0]};
        snprintf(variables[0], sizeof(variables[0]), "PTXBENCH_HOME=%s", home_dir());
        for (size_t i = 0, n = 1; i < COUNT_OF(kept); i++)
            if (getenv(kept[i])) {
                snprintf(variables[n], sizeof(variables[n]), "%s=%s", kept[i], getenv(kept[i]));
                envp[n] = variables[n];
                n++;
            }
        execve(path, argv, envp);
        _exit(127);
    }
    close(ends[1]);
    r->fd = ends[0];
    r->event = kit_receive(r);
    const char *kind = json_string_value(json_object_get(r->event, "kind"));
    return kind && !strcmp(kind, "ready");
}

static inline bool kit_start(struct kit_runner *r)
{
    return kit_start_as(r, "runner");
}

static inline int kit_stop(struct kit_runner *r)
{
    json_t *done = json_pack("{s:s}", "op", "done");
    wire_send_json(r->fd, FRAME_REQUEST, done, NULL, 0, KIT_ANSWER_MS, NULL);
    json_decref(done);
    close(r->fd);
    json_decref(r->event);
    int status = -1;
    waitpid(r->pid, &status, 0);
    return status;
}

static inline json_t *kit_open_code(struct kit_runner *r, const struct kit *k,
                                    const struct kit_code *c)
{
    r->tensors = k->problem->tensor_count;
    json_t *request = json_pack("{s:s, s:s, s:s, s:s, s:O, s:O}", "op", "open", "problem",
                                k->problem->name, "workload", k->workload->name, "arch",
                                k->arch->name, "launch", c->plan, "symbols", c->symbols);
    wire_send_json(r->fd, FRAME_REQUEST, request, NULL, 0, KIT_ANSWER_MS, NULL);
    json_decref(request);
    wire_send(r->fd, FRAME_CUBIN, c->compiled.cubin.data, c->compiled.cubin.len, NULL, 0,
              KIT_ANSWER_MS, NULL);
    return kit_receive(r);
}

static inline json_t *kit_map(struct kit_runner *r, const struct kit_slot *s, int slot,
                              const char *place)
{
    int fds[LIMIT_TENSORS];
    size_t count = r->tensors;
    struct fault f = {0};
    for (size_t i = 0; i < count; i++)
        if (memory_export(&s->blocks[i], &fds[i], &f) != ERR_NONE)
            kit_die("export", &f);
    json_t *answer =
        kit_ask(r, json_pack("{s:s, s:i, s:s}", "op", "slot", "slot", slot, "place", place), fds,
                count);
    for (size_t i = 0; i < count; i++)
        close(fds[i]);
    return answer;
}

#endif
