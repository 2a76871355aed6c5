/* SPDX-License-Identifier: Apache-2.0
 * One job in hand. What comes next with it is a function, which either waits for the model, names
 * the next function, or is done; one that the database did not answer is called again later, so
 * that an answer that was paid outlives an outage. Used by the agent's loop and its steps alone. */
#ifndef AGENT_HAND_H
#define AGENT_HAND_H

#include "agent/lanes.h"
#include "agent/talk.h"
#include "core/db/runs.h"
#include "core/feedback.h"
#include "core/submission.h"

struct hand;
typedef enum err hand_next(struct hand *h, struct fault *f);

/* What hands need of the agent. */
struct bench {
    const char *name; /* of the agent */
    const struct providers *providers;
    struct registry registry;
    struct db *db;
    struct talker *talker;
};

struct hand {
    struct hand *sibling; /* the agent's list */
    struct bench *bench;
    struct lane *lane;
    struct step_job job;
    hand_next *next; /* NULL: waits for the model, or is done */
    bool done, in_lane;
    int64_t due_ms; /* of the next try */
    int tries;      /* of `next` that the database did not answer */

    struct talk *talk; /* the call under way */
    const struct provider_model *model;
    json_t *messages;      /* until the call has begun */
    int64_t call, told_ms; /* its row; when its progress was told last */
    enum talk_end ended;   /* how it ended */
    bool stopped;          /* by hand_stop() */

    struct buf answer, reasoning; /* what came */
    struct call_end end;
    char *blocks;
    char why[LIMIT_DETAIL];
    int64_t delay_ms; /* of hand_delay */

    struct extraction x;          /* what was made of it */
    struct conclusion conclusion; /* its texts are the next three */
    char *errors, *feedback;
    struct buf feedback_text;
    struct submission submission;
    char *request; /* the submission's document */
};

/* Begins with a job that has been claimed; takes it over. NULL: out of memory. */
struct hand *hand_new(struct bench *b, struct lane *lane, const struct step_job *job);
void hand_free(struct hand *h);
/* Does what can be done now. */
void hand_advance(struct hand *h);
/* Ends a call under way, if there is one: what has come of it is stored, and the job goes back to
 * the queue, if it is still ours. */
void hand_stop(struct hand *h, const char *why);

/* ---- the steps: each the first of its file ---- */
hand_next step_call_begin;     /* messages, call, store: step_call.c */
hand_next step_judge;          /* of an answer that is stored: extract, submit: step_judge.c */
hand_next step_conclude_begin; /* label, feedback, conclude: step_conclude.c */

/* Names what comes next, and why. */
__attribute__((format(printf, 3, 4))) enum err hand_then(struct hand *h, hand_next *next,
                                                         const char *fmt, ...);

/* ---- ends that several steps have ---- */
hand_next hand_delay;    /* back to the queue for delay_ms */
hand_next hand_retry;    /* another attempt, because of `why` */
hand_next hand_give_up;  /* none would help, because of `why` */
hand_next hand_conclude; /* with `conclusion` */

/* What feedback says about where the turn stands. */
struct feedback_turn hand_turn(const struct hand *h);
/* Renders `feedback` (taken over) into the conclusion and names what comes next. */
enum err hand_conclusion(struct hand *h, json_t *feedback, struct fault *f);

/* The process dies here if a test wants it to. */
void hand_fault_point(const char *name);

#endif
