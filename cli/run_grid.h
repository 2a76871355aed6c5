/* SPDX-License-Identifier: Apache-2.0
 * What people see of a run: what it is, a row per trajectory with a column per turn, what it has
 * spent. And how the events of a run change its document, so that what is seen needs no new
 * question. */
#ifndef CLI_RUN_GRID_H
#define CLI_RUN_GRID_H

#include <jansson.h>
#include <stdbool.h>

#include "core/buf.h"

struct grid_room {
    int lines, columns; /* at most so many, of so many characters; 0: no limit */
    bool colour;
};

/* Appends lines that end with a newline; what does not fit is left out: of the turns the first, of
 * the trajectories the last. Returns how many lines. `run`: GET /v1/runs/{id}, events applied. */
int grid_draw(struct buf *out, const json_t *run, const struct grid_room *room);

/* Applies one event to the document. Kinds that are not known change nothing. */
void grid_apply(json_t *run, const char *kind, const json_t *data);

/* One event as one line without a newline, such as "t3 n2 feedback correct 0.871". */
void grid_event_line(struct buf *out, const char *kind, const json_t *data);

#endif
