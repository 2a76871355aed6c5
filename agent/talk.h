/* SPDX-License-Identifier: Apache-2.0
 * One call of a model by whatever way its provider has: HTTP (agent/talk_http.c), answers in files
 * (talk_replay.c), a program (talk_script.c). All share one thread: talk_wait() moves every call
 * forward and runs their callbacks. */
#ifndef AGENT_TALK_H
#define AGENT_TALK_H

#include <poll.h>

#include "agent/llm.h"
#include "agent/providers.h"

enum talk_end {
    TALK_ANSWERED, /* a whole answer */
    TALK_CUT,      /* it began and broke off: what came is in the answer; usage is not known */
    TALK_BUSY,     /* not now: 429, 503, overloaded; see retry_after_s */
    TALK_BROKEN,   /* no connection, 5xx, nonsense, too large, too slow: another try may help */
    TALK_REFUSED,  /* a wrong key, model or request: another try will not help */
};
const char *talk_end_name(enum talk_end e); /* "answered" */

struct talk_result {
    enum talk_end end;
    int status;                /* HTTP; 0: none */
    int64_t retry_after_s;     /* as asked; 0: it was not */
    const char *detail;        /* why, if not TALK_ANSWERED; holds no key. The callee's */
    struct llm_answer *answer; /* the callee's; may be half. Its texts are UTF-8 without NUL */
};

struct talk_request {
    const struct provider *provider; /* these two are borrowed until the end */
    const struct provider_model *model;
    const json_t *messages, *params; /* borrowed until talk_start() returns */
    int64_t max_output;
    /* Where the call stands, for replay: files are chosen by it. */
    int trajectory, variant, turn;
    /* Something more came: bytes of text and of reasoning so far. May be NULL. */
    void (*on_progress)(void *arg, size_t text, size_t reasoning);
    void (*on_end)(void *arg, const struct talk_result *result);
    void *arg;
};

struct talker;
struct talk;

struct talker *talker_new(struct fault *f); /* one per process and thread */
void talker_free(struct talker *t);         /* ends every call without a callback */

/* Starts a call; it ends with exactly one on_end, from talk_wait(), never from here. NULL: it
 * cannot even begin. */
struct talk *talk_start(struct talker *t, const struct talk_request *r, struct fault *f);
void talk_cancel(struct talker *t, struct talk *k); /* at once, without on_end */
/* What has come of a call that goes on, its texts as above. Valid until it ends. */
const struct llm_answer *talk_answer(struct talk *k);

/* Waits for calls, for one of `fds` (revents are filled in) or for timeout_ms, and runs callbacks,
 * which may start and cancel calls. At most TALK_FDS fds; only POLLIN is looked at. */
enum { TALK_FDS = 7 };
enum err talk_wait(struct talker *t, struct pollfd *fds, size_t count, int timeout_ms,
                   struct fault *f);
size_t talk_running(const struct talker *t);

#endif
