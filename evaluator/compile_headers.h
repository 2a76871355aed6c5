/* SPDX-License-Identifier: Apache-2.0
 * Headers handed to NVRTC from memory: what it lacks (arch/shims) and our own device headers
 * (core/pack.h, as "ptxbench/<name>"). Read before confinement. */
#ifndef EVALUATOR_COMPILE_HEADERS_H
#define EVALUATOR_COMPILE_HEADERS_H

#include <stddef.h>

#include "core/err.h"

struct headers {
    const char **names, **texts; /* each NULL-terminated; owned with their texts */
    size_t count;
};

/* A folder that is not there is fine. */
enum err headers_load(struct headers *out, const char *home, const char *arch, struct fault *f);

#endif
