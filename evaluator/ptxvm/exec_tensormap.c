/* SPDX-License-Identifier: Apache-2.0
 * tensormap.replace, which writes a field of a map in global or shared memory, and
 * tensormap.cp_fenceproxy, which a warp uses to publish one it made in shared memory. */
#include "evaluator/ptxvm/async.h"

#include <string.h>

#include "evaluator/ptxvm/fragment.h"
#include "evaluator/ptxvm/tensor_map.h"

static unsigned char *map_at(struct warp *w, const struct op *op, int lane, uint64_t address,
                             enum access mode)
{
    uint64_t shared = async_shared(address);
    bool in_shared = op->aux || shared != address;
    return in_shared
               ? access_shared(w, op, lane, shared, TENSOR_MAP_BYTES, TENSOR_MAP_ALIGN, mode)
               : access_global(w, op, lane, address, TENSOR_MAP_BYTES, TENSOR_MAP_ALIGN, mode);
}

/* a: map, b: value, imm: tensor_map_field and, above, the number of the dimension. */
HANDLER(replace)
{
    const uint64_t *value = vm_row(w, op->b);
    EACH_LANE
    {
        if (!ACTIVE(exec, i))
            continue;
        unsigned char *map = map_at(w, op, i, async_lane(w, op->a, i), ACCESS_WRITE);
        if (!map)
            return NULL;
        if (!tensor_map_replace(map, (enum tensor_map_field)(op->imm & 0xff),
                                (uint32_t)(op->imm >> 8), value[i]))
            return stop_at(w, op, i, PTXVM_FAULT, PTXVM_BAD_OPERAND,
                           "value 0x%llx does not fit, or operand is no tensor map",
                           (unsigned long long)value[i]);
    }
    return op + 1;
}

/* a: in global memory, b: in shared memory; the same in all lanes. */
HANDLER(publish)
{
    if (!whole_warp(w, op, exec))
        return NULL;
    uint64_t from = async_shared(async_lane(w, op->b, 0));
    const unsigned char *map =
        access_shared(w, op, 0, from, TENSOR_MAP_BYTES, TENSOR_MAP_BYTES, ACCESS_READ);
    unsigned char *to = !map ? NULL
                             : access_global(w, op, 0, async_lane(w, op->a, 0), TENSOR_MAP_BYTES,
                                             TENSOR_MAP_BYTES, ACCESS_WRITE);
    if (!to)
        return NULL;
    memcpy(to, map, TENSOR_MAP_BYTES);
    return op + 1;
}

/* ---- decoding ---- */

static const struct {
    enum ptx_word word;
    enum tensor_map_field field;
    bool has_dimension;
} fields[] = {
    {PTX_WORD_global_address, TENSOR_MAP_ADDRESS, false},
    {PTX_WORD_rank, TENSOR_MAP_RANK_LESS_1, false},
    {PTX_WORD_box_dim, TENSOR_MAP_BOX, true},
    {PTX_WORD_global_dim, TENSOR_MAP_DIM, true},
    {PTX_WORD_global_stride, TENSOR_MAP_STRIDE, true},
    {PTX_WORD_element_stride, TENSOR_MAP_ELEMENT_STRIDE, true},
    {PTX_WORD_elemtype, TENSOR_MAP_TYPE, false},
    {PTX_WORD_interleave_layout, TENSOR_MAP_INTERLEAVE, false},
    {PTX_WORD_swizzle_mode, TENSOR_MAP_SWIZZLE, false},
    {PTX_WORD_fill_mode, TENSOR_MAP_FILL, false},
};

static uint32_t value_of(struct decoder *d, const struct ptx_operand *o)
{
    enum ptx_type type = (enum ptx_type)d->form->types[d->form->type_count - 1];
    if (o->kind == PTX_OPERAND_INT)
        return decode_constant(d, ptx_constant_bits(o, type), 0, WIDTH_64);
    uint32_t ref = decode_source(d, o, type);
    if (!ref || width_of(type) == WIDTH_64)
        return ref;
    uint32_t wide = decode_temp(d, WIDTH_64);
    struct op *op = wide ? decode_emit(d, run_zext_64) : NULL;
    if (!op)
        return REF_NONE;
    op->d = wide, op->a = ref;
    return wide;
}

static bool decode_replace(struct decoder *d, const struct row *row)
{
    size_t i = 0;
    while (i < sizeof fields / sizeof fields[0] && !form_has(d, fields[i].word))
        i++;
    if (i == sizeof fields / sizeof fields[0] || !d->form->type_count)
        return decode_emit(d, run_unsupported) != NULL;
    int64_t dimension = 0;
    uint32_t n = fields[i].has_dimension ? 3 : 2;
    if (!decode_count_is(d, n) || (n == 3 && !decode_immediate(d, &d->operands[1], &dimension)))
        return false;
    if (dimension < 0 || dimension >= TENSOR_MAP_RANK)
        return decode_error(d, "there is no dimension %lld", (long long)dimension);
    uint32_t a = async_decode_address(d, &d->operands[0]);
    uint32_t b = a ? value_of(d, &d->operands[n - 1]) : REF_NONE;
    struct op *op = b ? decode_emit(d, row->run) : NULL;
    if (!op)
        return false;
    op->a = a, op->b = b;
    op->aux = form_has(d, PTX_WORD_shared__cta);
    op->imm = fields[i].field | dimension << 8;
    return true;
}

static bool decode_publish(struct decoder *d, const struct row *row)
{
    int64_t bytes = 0;
    if (!decode_count_is(d, 3) || !decode_immediate(d, &d->operands[2], &bytes))
        return false;
    if (bytes != TENSOR_MAP_BYTES)
        return decode_error(d, "%lld bytes", (long long)bytes);
    uint32_t a = async_decode_address(d, &d->operands[0]);
    uint32_t b = a ? async_decode_address(d, &d->operands[1]) : REF_NONE;
    struct op *op = b ? decode_emit(d, row->run) : NULL;
    if (op)
        op->a = a, op->b = b;
    return op != NULL;
}

const struct row rows_tensormap[] = {
    {"tensormap.replace", NULL, replace, decode_replace, 0},
    {"tensormap.cp_fenceproxy", NULL, publish, decode_publish, 0},
    ROWS_END,
};
