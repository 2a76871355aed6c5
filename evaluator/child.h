/* SPDX-License-Identifier: Apache-2.0
 * Runs one sibling program to its end: frames in on stdin, frames out on fd 3, everything it prints
 * (stdout and stderr) kept as capped text. The child gets an environment of path variables only, and
 * one that has its heap in huge pages, no other descriptor, its own session, and dies when the thread
 * that started it dies. Reading and writing are interleaved, so neither side can block the other on a
 * full pipe. */
#ifndef EVALUATOR_CHILD_H
#define EVALUATOR_CHILD_H

#include <stdbool.h>
#include <stdint.h>

#include "core/frame.h"

enum { CHILD_ANSWER_FD = 3 }; /* where a child program writes its frames */

struct child_input {
    enum frame_kind kind;
    const void *data; /* borrowed */
    size_t len;
};

struct child_spec {
    const char *program;            /* sibling in program_dir() */
    const char *const *arguments;   /* after the program's own name; NULL-terminated; NULL: none */
    const struct child_input *input;
    size_t input_count;
    bool hold_input;                /* stdin stays open until the child ends; else closed after input */
    int64_t timeout_ms;             /* wall clock; at its end the whole group is killed */
    int64_t memory_bytes;           /* resident ceiling of the group's leader and its children; 0: none */
    size_t output_max;              /* bytes of all frames together */
    size_t log_max;                 /* bytes of printed text kept; the rest is read and dropped */

    /* Called for every whole frame; the frame is borrowed. False stops the child: CHILD_BAD_OUTPUT. */
    bool (*on_frame)(const struct frame *frame, void *arg);
    /* Called when wake_fd is readable and at least every 100 ms. False stops the child:
     * CHILD_CANCELLED. May be NULL. */
    bool (*tick)(void *arg);
    int wake_fd; /* -1 (or 0): none; the callback must read what makes it readable */
    void *arg;
};

enum child_end {
    CHILD_EXITED,       /* code: exit status */
    CHILD_SIGNALLED,    /* code: signal */
    CHILD_TIMED_OUT,
    CHILD_OUT_OF_MEMORY, /* over memory_bytes */
    CHILD_BAD_OUTPUT,   /* not frames, over output_max, or refused by on_frame */
    CHILD_CANCELLED,
};

struct child;

struct child_result {
    enum child_end end;
    int code;
    int64_t wall_ms, cpu_ms, max_rss_bytes;
    struct buf log; /* owned; printed text, raw bytes */
    bool log_cut;
};

/* Blocks until the child is gone and reaped, whatever happens. ERR_NONE if it was started: how it ended
 * is in `out`. Release `out` in any case. Safe from several threads at once. */
enum err child_run(const struct child_spec *spec, struct child_result *out, struct fault *f);
void child_result_release(struct child_result *r);

/* The same in parts, on one thread: a child that starts with part of its input while the caller does
 * something else. Nobody watches it until child_wait(), which takes it to its end: deadline, ceilings
 * and callbacks begin there, and what does not fit into a pipe waits there. NULL with a fault: it was
 * not started. What `spec` points to must stay until then. */
struct child *child_start(const struct child_spec *spec, struct fault *f);
/* More input. False: out of memory. */
bool child_add(struct child *c, enum frame_kind kind, const void *data, size_t len);
/* Release `out` in any case. */
void child_wait(struct child *c, struct child_result *out);
void child_free(struct child *c); /* kills what was not waited for; NULL is fine */

/* One clause for logs and reports: "exited with status 3", "was killed by signal 9 (Killed)". */
const char *child_describe(const struct child_result *r, char *out, size_t size);

#endif
