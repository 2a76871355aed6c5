/* SPDX-License-Identifier: Apache-2.0
 * The messages of one call, made from what a trajectory has seen so far. Pure. */
#ifndef CORE_MESSAGES_H
#define CORE_MESSAGES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Which of the past a call carries.
 *   full         system, task, then every answer and its feedback
 *   latest-pair  system, task, the last answer, its feedback
 *   single-user  system, then one user message: task, answers and feedback joined */
enum history { HISTORY_FULL, HISTORY_LATEST_PAIR, HISTORY_SINGLE_USER };

/* -1: no such policy. */
int history_find(const char *name);
const char *history_name(enum history h);

/* `past`: [{"answer": "…", "blocks": […] | null, "feedback": "…"}], oldest first. What an answer
 * thought goes back only in the blocks that its provider signed. New reference: [{"role",
 * "content", "blocks"?}]; NULL: out of memory. */
json_t *messages_build(enum history h, const char *system, const char *task, const json_t *past);

/* Tokens of the messages: tokenizer_estimate() of their texts, and MESSAGE_TOKENS for the frame
 * that a provider puts around each. An estimate; the provider's own count comes with its answer. */
enum { MESSAGE_TOKENS = 8 };
int64_t messages_tokens(const json_t *messages);

/* Does the call fit a context of `context` tokens with `output` tokens for the answer? With
 * `context` 0 (unknown) everything fits. */
bool messages_fit(const json_t *messages, int64_t context, int64_t output);

#endif
