// SPDX-License-Identifier: Apache-2.0
// Lookups on a loaded problem, and the loading of the whole catalogue. The document's schema is in
// core/problem_read.c.
#include "core/problem.h"

#include "core/catalog.h"
#include "core/problem_read.h"
#include "core/util.h"

static void read_entry(void *into, const char *folder, json_t *document, struct faults *faults)
{
    struct problem *p = into;
    p->document = document;
    if (snprintf(p->folder, sizeof(p->folder), "%s", folder) >= (int)sizeof(p->folder))
        faults_add(faults, "$", "lies under too long a path");
    else
        problem_read(p, faults);
}

enum err problems_load(struct problems *out, const char *home, struct fault *f)
{
    static const struct catalog_kind kind = {"problems", "problem.json", "problem",
                                             sizeof(struct problem), read_entry};
    void *items;
    enum err e = catalog_load(&kind, home, &items, &out->count, f);
    out->items = items;
    if (e != ERR_NONE)
        problems_release(out);
    return e;
}

void problems_release(struct problems *p)
{
    for (size_t i = 0; i < p->count; i++) {
        free(p->items[i].workloads);
        json_decref(p->items[i].document);
    }
    free(p->items);
    *p = (struct problems){0};
}

const struct problem *problems_find(const struct problems *p, const char *name)
{
    for (size_t i = 0; i < p->count; i++)
        if (!strcmp(p->items[i].name, name))
            return &p->items[i];
    return NULL;
}

const struct workload *problem_workload(const struct problem *p, const char *name)
{
    for (size_t i = 0; i < p->workload_count; i++)
        if (!strcmp(p->workloads[i].name, name))
            return &p->workloads[i];
    return NULL;
}

int problem_tensor(const struct problem *p, const char *name)
{
    for (size_t i = 0; i < p->tensor_count; i++)
        if (!strcmp(p->tensors[i].name, name))
            return (int)i;
    return -1;
}

void problem_as_oracle(const struct problem *p, struct problem *out)
{
    *out = *p;
    for (size_t i = 0; i < out->tensor_count; i++)
        out->tensors[i].dtype = out->tensors[i].oracle_dtype;
}

void problem_as_derive(const struct problem *p, struct problem *out)
{
    *out = *p;
    for (size_t i = 0; i < out->tensor_count; i++)
        if (out->tensors[i].derived)
            out->tensors[i].role = TENSOR_OUTPUT;
}

size_t problem_vars(const struct problem *p, const struct workload *w, int num_sms,
                    struct expr_var *vars)
{
    for (size_t i = 0; i < p->axis_count; i++)
        vars[i] = (struct expr_var){p->axes[i], w->axes[i]};
    vars[p->axis_count] = (struct expr_var){"num_sms", num_sms};
    return p->axis_count + 1;
}

/* An expression over the axes alone: without the last variable, num_sms. */
static int64_t over_axes(const struct problem *p, const struct workload *w, const char *text)
{
    struct expr_var vars[LIMIT_AXES + 1];
    size_t count = problem_vars(p, w, 0, vars) - 1;
    int64_t v = 0;
    if (expr_eval(text, vars, count, &v, NULL) != ERR_NONE)
        abort(); /* validated at load */
    return v;
}

int64_t problem_shape(const struct problem *p, const struct workload *w, size_t i,
                      int64_t shape[LIMIT_DIMS])
{
    int64_t elements = 1;
    for (int d = 0; d < p->tensors[i].ndim; d++) {
        shape[d] = over_axes(p, w, p->tensors[i].dims[d]);
        elements *= shape[d];
    }
    return elements;
}

int64_t problem_flops(const struct problem *p, const struct workload *w)
{
    return over_axes(p, w, p->flops);
}

int64_t problem_bytes(const struct problem *p, const struct workload *w)
{
    return over_axes(p, w, p->bytes);
}
