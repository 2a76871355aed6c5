// SPDX-License-Identifier: Apache-2.0
#include "evaluator/runner_families.h"

#include <stdio.h>
#include <stdlib.h>
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

double flops_of_form(const char *form)
{
    unsigned m, n, k;
    for (const char *at = strstr(form, ".m"); at; at = strstr(at + 1, ".m"))
        if (sscanf(at, ".m%un%uk%u", &m, &n, &k) == 3)
            return 2.0 * m * n * k / (strncmp(form, "wgmma.", 6) == 0 ? 4 : 1);
    return 0;
}

static void add_form(struct rig_counts *counts, const struct ptxvm_count *row)
{
    counts->forms = counts->forms ? counts->forms : json_object();
    json_t *form = json_object_get(counts->forms, row->name);
    json_int_t warps = json_integer_value(json_object_get(form, "warps"));
    json_int_t threads = json_integer_value(json_object_get(form, "threads"));
    json_object_set_new(counts->forms, row->name,
                        json_pack("{s:I, s:I}", "warps", warps + (json_int_t)row->warps, "threads",
                                  threads + (json_int_t)row->threads));
}

void families_add(struct rig_counts *counts, const struct arch *arch,
                  const struct ptxvm_counts *launch)
{
    counts->thread_instructions += launch->thread_instructions;
    counts->warp_instructions += launch->warp_instructions;
    counts->ctas += launch->ctas;
    for (size_t i = 0; i < launch->row_count; i++) {
        const char *family = family_of_form(launch->rows[i].name);
        add_form(counts, &launch->rows[i]);
        for (size_t a = 0; family && a < arch->family_count; a++)
            if (!strcmp(arch->families[a].name, family)) {
                counts->families[a].warps += launch->rows[i].warps;
                counts->families[a].threads += launch->rows[i].threads;
                if (arch->families[a].tensor)
                    counts->tensor_flops +=
                        (double)launch->rows[i].warps * flops_of_form(launch->rows[i].name);
            }
    }
}

/* ---- as JSON ---- */

json_t *rig_families_json(const struct rig_counts *counts, const struct arch *arch)
{
    json_t *out = json_object();
    for (size_t i = 0; i < arch->family_count; i++)
        json_object_set_new(out, arch->families[i].name,
                            json_pack("{s:I, s:I}", "warps", (json_int_t)counts->families[i].warps,
                                      "threads", (json_int_t)counts->families[i].threads));
    return out;
}

static json_t *by_family(const struct rig_counts *counts, const struct arch *arch)
{
    json_t *out = rig_families_json(counts, arch);
    json_int_t warps = (json_int_t)counts->warp_instructions;
    json_int_t threads = (json_int_t)counts->thread_instructions;
    for (size_t i = 0; i < arch->family_count; i++) {
        warps -= (json_int_t)counts->families[i].warps;
        threads -= (json_int_t)counts->families[i].threads;
    }
    json_object_set_new(out, "other", json_pack("{s:I, s:I}", "warps", warps, "threads", threads));
    return out;
}

static json_int_t threads_of(const json_t *row)
{
    return json_integer_value(json_object_get(row, "threads"));
}

static int by_threads(const void *a, const void *b)
{
    json_t *const *x = a, *const *y = b;
    json_int_t more = threads_of(*y) - threads_of(*x);
    return more ? (more > 0 ? 1 : -1)
                : strcmp(json_string_value(json_object_get(*x, "name")),
                         json_string_value(json_object_get(*y, "name")));
}

static json_t *by_instruction(const json_t *forms)
{
    size_t count = 0;
    json_t **list = calloc(json_object_size(forms) + 1, sizeof(*list)), *out = json_array(),
           *counted;
    const char *name;
    json_object_foreach((json_t *)forms, name, counted) if (list) list[count++] =
        json_pack("{s:s, s:O, s:O}", "name", name, "warps", json_object_get(counted, "warps"),
                  "threads", json_object_get(counted, "threads"));
    if (list)
        qsort(list, count, sizeof(*list), by_threads);
    for (size_t i = 0; i < count; i++)
        if (i < COUNTED_FORMS ||
            family_of_form(json_string_value(json_object_get(list[i], "name"))))
            json_array_append_new(out, list[i]);
        else
            json_decref(list[i]);
    free(list);
    return out;
}

json_t *rig_counts_json(const struct rig_counts *n, const struct arch *arch)
{
    return json_pack("{s:I, s:I, s:I, s:o, s:o}", "thread_instructions",
                     (json_int_t)n->thread_instructions, "warp_instructions",
                     (json_int_t)n->warp_instructions, "ctas", (json_int_t)n->ctas, "by_family",
                     by_family(n, arch), "by_instruction", by_instruction(n->forms));
}
