/* SPDX-License-Identifier: Apache-2.0
 * How a child program starts: see child.h, which is for callers. */
#ifndef EVALUATOR_CHILD_SPAWN_H
#define EVALUATOR_CHILD_SPAWN_H

#include <sys/types.h>

#include "evaluator/child.h"

/* A child that runs, and our ends of its pipes: they do not block. */
struct child_ends {
    pid_t pid;
    int pidfd, in, out, log;
};

/* Starts spec->program. On an error nothing is left of it, and `out` has no open end, if it was
 * filled. */
enum err child_spawn(const struct child_spec *spec, struct child_ends *out, struct fault *f);

#endif
