// SPDX-License-Identifier: Apache-2.0
// A kernel that fails is a result like any other. What fails here is our machinery: that fails the
// job, which the queue retries until its attempts are spent.
#include "evaluator/worker_job.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/json.h"
#include "core/log.h"
#include "core/text.h"
#include "core/words.h"

enum { LIMIT_JOB_EVENTS = 500 };

static void results_init(struct worker_job *w)
{
    buf_init(&w->report, LIMIT_REPORT);
    buf_init(&w->ptx, LIMIT_PTX);
    buf_init(&w->cubin, LIMIT_CUBIN);
    buf_init(&w->log, LIMIT_LOGS);
}

void worker_job_release(struct worker_job *w)
{
    worker_child_release(&w->child);
    buf_release(&w->report);
    buf_release(&w->ptx);
    buf_release(&w->cubin);
    buf_release(&w->log);
    job_release_memory(&w->job);
    w->busy = false;
    w->stop = STOP_NONE;
}

/* ---- starting ---- */

/* {"device", "id", "gpu", "submission"}: what evaluate_role() reads. Caller frees. */
static char *request_text(const struct job *j, const char *device, const struct keeper *keeper,
                          struct fault *f)
{
    json_t *submission = json_parse(j->request, strlen(j->request), f);
    if (!submission)
        return NULL;
    json_t *request = json_pack("{s:s, s:s, s:O*, s:o}", "device", device, "id", j->submission_id, "gpu",
                                keeper ? keeper->device : NULL, "submission", submission);
    char *text = request ? json_dumps(request, JSON_COMPACT) : NULL;
    json_decref(request);
    if (!text)
        fault_set(f, ERR_NO_MEMORY, "cannot write the request of an evaluation");
    return text;
}

static enum err spawn(struct worker_job *w, const struct worker_config *config,
                      struct keeper *keeper, const struct buf *source, struct fault *f)
{
    char *request = request_text(&w->job, config->device, keeper, f);
    if (!request)
        return ERR_INTERNAL;
    struct worker_child_spec spec = {.program = config->evaluator, .request = request,
                                     .source = source->data, .source_len = source->len,
                                     .keeper_fd = -1};
    enum err e = keeper ? keeper_connect(keeper, &spec.keeper_fd, f) : ERR_NONE;
    if (e == ERR_NONE)
        e = worker_child_start(&w->child, &spec, f);
    if (spec.keeper_fd >= 0)
        close(spec.keeper_fd);
    free(request);
    return e;
}

static enum err fail(struct worker_job *w, const char *reason, struct fault *f)
{
    char state[16];
    enum err e = queue_fail(w->db, &w->job, reason, true, state, f);
    if (e == ERR_NONE)
        log_warn("job not delivered", "job=%lld attempt=%d state=%s reason=\"%s\"",
                 (long long)w->job.id, w->job.attempt, state[0] ? state : "lost", reason);
    return e;
}

enum err worker_job_start(struct worker_job *w, struct db *db, const struct worker_config *config,
                          struct keeper *keeper, struct fault *f)
{
    struct buf source;
    w->db = db;
    w->busy = true;
    w->stop = STOP_NONE;
    w->events = 0;
    w->device_failed = w->on_device = false;
    w->started = now_ms();
    w->budget_end = w->started + (int64_t)w->job.timeout_s * 1000;
    results_init(w);
    buf_init(&source, LIMIT_SOURCE);
    log_info("job claimed", "job=%lld attempt=%d submission=%s lane=%s", (long long)w->job.id,
             w->job.attempt, w->job.submission_id, w->job.lane);
    enum err e = queue_source(db, &w->job, &source, f);
    struct fault why = {0};
    if (e == ERR_NONE && spawn(w, config, keeper, &source, &why) != ERR_NONE)
        e = fail(w, why.detail, f);
    else if (e == ERR_NOT_FOUND)
        e = ERR_NONE; /* the lease is lost already */
    buf_release(&source);
    if (!w->child.pid)
        worker_job_release(w);
    return e;
}

void worker_job_stop(struct worker_job *w, enum worker_stop why)
{
    if (!w->busy || w->stop)
        return;
    w->stop = why;
    worker_child_kill(&w->child);
}

/* ---- frames ---- */

/* Has it come to the first stage of the device? */
static bool is_check_started(const json_t *event)
{
    const char *stage = json_string_value(json_object_get(event, "stage"));
    const char *state = json_string_value(json_object_get(event, "state"));
    return stage && state && !strcmp(stage, stage_name(STAGE_check)) && !strcmp(state, "started");
}

static enum err write_event(struct worker_job *w, const struct frame *frame, struct fault *f)
{
    json_t *event = json_parse(frame->data, frame->len, NULL);
    const char *kind = json_string_value(json_object_get(event, "kind"));
    char *text = kind && text_is_name(kind) ? json_dumps(event, JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;
    enum err e = ERR_NONE;
    w->on_device = w->on_device || is_check_started(event);
    if (text && strlen(text) <= LIMIT_EVENT && w->events < LIMIT_JOB_EVENTS) {
        w->events++;
        e = queue_event(w->db, &w->job, kind, text, f);
    }
    free(text);
    json_decref(event);
    return e;
}

static struct buf *place_of(struct worker_job *w, enum frame_kind kind)
{
    switch (kind) {
    case FRAME_RESULT:
        return &w->report;
    case FRAME_PTX:
        return &w->ptx;
    case FRAME_CUBIN:
        return &w->cubin;
    case FRAME_LOG:
        return &w->log;
    default:
        return NULL;
    }
}

static void bad_output(struct worker_job *w, const char *why)
{
    if (!w->stop)
        snprintf(w->stop_detail, sizeof(w->stop_detail), "%s", why);
    worker_job_stop(w, STOP_BAD_OUTPUT);
}

static enum err take_frames(struct worker_job *w, struct fault *f)
{
    struct frame frame;
    struct fault why = {0};
    if (worker_child_pump(&w->child, &why) != ERR_NONE)
        bad_output(w, why.detail);
    while (!w->stop && frame_next(&w->child.reader, &frame)) {
        struct buf *place = place_of(w, frame.kind);
        if (place) {
            buf_clear(place);
            buf_add(place, frame.data, frame.len);
            if (place->failed)
                bad_output(w, "the evaluation wrote more than the limit");
        } else if (frame.kind == FRAME_EVENT) {
            enum err e = write_event(w, &frame, f);
            if (e != ERR_NONE)
                return e;
        }
    }
    return ERR_NONE;
}

/* ---- settling ---- */

static void blame_device(struct worker_job *w, const char *how)
{
    w->device_failed = true;
    snprintf(w->device_detail, sizeof(w->device_detail), "%s", how ? how : "a job failed on it");
}

/* Was it a stage of the device that failed by our fault? Then its keeper is not to be trusted. */
static bool device_failed(const json_t *report)
{
    const json_t *stage;
    size_t i;
    json_array_foreach(json_object_get(report, "stages"), i, stage)
    {
        const char *state = json_string_value(json_object_get(stage, "state"));
        if (state && !strcmp(state, "failed"))
            return i >= STAGE_check;
    }
    return false;
}

/* What an instruction is missing stays missing on the next attempt. */
static bool worth_a_retry(const json_t *report)
{
    static const char permanent[] = "unsupported_instruction";
    const char *detail = json_string_value(json_object_get(report, "detail"));
    return !detail || strncmp(detail, permanent, strlen(permanent)) != 0;
}

static struct artefact artefact_of(const struct buf *b)
{
    return b->len ? (struct artefact){b->data, b->len} : (struct artefact){0};
}

static enum err deliver(struct worker_job *w, const json_t *report, const char *verdict,
                        struct fault *f)
{
    struct delivery d = {.job = &w->job,
                         .report = w->report.data,
                         .report_len = w->report.len,
                         .ptx = artefact_of(&w->ptx),
                         .cubin = artefact_of(&w->cubin),
                         .log = artefact_of(&w->log),
                         .infra = strcmp(verdict, "INFRA_ERROR") == 0,
                         .retry = worth_a_retry(report)};
    bool mine;
    struct fault why = {0};
    enum err e = store_deliver(w->db, &d, &mine, &why);
    if (d.infra && device_failed(report))
        blame_device(w, json_string_value(json_object_get(report, "detail")));
    if (e == ERR_DATABASE || e == ERR_DEADLINE)
        return fault_set(f, e, "%s", why.detail);
    if (e != ERR_NONE) /* the database refused this result: no lease of ours may hang on it */
        return fail(w, why.detail, f);
    log_info(mine ? "job delivered" : "result dropped: lease lost",
             "job=%lld attempt=%d verdict=%s wall_ms=%lld", (long long)w->job.id, w->job.attempt,
             verdict, (long long)(now_ms() - w->started));
    return ERR_NONE;
}

static enum err settle_report(struct worker_job *w, int status, struct fault *f)
{
    char reason[LIMIT_DETAIL];
    if (!w->report.len) {
        if (WIFSIGNALED(status))
            snprintf(reason, sizeof(reason), "the evaluation was killed by signal %d",
                     WTERMSIG(status));
        else
            snprintf(reason, sizeof(reason), "the evaluation ended with status %d and no report",
                     WEXITSTATUS(status));
        return fail(w, reason, f);
    }
    json_t *report = json_parse(w->report.data, w->report.len, NULL);
    const char *verdict = json_string_value(json_object_get(report, "verdict"));
    enum err e = ERR_NONE;
    if (!verdict)
        e = fail(w, "the evaluation wrote a report without a verdict", f);
    else if (strcmp(verdict, "CANCELLED") ==
             0) /* nobody asked, or the heartbeat would have said so */
        e = fail(w, "the evaluation stopped itself", f);
    else
        e = deliver(w, report, verdict, f);
    json_decref(report);
    return e;
}

static enum err settle(struct worker_job *w, int status, struct fault *f)
{
    bool mine;
    char reason[LIMIT_DETAIL];
    switch (w->stop) {
    case STOP_NONE:
        return settle_report(w, status, f);
    case STOP_CANCELLED:
        return fail(w, "cancelled on request", f);
    case STOP_LEASE_LOST:
        log_warn("lease lost", "job=%lld attempt=%d", (long long)w->job.id, w->job.attempt);
        return ERR_NONE;
    case STOP_BUDGET:
        snprintf(reason, sizeof(reason), "the evaluation took longer than %d s", w->job.timeout_s);
        blame_device(w, reason);
        return fail(w, reason, f);
    case STOP_RELEASE:
        return queue_release(w->db, &w->job, &mine, f);
    case STOP_BAD_OUTPUT:
        return fail(w, w->stop_detail, f);
    }
    return ERR_NONE;
}

enum err worker_job_advance(struct worker_job *w, struct fault *f)
{
    int status;
    bool ended =
        worker_child_ended(&w->child, &status); /* before reading: then nothing is missed */
    enum err e = take_frames(w, f);
    if (!ended || e != ERR_NONE)
        return e;
    e = settle(w, status, f);
    worker_job_release(w);
    return e;
}
