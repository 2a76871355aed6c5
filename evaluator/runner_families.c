// SPDX-License-Identifier: Apache-2.0
#include "evaluator/runner_families.h"

#include <string.h>

#include "core/util.h"

/* The first row whose text the form begins with decides; NULL: moves no payload, belongs to
 * none. */
static const struct {
    const char *form, *family;
} rows[] = {
    {"wgmma.mma_async.", "gmma"},
    {"mma.sync.", "mma"},
    {"mma.sp", "mma"},
    {"wmma.mma.", "mma"},
    {"cp.async.bulk.prefetch", NULL},
    {"cp.async.bulk.commit_group", NULL},
    {"cp.async.bulk.wait_group", NULL},
    {"cp.async.bulk.tensor.", "tma"},
    {"cp.reduce.async.bulk.tensor.", "tma"},
    {"cp.async.bulk.", "bulk"},
    {"cp.reduce.async.bulk.", "bulk"},
    {"tcgen05.mma.", "tcgen05_mma"},
    {"tcgen05.cp.", "tcgen05_move"},
    {"tcgen05.shift.", "tcgen05_move"},
    {"tcgen05.ld.", "tcgen05_move"},
    {"tcgen05.st.", "tcgen05_move"},
    {"tcgen05.commit.", "tcgen05_control"},
    {"tcgen05.alloc.", "tcgen05_control"},
    {"tcgen05.dealloc.", "tcgen05_control"},
    {"tcgen05.relinquish_alloc_permit.", "tcgen05_control"},
};

const char *family_of_form(const char *form)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (!strncmp(form, rows[i].form, strlen(rows[i].form)))
            return rows[i].family;
    return NULL;
}

void families_add(struct rig_counts *counts, const struct arch *arch,
                  const struct ptxvm_counts *launch)
{
    counts->thread_instructions += launch->thread_instructions;
    counts->warp_instructions += launch->warp_instructions;
    counts->ctas += launch->ctas;
    for (size_t i = 0; i < launch->row_count; i++) {
        const char *family = family_of_form(launch->rows[i].name);
        for (size_t a = 0; family && a < arch->family_count; a++)
            if (!strcmp(arch->families[a].name, family)) {
                counts->families[a].warps += launch->rows[i].warps;
                counts->families[a].threads += launch->rows[i].threads;
            }
    }
}
