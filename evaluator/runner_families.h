/* SPDX-License-Identifier: Apache-2.0
 * Which instruction family of an architecture a PTX instruction belongs to: what a disassembler
 * reads from SASS opcodes on hardware, said in PTX for the CPU device. */
#ifndef EVALUATOR_RUNNER_FAMILIES_H
#define EVALUATOR_RUNNER_FAMILIES_H

#include "evaluator/runner_rig.h"

/* Name of the family of an instruction form ("wgmma.mma_async.sync.aligned…"), or NULL. */
const char *family_of_form(const char *form);

/* FLOPs of one warp instruction of a form with a shape ("…m16n8k16…"), multiplications and
 * additions; a warpgroup's instruction is shared by its four warps. 0: the form has none. */
double flops_of_form(const char *form);

/* Adds the counts of one launch. */
void families_add(struct rig_counts *counts, const struct arch *arch,
                  const struct ptxvm_counts *launch);

/* {"thread_instructions", "warp_instructions", "ctas", "by_family": {"gmma": {"warps", "threads"},
 * …, "other": {…}}, "by_instruction": [{"name", "warps", "threads"}]}: the families of the arch and
 * all else; the COUNTED_FORMS instructions of the most threads, and those of a family in any case.
 * New reference. */
enum { COUNTED_FORMS = 48 };
json_t *rig_counts_json(const struct rig_counts *counts, const struct arch *arch);
/* The families of the arch alone, for the report's "target". New reference. */
json_t *rig_families_json(const struct rig_counts *counts, const struct arch *arch);

#endif
