/* SPDX-License-Identifier: Apache-2.0
 * The keeper's end of one `ptxbench-gpu` process: start, ask, watch, kill. While it waits, what the
 * process prints is kept up to LIMIT_LOG and the rest thrown away, and the sockets of those for
 * whom it works are watched: when one closes, the wait ends. What the answers mean is
 * keeper_answer.h's. */
#ifndef EVALUATOR_CUDA_KEEPER_CHILD_H
#define EVALUATOR_CUDA_KEEPER_CHILD_H

#include <sys/types.h>

#include "evaluator/cuda/keeper_answer.h"
#include "evaluator/wire.h"

struct keeper_child {
    pid_t pid;          /* 0: none */
    int fd;             /* frames */
    int print;          /* stdout and stderr; -1: closed */
    struct buf printed; /* since the last keeper_child_take_printed() */
    json_t *ready;      /* its "ready" event; NULL until it has come */
};

/* Sockets whose end ends every wait. */
enum { KEEPER_WATCHED = 2 };
struct keeper_watch {
    int fds[KEEPER_WATCHED];
    size_t count;
};
/* Is one of them closed at the other end? */
bool keeper_watch_ended(const struct keeper_watch *w);

/* Starts `ptxbench-gpu <role>` on the device and returns at once. */
enum err keeper_child_start(struct keeper_child *c, const char *role, int ordinal, struct fault *f);
/* Waits until it is warm and confined. `f` says what it said, or how it ended. */
bool keeper_child_ready(struct keeper_child *c, int64_t timeout_ms,
                        const struct keeper_watch *watch, struct keeper_end *end);
/* Has it not ended yet? */
bool keeper_child_alive(struct keeper_child *c);
/* Lets it die; keeper_child_stop() still has to be called. */
void keeper_child_kill(struct keeper_child *c);
/* Kills it and waits until it is gone, its memory with it. `{0}` is fine. */
void keeper_child_stop(struct keeper_child *c);

/* A request (taken) with descriptors, and the module behind it if there is one. */
struct keeper_ask {
    json_t *request;
    const int *fds;
    size_t fd_count;
    const void *cubin;
    size_t cubin_len;
};
struct keeper_wait {
    int64_t timeout_ms;
    const struct keeper_watch *watch; /* NULL: nobody */
    struct buf *capture;              /* NULL: thrown away */
};

/* Several requests may be sent before their answers are received. False with `end`. */
bool keeper_child_send(struct keeper_child *c, const struct keeper_ask *ask,
                       struct keeper_end *end);
/* The next answer, if it says "ok"; new reference. NULL with `end`: no answer in time is TIMEOUT,
 * somebody watched who is gone is CANCELLED. */
json_t *keeper_child_receive(struct keeper_child *c, const struct keeper_wait *wait,
                             struct keeper_end *end);
json_t *keeper_child_ask(struct keeper_child *c, const struct keeper_ask *ask,
                         const struct keeper_wait *wait, struct keeper_end *end);

/* Moves what was printed to the end of `out`. */
void keeper_child_take_printed(struct keeper_child *c, struct buf *out);

#endif
