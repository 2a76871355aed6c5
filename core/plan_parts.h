/* SPDX-License-Identifier: Apache-2.0
 * The parts of the plan parser, one file each, share one context: what is known when a plan is
 * judged and where faults go. Used by core/plan*.c alone. */
#ifndef CORE_PLAN_PARTS_H
#define CORE_PLAN_PARTS_H

#include "core/plan.h"

struct plan_context {
    const struct problem *problem;
    const struct workload *workload;
    const struct arch *arch;
    struct expr_var vars[LIMIT_AXES + 1];
    size_t var_count;
    struct plan *plan;
    struct faults *faults;
};

/* A tensor or a buffer seen as memory. */
struct plan_memory {
    enum plan_space space;
    int index;
    enum dtype dtype;
    int ndim;
    int64_t shape[LIMIT_DIMS];
    int64_t elements; /* 0: a buffer whose own faults are reported already; ask no more of it */
};

/* plan_value.c: an integer or an expression, within [min, max]. */
bool plan_integer(struct plan_context *c, const json_t *v, const char *path, int64_t min,
                  int64_t max, int64_t *out);
/* A list of 1 to `most` of them, entry i within [min, max[i]] (max[0] for all if `same`). Number of
 * entries, or 0 after a fault. */
size_t plan_integers(struct plan_context *c, const json_t *list, const char *path, size_t most,
                     int64_t min, const int64_t *max, bool same, int64_t *out);
/* Expands each {expr} of a kernel's name expression. Caller frees; NULL after a fault. */
char *plan_kernel_name(struct plan_context *c, const char *text, const char *path);
/* Are there at most `limit` members, each with a well-formed name? Faults the others. */
bool plan_members(struct plan_context *c, const json_t *object, const char *path, size_t limit);
/* Finds a tensor or buffer by name. False after a fault that lists the names. */
bool plan_memory_find(struct plan_context *c, enum plan_space space, const char *name,
                      const char *path, struct plan_memory *out);

/* plan_buffer.c, plan_map.c: fill plan->buffers and plan->maps from objects keyed by name. */
void plan_read_buffers(struct plan_context *c, const json_t *object, const char *path);
void plan_read_maps(struct plan_context *c, const json_t *object, const char *path);

/* plan_launch.c: one launch, as far as it can be read: a missing field hides no other fault.
 * `only_buffer`: index of the only memory its arguments may name, or -1. */
void plan_read_launch(struct plan_context *c, const json_t *v, const char *path, int only_buffer,
                      struct plan_launch *out);
void plan_launch_release(struct plan_launch *launch);

/* plan_args.c: the arguments of a launch; the same for plan_launch.c. */
void plan_read_args(struct plan_context *c, const json_t *list, const char *path, int only_buffer,
                    struct plan_launch *launch);
void plan_args_free(struct plan_arg *args, size_t count);

#endif
