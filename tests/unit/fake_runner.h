/* SPDX-License-Identifier: Apache-2.0
 * A process in the place of `ptxbench-gpu runner` or `verifier`, over the memory of
 * tests/unit/fake_driver.h: it computes the gemm of tests/unit/tiny_home.h honestly, or cheats or
 * fails in one of these ways. */
#ifndef TESTS_FAKE_RUNNER_H
#define TESTS_FAKE_RUNNER_H

#include <signal.h>
#include <unistd.h>

#include "evaluator/cuda/memory.h"
#include "evaluator/wire.h"
#include "tests/unit/fake_driver.h"

enum { M = 93, N = 64, K = 128, TENSORS = 3, ANSWER_MS = 30000 };
enum behaviour {
    HONEST,
    WRITES_ZEROES,    /* always */
    WRONG_WHEN_TIMED, /* one slot of a batch */
    LATE,             /* a batch's outputs are written when it ends */
    WRITES_BESIDE,    /* two bytes ahead of C */
    VARIES,           /* another bit every time */
    WRITES_AN_INPUT,
    READS_BEHIND_B, /* so it faults unless that guard is open */
    READS_ANYWHERE,
    IMPOSSIBLY_FAST,
    SLOW,      /* a tenth of the baseline, in no time */
    VERY_SLOW, /* and in so much that there is no room for all blocks */
    WITHOUT_BASELINE,
    NEVER_ENDS,
    DIES_WHEN_TIMED,
    NO_VERIFIER,
};

static const size_t bytes_of[TENSORS] = {M * K * 2, N *K * 2, M *N * 2};

static struct {
    enum behaviour behaviour;
    void *slots[WIRE_SLOTS][TENSORS];
    bool writable, open_behind_b;
    unsigned runs;
} played;

static void multiply(const void *a, const void *b, void *c, bool oracle)
{
    static double x[M * K], y[N * K];
    for (size_t i = 0; i < M * K; i++)
        x[i] = dtype_load(DTYPE_bf16, a, i);
    for (size_t i = 0; i < N * K; i++)
        y[i] = dtype_load(DTYPE_bf16, b, i);
    for (size_t i = 0; i < M * N; i++) {
        const double *row = x + i / N * K, *column = y + i % N * K;
        double sum = 0;
        for (size_t k = 0; k < K; k++)
            sum += row[k] * column[k];
        dtype_store(oracle ? DTYPE_f64 : DTYPE_bf16, c, i, sum);
    }
}

static void say(enum frame_kind kind, json_t *what)
{
    wire_send_json(WIRE_FD, kind, what, NULL, 0, ANSWER_MS, NULL);
    json_decref(what);
}

static void fault(const char *kind)
{
    say(FRAME_RESULT,
        json_pack("{s:b, s:{s:s, s:s, s:i, s:s}, s:b}", "ok", 0, "fault", "kind", kind, "kernel",
                  "k", "launch", 0, "detail", "on purpose", "sticky", 1));
}

static void map_slot(struct wire_message *m)
{
    json_int_t slot = json_integer_value(json_object_get(m->json, "slot"));
    bool end = !strcmp(json_string_value(json_object_get(m->json, "place")), "end");
    played.writable = json_is_true(json_object_get(m->json, "writable"));
    const json_t *behind = json_object_get(json_object_get(m->json, "open"), "behind");
    played.open_behind_b = false;
    for (size_t i = 0; i < json_array_size(behind); i++)
        played.open_behind_b =
            played.open_behind_b || json_integer_value(json_array_get(behind, i)) == 1;
    for (size_t i = 0; i < TENSORS; i++) {
        size_t size = (bytes_of[i] + FAKE_GRANULE - 1) / FAKE_GRANULE * FAKE_GRANULE;
        char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, m->fds[i], 0);
        if (at == MAP_FAILED)
            _exit(1);
        played.slots[slot][i] =
            at + memory_offset(size, bytes_of[i], end ? MEMORY_END : MEMORY_START);
    }
}

/* The last bit of some element of C. With the element's own rounding that is less than 1 % of it, which would be
 * wrong, where its fraction is a quarter or more. */
static void vary(uint16_t *c)
{
    enum { FRACTION = 0x7f, QUARTER = 0x20 };
    while ((*c & FRACTION) < QUARTER)
        c++;
    *c ^= played.runs & 1;
}

static void run_plan(json_int_t slot)
{
    void **t = played.slots[slot];
    played.runs++;
    multiply(t[0], t[1], t[2], false);
    if (played.behaviour == WRITES_ZEROES)
        memset(t[2], 0, bytes_of[2]);
    if (played.behaviour == WRITES_BESIDE)
        memset((char *)t[2] - 2, 0, 2);
    if (played.behaviour == VARIES)
        vary(t[2]);
}

static void do_launch(const json_t *request)
{
    const char *side = json_string_value(json_object_get(request, "side"));
    json_int_t slot = json_integer_value(json_object_get(request, "slot"));
    bool candidate = !strcmp(side, "candidate");
    if (candidate && played.behaviour == NEVER_ENDS)
        pause();
    if (candidate && ((played.behaviour == WRITES_AN_INPUT && !played.writable) ||
                      (played.behaviour == READS_BEHIND_B && !played.open_behind_b) ||
                      played.behaviour == READS_ANYWHERE)) {
        fault("illegal_access");
        return;
    }
    if (candidate && played.behaviour == WRITES_AN_INPUT)
        memset(played.slots[slot][1], 0, 2);
    if (candidate)
        run_plan(slot);
    else
        multiply(played.slots[slot][0], played.slots[slot][1], played.slots[slot][2], false);
    say(FRAME_RESULT, json_pack("{s:b, s:f, s:[]}", "ok", 1, "us", 1.0, "captured"));
}

/* One run of the candidate in a batch, and the samples behind it. */
static void run_timed(json_int_t slot, const json_t *request, struct buf *samples)
{
    char picked[WIRE_SAMPLES * 2];
    if (played.behaviour != LATE)
        run_plan(slot);
    if (played.behaviour == WRONG_WHEN_TIMED && slot == 1)
        memset(played.slots[slot][2], 0, 2 * N);
    fake_sample(played.slots[slot][2], M * N,
                (uint64_t)json_integer_value(json_object_get(request, "sample_first")),
                (uint64_t)json_integer_value(json_object_get(request, "sample_step")), 2, picked,
                WIRE_SAMPLES);
    buf_add(samples, picked, sizeof(picked));
}

static void do_batch(const json_t *request)
{
    const json_t *order = json_object_get(request, "order");
    size_t untimed = (size_t)json_integer_value(json_object_get(request, "untimed"));
    struct buf samples;
    json_t *us = json_array();
    buf_init(&samples, LIMIT_CAPTURE);
    for (size_t i = 0; i < json_array_size(order); i++) {
        const json_t *entry = json_array_get(order, i);
        json_int_t slot = json_integer_value(json_array_get(entry, 1));
        bool candidate = !strcmp(json_string_value(json_array_get(entry, 0)), "c");
        double candidate_us = played.behaviour == IMPOSSIBLY_FAST ? 1e-6
                              : played.behaviour == SLOW          ? 100
                              : played.behaviour == VERY_SLOW     ? 50e3
                                                                  : 10;
        if (i < untimed)
            continue;
        if (candidate)
            run_timed(slot, request, &samples);
        json_array_append_new(us, json_real(candidate ? candidate_us : 12));
    }
    for (size_t i = 0; played.behaviour == LATE && i < json_array_size(order); i++)
        run_plan(json_integer_value(json_array_get(json_array_get(order, i), 1)));
    if (played.behaviour == DIES_WHEN_TIMED)
        raise(SIGKILL);
    wire_send(WIRE_FD, FRAME_CAPTURE, samples.data, samples.len, NULL, 0, ANSWER_MS, NULL);
    buf_release(&samples);
    say(FRAME_RESULT, json_pack("{s:b, s:o}", "ok", 1, "us", us));
}

static void do_floor(const json_t *request)
{
    json_t *us = json_array();
    for (json_int_t i = json_integer_value(json_object_get(request, "count")); i > 0; i--)
        json_array_append_new(us, json_real(1));
    say(FRAME_RESULT, json_pack("{s:b, s:o}", "ok", 1, "us", us));
}

static void serve(struct wire_message *m)
{
    const char *op = json_string_value(json_object_get(m->json, "op"));
    if (!strcmp(op, "slot"))
        map_slot(m);
    if (!strcmp(op, "launch"))
        do_launch(m->json);
    else if (!strcmp(op, "batch"))
        do_batch(m->json);
    else if (!strcmp(op, "floor"))
        do_floor(m->json);
    else if (!strcmp(op, "plan"))
        say(FRAME_RESULT,
            json_pack("{s:b, s:s, s:i, s:[f], s:{s:s, s:s}}", "ok", 1, "choice", "ab", "chosen", 0,
                      "us", 12.0, "baseline", "name", "cuBLAS", "version", "13.1.0"));
    else if (!strcmp(op, "count"))
        say(FRAME_RESULT,
            json_pack("{s:b, s:b, s:{s:{s:i, s:i}}, s:f, s:n}", "ok", 1, "executed", 1, "families",
                      "gmma", "warps", 4, "threads", 128, "tensor_share", 1.0, "reason"));
    else
        say(FRAME_RESULT, json_pack("{s:b}", "ok", 1));
}

static int play(const char *role, int behaviour)
{
    struct wire_message m;
    played.behaviour = (enum behaviour)behaviour;
    if (behaviour == NO_VERIFIER && !strcmp(role, "verifier")) {
        say(FRAME_EVENT, json_pack("{s:s, s:s}", "kind", "failed", "detail", "no counters here"));
        return 1;
    }
    json_t *baseline = behaviour == WITHOUT_BASELINE
                           ? json_null()
                           : json_pack("{s:s}", "cuBLAS", "13.1.0");
    say(FRAME_EVENT, json_pack("{s:s, s:[s], s:o}", "kind", "ready", "sandbox", "seccomp",
                               "baseline", baseline));
    while (wire_receive(WIRE_FD, &m, LIMIT_FRAME, ANSWER_MS, NULL) == ERR_NONE) {
        if (m.kind == FRAME_REQUEST)
            serve(&m);
        wire_message_release(&m);
    }
    return 0;
}

#endif
