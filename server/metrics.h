/* SPDX-License-Identifier: Apache-2.0
 * Counters of this process, and /metrics in Prometheus' text format: one table row per metric. */
#ifndef SERVER_METRICS_H
#define SERVER_METRICS_H

#include "server/request.h"

struct metrics;

struct metrics *metrics_new(void);
void metrics_free(struct metrics *m);

/* Counts one answer. `route` is a route_index; busy_ms leaves waits of ?wait= out. */
void metrics_request(struct metrics *m, size_t route, int status, int64_t busy_ms);

handler_fn metrics_get;

#endif
