// SPDX-License-Identifier: Apache-2.0
// The process of one submission on the GPU: start, confinement, the loop of requests.
#include "evaluator/cuda/session.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/util.h"
#include "evaluator/cuda/session_parts.h"
#include "evaluator/sandbox.h"

enum { SEND_MS = 10000 };

static const struct session_row common[] = {{"open", session_do_open}, {"slot", session_do_slot}};

enum err session_open(struct session *s, int fd, int ordinal, struct fault *f)
{
    *s = (struct session){.fd = fd};
    enum err e = archs_load(&s->archs, home_dir(), f);
    if (e == ERR_NONE)
        e = problems_load(&s->problems, home_dir(), f);
    return e == ERR_NONE ? driver_open(ordinal, &s->device, f) : e;
}

void session_close(struct session *s)
{
    session_forget(s);
    problems_release(&s->problems);
    archs_release(&s->archs);
    driver_close(&s->device);
}

bool session_refuse(struct session_answer *out, const char *fmt, ...)
{
    out->fault = (struct launch_fault){.kind = "infra", .launch = -1};
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(out->fault.detail, sizeof(out->fault.detail), fmt, ap);
    va_end(ap);
    return false;
}

int session_slot(struct session *s, const json_t *request, const char *member,
                 struct session_answer *out)
{
    const json_t *v = json_object_get(request, member);
    json_int_t slot = json_integer_value(v);
    if (json_is_integer(v) && slot >= 0 && slot < WIRE_SLOTS && s->slots[slot][0])
        return (int)slot;
    session_refuse(out, "the request names no slot that is mapped as %s", member);
    return -1;
}

bool session_load(struct session *s, bool fresh, struct session_answer *out)
{
    if (!s->launcher)
        return session_refuse(out, "nothing is open");
    if (!s->loaded || fresh)
        s->loaded = launcher_load(s->launcher, &out->fault);
    return s->loaded;
}

/* Texts that the driver prints for kernels must be out before the answer that they belong to. */
static bool answer(struct session *s, bool ok, struct session_answer *a)
{
    fflush(stdout);
    fflush(stderr);
    json_t *result = a->members ? a->members : json_object();
    json_object_set_new(result, "ok", json_boolean(ok));
    json_object_set_new(result, "fault", ok ? json_null() : launch_fault_json(&a->fault));
    json_object_set_new(result, "sticky", json_boolean(!ok && a->fault.sticky));
    struct fault f = {0};
    bool sent = wire_send_json(s->fd, FRAME_RESULT, result, NULL, 0, SEND_MS, &f) == ERR_NONE;
    json_decref(result);
    return sent;
}

static session_operation *find(const char *op, const struct session_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(op, rows[i].op))
            return rows[i].run;
    return NULL;
}

static bool serve_one(struct session *s, const struct session_row *rows, size_t count,
                      struct wire_message *m, bool *lost)
{
    const char *op = json_string_value(json_object_get(m->json, "op"));
    session_operation *run = op ? find(op, rows, count) : NULL;
    if (!run && op)
        run = find(op, common, COUNT_OF(common));
    struct session_answer a = {.members = json_object()};
    bool ok = *lost  ? session_refuse(&a, "the context is lost")
              : !run ? session_refuse(&a, "there is no operation %.64s", op ? op : "without a name")
                     : run(s, m->json, m, &a);
    *lost = *lost || a.fault.sticky;
    a.fault.sticky = *lost;
    return answer(s, ok, &a);
}

static bool say_ready(struct session *s, json_t *event)
{
    const struct driver_device *d = &s->device;
    json_object_set_new(event, "kind", json_string("ready"));
    json_object_set_new(event, "device",
                        json_pack("{s:s, s:s, s:i, s:I, s:i}", "name", d->name, "uuid", d->uuid,
                                  "num_sms", d->num_sms, "l2_bytes", (json_int_t)d->l2_bytes,
                                  "driver", d->version));
    json_object_set_new(event, "sandbox", sandbox_layers());
    struct fault f = {0};
    return wire_send_json(s->fd, FRAME_EVENT, event, NULL, 0, SEND_MS, &f) == ERR_NONE;
}

int session_fail(int fd, const struct fault *f)
{
    json_t *event = json_pack("{s:s, s:s}", "kind", "failed", "detail", f->detail);
    wire_send_json(fd, FRAME_EVENT, event, NULL, 0, SEND_MS, NULL);
    json_decref(event);
    return EXIT_FAILURE;
}

int session_serve(struct session *s, const struct session_row *rows, size_t count, json_t *ready)
{
    struct sandbox_spec confine = {.role = SANDBOX_GPU};
    struct fault f = {0};
    if (sandbox_enter(&confine, &f) != ERR_NONE)
        return session_fail(s->fd, &f);
    json_t *event = ready ? json_incref(ready) : json_object();
    bool going = say_ready(s, event), lost = false, done = false;
    json_decref(event);
    while (going && !done) {
        struct wire_message m;
        going = wire_receive(s->fd, &m, LIMIT_FRAME, -1, &f) == ERR_NONE && m.kind == FRAME_REQUEST;
        const char *op = json_string_value(json_object_get(m.json, "op"));
        done = going && op && !strcmp(op, "done");
        if (going && !done)
            going = serve_one(s, rows, count, &m, &lost);
        wire_message_release(&m);
    }
    return done ? EXIT_SUCCESS : EXIT_FAILURE;
}
