/* SPDX-License-Identifier: Apache-2.0
 * PTX text of instructions: with the names of the source for messages and traces, or canonically
 * (see ptx_format.h) for ptx_format_module(). */
#include "evaluator/ptxvm/ptx_format.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct printer {
    const struct ptx_module *m;
    const struct ptx_func *fn;
    bool canonical;
    struct buf *out;
};

static const char components[] = "xyzw"; /* of a vector register */

static const struct ptx_reg_range *range_of(const struct ptx_func *fn, uint32_t reg)
{
    uint32_t low = 0, high = fn->reg_range_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (fn->reg_ranges[middle].first <= reg)
            low = middle;
        else
            high = middle;
    }
    return &fn->reg_ranges[low];
}

uint32_t ptx_param_of_reg(const struct ptx_module *m, const struct ptx_func *fn, uint32_t reg)
{
    for (uint32_t i = 0; i < fn->return_count + fn->param_count; i++)
        if (m->vars[fn->first_var + i].reg == reg)
            return i;
    return PTX_NONE;
}

void ptx_format_reg(const struct ptx_func *fn, uint32_t reg, char *out, size_t size)
{
    const struct ptx_reg_range *r = range_of(fn, reg);
    uint32_t at = reg - r->first;
    char component[3] = "";
    if (r->vector > 1)
        snprintf(component, sizeof component, ".%c", components[at % r->vector & 3]);
    if (r->numbered)
        snprintf(out, size, "%s%u%s", r->name, at / r->vector, component);
    else
        snprintf(out, size, "%s%s", r->name, component);
}

static void print_canonical_reg(const struct printer *p, uint32_t reg)
{
    const struct ptx_reg_range *r = range_of(p->fn, reg);
    uint32_t at = reg - r->first;
    uint32_t param = ptx_param_of_reg(p->m, p->fn, r->first);
    if (param == PTX_NONE)
        buf_addf(p->out, "%%r%u_%u", (unsigned)(r - p->fn->reg_ranges), at);
    else if (r->vector > 1)
        buf_addf(p->out, "$v%u.%c", param, components[at & 3]);
    else
        buf_addf(p->out, "$v%u", param);
}

static void print_reg(const struct printer *p, uint32_t reg)
{
    const struct ptx_reg_range *r = range_of(p->fn, reg);
    if (p->canonical) {
        print_canonical_reg(p, reg);
        return;
    }
    uint32_t at = reg - r->first;
    buf_adds(p->out, r->name);
    if (r->numbered)
        buf_addf(p->out, "%u", at / r->vector);
    if (r->vector > 1)
        buf_addf(p->out, ".%c", components[at % r->vector & 3]);
}

static void print_var(const struct printer *p, uint32_t var)
{
    const struct ptx_var *v = &p->m->vars[var];
    if (p->canonical && v->func != PTX_NONE)
        buf_addf(p->out, "$v%u", var - p->m->funcs[v->func].first_var);
    else
        buf_adds(p->out, v->name);
}

static void print_operands(const struct printer *p, uint32_t first, uint32_t count);

static void print_offset(const struct printer *p, int64_t offset)
{
    if (offset)
        buf_addf(p->out, "+%" PRId64, offset);
}

static void print_mem(const struct printer *p, const struct ptx_operand *o)
{
    if (o->base == PTX_BASE_REG)
        print_reg(p, o->index);
    else if (o->base == PTX_BASE_VAR)
        print_var(p, o->index);
    else
        buf_addf(p->out, "%" PRId64, o->value);
    if (o->base != PTX_BASE_NONE)
        print_offset(p, o->value);
}

/* The elements of "[base, …]": the base without its own brackets. */
static void print_address(const struct printer *p, const struct ptx_operand *o)
{
    print_mem(p, &p->fn->operands[o->index]);
    buf_adds(p->out, ", ");
    print_operands(p, o->index + 1, o->count - 1u);
}

/* "var[reg+i]" */
static void print_indexed(const struct printer *p, const struct ptx_operand *o)
{
    const struct ptx_operand *mem = &p->fn->operands[o->index];
    const struct ptx_var *v = &p->m->vars[mem->index];
    print_var(p, mem->index);
    buf_adds(p->out, "[");
    print_reg(p, mem[1].index);
    print_offset(p, mem->value / (int64_t)(ptx_type_bytes(v->type) * v->vector));
    buf_adds(p->out, "]");
}

static void print_pair(const struct printer *p, const struct ptx_operand *o)
{
    print_operands(p, o->index, 1);
    buf_adds(p->out, "|");
    print_operands(p, o->index + 1, 1);
}

/* How a list opens and closes. */
static const char brackets[][2] = {
    [PTX_OPERAND_MEM] = "[]",
    [PTX_OPERAND_ADDRESS] = "[]",
    [PTX_OPERAND_VECTOR] = "{}",
    [PTX_OPERAND_TUPLE] = "()",
};

static void print_bracketed(const struct printer *p, const struct ptx_operand *o)
{
    buf_add(p->out, &brackets[o->kind][0], 1);
    if (o->kind == PTX_OPERAND_MEM)
        print_mem(p, o);
    else if (o->kind == PTX_OPERAND_ADDRESS)
        print_address(p, o);
    else
        print_operands(p, o->index, o->count);
    buf_add(p->out, &brackets[o->kind][1], 1);
}

/* "$T1" canonically, else the name in the source. */
static void print_numbered(const struct printer *p, char letter, uint32_t number, const char *name)
{
    if (p->canonical)
        buf_addf(p->out, "$%c%u", letter, number);
    else
        buf_adds(p->out, name);
}

/* What has a name: false if the operand is of another kind. */
static bool print_named(const struct printer *p, const struct ptx_operand *o)
{
    switch ((enum ptx_operand_kind)o->kind) {
    case PTX_OPERAND_REG:
        print_reg(p, o->index);
        if (o->value)
            buf_adds(p->out, ptx_selector_halves(o->value) ? ".h" : ".b");
        for (uint32_t i = ptx_selector_count(o->value); i-- > 0;)
            buf_addf(p->out, "%u", ptx_selector_digit(o->value, i));
        return true;
    case PTX_OPERAND_SREG:
        buf_adds(p->out, ptx_sreg_name((enum ptx_sreg)o->index));
        return true;
    case PTX_OPERAND_VAR:
        print_var(p, o->index);
        print_offset(p, o->value);
        return true;
    case PTX_OPERAND_FUNC:
        buf_adds(p->out, p->m->funcs[o->index].name);
        return true;
    case PTX_OPERAND_LABEL:
        print_numbered(p, 'L', o->index, p->fn->labels[o->index].name);
        return true;
    case PTX_OPERAND_TARGETS:
        print_numbered(p, 'T', o->index, p->fn->targets[o->index].name);
        return true;
    case PTX_OPERAND_PROTO:
        print_numbered(p, 'P', o->index, p->fn->protos[o->index].name);
        return true;
    default:
        return false;
    }
}

static void print_operand(const struct printer *p, const struct ptx_operand *o)
{
    if (o->negated)
        buf_adds(p->out, p->fn->reg_types[o->index] == PTX_TYPE_pred ? "!" : "-");
    if (print_named(p, o))
        return;
    switch ((enum ptx_operand_kind)o->kind) {
    case PTX_OPERAND_INT:
        buf_addf(p->out, "%" PRId64, o->value);
        break;
    case PTX_OPERAND_F32:
        buf_addf(p->out, "0f%08" PRIX32, (uint32_t)o->value);
        break;
    case PTX_OPERAND_F64:
        buf_addf(p->out, "0d%016" PRIX64, (uint64_t)o->value);
        break;
    case PTX_OPERAND_SINK:
        buf_adds(p->out, "_");
        break;
    case PTX_OPERAND_INDEXED:
        print_indexed(p, o);
        break;
    case PTX_OPERAND_PAIR:
        print_pair(p, o);
        break;
    default:
        print_bracketed(p, o);
    }
}

static void print_operands(const struct printer *p, uint32_t first, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (i)
            buf_adds(p->out, ", ");
        print_operand(p, &p->fn->operands[first + i]);
    }
}

/* "(results), callee, (arguments), shape" without what is empty. */
static void print_call(const struct printer *p, uint32_t first)
{
    const struct ptx_operand *o = &p->fn->operands[first];
    if (o[0].count) {
        print_operand(p, &o[0]);
        buf_adds(p->out, ", ");
    }
    print_operand(p, &o[1]);
    for (int i = 2; i < 4; i++)
        if (i == 2 ? o[i].count : o[i].kind != PTX_OPERAND_SINK) {
            buf_adds(p->out, ", ");
            print_operand(p, &o[i]);
        }
}

static void print_instr(const struct printer *p, const struct ptx_instr *i)
{
    const struct ptx_form *form = &p->m->forms[i->form];
    if (i->guard != PTX_NONE) {
        buf_adds(p->out, i->guard_negated ? "@!" : "@");
        print_reg(p, i->guard);
        buf_adds(p->out, " ");
    }
    buf_adds(p->out, form->text);
    if (i->operand_count)
        buf_adds(p->out, " ");
    if (form->op == PTX_OP_call)
        print_call(p, i->operands);
    else
        print_operands(p, i->operands, i->operand_count);
    buf_adds(p->out, ";");
}

void ptx_format_instr(const struct ptx_module *m, const struct ptx_func *fn, uint32_t instr,
                      struct buf *out)
{
    struct printer p = {.m = m, .fn = fn, .out = out};
    print_instr(&p, &fn->instrs[instr]);
}

void ptx_format_instr_canonical(const struct ptx_module *m, const struct ptx_func *fn,
                                uint32_t instr, struct buf *out)
{
    struct printer p = {.m = m, .fn = fn, .canonical = true, .out = out};
    print_instr(&p, &fn->instrs[instr]);
}

void ptx_format_operands_canonical(const struct ptx_module *m, const struct ptx_func *fn,
                                   uint32_t first, uint32_t count, struct buf *out)
{
    struct printer p = {.m = m, .fn = fn, .canonical = true, .out = out};
    print_operands(&p, first, count);
}
