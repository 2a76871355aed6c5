/* SPDX-License-Identifier: Apache-2.0
 * The check behind submission.options. Used by core/submission.c alone. */
#ifndef CORE_SUBMISSION_OPTIONS_H
#define CORE_SUBMISSION_OPTIONS_H

#include "core/submission.h"

/* Adds a fault for each entry of `options` (an array or NULL) that is not in core/options.def, is
 * given twice, or does not apply to the language. */
void submission_options_check(const json_t *options, enum language language, const char *path,
                              struct faults *faults);

#endif
