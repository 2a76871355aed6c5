// SPDX-License-Identifier: Apache-2.0
#include "evaluator/cuda/keeper_blame.h"

#include <stdio.h>
#include <string.h>

enum { MAP_MS = 30 * 1000 };

static bool prepare(const struct keeper_task *t, const struct task_base *base,
                    enum memory_place place)
{
    return keeper_task_copy_inputs(t, base, &t->dummy, place, NULL) == ERR_NONE &&
           slot_reset(&t->dummy, &t->shape, place, NULL) == ERR_NONE &&
           cu.StreamSynchronize(NULL) == CUDA_SUCCESS;
}

/* The plan once, where inputs may be written. */
static bool run_again(struct keeper_job *j, struct keeper_child *c, enum memory_place place,
                      int64_t plan_ms, struct keeper_end *end)
{
    struct keeper_wait map = {.timeout_ms = MAP_MS, .watch = &j->watch}, run = map;
    struct keeper_ask open = {
        .request = json_incref(j->request), .cubin = j->cubin, .cubin_len = j->cubin_len};
    struct keeper_ask launch = {.request = json_pack("{s:s, s:i, s:s}", "op", "launch", "slot",
                                                     ORDER_DUMMY, "side", "candidate")};
    run.timeout_ms = plan_ms;
    bool ok = keeper_child_send(c, &open, end) &&
              keeper_job_send_writable(j, c, ORDER_DUMMY, &j->task->dummy, place, end);
    for (int i = 0; ok && i < 2; i++) {
        json_t *answer = keeper_child_receive(c, &map, end);
        ok = answer != NULL;
        json_decref(answer);
    }
    json_t *answer = ok ? keeper_child_ask(c, &launch, &run, end) : NULL;
    if (!ok)
        json_decref(launch.request);
    json_decref(answer);
    return answer != NULL;
}

/* The first input that is not what it was; NULL: none. */
static const char *changed_input(const struct keeper_task *t, const struct task_base *base,
                                 enum memory_place place)
{
    for (size_t i = 0; i < t->problem->tensor_count; i++) {
        uint64_t different = 0;
        if (t->problem->tensors[i].role != TENSOR_INPUT ||
            kernels_count_different(&t->gpu->kernels, slot_address(&t->dummy, i, place),
                                    base->tensors[i], t->shape.bytes[i], &different,
                                    NULL) != ERR_NONE)
            continue;
        if (different)
            return t->problem->tensors[i].name;
    }
    return NULL;
}

static void name_input(struct keeper_end *end, const char *input)
{
    char detail[LIMIT_DETAIL];
    snprintf(detail, sizeof(detail), "%.380s: it writes to tensor %s, which is an input",
             end->detail, input);
    snprintf(end->detail, sizeof(end->detail), "%s", detail);
    json_object_set_new(end->fault, "tensor", json_string(input));
    json_object_set_new(end->fault, "detail", json_string(detail));
}

void keeper_blame(struct keeper_job *j, const struct task_base *base, enum memory_place place,
                  int64_t plan_ms, struct keeper_end *end)
{
    struct keeper_child second = {.fd = -1, .print = -1};
    struct keeper_end own = {0};
    const char *kind = json_string_value(json_object_get(end->fault, "kind"));
    if (!kind || strcmp(kind, "illegal_access") != 0)
        return;
    keeper_child_kill(&j->runner);
    if (prepare(j->task, base, place) &&
        keeper_spares_take(&j->process->spares, KEEPER_RUNNER, &j->watch, &second, &own) &&
        run_again(j, &second, place, plan_ms, &own)) {
        const char *input = changed_input(j->task, base, place);
        if (input)
            name_input(end, input);
    }
    keeper_child_stop(&second);
    keeper_end_release(&own);
}
