// SPDX-License-Identifier: Apache-2.0
// The call of a step: messages, call, store; what comes of the answer is step_judge.c. Read it from
// its end backwards; each function is one transaction, or nothing that lasts.
#include <stdlib.h>
#include <string.h>

#include "agent/hand.h"
#include "core/json.h"
#include "core/log.h"
#include "core/messages.h"
#include "core/util.h"

enum {
    BUDGET_MS = 2000, /* calls under way end some time */
    PROGRESS_MS = 2000,
};

static hand_next store, go;

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* ---- store ---- */

static enum err after_store(struct hand *h, struct fault *f)
{
    (void)f;
    if (h->stopped) {
        h->delay_ms = 0;
        h->next = hand_delay;
        return ERR_NONE;
    }
    switch (h->ended) {
    case TALK_ANSWERED:
        h->next = step_judge;
        break;
    case TALK_BUSY:
        h->next = hand_delay;
        break;
    case TALK_CUT:
    case TALK_BROKEN:
        h->next = hand_retry;
        break;
    case TALK_REFUSED:
        h->next = hand_give_up;
        break;
    }
    return ERR_NONE;
}

static enum err store(struct hand *h, struct fault *f)
{
    bool mine = false;
    hand_fault_point("answered");
    enum err e = call_finish(h->bench->db, &h->job, h->call, &h->end, &mine, f);
    if (e != ERR_NONE)
        return e;
    buf_release(&h->reasoning);
    h->done = !mine;
    return after_store(h, f);
}

/* Takes over what came beside the texts, which h->answer and h->reasoning have. */
static void keep_answer(struct hand *h, const struct llm_answer *a, enum talk_end end)
{
    bool some = h->answer.len || h->reasoning.len;
    const struct llm_usage *u = &a->usage;
    h->ended = end;
    h->blocks = a->blocks ? json_dumps(a->blocks, JSON_COMPACT) : NULL;
    if (h->blocks && strstr(h->blocks, "\\u0000")) { /* the database takes none */
        free(h->blocks);
        h->blocks = NULL;
    }
    h->end = (struct call_end){
        .status = end == TALK_ANSWERED      ? "stored"
                  : end == TALK_CUT && some ? "partial"
                                            : "failed",
        .answer = h->answer.len ? h->answer.data : "",
        .answer_len = h->answer.len,
        .reasoning = h->reasoning.len ? h->reasoning.data : NULL,
        .reasoning_len = h->reasoning.len,
        .blocks = h->blocks,
        .finish = a->finish == LLM_NONE ? NULL : llm_finish_name(a->finish),
        .tokens_in = u->input,
        .cached = u->cached,
        .cache_write = u->cache_write,
        .tokens_out = u->output,
        .reasoning_tokens = u->reasoning,
        .usd = end == TALK_ANSWERED ? llm_cost(u, &h->model->prices) : -1,
        .error = h->why[0] ? h->why : NULL,
    };
    h->conclusion.reasoning_tokens = u->reasoning;
}

static void leave_lane(struct hand *h)
{
    h->talk = NULL;
    if (h->in_lane)
        lane_leave(h->lane);
    h->in_lane = false;
}

static void on_end(void *arg, const struct talk_result *r)
{
    struct hand *h = arg;
    leave_lane(h);
    snprintf(h->why, sizeof(h->why), "%s", r->detail);
    buf_release(&h->answer);
    buf_release(&h->reasoning);
    h->answer = r->answer->text;
    h->reasoning = r->answer->reasoning;
    buf_init(&r->answer->text, LLM_ANSWER_MAX);
    buf_init(&r->answer->reasoning, LLM_ANSWER_MAX);
    keep_answer(h, r->answer, r->end);
    h->end.http_status = r->status;
    if (r->end == TALK_BUSY)
        h->delay_ms = lane_busy(h->lane, r->retry_after_s, now_ms());
    else if (r->end == TALK_ANSWERED)
        lane_well(h->lane);
    log_info("call ended", "run=%s trajectory=%d n=%d end=%s status=%d detail=\"%s\"", h->job.run,
             h->job.trajectory, h->job.n, talk_end_name(r->end), r->status, r->detail);
    h->next = store;
}

static void on_progress(void *arg, size_t text, size_t reasoning)
{
    struct hand *h = arg;
    struct fault f = {0};
    bool mine = true;
    if (now_ms() < h->told_ms + PROGRESS_MS)
        return;
    h->told_ms = now_ms();
    enum err e = call_progress(h->bench->db, &h->job, (int64_t)text, (int64_t)reasoning, &mine, &f);
    if (e == ERR_NONE && !mine) /* an outage is no reason to stop */
        hand_stop(h, "the run was cancelled, or the lease was lost");
}

void hand_stop(struct hand *h, const char *why)
{
    if (h->next == go) { /* it has not begun, and will not */
        h->delay_ms = 0;
        hand_then(h, hand_delay, "%s", why);
    }
    if (!h->talk)
        return;
    const struct llm_answer *a = talk_answer(h->talk);
    snprintf(h->why, sizeof(h->why), "%s", why);
    buf_add(&h->answer, a->text.data ? a->text.data : "", a->text.len);
    buf_add(&h->reasoning, a->reasoning.data ? a->reasoning.data : "", a->reasoning.len);
    keep_answer(h, a, TALK_CUT);
    h->end.tokens_in = h->end.cached = h->end.cache_write = -1;
    h->end.tokens_out = h->end.reasoning_tokens = -1;
    talk_cancel(h->bench->talker, h->talk);
    leave_lane(h);
    h->stopped = true;
    h->next = store;
}

/* ---- call ---- */

/* What may be needed later of the work: not the texts that were sent. */
static void slim(struct hand *h)
{
    static const char *const sent[] = {"system", "task", "past", "stored"};
    for (size_t i = 0; i < COUNT_OF(sent); i++)
        json_object_del(h->job.work, sent[i]);
    json_decref(h->messages);
    h->messages = NULL;
}

static enum err talk(struct hand *h)
{
    struct fault why = {0};
    struct talk_request r = {
        .provider = h->lane->provider,
        .model = h->model,
        .messages = h->messages,
        .params = json_object_get(h->job.work, "params"),
        .max_output = provider_max_output(h->model, json_object_get(h->job.work, "params")),
        .trajectory = h->job.trajectory,
        .variant = (int)json_integer_value(json_object_get(h->job.work, "variant")),
        .turn = h->job.n,
        .on_progress = on_progress,
        .on_end = on_end,
        .arg = h,
    };
    h->told_ms = now_ms();
    h->talk = talk_start(h->bench->talker, &r, &why);
    if (h->talk) {
        lane_take(h->lane, now_ms());
        h->in_lane = true;
        hand_fault_point("called");
    } else {
        h->ended = why.code == ERR_NO_MEMORY ? TALK_BROKEN : TALK_REFUSED;
        hand_then(h, store, "%s", why.detail);
        h->end = (struct call_end){.status = "failed",
                                   .tokens_in = -1,
                                   .cached = -1,
                                   .cache_write = -1,
                                   .tokens_out = -1,
                                   .reasoning_tokens = -1,
                                   .usd = -1,
                                   .error = h->why};
    }
    slim(h);
    return ERR_NONE;
}

/* What a call may cost at most; 0 if the price is not known. */
static double price(const struct provider_model *m, int64_t in, int64_t out)
{
    if (m->prices.input < 0 || m->prices.output < 0)
        return 0;
    return ((double)in * m->prices.input + (double)out * m->prices.output) / 1e6;
}

static enum err go(struct hand *h, struct fault *f)
{
    enum call_leave leave = CALL_LOST;
    int64_t in = messages_tokens(h->messages);
    int64_t out = provider_max_output(h->model, json_object_get(h->job.work, "params"));
    char *text = json_canonical(h->messages);
    if (!text)
        return fault_set(f, ERR_NO_MEMORY, "cannot write messages: out of memory");
    enum err e = call_start(h->bench->db, &h->job, h->bench->name, text, strlen(text), in + out,
                            price(h->model, in, out), &leave, &h->call, f);
    free(text);
    if (e != ERR_NONE)
        return e;
    h->delay_ms = BUDGET_MS;
    h->done = leave == CALL_BUDGET || leave == CALL_LOST;
    return leave == CALL_GO     ? talk(h)
           : leave == CALL_WAIT ? hand_then(h, hand_delay, "the budget is held by calls under way")
                                : ERR_NONE;
}

static enum err stop_context(struct hand *h, struct fault *f)
{
    bool mine = false;
    enum err e = step_stop(h->bench->db, &h->job, "context", h->why, &mine, f);
    h->done = e == ERR_NONE;
    return e;
}

static enum err prepare(struct hand *h, struct fault *f)
{
    const json_t *work = h->job.work;
    const char *name = text_of(work, "model");
    int history = history_find(text_of(work, "history"));
    h->model = provider_model(h->lane->provider, name);
    if (!h->model)
        return hand_then(h, hand_give_up, "provider %s has no model %s here",
                         h->lane->provider->name, name);
    h->messages =
        messages_build(history < 0 ? HISTORY_FULL : (enum history)history, text_of(work, "system"),
                       text_of(work, "task"), json_object_get(work, "past"));
    if (!h->messages)
        return fault_set(f, ERR_NO_MEMORY, "cannot write messages: out of memory");
    int64_t out = provider_max_output(h->model, json_object_get(work, "params"));
    if (json_is_number(json_object_get(json_object_get(work, "budget"), "usd")) &&
        (h->model->prices.input < 0 || h->model->prices.output < 0))
        return hand_then(h, hand_give_up,
                         "the run has a budget in dollars, and what model %s costs is "
                         "not known here",
                         name);
    if (messages_fit(h->messages, h->model->context, out))
        return hand_then(h, go, "%s", "");
    return hand_then(h, stop_context,
                     "some %lld tokens of messages and %lld of answer do not fit a context of %lld",
                     (long long)messages_tokens(h->messages), (long long)out,
                     (long long)h->model->context);
}

enum err step_call_begin(struct hand *h, struct fault *f)
{
    const json_t *stored = json_object_get(h->job.work, "stored");
    const json_t *answer = json_object_get(stored, "answer"),
                 *tokens = json_object_get(stored, "reasoning_tokens");
    if (!json_is_string(answer))
        return prepare(h, f);
    buf_add(&h->answer, json_string_value(answer), json_string_length(answer));
    h->conclusion.reasoning_tokens = json_is_integer(tokens) ? json_integer_value(tokens) : -1;
    slim(h);
    h->next = step_judge;
    return ERR_NONE;
}
