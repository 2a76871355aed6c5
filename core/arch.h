/* SPDX-License-Identifier: Apache-2.0
 * An architecture: arch/<name>/arch.json, validated on load. Read-only after loading, shared
 * freely. */
#ifndef CORE_ARCH_H
#define CORE_ARCH_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

/* One SASS family, such as "gmma": which opcodes (low 9 bits of a 16-byte instruction) belong to
 * it. */
struct sass_family {
    char name[LIMIT_NAME + 1];
    bool target;     /* counts as an architecture-specific target instruction */
    const char *ptx; /* what makes them, "wgmma.mma_async"; borrowed; NULL: not said */
    bool tensor;     /* does tensor-core FLOPs */
    uint16_t opcodes[32];
    const char *mnemonics[32]; /* parallel to opcodes: "HGMMA"; borrowed from arch.document */
    size_t opcode_count;
};

enum { LIMIT_FAMILIES = 16, LIMIT_DEVICE_MODELS = 8, LIMIT_ARCH_OPTIONS = 16 };

struct arch {
    char name[16];  /* "sm_90a" */
    int sm;         /* 90: what a cubin's e_flags must say */
    char title[64]; /* "Hopper" */
    char gpu[64];   /* the benchmark's GPU, "H100 80 GB" */
    int num_sms;    /* of that GPU; the `cpu` device models it */
    int max_threads_per_block;
    int max_shared_bytes; /* opt-in dynamic + static shared memory of a block */
    int max_cluster;      /* CTAs, portable limit 8; non-portable 16 */
    int warp_size;
    int64_t max_grid[3], max_block[3];
    double max_clock_mhz;
    double memory_bytes_per_s;
    double dense_bf16_flops; /* peak at max_clock_mhz */
    struct sass_family families[LIMIT_FAMILIES];
    size_t family_count;
    const char *devices[LIMIT_DEVICE_MODELS]; /* device models a submission may name; borrowed */
    size_t device_count;
    /* Of every compilation, next to -arch; NULL-terminated; borrowed from `document`. */
    const char *cuda_options[LIMIT_ARCH_OPTIONS + 1]; /* NVRTC */
    const char *ptx_options[LIMIT_ARCH_OPTIONS + 1];  /* ptxas */
    json_t *document;                                 /* the whole file, for GET /v1/archs/{name} */
};

/* All architectures below <home>/arch, oldest first. Loaded once; owned by the registry. */
struct archs {
    struct arch *items;
    size_t count;
};

/* Loads and validates every arch/<name>/arch.json. A fault names the file and the JSON path. */
enum err archs_load(struct archs *out, const char *home, struct fault *f);
void archs_release(struct archs *a);
/* NULL if there is none of that name. Borrowed. */
const struct arch *archs_find(const struct archs *a, const char *name);
/* Family of an opcode (already masked to 9 bits), or NULL. */
const struct sass_family *arch_family(const struct arch *a, unsigned opcode);

#endif
