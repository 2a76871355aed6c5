/* SPDX-License-Identifier: Apache-2.0
 * `ptxbench-agent ask`: one call of a model, without a database, to see whether a provider's entry
 * works and what it answers. */
#ifndef AGENT_ASK_H
#define AGENT_ASK_H

#include <stdint.h>
#include <stdio.h>

#include "agent/providers.h"

struct ask {
    const struct providers *providers;
    const char *provider, *model;
    int64_t max_output; /* 0: what the model may at most */
};

/* Reads messages from `in`: a JSON array, or {"messages", "params"?}. Writes one JSON object to
 * `out`: {"end": "answered" | "cut" | "busy" | "broken" | "refused", "status", "retry_after_s",
 * "detail", "answer", "reasoning", "blocks", "finish", "usage": {"input", "cached", "cache_write",
 * "output", "reasoning"}, "usd"}; null is not known. The call's turn is the number of answers that
 * the messages hold, its trajectory and variant are 0. *answered: the end is. */
enum err ask(const struct ask *a, FILE *in, FILE *out, bool *answered, struct fault *f);

#endif
