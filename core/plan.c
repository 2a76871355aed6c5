// SPDX-License-Identifier: Apache-2.0
// The launch plan as a whole: the order in which its parts are read (buffers before the maps and
// launches that name them), the defines, and the end of it. The parts are in plan_*.c.
#include "core/plan.h"

#include "core/json.h"
#include "core/plan_parts.h"
#include "core/text.h"
#include "core/util.h"

struct plan_fields {
    json_t *defines, *buffers, *tensor_maps, *launches;
};

#define AT(member) offsetof(struct plan_fields, member)

static const struct json_field plan_fields[] = {
    {"defines", JSON_MEMBER, false, AT(defines), 0, 0, NULL},
    {"buffers", JSON_MEMBER, false, AT(buffers), 0, 0, NULL},
    {"tensor_maps", JSON_MEMBER, false, AT(tensor_maps), 0, 0, NULL},
    {"launches", JSON_LIST, true, AT(launches), 1, LIMIT_LAUNCHES, NULL},
};

/* Names that belong to the language, the compiler or us. */
static bool is_reserved(const char *name)
{
    static const char *const words[] = {"NDEBUG", "defined", "assert", NULL};
    for (int i = 0; words[i]; i++)
        if (!strcmp(words[i], name))
            return true;
    return strstr(name, "__") || (name[0] == '_' && name[1] >= 'A' && name[1] <= 'Z') ||
           !strncmp(name, "PTXBENCH_", 9);
}

static void read_defines(struct plan_context *c, const json_t *object, const char *path)
{
    if (!plan_members(c, object, path, LIMIT_DEFINES))
        return;
    const char *name;
    json_t *v;
    json_object_foreach((json_t *)object, name, v)
    {
        struct json_path child = json_at(path, name);
        if (is_reserved(name))
            faults_add(c->faults, child.text, "is a reserved name");
        struct plan_define *d = &c->plan->defines[c->plan->define_count++];
        snprintf(d->name, sizeof(d->name), "%s", name);
        plan_integer(c, v, child.text, INT64_MIN, INT64_MAX, &d->value);
    }
}

static void read_launches(struct plan_context *c, const json_t *list, const char *path)
{
    size_t i;
    json_t *v;
    json_array_foreach(list, i, v)
    {
        struct json_path child = json_at_index(path, i);
        struct plan_launch *launch = &c->plan->launches[c->plan->launch_count++];
        plan_read_launch(c, v, child.text, -1, launch);
        if (i == 0 && launch->programmatic_dependent)
            faults_add(c->faults, child.text,
                       "programmatic_dependent: there is no launch before it");
    }
}

static void read_parts(struct plan_context *c, const struct plan_fields *in, const char *path)
{
    read_defines(c, in->defines, json_at(path, "defines").text);
    plan_read_buffers(c, in->buffers, json_at(path, "buffers").text);
    plan_read_maps(c, in->tensor_maps, json_at(path, "tensor_maps").text);
    read_launches(c, in->launches, json_at(path, "launches").text);
}

struct plan *plan_parse(const json_t *document, const struct problem *p, const struct workload *w,
                        const struct arch *a, const char *path, struct faults *faults)
{
    struct plan_fields in = {0};
    size_t before = json_array_size(faults->items) + faults->dropped;
    json_read(document, plan_fields, COUNT_OF(plan_fields), &in, path, faults);
    struct plan *plan = calloc(1, sizeof(*plan));
    if (!plan) {
        faults_add(faults, path, "out of memory");
        return NULL;
    }
    struct plan_context c = {
        .problem = p, .workload = w, .arch = a, .plan = plan, .faults = faults};
    c.var_count = problem_vars(p, w, a->num_sms, c.vars);
    read_parts(&c, &in, path);
    if (json_array_size(faults->items) + faults->dropped == before)
        return plan;
    plan_free(plan);
    return NULL;
}

void plan_free(struct plan *plan)
{
    if (!plan)
        return;
    for (size_t i = 0; i < plan->buffer_count; i++) {
        buf_release(&plan->buffers[i].data);
        if (plan->buffers[i].launch)
            plan_launch_release(plan->buffers[i].launch);
        free(plan->buffers[i].launch);
    }
    for (size_t i = 0; i < plan->launch_count; i++)
        plan_launch_release(&plan->launches[i]);
    free(plan);
}
