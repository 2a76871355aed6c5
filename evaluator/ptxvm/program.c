/* SPDX-License-Identifier: Apache-2.0
 * A program: one entry and every function it can reach, with shared memory laid out for it and
 * local memory laid out per function. Made at the first launch of the entry and kept with the
 * device. */
#include "evaluator/ptxvm/decode.h"

#include <string.h>

/* Frames begin at multiples of FRAME_ALIGN, which is the biggest alignment of a local variable. */
enum { SLOT_ALIGN = 16, FRAME_ALIGN = VM_LOCAL_START };

/* ---- what is reachable ---- */

struct reach {
    struct program *p;
    uint32_t *stack;
    uint32_t depth;
    bool *used_vars;
    bool failed;
};

static void reach_function(struct reach *r, uint32_t index)
{
    const struct ptx_module *m = r->p->module;
    if (index < m->func_count && m->funcs[index].alias != PTX_NONE)
        index = m->funcs[index].alias;
    if (index >= m->func_count || r->p->functions[index] || !m->funcs[index].has_body)
        return;
    struct function *fn = calloc(1, sizeof *fn);
    if (!fn) {
        r->failed = true;
        return;
    }
    fn->ptx = &m->funcs[index];
    fn->index = index;
    r->p->functions[index] = fn;
    r->stack[r->depth++] = index;
}

static void reach_operands(struct reach *r, const struct ptx_func *fn)
{
    for (uint32_t i = 0; i < fn->operand_count; i++) {
        const struct ptx_operand *o = &fn->operands[i];
        if (o->kind == PTX_OPERAND_FUNC)
            reach_function(r, o->index);
        else if (o->kind == PTX_OPERAND_VAR ||
                 (o->kind == PTX_OPERAND_MEM && o->base == PTX_BASE_VAR))
            r->used_vars[o->index] = true;
    }
}

/* Functions whose address stands in a variable may be called through it. */
static void reach_tables(struct reach *r)
{
    const struct ptx_module *m = r->p->module;
    for (uint32_t i = 0; i < m->var_count; i++)
        for (uint32_t k = 0; k < m->vars[i].reloc_count; k++)
            if (m->vars[i].relocs[k].is_func)
                reach_function(r, m->vars[i].relocs[k].index);
}

/* ---- layout ---- */

static uint64_t align_up(uint64_t n, uint64_t align)
{
    return (n + align - 1) / align * align;
}

static bool is_dynamic(const struct ptx_var *v)
{
    return v->unsized;
}

static bool lay_shared(struct program *p, const bool *used, struct fault *f)
{
    const struct ptx_module *m = p->module;
    uint64_t at = VM_SHARED_START, dynamic_align = 16;
    for (uint32_t i = 0; i < m->var_count; i++) {
        const struct ptx_var *v = &m->vars[i];
        if (v->space != PTX_SPACE_SHARED || !used[i])
            continue;
        uint64_t align = v->align ? v->align : 1;
        if (is_dynamic(v)) {
            dynamic_align = align > dynamic_align ? align : dynamic_align;
            continue;
        }
        at = align_up(at, align);
        p->var_address[i] = at;
        at += v->size;
        if (at > VM_SHARED_START + VM_SHARED_MAX)
            return fault_set(f, ERR_INVALID,
                             "%.80s needs more than %d bytes of static shared memory",
                             p->entry->name, VM_SHARED_MAX),
                   false;
    }
    at = align_up(at, dynamic_align);
    for (uint32_t i = 0; i < m->var_count; i++)
        if (m->vars[i].space == PTX_SPACE_SHARED && used[i] && is_dynamic(&m->vars[i]))
            p->var_address[i] = at;
    p->shared_static = (uint32_t)(at - VM_SHARED_START);
    return true;
}

/* Room for a variable in the local memory of its function. */
static bool lay_slot(struct program *p, struct function *fn, uint32_t var, struct fault *f)
{
    const struct ptx_var *v = &p->module->vars[var];
    uint64_t align = v->align > SLOT_ALIGN ? v->align : SLOT_ALIGN;
    if (align > FRAME_ALIGN)
        return fault_set(f, ERR_INVALID, "%.80s is aligned to more than %d bytes", v->name,
                         FRAME_ALIGN),
               false;
    uint64_t at = align_up(fn->local_bytes, align);
    uint64_t bytes = v->space == PTX_SPACE_REG ? SLOT_ALIGN : v->size;
    if (bytes > VM_LOCAL_MAX || at + bytes > VM_LOCAL_MAX)
        return fault_set(f, ERR_INVALID, "%.80s needs more than %d bytes of local memory",
                         fn->ptx->name, VM_LOCAL_MAX),
               false;
    p->var_address[var] = at;
    fn->local_bytes = (uint32_t)align_up(at + bytes, SLOT_ALIGN);
    return true;
}

/* Registers move as whole row entries. */
static uint32_t slot_bytes(const struct ptx_var *v)
{
    return v->space == PTX_SPACE_REG ? (uint32_t)width_of((enum ptx_type)v->type)
                                     : (uint32_t)v->size;
}

static bool lay_signature(struct program *p, struct function *fn, struct fault *f)
{
    uint32_t n = fn->ptx->return_count + fn->ptx->param_count;
    fn->slots = calloc((size_t)n + 1, sizeof *fn->slots);
    fn->sizes = calloc((size_t)n + 1, sizeof *fn->sizes);
    if (!fn->slots || !fn->sizes)
        return fault_set(f, ERR_NO_MEMORY, "out of memory"), false;
    for (uint32_t i = 0; i < n && !fn->ptx->is_entry; i++) {
        if (!lay_slot(p, fn, fn->ptx->first_var + i, f))
            return false;
        fn->slots[i] = (uint32_t)p->var_address[fn->ptx->first_var + i];
        fn->sizes[i] = slot_bytes(&p->module->vars[fn->ptx->first_var + i]);
    }
    return true;
}

static bool lay_locals(struct program *p, struct fault *f)
{
    const struct ptx_module *m = p->module;
    for (uint32_t i = 0; i < p->function_count; i++)
        if (p->functions[i] && !lay_signature(p, p->functions[i], f))
            return false;
    for (uint32_t i = 0; i < m->var_count; i++) {
        const struct ptx_var *v = &m->vars[i];
        struct function *fn = v->func < p->function_count ? p->functions[v->func] : NULL;
        bool local = v->space == PTX_SPACE_LOCAL || v->space == PTX_SPACE_PARAM;
        if (!fn || !local || i - fn->ptx->first_var < fn->ptx->return_count + fn->ptx->param_count)
            continue;
        if (!lay_slot(p, fn, i, f))
            return false;
    }
    for (uint32_t i = 0; i < p->function_count; i++)
        if (p->functions[i])
            p->functions[i]->local_bytes =
                (uint32_t)align_up(p->functions[i]->local_bytes, FRAME_ALIGN);
    return true;
}

/* ---- */

static bool build(struct ptxvm *vm, struct program *p, struct reach *r, struct fault *f)
{
    const struct ptx_module *m = p->module;
    p->function_count = m->func_count;
    p->functions = calloc((size_t)m->func_count + 1, sizeof *p->functions);
    p->var_address = calloc((size_t)m->var_count + 1, sizeof *p->var_address);
    r->stack = calloc((size_t)m->func_count + 1, sizeof *r->stack);
    r->used_vars = calloc((size_t)m->var_count + 1, sizeof *r->used_vars);
    if (!p->functions || !p->var_address || !r->stack || !r->used_vars)
        return fault_set(f, ERR_NO_MEMORY, "out of memory"), false;
    reach_function(r, (uint32_t)(p->entry - m->funcs));
    reach_tables(r);
    while (r->depth)
        reach_operands(r, &m->funcs[r->stack[--r->depth]]);
    if (r->failed)
        return fault_set(f, ERR_NO_MEMORY, "out of memory"), false;
    return lay_shared(p, r->used_vars, f) && lay_locals(p, f) && decode_program(vm, p, f);
}

struct program *program_new(struct ptxvm *vm, const struct ptx_func *entry, struct fault *f)
{
    struct program *p = calloc(1, sizeof *p);
    if (!p) {
        fault_set(f, ERR_NO_MEMORY, "out of memory");
        return NULL;
    }
    p->module = vm->module;
    p->entry = entry;
    struct reach r = {.p = p};
    bool ok = build(vm, p, &r, f);
    free(r.stack);
    free(r.used_vars);
    if (ok)
        return p;
    memory_refund(&vm->memory, p->constant_cap);
    program_free(p);
    return NULL;
}

static void function_free(struct function *fn)
{
    if (!fn)
        return;
    free(fn->ops);
    free(fn->lists);
    free(fn->slots);
    free(fn->sizes);
    free(fn->places);
    free(fn);
}

void program_free(struct program *p)
{
    if (!p)
        return;
    for (uint32_t i = 0; p->functions && i < p->function_count; i++)
        function_free(p->functions[i]);
    free(p->functions);
    free(p->var_address);
    free(p->constants);
    free(p->pool);
    free(p->origins);
    free(p);
}
