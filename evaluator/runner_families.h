/* SPDX-License-Identifier: Apache-2.0
 * Which instruction family of an architecture a PTX instruction belongs to: what a disassembler
 * reads from SASS opcodes on hardware, said in PTX for the CPU device. */
#ifndef EVALUATOR_RUNNER_FAMILIES_H
#define EVALUATOR_RUNNER_FAMILIES_H

#include "evaluator/runner_rig.h"

/* Name of the family of an instruction form ("wgmma.mma_async.sync.aligned…"), or NULL. */
const char *family_of_form(const char *form);

/* Adds the counts of one launch. */
void families_add(struct rig_counts *counts, const struct arch *arch,
                  const struct ptxvm_counts *launch);

#endif
