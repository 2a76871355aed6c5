/* SPDX-License-Identifier: Apache-2.0
 * A whole parsed module as PTX text: see ptx_format.h. */
#include "evaluator/ptxvm/ptx_format.h"

#include <inttypes.h>
#include <string.h>

static const char *const linkages[] = {
    [PTX_LINK_LOCAL] = "",      [PTX_LINK_VISIBLE] = ".visible ", [PTX_LINK_EXTERN] = ".extern ",
    [PTX_LINK_WEAK] = ".weak ", [PTX_LINK_COMMON] = ".common ",
};

static void print_name(const struct ptx_module *m, const struct ptx_var *v, struct buf *out)
{
    if (v->func == PTX_NONE)
        buf_adds(out, v->name);
    else
        buf_addf(out, "$v%u", (unsigned)(v - m->vars) - m->funcs[v->func].first_var);
}

/* ".param .align 8 .v2 .f32 " */
static void print_spec(const struct ptx_var *v, struct buf *out)
{
    buf_addf(out, ".%s ", ptx_space_name((enum ptx_space)v->space));
    if (v->managed)
        buf_adds(out, ".attribute(.managed) ");
    if (v->space != PTX_SPACE_REG)
        buf_addf(out, ".align %u ", v->align);
    if (v->vector > 1)
        buf_addf(out, ".v%u ", v->vector);
    buf_addf(out, ".%s ", ptx_type_name((enum ptx_type)v->type));
    if (v->is_ptr) {
        buf_adds(out, ".ptr ");
        if (v->ptr_space != PTX_SPACE_NONE)
            buf_addf(out, ".%s ", ptx_space_name((enum ptx_space)v->ptr_space));
        buf_addf(out, ".align %u ", v->ptr_align);
    }
}

static void print_dims(const struct ptx_var *v, struct buf *out)
{
    if (v->unsized && v->count > 1)
        buf_addf(out, "[][%" PRIu64 "]", v->count);
    else if (v->unsized)
        buf_adds(out, "[]");
    else if (v->count)
        buf_addf(out, "[%" PRIu64 "]", v->count);
}

static void print_reloc(const struct ptx_module *m, const struct ptx_var *v,
                        const struct ptx_reloc *r, struct buf *out)
{
    bool masked = r->bytes < ptx_type_bytes((enum ptx_type)v->type) || r->bytes == 1;
    if (masked)
        buf_addf(out, "0x%" PRIx64 "(", (uint64_t)0xff << r->shift);
    if (r->generic)
        buf_adds(out, "generic(");
    buf_adds(out, r->is_func ? m->funcs[r->index].name : "");
    if (!r->is_func)
        print_name(m, &m->vars[r->index], out);
    if (r->generic)
        buf_adds(out, ")");
    if (r->addend)
        buf_addf(out, "+%" PRId64, r->addend);
    if (masked)
        buf_adds(out, ")");
}

static void print_value(const struct ptx_var *v, uint64_t offset, unsigned bytes, struct buf *out)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes && i < 8; i++)
        if (offset + i < v->init_bytes)
            value |= (uint64_t)v->init[offset + i] << 8 * i;
    if (ptx_type_class((enum ptx_type)v->type) == 'f' && bytes == 4)
        buf_addf(out, "0f%08" PRIX64, value);
    else if (ptx_type_class((enum ptx_type)v->type) == 'f' && bytes == 8)
        buf_addf(out, "0d%016" PRIX64, value);
    else
        buf_addf(out, "%" PRIu64, value);
}

/* All elements that init_bytes covers. */
static void print_initialiser(const struct ptx_module *m, const struct ptx_var *v, struct buf *out)
{
    unsigned bytes = ptx_type_bytes((enum ptx_type)v->type);
    uint64_t elements = v->init_bytes / bytes;
    uint32_t reloc = 0;
    bool listed = v->count || v->vector > 1, nested = v->count && v->vector > 1;
    buf_adds(out, listed ? " = {" : " = ");
    for (uint64_t i = 0; i < elements && !out->failed; i++) {
        if (i)
            buf_adds(out, nested && i % v->vector == 0 ? "}, " : ", ");
        if (nested && i % v->vector == 0)
            buf_adds(out, "{");
        if (reloc < v->reloc_count && v->relocs[reloc].offset == i * bytes)
            print_reloc(m, v, &v->relocs[reloc++], out);
        else
            print_value(v, i * bytes, bytes, out);
    }
    buf_adds(out, nested ? "}}" : listed ? "}" : "");
}

static void print_var(const struct ptx_module *m, const struct ptx_var *v, struct buf *out)
{
    buf_adds(out, linkages[v->linkage]);
    print_spec(v, out);
    print_name(m, v, out);
    print_dims(v, out);
    if (v->init)
        print_initialiser(m, v, out);
    buf_adds(out, ";\n");
}

static void print_params(const struct ptx_module *m, const struct ptx_var *params, uint32_t count,
                         bool named, struct buf *out)
{
    buf_adds(out, "(");
    for (uint32_t i = 0; params && i < count; i++) {
        buf_adds(out, i ? ", " : "");
        print_spec(&params[i], out);
        if (named)
            print_name(m, &params[i], out);
        else
            buf_adds(out, "_");
        print_dims(&params[i], out);
    }
    buf_adds(out, ")");
}

static void print_directives(const struct ptx_func *f, struct buf *out)
{
    const struct ptx_directives *d = &f->directives;
    const struct {
        const char *word;
        const uint32_t *extent;
    } extents[] = {{"maxntid", d->maxntid},
                   {"reqntid", d->reqntid},
                   {"reqnctapercluster", d->reqnctapercluster}};
    const struct {
        const char *word;
        uint32_t value;
    } numbers[] = {{"minnctapersm", d->minnctapersm},
                   {"maxnctapersm", d->maxnctapersm},
                   {"maxnreg", d->maxnreg},
                   {"maxclusterrank", d->maxclusterrank}};
    for (size_t i = 0; i < sizeof extents / sizeof *extents; i++)
        if (extents[i].extent[0])
            buf_addf(out, " .%s %u, %u, %u", extents[i].word, extents[i].extent[0],
                     extents[i].extent[1], extents[i].extent[2]);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i].value)
            buf_addf(out, " .%s %u", numbers[i].word, numbers[i].value);
    buf_adds(out, d->explicitcluster ? " .explicitcluster" : "");
    buf_adds(out, d->blocksareclusters ? " .blocksareclusters" : "");
    buf_adds(out, f->noreturn ? " .noreturn" : "");
}

static void print_registers(const struct ptx_module *m, const struct ptx_func *f, struct buf *out)
{
    for (uint32_t i = 0; i < f->reg_range_count; i++) {
        const struct ptx_reg_range *r = &f->reg_ranges[i];
        if (ptx_param_of_reg(m, f, r->first) != PTX_NONE)
            continue;
        buf_addf(out, "\t.reg .%s %%r%u_<%u>;\n", ptx_type_name((enum ptx_type)r->type), i,
                 r->count);
    }
}

static void print_protos(const struct ptx_module *m, const struct ptx_func *f, struct buf *out)
{
    for (uint32_t i = 0; i < f->proto_count; i++) {
        const struct ptx_proto *p = &f->protos[i];
        buf_addf(out, "$P%u: .callprototype ", i);
        print_params(m, p->returns, p->return_count, false, out);
        buf_adds(out, " _ ");
        print_params(m, p->params, p->param_count, false, out);
        buf_adds(out, p->noreturn ? " .noreturn;\n" : ";\n");
    }
    for (uint32_t i = 0; i < f->target_count; i++) {
        const struct ptx_targets *t = &f->targets[i];
        bool labels = f->operands[t->operands].kind == PTX_OPERAND_LABEL;
        buf_addf(out, "$T%u: %s ", i, labels ? ".branchtargets" : ".calltargets");
        ptx_format_operands_canonical(m, f, t->operands, t->count, out);
        buf_adds(out, ";\n");
    }
}

static void print_loc(const struct ptx_module *m, uint32_t loc, struct buf *out)
{
    const struct ptx_loc *l = &m->locs[loc];
    buf_addf(out, "\t.loc %u %u %u", l->file, l->line, l->column);
    if (l->inlined_at) {
        const struct ptx_loc *at = &m->locs[l->inlined_at];
        buf_addf(out, ", function_name $inlined, inlined_at %u %u %u", at->file, at->line,
                 at->column);
    }
    buf_adds(out, "\n");
}

static void print_body(const struct ptx_module *m, const struct ptx_func *f, struct buf *out)
{
    uint32_t loc = 0;
    buf_adds(out, "\n{\n");
    print_registers(m, f, out);
    for (uint32_t i = 0; i < f->local_count; i++)
        print_var(m, &m->vars[f->first_var + f->return_count + f->param_count + i], out);
    print_protos(m, f, out);
    for (uint32_t i = 0, label = 0; i <= f->instr_count && !out->failed; i++) {
        for (; label < f->label_count && f->labels[label].instr == i; label++)
            buf_addf(out, "$L%u:\n", label);
        if (i == f->instr_count)
            break;
        if (f->instrs[i].loc != loc)
            print_loc(m, f->instrs[i].loc, out);
        loc = f->instrs[i].loc;
        buf_adds(out, "\t");
        ptx_format_instr_canonical(m, f, i, out);
        buf_adds(out, "\n");
    }
    buf_adds(out, "}\n");
}

static void print_head(const struct ptx_module *m, const struct ptx_func *f, struct buf *out)
{
    const struct ptx_var *vars = f->return_count + f->param_count ? &m->vars[f->first_var] : NULL;
    buf_adds(out, linkages[f->linkage]);
    buf_adds(out, f->is_entry ? ".entry " : ".func ");
    if (f->return_count) {
        print_params(m, vars, f->return_count, true, out);
        buf_adds(out, " ");
    }
    buf_adds(out, f->name);
    print_params(m, vars ? vars + f->return_count : NULL, f->param_count, true, out);
    print_directives(f, out);
}

void ptx_format_module(const struct ptx_module *m, struct buf *out)
{
    buf_addf(out, ".version %u.%u\n.target %s\n.address_size %u\n", m->version / 10,
             m->version % 10, m->target, m->address_size);
    for (uint32_t i = 0; i < m->file_count; i++)
        buf_addf(out, ".file %u \"%s\"\n", m->files[i].number, m->files[i].name);
    for (uint32_t i = 0; i < m->func_count; i++) { /* declared first: variables may point to them */
        print_head(m, &m->funcs[i], out);
        buf_adds(out, ";\n");
    }
    for (uint32_t i = 0; i < m->var_count; i++)
        if (m->vars[i].func == PTX_NONE)
            print_var(m, &m->vars[i], out);
    for (uint32_t i = 0; i < m->func_count; i++)
        if (m->funcs[i].has_body) {
            print_head(m, &m->funcs[i], out);
            print_body(m, &m->funcs[i], out);
        }
    for (uint32_t i = 0; i < m->func_count; i++)
        if (m->funcs[i].alias != PTX_NONE)
            buf_addf(out, ".alias %s, %s;\n", m->funcs[i].name, m->funcs[m->funcs[i].alias].name);
}
