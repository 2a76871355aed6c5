/* SPDX-License-Identifier: Apache-2.0
 * Frames of core/frame.h over a Unix stream socket, file descriptors riding on the first byte of the frame
 * that names them. What a worker says to a keeper is in evaluator/keeper.h; here is how the keeper talks to
 * a runner or a verifier. The child finds its end as descriptor WIRE_FD; stdin is /dev/null, stdout and
 * stderr are a pipe that the keeper reads and caps (printf of kernels, texts of assertions).
 *
 * The child speaks first, once it is warm and confined: FRAME_EVENT
 *   {"kind": "ready", "device": {"name", "uuid", "num_sms", "l2_bytes", "driver"},
 *    "sandbox": ["seccomp", …], "baseline": {"cuBLAS": "13.1.0", "cuDNN": "…"} | null}: the
 *    libraries with their versions, or why one is missing
 * or {"kind": "failed", "detail": "…"} and its end. From then on every FRAME_REQUEST gets any number of
 * FRAME_CAPTURE, then one FRAME_RESULT:
 *   {"ok": true,  "fault": null,  "sticky": false, … members of the operation}
 *   {"ok": false, "fault": {"kind", "kernel": "…" | null, "launch": 0 | null, "detail"}, "sticky": bool}
 * `fault.kind` is a word of driver_fault_kind() (the candidate's fault: RUNTIME_ERROR), "launch" (the driver
 * refused the launch: LAUNCH_ERROR), "module" (it refused the cubin: LAUNCH_ERROR), "memory" (no room for
 * the plan's buffers) or "infra" (ours). A text of an assertion is in the printed text, flushed before
 * the answer. `sticky`: the context is lost; the child answers nothing but "done" from here on. Requests:
 *
 *   {"op": "open", "problem", "workload", "arch", "launch": plan document, "symbols": {expr: symbol}}
 *        followed by one FRAME_CUBIN.
 *   {"op": "slot", "slot": 0 … WIRE_SLOTS-1, "place": "start" | "end"} with one descriptor per tensor of
 *        the problem, in ABI order: inputs are mapped read-only, outputs read-write. A slot number that
 *        is in use is replaced. "writable": true maps inputs read-write, to find out whether a kernel writes to
 *        them; "open": {"ahead": [tensor, …], "behind": […]} maps memory over the guards of these tensors, to
 *        find out whether it reaches there. The same block may be given to several slots (baseline slots share the
 *        inputs of a candidate slot and have outputs of their own).
 *   {"op": "launch", "slot": i, "side": "candidate" | "baseline", "capture": bool, "fresh": bool}
 *        runs the plan once and waits. `fresh`: in a new instance of the module (the first time always).
 *        Result: {"us": time of the plan, "captured": [{"name", "bytes"}]}, one FRAME_CAPTURE before it
 *        with the bytes of all captured buffers one after the other, cut at LIMIT_CAPTURE.
 *   {"op": "plan", "choice": "…"}   gets the baseline ready, in the way that another runner has chosen.
 *        Result: {"baseline": {"name": "cuDNN", "version": "9.19.0", "engine"?: "…", "reason"?: why no better one}}.
 *        With "slots": [i, …] instead, and before any candidate has run here, measures every way that the
 *        library offers, on these slots. Result then also: {"choice": "…", "chosen": n, "us": [time of each way]}.
 *   {"op": "warm", "candidate": slot, "baseline": slot, "ms": 300}
 *        both sides alternately until that much time has passed and the times are steady.
 *        Result: {"launches": n, "candidate_us", "baseline_us"}.
 *   {"op": "batch", "order": [["b", 0], ["c", 1], ["c", 0], ["b", 1], …], "untimed": 2,
 *    "sample_first": a, "sample_step": b}
 *        at most WIRE_ENTRIES launches behind one gate in a fresh module instance, L2 flushed before each;
 *        the first `untimed` ones warm the instance up and let the clocks settle, ahead of the gate, and are
 *        not measured; each side has to be among them (use dummy slots). What a run of the baseline has written is
 *        poisoned behind it.
 *        With a step, elements (a + i b) mod n, i < WIRE_SAMPLES, of each output are copied right behind every
 *        measured run of the candidate: one FRAME_CAPTURE, run by run and output by output.
 *        Result: {"us": [one time per entry that was measured, in order]}.
 *   {"op": "floor", "count": n}   an empty kernel measured the same way. Result: {"us": [n times]}.
 *   {"op": "split", "slot": i, "repeat": n}   every launch of the plan with events of its own.
 *        Result: {"us": [[n times] per launch of the plan]}; scratch zeroing counts to launch 0.
 *   {"op": "count", "slot": i, "launch": n}   verifier only; its result is evaluator/cuda/verifier.h's.
 *   {"op": "done"}                no result; the child ends with status 0. */
#ifndef EVALUATOR_WIRE_H
#define EVALUATOR_WIRE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/frame.h"
#include "core/limits.h"

enum { WIRE_FD = 3, WIRE_SLOTS = 64, WIRE_ENTRIES = 256, WIRE_FDS = LIMIT_TENSORS, WIRE_SAMPLES = 2048 };

struct wire_message {
    enum frame_kind kind;
    char *data; /* owned, NUL-terminated */
    size_t len;
    json_t *json; /* owned; of FRAME_REQUEST, FRAME_EVENT and FRAME_RESULT, else NULL */
    int fds[WIRE_FDS]; /* owned; -1 once taken */
    size_t fd_count;
};

/* Sends one frame with descriptors, which stay the caller's. ERR_IO: the peer is gone or does not read
 * within `timeout_ms` (-1: wait for ever). */
enum err wire_send(int fd, enum frame_kind kind, const void *data, size_t len, const int *fds,
                   size_t fd_count, int64_t timeout_ms, struct fault *f);
enum err wire_send_json(int fd, enum frame_kind kind, const json_t *value, const int *fds,
                        size_t fd_count, int64_t timeout_ms, struct fault *f);

/* Receives one frame. ERR_IO: the peer is gone; ERR_DEADLINE: nothing whole within `timeout_ms` (-1: for
 * ever); ERR_BAD_REQUEST: not frames, or over `max` bytes. Release `out` in any case. */
enum err wire_receive(int fd, struct wire_message *out, size_t max, int64_t timeout_ms,
                      struct fault *f);
void wire_message_release(struct wire_message *m);

#endif
