/* SPDX-License-Identifier: Apache-2.0
 * The worker's one child: an evaluation in a process of its own, driven from the worker's poll loop
 * and never waited for. Unlike child_run() nothing here blocks, since the worker has a lease to
 * renew. */
#ifndef EVALUATOR_WORKER_CHILD_H
#define EVALUATOR_WORKER_CHILD_H

#include <poll.h>
#include <sys/types.h>

#include "core/frame.h"

enum { WORKER_CHILD_FDS = 3 };

struct worker_child {
    pid_t pid;        /* 0: none */
    int pidfd;        /* readable once it has ended */
    int in, out;      /* our ends; `in` stays open, since closing it asks the child to stop */
    struct buf input; /* frames still to write; `written` of them are gone */
    size_t written;
    struct frame_reader reader;
    bool out_closed;
};

struct worker_child_spec {
    const char *program; /* NULL: this very program in its role `evaluate` */
    const char *request; /* JSON text of FRAME_REQUEST */
    const void *source;
    size_t source_len;
    int keeper_fd; /* becomes its EVALUATE_KEEPER_FD; stays the caller's; -1: none */
};

/* Starts it with frames on stdin and stdout, in its own process group, without the worker's environment,
 * to die with its parent. */
enum err worker_child_start(struct worker_child *c, const struct worker_child_spec *spec,
                            struct fault *f);

/* What to poll for. */
void worker_child_fds(const struct worker_child *c, struct pollfd fds[WORKER_CHILD_FDS]);

/* Writes and reads what is possible without waiting. ERR_BAD_REQUEST or ERR_TOO_LARGE: what it
 * wrote is not frames. Then take frames with frame_next(&c->reader, …). */
enum err worker_child_pump(struct worker_child *c, struct fault *f);

/* Reaps it if it has ended: true with its wait status. The pipe may still hold frames: pump once
 * more. */
bool worker_child_ended(struct worker_child *c, int *status);

/* Kills the whole group. Its end shows as usual. */
void worker_child_kill(const struct worker_child *c);

/* Kills and reaps what is left, frees everything. Safe on a released one and on {0}. */
void worker_child_release(struct worker_child *c);

#endif
