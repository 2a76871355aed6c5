// SPDX-License-Identifier: Apache-2.0
// "verify": the plan once more, in as many verifiers as it has launches, each of which counts the
// instructions of one. What cannot be counted stays unknown, with the reason; no verdict comes from
// here.
#include <stdio.h>
#include <string.h>

#include "core/util.h"
#include "evaluator/cuda/keeper_job.h"
#include "evaluator/cuda/keeper_target.h"

enum { MAP_MS = 30 * 1000 };

static bool make_inputs(struct keeper_job *j, struct keeper_end *end)
{
    struct fault f = {0};
    struct keeper_task *t = j->task;
    enum err e = keeper_task_copy_inputs(t, keeper_task_base(t, 0), &t->dummy, MEMORY_END, &f);
    if (e == ERR_NONE)
        e = slot_reset(&t->dummy, &t->shape, MEMORY_END, &f);
    if (e == ERR_NONE)
        e = driver_check(cu.StreamSynchronize(NULL), &f, "make inputs");
    return e == ERR_NONE || keeper_job_fault(j, &f, end);
}

/* The answer to "count" of one launch, or NULL. */
static json_t *count(struct keeper_job *j, struct keeper_child *v, size_t launch, int64_t ms,
                     struct keeper_end *end)
{
    struct keeper_wait map = {.timeout_ms = MAP_MS, .watch = &j->watch}, run = map;
    struct keeper_ask open = {
        .request = json_incref(j->request), .cubin = j->cubin, .cubin_len = j->cubin_len};
    struct keeper_ask ask = {.request = json_pack("{s:s, s:i, s:I}", "op", "count", "slot",
                                                  ORDER_DUMMY, "launch", (json_int_t)launch)};
    run.timeout_ms = ms;
    bool ok = keeper_child_send(v, &open, end) &&
              keeper_job_send_slot(j, v, ORDER_DUMMY, &j->task->dummy, MEMORY_END, end);
    for (int i = 0; ok && i < 2; i++) {
        json_t *answer = keeper_child_receive(v, &map, end);
        ok = answer != NULL;
        json_decref(answer);
    }
    if (ok)
        return keeper_child_ask(v, &ask, &run, end);
    json_decref(ask.request);
    return NULL;
}

/* One launch in a verifier of its own: new reference, as keeper_target_of() gives it. */
static json_t *verify_launch(struct keeper_job *j, size_t launch, int64_t ms)
{
    struct keeper_child verifier = {.fd = -1, .print = -1};
    struct keeper_end own = {0};
    json_t *answer = NULL;
    double start_s = now_s();
    if (keeper_spares_take(&j->process->spares, KEEPER_VERIFIER, &j->watch, &verifier, &own)) {
        keeper_job_part(j, "verifier", start_s);
        if (launch + 1 < j->plan->launch_count)
            keeper_spares_start(&j->process->spares); /* another gets warm beside this one */
        json_decref(j->sandbox);
        j->sandbox = json_incref(json_object_get(verifier.ready, "sandbox"));
        answer = count(j, &verifier, launch, ms, &own);
    }
    char reason[LIMIT_DETAIL];
    snprintf(reason, sizeof(reason), "the counted run failed: %.400s", own.detail);
    json_t *target = answer ? keeper_target_of(answer) : keeper_target_unknown(reason);
    json_decref(answer);
    keeper_child_stop(&verifier);
    keeper_end_release(&own);
    return target;
}

bool keeper_verify(struct keeper_job *j, const json_t *request, json_t *result,
                   struct keeper_end *end)
{
    int64_t ms = json_integer_value(json_object_get(request, "ms"));
    double start_s = now_s();
    keeper_child_kill(&j->runner);
    if (!make_inputs(j, end))
        return false;
    json_t *target = verify_launch(j, 0, ms);
    for (size_t i = 1; i < j->plan->launch_count && keeper_target_known(target); i++) {
        json_t *more = verify_launch(j, i, ms);
        keeper_target_add(target, more);
        json_decref(more);
    }
    json_object_set_new(result, "target", target);
    keeper_job_part(j, "verify", start_s);
    json_object_set(result, "parts_ms", j->parts);
    return true;
}
