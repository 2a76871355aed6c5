/* SPDX-License-Identifier: Apache-2.0
 * The request that travels to the compile child: only what compiling and inspecting need of a plan,
 * with every expression already evaluated. Both directions live here, so they cannot drift apart. */
#ifndef EVALUATOR_COMPILE_WIRE_H
#define EVALUATOR_COMPILE_WIRE_H

#include "evaluator/compile.h"

struct wire_request {
    const char *options[16];         /* borrowed from `document` */
    size_t option_count;
    struct plan_define defines[LIMIT_DEFINES];
    size_t define_count;
    const char **names;              /* distinct name expressions: of the launches, then further ones */
    size_t name_count;
    struct plan_launch launches[LIMIT_LAUNCHES + LIMIT_BUFFERS]; /* kernel, block, cluster, args */
    size_t launch_count;
    json_t *document;                /* owned */
};

/* New reference. */
json_t *wire_encode(const struct compile_request *request);
/* ERR_BAD_REQUEST if it is not what wire_encode makes. Release in any case. */
enum err wire_decode(struct wire_request *out, const char *text, size_t len, struct fault *f);
void wire_release(struct wire_request *r);

#endif
