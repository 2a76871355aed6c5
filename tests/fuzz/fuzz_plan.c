// SPDX-License-Identifier: Apache-2.0
// Any JSON as a launch plan of the GEMM problem. A plan that is accepted must keep its promises:
// inside the limits of the architecture and inside its tensors.
#include <stddef.h>
#include <stdint.h>

#include "core/json.h"
#include "core/submission.h"
#include "core/util.h"
#include "tests/fuzz/promise.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int64_t memory_bytes(const struct plan *plan, const struct problem *p,
                            const struct workload *w, bool tensor, int index)
{
    int64_t shape[LIMIT_DIMS];
    check(index >= 0);
    if (tensor)
        return problem_shape(p, w, (size_t)index, shape) *
               (int64_t)dtype_bytes(p->tensors[index].dtype);
    check((size_t)index < plan->buffer_count);
    return plan->buffers[index].bytes;
}

static void check_args(const struct plan *plan, const struct problem *p, const struct workload *w,
                       const struct plan_arg *args, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct plan_arg *a = &args[i];
        check(a->size > 0 && a->align > 0 && a->size % a->align == 0);
        if (a->kind == ARG_TENSOR || a->kind == ARG_BUFFER)
            check(a->offset_bytes >= 0 &&
                  a->offset_bytes < memory_bytes(plan, p, w, a->kind == ARG_TENSOR, a->index));
        if (a->kind == ARG_TENSOR_MAP)
            check(a->index >= 0 && (size_t)a->index < plan->map_count);
        check_args(plan, p, w, a->members, a->member_count);
    }
}

static void check_launch(const struct plan *plan, const struct problem *p, const struct workload *w,
                         const struct arch *a, const struct plan_launch *l)
{
    size_t offsets[LIMIT_ARGS];
    check(l->kernel && l->kernel[0] && strlen(l->kernel) <= LIMIT_KERNEL_EXPR);
    for (int d = 0; d < 3; d++) {
        check(l->grid[d] >= 1 && l->grid[d] <= a->max_grid[d]);
        check(l->block[d] >= 1 && l->block[d] <= a->max_block[d]);
        check(!l->cluster[0] || l->grid[d] % l->cluster[d] == 0);
    }
    check(l->block[0] * l->block[1] * l->block[2] <= a->max_threads_per_block);
    check(l->cluster[0] * l->cluster[1] * l->cluster[2] <= a->max_cluster);
    check(l->shared_bytes >= 0 && l->shared_bytes <= a->max_shared_bytes);
    check(plan_param_layout(l, offsets) <= LIMIT_PARAM_BYTES);
    check_args(plan, p, w, l->args, l->arg_count);
}

static void check_plan(const struct plan *plan, const struct problem *p, const struct workload *w,
                       const struct arch *a)
{
    int64_t scratch = 0;
    for (size_t i = 0; i < plan->buffer_count; i++) {
        const struct plan_buffer *b = &plan->buffers[i];
        check(b->elements > 0 && (int64_t)b->data.len <= b->bytes);
        check((b->init == BUFFER_LAUNCH) == (b->launch != NULL));
        if (b->launch)
            check_launch(plan, p, w, a, b->launch);
        scratch += b->bytes;
    }
    check(scratch <= PLAN_SCRATCH_BYTES);
    for (size_t i = 0; i < plan->map_count; i++) {
        const struct plan_tensor_map *m = &plan->maps[i];
        uint64_t end = m->offset_bytes + (m->dims[0] * (uint64_t)m->element_bits + 7) / 8;
        for (int d = 1; d < m->rank; d++)
            end += (m->dims[d] - 1) * m->strides[d];
        check(m->rank >= 1 && m->rank <= LIMIT_DIMS);
        check(end <= (uint64_t)memory_bytes(plan, p, w, m->space == PLAN_TENSOR, m->index));
    }
    check(plan->launch_count >= 1 && !plan->launches[0].programmatic_dependent);
    for (size_t i = 0; i < plan->launch_count; i++)
        check_launch(plan, p, w, a, &plan->launches[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct registry registry;
    if (!registry.archs.count && registry_load(&registry, home_dir(), NULL) != ERR_NONE)
        abort();
    json_t *document = json_parse((const char *)data, size, NULL);
    const struct problem *p = problems_find(&registry.problems, "gemm");
    for (size_t i = 0; document && i < registry.archs.count; i++) {
        struct faults faults = {0};
        struct plan *plan =
            plan_parse(document, p, p->cpu_workload, &registry.archs.items[i], "$", &faults);
        check(!plan == faults_any(&faults));
        if (plan)
            check_plan(plan, p, p->cpu_workload, &registry.archs.items[i]);
        plan_free(plan);
        faults_release(&faults);
    }
    json_decref(document);
    return 0;
}
