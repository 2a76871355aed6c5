// SPDX-License-Identifier: Apache-2.0
#include "core/lookup.h"

#include <stdio.h>
#include <string.h>

enum { LISTED = 320 };

const char *lookup_list(const void *items, size_t step, size_t count, char *out, size_t size)
{
    size_t n = 0, i = 0;
    out[0] = '\0';
    for (; i < count && n + LIMIT_NAME + 32 < size; i++)
        n += (size_t)snprintf(out + n, size - n, "%s%s", i ? ", " : "",
                              (const char *)items + i * step);
    if (i < count)
        snprintf(out + n, size - n, " and %zu more", count - i);
    return out;
}

const struct problem *lookup_problem(const struct registry *r, const char *name, const char *path,
                                     struct faults *faults)
{
    char names[LISTED];
    const struct problems *all = &r->problems;
    const struct problem *found = name ? problems_find(all, name) : NULL;
    if (name && !found)
        faults_add(
            faults, path, "'%.64s' is not a problem here; there are: %s", name,
            lookup_list(all->items[0].name, sizeof(all->items[0]), all->count, names, LISTED));
    return found;
}

const struct workload *lookup_workload(const struct problem *p, const char *name,
                                       const char *device, const char *path, struct faults *faults)
{
    char names[LISTED];
    if (!name)
        return strcmp(device, "cpu") ? p->paper_workload : p->cpu_workload;
    const struct workload *found = problem_workload(p, name);
    if (!found)
        faults_add(faults, path, "'%.64s' is not a workload of %s; there are: %s", name, p->name,
                   lookup_list(p->workloads[0].name, sizeof(p->workloads[0]), p->workload_count,
                               names, LISTED));
    return found;
}

const struct arch *lookup_arch(const struct registry *r, const char *name, const char *path,
                               struct faults *faults)
{
    char names[LISTED];
    const struct archs *all = &r->archs;
    const struct arch *found = name ? archs_find(all, name) : NULL;
    if (name && !found)
        faults_add(
            faults, path, "'%.64s' is not an architecture here; there are: %s", name,
            lookup_list(all->items[0].name, sizeof(all->items[0]), all->count, names, LISTED));
    return found;
}

bool lookup_device(const struct arch *a, const char *device, const char *path,
                   struct faults *faults)
{
    char models[128] = "";
    size_t n = 0;
    if (!strcmp(device, "cpu") || !strcmp(device, "gpu"))
        return true;
    for (size_t i = 0; i < a->device_count; i++) {
        if (!strcmp(a->devices[i], device))
            return true;
        if (n < sizeof(models))
            n += (size_t)snprintf(models + n, sizeof(models) - n, ", %s", a->devices[i]);
    }
    faults_add(faults, path, "'%.64s' is not a device of %s; there are: cpu, gpu%s", device,
               a->name, models);
    return false;
}
