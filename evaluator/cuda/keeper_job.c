// SPDX-License-Identifier: Apache-2.0
#include "evaluator/cuda/keeper_job.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/util.h"
#include "evaluator/report.h"

/* Between two requests of one submission its client has little to do. */
enum { IDLE_MS = 120 * 1000, SEND_MS = 10 * 1000, LOCK_MS = 50 * 1000 };

static const struct {
    const char *op;
    keeper_operation *run;
    bool opens;
} operations[] = {
    {"open", keeper_open, true},
    {"check", keeper_check, false},
    {"time", keeper_time, false},
    {"verify", keeper_verify, false},
};

bool keeper_job_fault(struct keeper_job *j, const struct fault *f, struct keeper_end *end)
{
    end->sick = j->process->sick = keeper_gpu_is_sick(&j->process->gpu);
    return keeper_end_set(end, VERDICT_INFRA_ERROR, "%s", f->detail);
}

json_t *keeper_job_receive(struct keeper_job *j, int64_t timeout_ms, const char *doing,
                           struct keeper_end *end)
{
    struct keeper_wait wait = {
        .timeout_ms = timeout_ms, .watch = &j->watch, .capture = &j->capture};
    json_t *answer = keeper_child_receive(&j->runner, &wait, end);
    if (end->verdict == VERDICT_TIMEOUT && !end->fault) {
        keeper_end_set(end, VERDICT_TIMEOUT, "%s did not end within %lld ms", doing,
                       (long long)timeout_ms);
        end->fault = json_pack("{s:s, s:n, s:n, s:s}", "kind", "timeout", "kernel", "launch",
                               "detail", end->detail);
    }
    return answer;
}

json_t *keeper_job_ask(struct keeper_job *j, json_t *request, int64_t timeout_ms, const char *doing,
                       struct keeper_end *end)
{
    struct keeper_ask ask = {.request = request};
    return keeper_child_send(&j->runner, &ask, end) ? keeper_job_receive(j, timeout_ms, doing, end)
                                                    : NULL;
}

static bool send_slot(struct keeper_child *c, const struct slot *slot, size_t count,
                      json_t *request, struct keeper_end *end)
{
    int fds[LIMIT_TENSORS];
    for (size_t i = 0; i < count; i++)
        fds[i] = slot->tensors[i].fd;
    struct keeper_ask ask = {.request = request, .fds = fds, .fd_count = count};
    return keeper_child_send(c, &ask, end);
}

static json_t *slot_request(int number, enum memory_place place)
{
    return json_pack("{s:s, s:i, s:s}", "op", "slot", "slot", number, "place",
                     place == MEMORY_END ? "end" : "start");
}

bool keeper_job_send_slot(struct keeper_job *j, struct keeper_child *c, int number,
                          const struct slot *slot, enum memory_place place, struct keeper_end *end)
{
    return send_slot(c, slot, j->task->problem->tensor_count, slot_request(number, place), end);
}

bool keeper_job_send_open(struct keeper_job *j, struct keeper_child *c, int number,
                          const struct slot *slot, enum memory_place place, json_t *open,
                          struct keeper_end *end)
{
    json_t *request = slot_request(number, place);
    json_object_set_new(request, "writable", json_true());
    json_object_set_new(request, "open", open);
    return send_slot(c, slot, j->task->problem->tensor_count, request, end);
}

void keeper_job_progress(struct keeper_job *j, size_t done, size_t total)
{
    json_t *event = json_pack("{s:s, s:I, s:I}", "kind", "progress", "done", (json_int_t)done,
                              "total", (json_int_t)total);
    wire_send_json(j->fd, FRAME_EVENT, event, NULL, 0, SEND_MS, NULL);
    json_decref(event);
}

void keeper_job_part(struct keeper_job *j, const char *part, double start_s)
{
    double ms = json_number_value(json_object_get(j->parts, part)) + (now_s() - start_s) * 1e3;
    json_object_set_new(j->parts, part, json_real(report_ms(ms)));
}

bool keeper_job_damage(const struct slot_damage *damage, struct keeper_end *end)
{
    if (!damage->tensor)
        return true;
    keeper_end_set(
        end, VERDICT_RUNTIME_ERROR,
        "out_of_bounds_write: %llu bytes %s tensor %s were overwritten, the nearest at a "
        "distance of %lld",
        (unsigned long long)damage->bytes, damage->distance > 0 ? "behind" : "ahead of",
        damage->tensor, llabs(damage->distance));
    end->fault = json_pack("{s:s, s:n, s:n, s:s, s:s, s:I}", "kind", "out_of_bounds_write",
                           "kernel", "launch", "detail", end->detail, "tensor", damage->tensor,
                           "distance", (json_int_t)damage->distance);
    return false;
}

/* Runs an operation while nobody measures; timing takes the lock for itself. */
static bool run(struct keeper_job *j, keeper_operation *operation, const json_t *request,
                json_t *result, struct keeper_end *end)
{
    struct fault f = {0};
    struct device_lock *lock = &j->process->gpu.lock;
    if (device_lock_take(lock, DEVICE_LOCK_SHARED, LOCK_MS, &f) != ERR_NONE)
        return keeper_job_fault(j, &f, end);
    bool ok = operation(j, request, result, end);
    device_lock_drop(lock);
    return ok;
}

static bool send_bytes(struct keeper_job *j, enum frame_kind kind, struct buf *bytes)
{
    bool ok = !bytes->len ||
              wire_send(j->fd, kind, bytes->data, bytes->len, NULL, 0, SEND_MS, NULL) == ERR_NONE;
    buf_clear(bytes);
    return ok;
}

/* Everything that belongs to one answer. */
static bool answer(struct keeper_job *j, json_t *result, const struct keeper_end *end,
                   double start_s)
{
    struct buf printed;
    buf_init(&printed, LIMIT_LOG);
    keeper_child_take_printed(&j->runner, &printed);
    json_object_set_new(result, "verdict", json_string(verdict_name(end->verdict)));
    json_object_set_new(result, "flags", json_integer(end->flags));
    json_object_set_new(result, "detail", json_string(end->detail));
    json_object_set_new(result, "wall_ms", json_real(report_ms((now_s() - start_s) * 1e3)));
    json_object_set(result, "sandbox", j->sandbox);
    if (end->sick)
        json_object_set_new(result, "sick", json_true());
    bool ok = send_bytes(j, FRAME_LOG, &printed) && send_bytes(j, FRAME_CAPTURE, &j->capture) &&
              wire_send_json(j->fd, FRAME_RESULT, result, NULL, 0, SEND_MS, NULL) == ERR_NONE;
    buf_release(&printed);
    return ok;
}

static keeper_operation *find(const struct keeper_job *j, const char *op)
{
    for (size_t i = 0; op && i < COUNT_OF(operations); i++)
        if (!strcmp(operations[i].op, op))
            return operations[i].opens == !j->task ? operations[i].run : NULL;
    return NULL;
}

/* One request and its answer; true to go on. */
static bool serve(struct keeper_job *j, const json_t *request)
{
    double start_s = now_s();
    const char *op = json_string_value(json_object_get(request, "op"));
    keeper_operation *operation = find(j, op);
    struct keeper_end end = {0};
    json_t *result = json_object();
    bool ok = operation ? run(j, operation, request, result, &end)
                        : keeper_end_set(&end, VERDICT_INFRA_ERROR, "the keeper has no %.32s here",
                                         op ? op : "operation without a name");
    if (!ok && end.verdict == VERDICT_PASSED)
        keeper_end_set(&end, VERDICT_INFRA_ERROR, "the keeper failed");
    if (end.fault)
        json_object_set_new(result, "faults", json_pack("[O]", end.fault));
    ok = end.verdict == VERDICT_PASSED;
    if (!ok)
        keeper_child_kill(&j->runner);
    ok = answer(j, result, &end, start_s) && ok;
    keeper_end_release(&end);
    json_decref(result);
    return ok;
}

/* The next request, unless the connection or the owner is gone. */
static bool next(struct keeper_job *j, struct wire_message *m)
{
    struct pollfd polls[] = {{.fd = j->fd, .events = POLLIN},
                             {.fd = j->process->control, .events = POLLRDHUP}};
    *m = (struct wire_message){0};
    if (poll(polls, COUNT_OF(polls), IDLE_MS) <= 0 || !polls[0].revents)
        return false;
    return wire_receive(j->fd, m, LIMIT_REPORT, SEND_MS, NULL) == ERR_NONE &&
           m->kind == FRAME_REQUEST && !keeper_watch_ended(&j->watch);
}

static void release(struct keeper_job *j)
{
    keeper_child_stop(&j->runner);
    plan_free(j->plan);
    json_decref(j->request);
    json_decref(j->parts);
    json_decref(j->sandbox);
    free(j->cubin);
    buf_release(&j->capture);
    close(j->fd);
}

void keeper_job_run(struct keeper_process *p, int fd)
{
    struct keeper_job j = {.process = p,
                           .fd = fd,
                           .watch = {{fd, p->control}, 2},
                           .runner = {.fd = -1, .print = -1},
                           .parts = json_object(),
                           .sandbox = json_array()};
    buf_init(&j.capture, LIMIT_CAPTURE);
    struct wire_message m;
    bool going = true;
    while (going && next(&j, &m)) {
        going = serve(&j, m.json);
        wire_message_release(&m);
    }
    if (going)
        wire_message_release(&m);
    release(&j);
}
