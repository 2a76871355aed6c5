/* SPDX-License-Identifier: Apache-2.0
 * Slots: the tensors of one launch in memory that the keeper owns and lends to runners. The keeper
 * sees every byte of them at addresses of its own; what belongs to no tensor is filled with
 * canaries. */
#ifndef EVALUATOR_CUDA_KEEPER_SLOT_H
#define EVALUATOR_CUDA_KEEPER_SLOT_H

#include "evaluator/cuda/kernels.h"

enum { SLOT_CANARY = 0xa5 };

/* What the tensors of a workload are. */
struct slot_shape {
    const struct driver_device *device; /* borrowed … */
    const struct problem *problem;
    const struct workload *workload;
    size_t bytes[LIMIT_TENSORS];
};
void slot_shape_init(struct slot_shape *s, const struct driver_device *d, const struct problem *p,
                     const struct workload *w);
/* Of all tensors of a role, as they are allocated. */
int64_t slot_shape_bytes(const struct slot_shape *s, enum tensor_role role);

struct slot_tensor {
    struct memory_block block;
    struct memory_map map; /* placed at the end */
    int fd;                /* the block, for others */
    bool own;              /* else another slot's */
};
struct slot {
    struct slot_tensor tensors[LIMIT_TENSORS];
};

/* Allocates; `like`: a slot whose inputs it shares and that outlives it, or NULL. */
enum err slot_new(struct slot *s, const struct slot_shape *shape, const struct slot *like,
                  struct fault *f);
void slot_free(struct slot *s);

/* Where tensor i begins when it is placed so. */
CUdeviceptr slot_address(const struct slot *s, size_t i, enum memory_place place);

/* Do all tensors fill their granules, so that both placements are one? */
bool slot_is_tight(const struct slot *s, const struct slot_shape *shape);

/* Queues: outputs poisoned, canaries laid around the tensors that are the slot's own. */
enum err slot_reset(const struct slot *s, const struct slot_shape *shape, enum memory_place place,
                    struct fault *f);

/* Canaries that were changed. */
struct slot_damage {
    const char *tensor; /* NULL: none */
    uint64_t bytes;     /* changed, beside that tensor */
    int64_t
        distance; /* of the nearest one from the tensor: +1 right behind it, -1 right before it */
};
/* Looks at `count` slots; waits. The first tensor found damaged is described. */
enum err slot_check(const struct slot *slots, size_t count, const struct slot_shape *shape,
                    enum memory_place place, const struct kernels *k, struct slot_damage *out,
                    struct fault *f);

#endif
