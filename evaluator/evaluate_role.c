// SPDX-License-Identifier: Apache-2.0
/* The worker's child role `evaluate`: one evaluation between two pipes. */
#include "evaluator/evaluate.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "core/frame.h"
#include "core/json.h"
#include "core/log.h"
#include "core/submission.h"
#include "core/util.h"

struct role {
    struct registry registry;
    struct submission submission;
    struct evaluation_request request;
    struct keeper_access keeper;
    json_t *document;
    char *source;
    int in_fd, out_fd;
    bool deaf; /* nobody reads any more */
};

static void on_event(void *arg, const json_t *event)
{
    struct role *r = arg;
    r->deaf = r->deaf || !frame_write_json(r->out_fd, FRAME_EVENT, event);
}

/* The parent says nothing more: a readable or closed pipe means that it wants an end. */
static bool on_cancelled(void *arg)
{
    struct role *r = arg;
    struct pollfd p = {.fd = r->in_fd, .events = POLLIN};
    return r->deaf || poll(&p, 1, 0) > 0;
}

/* The connection was made by the parent, and is ours to hand on once. */
static enum err on_connect(void *arg, int *fd, const json_t **device, struct fault *f)
{
    struct role *r = arg;
    (void)f;
    *fd = EVALUATE_KEEPER_FD;
    *device = json_object_get(r->document, "gpu");
    return ERR_NONE;
}

static enum err take_keeper(struct role *r, struct fault *f)
{
    if (!json_is_object(json_object_get(r->document, "gpu")))
        return ERR_NONE;
    if (fcntl(EVALUATE_KEEPER_FD, F_SETFD, FD_CLOEXEC) < 0)
        return fault_set(f, ERR_BAD_REQUEST, "cannot read the request: no connection to the keeper");
    r->keeper = (struct keeper_access){r, on_connect};
    r->request.keeper = &r->keeper;
    return ERR_NONE;
}

static enum err read_request(struct role *r, struct fault *f)
{
    enum frame_kind kind;
    char *text = NULL;
    size_t len, source_len;
    enum err e = frame_read(r->in_fd, &kind, &text, &len, f);
    if (e == ERR_NONE && kind != FRAME_REQUEST)
        e = fault_set(f, ERR_BAD_REQUEST, "cannot read the request: the frame has kind %d", kind);
    if (e == ERR_NONE && !(r->document = json_parse(text, len, f)))
        e = f->code;
    free(text);
    if (e == ERR_NONE)
        e = frame_read(r->in_fd, &kind, &r->source, &source_len, f);
    if (e != ERR_NONE)
        return e;
    struct faults faults = {0};
    char first[LIMIT_DETAIL];
    r->request = (struct evaluation_request){
        .registry = &r->registry, .submission = &r->submission,
        .device = json_string_value(json_object_get(r->document, "device")),
        .id = json_string_value(json_object_get(r->document, "id")),
    };
    e = take_keeper(r, f);
    if (e != ERR_NONE)
        return e;
    if (!r->request.device || kind != FRAME_SOURCE)
        e = fault_set(f, ERR_BAD_REQUEST, "cannot read the request: no device or no source");
    else if (!submission_from_document(&r->registry, json_object_get(r->document, "submission"),
                                       r->source, source_len, &r->submission, &faults))
        e = fault_set(f, ERR_INVALID, "%s", faults_first(&faults, first, sizeof(first)));
    faults_release(&faults);
    return e;
}

static bool write_buf(int fd, enum frame_kind kind, const struct buf *b)
{
    return !b->len || frame_write(fd, kind, b->data, b->len);
}

static enum err serve(struct role *r, struct fault *f)
{
    const struct evaluation_hooks hooks = {.arg = r, .event = on_event, .cancelled = on_cancelled};
    struct evaluation done;
    enum err e = evaluate(&r->request, &hooks, &done, f);
    if (e == ERR_NONE && !(write_buf(r->out_fd, FRAME_PTX, &done.ptx) &&
                           write_buf(r->out_fd, FRAME_CUBIN, &done.cubin) &&
                           write_buf(r->out_fd, FRAME_LOG, &done.log) &&
                           write_buf(r->out_fd, FRAME_CAPTURE, &done.capture) &&
                           frame_write_json(r->out_fd, FRAME_RESULT, done.report)))
        e = fault_set(f, ERR_IO, "cannot answer: the other side closed");
    evaluation_release(&done);
    return e;
}

int evaluate_role(int in_fd, int out_fd)
{
    struct role r = {.in_fd = in_fd, .out_fd = out_fd};
    struct fault f = {0};
    enum err e = registry_load(&r.registry, home_dir(), &f);
    if (e == ERR_NONE) {
        e = read_request(&r, &f);
        if (e == ERR_NONE)
            e = serve(&r, &f);
        submission_release(&r.submission);
        registry_release(&r.registry);
    }
    json_decref(r.document);
    free(r.source);
    if (e != ERR_NONE)
        log_error("cannot evaluate", "reason=\"%s\"", f.detail);
    return e == ERR_NONE ? 0 : 1;
}
