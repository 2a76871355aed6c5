/* SPDX-License-Identifier: Apache-2.0
 * Shared by the files of server/api_run*.c. */
#ifndef SERVER_RUN_PARTS_H
#define SERVER_RUN_PARTS_H

#include "core/json.h"
#include "server/request.h"

/* A run of the store as answers show it: with `url`, `events`, `export`, and while it runs with
 * `lane`, from which can be seen whether anybody serves it. Takes `document`, gives it back. */
json_t *run_shape(struct request *r, json_t *document);
/* {"name": "llm/<provider>", "healthy", "workers"}; new reference or NULL with r->fault. */
json_t *run_lane(struct request *r, const char *provider);

/* The request's body as JSON, kept; {} if there is none and `may_lack`. ERR_CONTENT_TYPE for a body
 * that does not say that it is JSON. */
enum err run_body(struct request *r, bool may_lack, json_t **out);

/* The trajectory that the address names. ERR_NOT_FOUND for a number no run has. */
enum err run_trajectory_number(struct request *r, int *out);

/* ERR_INVALID if a private run would be nobody's. */
void run_check_private(struct request *r, bool is_private, const char *path);

#endif
