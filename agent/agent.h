/* SPDX-License-Identifier: Apache-2.0
 * The agent: drives the steps of agent runs that are queued on the lanes of this host's providers.
 * One thread: a poll loop over the calls under way, the database's notifications and signals. What
 * it holds it can lose at any time: every step is stored before the next, and a job whose lease
 * runs out is done again by whoever claims it, an answer that is stored never paid again. */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include <stdbool.h>

#include "agent/providers.h"

struct agent_config {
    const char *database, *home; /* conninfo; folder of problems/ and arch/ */
    const struct providers *providers;
    int concurrency; /* calls under way, all providers together */
    int lease_ms, beat_ms, poll_ms, reap_ms;
    int grace_ms; /* after the first SIGTERM calls may go on for so long */
    bool exit_when_idle;
};

/* Returns after SIGTERM or SIGINT, or idle. The first signal ends claiming, and calls under way are
 * finished, for grace_ms at most; then, or at a second signal, they are given back with what they
 * have. An error means that it could not begin. */
enum err agent_run(const struct agent_config *c, struct fault *f);

#endif
