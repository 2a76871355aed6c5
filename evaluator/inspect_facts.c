// SPDX-License-Identifier: Apache-2.0
#include "evaluator/inspect_facts.h"

#include <string.h>

#include "core/util.h"
#include "evaluator/ptxvm/ptx.h"

/* What the driver and ptxvm both provide. malloc and free are not among them: a heap carries state
 * from one launch to the next. */
static const char *const provided[] = {"vprintf", "__assertfail"};

static bool is_provided(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(provided); i++)
        if (!strcmp(provided[i], name))
            return true;
    return false;
}

static void from_cubin(const struct cubin_function *fn, struct kernel_facts *out)
{
    out->param_count = fn->param_count;
    for (unsigned i = 0; i < fn->param_count; i++)
        out->params[i] = (struct kernel_param){.size = fn->params[i].size};
    out->shared_bytes = fn->shared_bytes;
    out->local_bytes = fn->local_bytes;
    out->param_bytes = fn->param_bytes;
    out->registers = fn->registers;
    out->exact_threads = fn->exact_threads;
    out->explicit_cluster = fn->explicit_cluster;
    for (int i = 0; i < 3; i++) {
        out->max_threads[i] = fn->max_threads[i];
        out->cluster[i] = fn->cluster[i];
    }
}

/* Shared variables of the function and of the module: without an assembler nobody knows which of
 * the latter it uses, so all count. */
static uint64_t shared_of(const struct ptx_module *m, uint32_t func)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < m->var_count; i++) {
        const struct ptx_var *v = &m->vars[i];
        if (v->space == PTX_SPACE_SHARED && (v->func == func || v->func == PTX_NONE))
            sum += v->size;
    }
    return sum;
}

static void from_ptx(const struct ptx_module *m, const struct ptx_func *fn,
                     struct kernel_facts *out)
{
    const struct ptx_directives *d = &fn->directives;
    out->param_count = fn->param_count < CUBIN_PARAMS ? fn->param_count : CUBIN_PARAMS;
    out->shared_bytes = shared_of(m, (uint32_t)(fn - m->funcs));
    out->param_bytes = fn->param_bytes;
    out->registers = -1;
    out->exact_threads = d->reqntid[0] != 0;
    out->explicit_cluster = d->explicitcluster;
    for (int i = 0; i < 3; i++) {
        out->max_threads[i] = out->exact_threads ? d->reqntid[i] : d->maxntid[i];
        out->cluster[i] = d->reqnctapercluster[i];
    }
}

/* The PTX says how parameters are aligned and where that puts them. */
static void add_layout(const struct ptx_module *m, const struct ptx_func *fn,
                       struct kernel_facts *out)
{
    const struct ptx_var *params = &m->vars[fn->first_var + fn->return_count];
    if (fn->param_count != out->param_count)
        return;
    for (size_t i = 0; i < out->param_count; i++)
        out->params[i] = (struct kernel_param){params[i].size, params[i].align, params[i].offset};
}

bool kernel_facts_find(const struct cubin *cubin, const struct ptx_module *ptx, const char *symbol,
                       struct kernel_facts *out)
{
    const struct ptx_func *fn = ptx ? ptx_func_find(ptx, symbol) : NULL;
    struct cubin_function code;
    *out = (struct kernel_facts){0};
    if (fn && !fn->is_entry)
        fn = NULL;
    if (cubin) {
        if (!cubin_find(cubin, symbol, &code) || !code.entry)
            return false;
        from_cubin(&code, out);
    } else if (fn) {
        from_ptx(ptx, fn, out);
    }
    if (fn)
        add_layout(ptx, fn, out);
    return cubin || fn;
}

uint64_t module_global_bytes(const struct cubin *cubin, const struct ptx_module *ptx)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; ptx && i < ptx->var_count; i++) {
        const struct ptx_var *v = &ptx->vars[i];
        if (v->space == PTX_SPACE_GLOBAL && v->func == PTX_NONE)
            sum = v->size > UINT64_MAX - sum ? UINT64_MAX : sum + v->size;
    }
    uint64_t code = cubin ? cubin_global_bytes(cubin) : 0;
    return code > sum ? code : sum;
}

/* A function that is called or whose address is taken, and that no module holds. */
static const char *undefined_in_ptx(const struct ptx_module *m)
{
    for (uint32_t i = 0; i < m->func_count; i++)
        for (uint32_t k = 0; k < m->funcs[i].operand_count; k++) {
            const struct ptx_operand *o = &m->funcs[i].operands[k];
            const struct ptx_func *callee =
                o->kind == PTX_OPERAND_FUNC ? &m->funcs[o->index] : NULL;
            if (callee && !callee->has_body && callee->alias == PTX_NONE &&
                !is_provided(callee->name))
                return callee->name;
        }
    for (uint32_t i = 0; i < m->var_count; i++)
        if (m->vars[i].linkage == PTX_LINK_EXTERN && m->vars[i].space != PTX_SPACE_SHARED)
            return m->vars[i].name;
    return NULL;
}

const char *module_forbidden(const struct cubin *cubin, const struct ptx_module *ptx)
{
    const char *name;
    if (!cubin)
        return ptx ? undefined_in_ptx(ptx) : NULL;
    for (uint64_t at = 0; cubin_next_undefined(cubin, &at, &name);)
        if (!is_provided(name))
            return name;
    return NULL;
}
