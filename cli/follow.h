/* SPDX-License-Identifier: Apache-2.0
 * Waits for a submission's verdict: progress by event stream, the truth by GET, and polling where
 * streams do not get through. */
#ifndef CLI_FOLLOW_H
#define CLI_FOLLOW_H

#include <stdio.h>

#include "cli/client.h"

enum { FOLLOW_DEFAULT_S = 3600 };

/* Returns the finished (or, after timeout_s, the unfinished) submission in *out: new reference. Progress
 * goes to `progress` unless that is NULL. An outage of the server of up to a minute is waited out. */
enum err follow(struct client *c, const char *id, FILE *progress, long timeout_s, json_t **out,
                struct fault *f);

#endif
