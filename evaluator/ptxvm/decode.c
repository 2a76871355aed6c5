/* SPDX-License-Identifier: Apache-2.0
 * A function of a PTX module as an array of ops: looks up the row of each instruction's form, lets
 * it emit, allocates slots, resolves branches. */
#include "evaluator/ptxvm/decode.h"

#include <stdarg.h>
#include <string.h>

/* Room for the origins of the ops of a function that has `ops` of them. */
static bool origins_grow(struct program *p, uint32_t ops)
{
    uint32_t need = p->origin_count + ops;
    if (need <= p->origin_cap)
        return true;
    uint32_t cap = need + p->origin_cap / 2;
    struct origin *origins = realloc(p->origins, (size_t)cap * sizeof *origins);
    if (!origins)
        return false;
    p->origins = origins;
    p->origin_cap = cap;
    return true;
}

bool decode_error(struct decoder *d, const char *fmt, ...)
{
    if (d->fault->code != ERR_NONE)
        return false;
    char text[LIMIT_DETAIL];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (d->instr)
        fault_set(d->fault, ERR_INVALID, "line %u: %.120s: %.300s", d->instr->line, d->form->text,
                  text);
    else
        fault_set(d->fault, ERR_INVALID, "%.80s: %.300s", d->fn->name, text);
    return false;
}

struct op *decode_emit(struct decoder *d, handler *run)
{
    struct program *p = d->program;
    if (d->op_count == d->op_cap) {
        uint32_t cap = d->op_cap + d->op_cap / 2 + 64;
        struct op *ops = realloc(d->ops, cap * sizeof *ops);
        d->ops = ops ? ops : d->ops;
        if (!ops || cap > REF_MASK || !origins_grow(p, cap)) {
            decode_error(d, "out of memory");
            return NULL;
        }
        d->op_cap = cap;
    }
    uint32_t id = p->origin_count + d->op_count;
    p->origins[id] = (struct origin){d->func_index, d->instr_index,
                                     d->counted || !d->instr ? PTX_NONE : d->instr->form};
    d->counted = true;
    struct op *op = &d->ops[d->op_count++];
    *op = (struct op){.run = run, .id = id, .guard = REF_FIXED(VM_PRED_TRUE)};
    if (d->instr && d->instr->guard != PTX_NONE) {
        op->guard = REF_VREG(d->instr->guard);
        op->flip = d->instr->guard_negated ? VM_FULL : 0;
    }
    return op;
}

/* References of all lists of a function: input may name one table of branches again and again. */
enum { MAX_LIST = 1 << 24 };

bool decode_list(struct decoder *d, uint32_t ref, bool is_result)
{
    struct op *op = &d->ops[d->op_count - 1];
    if (d->list_count == d->list_cap) {
        uint32_t cap = d->list_cap + d->list_cap / 2 + 64;
        uint32_t *lists = cap <= MAX_LIST ? realloc(d->lists, cap * sizeof *lists) : NULL;
        if (!lists)
            return decode_error(d, "out of memory");
        d->lists = lists;
        d->list_cap = cap;
    }
    if (ref == REF_NONE)
        return false;
    if (op->defs + op->uses == 0)
        op->index = d->list_count;
    if (op->defs + op->uses >= UINT16_MAX - 1)
        return decode_error(d, "too many operands");
    if (is_result)
        op->defs++;
    else
        op->uses++;
    d->lists[d->list_count++] = ref;
    return true;
}

bool decode_count_is(struct decoder *d, uint32_t count)
{
    if (d->instr->operand_count == count)
        return true;
    return decode_error(d, "%u operands where %u are needed", d->instr->operand_count, count);
}

bool decode_space_error(struct decoder *d)
{
    return decode_error(d,
                        "the variable lies in another state space than the instruction accesses, "
                        "which without a space takes generic addresses (those of cvta)");
}

static enum ptx_type shape_type(char letter)
{
    switch (letter) {
    case 'h':
        return PTX_TYPE_b16;
    case 'w':
        return PTX_TYPE_b32;
    case 'f':
        return PTX_TYPE_f32;
    case 'd':
        return PTX_TYPE_b64;
    case 'g':
        return PTX_TYPE_f64;
    default:
        return PTX_TYPE_b128;
    }
}

bool decode_by_shape(struct decoder *d, const struct row *row)
{
    const char *colon = strchr(row->shape, ':');
    uint32_t results = (uint32_t)(colon - row->shape), sources = (uint32_t)strlen(colon + 1);
    if (!decode_count_is(d, results + sources))
        return false;
    uint32_t refs[3] = {0};
    int64_t imm = 0;
    for (uint32_t i = 0, n = 0; i < sources; i++) {
        const struct ptx_operand *o = &d->operands[results + i];
        char letter = colon[1 + i];
        if (letter == 'i' ? !decode_immediate(d, o, &imm)
                          : !(refs[n++] = letter == 'p' ? decode_pred(d, o)
                                                        : decode_source(d, o, shape_type(letter))))
            return false;
    }
    struct op *op = decode_emit(d, row->run);
    if (!op)
        return false;
    op->a = refs[0], op->b = refs[1], op->c = refs[2];
    op->imm = imm;
    op->aux = row->aux;
    if (results)
        op->d = row->shape[0] == 'p' ? decode_pred_result(d, &d->operands[0])
                                     : decode_result(d, &d->operands[0], shape_type(row->shape[0]));
    return !results || op->d != REF_NONE;
}

static bool decode_instr(struct decoder *d, uint32_t index)
{
    d->instr_index = index;
    d->instr = &d->fn->instrs[index];
    d->form = &d->module->forms[d->instr->form];
    d->operands = d->fn->operands ? &d->fn->operands[d->instr->operands] : NULL;
    d->counted = false;
    d->widen_count = 0;
    d->first_op[index] = d->op_count;
    if (d->instr->guard != PTX_NONE &&
        (d->instr->guard >= d->fn->reg_count || d->widths[d->instr->guard] != WIDTH_PRED))
        return decode_error(d, "guard is no predicate");
    const struct row *row = row_find(d->form);
    if (!row)
        return decode_emit(d, run_unsupported) != NULL;
    return row->shape ? decode_by_shape(d, row) : row->decode(d, row);
}

static bool decode_body(struct decoder *d)
{
    const struct ptx_func *fn = d->fn;
    d->first_op = calloc((size_t)fn->instr_count + 1, sizeof *d->first_op);
    d->widths = malloc((size_t)fn->reg_count + 64);
    if (!d->first_op || !d->widths)
        return decode_error(d, "out of memory");
    d->vreg_cap = fn->reg_count + 64;
    d->vreg_count = fn->reg_count;
    for (uint32_t i = 0; i < fn->reg_count; i++)
        d->widths[i] = (uint8_t)width_of((enum ptx_type)fn->reg_types[i]);
    d->carry = decode_temp(d, WIDTH_PRED);
    if (!d->carry || !decode_register_params(d))
        return false;
    for (uint32_t i = 0; i < fn->instr_count; i++)
        if (!decode_instr(d, i))
            return false;
    d->instr = NULL;
    d->instr_index = fn->instr_count ? fn->instr_count - 1 : 0;
    d->first_op[fn->instr_count] = d->op_count;
    return decode_register_results(d) && decode_emit(d, run_end) != NULL && regalloc(d);
}

/* Labels become ops; ops and lists move to the function. */
static bool finish(struct decoder *d)
{
    struct function *out = d->out;
    out->ops = d->ops;
    out->op_count = d->op_count;
    out->lists = d->lists;
    d->program->origin_count += d->op_count;
    for (uint32_t i = 0; i < d->op_count; i++) {
        struct op *op = &d->ops[i];
        if (op->run == run_brx)
            for (uint32_t k = 0; k < op->uses; k++)
                d->lists[op->index + k] = d->first_op[d->lists[op->index + k]];
        if (op->run == run_bra)
            op->target = &d->ops[d->first_op[op->index]];
        else if (op->defs + op->uses)
            op->list = &d->lists[op->index];
    }
    d->ops = NULL;
    d->lists = NULL;
    return true;
}

static bool decode_function(struct ptxvm *vm, struct program *p, uint32_t index, struct fault *f)
{
    struct fault own = {0};
    struct decoder d = {
        .vm = vm,
        .program = p,
        .module = p->module,
        .fn = &p->module->funcs[index],
        .out = p->functions[index],
        .func_index = index,
        .fault = f ? f : &own,
    };
    bool ok = decode_body(&d) && finish(&d);
    if (!ok && d.fault->code == ERR_NONE)
        decode_error(&d, "cannot be decoded");
    free(d.ops);
    free(d.lists);
    free(d.widths);
    free(d.first_op);
    return ok;
}

bool decode_program(struct ptxvm *vm, struct program *p, struct fault *f)
{
    for (uint32_t i = 0; i < p->function_count; i++)
        if (p->functions[i] && !decode_function(vm, p, i, f))
            return false;
    free(p->pool);
    p->pool = NULL;
    return true;
}
