// SPDX-License-Identifier: Apache-2.0
#include "evaluator/cuda/runner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/util.h"
#include "evaluator/cuda/batch.h"
#include "evaluator/cuda/session.h"
#include "evaluator/timing_stats.h"

/* Warm-up goes on past its time until two rounds agree this well, but not for longer than that. */
#define WARM_AGREE 0.01
/* A choice of the baseline is better than the first if it takes less than this share of its time.
 */
#define PLAN_GAIN 0.98
/* Choices that are this close are one. */
#define PLAN_CLOSE 0.985
enum { PLAN_FIRST = 2, PLAN_SLOTS = 16, PLAN_ROUNDS = 5, PLAN_WARM_MS = 300 };
enum { WARM_PAIRS = 8, WARM_PAIRS_MIN = 2, WARM_FIRST = 2, WARM_MORE_MS = 1500, SEND_MS = 10000 };

struct runner {
    struct session session;
    struct batch batch;
    struct baseline_libraries libraries;
    struct baseline *baseline;      /* planned at its first use … */
    const struct workload *planned; /* for this one */
};

static struct runner *runner_of(struct session *s)
{
    return s->role;
}

/* `choice`: see baseline_new(); NULL for what is planned already, or what the libraries say first. */
static bool ready_baseline(struct session *s, const char *choice, struct session_answer *out)
{
    struct runner *r = runner_of(s);
    struct fault f = {0};
    if (r->planned != s->workload || choice) {
        baseline_free(r->baseline);
        r->baseline =
            baseline_new(&r->libraries, &s->device, s->problem, s->workload, choice, &f);
        r->planned = s->workload;
    }
    if (!r->baseline)
        return session_refuse(out, "%s", f.detail[0] ? f.detail : "there is no baseline");
    r->batch.baseline = r->baseline;
    r->batch.slots = s->slots;
    return true;
}

static bool ready_candidate(struct session *s, bool fresh, struct session_answer *out)
{
    if (!session_load(s, fresh, out))
        return false;
    runner_of(s)->batch.candidate = s->launcher;
    runner_of(s)->batch.slots = s->slots;
    return true;
}

/* Tells the batch which tensors are outputs, or that none counts. */
static void set_outputs(struct session *s, bool on, const json_t *request)
{
    struct batch *b = &runner_of(s)->batch;
    b->output_count = 0;
    for (size_t i = 0; i < s->problem->tensor_count && on; i++)
        if (s->problem->tensors[i].role == TENSOR_OUTPUT)
            b->outputs[b->output_count++] =
                (struct batch_output){i, s->bytes[i], dtype_bytes(s->problem->tensors[i].dtype)};
    b->sample_first = (uint64_t)json_integer_value(json_object_get(request, "sample_first"));
    b->sample_step = (uint64_t)json_integer_value(json_object_get(request, "sample_step"));
}

static bool send_capture(struct session *s, struct session_answer *out)
{
    struct buf bytes;
    buf_init(&bytes, LIMIT_CAPTURE + 1);
    json_t *list = json_array();
    struct fault f = {0};
    bool ok = launcher_capture(s->launcher, &bytes, list, &out->fault);
    if (ok && bytes.len &&
        wire_send(s->fd, FRAME_CAPTURE, bytes.data, bytes.len, NULL, 0, SEND_MS, &f) != ERR_NONE)
        ok = session_refuse(out, "%s", f.detail);
    json_object_set_new(out->members, "captured", list);
    buf_release(&bytes);
    return ok;
}

static bool send_samples(struct session *s, struct session_answer *out)
{
    const struct batch *b = &runner_of(s)->batch;
    size_t n = b->sampled_bytes;
    struct fault f = {0};
    if (!n)
        return true;
    void *bytes = malloc(n);
    CUresult r = bytes ? cu.MemcpyDtoH(bytes, b->sampled.map.address, n) : CUDA_ERROR_OUT_OF_MEMORY;
    bool ok = !launch_fault_set(&out->fault, r, "", -1, "read samples");
    if (ok && wire_send(s->fd, FRAME_CAPTURE, bytes, n, NULL, 0, SEND_MS, &f) != ERR_NONE)
        ok = session_refuse(out, "%s", f.detail);
    free(bytes);
    return ok;
}

static bool do_launch(struct session *s, const json_t *request, struct wire_message *message,
                      struct session_answer *out)
{
    (void)message;
    const char *side = json_string_value(json_object_get(request, "side"));
    bool baseline = side && !strcmp(side, "baseline");
    int slot = session_slot(s, request, "slot", out);
    bool fresh = json_is_true(json_object_get(request, "fresh"));
    if (slot < 0 || !(baseline ? ready_baseline(s, NULL, out) : ready_candidate(s, fresh, out)))
        return false;
    struct batch *b = &runner_of(s)->batch;
    double start = now_s(), us = 0;
    const struct batch_entry entry = {BATCH_BASELINE, slot};
    if (baseline ? !batch_run(b, &entry, 1, 0, &us, &out->fault)
                 : !batch_check(b, slot, &out->fault))
        return false;
    json_object_set_new(out->members, "us", json_real(baseline ? us : (now_s() - start) * 1e6));
    return !json_is_true(json_object_get(request, "capture")) || send_capture(s, out);
}

/* Both sides alternately, `pairs` times; medians[side] in microseconds. */
static bool warm_round(struct session *s, int candidate, int baseline, unsigned pairs,
                       double medians[2], struct session_answer *out)
{
    struct batch_entry entries[WARM_FIRST + 2 * WARM_PAIRS];
    double us[2 * WARM_PAIRS], of_side[2][WARM_PAIRS];
    size_t count = WARM_FIRST + 2 * (size_t)pairs;
    for (size_t i = 0; i < count; i++)
        entries[i] = i % 2 ? (struct batch_entry){BATCH_CANDIDATE, candidate}
                           : (struct batch_entry){BATCH_BASELINE, baseline};
    if (!batch_run(&runner_of(s)->batch, entries, count, WARM_FIRST, us, &out->fault))
        return false;
    for (size_t i = 0; i < 2 * pairs; i++)
        of_side[i % 2][i / 2] = us[i];
    medians[0] = timing_median(of_side[0], pairs);
    medians[1] = timing_median(of_side[1], pairs);
    return true;
}

static void put_times(json_t *into, const double *us, size_t count)
{
    for (size_t i = 0; i < count; i++)
        json_array_append_new(into, json_real(us[i]));
}

/* Runs the baseline once on every slot; the median time. */
static bool time_baseline(struct session *s, const struct batch_entry *entries, size_t count,
                          double *us, struct session_answer *out)
{
    double times[PLAN_SLOTS];
    if (!batch_run(&runner_of(s)->batch, entries, count, PLAN_FIRST, times, &out->fault))
        return false;
    *us = timing_median(times, count - PLAN_FIRST);
    return true;
}

/* Measures every choice in several rounds, so that no drift favours one; us[i] is their median. */
static bool try_choices(struct session *s, const struct batch_entry *entries, size_t count,
                        double *us, struct session_answer *out)
{
    struct baseline *b = runner_of(s)->baseline;
    double rounds[BASELINE_CHOICES][PLAN_ROUNDS];
    bool ok = true;
    for (int64_t start = now_ms(); ok && now_ms() - start < PLAN_WARM_MS;)
        ok = time_baseline(s, entries, count, &us[0], out);
    for (size_t round = 0; ok && round < PLAN_ROUNDS; round++)
        for (size_t i = 0; ok && i < baseline_choices(b); i++) {
            baseline_choose(b, i);
            ok = time_baseline(s, entries, count, &rounds[i][round], out);
        }
    for (size_t i = 0; ok && i < baseline_choices(b); i++)
        us[i] = timing_median(rounds[i], PLAN_ROUNDS);
    return ok;
}

/* ["slots"] behind PLAN_FIRST launches on the first of them; how many there are, 0 with a fault. */
static size_t read_slots(struct session *s, const json_t *request, struct batch_entry *entries,
                         struct session_answer *out)
{
    const json_t *slots = json_object_get(request, "slots");
    size_t count = json_array_size(slots);
    if (!count || count > PLAN_SLOTS) {
        session_refuse(out, "cannot choose the baseline on %zu slots", count);
        return 0;
    }
    for (size_t i = 0; i < PLAN_FIRST + count; i++) {
        json_int_t slot =
            json_integer_value(json_array_get(slots, i < PLAN_FIRST ? 0 : i - PLAN_FIRST));
        if (slot < 0 || slot >= WIRE_SLOTS || !s->slots[slot][0]) {
            session_refuse(out, "cannot choose the baseline on slot %lld", (long long)slot);
            return 0;
        }
        entries[i] = (struct batch_entry){BATCH_BASELINE, (int)slot};
    }
    return PLAN_FIRST + count;
}

/* The library's first guess, unless another is faster by more than two measurements of the same
 * differ; then the first of those that are about as fast as the fastest, so that the next keeper,
 * which measures a little differently, chooses the same. */
static size_t best_choice(const double *us, size_t count)
{
    size_t best = 0, first = 0;
    for (size_t i = 1; i < count; i++)
        best = us[i] < us[best] ? i : best;
    if (us[best] >= us[0] * PLAN_GAIN)
        return 0;
    while (us[first] * PLAN_CLOSE > us[best])
        first++;
    return first;
}

static bool do_plan(struct session *s, const json_t *request, struct wire_message *message,
                    struct session_answer *out)
{
    (void)message;
    struct batch_entry entries[PLAN_FIRST + PLAN_SLOTS];
    double us[BASELINE_CHOICES];
    const char *given = json_string_value(json_object_get(request, "choice"));
    struct runner *r = runner_of(s);
    if (!s->launcher || !ready_baseline(s, given, out))
        return s->launcher ? false : session_refuse(out, "nothing is open");
    json_object_set_new(out->members, "baseline", baseline_json(r->baseline));
    if (given)
        return true;
    r->batch.candidate = NULL;
    size_t count = read_slots(s, request, entries, out);
    if (!count || !try_choices(s, entries, count, us, out))
        return false;
    size_t best = best_choice(us, baseline_choices(r->baseline));
    baseline_choose(r->baseline, best);
    char *text = baseline_choice(r->baseline);
    if (!text)
        return session_refuse(out, "the baseline cannot be told to others");
    json_t *tried = json_array();
    put_times(tried, us, baseline_choices(r->baseline));
    json_object_set_new(out->members, "choice", json_string(text));
    json_object_set_new(out->members, "chosen", json_integer((json_int_t)best));
    json_object_set_new(out->members, "us", tried);
    free(text);
    return true;
}

/* A round of long runs lasts about as long as the whole warm-up has to. */
static unsigned warm_pairs(const double medians[2], int64_t wanted_ms)
{
    double pairs = 1e3 * (double)wanted_ms / (medians[0] + medians[1]);
    return pairs < WARM_PAIRS_MIN ? WARM_PAIRS_MIN
           : pairs < WARM_PAIRS   ? (unsigned)pairs
                                  : WARM_PAIRS;
}

static bool do_warm(struct session *s, const json_t *request, struct wire_message *message,
                    struct session_answer *out)
{
    (void)message;
    int candidate = session_slot(s, request, "candidate", out),
        baseline = candidate < 0 ? -1 : session_slot(s, request, "baseline", out);
    int64_t wanted_ms = json_integer_value(json_object_get(request, "ms")), start = now_ms();
    double before = 0, now[2] = {0};
    json_int_t launches = 0;
    if (baseline < 0 || !ready_baseline(s, NULL, out) || !ready_candidate(s, false, out))
        return false;
    unsigned pairs = 1; /* a slow candidate takes long enough with one */
    for (bool steady = false; !steady; pairs = warm_pairs(now, wanted_ms)) {
        if (!warm_round(s, candidate, baseline, pairs, now, out))
            return false;
        launches += (json_int_t)(2 * pairs);
        int64_t passed = now_ms() - start;
        bool agree = fabs(now[0] / before - 1) < WARM_AGREE ||
                     (now[0] + now[1]) * (double)pairs > 1e3 * (double)wanted_ms;
        steady = passed > wanted_ms + WARM_MORE_MS || (passed >= wanted_ms && agree);
        before = now[0];
    }
    json_object_set_new(out->members, "launches", json_integer(launches));
    json_object_set_new(out->members, "baseline_us", json_real(now[0]));
    json_object_set_new(out->members, "candidate_us", json_real(now[1]));
    return true;
}

/* ["b" or "c", slot] */
static bool read_entry(struct session *s, const json_t *v, struct batch_entry *out)
{
    const char *side = json_string_value(json_array_get(v, 0));
    json_int_t slot = json_integer_value(json_array_get(v, 1));
    if (!side || !strchr("bc", side[0]) || slot < 0 || slot >= WIRE_SLOTS || !s->slots[slot][0])
        return false;
    *out = (struct batch_entry){side[0] == 'b' ? BATCH_BASELINE : BATCH_CANDIDATE, (int)slot};
    return true;
}

static bool do_batch(struct session *s, const json_t *request, struct wire_message *message,
                     struct session_answer *out)
{
    (void)message;
    const json_t *order = json_object_get(request, "order");
    size_t count = json_array_size(order);
    json_int_t untimed = json_integer_value(json_object_get(request, "untimed"));
    struct batch_entry entries[WIRE_ENTRIES];
    double us[WIRE_ENTRIES];
    if (!count || count > WIRE_ENTRIES || untimed < 0 || (size_t)untimed > count)
        return session_refuse(out, "cannot run a batch of %zu launches", count);
    for (size_t i = 0; i < count; i++)
        if (!read_entry(s, json_array_get(order, i), &entries[i]))
            return session_refuse(out, "entry %zu of the batch names no slot", i);
    if (!ready_baseline(s, NULL, out) || !ready_candidate(s, true, out))
        return false;
    set_outputs(s, true, request);
    bool ok = batch_run(&runner_of(s)->batch, entries, count, (size_t)untimed, us, &out->fault);
    set_outputs(s, false, NULL);
    if (!ok || !send_samples(s, out))
        return false;
    json_t *times = json_array();
    put_times(times, us, count - (size_t)untimed);
    json_object_set_new(out->members, "us", times);
    return true;
}

static bool do_floor(struct session *s, const json_t *request, struct wire_message *message,
                     struct session_answer *out)
{
    (void)message;
    json_int_t count = json_integer_value(json_object_get(request, "count"));
    struct batch_entry entries[WIRE_ENTRIES];
    double us[WIRE_ENTRIES];
    if (count < 1 || count >= WIRE_ENTRIES)
        return session_refuse(out, "cannot measure an empty kernel %lld times", (long long)count);
    for (json_int_t i = 0; i <= count; i++)
        entries[i] = (struct batch_entry){BATCH_EMPTY, 0};
    if (!batch_run(&runner_of(s)->batch, entries, (size_t)count + 1, 1, us, &out->fault))
        return false;
    json_t *times = json_array();
    put_times(times, us, (size_t)count);
    json_object_set_new(out->members, "us", times);
    return true;
}

static bool do_split(struct session *s, const json_t *request, struct wire_message *message,
                     struct session_answer *out)
{
    (void)message;
    int slot = session_slot(s, request, "slot", out);
    json_int_t repeat = json_integer_value(json_object_get(request, "repeat"));
    if (slot < 0 || !ready_candidate(s, false, out))
        return false;
    size_t launches = s->plan->launch_count;
    double us[WIRE_ENTRIES];
    if (repeat < 1 || (size_t)repeat * launches > WIRE_ENTRIES)
        return session_refuse(out, "cannot split %lld runs", (long long)repeat);
    if (!batch_split(&runner_of(s)->batch, slot, launches, (size_t)repeat, us, &out->fault))
        return false;
    json_t *rows = json_array();
    for (size_t i = 0; i < launches; i++) {
        json_t *row = json_array();
        put_times(row, us + i * (size_t)repeat, (size_t)repeat);
        json_array_append_new(rows, row);
    }
    json_object_set_new(out->members, "us", rows);
    return true;
}

static const struct session_row operations[] = {
    {"launch", do_launch}, {"plan", do_plan},   {"warm", do_warm},
    {"batch", do_batch},   {"floor", do_floor}, {"split", do_split},
};

/* Without a library for the baseline a runner can still check. */
static json_t *libraries_json(const struct baseline_libraries *l)
{
    json_t *out = json_object();
    for (size_t i = 0; i < BASELINE_LIBRARIES; i++)
        json_object_set_new(out, l->of[i].name,
                            json_string(l->of[i].handle ? l->of[i].version : l->of[i].missing));
    return out;
}

int gpu_runner(int fd, int ordinal)
{
    static struct runner r;
    struct fault f = {0};
    if (session_open(&r.session, fd, ordinal, &f) != ERR_NONE ||
        batch_open(&r.batch, &r.session.device, &f) != ERR_NONE)
        return session_fail(fd, &f);
    r.session.role = &r;
    enum err e = baseline_libraries_open(&r.libraries, &r.session.device, &f);
    json_t *event = json_pack("{s:o}", "baseline",
                              e == ERR_NONE ? libraries_json(&r.libraries) : json_null());
    int status = session_serve(&r.session, operations, COUNT_OF(operations), event);
    json_decref(event);
    baseline_free(r.baseline);
    return status; /* the rest goes with the process */
}
