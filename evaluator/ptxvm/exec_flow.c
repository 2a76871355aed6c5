/* SPDX-License-Identifier: Apache-2.0
 * Control flow: branches, calls with the .param ABI, return, exit, trap.
 *
 * Results and parameters of a function lie at fixed slots of its frame's local memory; a call
 * copies them from and to the local memory or the registers of its caller. The list of a call has,
 * for each result and then each argument, what it is (enum passed) and where. */
#include "evaluator/ptxvm/lanes.h"

#include <string.h>

#include "evaluator/ptxvm/calls.h"

/* ---- branches ---- */

const struct op *run_bra(struct warp *w, const struct op *op, uint32_t exec)
{
    if (exec == w->mask)
        return op->target;
    group_split(w, exec, w->frame, op->target);
    w->event = EVENT_RESCHEDULE;
    w->next = op + 1;
    return NULL;
}

static bool decode_bra(struct decoder *d, const struct row *row)
{
    (void)row;
    if (!decode_count_is(d, 1) || d->operands[0].kind != PTX_OPERAND_LABEL)
        return decode_error(d, "target is no label");
    struct op *op = decode_emit(d, run_bra);
    if (op)
        op->index = d->fn->labels[d->operands[0].index].instr;
    return op != NULL;
}

/* list: the ops of the table. */
const struct op *run_brx(struct warp *w, const struct op *op, uint32_t exec)
{
    const uint32_t *index = vm_row(w, op->a);
    int first = __builtin_ctz(exec);
    if (index[first] >= op->uses)
        return stop_at(w, op, first, PTXVM_FAULT, PTXVM_BAD_BRANCH,
                       "branch to entry %u of a table of %u", index[first], op->uses);
    uint32_t same = 0;
    EACH_LANE same |= index[i] == index[first] ? lane_bit[i] : 0;
    same &= exec;
    const struct op *target = &w->frame->function->ops[op->list[index[first]]];
    if (same == w->mask)
        return target;
    /* One target now; lanes with another one come back to this op. */
    group_split(w, same, w->frame, target);
    group_uncount(w, op, exec & ~same);
    w->event = EVENT_RESCHEDULE;
    w->next = op;
    return NULL;
}

static bool decode_brx(struct decoder *d, const struct row *row)
{
    (void)row;
    if (!decode_count_is(d, 2) || d->operands[1].kind != PTX_OPERAND_TARGETS)
        return decode_error(d, "needs an index and a .branchtargets");
    uint32_t index = decode_source(d, &d->operands[0], PTX_TYPE_u32);
    struct op *op = index ? decode_emit(d, run_brx) : NULL;
    if (!op)
        return false;
    op->a = index;
    const struct ptx_targets *t = &d->fn->targets[d->operands[1].index];
    for (uint32_t i = 0; i < t->count; i++) {
        const struct ptx_operand *o = &d->fn->operands[t->operands + i];
        if (o->kind != PTX_OPERAND_LABEL)
            return decode_error(d, "table holds something else than labels");
        if (!decode_list(d, REF_FIXED(d->fn->labels[o->index].instr), false))
            return false;
    }
    return true;
}

/* ---- leaving ---- */

static const struct op *leave_cta(struct warp *w, const struct op *op, uint32_t exec)
{
    for (struct frame *f = w->frame, *up; f; f = up) {
        up = f->parent;
        frame_leave(w, f, exec);
    }
    w->live &= ~exec;
    w->group->mask &= ~exec;
    if (!w->live)
        w->cta->live_warps--;
    group_recheck(w);
    barrier_recheck(w->cta);
    w->event = EVENT_RESCHEDULE;
    w->next = op + 1;
    return NULL;
}

const struct op *run_exit(struct warp *w, const struct op *op, uint32_t exec)
{
    return leave_cta(w, op, exec);
}

/* Copies between rows and local memory, or local memory and local memory, lane by lane. */
static void pass(struct warp *w, uint32_t exec, const struct passed *from, uint32_t from_base,
                 const unsigned char *from_rows, const struct passed *to, uint32_t to_base,
                 unsigned char *to_rows)
{
    uint32_t bytes = from->bytes < to->bytes ? from->bytes : to->bytes;
    for (uint32_t at = 0; at < bytes; at += 4) {
        EACH_LANE
        {
            if (!ACTIVE(exec, i))
                continue;
            uint32_t word = 0;
            if (from->in_row)
                memcpy(&word, from_rows + from->place + (uint32_t)i * from->width + at, 4);
            else
                word = *local_word(w, i, from_base + from->place + at);
            if (to->in_row)
                memcpy(to_rows + to->place + (uint32_t)i * to->width + at, &word, 4);
            else
                *local_word(w, i, to_base + to->place + at) = word;
        }
    }
}

static struct passed passed_at(const struct op *op, uint32_t k)
{
    return passed_unpack(op->list[2 * k], op->list[2 * k + 1]);
}

static struct passed slot_of(const struct function *fn, uint32_t k)
{
    return (struct passed){.place = fn->slots[k], .bytes = fn->sizes[k]};
}

const struct op *run_ret(struct warp *w, const struct op *op, uint32_t exec)
{
    struct frame *f = w->frame, *parent = f->parent;
    if (!parent)
        return leave_cta(w, op, exec);
    const struct op *call = f->call;
    for (uint32_t k = 0; k < f->function->ptx->return_count && 2 * k < call->defs; k++) {
        struct passed from = slot_of(f->function, k), to = passed_at(call, k);
        pass(w, exec, &from, f->local_base, NULL, &to, parent->local_base, parent->rows);
    }
    if (exec == w->group->mask) {
        w->group->frame = parent;
        w->next = call + 1;
    } else {
        group_split(w, exec, parent, call + 1);
        w->next = op + 1;
    }
    frame_leave(w, f, exec);
    w->event = EVENT_RESCHEDULE;
    return NULL;
}

const struct op *run_end(struct warp *w, const struct op *op, uint32_t exec)
{
    return run_ret(w, op, exec);
}

static bool decode_leave(struct decoder *d, const struct row *row)
{
    return (row->run != run_ret || decode_register_results(d)) && decode_emit(d, row->run) != NULL;
}

HANDLER(trap)
{
    bool barrier = atomic_load_explicit(&w->cta->run->grid_barrier, memory_order_relaxed);
    return stop_at(w, op, __builtin_ctz(exec), PTXVM_TRAP, PTXVM_KIND_NONE, "the program trapped%s",
                   barrier ? ": a barrier of the grid needs a cooperative launch" : "");
}

const struct op *run_unsupported(struct warp *w, const struct op *op, uint32_t exec)
{
    const struct program *p = w->cta->run->program;
    const struct origin *o = &p->origins[op->id];
    const struct ptx_func *fn = &p->module->funcs[o->func];
    const struct ptx_form *form = &p->module->forms[fn->instrs[o->instr].form];
    return stop_at(w, op, __builtin_ctz(exec), PTXVM_UNSUPPORTED, PTXVM_KIND_NONE,
                   "instruction %.120s at line %u is not executed: %s", form->text,
                   fn->instrs[o->instr].line, rejected_reason(form));
}

/* ---- calls ---- */

static const struct op *enter(struct warp *w, const struct op *op, uint32_t exec,
                              const struct function *fn)
{
    const struct ptx_func *ptx = fn->ptx;
    if (op->uses != 2 * ptx->param_count || op->defs > 2 * ptx->return_count || ptx->is_entry)
        return stop_at(w, op, __builtin_ctz(exec), PTXVM_FAULT, PTXVM_BAD_BRANCH,
                       "call of %.80s with other parameters than it has", ptx->name);
    struct frame *parent = w->frame, *f = frame_new(w, op, fn, parent, exec);
    if (!f)
        return NULL;
    for (uint32_t k = 0; k < ptx->param_count; k++) {
        struct passed from = passed_at(op, op->defs / 2u + k),
                      to = slot_of(fn, ptx->return_count + k);
        const unsigned char *rows = from.is_constant ? w->base[1] : parent->rows;
        pass(w, exec, &from, parent->local_base, rows, &to, f->local_base, NULL);
    }
    if (exec == w->group->mask) {
        w->group->frame = f;
        w->next = fn->ops;
    } else {
        group_split(w, exec, f, fn->ops);
        w->next = op + 1;
    }
    w->event = EVENT_RESCHEDULE;
    return NULL;
}

HANDLER(call_direct)
{
    return enter(w, op, exec, vm_function(w->cta->run->program, (uint32_t)op->imm));
}

HANDLER(call_indirect)
{
    const uint64_t *address = vm_row(w, op->a);
    int first = __builtin_ctz(exec);
    uint64_t target = address[first], index = (target - VM_FUNC_BASE) / 16;
    const struct function *fn = target >= VM_FUNC_BASE && target % 16 == 0 && index < UINT32_MAX
                                    ? vm_function(w->cta->run->program, (uint32_t)index)
                                    : NULL;
    if (!fn)
        return stop_at(w, op, first, PTXVM_FAULT, PTXVM_BAD_BRANCH,
                       "call of 0x%llx, which is no function", (unsigned long long)target);
    uint32_t same = 0;
    EACH_LANE same |= address[i] == target ? lane_bit[i] : 0;
    same &= exec;
    if (same != exec) {
        /* Lanes with another target come back to this op on their own. */
        group_split(w, exec & ~same, w->frame, op);
        group_uncount(w, op, exec & ~same);
        w->mask = w->group->mask;
    }
    return enter(w, op, same, fn);
}

static bool pass_refs(struct decoder *d, const struct ptx_operand *o, bool is_result)
{
    struct passed what = {0};
    uint32_t ref = REF_NONE;
    if (o->kind == PTX_OPERAND_VAR) {
        uint64_t address;
        bool relative;
        if (!decode_variable(d, o->index, &address, &relative))
            return false;
        if (!relative)
            return decode_error(d, "argument is no local parameter");
        what.bytes = (uint32_t)d->module->vars[o->index].size;
        ref = REF_FIXED((uint32_t)address);
    } else if (o->kind == PTX_OPERAND_SINK && is_result) {
        ref = REF_FIXED(0);
    } else {
        bool is_reg = o->kind == PTX_OPERAND_REG && o->index < d->fn->reg_count;
        enum width width = is_reg ? d->widths[o->index] : WIDTH_64;
        if (width == WIDTH_PRED || (is_result && !is_reg))
            return decode_error(d, "operand of a call does not fit");
        ref = is_reg ? REF_VREG(o->index) : decode_source(d, o, PTX_TYPE_b64);
        what.in_row = true;
        what.bytes = what.width = width;
        what.is_constant = REF_TAG(ref) == 2;
    }
    d->pending[d->pending_count++] = REF_FIXED(passed_pack(&what));
    d->pending[d->pending_count++] = ref;
    return ref != REF_NONE;
}

/* Parameters as the callee has them, before the call op itself is emitted. */
static bool pass_all(struct decoder *d, const struct ptx_operand *tuple, bool is_result)
{
    uint32_t count = 0;
    if (tuple->kind == PTX_OPERAND_SINK)
        return true;
    const struct ptx_operand *o = decode_elements(d, tuple, &count);
    for (uint32_t i = 0; i < count; i++)
        if (d->pending_count + 2 > DECODE_PENDING || !pass_refs(d, &o[i], is_result))
            return decode_error(d, "too many arguments");
    return true;
}

static bool attach(struct decoder *d, uint32_t results)
{
    for (uint32_t i = 0; i < d->pending_count; i++)
        if (!decode_list(d, d->pending[i], i < results))
            return false;
    return true;
}

static handler *external(const struct decoder *d, const struct ptx_operand *callee)
{
    const struct ptx_func *fn = &d->module->funcs[callee->index];
    uint32_t target = fn->alias != PTX_NONE ? fn->alias : callee->index;
    if (d->module->funcs[target].has_body)
        return call_direct;
    handler *run = call_external_find(fn->name);
    return run ? run : run_call_unknown;
}

static bool decode_call(struct decoder *d, const struct row *row)
{
    (void)row;
    d->pending_count = 0;
    if (!decode_count_is(d, 4) || !pass_all(d, &d->operands[0], true))
        return false;
    uint32_t results = d->pending_count;
    if (!pass_all(d, &d->operands[2], false))
        return false;
    const struct ptx_operand *callee = &d->operands[1];
    uint32_t target = REF_NONE;
    if (callee->kind != PTX_OPERAND_FUNC && !(target = decode_source(d, callee, PTX_TYPE_b64)))
        return false;
    struct op *op = decode_emit(d, target ? call_indirect : external(d, callee));
    if (!op)
        return false;
    op->a = target;
    op->imm = target ? 0 : callee->index;
    return attach(d, results);
}

/* ---- .reg parameters of old-style functions ---- */

HANDLER(fetch_param)
{
    struct passed from = {.place = (uint32_t)op->imm, .bytes = op->aux};
    struct passed to = {.in_row = true, .place = op->d, .width = op->aux, .bytes = op->aux};
    pass(w, exec, &from, w->frame->local_base, NULL, &to, 0, w->frame->rows);
    return op + 1;
}

HANDLER(give_result)
{
    struct passed from = {.in_row = true, .place = op->a, .width = op->aux, .bytes = op->aux};
    struct passed to = {.place = (uint32_t)op->imm, .bytes = op->aux};
    pass(w, exec, &from, 0, w->frame->rows, &to, w->frame->local_base, NULL);
    return op + 1;
}

/* Moves results or parameters [first, end) that are registers. */
static bool move_registers(struct decoder *d, uint32_t first, uint32_t end, handler *run)
{
    const struct ptx_func *fn = d->fn;
    for (uint32_t i = first; !fn->is_entry && i < end; i++) {
        const struct ptx_var *v = &d->module->vars[fn->first_var + i];
        if (v->space != PTX_SPACE_REG)
            continue;
        enum width width = v->reg < fn->reg_count ? d->widths[v->reg] : WIDTH_PRED;
        struct op *op = width != WIDTH_PRED ? decode_emit(d, run) : NULL;
        if (!op)
            return decode_error(d, "parameter %.80s cannot be passed", v->name);
        if (run == fetch_param)
            op->d = REF_VREG(v->reg);
        else
            op->a = REF_VREG(v->reg);
        op->imm = d->out->slots[i];
        op->aux = width;
    }
    return true;
}

bool decode_register_params(struct decoder *d)
{
    return move_registers(d, d->fn->return_count, d->fn->return_count + d->fn->param_count,
                          fetch_param);
}

bool decode_register_results(struct decoder *d)
{
    return move_registers(d, 0, d->fn->return_count, give_result);
}

const struct row rows_flow[] = {
    {"bra", NULL, NULL, decode_bra, 0},        {"brx.idx", NULL, NULL, decode_brx, 0},
    {"call", NULL, NULL, decode_call, 0},      {"ret", NULL, run_ret, decode_leave, 0},
    {"exit", NULL, run_exit, decode_leave, 0}, {"trap", NULL, trap, decode_leave, 0},
    {"brkpt", NULL, trap, decode_leave, 0},    ROWS_END,
};
