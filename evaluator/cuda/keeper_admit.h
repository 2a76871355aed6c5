/* SPDX-License-Identifier: Apache-2.0
 * What a workload takes of the device's memory, with how many slots it may go, and which other one
 * gives way. Pure. */
#ifndef EVALUATOR_CUDA_KEEPER_ADMIT_H
#define EVALUATOR_CUDA_KEEPER_ADMIT_H

#include <stddef.h>
#include <stdint.h>

enum { ADMIT_SLOTS_MIN = 2, ADMIT_SLOTS_MAX = 16 };

/* Bytes of all tensors of a kind, as they are allocated. */
struct admit_sizes {
    int64_t inputs, outputs; /* of one slot */
    int64_t answers;         /* the oracle's outputs */
    int bases;               /* inputs and answers each */
    int64_t lane;            /* one redrawn answer and the sums of its comparison */
    int lanes;               /* how many are compared at a time */
};

/* Bytes with `slots` slots, and one more for checks and warm-up: inputs, the candidate's outputs
 * and the baseline's. */
int64_t admit_bytes(const struct admit_sizes *s, int slots);

/* The slots of a batch: even, at most ADMIT_SLOTS_MAX, no more than keep them within 24 GiB, and
 * such that everything fits into `budget`. 0: not even ADMIT_SLOTS_MIN do. */
int admit_slots(const struct admit_sizes *s, int64_t budget);

/* Of device memory that is free but for what is held already: how much all workloads together may
 * hold. The rest is for contexts, plans' scratch and whoever shares the device. */
int64_t admit_budget(int64_t free_bytes, int64_t held_bytes);

struct admit_entry {
    int64_t bytes;
    uint64_t used; /* larger: later */
};
/* Which entry to drop, so that `need` more bytes come to fit into `budget`: the one not used for
 * longest. ADMIT_FITS: none has to; ADMIT_NEVER: it does not fit into an empty budget either. */
enum { ADMIT_FITS = -1, ADMIT_NEVER = -2 };
int admit_victim(const struct admit_entry *entries, size_t count, int64_t need, int64_t budget);

#endif
