/* SPDX-License-Identifier: Apache-2.0
 * A device: its memory as the embedder sees it, its module with the variables in place. */
#include "evaluator/ptxvm/vm.h"

#include <string.h>
#include <unistd.h>

#define TIME_ZERO UINT64_C(1700000000000000000) /* nanoseconds since 1970, as %globaltimer counts  \
                                                 */

static int default_threads(void)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online < 1 ? 1 : (int)online;
}

static void fill_defaults(struct ptxvm_options *o)
{
    if (o->threads <= 0)
        o->threads = default_threads();
    if (o->threads > PTXVM_THREADS_MAX)
        o->threads = PTXVM_THREADS_MAX;
    if (!o->instruction_budget)
        o->instruction_budget = UINT64_C(1) << 40;
    if (o->deadline_ms <= 0)
        o->deadline_ms = 60 * 1000;
    if (!o->memory_max)
        o->memory_max = (size_t)4 << 30;
    if (o->num_sms <= 0)
        o->num_sms = 132;
    if (!o->print_max)
        o->print_max = 64 * KIB;
}

struct ptxvm *ptxvm_new(const struct ptxvm_options *options, struct fault *f)
{
    struct ptxvm *vm = calloc(1, sizeof *vm);
    if (!vm) {
        fault_set(f, ERR_NO_MEMORY, "out of memory");
        return NULL;
    }
    if (options)
        vm->options = *options;
    fill_defaults(&vm->options);
    vm->memory.max = vm->options.memory_max;
    vm->memory.next = VM_GLOBAL_BASE;
    vm->time_ns = TIME_ZERO;
    pthread_mutex_init(&vm->wide, NULL);
    return vm;
}

void ptxvm_free(struct ptxvm *vm)
{
    if (!vm)
        return;
    for (struct program *p = vm->programs, *next; p; p = next) {
        next = p->next;
        program_free(p);
    }
    memory_empty(&vm->memory);
    pthread_mutex_destroy(&vm->wide);
    free(vm->var_address);
    free(vm);
}

uint64_t ptxvm_alloc(struct ptxvm *vm, const char *name, size_t bytes, size_t align,
                     enum ptxvm_access access)
{
    return memory_add(&vm->memory, name, NULL, bytes, align ? align : 1, access == PTXVM_READ_ONLY);
}

uint64_t ptxvm_map(struct ptxvm *vm, const char *name, void *host, size_t bytes,
                   enum ptxvm_access access)
{
    if (!host || ((uintptr_t)host & 15))
        return 0;
    return memory_add(&vm->memory, name, host, bytes, 1, access == PTXVM_READ_ONLY);
}

bool ptxvm_protect(struct ptxvm *vm, uint64_t address, enum ptxvm_access access)
{
    struct allocation *a = memory_find(&vm->memory, address, 0);
    if (!a || a->start != address)
        return false;
    a->read_only = access == PTXVM_READ_ONLY;
    return true;
}

void *ptxvm_host(struct ptxvm *vm, uint64_t address, size_t n)
{
    struct allocation *a = memory_find(&vm->memory, address, n);
    return a ? a->host + (address - a->start) : NULL;
}

bool ptxvm_write(struct ptxvm *vm, uint64_t address, const void *bytes, size_t n)
{
    void *to = ptxvm_host(vm, address, n);
    if (to && n)
        memcpy(to, bytes, n);
    return to != NULL;
}

bool ptxvm_read(struct ptxvm *vm, uint64_t address, void *bytes, size_t n)
{
    const void *from = ptxvm_host(vm, address, n);
    if (from && n)
        memcpy(bytes, from, n);
    return from != NULL;
}

/* ---- module ---- */

static bool is_placed(const struct ptx_var *v)
{
    return v->space == PTX_SPACE_GLOBAL || v->space == PTX_SPACE_CONST;
}

static enum err place_variables(struct ptxvm *vm, struct fault *f)
{
    const struct ptx_module *m = vm->module;
    for (uint32_t i = 0; i < m->var_count; i++) {
        const struct ptx_var *v = &m->vars[i];
        if (!is_placed(v))
            continue;
        uint64_t address = memory_add(&vm->memory, v->name, NULL, v->size, v->align ? v->align : 1,
                                      v->space == PTX_SPACE_CONST);
        if (!address)
            return fault_set(f, ERR_NO_MEMORY, "no memory for variable %.100s of %llu bytes",
                             v->name, (unsigned long long)v->size);
        vm->var_address[i] = address;
        if (v->init && v->init_bytes <= v->size)
            ptxvm_write(vm, address, v->init, v->init_bytes);
    }
    return ERR_NONE;
}

static uint64_t reloc_value(const struct ptxvm *vm, const struct ptx_reloc *r)
{
    if (r->is_func)
        return VM_FUNC_BASE + (uint64_t)r->index * 16 + (uint64_t)r->addend;
    return vm->var_address[r->index] + (uint64_t)r->addend;
}

static enum err relocate(struct ptxvm *vm, struct fault *f)
{
    const struct ptx_module *m = vm->module;
    for (uint32_t i = 0; i < m->var_count; i++)
        for (uint32_t k = 0; vm->var_address[i] && k < m->vars[i].reloc_count; k++) {
            const struct ptx_reloc *r = &m->vars[i].relocs[k];
            if (!r->is_func && !is_placed(&m->vars[r->index]))
                return fault_set(f, ERR_INVALID,
                                 "initialiser of %.100s takes an address that is "
                                 "not in global memory",
                                 m->vars[i].name);
            uint64_t value = reloc_value(vm, r) >> r->shift;
            if (r->bytes > 8 || !ptxvm_write(vm, vm->var_address[i] + r->offset, &value, r->bytes))
                return fault_set(f, ERR_INVALID,
                                 "initialiser of %.100s is longer than the variable",
                                 m->vars[i].name);
        }
    return ERR_NONE;
}

enum err ptxvm_load(struct ptxvm *vm, const struct ptx_module *m, struct fault *f)
{
    if (vm->module)
        return fault_set(f, ERR_CONFLICT, "a module is loaded already");
    if (m->address_size != 64)
        return fault_set(f, ERR_INVALID, "cannot execute a module of %u-bit addresses",
                         m->address_size);
    vm->var_address = calloc((size_t)m->var_count + 1, sizeof *vm->var_address);
    if (!vm->var_address)
        return fault_set(f, ERR_NO_MEMORY, "out of memory");
    vm->module = m;
    enum err e = place_variables(vm, f);
    return e ? e : relocate(vm, f);
}

uint64_t ptxvm_symbol(const struct ptxvm *vm, const char *name, size_t *bytes)
{
    const struct ptx_var *v = vm->module ? ptx_var_find(vm->module, name) : NULL;
    if (!v || !is_placed(v))
        return 0;
    if (bytes)
        *bytes = v->size;
    return vm->var_address[v - vm->module->vars];
}

/* ---- kernels ---- */

static const struct ptx_func *find_entry(const struct ptxvm *vm, const char *symbol)
{
    const struct ptx_func *fn = vm->module && symbol ? ptx_func_find(vm->module, symbol) : NULL;
    return fn && fn->is_entry && fn->has_body ? fn : NULL;
}

/* The program of an entry, made once. */
static struct program *find_program(struct ptxvm *vm, const struct ptx_func *fn, struct fault *f)
{
    for (struct program *p = vm->programs; p; p = p->next)
        if (p->entry == fn)
            return p;
    struct program *p = program_new(vm, fn, f);
    if (p) {
        p->next = vm->programs;
        vm->programs = p;
    }
    return p;
}

struct program *vm_program(struct ptxvm *vm, const char *symbol, struct fault *f)
{
    const struct ptx_func *fn = find_entry(vm, symbol);
    if (fn)
        return find_program(vm, fn, f);
    fault_set(f, ERR_NOT_FOUND, "the module has no kernel %.200s", symbol ? symbol : "");
    return NULL;
}

bool ptxvm_kernel(const struct ptxvm *vm, const char *symbol, struct ptxvm_kernel *out)
{
    const struct ptx_func *fn = find_entry(vm, symbol);
    *out = (struct ptxvm_kernel){0};
    if (!fn)
        return false;
    const struct ptx_directives *dir = &fn->directives;
    out->param_bytes = fn->param_bytes;
    out->param_count = fn->param_count;
    memcpy(out->required_block, dir->reqntid, sizeof out->required_block);
    memcpy(out->required_cluster, dir->reqnctapercluster, sizeof out->required_cluster);
    if (dir->maxntid[0])
        out->max_threads = dir->maxntid[0] * (dir->maxntid[1] ? dir->maxntid[1] : 1) *
                           (dir->maxntid[2] ? dir->maxntid[2] : 1);
    const struct ptx_module *m = vm->module;
    uint32_t index = (uint32_t)(fn - m->funcs);
    for (uint32_t i = 0; i < m->var_count; i++) {
        if (m->vars[i].space == PTX_SPACE_LOCAL && m->vars[i].func == index)
            out->local_bytes += m->vars[i].size;
    }
    for (const struct program *p = vm->programs; p; p = p->next)
        if (p->entry == fn)
            out->shared_bytes = p->shared_static;
    return true;
}

bool ptxvm_kernel_param(const struct ptxvm *vm, const char *symbol, size_t i, size_t *offset,
                        size_t *bytes, size_t *align)
{
    const struct ptx_func *fn = find_entry(vm, symbol);
    if (!fn || i >= fn->param_count)
        return false;
    const struct ptx_var *v = &vm->module->vars[fn->first_var + fn->return_count + i];
    *offset = v->offset;
    *bytes = v->size;
    *align = v->align;
    return true;
}
