/* SPDX-License-Identifier: Apache-2.0
 * Confinement a child puts on itself once it holds everything it needs and before it reads a foreign
 * byte. Every layer is probed; what the host does not offer is left out and missing from the list of
 * active layers, which every report carries. A confined process leaves by _exit: what the exit handlers
 * of libraries and sanitizers do is not among the system calls it may make. */
#ifndef EVALUATOR_SANDBOX_H
#define EVALUATOR_SANDBOX_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"

enum sandbox_role {
    SANDBOX_COMPILE,  /* reads `read_only` trees, threads, no exec: NVRTC */
    SANDBOX_ASSEMBLE, /* as COMPILE, and may fork and execute what lies in `read_only`: ptxas */
    SANDBOX_COMPUTE,  /* memory and threads only, no file at all: ptxvm */
    SANDBOX_GPU,      /* holds an open CUDA context: ioctl, descriptors by message, no file. It has
                         threads already, so namespaces are left out */
};

struct sandbox_spec {
    enum sandbox_role role;
    const char *const *read_only; /* NULL-terminated absolute paths kept visible; NULL: none */
    int64_t memory_bytes;         /* address space; 0: no limit */
    int64_t file_bytes;           /* largest file written (private tmpfs or memfd); 0: none */
    int cpu_s;                    /* 0: no limit */
    int threads;                  /* tasks of this user id; 0: default 512 */
};

/* Layers, in the order they are put on. Names in sandbox_layers() are these in lower case. */
enum sandbox_layer {
#define LAYER(id, name, meaning) SANDBOX_LAYER_##id,
#include "evaluator/sandbox_layers.def"
#undef LAYER
    SANDBOX_LAYER_COUNT
};

/* Confines the calling process for good. Single-threaded callers only: threads that exist already (a
 * compiler's pool) keep namespaces and ids of their own. ERR_UNAVAILABLE if no_new_privs, rlimits or
 * seccomp cannot be had: without them nothing foreign may run. */
enum err sandbox_enter(const struct sandbox_spec *spec, struct fault *f);

/* Can the confined process see only `read_only` (private root, chroot or Landlock)? If not, and the role
 * is COMPILE, seccomp refuses to open any file at all. */
bool sandbox_files_confined(void);
/* SANDBOX_ASSEMBLE: a private writable folder, or NULL if there is none and descriptors must do. */
const char *sandbox_scratch(void);
bool sandbox_active(enum sandbox_layer layer);
const char *sandbox_layer_name(enum sandbox_layer layer);
const char *sandbox_layer_meaning(enum sandbox_layer layer);
/* Names of the active layers; caller owns the array. */
json_t *sandbox_layers(void);

#endif
