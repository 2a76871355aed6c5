/* SPDX-License-Identifier: Apache-2.0
 * The format `replay`: answers that lie in files below the provider's folder, so that a run can be
 * repeated, and tested, without a model. Numbers are those of the run's documents and count from 0;
 * a trajectory has its number in the run, not in its variant. The answer is in the first of
 *
 *   <variant>/<trajectory>/<turn>.md       0/3/7.md: variant 0, trajectory 3, turn 7
 *   <variant>/<turn>.md                    the same in all trajectories of a variant
 *   <turn>.md                              the same everywhere
 *
 * and beside it may lie <turn>.json with what else there is to tell, every member optional:
 *
 *   {"finish": "stop" | "length" | "refused" | "other" | "none",       "none": it broke off here
 *    "usage": {"input", "cached", "cache_write", "output", "reasoning", "cost_usd"},
 *    "reasoning": "…", "delay_ms": 1500}
 *
 * With a delay the text comes bit by bit. A call whose file is not there is refused. */
#ifndef AGENT_TALK_REPLAY_H
#define AGENT_TALK_REPLAY_H

#include <stddef.h>

enum { REPLAY_PATH = 64 };

/* The names that are looked for, most exact first. Pure. False: there is none of that rank. */
_Bool replay_path(size_t rank, int variant, int trajectory, int turn, const char *ending,
                  char out[REPLAY_PATH]);

#endif
