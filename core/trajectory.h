/* SPDX-License-Identifier: Apache-2.0
 * Trajectories as files, in the mini-swe-agent 1.1 layout: what the paper's agent wrote can be read
 * here, and its tools read what we write. Pure.
 *
 * { "info": {
 *     "model_stats": {"instance_cost", "api_calls"},
 *     "config": {"agent", "agent_type", "model", "model_type", "environment", "environment_type"},
 *     "mini_version", "exit_status", "submission": source of the best kernel,
 *     "ptxbench": {"schema": 1, "run": {of core/db/runs.h what does not change}, "trajectory",
 *                  "variant", "variant_name", "tokens", "estimated", "state", "reason", "detail",
 *                  "others": [steps that are no turn of the conversation, whole]} },
 *   "messages": [system, user, then of each turn
 *     assistant: content, reasoning_content?, extra: {actions, response, cost, timestamp,
 *                ptxbench: the step, less texts that are messages},
 *     user: content, extra: {raw_output, returncode, timestamp, exception_info, event, traces,
 *           all_passed, min_speedup, target_met},
 *     exit: content, extra: {exit_status, submission, min_speedup}],
 *   "trajectory_format": "mini-swe-agent-1.1" }
 *
 * Turn n is messages[2 + 2n] and messages[3 + 2n]. A conversation whose last answer has no feedback
 * ends with it. */
#ifndef CORE_TRAJECTORY_H
#define CORE_TRAJECTORY_H

#include "core/run.h"

enum {
    TRAJECTORY_BYTES = 32 * MIB, /* of what is imported at once */
    TRAJECTORY_TRIES = 64,       /* steps of a trajectory beside its turns */
};

/* `run`: runs_get(); `trajectory`: runs_trajectory(). New reference; NULL: out of memory. */
json_t *trajectory_export(const json_t *run, const json_t *trajectory);

/* What a file says nothing of, and what is the importer's to say. NULL: nothing. */
struct trajectory_import {
    const char *problem, *workload, *arch, *device, *model, *condition, *name;
    bool is_private;
};

/* Reads one document or one a line (JSONL), all of one run, into the document that runs_import()
 * takes:
 *
 * { "run": {"id": of where it comes from | null, "source": "imported: …", "name", "problem",
 * "workload", "arch", "device", "provider", "model", "condition", "params", "history", "feedback",
 * "per_variant", "turns", "target_speedup", "budget", "visibility", "created_at", "finished_at"},
 * null: not told; never so problem and model "prompts": [{"variant", "name", "system", "task",
 * "tokens", "estimated"}], "trajectories": [{"trajectory", "variant", "reason", "detail", "steps":
 * [as runs_trajectory() gives them, by n and try]}] }
 *
 * Every member is there and checked: kinds, bounds, words of closed vocabularies, no NUL in any
 * text. Names of problems and the like need not exist here. Verdicts and labels are what the file
 * says; of a file of the paper's agent they are read from the structured fields of its feedback
 * ("event", "traces", "all_passed"), never from text. Turns of which nothing says what they came to
 * are labelled "other". False with every fault: its path begins with the line
 * ("$[2].messages[5].content") if there is more than one. `text` need not end with a NUL. New
 * reference in *out. */
bool trajectory_import(const struct registry *r, const char *text, size_t len,
                       const struct trajectory_import *given, json_t **out, struct faults *faults);

#endif
