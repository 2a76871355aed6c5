// SPDX-License-Identifier: Apache-2.0
// "verify": the plan once more in a verifier, which counts instructions. What cannot be counted
// stays unknown, with the reason; no verdict comes from here.
#include <stdio.h>
#include <string.h>

#include "core/util.h"
#include "evaluator/cuda/keeper_job.h"

enum { MAP_MS = 30 * 1000 };

static json_t *unknown(const char *reason)
{
    return json_pack("{s:n, s:n, s:n, s:s}", "executed", "families", "tensor_share", "reason",
                     reason);
}

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

/* The answer to "count", or NULL. */
static json_t *count(struct keeper_job *j, struct keeper_child *v, int64_t ms,
                     struct keeper_end *end)
{
    struct keeper_wait map = {.timeout_ms = MAP_MS, .watch = &j->watch}, run = map;
    struct keeper_ask open = {
        .request = json_incref(j->request), .cubin = j->cubin, .cubin_len = j->cubin_len};
    struct keeper_ask ask = {.request =
                                 json_pack("{s:s, s:i}", "op", "count", "slot", ORDER_DUMMY)};
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

/* The members that a report takes, each of its own kind or null. */
static json_t *target_of(const json_t *answer)
{
    json_t *executed = json_object_get(answer, "executed"),
           *families = json_object_get(answer, "families");
    json_t *share = json_object_get(answer, "tensor_share"),
           *reason = json_object_get(answer, "reason");
    json_t *out = unknown("the verifier gave no reason");
    if (json_is_boolean(executed))
        json_object_set(out, "executed", executed);
    if (json_is_object(families))
        json_object_set(out, "families", families);
    if (json_is_number(share))
        json_object_set(out, "tensor_share", share);
    if (json_is_string(reason))
        json_object_set(out, "reason", reason);
    else if (json_is_boolean(executed) && json_is_number(share))
        json_object_set_new(out, "reason", json_null());
    return out;
}

bool keeper_verify(struct keeper_job *j, const json_t *request, json_t *result,
                   struct keeper_end *end)
{
    struct keeper_child verifier = {.fd = -1, .print = -1};
    struct keeper_end own = {0};
    int64_t ms = json_integer_value(json_object_get(request, "ms"));
    double start_s = now_s();
    keeper_child_kill(&j->runner);
    if (!make_inputs(j, end))
        return false;
    json_t *answer = NULL;
    if (keeper_spares_take(&j->process->spares, KEEPER_VERIFIER, &j->watch, &verifier, &own)) {
        keeper_job_part(j, "verifier", start_s);
        json_decref(j->sandbox);
        j->sandbox = json_incref(json_object_get(verifier.ready, "sandbox"));
        answer = count(j, &verifier, ms, &own);
    }
    char reason[LIMIT_DETAIL];
    snprintf(reason, sizeof(reason), "the counted run failed: %.400s", own.detail);
    json_object_set_new(result, "target", answer ? target_of(answer) : unknown(reason));
    json_decref(answer);
    keeper_child_stop(&verifier);
    keeper_end_release(&own);
    keeper_job_part(j, "verify", start_s);
    json_object_set(result, "parts_ms", j->parts);
    return true;
}
