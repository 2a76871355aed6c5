/* SPDX-License-Identifier: Apache-2.0
 * The keeper as a worker or `ptxbench eval` sees it: the one trusted process of a GPU, program
 * ptxbench-keeper. It alone knows the answers; it lends memory to runners and verifiers, which run
 * foreign code. No CUDA on this side.
 *
 *     keeper_start(&k, 0, f)          spawns and returns at once
 *     keeper_wait(&k, 60000, f)       until it is ready; k.device says on what
 *     keeper_connect(&k, &fd, f)      one connection = one submission; closing it ends its claims
 *     keeper_stop(&k)
 *
 * Control socket (descriptor WIRE_FD of the keeper; frames of evaluator/wire.h). Keeper to owner:
 *   FRAME_EVENT {"kind": "ready", "device": {"name", "uuid", "sm": 90, "num_sms", "memory_bytes",
 *                "driver": "13.0"}}
 *   FRAME_EVENT {"kind": "failed", "detail": "…"}   before it ends on its own
 *   FRAME_EVENT {"kind": "health", "state": "ok | hot | suspect", "detail": "…" | null,
 *                "temperature_c", "sm_mhz", "memory_mhz", "power_w", "throttle": ["sw_power_cap", …],
 *                "ecc_errors"}              every few seconds while idle, and after each submission;
 *                                            members that the device does not tell are null
 * Owner to keeper: FRAME_REQUEST {"op": "connect"} with the keeper's end of a new socket. The keeper ends
 * when the control socket closes. Connections are served one at a time, in the order they came.
 *
 * A connection carries, client to keeper, FRAME_REQUEST:
 *   {"op": "open", "problem", "workload", "arch", "launch": plan document,
 *    "symbols": {name expression: symbol}}   followed by one FRAME_CUBIN; answered once it is this
 *                                            connection's turn and its inputs are made
 *   {"op": "check", "ms": wall time for one run of the plan}
 *   {"op": "time", "ms": wall time for one batch}
 *   {"op": "verify", "ms": wall time for the counted run}
 * and, keeper to client, for each of them any number of FRAME_EVENT {"kind": "progress", "done",
 * "total"}, at most one FRAME_LOG (what the kernels printed, capped), at most one FRAME_CAPTURE (check
 * only), then one FRAME_RESULT:
 *   {"verdict", "flags": bits, "detail": "" or a sentence, "wall_ms",
 *    "sandbox": layers of the process that ran foreign code,
 *    members of the report that the operation knows (evaluator/report.h):
 *      check:   "seeds", "check" (with "baseline": how the baseline's outputs compare, as in "tensors"),
 *               "faults", "captures"
 *      time:    "speedup", "candidate_us", "baseline", "timing", "faults"
 *      verify:  "target": {"executed", "families": {name: {"warps", "threads"}}, "tensor_share",
 *                          "reason"}, "parts_ms": where the time of the whole submission went}
 *    A fault is {"kind", "kernel": "…" | null, "launch": 0 | null, "detail"}; "tensor" and "distance" (of the
 *    nearest byte: negative ahead of it, positive behind it) where they are known.
 * A verdict other than PASSED ends the submission: the caller closes the connection. "check" may be
 * followed by "time" and that by "verify"; "verify" may follow "check" as well. If the connection closes
 * in the middle of an operation, the keeper kills what runs for it. INFRA_ERROR with "sick": true says
 * that the keeper has lost its own context and is about to end; its owner starts another. A client takes
 * a keeper that has its turn for hung when it says nothing for four times "ms" and a minute. */
#ifndef EVALUATOR_KEEPER_H
#define EVALUATOR_KEEPER_H

#include <jansson.h>
#include <sys/types.h>

#include "core/frame.h"

struct keeper {
    pid_t pid;      /* 0: none */
    int pidfd;      /* readable once it has ended */
    int control;    /* our end; readable when it has said something */
    int ordinal;    /* of the device */
    json_t *device; /* of its "ready" event; NULL until then */
    json_t *health; /* its latest "health" event, or NULL */
    unsigned healths; /* how many there were */
    struct frame_reader said;
};

/* Spawns the keeper of device `ordinal`: a group of its own, stdin empty, its stdout and stderr our
 * stderr, path variables for an environment. ERR_UNAVAILABLE if the program is not there. */
enum err keeper_start(struct keeper *k, int ordinal, struct fault *f);

/* Waits until it is ready. ERR_UNAVAILABLE with its own words if it cannot be; ERR_DEADLINE. */
enum err keeper_wait(struct keeper *k, int64_t timeout_ms, struct fault *f);

/* Reads what it has said without waiting. ERR_UNAVAILABLE: it is gone, or about to be; ERR_BAD_REQUEST:
 * what it says makes no sense. Either way nothing is left but keeper_stop. */
enum err keeper_listen(struct keeper *k, struct fault *f);

/* A new connection; `*fd` is the caller's, close-on-exec. It may be had before the keeper is ready: then
 * it waits for it. */
enum err keeper_connect(struct keeper *k, int *fd, struct fault *f);

/* Ends it, with everything it has started. Safe on {0}. */
void keeper_stop(struct keeper *k);

#endif
