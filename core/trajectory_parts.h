/* SPDX-License-Identifier: Apache-2.0
 * Shared by the files of core/trajectory*.c. */
#ifndef CORE_TRAJECTORY_PARTS_H
#define CORE_TRAJECTORY_PARTS_H

#include "core/json.h"
#include "core/trajectory.h"

/* Members of a run that are told of it in a file and do not change once it is done. */
extern const char *const trajectory_run_members[];

/* The members that `fields` names, in that order, null where there is none; others are left out.
 * Every fault is added. New reference; never NULL but for lack of memory. Offsets of the fields
 * are not used. */
json_t *trajectory_checked(const json_t *object, const struct json_field *fields, size_t count,
                           const char *path, struct faults *faults);

/* "2026-11-30T09:44:21.5+00:00" as seconds since 1970; false if it is none. And back: null for what
 * is no time of the years 1970 to 9999. */
bool trajectory_seconds(const char *text, double *out);
json_t *trajectory_time(double seconds);

/* Adds a fault if the member is a text and no time. */
void trajectory_check_time(const json_t *object, const char *name, const char *path,
                           struct faults *faults);

/* The run that a document is of, what the importer says filled in. New reference. */
json_t *trajectory_run(const struct registry *r, const struct trajectory_import *given,
                       const json_t *info, const char *path, struct faults *faults);

/* The steps of a file's conversation and its others, by n and try. New reference. `turns`: how many
 * of them are turns. */
json_t *trajectory_steps(const json_t *messages, const json_t *others, const char *path,
                         size_t *turns, struct faults *faults);

/* The step of a turn of which the file tells only what the paper's agent writes. Nothing is read
 * from the text of feedback, since a kernel's own output is in it. New reference. */
json_t *trajectory_guess(const json_t *answer, const json_t *feedback, json_int_t n);

/* What a message says, if it is text or a list of such parts; NULL with a fault. New reference. */
json_t *trajectory_content(const json_t *message, size_t most, const char *path,
                           struct faults *faults);

#endif
