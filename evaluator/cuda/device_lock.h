/* SPDX-License-Identifier: Apache-2.0
 * One device, many processes that want it: a lock that all keepers of a host share, so that nothing else
 * of ours runs while one of them measures. Shared: checks, warm-up, oracle. Exclusive: timing. It lies in
 * /tmp/ptxbench-gpu-<uuid>.lock for keepers of every user and goes with the process that holds it.
 *
 *     device_lock_open(&lock, device.uuid, f)
 *     device_lock_take(&lock, DEVICE_LOCK_EXCLUSIVE, 60000, f) … device_lock_drop(&lock)
 *
 * Nobody starves: who waits for the exclusive lock keeps newcomers of the shared one waiting. */
#ifndef EVALUATOR_CUDA_DEVICE_LOCK_H
#define EVALUATOR_CUDA_DEVICE_LOCK_H

#include <stdint.h>

#include "core/err.h"

enum device_lock_mode { DEVICE_LOCK_SHARED, DEVICE_LOCK_EXCLUSIVE };

/* `{-1, -1}` is closed. */
struct device_lock {
    int device, turn; /* descriptors, close-on-exec; the second is held while waiting for the first */
};

/* Creates the files if need be; never follows a link, never waits. ERR_UNAVAILABLE if something else lies
 * at their place or they belong to somebody who does not share them. */
enum err device_lock_open(struct device_lock *l, const char *uuid, struct fault *f);
/* ERR_DEADLINE if others hold it for longer than `timeout_ms`. Taking a lock that is held changes its mode;
 * going from shared to exclusive gives it up in between, and if that fails it is not held at all. */
enum err device_lock_take(struct device_lock *l, enum device_lock_mode mode, int64_t timeout_ms,
                          struct fault *f);
void device_lock_drop(struct device_lock *l);
void device_lock_close(struct device_lock *l);

#endif
