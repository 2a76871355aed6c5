/* SPDX-License-Identifier: Apache-2.0
 * mov, packing and unpacking, conversions between address spaces, predicate logic. */
#include "evaluator/ptxvm/lanes.h"

#include <string.h>

const uint32_t lane_bit[VM_LANES] = {
    1u << 0,  1u << 1,  1u << 2,  1u << 3,  1u << 4,  1u << 5,  1u << 6,  1u << 7,
    1u << 8,  1u << 9,  1u << 10, 1u << 11, 1u << 12, 1u << 13, 1u << 14, 1u << 15,
    1u << 16, 1u << 17, 1u << 18, 1u << 19, 1u << 20, 1u << 21, 1u << 22, 1u << 23,
    1u << 24, 1u << 25, 1u << 26, 1u << 27, 1u << 28, 1u << 29, 1u << 30, 1u << 31,
};

/* ---- rows ---- */

UNARY(mov_32, uint32_t, uint32_t, a)
UNARY(mov_64, uint64_t, uint64_t, a)
UNARY(zext, uint64_t, uint32_t, a)
UNARY(sext, uint64_t, int32_t, (int64_t)a)
UNARY(trunc_to_32, uint32_t, uint64_t, a)

handler run_mov_32, run_mov_64, run_zext_64, run_sext_64, run_trunc_32;

const struct op *run_mov_32(struct warp *w, const struct op *op, uint32_t exec)
{
    return mov_32(w, op, exec);
}

const struct op *run_mov_64(struct warp *w, const struct op *op, uint32_t exec)
{
    return mov_64(w, op, exec);
}

const struct op *run_zext_64(struct warp *w, const struct op *op, uint32_t exec)
{
    return zext(w, op, exec);
}

const struct op *run_sext_64(struct warp *w, const struct op *op, uint32_t exec)
{
    return sext(w, op, exec);
}

const struct op *run_trunc_32(struct warp *w, const struct op *op, uint32_t exec)
{
    return trunc_to_32(w, op, exec);
}

const struct op *run_mov_128(struct warp *w, const struct op *op, uint32_t exec)
{
    unsigned char *d = vm_row(w, op->d);
    const unsigned char *a = vm_row(w, op->a);
    EACH_LANE if (ACTIVE(exec, i)) memmove(d + 16 * i, a + 16 * i, 16);
    return op + 1;
}

/* Address of a local variable: aux is the width of the result. */
const struct op *run_local_address(struct warp *w, const struct op *op, uint32_t exec)
{
    uint64_t address = w->frame->local_base + (uint64_t)op->imm;
    if (op->aux == WIDTH_32) {
        uint32_t *d = vm_row(w, op->d);
        EACH_LANE if (ACTIVE(exec, i)) d[i] = (uint32_t)address;
    } else {
        uint64_t *d = vm_row(w, op->d);
        EACH_LANE if (ACTIVE(exec, i)) d[i] = address;
    }
    return op + 1;
}

/* ---- packing: list of parts, aux bytes each, row width of a part in imm ---- */

HANDLER(pack)
{
    unsigned char *d = vm_row(w, op->d);
    uint32_t part = op->aux & 0xff, part_width = op->aux >> 8 & 0xff, width = op->aux >> 16;
    unsigned char rows[16 * VM_LANES];
    for (uint32_t k = 0; k < op->uses; k++) {
        const unsigned char *from = vm_row(w, op->list[k]);
        EACH_LANE memcpy(rows + (uint32_t)i * width + k * part, from + (uint32_t)i * part_width,
                         part);
    }
    EACH_LANE if (ACTIVE(exec, i))
        memcpy(d + (uint32_t)i * width, rows + (uint32_t)i * width, width);
    return op + 1;
}

HANDLER(unpack)
{
    const unsigned char *a = vm_row(w, op->a);
    uint32_t part = op->aux & 0xff, part_width = op->aux >> 8 & 0xff, width = op->aux >> 16;
    for (uint32_t k = 0; k < op->defs; k++) {
        unsigned char *to = vm_row(w, op->list[k]);
        EACH_LANE
        {
            if (!ACTIVE(exec, i))
                continue;
            uint64_t zero[2] = {0, 0};
            memcpy(zero, a + (uint32_t)i * width + k * part, part);
            memcpy(to + (uint32_t)i * part_width, zero, part_width);
        }
    }
    return op + 1;
}

/* The same for parts of 16 and 32 bits, which is nearly all there is: whole rows at a time. A
 * result may lie where the operand did. */
#define UNPACK(name, W, P)                                                                         \
    HANDLER(name)                                                                                  \
    {                                                                                              \
        W whole[VM_LANES];                                                                         \
        memcpy(whole, vm_row(w, op->a), sizeof whole);                                             \
        for (uint32_t k = 0; k < op->defs; k++) {                                                  \
            const uint32_t shift = 8 * (uint32_t)sizeof(P) * k;                                    \
            uint32_t *d = vm_row(w, op->list[k]);                                                  \
            LANES_STORE(uint32_t, const W a = whole[i], (P)(a >> shift))                           \
        }                                                                                          \
        return op + 1;                                                                             \
    }

#define PACK(name, W, P)                                                                           \
    HANDLER(name)                                                                                  \
    {                                                                                              \
        W whole[VM_LANES] = {0}, *d = vm_row(w, op->d);                                            \
        for (uint32_t k = 0; k < op->uses; k++) {                                                  \
            const uint32_t shift = 8 * (uint32_t)sizeof(P) * k, *a = vm_row(w, op->list[k]);       \
            EACH_LANE whole[i] |= (W)(P)a[i] << shift;                                             \
        }                                                                                          \
        LANES_STORE(W, const W a = whole[i], a)                                                    \
        return op + 1;                                                                             \
    }

UNPACK(unpack_32_16, uint32_t, uint16_t)
UNPACK(unpack_64_16, uint64_t, uint16_t)
UNPACK(unpack_64_32, uint64_t, uint32_t)
PACK(pack_32_16, uint32_t, uint16_t)
PACK(pack_64_16, uint64_t, uint16_t)
PACK(pack_64_32, uint64_t, uint32_t)

static handler *mover(bool unpacks, unsigned whole, unsigned part)
{
    static const struct {
        unsigned whole, part; /* bits */
        handler *pack, *unpack;
    } movers[] = {
        {32, 16, pack_32_16, unpack_32_16},
        {64, 16, pack_64_16, unpack_64_16},
        {64, 32, pack_64_32, unpack_64_32},
    };
    for (size_t i = 0; i < sizeof movers / sizeof movers[0]; i++)
        if (movers[i].whole == whole && movers[i].part == part)
            return unpacks ? movers[i].unpack : movers[i].pack;
    return unpacks ? unpack : pack;
}

static enum ptx_type bits_type(unsigned bits)
{
    return bits == 8     ? PTX_TYPE_b8
           : bits == 16  ? PTX_TYPE_b16
           : bits == 32  ? PTX_TYPE_b32
           : bits == 64  ? PTX_TYPE_b64
           : bits == 128 ? PTX_TYPE_b128
                         : PTX_TYPE_NONE;
}

static bool decode_vector_mov(struct decoder *d, enum ptx_type type)
{
    bool unpacks = d->operands[0].kind == PTX_OPERAND_VECTOR;
    uint32_t count;
    const struct ptx_operand *parts = decode_elements(d, &d->operands[unpacks ? 0 : 1], &count);
    unsigned bits = ptx_type_bits(type);
    enum ptx_type part = count ? bits_type(bits / count) : PTX_TYPE_NONE;
    if (part == PTX_TYPE_NONE || ptx_type_bits(part) * count != bits || count > 16)
        return decode_error(d, "%u parts do not make %u bits", count, bits);
    uint32_t refs[16];
    for (uint32_t k = 0; k < count; k++)
        if (!(refs[k] =
                  unpacks ? decode_result(d, &parts[k], part) : decode_source(d, &parts[k], part)))
            return false;
    uint32_t whole =
        unpacks ? decode_source(d, &d->operands[1], type) : decode_result(d, &d->operands[0], type);
    struct op *op = whole ? decode_emit(d, mover(unpacks, bits, ptx_type_bits(part))) : NULL;
    if (!op)
        return false;
    op->aux =
        ptx_type_bits(part) / 8 | (uint32_t)width_of(part) << 8 | (uint32_t)width_of(type) << 16;
    if (unpacks)
        op->a = whole;
    else
        op->d = whole;
    for (uint32_t k = 0; k < count; k++)
        if (!decode_list(d, refs[k], unpacks))
            return false;
    return true;
}

HANDLER(mov_pred)
{
    vm_set_pred(w, op->d, exec, w->preds[op->a]);
    return op + 1;
}

/* Was a cluster size given, by the launch or the kernel? */
HANDLER(explicit_cluster)
{
    const struct run *run = w->cta->run;
    bool given = run->launch->cluster[0] || run->program->entry->directives.reqnctapercluster[0];
    vm_set_pred(w, op->d, exec, given ? VM_FULL : 0);
    return op + 1;
}

/* The only special register that is a predicate. */
static bool decode_explicit_cluster(struct decoder *d)
{
    uint32_t to = decode_pred_result(d, &d->operands[0]);
    if (d->operands[1].index != PTX_SREG_is_explicit_cluster)
        return decode_error(d, "operand is no predicate");
    struct op *op = to ? decode_emit(d, explicit_cluster) : NULL;
    if (op)
        op->d = to;
    return op != NULL;
}

static bool emit_mov(struct decoder *d, uint32_t to, uint32_t a, enum width width)
{
    struct op *op = a && to ? decode_emit(d, width == WIDTH_32   ? run_mov_32
                                             : width == WIDTH_64 ? run_mov_64
                                                                 : run_mov_128)
                            : NULL;
    if (op)
        op->d = to, op->a = a;
    return op != NULL;
}

/* Element i of the source of mov.v2 or mov.v4: of a list, or of a special register such as %tid,
 * whose components stand before it. */
static uint32_t vector_element(struct decoder *d, const struct ptx_operand *from, uint32_t i,
                               enum ptx_type type)
{
    uint32_t count = 0;
    const struct ptx_operand *e = decode_elements(d, from, &count);
    struct ptx_operand component = *from;
    bool has_components = from->kind == PTX_OPERAND_SREG && from->index >= 4 &&
                          !strchr(ptx_sreg_name((enum ptx_sreg)from->index), '.');
    if (from->kind == PTX_OPERAND_VECTOR && i < count)
        return decode_source(d, &e[i], type);
    component.index = has_components ? from->index - 4 + i : from->index;
    if (has_components && strchr(ptx_sreg_name((enum ptx_sreg)component.index), '.'))
        return decode_source(d, &component, type);
    decode_error(d, "source is no vector");
    return REF_NONE;
}

/* mov.v2, mov.v4: all elements are read before any is written. */
static bool decode_elements_mov(struct decoder *d, enum ptx_type type, uint32_t want)
{
    uint32_t count = 0, temps[4];
    const struct ptx_operand *results = decode_elements(d, &d->operands[0], &count);
    enum width width = width_of(type);
    if (count != want || d->operands[0].kind != PTX_OPERAND_VECTOR || width == WIDTH_PRED)
        return decode_error(d, "%u elements where %u are needed", count, want);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t a = vector_element(d, &d->operands[1], i, type);
        if (!a || !(temps[i] = decode_temp(d, width)) || !emit_mov(d, temps[i], a, width))
            return false;
    }
    for (uint32_t i = 0; i < count; i++)
        if (!emit_mov(d, decode_result(d, &results[i], type), temps[i], width))
            return false;
    return true;
}

static bool decode_mov(struct decoder *d, const struct row *row)
{
    (void)row;
    enum ptx_type type = (enum ptx_type)d->form->types[0];
    if (d->form->type_count != 1 || !decode_count_is(d, 2))
        return d->form->type_count == 1 ? false : decode_error(d, "needs one type");
    if (type == PTX_TYPE_pred && d->operands[1].kind == PTX_OPERAND_SREG)
        return decode_explicit_cluster(d);
    if (type == PTX_TYPE_pred) {
        uint32_t a = decode_pred(d, &d->operands[1]), to = decode_pred_result(d, &d->operands[0]);
        struct op *op = a && to ? decode_emit(d, mov_pred) : NULL;
        if (op)
            op->d = to, op->a = a;
        return op != NULL;
    }
    if (form_has(d, PTX_WORD_v2) || form_has(d, PTX_WORD_v4))
        return decode_elements_mov(d, type, form_has(d, PTX_WORD_v2) ? 2 : 4);
    if (d->operands[0].kind == PTX_OPERAND_VECTOR || d->operands[1].kind == PTX_OPERAND_VECTOR)
        return decode_vector_mov(d, type);
    uint32_t a = decode_source_relaxed(d, &d->operands[1], type);
    uint32_t to = decode_result_relaxed(d, &d->operands[0], type);
    return emit_mov(d, to, a, width_of(type)) && decode_widen(d);
}

/* ---- predicates ---- */

#define PRED_LOGIC(name, value)                                                                    \
    HANDLER(name)                                                                                  \
    {                                                                                              \
        uint32_t a = w->preds[op->a], b = w->preds[op->b];                                         \
        (void)b;                                                                                   \
        vm_set_pred(w, op->d, exec, value);                                                        \
        return op + 1;                                                                             \
    }
PRED_LOGIC(and_pred, a &b)
PRED_LOGIC(or_pred, a | b)
PRED_LOGIC(xor_pred, a ^ b)
PRED_LOGIC(not_pred, ~a)

const struct op *run_pred_not(struct warp *w, const struct op *op, uint32_t exec)
{
    return not_pred(w, op, exec);
}

const struct op *run_pred_and(struct warp *w, const struct op *op, uint32_t exec)
{
    return and_pred(w, op, exec);
}

const struct op *run_pred_or(struct warp *w, const struct op *op, uint32_t exec)
{
    return or_pred(w, op, exec);
}

const struct op *run_pred_xor(struct warp *w, const struct op *op, uint32_t exec)
{
    return xor_pred(w, op, exec);
}

/* ---- spaces ---- */

enum { WINDOW_SHARED = 1, WINDOW_LOCAL, WINDOW_NONE };

static int window_of(uint64_t address)
{
    return address >> VM_WINDOW_BITS == VM_SHARED_WINDOW >> VM_WINDOW_BITS  ? WINDOW_SHARED
           : address >> VM_WINDOW_BITS == VM_LOCAL_WINDOW >> VM_WINDOW_BITS ? WINDOW_LOCAL
                                                                            : WINDOW_NONE;
}

BINARY(add_window, uint64_t, uint64_t, uint64_t, a + b)
BINARY(sub_window, uint64_t, uint64_t, uint64_t, a - b)

/* Global, const and parameter addresses are generic ones already. */
static bool decode_cvta(struct decoder *d, const struct row *row)
{
    (void)row;
    bool to = form_has(d, PTX_WORD_to);
    bool shared = form_has(d, PTX_WORD_shared) || form_has(d, PTX_WORD_shared__cta) ||
                  form_has(d, PTX_WORD_shared__cluster);
    bool local = form_has(d, PTX_WORD_local);
    if (!decode_count_is(d, 2) || d->form->types[0] != PTX_TYPE_u64)
        return decode_error(d, "only 64-bit addresses are converted");
    const struct ptx_operand *o = &d->operands[1];
    bool param = o->kind == PTX_OPERAND_VAR && d->module->vars[o->index].space == PTX_SPACE_PARAM;
    uint64_t base = param ? 0 : shared ? VM_SHARED_WINDOW : local ? VM_LOCAL_WINDOW : 0;
    uint32_t a = decode_source(d, o, PTX_TYPE_u64);
    uint32_t b = a ? decode_constant(d, base, 0, WIDTH_64) : REF_NONE;
    uint32_t result = decode_result(d, &d->operands[0], PTX_TYPE_u64);
    struct op *op = a && b && result ? decode_emit(d, to ? sub_window : add_window) : NULL;
    if (!op)
        return false;
    op->d = result, op->a = a, op->b = b;
    return true;
}

HANDLER(is_space)
{
    const uint64_t *a = vm_row(w, op->a);
    const struct memory *m = &w->cta->run->vm->memory;
    uint32_t bits = 0;
    EACH_LANE
    {
        if (!ACTIVE(exec, i))
            continue;
        int window = window_of(a[i]);
        bool is = false;
        if (op->aux == PTX_SPACE_SHARED)
            is = window == WINDOW_SHARED &&
                 (op->imm || (a[i] - VM_SHARED_WINDOW) >> VM_PEER_SHIFT == 0);
        else if (op->aux == PTX_SPACE_LOCAL)
            is = window == WINDOW_LOCAL;
        else if (op->aux == PTX_SPACE_PARAM)
            is = a[i] - VM_PARAM_BASE < w->cta->run->params.size;
        else if (op->aux == PTX_SPACE_CONST) {
            const struct allocation *at = memory_find(m, a[i], 1);
            is = at && at->is_const;
        } else
            is = window == WINDOW_NONE && a[i] >= VM_GLOBAL_BASE;
        bits |= is ? lane_bit[i] : 0;
    }
    vm_set_pred(w, op->d, exec, bits);
    return op + 1;
}

static enum ptx_space space_word(const struct decoder *d)
{
    if (form_has(d, PTX_WORD_shared) || form_has(d, PTX_WORD_shared__cta) ||
        form_has(d, PTX_WORD_shared__cluster))
        return PTX_SPACE_SHARED;
    return form_has(d, PTX_WORD_local)                                         ? PTX_SPACE_LOCAL
           : form_has(d, PTX_WORD_param) || form_has(d, PTX_WORD_param__entry) ? PTX_SPACE_PARAM
           : form_has(d, PTX_WORD_const)                                       ? PTX_SPACE_CONST
                                                                               : PTX_SPACE_GLOBAL;
}

static bool decode_isspacep(struct decoder *d, const struct row *row)
{
    (void)row;
    uint32_t a = decode_count_is(d, 2) ? decode_source(d, &d->operands[1], PTX_TYPE_b64) : REF_NONE;
    uint32_t to = a ? decode_pred_result(d, &d->operands[0]) : REF_NONE;
    struct op *op = to ? decode_emit(d, is_space) : NULL;
    if (!op)
        return false;
    op->d = to, op->a = a;
    op->aux = space_word(d);
    op->imm = form_has(d, PTX_WORD_shared__cluster); /* peers' memory too */
    return true;
}

const struct row rows_move[] = {
    {"mov", NULL, NULL, decode_mov, 0},           {"and.pred", "p:pp", and_pred, NULL, 0},
    {"or.pred", "p:pp", or_pred, NULL, 0},        {"xor.pred", "p:pp", xor_pred, NULL, 0},
    {"not.pred", "p:p", not_pred, NULL, 0},       {"cvta", NULL, NULL, decode_cvta, 0},
    {"isspacep", NULL, NULL, decode_isspacep, 0}, ROWS_END,
};
