// SPDX-License-Identifier: Apache-2.0
#include "agent/hand.h"

#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/text.h"
#include "core/util.h"

enum { AGAIN_FIRST_MS = 250, AGAIN_MAX_MS = 2000 };

void hand_fault_point(const char *name)
{
    const char *wanted = getenv("PTXBENCH_AGENT_DIES");
    if (wanted && !strcmp(wanted, name))
        raise(SIGKILL);
}

struct hand *hand_new(struct bench *b, struct lane *lane, const struct step_job *job)
{
    struct hand *h = calloc(1, sizeof(*h));
    if (!h)
        return NULL;
    h->bench = b;
    h->lane = lane;
    h->job = *job;
    h->next = job->conclude ? step_conclude_begin : step_call_begin;
    buf_init(&h->answer, LLM_ANSWER_MAX);
    buf_init(&h->reasoning, LLM_ANSWER_MAX);
    buf_init(&h->feedback_text, FEEDBACK_MAX);
    h->conclusion = (struct conclusion){.inst = -1, .reasoning_tokens = -1};
    return h;
}

void hand_free(struct hand *h)
{
    if (h->talk)
        talk_cancel(h->bench->talker, h->talk);
    if (h->in_lane)
        lane_leave(h->lane);
    step_job_release(&h->job);
    json_decref(h->messages);
    buf_release(&h->answer);
    buf_release(&h->reasoning);
    buf_release(&h->feedback_text);
    extraction_release(&h->x);
    submission_release(&h->submission);
    free(h->blocks);
    free(h->errors);
    free(h->feedback);
    free(h->request);
    free(h);
}

/* Could the same call work in a moment? */
static bool is_passing(enum err e)
{
    return e == ERR_DATABASE || e == ERR_DEADLINE || e == ERR_BUSY;
}

static void put_off(struct hand *h, const struct fault *f)
{
    int64_t pause = (int64_t)AGAIN_FIRST_MS << (h->tries < 8 ? h->tries : 8);
    h->tries++;
    h->due_ms = now_ms() + (pause < AGAIN_MAX_MS ? pause : AGAIN_MAX_MS);
    log_warn("will try again", "job=%lld run=%s trajectory=%d n=%d reason=\"%s\"",
             (long long)h->job.id, h->job.run, h->job.trajectory, h->job.n, f->detail);
}

void hand_advance(struct hand *h)
{
    while (h->next && !h->done && h->due_ms <= now_ms()) {
        struct fault f = {0};
        hand_next *next = h->next;
        h->next = NULL;
        enum err e = next(h, &f);
        if (is_passing(e)) {
            h->next = next;
            put_off(h, &f);
            return;
        }
        h->tries = 0;
        if (e == ERR_NONE)
            continue;
        log_error("a step failed", "job=%lld run=%s trajectory=%d n=%d reason=\"%s\"",
                  (long long)h->job.id, h->job.run, h->job.trajectory, h->job.n, f.detail);
        snprintf(h->why, sizeof(h->why), "%s", f.detail);
        h->done = next == hand_retry; /* then its lease runs out */
        h->next = hand_retry;
    }
}

enum err hand_then(struct hand *h, hand_next *next, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(h->why, sizeof(h->why), fmt, ap);
    va_end(ap);
    text_sanitize(h->why);
    h->next = next;
    return ERR_NONE;
}

/* ---- ends ---- */

static enum err over(struct hand *h, enum err e, bool mine)
{
    h->done = e == ERR_NONE;
    if (h->done && !mine)
        log_info("the job was no longer ours", "job=%lld run=%s trajectory=%d n=%d",
                 (long long)h->job.id, h->job.run, h->job.trajectory, h->job.n);
    return e;
}

enum err hand_delay(struct hand *h, struct fault *f)
{
    bool mine = false;
    enum err e = step_delay(h->bench->db, &h->job, h->delay_ms, h->why, &mine, f);
    return over(h, e, mine);
}

static enum err fail(struct hand *h, bool retry, struct fault *f)
{
    bool mine = false;
    log_warn("a job failed", "job=%lld run=%s trajectory=%d n=%d retry=%d reason=\"%s\"",
             (long long)h->job.id, h->job.run, h->job.trajectory, h->job.n, retry, h->why);
    enum err e = step_fail(h->bench->db, &h->job, h->why, retry, &mine, f);
    return over(h, e, mine);
}

enum err hand_retry(struct hand *h, struct fault *f)
{
    return fail(h, true, f);
}

enum err hand_give_up(struct hand *h, struct fault *f)
{
    return fail(h, false, f);
}

enum err hand_conclude(struct hand *h, struct fault *f)
{
    bool mine = false;
    hand_fault_point("conclude");
    enum err e = step_conclude(h->bench->db, &h->job, &h->conclusion, &mine, f);
    hand_fault_point("concluded");
    if (e == ERR_NONE && mine)
        log_info("turn", "run=%s trajectory=%d n=%d try=%d label=%s speedup=%.4g", h->job.run,
                 h->job.trajectory, h->job.n, h->job.try_, h->conclusion.label,
                 h->conclusion.speedup);
    return over(h, e, mine);
}

/* ---- feedback ---- */

static int whole_of(const json_t *object, const char *key)
{
    return (int)json_integer_value(json_object_get(object, key));
}

struct feedback_turn hand_turn(const struct hand *h)
{
    const json_t *work = h->job.work, *best = json_object_get(work, "best"),
                 *last = json_object_get(work, "last");
    return (struct feedback_turn){
        .turn = h->job.n + 1,
        .of = whole_of(work, "turns"),
        .target_speedup = json_number_value(json_object_get(work, "target")),
        .best_turn = whole_of(best, "turn"),
        .best_speedup = json_number_value(json_object_get(best, "speedup")),
        .last_verdict = json_string_value(json_object_get(last, "verdict")),
        .last_speedup = json_number_value(json_object_get(last, "speedup")),
    };
}

enum err hand_conclusion(struct hand *h, json_t *feedback, struct fault *f)
{
    const char *style = json_string_value(json_object_get(h->job.work, "feedback"));
    int known = style ? feedback_style_find(style) : -1;
    h->feedback = feedback ? json_dumps(feedback, JSON_COMPACT) : NULL;
    if (feedback)
        feedback_render(feedback, known < 0 ? FEEDBACK_FULL : (enum feedback_style)known,
                        &h->feedback_text);
    json_decref(feedback);
    if (!h->feedback || h->feedback_text.failed)
        return fault_set(f, ERR_NO_MEMORY, "cannot write feedback: out of memory");
    h->conclusion.errors = h->errors;
    h->conclusion.feedback = h->feedback;
    h->conclusion.feedback_text = h->feedback_text.len ? h->feedback_text.data : "";
    h->next = hand_conclude;
    return ERR_NONE;
}
