/* SPDX-License-Identifier: Apache-2.0
 * Operands of PTX instructions as references to rows: registers, constants, special registers,
 * addresses of variables and functions. */
#include "evaluator/ptxvm/decode.h"

#include <string.h>

enum width width_of(enum ptx_type t)
{
    unsigned bits = ptx_type_bits(t);
    return t == PTX_TYPE_pred ? WIDTH_PRED
           : bits <= 32       ? WIDTH_32
           : bits <= 64       ? WIDTH_64
                              : WIDTH_128;
}

uint32_t decode_temp(struct decoder *d, enum width width)
{
    if (d->vreg_count == d->vreg_cap) {
        uint32_t cap = d->vreg_cap + d->vreg_cap / 2 + 64;
        uint8_t *widths = cap < REF_MASK ? realloc(d->widths, cap) : NULL;
        if (!widths) {
            decode_error(d, "out of memory");
            return REF_NONE;
        }
        d->widths = widths;
        d->vreg_cap = cap;
    }
    d->widths[d->vreg_count] = (uint8_t)width;
    return REF_VREG(d->vreg_count++);
}

/* Copies of the rows of constants with the same bytes are shared: open addressing by content. */
static uint32_t constant_slot(const struct program *p, uint64_t lo, uint64_t hi, enum width width)
{
    uint64_t h = (lo ^ hi * 0x9e3779b97f4a7c15u ^ (uint64_t)width) * 0xff51afd7ed558ccdu;
    uint32_t slot = (uint32_t)(h >> 32) & p->pool_mask;
    for (; p->pool[slot].used; slot = (slot + 1) & p->pool_mask) {
        const struct pooled *e = &p->pool[slot];
        if (e->lo == lo && e->hi == hi && e->width == width)
            break;
    }
    return slot;
}

static bool pool_grow(struct program *p)
{
    if (p->pool && p->pool_count * 2 <= p->pool_mask)
        return true;
    uint32_t size = p->pool ? (p->pool_mask + 1) * 2 : 256;
    struct pooled *old = p->pool, *fresh = calloc(size, sizeof *fresh);
    if (!fresh)
        return false;
    uint32_t old_size = old ? p->pool_mask + 1 : 0;
    p->pool = fresh;
    p->pool_mask = size - 1;
    for (uint32_t i = 0; i < old_size; i++)
        if (old[i].used)
            p->pool[constant_slot(p, old[i].lo, old[i].hi, old[i].width)] = old[i];
    free(old);
    return true;
}

static bool constants_grow(struct decoder *d, size_t need)
{
    struct program *p = d->program;
    if (p->constant_bytes + need <= p->constant_cap)
        return true;
    size_t cap = p->constant_cap ? p->constant_cap * 2 : 64 * 1024;
    if (cap > REF_MASK || !memory_charge(&d->vm->memory, cap - p->constant_cap))
        return decode_error(d, "too many constants");
    unsigned char *bytes = aligned_alloc(64, cap);
    if (!bytes) {
        memory_refund(&d->vm->memory, cap - p->constant_cap);
        return decode_error(d, "out of memory");
    }
    if (p->constant_bytes)
        memcpy(bytes, p->constants, p->constant_bytes);
    free(p->constants);
    p->constants = bytes;
    p->constant_cap = cap;
    return true;
}

uint32_t decode_constant(struct decoder *d, uint64_t lo, uint64_t hi, enum width width)
{
    struct program *p = d->program;
    if (!pool_grow(p)) {
        decode_error(d, "out of memory");
        return REF_NONE;
    }
    uint32_t slot = constant_slot(p, lo, hi, width);
    if (p->pool[slot].used)
        return REF_CONST(p->pool[slot].offset);
    size_t bytes = (size_t)width * VM_LANES;
    if (!constants_grow(d, bytes))
        return REF_NONE;
    unsigned char *to = p->constants + p->constant_bytes;
    uint64_t value[2] = {lo, hi};
    for (int i = 0; i < VM_LANES; i++)
        memcpy(to + i * (int)width, value, width);
    p->pool[slot] = (struct pooled){lo, hi, width, (uint32_t)p->constant_bytes, true};
    p->pool_count++;
    p->constant_bytes += bytes;
    return REF_CONST((uint32_t)(p->constant_bytes - bytes));
}

bool decode_variable(struct decoder *d, uint32_t var, uint64_t *address, bool *frame_relative)
{
    const struct ptx_var *v = &d->module->vars[var];
    *frame_relative = false;
    switch (v->space) {
    case PTX_SPACE_GLOBAL:
    case PTX_SPACE_CONST:
        *address = d->vm->var_address[var];
        break;
    case PTX_SPACE_SHARED:
        *address = d->program->var_address[var];
        break;
    case PTX_SPACE_PARAM:
        if (v->func == d->func_index && d->fn->is_entry && var >= d->fn->first_var &&
            var - d->fn->first_var < d->fn->return_count + d->fn->param_count) {
            *address = VM_PARAM_BASE + v->offset;
            break;
        }
        *frame_relative = true;
        *address = d->program->var_address[var];
        break;
    case PTX_SPACE_LOCAL:
        *frame_relative = true;
        *address = d->program->var_address[var];
        break;
    default:
        return decode_error(d, "variable %.80s cannot be used here", v->name);
    }
    if (*frame_relative && v->func != d->func_index)
        return decode_error(d, "variable %.80s belongs to another function", v->name);
    if (*address == 0 && !*frame_relative)
        return decode_error(d, "variable %.80s has no address", v->name);
    return true;
}

/* Address of a variable as a value: in its own space, except parameters of functions, which are
 * local memory by generic address. */
static uint32_t variable_value(struct decoder *d, const struct ptx_operand *o, enum width width)
{
    uint64_t address;
    bool relative;
    if (!decode_variable(d, o->index, &address, &relative))
        return REF_NONE;
    address += (uint64_t)o->value;
    if (!relative)
        return decode_constant(d, width == WIDTH_32 ? (uint32_t)address : address, 0, width);
    bool param = d->module->vars[o->index].space == PTX_SPACE_PARAM;
    if (param && width == WIDTH_32) {
        decode_error(d, "address of a parameter needs 64 bits");
        return REF_NONE;
    }
    uint32_t temp = decode_temp(d, width);
    struct op *op = temp ? decode_emit(d, run_local_address) : NULL;
    if (!op)
        return REF_NONE;
    op->d = temp;
    op->aux = width;
    op->imm = (int64_t)(address + (param ? VM_LOCAL_WINDOW : 0));
    return temp;
}

static uint32_t sreg_value(struct decoder *d, const struct ptx_operand *o, enum width width)
{
    enum width own = width_of(ptx_sreg_type((enum ptx_sreg)o->index));
    bool cut = own == WIDTH_64 && width == WIDTH_32;
    if (own == WIDTH_PRED || (cut && o->index != PTX_SREG_gridid) || width == WIDTH_128) {
        decode_error(d, "special register %s does not fit here", ptx_sreg_name(o->index));
        return REF_NONE;
    }
    uint32_t temp = decode_temp(d, width);
    struct op *op = temp ? decode_emit(d, run_sreg) : NULL;
    if (!op)
        return REF_NONE;
    op->d = temp;
    op->aux = o->index;
    op->imm = width;
    return temp;
}

static uint32_t register_value(struct decoder *d, const struct ptx_operand *o, enum width width,
                               bool relaxed)
{
    if (o->index >= d->fn->reg_count || o->negated) {
        decode_error(d, "operand does not fit here");
        return REF_NONE;
    }
    enum width own = d->widths[o->index];
    if (own == width)
        return REF_VREG(o->index);
    if (relaxed && own == WIDTH_64 && width == WIDTH_32) {
        uint32_t temp = decode_temp(d, WIDTH_32);
        struct op *op = temp ? decode_emit(d, run_trunc_32) : NULL;
        if (!op)
            return REF_NONE;
        op->d = temp;
        op->a = REF_VREG(o->index);
        return temp;
    }
    char name[PTXVM_NAME];
    ptx_format_reg(d->fn, o->index, name, sizeof name);
    decode_error(d, "register %s has %d bits where %d are needed", name, own ? (int)own * 8 : 1,
                 width ? (int)width * 8 : 1);
    return REF_NONE;
}

static uint32_t source(struct decoder *d, const struct ptx_operand *o, enum ptx_type type,
                       bool relaxed)
{
    enum width width = width_of(type);
    switch (o->kind) {
    case PTX_OPERAND_REG:
        return register_value(d, o, width, relaxed);
    case PTX_OPERAND_INT:
    case PTX_OPERAND_F32:
    case PTX_OPERAND_F64: {
        uint64_t bits = ptx_constant_bits(o, type);
        return decode_constant(d, bits, width == WIDTH_128 && (int64_t)bits < 0 ? UINT64_MAX : 0,
                               width);
    }
    case PTX_OPERAND_SREG:
        return sreg_value(d, o, width);
    case PTX_OPERAND_VAR:
        return variable_value(d, o, width);
    case PTX_OPERAND_FUNC:
        if (width == WIDTH_64)
            return decode_constant(d, VM_FUNC_BASE + (uint64_t)o->index * 16, 0, width);
        break;
    default:
        break;
    }
    decode_error(d, "operand does not fit here");
    return REF_NONE;
}

uint32_t decode_source(struct decoder *d, const struct ptx_operand *o, enum ptx_type type)
{
    return source(d, o, type, false);
}

uint32_t decode_source_relaxed(struct decoder *d, const struct ptx_operand *o, enum ptx_type type)
{
    return source(d, o, type, true);
}

uint32_t decode_result(struct decoder *d, const struct ptx_operand *o, enum ptx_type type)
{
    if (o->kind == PTX_OPERAND_SINK)
        return REF_FIXED(0);
    if (o->kind == PTX_OPERAND_REG)
        return register_value(d, o, width_of(type), false);
    decode_error(d, "result is no register");
    return REF_NONE;
}

uint32_t decode_result_relaxed(struct decoder *d, const struct ptx_operand *o, enum ptx_type type)
{
    bool wider = o->kind == PTX_OPERAND_REG && o->index < d->fn->reg_count && !o->negated &&
                 d->widths[o->index] == WIDTH_64 && width_of(type) == WIDTH_32;
    if (!wider || d->widen_count == (int)(sizeof d->widens / sizeof d->widens[0]))
        return decode_result(d, o, type);
    uint32_t temp = decode_temp(d, WIDTH_32);
    if (temp)
        d->widens[d->widen_count++] =
            (struct widen){temp, REF_VREG(o->index), ptx_type_class(type) == 's'};
    return temp;
}

bool decode_widen(struct decoder *d)
{
    for (int i = 0; i < d->widen_count; i++) {
        struct op *op = decode_emit(d, d->widens[i].is_signed ? run_sext_64 : run_zext_64);
        if (!op)
            return false;
        op->d = d->widens[i].to;
        op->a = d->widens[i].from;
    }
    d->widen_count = 0;
    return true;
}

uint32_t decode_pred(struct decoder *d, const struct ptx_operand *o)
{
    if (o->kind == PTX_OPERAND_INT)
        return REF_FIXED(((o->value != 0) ^ (o->negated != 0)) ? VM_PRED_TRUE : VM_PRED_FALSE);
    if (o->kind != PTX_OPERAND_REG || o->index >= d->fn->reg_count ||
        d->widths[o->index] != WIDTH_PRED) {
        decode_error(d, "operand is no predicate");
        return REF_NONE;
    }
    if (!o->negated)
        return REF_VREG(o->index);
    uint32_t temp = decode_temp(d, WIDTH_PRED);
    struct op *op = temp ? decode_emit(d, run_pred_not) : NULL;
    if (!op)
        return REF_NONE;
    op->d = temp;
    op->a = REF_VREG(o->index);
    return temp;
}

uint32_t decode_pred_result(struct decoder *d, const struct ptx_operand *o)
{
    if (o->kind == PTX_OPERAND_SINK)
        return REF_FIXED(VM_PRED_SINK);
    if (o->kind == PTX_OPERAND_REG && !o->negated && o->index < d->fn->reg_count &&
        d->widths[o->index] == WIDTH_PRED)
        return REF_VREG(o->index);
    decode_error(d, "result is no predicate");
    return REF_NONE;
}

bool decode_immediate(struct decoder *d, const struct ptx_operand *o, int64_t *value)
{
    if (o->kind != PTX_OPERAND_INT)
        return decode_error(d, "operand must be a constant");
    *value = o->value;
    return true;
}

const struct ptx_operand *decode_elements(struct decoder *d, const struct ptx_operand *o,
                                          uint32_t *count)
{
    if (o->kind == PTX_OPERAND_VECTOR || o->kind == PTX_OPERAND_PAIR ||
        o->kind == PTX_OPERAND_TUPLE || o->kind == PTX_OPERAND_ADDRESS) {
        *count = o->count;
        return &d->fn->operands[o->index];
    }
    *count = 1;
    return o;
}

bool decode_place(struct decoder *d, const struct ptx_operand *o, struct place *out)
{
    *out = (struct place){.space = PTX_SPACE_NONE};
    if (o->kind == PTX_OPERAND_ADDRESS && o->count >= 1)
        o = &d->fn->operands[o->index];
    if (o->kind != PTX_OPERAND_MEM)
        return decode_error(d, "operand is no address");
    out->offset = o->value;
    if (o->base == PTX_BASE_NONE)
        return true;
    if (o->base == PTX_BASE_VAR) {
        uint64_t address;
        if (!decode_variable(d, o->index, &address, &out->frame_relative))
            return false;
        out->offset = (int64_t)(address + (uint64_t)o->value);
        out->space = d->module->vars[o->index].space;
        return true;
    }
    if (o->index >= d->fn->reg_count)
        return decode_error(d, "address register does not exist");
    enum width own = d->widths[o->index];
    if (own != WIDTH_32 && own != WIDTH_64)
        return decode_error(d, "address register has neither 32 nor 64 bits");
    out->base = REF_VREG(o->index);
    out->narrow = own == WIDTH_32;
    return true;
}
