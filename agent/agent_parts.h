/* SPDX-License-Identifier: Apache-2.0
 * The agent as its loop (agent.c) and its business with the database (agent_queue.c) see it. */
#ifndef AGENT_AGENT_PARTS_H
#define AGENT_AGENT_PARTS_H

#include "agent/agent.h"
#include "agent/hand.h"

struct agent {
    const struct agent_config *config;
    char name[LIMIT_WORKER_NAME], host[80];
    int signals, stop_asked; /* 1: drain; 2: give back what is in hand */
    int64_t stop_ms;         /* when draining is over */
    struct bench bench;
    struct listener *listener; /* core/db/listen.h */
    struct lane *lanes;        /* one for each provider */
    struct hand *hands;
    bool hinted, introduced, idle;
    int64_t claim_due, beat_due, reap_due;
};

/* A wait of about `ms`, so that agents do not move in step. */
int64_t agent_jittered(int64_t ms);
/* NULL: no provider of ours has that lane. */
struct lane *agent_lane(const struct agent *a, const char *name);
bool agent_may_claim(const struct agent *a);

/* Signs of life, with the lanes that are served. */
enum err agent_introduce(struct agent *a, struct fault *f);
/* Takes jobs as long as there are some and calls may begin. */
enum err agent_claim(struct agent *a, struct fault *f);
/* Renews all leases, and stops what is not ours any more. */
enum err agent_beat(struct agent *a, struct fault *f);
/* Looks for jobs of agents and workers that are lost. */
enum err agent_reap(struct agent *a, struct fault *f);

#endif
