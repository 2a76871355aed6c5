// SPDX-License-Identifier: Apache-2.0
// Arguments of a launch: one row a kind in a table, structs read recursively to a bounded depth,
// all laid out as C does it.
#include "core/plan_parts.h"

#include <math.h>

#include "core/json.h"
#include "core/util.h"

struct reader {
    struct plan_context *c;
    int only_buffer; /* see plan_read_launch */
    int depth;       /* of structs */
    size_t count;    /* arguments so far, members included */
};

struct kind {
    const char *name;
    enum plan_arg_kind kind;
    size_t size, align;
    bool takes_offset;
    bool (*read)(struct reader *r, const struct kind *k, const json_t *v, const char *path,
                 struct plan_arg *out);
    int64_t min, max; /* integers */
    enum dtype dtype; /* floats */
};

static bool read_members(struct reader *r, const json_t *list, const char *path,
                         struct plan_arg **out, size_t *count);

static bool read_integer(struct reader *r, const struct kind *k, const json_t *v, const char *path,
                         struct plan_arg *out)
{
    int64_t value;
    if (!plan_integer(r->c, v, path, k->min, k->max, &value))
        return false;
    for (size_t i = 0; i < k->size; i++)
        out->bytes[i] = (uint8_t)((uint64_t)value >> (8 * i));
    return true;
}

/* A number, rounded to the type, or an integer expression. */
static bool read_float(struct reader *r, const struct kind *k, const json_t *v, const char *path,
                       struct plan_arg *out)
{
    double value = json_number_value(v);
    if (!json_is_number(v)) {
        int64_t integer;
        if (!json_is_string(v)) {
            faults_add(r->c->faults, path, "must be a number or an expression");
            return false;
        }
        if (!plan_integer(r->c, v, path, INT64_MIN, INT64_MAX, &integer))
            return false;
        value = (double)integer;
    }
    dtype_store(k->dtype, out->bytes, 0, value);
    if (isfinite(dtype_load(k->dtype, out->bytes, 0)))
        return true;
    faults_add(r->c->faults, path, "%g is out of the range of %s", value, k->name);
    return false;
}

static bool read_pointer(struct reader *r, const struct kind *k, const json_t *v, const char *path,
                         struct plan_arg *out)
{
    const char *name = json_string_value(v);
    enum plan_space space = k->kind == ARG_TENSOR ? PLAN_TENSOR : PLAN_BUFFER;
    struct plan_memory memory;
    if (!name) {
        faults_add(r->c->faults, path, "must be a name");
        return false;
    }
    if (!plan_memory_find(r->c, space, name, path, &memory))
        return false;
    if (r->only_buffer >= 0 && (space != PLAN_BUFFER || memory.index != r->only_buffer)) {
        faults_add(r->c->faults, path, "an initial launch may point at its own buffer only");
        return false;
    }
    out->index = memory.index;
    return true;
}

static bool read_tensor_map(struct reader *r, const struct kind *k, const json_t *v,
                            const char *path, struct plan_arg *out)
{
    (void)k;
    const struct plan *plan = r->c->plan;
    if (r->only_buffer >= 0) {
        faults_add(r->c->faults, path, "an initial launch takes scalars and its own buffer only");
        return false;
    }
    const char *name = json_string_value(v);
    for (size_t i = 0; name && i < plan->map_count; i++)
        if (!strcmp(plan->maps[i].name, name)) {
            out->index = (int)i;
            return true;
        }
    faults_add(r->c->faults, path, "'%.64s' is not a tensor map of the plan", name ? name : "");
    return false;
}

static size_t align_up(size_t n, size_t to)
{
    return (n + to - 1) & ~(to - 1); /* alignments are powers of two */
}

static bool read_struct(struct reader *r, const struct kind *k, const json_t *v, const char *path,
                        struct plan_arg *out)
{
    (void)k;
    if (!json_is_array(v) || !json_array_size(v)) {
        faults_add(r->c->faults, path, "must be a list of at least one argument");
        return false;
    }
    if (r->depth == LIMIT_STRUCT_DEPTH) {
        faults_add(r->c->faults, path, "structs are nested deeper than %d", LIMIT_STRUCT_DEPTH);
        return false;
    }
    r->depth++;
    bool good = read_members(r, v, path, &out->members, &out->member_count);
    r->depth--;
    out->align = 1;
    for (size_t i = 0; i < out->member_count; i++) {
        struct plan_arg *m = &out->members[i];
        m->offset = align_up(out->size, m->align);
        out->size = m->offset + m->size;
        out->align = m->align > out->align ? m->align : out->align;
    }
    out->size = align_up(out->size, out->align);
    return good;
}

// clang-format off
#define INTEGER(name, kind, bytes, min, max)                                                       \
    {name, kind, bytes, bytes, false, read_integer, min, max, DTYPE_COUNT}
#define FLOAT(name, kind, bytes, dtype) {name, kind, bytes, bytes, false, read_float, 0, 0, dtype}

static const struct kind kinds[] = {
    INTEGER("i32", ARG_I32, 4, INT32_MIN, INT32_MAX),
    INTEGER("u32", ARG_U32, 4, 0, UINT32_MAX),
    INTEGER("i64", ARG_I64, 8, INT64_MIN, INT64_MAX),
    INTEGER("u64", ARG_U64, 8, 0, INT64_MAX), /* expressions are signed */
    FLOAT("f16", ARG_F16, 2, DTYPE_f16),
    FLOAT("bf16", ARG_BF16, 2, DTYPE_bf16),
    FLOAT("f32", ARG_F32, 4, DTYPE_f32),
    FLOAT("f64", ARG_F64, 8, DTYPE_f64),
    {"tensor", ARG_TENSOR, 8, 8, true, read_pointer, 0, 0, DTYPE_COUNT},
    {"buffer", ARG_BUFFER, 8, 8, true, read_pointer, 0, 0, DTYPE_COUNT},
    {"tensor_map", ARG_TENSOR_MAP, 128, 64, false, read_tensor_map, 0, 0, DTYPE_COUNT},
    {"struct", ARG_STRUCT, 0, 1, false, read_struct, 0, 0, DTYPE_COUNT},
};
// clang-format on

static const struct kind *kind_find(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (!strcmp(kinds[i].name, name))
            return &kinds[i];
    return NULL;
}

/* The one member that says the kind; any other but a fitting "offset" is a fault. */
static const struct kind *kind_of(struct reader *r, const json_t *v, const char *path)
{
    static const char known[] =
        "i32, u32, i64, u64, f16, bf16, f32, f64, tensor, buffer, tensor_map "
        "or struct";
    const struct kind *found = NULL;
    size_t extra = 0;
    const char *name;
    json_t *ignored;
    json_object_foreach((json_t *)v, name, ignored)
    {
        const struct kind *k = kind_find(name);
        if (k && !found)
            found = k;
        else if (k || strcmp(name, "offset") != 0)
            extra++;
    }
    if (!found || extra) {
        faults_add(r->c->faults, path, "must be an object with exactly one of %s", known);
        return NULL;
    }
    if (json_object_get(v, "offset") && !found->takes_offset) {
        faults_add(r->c->faults, path, "offset: only a tensor or a buffer has one");
        return NULL;
    }
    return found;
}

static bool read_offset(struct reader *r, const json_t *offset, const char *path,
                        struct plan_arg *out)
{
    const struct plan_buffer *b = &r->c->plan->buffers[out->index];
    const struct tensor_def *t = &r->c->problem->tensors[out->index];
    int64_t shape[LIMIT_DIMS], value;
    bool tensor = out->kind == ARG_TENSOR;
    int64_t elements = tensor
                           ? problem_shape(r->c->problem, r->c->workload, (size_t)out->index, shape)
                           : b->elements;
    if (!elements ||
        !plan_integer(r->c, offset, json_at(path, "offset").text, 0, elements - 1, &value))
        return false;
    out->offset_bytes = value * (int64_t)dtype_bytes(tensor ? t->dtype : b->dtype);
    return true;
}

static bool read_arg(struct reader *r, const json_t *v, const char *path, struct plan_arg *out)
{
    if (++r->count == LIMIT_ARGS + 1)
        faults_add(r->c->faults, path, "is argument %zu; struct members included there may be %d",
                   r->count, LIMIT_ARGS);
    const struct kind *k = r->count > LIMIT_ARGS ? NULL : kind_of(r, v, path);
    *out = (struct plan_arg){.kind = ARG_I32, .size = 4, .align = 4};
    if (!k)
        return false;
    *out = (struct plan_arg){.kind = k->kind, .size = k->size, .align = k->align};
    if (!k->read(r, k, json_object_get(v, k->name), json_at(path, k->name).text, out))
        return false;
    const json_t *offset = json_object_get(v, "offset");
    return !offset || read_offset(r, offset, path, out);
}

static bool read_members(struct reader *r, const json_t *list, const char *path,
                         struct plan_arg **out, size_t *count)
{
    size_t n = json_array_size(list);
    if (n > LIMIT_ARGS) {
        faults_add(r->c->faults, path, "must have at most %d entries, not %zu", LIMIT_ARGS, n);
        return false;
    }
    *count = 0;
    *out = n ? calloc(n, sizeof(**out)) : NULL;
    if (n && !*out) {
        faults_add(r->c->faults, path, "out of memory");
        return false;
    }
    bool good = true;
    for (; *count < n; (*count)++)
        good &= read_arg(r, json_array_get(list, *count), json_at_index(path, *count).text,
                         &(*out)[*count]);
    return good;
}

void plan_read_args(struct plan_context *c, const json_t *list, const char *path, int only_buffer,
                    struct plan_launch *launch)
{
    struct reader r = {.c = c, .only_buffer = only_buffer};
    if (!read_members(&r, list, path, &launch->args, &launch->arg_count))
        return;
    size_t offsets[LIMIT_ARGS], bytes = plan_param_layout(launch, offsets);
    if (bytes > LIMIT_PARAM_BYTES)
        faults_add(c->faults, path, "take %zu bytes, over the limit of %d", bytes,
                   LIMIT_PARAM_BYTES);
}

size_t plan_param_layout(const struct plan_launch *launch, size_t *offsets)
{
    size_t end = 0;
    for (size_t i = 0; i < launch->arg_count; i++) {
        offsets[i] = align_up(end, launch->args[i].align);
        end = offsets[i] + launch->args[i].size;
    }
    return end;
}

void plan_args_free(struct plan_arg *args, size_t count)
{
    for (size_t i = 0; i < count; i++)
        plan_args_free(args[i].members, args[i].member_count);
    free(args);
}
