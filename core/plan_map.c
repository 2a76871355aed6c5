// SPDX-License-Identifier: Apache-2.0
// Tensor maps of a plan: read them, fill in what follows from the tensor, hold them against the
// driver's rules (tensor_map.c), and keep them inside their memory.
#include "core/json.h"
#include "core/plan_parts.h"
#include "core/tensor_map.h"
#include "core/util.h"

struct map_fields {
    const char *tensor, *buffer, *dtype;
    json_t *offset, *dims, *strides, *box, *element_strides;
    int interleave, swizzle, l2_promotion, oob_fill;
};

/* Choices in the order of the driver's enums, so that the index is the value. */
static const char *const interleaves[] = {"none", "16B", "32B", NULL};
static const char *const swizzles[] = {
    "none", "32B", "64B", "128B", "128B_atom_32B", "128B_atom_32B_flip_8B", "128B_atom_64B", NULL};
static const char *const promotions[] = {"none", "64B", "128B", "256B", NULL};
static const char *const fills[] = {"none", "nan", NULL};

#define AT(member) offsetof(struct map_fields, member)

static const struct json_field map_fields[] = {
    {"tensor", JSON_TEXT, false, AT(tensor), 1, LIMIT_NAME, NULL},
    {"buffer", JSON_TEXT, false, AT(buffer), 1, LIMIT_NAME, NULL},
    {"dtype", JSON_TEXT, false, AT(dtype), 1, 16, NULL},
    {"offset", JSON_VALUE, false, AT(offset), 0, 0, NULL},
    {"dims", JSON_VALUE, false, AT(dims), 0, 0, NULL},
    {"strides", JSON_VALUE, false, AT(strides), 0, 0, NULL},
    {"box", JSON_VALUE, true, AT(box), 0, 0, NULL},
    {"element_strides", JSON_VALUE, false, AT(element_strides), 0, 0, NULL},
    {"interleave", JSON_CHOICE, false, AT(interleave), 0, 0, interleaves},
    {"swizzle", JSON_CHOICE, false, AT(swizzle), 0, 0, swizzles},
    {"l2_promotion", JSON_CHOICE, false, AT(l2_promotion), 0, 0, promotions},
    {"oob_fill", JSON_CHOICE, false, AT(oob_fill), 0, 0, fills},
};

/* A list of exactly `count` integers below `field` of the map. */
static bool read_list(struct plan_context *c, const json_t *list, const char *path,
                      const char *field, int count, int64_t min, int64_t max, int64_t *out)
{
    struct json_path child = json_at(path, field);
    if (json_is_array(list) && (int)json_array_size(list) != count) {
        faults_add(c->faults, child.text, "must have %d entries, one a dimension%s, not %zu", count,
                   !strcmp(field, "strides") ? " but the first" : "", json_array_size(list));
        return false;
    }
    if (!count) /* strides of a one-dimensional map */
        return json_is_array(list);
    return plan_integers(c, list, child.text, LIMIT_DIMS, min, &max, true, out) > 0;
}

/* Dimensions, innermost first: as given, else the tensor's own shape turned round. */
static bool read_dims(struct plan_context *c, const struct map_fields *in, const char *path,
                      const struct plan_memory *memory, struct plan_tensor_map *m)
{
    int64_t dims[LIMIT_DIMS];
    m->rank = memory->ndim;
    for (int i = 0; i < memory->ndim; i++)
        dims[i] = memory->shape[memory->ndim - 1 - i];
    if (in->dims) {
        static const int64_t most = INT64_C(1) << 32;
        m->rank = (int)plan_integers(c, in->dims, json_at(path, "dims").text, LIMIT_DIMS, 1, &most,
                                     true, dims);
    }
    for (int i = 0; i < m->rank; i++)
        m->dims[i] = (uint64_t)dims[i];
    return m->rank > 0;
}

/* Strides from dimension 1 on: as given, else without gaps. */
static bool read_strides(struct plan_context *c, const struct map_fields *in, const char *path,
                         struct plan_tensor_map *m)
{
    int64_t given[LIMIT_DIMS];
    if (in->strides) {
        if (!read_list(c, in->strides, path, "strides", m->rank - 1, 0, (INT64_C(1) << 40) - 1,
                       given))
            return false;
        for (int i = 1; i < m->rank; i++)
            m->strides[i] = (uint64_t)given[i - 1];
        return true;
    }
    uint64_t stride = tensor_map_bytes(m, m->dims[0]);
    for (int i = 1; i < m->rank; i++) {
        m->strides[i] = stride;
        if (__builtin_mul_overflow(stride, m->dims[i], &stride))
            stride = UINT64_MAX; /* too large for any tensor: the extent check says so */
    }
    return true;
}

/* One past the last byte that the map's elements reach, or UINT64_MAX. */
static uint64_t extent(const struct plan_tensor_map *m)
{
    uint64_t end = 0;
    if (__builtin_add_overflow(m->offset_bytes, tensor_map_bytes(m, m->dims[0]), &end))
        return UINT64_MAX;
    for (int i = 1; i < m->rank; i++) {
        uint64_t reach;
        if (__builtin_mul_overflow(m->dims[i] - 1, m->strides[i], &reach) ||
            __builtin_add_overflow(end, reach, &end))
            return UINT64_MAX;
    }
    return end;
}

/* Names the memory and the type; the index of the memory stays -1 after a fault. */
static bool read_memory(struct plan_context *c, const struct map_fields *in, const char *path,
                        struct plan_memory *memory, struct plan_tensor_map *m)
{
    if (!in->tensor == !in->buffer) {
        faults_add(c->faults, path, "must name either a tensor or a buffer");
        return false;
    }
    if (!plan_memory_find(c, in->tensor ? PLAN_TENSOR : PLAN_BUFFER,
                          in->tensor ? in->tensor : in->buffer,
                          json_at(path, in->tensor ? "tensor" : "buffer").text, memory))
        return false;
    m->space = memory->space;
    m->index = memory->index;
    m->data_type = in->dtype ? tensor_map_type_find(in->dtype) : tensor_map_type_of(memory->dtype);
    if (m->data_type < 0) {
        faults_add(c->faults, json_at(path, "dtype").text, "'%s' is not one of %s", in->dtype,
                   tensor_map_type_names());
        return false;
    }
    m->element_bits = tensor_map_type_bits(m->data_type);
    return memory->elements > 0;
}

static bool read_box(struct plan_context *c, const struct map_fields *in, const char *path,
                     struct plan_tensor_map *m)
{
    int64_t box[LIMIT_DIMS], steps[LIMIT_DIMS] = {1, 1, 1, 1, 1};
    bool good = in->box && read_list(c, in->box, path, "box", m->rank, 1, 256, box);
    if (in->element_strides)
        good &= read_list(c, in->element_strides, path, "element_strides", m->rank, 1, 8, steps);
    for (int i = 0; good && i < m->rank; i++) {
        m->box[i] = (uint32_t)box[i];
        m->element_strides[i] = (uint32_t)steps[i];
    }
    return good;
}

static void read_map(struct plan_context *c, const json_t *v, const char *path,
                     struct plan_tensor_map *m)
{
    struct map_fields in = {0};
    struct plan_memory memory;
    m->index = -1;
    json_read(v, map_fields, COUNT_OF(map_fields), &in, path, c->faults);
    if (!json_is_object(v) || !read_memory(c, &in, path, &memory, m))
        return;
    m->interleave = in.interleave;
    m->swizzle = in.swizzle;
    m->l2_promotion = in.l2_promotion;
    m->oob_fill = in.oob_fill;
    int64_t offset = 0;
    bool good = !in.offset || plan_integer(c, in.offset, json_at(path, "offset").text, 0,
                                           memory.elements - 1, &offset);
    m->offset_bytes = (uint64_t)offset * dtype_bytes(memory.dtype);
    if (!read_dims(c, &in, path, &memory, m))
        return; /* nothing else can be judged without a rank */
    good &= read_strides(c, &in, path, m);
    good &= read_box(c, &in, path, m);
    if (!good)
        return;
    tensor_map_check(m, c->arch, path, c->faults);
    uint64_t end = extent(m), bytes = (uint64_t)memory.elements * dtype_bytes(memory.dtype);
    if (end > bytes)
        faults_add(c->faults, path, "reaches byte %llu of '%s', which has %llu",
                   (unsigned long long)end, in.tensor ? in.tensor : in.buffer,
                   (unsigned long long)bytes);
}

void plan_read_maps(struct plan_context *c, const json_t *object, const char *path)
{
    if (!plan_members(c, object, path, LIMIT_TENSOR_MAPS))
        return;
    const char *name;
    json_t *v;
    json_object_foreach((json_t *)object, name, v)
    {
        struct plan_tensor_map *m = &c->plan->maps[c->plan->map_count++];
        snprintf(m->name, sizeof(m->name), "%s", name);
        read_map(c, v, json_at(path, name).text, m);
    }
}
