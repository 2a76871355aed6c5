/* SPDX-License-Identifier: Apache-2.0
 * Published turns: from the paper's table of turns and our rules how to read it
 * (published/turns.json) to the document that turns_import() stores. Pure.
 *
 * The table is CSV with the columns model, gpu, definition, run, trajectory, turn,
 * reasoning_tokens, outcome, speedup, target_instruction, in any order. Rules: "definitions",
 * "gpus", "models"   the paper's names in ours; a name that is not there stays as it is
 *   "selections"   first match of a run's name (a shell pattern) says which prompt variants of the
 * run are in which cell; a variant in no cell is kept and not counted, for the reason in "why"
 *   "overrides"    counts that the paper prints and the turns do not give */
#ifndef CORE_PUBLISHED_H
#define CORE_PUBLISHED_H

#include <jansson.h>

#include "core/err.h"

enum { PUBLISHED_BYTES = 64 * MIB };

/* `csv` is changed (core/csv_read.h). New reference; NULL with ERR_INVALID, which names line or
 * rule. */
json_t *published_document(const json_t *rules, char *csv, size_t len, struct fault *f);

#endif
