/* SPDX-License-Identifier: Apache-2.0
 * Device memory between guard pages, shared between processes. A tensor lives in a block: physical
 * memory of whole granules (2 MiB), exported as a file descriptor by the keeper and imported by others.
 * Every process maps it at a random address with at least one unmapped granule before and behind, so that
 * an access past either end faults. A tensor that does not fill its granules leaves slack: "start"
 * placement puts it behind the first slack byte 0, "end" placement against the guard behind it, as far as
 * the alignment of 256 bytes allows that cudaMalloc promises; the keeper fills the slack with canaries.
 *
 * Both sides share the rule: address = base + memory_offset(size, bytes, place); nothing else is agreed upon. */
#ifndef EVALUATOR_CUDA_MEMORY_H
#define EVALUATOR_CUDA_MEMORY_H

#include "evaluator/cuda/driver.h"

enum memory_access { MEMORY_READ_ONLY, MEMORY_READ_WRITE };
enum memory_place { MEMORY_START, MEMORY_END };
enum memory_side { MEMORY_AHEAD, MEMORY_BEHIND };
enum { MEMORY_ALIGN = 256 };

/* Physical memory. `{0}` is none. */
struct memory_block {
    CUmemGenericAllocationHandle handle;
    size_t size; /* whole granules */
};

/* A block (or nothing) seen at an address. `{0}` is none. */
struct memory_map {
    CUdeviceptr reserved; /* guards included */
    size_t reserved_size;
    CUdeviceptr base; /* of the mapping */
    size_t size;      /* of the mapping: whole granules */
    CUdeviceptr address; /* of the tensor's first byte */
    size_t bytes;        /* of the tensor */
    size_t open[2];      /* bytes of the guard on either side that are mapped too: enum memory_side */
};

/* A part of a mapping that belongs to no tensor. */
struct memory_range {
    CUdeviceptr address;
    size_t bytes; /* may be 0 */
};

/* Granules that `bytes` take, in bytes (at least one). */
size_t memory_size(const struct driver_device *d, size_t bytes);
/* Where the tensor begins in its mapping. */
size_t memory_offset(size_t size, size_t bytes, enum memory_place place);

/* `exportable`: others may get it. ERR_NO_MEMORY if the device is full. */
enum err memory_create(struct memory_block *out, const struct driver_device *d, size_t bytes,
                       bool exportable, struct fault *f);
/* A new descriptor that stands for the block (close-on-exec); caller closes it. */
enum err memory_export(const struct memory_block *b, int *fd, struct fault *f);
/* The block behind a descriptor, which stays the caller's. `bytes` must be what it was created for. */
enum err memory_import(struct memory_block *out, const struct driver_device *d, int fd, size_t bytes,
                       struct fault *f);
void memory_release(struct memory_block *b); /* mappings keep what they map */

enum err memory_map(struct memory_map *out, const struct driver_device *d,
                    const struct memory_block *b, size_t bytes, enum memory_place place,
                    enum memory_access access, struct fault *f);
enum err memory_protect(struct memory_map *m, const struct driver_device *d,
                        enum memory_access access, struct fault *f);
/* Maps memory of no meaning over the nearest granule of a guard, so that what reaches there does not
 * fault any more. Once a side. */
enum err memory_open_guard(struct memory_map *m, const struct driver_device *d,
                           enum memory_side side, struct fault *f);
void memory_unmap(struct memory_map *m);

/* The slack before and behind the tensor, for canaries. */
void memory_slack(const struct memory_map *m, struct memory_range out[2]);

/* create + map of memory that no other process sees (scratch, flush areas). */
struct memory {
    struct memory_block block;
    struct memory_map map;
};
enum err memory_new(struct memory *out, const struct driver_device *d, size_t bytes,
                    enum memory_place place, struct fault *f);
void memory_free(struct memory *m);

#endif
