/* SPDX-License-Identifier: Apache-2.0
 * The command line of eval and submit as the JSON body of a submission. */
#ifndef CLI_BODY_H
#define CLI_BODY_H

#include <jansson.h>

#include "core/err.h"

/* An option that becomes a text member. */
struct body_text {
    int row; /* in `values` */
    const char *member;
    const char *otherwise; /* if the option is not given; NULL: no member then */
};

struct body_files {
    const char *source;  /* "-": standard input */
    const char *launch;  /* launch plan; NULL: none */
    const char *options; /* compiler options, separated by commas; NULL: none */
};

/* Fills the object `body`. Judges nothing but that texts are UTF-8 and the plan is JSON. */
enum err body_build(const struct body_files *files, const struct body_text *texts, size_t count,
                    const char *const *values, json_t *body, struct fault *f);

#endif
