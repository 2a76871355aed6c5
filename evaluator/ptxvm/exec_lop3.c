/* SPDX-License-Identifier: Apache-2.0
 * lop3: any function of three bits by its table, also combined with a predicate. */
#include "evaluator/ptxvm/lanes.h"

static inline uint32_t lop3(uint32_t a, uint32_t b, uint32_t c, uint32_t table)
{
    uint32_t r = 0;
    for (int k = 0; k < 8; k++)
        r |=
            (table >> k & 1 ? VM_FULL : 0) & (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
    return r;
}

/* Common tables have loops of their own. */
TERNARY(lop3_any, uint32_t, uint32_t, uint32_t, uint32_t, lop3(a, b, c, (uint32_t)op->imm))
TERNARY(lop3_xor3, uint32_t, uint32_t, uint32_t, uint32_t, a ^ b ^ c)
TERNARY(lop3_and3, uint32_t, uint32_t, uint32_t, uint32_t, a &b &c)
TERNARY(lop3_or3, uint32_t, uint32_t, uint32_t, uint32_t, a | b | c)
TERNARY(lop3_and_or, uint32_t, uint32_t, uint32_t, uint32_t, (a & b) | c)
TERNARY(lop3_and_xor, uint32_t, uint32_t, uint32_t, uint32_t, (a & b) ^ c)
TERNARY(lop3_select, uint32_t, uint32_t, uint32_t, uint32_t, (a & b) | (~a & c))

static const struct {
    uint8_t table;
    handler *run;
} lop3_common[] = {
    {0x96, lop3_xor3},   {0x80, lop3_and3},    {0xfe, lop3_or3},
    {0xea, lop3_and_or}, {0x6a, lop3_and_xor}, {0xca, lop3_select},
};

static bool decode_lop3(struct decoder *d, const struct row *row)
{
    int64_t table;
    if (!decode_by_shape(d, row) || !decode_immediate(d, &d->operands[4], &table))
        return false;
    struct op *op = &d->ops[d->op_count - 1];
    for (size_t i = 0; i < sizeof lop3_common / sizeof lop3_common[0]; i++)
        if (lop3_common[i].table == (table & 0xff))
            op->run = lop3_common[i].run;
    return true;
}

static bool decode_lop3_row(struct decoder *d, const struct row *row)
{
    struct row shaped = *row;
    shaped.shape = "w:wwwi";
    return decode_lop3(d, &shaped);
}

/* aux: the predicate slot is combined with `or` instead of `and`. d: value, e: predicate. */
HANDLER(lop3_pred)
{
    const uint32_t *a = vm_row(w, op->a), *b = vm_row(w, op->b), *c = vm_row(w, op->c);
    uint32_t *d = vm_row(w, op->d), bits = 0, q = w->preds[op->list[0]];
    EACH_LANE
    {
        if (!ACTIVE(exec, i))
            continue;
        d[i] = lop3(a[i], b[i], c[i], (uint32_t)op->imm);
        bits |= d[i] ? lane_bit[i] : 0;
    }
    vm_set_pred(w, op->e, exec, op->aux ? bits | q : bits & q);
    return op + 1;
}

static bool decode_lop3_pred(struct decoder *d, const struct row *row)
{
    uint32_t count = 0, refs[3];
    int64_t table = 0;
    if (!decode_count_is(d, 6))
        return false;
    const struct ptx_operand *results = decode_elements(d, &d->operands[0], &count);
    if (count != 2 || !decode_immediate(d, &d->operands[4], &table))
        return decode_error(d, "needs a result and a predicate");
    for (uint32_t i = 0; i < 3; i++)
        if (!(refs[i] = decode_source(d, &d->operands[i + 1], PTX_TYPE_b32)))
            return false;
    uint32_t q = decode_pred(d, &d->operands[5]);
    uint32_t to = q ? decode_result(d, &results[0], PTX_TYPE_b32) : REF_NONE;
    uint32_t pred = to ? decode_pred_result(d, &results[1]) : REF_NONE;
    struct op *op = pred ? decode_emit(d, row->run) : NULL;
    if (!op)
        return false;
    op->d = to, op->e = pred, op->a = refs[0], op->b = refs[1], op->c = refs[2];
    op->imm = table & 0xff, op->aux = row->aux;
    return decode_list(d, q, false);
}

const struct row ROWS_NAME(lop3)[] = {
    {"lop3.b32", NULL, lop3_any, decode_lop3_row, 0},
    {"lop3.and.b32", NULL, lop3_pred, decode_lop3_pred, 0},
    {"lop3.or.b32", NULL, lop3_pred, decode_lop3_pred, 1},
    ROWS_END,
};
