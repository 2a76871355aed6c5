/* SPDX-License-Identifier: Apache-2.0
 * What the ways of talking share; used by agent/talk*.c alone. A way starts a call, is told when
 * its descriptors are ready or its time has come, and says how the call ended; agent/talk.c does
 * the rest: callbacks, clean texts, details without keys. */
#ifndef AGENT_TALK_PARTS_H
#define AGENT_TALK_PARTS_H

#include "agent/fetch.h"
#include "agent/talk.h"

enum { TALK_NEVER = -1 };

struct talk_way {
    const char *format; /* of the provider; NULL: every other */
    /* Begins the call, or ends it at once with talk_end(). */
    enum err (*start)(struct talk *k, struct fault *f);
    void (*ready)(struct talk *k);   /* one of its descriptors in talker.epoll is; may be NULL */
    void (*due)(struct talk *k);     /* due_ms has come; may be NULL */
    void (*release)(struct talk *k); /* stops what still runs, frees `own`; `own` may be NULL */
};
extern const struct talk_way talk_http, talk_replay, talk_script;

struct talker {
    struct fetcher *fetcher;
    int epoll; /* of descriptors that belong to calls; their data.ptr is the call */
    struct talk *talks;
    size_t running;
};

struct talk {
    struct talk *next;
    struct talker *talker;
    const struct talk_way *way;
    struct talk_request request; /* messages and params only within start() */
    struct buf key;              /* the provider's, so that no detail holds it */
    struct llm_answer answer;
    int64_t due_ms; /* by now_ms(); TALK_NEVER */
    bool progressed, ended, ready;
    struct talk_result result;
    char detail[LIMIT_DETAIL];
    void *own;
};

/* How the call ended; the first word counts. */
__attribute__((format(printf, 3, 4))) void talk_ended(struct talk *k, enum talk_end end,
                                                      const char *fmt, ...);

/* Reads what replay files and programs tell of an answer into `a`: {"text": "…", "reasoning": "…",
 * "finish": "stop" | "length" | "refused" | "other" | "none", "usage": {"input", "cached",
 * "cache_write", "output", "reasoning", "cost_usd"}, "delay_ms": 0}. Members that are absent change
 * nothing; `delay_ms` may be NULL. False with the reason in `f`. */
bool talk_read_told(const json_t *told, struct llm_answer *a, int64_t *delay_ms, struct fault *f);

#endif
