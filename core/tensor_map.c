// SPDX-License-Identifier: Apache-2.0
// The driver's rules for tiled tensor maps, from the documentation of cuTensorMapEncodeTiled in
// cuda.h; tests/gpu/tensor_map holds them against a real driver. Knows no JSON and no tensors.
#include "core/tensor_map.h"

#include "core/json.h"
#include "core/util.h"

enum { NO_INTERLEAVE, INTERLEAVE_16B, INTERLEAVE_32B };
enum {
    NO_SWIZZLE,
    SWIZZLE_32B,
    SWIZZLE_64B,
    SWIZZLE_128B,
    SWIZZLE_ATOM_32B,
    SWIZZLE_FLIP_8B,
    SWIZZLE_ATOM_64B
};

/* In the order of CUtensorMapDataType. The packed types unpack on their way into shared memory. */
static const struct type {
    const char *name;
    int bits, shared_bits;
    bool is_float;
} types[] = {
    {"u8", 8, 8, false},         {"u16", 16, 16, false},     {"u32", 32, 32, false},
    {"i32", 32, 32, false},      {"u64", 64, 64, false},     {"i64", 64, 64, false},
    {"f16", 16, 16, true},       {"f32", 32, 32, true},      {"f64", 64, 64, true},
    {"bf16", 16, 16, true},      {"f32_ftz", 32, 32, true},  {"tf32", 32, 32, true},
    {"tf32_ftz", 32, 32, true},  {"u4_align8", 4, 4, false}, {"u4_align16", 4, 8, false},
    {"u6_align16", 6, 8, false},
};
enum { U4_ALIGN8 = 13, U4_ALIGN16, U6_ALIGN16 };

int tensor_map_type_find(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (!strcmp(types[i].name, name))
            return (int)i;
    return -1;
}

int tensor_map_type_of(enum dtype t)
{
    int found = tensor_map_type_find(dtype_name(t));
    return found < 0 ? 0 : found; /* i8 has no type of its own: u8 moves the same bytes */
}

int tensor_map_type_bits(int data_type)
{
    return types[data_type].bits;
}

const char *tensor_map_type_names(void)
{
    return "u8, u16, u32, i32, u64, i64, f16, f32, f64, bf16, f32_ftz, tf32, tf32_ftz, u4_align8, "
           "u4_align16, u6_align16";
}

uint64_t tensor_map_bytes(const struct plan_tensor_map *m, uint64_t elements)
{
    return (elements * (uint64_t)types[m->data_type].bits + 7) / 8;
}

/* Where a rule reports: the map's path with the field behind it. */
struct rules {
    const struct plan_tensor_map *m;
    const struct arch *arch;
    const struct type *type;
    const char *path;
    struct faults *faults;
    bool padded; /* u4_align16 or u6_align16 */
};

__attribute__((format(printf, 3, 4))) static void broken(const struct rules *r, const char *field,
                                                         const char *fmt, ...)
{
    char detail[LIMIT_DETAIL];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(detail, sizeof(detail), fmt, ap);
    va_end(ap);
    faults_add(r->faults, json_at(r->path, field).text, "%s", detail);
}

static void check_base(const struct rules *r)
{
    uint64_t step = r->padded || r->m->interleave == INTERLEAVE_32B ? 32 : 16;
    if (r->m->offset_bytes % step)
        broken(r, "offset", "must be a multiple of %llu bytes, not %llu", (unsigned long long)step,
               (unsigned long long)r->m->offset_bytes);
}

static void check_dims(const struct rules *r)
{
    const struct plan_tensor_map *m = r->m;
    if (m->rank < 1 || m->rank > LIMIT_DIMS)
        broken(r, "dims", "must have 1 to %d dimensions, not %d", LIMIT_DIMS, m->rank);
    else if (m->interleave != NO_INTERLEAVE && m->rank < 3)
        broken(r, "dims", "must have at least 3 dimensions when interleaved, not %d", m->rank);
    for (int i = 0; i < m->rank; i++)
        if (m->dims[i] < 1 || m->dims[i] > UINT64_C(1) << 32)
            broken(r, "dims", "entry %d must be 1 to 2^32, not %llu", i,
                   (unsigned long long)m->dims[i]);
    uint64_t step = r->padded ? 128 : m->data_type == U4_ALIGN8 ? 2 : 1;
    if (m->dims[0] % step)
        broken(r, "dims", "entry 0 must be a multiple of %llu for %s, not %llu",
               (unsigned long long)step, r->type->name, (unsigned long long)m->dims[0]);
}

static void check_strides(const struct rules *r)
{
    uint64_t step = r->padded || r->m->interleave == INTERLEAVE_32B ? 32 : 16;
    for (int i = 1; i < r->m->rank; i++) {
        uint64_t stride = r->m->strides[i];
        if (stride % step || stride >= UINT64_C(1) << 40)
            broken(r, "strides",
                   "the stride of dimension %d must be a multiple of %llu bytes below "
                   "2^40, not %llu",
                   i, (unsigned long long)step, (unsigned long long)stride);
    }
}

/* Bytes of a row of the box, after which a swizzle begins again; 0 without one. */
static const unsigned spans[] = {
    [NO_SWIZZLE] = 0,        [SWIZZLE_32B] = 32,       [SWIZZLE_64B] = 64,
    [SWIZZLE_128B] = 128,    [SWIZZLE_ATOM_32B] = 128, [SWIZZLE_FLIP_8B] = 128,
    [SWIZZLE_ATOM_64B] = 128};

static void check_box(const struct rules *r)
{
    const struct plan_tensor_map *m = r->m;
    for (int i = 0; i < m->rank; i++)
        if (m->box[i] < 1 || m->box[i] > 256)
            broken(r, "box", "entry %d must be 1 to 256, not %u", i, m->box[i]);
    unsigned inner = m->box[0] * (unsigned)r->type->shared_bits;
    if (r->padded && m->box[0] != 128)
        broken(r, "box", "entry 0 must be 128 for %s, not %u", r->type->name, m->box[0]);
    if (inner % 128) /* documented without interleave only, demanded always */
        broken(r, "box", "the inner dimension must be a multiple of 16 bytes; %u × %s is not",
               m->box[0], r->type->name);
    else if (m->interleave == NO_INTERLEAVE && m->swizzle != NO_SWIZZLE &&
             inner / 8 > spans[m->swizzle])
        broken(r, "box", "the inner dimension is %u bytes, over the swizzle's span of %u",
               inner / 8, spans[m->swizzle]);
}

/* What one load takes of shared memory: rows of the inner box, whose element stride the hardware
 * ignores, each as long as the span of the swizzle; and ceil(box / step) along the other
 * dimensions. The driver has a limit too, but rounds down and so lets maps through whose loads
 * cannot fit. */
static void check_size(const struct rules *r)
{
    const struct plan_tensor_map *m = r->m;
    uint64_t bytes = (uint64_t)m->box[0] * (uint64_t)r->type->shared_bits / 8;
    bytes = bytes < spans[m->swizzle] ? spans[m->swizzle] : bytes;
    for (int i = 0; i < m->rank; i++) {
        uint64_t step = m->element_strides[i];
        if (step < 1 || m->box[i] < 1 || m->box[i] > 256)
            return; /* reported already */
        bytes *= i ? (m->box[i] + step - 1) / step : 1;
    }
    if (bytes > (uint64_t)r->arch->max_shared_bytes)
        broken(r, "box", "makes %llu bytes, over the %d of shared memory that a block may have",
               (unsigned long long)bytes, r->arch->max_shared_bytes);
}

static void check_element_strides(const struct rules *r)
{
    for (int i = 0; i < r->m->rank; i++)
        if (r->m->element_strides[i] < 1 || r->m->element_strides[i] > 8)
            broken(r, "element_strides", "entry %d must be 1 to 8, not %u", i,
                   r->m->element_strides[i]);
}

static void check_modes(const struct rules *r)
{
    const struct plan_tensor_map *m = r->m;
    bool packed = m->data_type >= U4_ALIGN8;
    if (packed && r->arch->sm < 100)
        broken(r, "dtype", "%s needs sm_100a", r->type->name);
    if (m->interleave == INTERLEAVE_32B && m->swizzle != SWIZZLE_32B)
        broken(r, "swizzle", "must be 32B with a 32B interleave");
    if (m->swizzle > SWIZZLE_128B && r->arch->sm < 100)
        broken(r, "swizzle", "128B with an atom of 32B or 64B needs sm_100a");
    if (m->data_type == U6_ALIGN16 && m->interleave != NO_INTERLEAVE)
        broken(r, "interleave", "must be none for %s", r->type->name);
    bool plain_swizzle = m->swizzle == NO_SWIZZLE || m->swizzle == SWIZZLE_128B ||
                         m->swizzle == SWIZZLE_ATOM_32B ||
                         (m->swizzle == SWIZZLE_ATOM_64B && m->data_type == U6_ALIGN16);
    if (r->padded && !plain_swizzle)
        broken(r, "swizzle", "is not one that %s supports", r->type->name);
    if (m->oob_fill && !r->type->is_float)
        broken(r, "oob_fill", "nan needs a floating-point type, not %s", r->type->name);
}

void tensor_map_check(const struct plan_tensor_map *m, const struct arch *a, const char *path,
                      struct faults *faults)
{
    struct rules r = {m, a, &types[m->data_type], path, faults, m->data_type >= U4_ALIGN16};
    check_base(&r);
    check_dims(&r);
    check_strides(&r);
    check_box(&r);
    check_size(&r);
    check_element_strides(&r);
    check_modes(&r);
}
