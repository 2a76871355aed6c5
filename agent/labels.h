/* SPDX-License-Identifier: Apache-2.0
 * What a turn came to, as one word of core/labels.def: from the structured verdict, or from what
 * kept the answer from having one; never from text. Pure. */
#ifndef AGENT_LABELS_H
#define AGENT_LABELS_H

#include <jansson.h>

#include "core/extract.h"

/* `verdict`: a name of core/verdicts.def; NULL: there is none. `report` may be NULL; it tells in
 * which stage a kernel ran out of time. */
const char *label_of_verdict(const char *verdict, const json_t *report);

/* For an answer that gives no submission; EXTRACT_KERNEL, whose plan or source was refused, is
 * "plan". */
const char *label_of_extraction(enum extract_state s);

/* As steps.extraction has it: "kernel", "no_block", … */
const char *extraction_name(enum extract_state s);

#endif
