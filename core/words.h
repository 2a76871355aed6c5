/* SPDX-License-Identifier: Apache-2.0
 * The closed vocabularies: verdicts, flags, stages, submission states. One row each in a .def file. */
#ifndef CORE_WORDS_H
#define CORE_WORDS_H

#include <jansson.h>

enum verdict {
#define VERDICT(name, exit_code, fault_of, label, meaning) VERDICT_##name,
#include "core/verdicts.def"
#undef VERDICT
    VERDICT_COUNT
};

const char *verdict_name(enum verdict v);
const char *verdict_meaning(enum verdict v);
int verdict_exit_code(enum verdict v); /* of `ptxbench eval` and `submit --wait` */
int verdict_find(const char *name);    /* enum verdict, or -1 */

enum flags {
#define FLAG(name, bit, meaning) FLAG_##name = 1 << (bit),
#include "core/flags.def"
#undef FLAG
};

/* Set bits as a JSON array of names; caller owns it. */
json_t *flags_names(unsigned flags);

enum stage {
#define STAGE(name, summary) STAGE_##name,
#include "core/stages.def"
#undef STAGE
    STAGE_COUNT
};

const char *stage_name(enum stage s);
const char *stage_summary(enum stage s);

#endif
