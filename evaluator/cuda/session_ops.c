// SPDX-License-Identifier: Apache-2.0
// "open" takes a plan and its module in; "slot" maps the tensors of one slot.
#include <stdlib.h>
#include <string.h>

#include "evaluator/cuda/session_parts.h"

enum { CUBIN_MS = 10000 };

static void unmap_slot(struct session *s, int slot)
{
    for (size_t i = 0; i < LIMIT_TENSORS; i++)
        memory_unmap(&s->maps[slot][i]);
    memset(s->slots[slot], 0, sizeof(s->slots[slot]));
}

void session_forget(struct session *s)
{
    launcher_free(s->launcher);
    for (int i = 0; i < WIRE_SLOTS; i++)
        unmap_slot(s, i);
    plan_free(s->plan);
    json_decref(s->symbols);
    free(s->cubin);
    s->launcher = NULL;
    s->plan = NULL;
    s->symbols = NULL;
    s->cubin = NULL;
    s->loaded = false;
}

static const char *text_of(const json_t *request, const char *member)
{
    const char *text = json_string_value(json_object_get(request, member));
    return text ? text : "";
}

static bool find_names(struct session *s, const json_t *request, struct session_answer *out)
{
    s->arch = archs_find(&s->archs, text_of(request, "arch"));
    s->problem = problems_find(&s->problems, text_of(request, "problem"));
    s->workload = s->problem ? problem_workload(s->problem, text_of(request, "workload")) : NULL;
    for (size_t i = 0; s->workload && i < s->problem->tensor_count; i++) {
        int64_t shape[LIMIT_DIMS];
        s->bytes[i] = (size_t)problem_shape(s->problem, s->workload, i, shape) *
                      dtype_bytes(s->problem->tensors[i].dtype);
    }
    return (s->arch && s->workload) || session_refuse(out, "the request names no known workload");
}

static bool read_plan(struct session *s, const json_t *request, struct session_answer *out)
{
    struct faults faults = {0};
    char first[LIMIT_DETAIL];
    s->plan = plan_parse(json_object_get(request, "launch"), s->problem, s->workload, s->arch,
                         "$.launch", &faults);
    s->symbols = json_incref(json_object_get(request, "symbols"));
    bool ok = s->plan || session_refuse(out, "%s", faults_first(&faults, first, sizeof(first)));
    faults_release(&faults);
    return ok;
}

static bool take_cubin(struct session *s, struct session_answer *out)
{
    struct wire_message m;
    struct fault f = {0};
    bool ok = wire_receive(s->fd, &m, LIMIT_CUBIN, CUBIN_MS, &f) == ERR_NONE;
    if (ok && m.kind == FRAME_CUBIN) {
        s->cubin = m.data;
        s->cubin_len = m.len;
        m.data = NULL;
    }
    wire_message_release(&m);
    return s->cubin ||
           session_refuse(out, "cannot take the module: %s", ok ? "another frame came" : f.detail);
}

bool session_do_open(struct session *s, const json_t *request, struct wire_message *message,
                     struct session_answer *out)
{
    (void)message;
    session_forget(s);
    if (!take_cubin(s, out) || !find_names(s, request, out) || !read_plan(s, request, out))
        return false;
    struct launcher_spec spec = {.device = &s->device,
                                 .problem = s->problem,
                                 .workload = s->workload,
                                 .plan = s->plan,
                                 .symbols = s->symbols,
                                 .cubin = s->cubin,
                                 .cubin_len = s->cubin_len};
    s->launcher = launcher_new(&spec, &out->fault);
    return s->launcher != NULL;
}

static enum err map_tensor(struct session *s, int slot, size_t i, int fd, enum memory_place place,
                           bool writable, struct fault *f)
{
    const struct tensor_def *t = &s->problem->tensors[i];
    size_t bytes = s->bytes[i];
    struct memory_block block;
    enum err e = memory_import(&block, &s->device, fd, bytes, f);
    if (e == ERR_NONE)
        e = memory_map(&s->maps[slot][i], &s->device, &block, bytes, place,
                       t->role == TENSOR_INPUT && !writable ? MEMORY_READ_ONLY : MEMORY_READ_WRITE,
                       f);
    memory_release(&block); /* the mapping keeps the memory */
    s->slots[slot][i] = s->maps[slot][i].address;
    return e;
}

/* Opens the guards that the request names, "open": {"ahead": [tensor, …], "behind": […]}. */
static enum err open_guards(struct session *s, int slot, const json_t *open, struct fault *f)
{
    static const char *const sides[] = {[MEMORY_AHEAD] = "ahead", [MEMORY_BEHIND] = "behind"};
    enum err e = ERR_NONE;
    for (int side = MEMORY_AHEAD; side <= MEMORY_BEHIND; side++) {
        const json_t *list = json_object_get(open, sides[side]);
        for (size_t i = 0; e == ERR_NONE && i < json_array_size(list); i++) {
            json_int_t tensor = json_integer_value(json_array_get(list, i));
            if (tensor < 0 || (size_t)tensor >= s->problem->tensor_count)
                return fault_set(f, ERR_INVALID, "there is no tensor %lld", (long long)tensor);
            e = memory_open_guard(&s->maps[slot][tensor], &s->device, (enum memory_side)side, f);
        }
    }
    return e;
}

bool session_do_slot(struct session *s, const json_t *request, struct wire_message *message,
                     struct session_answer *out)
{
    json_int_t slot = json_integer_value(json_object_get(request, "slot"));
    enum memory_place place = !strcmp(text_of(request, "place"), "end") ? MEMORY_END : MEMORY_START;
    bool writable = json_is_true(json_object_get(request, "writable"));
    if (!s->launcher || slot < 0 || slot >= WIRE_SLOTS ||
        message->fd_count != s->problem->tensor_count)
        return session_refuse(out, "cannot map slot %lld of %zu descriptors", (long long)slot,
                              message->fd_count);
    unmap_slot(s, (int)slot);
    struct fault f = {0};
    enum err e = ERR_NONE;
    for (size_t i = 0; e == ERR_NONE && i < message->fd_count; i++)
        e = map_tensor(s, (int)slot, i, message->fds[i], place, writable, &f);
    if (e == ERR_NONE)
        e = open_guards(s, (int)slot, json_object_get(request, "open"), &f);
    if (e != ERR_NONE) {
        unmap_slot(s, (int)slot);
        return session_refuse(out, "%s", f.detail);
    }
    return launcher_bind(s->launcher, (int)slot, s->slots[slot], &out->fault);
}
