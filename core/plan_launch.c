// SPDX-License-Identifier: Apache-2.0
// One launch: kernel, geometry against the limits of the architecture, attributes. Arguments are
// read by plan_args.c.
#include "core/json.h"
#include "core/plan_parts.h"
#include "core/util.h"

struct launch_fields {
    const char *kernel;
    json_t *grid, *block, *cluster, *shared_bytes, *args;
    bool cooperative, programmatic_dependent;
};

#define AT(member) offsetof(struct launch_fields, member)

static const struct json_field launch_fields[] = {
    {"kernel", JSON_TEXT, true, AT(kernel), 1, LIMIT_KERNEL_EXPR, NULL},
    {"grid", JSON_VALUE, true, AT(grid), 0, 0, NULL},
    {"block", JSON_VALUE, true, AT(block), 0, 0, NULL},
    {"cluster", JSON_VALUE, false, AT(cluster), 0, 0, NULL},
    {"shared_bytes", JSON_VALUE, false, AT(shared_bytes), 0, 0, NULL},
    {"args", JSON_LIST, false, AT(args), 0, LIMIT_ARGS, NULL},
    {"cooperative", JSON_YESNO, false, AT(cooperative), 0, 0, NULL},
    {"programmatic_dependent", JSON_YESNO, false, AT(programmatic_dependent), 0, 0, NULL},
};

static void read_block(struct plan_context *c, const json_t *v, const char *path,
                       struct plan_launch *out)
{
    if (!plan_integers(c, v, path, 3, 1, c->arch->max_block, false, out->block))
        return;
    int64_t threads = out->block[0] * out->block[1] * out->block[2];
    if (threads > c->arch->max_threads_per_block)
        faults_add(c->faults, path, "makes %lld threads, over the limit of %d", (long long)threads,
                   c->arch->max_threads_per_block);
}

static void read_cluster(struct plan_context *c, const json_t *v, const char *path, bool grid_good,
                         struct plan_launch *out)
{
    static const char axes[] = "xyz";
    int64_t most = c->arch->max_cluster, cluster[3] = {1, 1, 1};
    if (!plan_integers(c, v, path, 3, 1, &most, true, cluster))
        return;
    int64_t size = cluster[0] * cluster[1] * cluster[2];
    if (size > most)
        faults_add(c->faults, path, "holds %lld blocks, over the limit of %lld", (long long)size,
                   (long long)most);
    for (int d = 0; d < 3 && grid_good; d++)
        if (out->grid[d] % cluster[d])
            faults_add(c->faults, path, "%lld does not divide grid.%c, which is %lld",
                       (long long)cluster[d], axes[d], (long long)out->grid[d]);
    memcpy(out->cluster, cluster, sizeof(cluster));
}

void plan_read_launch(struct plan_context *c, const json_t *v, const char *path, int only_buffer,
                      struct plan_launch *out)
{
    struct launch_fields in = {0};
    for (int d = 0; d < 3; d++)
        out->grid[d] = out->block[d] = 1;
    out->cluster[1] = out->cluster[2] = 1;
    json_read(v, launch_fields, COUNT_OF(launch_fields), &in, path, c->faults);
    out->cooperative = in.cooperative;
    out->programmatic_dependent = in.programmatic_dependent;
    if (in.kernel)
        out->kernel = plan_kernel_name(c, in.kernel, json_at(path, "kernel").text);
    bool grid_good = in.grid && plan_integers(c, in.grid, json_at(path, "grid").text, 3, 1,
                                              c->arch->max_grid, false, out->grid);
    if (in.block)
        read_block(c, in.block, json_at(path, "block").text, out);
    if (in.cluster)
        read_cluster(c, in.cluster, json_at(path, "cluster").text, grid_good, out);
    if (in.shared_bytes)
        plan_integer(c, in.shared_bytes, json_at(path, "shared_bytes").text, 0,
                     c->arch->max_shared_bytes, &out->shared_bytes);
    plan_read_args(c, in.args, json_at(path, "args").text, only_buffer, out);
}

void plan_launch_release(struct plan_launch *launch)
{
    free(launch->kernel);
    plan_args_free(launch->args, launch->arg_count);
    *launch = (struct plan_launch){0};
}
