/* SPDX-License-Identifier: Apache-2.0
 * One workload on the device, kept from submission to submission: slots, the oracle, and bases,
 * which are inputs with the oracle's answer to them.
 *
 * The problem's first distribution has a ring of bases. A check takes the base whose turn it is as
 * it is, and its seed is published with the report; timing redraws all of them. A base whose seed
 * is published is drawn anew before the next submission, and the turn moves on: no published seed
 * is used again, every base serves three submissions, and each of these costs one run of the oracle
 * per distribution, which the device makes while the next runner starts. */
#ifndef EVALUATOR_CUDA_KEEPER_TASK_H
#define EVALUATOR_CUDA_KEEPER_TASK_H

#include "evaluator/cuda/gpu_compare.h"
#include "evaluator/cuda/keeper_admit.h"
#include "evaluator/cuda/keeper_oracle.h"
#include "evaluator/cuda/keeper_slot.h"
#include "evaluator/cuda/redraw.h"

enum { TASK_RING = 3, TASK_LANES = 4 };

struct task_base {
    const struct distribution *distribution; /* borrowed */
    struct seed seed;
    CUdeviceptr tensors[LIMIT_TENSORS]; /* outputs have the oracle's types; nobody else maps them */
    bool published;
};

/* Compares one output at a time, beside the other lanes. */
struct task_lane {
    struct gpu_comparer comparer;
    CUdeviceptr answer; /* room for a redrawn answer */
};

struct keeper_task {
    const struct keeper_gpu *gpu; /* borrowed … */
    const struct problem *problem;
    const struct workload *workload;
    struct slot_shape shape;
    struct keeper_oracle oracle;
    int slots;                                                         /* of a batch */
    struct slot candidate[ADMIT_SLOTS_MAX], baseline[ADMIT_SLOTS_MAX]; /* the same inputs */
    struct slot dummy, dummy_baseline;                                 /* likewise */
    struct task_base ring[TASK_RING];
    size_t turn;
    struct task_base others[LIMIT_DISTRIBUTIONS]; /* of distribution 1 and so on */
    struct task_lane lanes[TASK_LANES];
    json_t *plan;           /* the runner's answer to "plan"; NULL: not yet chosen */
    json_t *baseline_check; /* compare_json() of what the baseline answers; NULL: not yet */
    int64_t bytes;          /* of device memory */
    uint64_t used;          /* the cache's */
};

/* Bytes with that many slots: see admit_bytes(). */
void keeper_task_sizes(const struct keeper_gpu *g, const struct problem *p,
                       const struct workload *w, struct admit_sizes *out);

/* Allocates everything and draws all bases. On failure nothing is held. */
enum err keeper_task_open(struct keeper_task *t, const struct keeper_gpu *g,
                          const struct problem *p, const struct workload *w, int slots,
                          struct oracle_code *code, struct fault *f);
void keeper_task_close(struct keeper_task *t);

/* The base that a check on distribution d takes. */
struct task_base *keeper_task_base(struct keeper_task *t, size_t d);
/* Queues: published bases are drawn anew. */
enum err keeper_task_renew(struct keeper_task *t, struct fault *f);

/* How one slot was drawn. */
struct task_draw {
    struct redraw_keys keys;
    const struct task_base *base;
};
/* Queues: the first `slots` slots get inputs redrawn from the ring by fresh keys, and their
 * outputs, the baseline's too, poison. `round`: another one gives a slot another base. */
enum err keeper_task_draw(struct keeper_task *t, int slots, size_t round,
                          struct task_draw out[ADMIT_SLOTS_MAX], struct fault *f);

/* What a comparison of output i on distribution d needs to know. `shape` must live with it. */
struct compare_task keeper_task_compare(const struct keeper_task *t, size_t i,
                                        const struct distribution *d, int64_t shape[LIMIT_DIMS]);

/* Queues: the inputs of a base into a slot. */
enum err keeper_task_copy_inputs(const struct keeper_task *t, const struct task_base *b,
                                 const struct slot *s, enum memory_place place, struct fault *f);

#endif
