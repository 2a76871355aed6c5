// SPDX-License-Identifier: Apache-2.0
// Stands in for ptxbench-keeper where there is no GPU: speaks its protocols (evaluator/keeper.h), passes
// everything. A file keeper.OP in $PTXBENCH_BIN, OP being start, open, check, time or verify, holds one
// word that says otherwise; with a second word, "once", the file is removed before it is obeyed:
//     die hang garbage failed sick wrong slow
// keeper.speedup holds "value low high". keeper.log tells what was asked.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/util.h"
#include "evaluator/wire.h"

enum { SEND_MS = 5000, SLOW_MS = 1500 };

static int control = WIRE_FD;

static FILE *file(const char *name, const char *mode)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/keeper.%s", getenv("PTXBENCH_BIN"), name);
    return fopen(path, mode);
}

static void told(const char *text)
{
    FILE *f = file("log", "a");
    if (!f)
        return;
    fprintf(f, "%s\n", text);
    fclose(f);
}

/* The word for `op`, "" if there is none. */
static const char *act(const char *op)
{
    static char word[32];
    char path[512], again[32] = "";
    FILE *f = file(op, "r");
    word[0] = '\0';
    if (!f)
        return word;
    if (fscanf(f, "%31s %31s", word, again) == 2 && !strcmp(again, "once")) {
        snprintf(path, sizeof(path), "%s/keeper.%s", getenv("PTXBENCH_BIN"), op);
        unlink(path);
    }
    fclose(f);
    return word;
}

static void say(int fd, enum frame_kind kind, json_t *value)
{
    wire_send_json(fd, kind, value, NULL, 0, SEND_MS, NULL); /* who is gone does not listen */
    json_decref(value);
}

static void health(const char *state)
{
    say(control, FRAME_EVENT,
        json_pack("{s:s, s:s, s:n, s:f, s:i, s:i, s:f, s:[s], s:i}", "kind", "health", "state", state,
                  "detail", "temperature_c", 41.0, "sm_mhz", 1980, "memory_mhz", 3201, "power_w",
                  412.5, "throttle", "sw_power_cap", "ecc_errors", 0));
}

static json_t *passed(const char *verdict, const char *detail)
{
    return json_pack("{s:s, s:i, s:s, s:f, s:[s,s]}", "verdict", verdict, "flags", 0, "detail", detail,
                     "wall_ms", 12.5, "sandbox", "rlimits", "seccomp");
}

static json_t *answer_check(void)
{
    json_t *a = passed("PASSED", "");
    json_t *tensor = json_pack("{s:s, s:f, s:f, s:i, s:i, s:f, s:b, s:b, s:b, s:[]}", "name", "C",
                               "max_abs", 0.5, "max_rel", 0.004, "bad", 0, "elements", 64, "excess",
                               3e-7, "paper", 1, "exact", 0, "strict", 1, "hints");
    json_object_set_new(a, "seeds", json_pack("[s]", "00112233445566778899aabbccddeeff"));
    json_object_set_new(a, "check",
                        json_pack("{s:s, s:b, s:b, s:[{s:s, s:s, s:b, s:[o]}]}", "rule", "paper", "paper",
                                  1, "strict", 1, "trials", "distribution", "normal", "seed",
                                  "00112233445566778899aabbccddeeff", "deterministic", 1, "tensors",
                                  tensor));
    return a;
}

static json_t *answer_time(void)
{
    double value = 1.25, low = 1.24, high = 1.26;
    FILE *f = file("speedup", "r");
    if (f) {
        if (fscanf(f, "%lf %lf %lf", &value, &low, &high) != 3)
            told("bad speedup");
        fclose(f);
    }
    json_t *a = passed("PASSED", "");
    json_object_set_new(a, "speedup", json_pack("{s:f, s:[f, f]}", "value", value, "ci95", low, high));
    json_object_set_new(a, "candidate_us", json_real(800 / value));
    json_object_set_new(a, "baseline",
                        json_pack("{s:s, s:s, s:f}", "name", "cuBLAS", "version", "13.1.0", "us", 800.0));
    json_object_set_new(
        a, "timing",
        json_pack("{s:i, s:i, s:i, s:{s:f, s:f, s:f, s:f}, s:{s:f, s:f}, s:f, s:f, s:f, s:[{s:s, s:f}], "
                  "s:[[f,f,f,f]], s:{s:i, s:i, s:f, s:{}}, s:{}}",
                  "blocks", 32, "batches", 4, "slots", 16, "candidate", "median_us", 800 / value,
                  "mean_us", 800 / value, "first_us", 801 / value, "rest_us", 800 / value, "baseline",
                  "median_us", 800.0, "mean_us", 801.0, "floor_us", 2.5, "tflops", 0.75 * value * 1000,
                  "roofline_share", 0.75 * value / 1.07, "launches", "kernel", "gemm", "us", 800 / value,
                  "block_us", 800.0, 800 / value, 800 / value, 800.0, "environment", "sm_mhz", 1755,
                  "temperature_c", 51, "power_w", 655.5, "throttle", "parts_ms"));
    return a;
}

static json_t *answer_verify(void)
{
    json_t *a = passed("PASSED", "");
    json_object_set_new(a, "target",
                        json_pack("{s:b, s:{s:{s:i, s:i}}, s:f, s:n}", "executed", 1, "families", "gmma",
                                  "warps", 1000, "threads", 32000, "tensor_share", 1.0, "reason"));
    return a;
}

static const struct {
    const char *op;
    json_t *(*answer)(void);
} operations[] = {{"check", answer_check}, {"time", answer_time}, {"verify", answer_verify}};

/* False: the connection is over. */
static bool obey(int fd, const char *op, const char *word)
{
    if (!strcmp(word, "die"))
        _exit(9);
    if (!strcmp(word, "hang"))
        sleep(600);
    if (!strcmp(word, "slow"))
        usleep(SLOW_MS * 1000);
    if (!strcmp(word, "garbage"))
        return write(fd, "this is no frame at all", 23) < 0;
    if (!strcmp(word, "sick")) {
        json_t *a = passed("INFRA_ERROR", "the context is lost");
        json_object_set_new(a, "sick", json_true());
        say(fd, FRAME_RESULT, a);
        _exit(1);
    }
    if (!strcmp(word, "wrong")) {
        say(fd, FRAME_RESULT, passed("INCORRECT_NUMERICAL", "C: 7 of 64 elements are wrong"));
        return true;
    }
    for (size_t i = 0; i < COUNT_OF(operations); i++)
        if (!strcmp(op, operations[i].op)) {
            say(fd, FRAME_EVENT, json_pack("{s:s, s:i, s:i}", "kind", "progress", "done", 1, "total", 2));
            if (i == 0)
                wire_send(fd, FRAME_LOG, "hello\n", 6, NULL, 0, SEND_MS, NULL);
            say(fd, FRAME_RESULT, operations[i].answer());
        }
    if (!strcmp(op, "open"))
        say(fd, FRAME_RESULT, passed("PASSED", ""));
    return true;
}

static void serve(int fd)
{
    struct wire_message m;
    while (wire_receive(fd, &m, LIMIT_FRAME, -1, NULL) == ERR_NONE) {
        char text[256];
        const char *op = json_string_value(json_object_get(m.json, "op"));
        const char *workload = json_string_value(json_object_get(m.json, "workload"));
        if (m.kind == FRAME_CUBIN) {
            snprintf(text, sizeof(text), "cubin%s", m.len > 100 ? "" : " is short");
            told(text);
        } else {
            snprintf(text, sizeof(text), "%s%s%s", op ? op : "?", workload ? " " : "",
                     workload ? workload : "");
            told(text);
        }
        bool open = m.kind == FRAME_REQUEST && op && !strcmp(op, "open"); /* answered after its cubin */
        bool go = open || obey(fd, m.kind == FRAME_CUBIN ? "open" : op,
                               act(m.kind == FRAME_CUBIN ? "open" : op ? op : ""));
        wire_message_release(&m);
        if (!go)
            break;
    }
    close(fd);
    health("ok");
}

int main(void)
{
    const char *word = act("start");
    told("start");
    if (!strcmp(word, "failed")) {
        say(control, FRAME_EVENT,
            json_pack("{s:s, s:s}", "kind", "failed", "detail", "cannot load the CUDA driver"));
        return 1;
    }
    if (*word)
        obey(control, "start", word);
    say(control, FRAME_EVENT,
        json_pack("{s:s, s:{s:s, s:s, s:i, s:i, s:I, s:s}}", "kind", "ready", "device", "name",
                  "NVIDIA H200", "uuid", "GPU-00000000-fake", "sm", 90, "num_sms", 132, "memory_bytes",
                  (json_int_t)150000000000, "driver", "13.0"));
    health("ok");
    struct wire_message m;
    while (wire_receive(control, &m, LIMIT_FRAME, -1, NULL) == ERR_NONE) {
        if (m.fd_count == 1) {
            serve(m.fds[0]);
            m.fds[0] = -1;
        }
        wire_message_release(&m);
    }
    return 0;
}
