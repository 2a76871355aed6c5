/* SPDX-License-Identifier: Apache-2.0
 * {"options": ["-maxrregcount=64"], "defines": {"NUM_SMS": 132}, "names": ["k<1>"],
 *  "launches": [{"kernel": "k<1>", "grid": [132,1,1], "block": [128,1,1], "cluster": [0,1,1],
 *                "shared_bytes": 0, "args": [[kind, size, align], …]}]} */
#include "evaluator/compile_wire.h"

#include <string.h>

#include "core/json.h"
#include "core/util.h"

enum { MAX_NAMES = LIMIT_LAUNCHES + LIMIT_BUFFERS + 16 };

/* ---- out ---- */

static json_t *triple(const int64_t v[3])
{
    return json_pack("[I,I,I]", (json_int_t)v[0], (json_int_t)v[1], (json_int_t)v[2]);
}

static json_t *launch_encode(const struct plan_launch *l)
{
    json_t *args = json_array();
    for (size_t i = 0; i < l->arg_count; i++)
        json_array_append_new(args,
                              json_pack("[i,I,I]", (int)l->args[i].kind,
                                        (json_int_t)l->args[i].size, (json_int_t)l->args[i].align));
    return json_pack("{s:s, s:o, s:o, s:o, s:I, s:o}", "kernel", l->kernel, "grid", triple(l->grid),
                     "block", triple(l->block), "cluster", triple(l->cluster), "shared_bytes",
                     (json_int_t)l->shared_bytes, "args", args);
}

static void plan_encode(const struct plan *plan, json_t *defines, json_t *launches)
{
    for (size_t i = 0; i < plan->define_count; i++)
        json_object_set_new(defines, plan->defines[i].name, json_integer(plan->defines[i].value));
    for (size_t i = 0; i < plan->launch_count; i++)
        json_array_append_new(launches, launch_encode(&plan->launches[i]));
    for (size_t i = 0; i < plan->buffer_count; i++)
        if (plan->buffers[i].launch)
            json_array_append_new(launches, launch_encode(plan->buffers[i].launch));
}

static json_t *texts(const char *const *list)
{
    json_t *out = json_array();
    for (; list && *list; list++)
        json_array_append_new(out, json_string(*list));
    return out;
}

json_t *wire_encode(const struct compile_request *request)
{
    json_t *defines = json_object(), *launches = json_array();
    if (request->plan)
        plan_encode(request->plan, defines, launches);
    return json_pack("{s:o, s:o, s:o, s:o}", "options", texts(request->options), "defines", defines,
                     "names", texts(request->names), "launches", launches);
}

/* ---- in ---- */

static bool triple_decode(const json_t *list, int64_t out[3])
{
    for (size_t i = 0; i < 3; i++)
        out[i] = json_integer_value(json_array_get(list, i));
    return json_array_size(list) == 3;
}

static enum err launch_decode(const json_t *object, struct plan_launch *out, struct fault *f)
{
    const char *kernel = NULL;
    json_t *grid = NULL, *block = NULL, *cluster = NULL, *args = NULL;
    json_int_t shared = 0;
    json_error_t error;
    if (json_unpack_ex((json_t *)(uintptr_t)object, &error, JSON_STRICT,
                       "{s:s, s:o, s:o, s:o, s:I, s:o}", "kernel", &kernel, "grid", &grid, "block",
                       &block, "cluster", &cluster, "shared_bytes", &shared, "args", &args) != 0)
        return fault_set(f, ERR_BAD_REQUEST, "cannot read launch: %s", error.text);
    out->kernel = strdup(kernel);
    out->shared_bytes = shared;
    size_t count = json_array_size(args);
    out->args = calloc(count ? count : 1, sizeof *out->args);
    if (!out->kernel || !out->args)
        return fault_set(f, ERR_NO_MEMORY, "cannot read launch");
    if (!triple_decode(grid, out->grid) || !triple_decode(block, out->block) ||
        !triple_decode(cluster, out->cluster) || count > LIMIT_ARGS)
        return fault_set(f, ERR_BAD_REQUEST, "cannot read launch of %.200s", kernel);
    out->arg_count = count;
    for (size_t i = 0; i < count; i++) {
        const json_t *arg = json_array_get(args, i);
        out->args[i].kind = (enum plan_arg_kind)json_integer_value(json_array_get(arg, 0));
        out->args[i].size = (size_t)json_integer_value(json_array_get(arg, 1));
        out->args[i].align = (size_t)json_integer_value(json_array_get(arg, 2));
        if (!out->args[i].size || !out->args[i].align)
            return fault_set(f, ERR_BAD_REQUEST, "cannot read argument %zu", i);
    }
    return ERR_NONE;
}

static void add_name(struct wire_request *r, const char *name)
{
    for (size_t i = 0; i < r->name_count; i++)
        if (!strcmp(r->names[i], name))
            return;
    r->names[r->name_count++] = name;
}

static enum err lists_decode(struct wire_request *out, const json_t *options, const json_t *names,
                             const json_t *launches, struct fault *f)
{
    out->names = calloc(MAX_NAMES, sizeof *out->names);
    if (!out->names)
        return fault_set(f, ERR_NO_MEMORY, "cannot read request");
    if (json_array_size(options) > COUNT_OF(out->options) ||
        json_array_size(launches) > COUNT_OF(out->launches) || json_array_size(names) > 16)
        return fault_set(f, ERR_BAD_REQUEST, "cannot read request: too many entries");
    size_t i;
    json_t *value;
    json_array_foreach((json_t *)(uintptr_t)options, i, value)
    {
        out->options[out->option_count] = json_string_value(value);
        if (!out->options[out->option_count++])
            return fault_set(f, ERR_BAD_REQUEST, "cannot read option %zu", i);
    }
    json_array_foreach((json_t *)(uintptr_t)launches, i, value)
    {
        enum err e = launch_decode(value, &out->launches[out->launch_count++], f);
        if (e != ERR_NONE)
            return e;
        add_name(out, out->launches[i].kernel);
    }
    json_array_foreach((json_t *)(uintptr_t)names, i, value) if (json_is_string(value))
        add_name(out, json_string_value(value));
    return ERR_NONE;
}

enum err wire_decode(struct wire_request *out, const char *text, size_t len, struct fault *f)
{
    *out = (struct wire_request){0};
    json_t *options, *defines, *names, *launches, *value;
    const char *name;
    json_error_t error;
    out->document = json_parse(text, len, f);
    if (!out->document)
        return ERR_BAD_REQUEST;
    if (json_unpack_ex(out->document, &error, JSON_STRICT, "{s:o, s:o, s:o, s:o}", "options",
                       &options, "defines", &defines, "names", &names, "launches", &launches) != 0)
        return fault_set(f, ERR_BAD_REQUEST, "cannot read request: %s", error.text);
    json_object_foreach(defines, name, value)
    {
        if (out->define_count == LIMIT_DEFINES || !json_is_integer(value))
            return fault_set(f, ERR_BAD_REQUEST, "cannot read define %.64s", name);
        struct plan_define *d = &out->defines[out->define_count++];
        snprintf(d->name, sizeof d->name, "%s", name);
        d->value = json_integer_value(value);
    }
    return lists_decode(out, options, names, launches, f);
}

void wire_release(struct wire_request *r)
{
    for (size_t i = 0; i < r->launch_count; i++) {
        free(r->launches[i].kernel);
        free(r->launches[i].args);
    }
    free(r->names);
    json_decref(r->document);
}
