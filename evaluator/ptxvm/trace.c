/* SPDX-License-Identifier: Apache-2.0
 * The trace of one warp: a line for each instruction, with what its registers held before and what
 * its results hold after. A traced warp goes through the same loop as any other, one instruction at
 * a time; the others pay nothing. Results are read when the next instruction begins, because an
 * instruction may be several ops. */
#include "evaluator/ptxvm/vm.h"

#include <string.h>

enum { TRACE_LINE = 4096, SHOWN_LANES = 4, REG_TEXT = 80 };

struct tracer {
    const struct ptxvm_trace *spec;
    struct buf line; /* what is known of the pending instruction */
    bool pending;
    bool result; /* its first operand is one; its frame outlives it then */
    struct frame *frame;
    const struct ptx_func *fn;
    const struct ptx_instr *instr;
    const struct function *function;
    uint32_t exec;
    int values; /* in the line so far */
};

bool trace_begin(struct warp *w)
{
    const struct ptxvm_trace *spec = w->cta->run->launch->trace;
    if (!spec || spec->cta != w->cta->linear || spec->warp != w->index)
        return true;
    w->tracer = calloc(1, sizeof *w->tracer);
    if (!w->tracer)
        return false;
    w->tracer->spec = spec;
    buf_init(&w->tracer->line, TRACE_LINE);
    return true;
}

/* ---- values ---- */

static double as_float(uint64_t bits, enum ptx_type type)
{
    float f;
    double d;
    uint32_t low = (uint32_t)bits;
    memcpy(&f, &low, sizeof f);
    memcpy(&d, &bits, sizeof d);
    return type == PTX_TYPE_f32 ? (double)f : d;
}

static void add_value(struct buf *out, uint64_t bits, enum ptx_type type)
{
    char class = ptx_type_class(type);
    if (type == PTX_TYPE_f32 || type == PTX_TYPE_f64)
        buf_addf(out, "%.9g", as_float(bits, type));
    else if (class == 's')
        buf_addf(out, "%lld",
                 (long long)(bits << (64 - ptx_type_bits(type))) >> (64 - ptx_type_bits(type)));
    else if (class == 'u')
        buf_addf(out, "%llu", (unsigned long long)bits);
    else
        buf_addf(out, "0x%llx", (unsigned long long)bits);
}

/* Narrow registers have rows of words. */
static uint64_t read_lane(const unsigned char *row, enum ptx_type type, int lane)
{
    uint64_t v = 0;
    unsigned bits = ptx_type_bits(type), bytes = bits < 32 ? 4 : bits / 8;
    memcpy(&v, row + (size_t)lane * bytes, bytes > 8 ? 8 : bytes);
    return bits < 64 ? v & ((UINT64_C(1) << bits) - 1) : v;
}

/* " %r1=3" where all lanes agree, " %r1=[1 2 3 4 …]" otherwise, " %p1=0x…" for predicates. */
static void add_register(struct tracer *t, uint32_t reg, enum ptx_type type)
{
    char name[REG_TEXT];
    uint32_t place = t->function->places[reg];
    enum ptx_type own = (enum ptx_type)t->fn->reg_types[reg];
    ptx_format_reg(t->fn, reg, name, sizeof name);
    if (place == PTX_NONE)
        return;
    buf_addf(&t->line, "%s %s=", t->values++ ? "" : "  //", name);
    if (own == PTX_TYPE_pred) {
        buf_addf(&t->line, "0x%x", t->frame->preds[place] & t->exec);
        return;
    }
    if (type == PTX_TYPE_NONE || ptx_type_class(own) == 'f' ||
        ptx_type_bits(type) != ptx_type_bits(own))
        type = own;
    const unsigned char *row = t->frame->rows + place;
    uint64_t first = read_lane(row, own, __builtin_ctz(t->exec));
    uint32_t rest = t->exec;
    while (rest && read_lane(row, own, __builtin_ctz(rest)) == first)
        rest &= rest - 1;
    if (!rest) {
        add_value(&t->line, first, type);
        return;
    }
    rest = t->exec;
    buf_adds(&t->line, "[");
    for (int n = 0; rest && n < SHOWN_LANES; n++, rest &= rest - 1) {
        buf_adds(&t->line, n ? " " : "");
        add_value(&t->line, read_lane(row, own, __builtin_ctz(rest)), type);
    }
    buf_adds(&t->line, rest ? " …]" : "]");
}

static void add_operand(struct tracer *t, const struct ptx_operand *o, enum ptx_type type)
{
    switch (o->kind) {
    case PTX_OPERAND_REG:
        add_register(t, o->index, type);
        break;
    case PTX_OPERAND_MEM:
        if (o->base == PTX_BASE_REG)
            add_register(t, o->index, PTX_TYPE_NONE);
        break;
    case PTX_OPERAND_INDEXED:
    case PTX_OPERAND_VECTOR:
    case PTX_OPERAND_PAIR:
    case PTX_OPERAND_ADDRESS:
    case PTX_OPERAND_TUPLE:
        for (uint32_t i = 0; i < o->count; i++)
            add_operand(t, &t->fn->operands[o->index + i], type);
        break;
    default:
        break;
    }
}

/* Is the first operand a result? Memory never is; these only read it. */
static bool has_result(const struct ptx_form *form, const struct ptx_operand *first)
{
    bool reads = form->op == PTX_OP_bra || form->op == PTX_OP_brx || form->op == PTX_OP_nanosleep ||
                 ((form->op == PTX_OP_bar || form->op == PTX_OP_barrier) &&
                  !ptx_form_has(form, PTX_WORD_red));
    bool place = first->kind == PTX_OPERAND_REG || first->kind == PTX_OPERAND_VECTOR ||
                 first->kind == PTX_OPERAND_PAIR;
    return place && !reads;
}

/* ---- instructions ---- */

static void add_where(struct tracer *t, const struct ptx_module *m)
{
    const struct ptx_loc *loc = &m->locs[t->instr->loc];
    const char *file = t->instr->loc ? ptx_file_name(m, loc->file) : "";
    const char *slash = strrchr(file, '/');
    char where[REG_TEXT];
    if (t->instr->loc)
        snprintf(where, sizeof where, "%.60s:%u", slash ? slash + 1 : file, loc->line);
    else
        snprintf(where, sizeof where, "ptx:%u", t->instr->line);
    buf_addf(&t->line, "%-16s %08x  ", where, t->exec);
}

/* Tells the pending instruction, now that its results are there. */
static void flush(struct tracer *t, const struct ptx_module *m)
{
    if (!t->pending)
        return;
    if (t->result) {
        buf_adds(&t->line, t->values++ ? " ->" : "  // ->");
        add_operand(t, &t->fn->operands[t->instr->operands],
                    (enum ptx_type)ptx_instr_form(m, t->instr)->types[0]);
    }
    t->pending = false;
    t->spec->line(t->spec->arg, t->line.data ? t->line.data : "");
}

void trace_before(struct warp *w)
{
    struct tracer *t = w->tracer;
    const struct program *p = w->cta->run->program;
    const struct op *op = w->group->pc;
    const struct origin *o = &p->origins[op->id];
    const struct ptx_module *m = p->module;
    uint32_t exec = w->mask & (w->preds[op->guard] ^ op->flip);
    if (!exec || o->form == PTX_NONE || o->instr >= m->funcs[o->func].instr_count)
        return;
    flush(t, m);
    t->pending = true;
    t->line.len = 0;
    t->frame = w->frame;
    t->fn = &m->funcs[o->func];
    t->function = w->frame->function;
    t->instr = &t->fn->instrs[o->instr];
    t->exec = exec;
    add_where(t, m);
    ptx_format_instr(m, t->fn, o->instr, &t->line);
    const struct ptx_form *form = &m->forms[o->form];
    const struct ptx_operand *operands = &t->fn->operands[t->instr->operands];
    t->result = t->instr->operand_count && has_result(form, operands);
    t->values = 0;
    for (uint32_t i = t->result; i < t->instr->operand_count; i++)
        add_operand(t, &operands[i],
                    form->type_count ? (enum ptx_type)form->types[form->type_count - 1]
                                     : PTX_TYPE_NONE);
}

void trace_after(struct warp *w)
{
    if (w->event == EVENT_BLOCK)
        w->tracer->pending = false; /* it will run again */
}

void trace_end(struct warp *w)
{
    if (!w->tracer)
        return;
    flush(w->tracer, w->cta->run->program->module);
    buf_release(&w->tracer->line);
    free(w->tracer);
    w->tracer = NULL;
}
