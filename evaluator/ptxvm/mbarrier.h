/* SPDX-License-Identifier: Apache-2.0
 * The mbarrier object: 64 bits of shared memory, opaque to programs. A phase is complete when no
 * arrival and no transaction is pending; then the next begins at once. */
#ifndef EVALUATOR_PTXVM_MBARRIER_H
#define EVALUATOR_PTXVM_MBARRIER_H

#include "evaluator/ptxvm/vm.h"

enum { MBARRIER_COUNT_MAX = (1 << 20) - 1 };

struct mbarrier {
    uint32_t phase;    /* number of completed phases, modulo two */
    uint32_t expected; /* arrivals of the next phase */
    uint32_t pending;  /* arrivals that this phase still needs */
    int32_t tx;        /* bytes expected less bytes completed */
};

uint64_t mbarrier_encode(const struct mbarrier *b);
/* False: this is no mbarrier. */
bool mbarrier_decode(uint64_t bits, struct mbarrier *out);

/* One operation on the barrier at a shared address (of any CTA of the cluster): takes `arrivals`
 * from the pending ones, `drops` also from those of the phases to come, and adds `tx` to the
 * transaction count first. Wakes who waits for the phase that this completes. `before`, unless
 * NULL, gets the barrier as it was. False: stopped. */
struct mbarrier_change {
    uint32_t arrivals, drops;
    int64_t tx;
};
bool mbarrier_apply(struct warp *w, const struct op *op, int lane, uint64_t address,
                    struct mbarrier_change change, uint64_t *before);
/* Reads the barrier. False: stopped. */
bool mbarrier_read(struct warp *w, const struct op *op, int lane, uint64_t address,
                   struct mbarrier *out);

#endif
