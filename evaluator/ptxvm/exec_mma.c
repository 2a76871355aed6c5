/* SPDX-License-Identifier: Apache-2.0
 * mma.sync m16n8: a warp multiplies fragments in registers. Order and error of the sums are those
 * of wgmma: see exec_wgmma.c. */
#include "evaluator/ptxvm/fragment.h"
#include "evaluator/ptxvm/mma_small.h"

enum { MAX_ACC = 4, MAX_A = 4, MAX_B = 2 };
enum { AUX_A = 0, AUX_B = 4, AUX_ACC = 8, AUX_SATURATE = 1 << 12, AUX_A_COUNT = 16, FIELD = 0xf };

static void read_b(struct fragment_b *b, enum matrix_element e, uint32_t r, const uint32_t *row)
{
    uint32_t per = 4 / matrix_bytes(e), value[4];
    for (uint32_t l = 0; l < VM_LANES; l++) {
        matrix_decode(e, &row[l], per, value);
        for (uint32_t i = 0; i < per; i++)
            fragment_put_b(b, l / 4, l % 4 * per + i + r * per * 4, value[i]);
    }
}

/* list: D as results; C, A's registers (twice as many as B's), B's. */
HANDLER(mma)
{
    if (!whole_warp(w, op, exec))
        return NULL;
    struct fragment_a a;
    struct fragment_b b;
    uint32_t acc[MAX_ACC][VM_LANES], n = op->defs, a_count = op->aux >> AUX_A_COUNT;
    enum matrix_element ea = (enum matrix_element)(op->aux >> AUX_A & FIELD);
    enum matrix_element eb = (enum matrix_element)(op->aux >> AUX_B & FIELD);
    enum accumulator kind = (enum accumulator)(op->aux >> AUX_ACC & 3);
    uint32_t k = a_count / 2 * 16 / matrix_bytes(ea);
    for (uint32_t i = 0; i < n; i++)
        memcpy(acc[i], vm_row(w, op->list[n + i]), sizeof acc[i]);
    for (uint32_t r = 0; r < a_count; r++)
        fragment_read_a(&a, ea, r, vm_row(w, op->list[2 * n + r]), 0);
    for (uint32_t r = 0; r < a_count / 2; r++)
        read_b(&b, eb, r, vm_row(w, op->list[2 * n + a_count + r]));
    for (uint32_t h = 0; h < 2; h++)
        if (kind == ACC_F32)
            fragment_multiply_f32(&a, &b, k, h, acc[2 * h], acc[2 * h + 1]);
        else if (kind == ACC_F16)
            fragment_add_products_f16(&a, &b, k, h, acc[h]);
        else
            fragment_add_products_s32(&a, &b, k, h, op->aux & AUX_SATURATE, acc[2 * h],
                                      acc[2 * h + 1]);
    for (uint32_t i = 0; i < n; i++)
        memcpy(vm_row(w, op->list[i]), acc[i], sizeof acc[i]);
    return op + 1;
}

static bool decode_fragment(struct decoder *d, const struct ptx_operand *o, uint32_t want,
                            bool result, uint32_t *refs)
{
    uint32_t count = 0;
    const struct ptx_operand *e = decode_elements(d, o, &count);
    if (count != want)
        return decode_error(d, "%u registers where %u are needed", count, want);
    for (uint32_t i = 0; i < count; i++)
        if (!(refs[i] = result ? decode_result(d, &e[i], PTX_TYPE_b32)
                               : decode_source(d, &e[i], PTX_TYPE_b32)))
            return false;
    return true;
}

/* False: a shape or a type that is not executed. */
static bool decode_form(const struct ptx_form *form, uint32_t *aux, uint32_t *acc_count)
{
    enum matrix_element a, b;
    if (form->type_count != 4 || !matrix_element_of((enum ptx_type)form->types[1], &a) ||
        !matrix_element_of((enum ptx_type)form->types[2], &b) || form->types[0] != form->types[3])
        return false;
    enum ptx_type type = (enum ptx_type)form->types[0];
    uint32_t bytes = matrix_bytes(a), k = form->k * bytes; /* 16 or 32 bytes of K */
    bool integer = matrix_is_integer(a);
    if (form->m != 16 || form->n != 8 || (k != 16 && k != 32) || bytes != matrix_bytes(b) ||
        integer != matrix_is_integer(b) || integer != (type == PTX_TYPE_s32) ||
        (!integer && type != PTX_TYPE_f32 && type != PTX_TYPE_f16))
        return false;
    enum accumulator acc = integer ? ACC_S32 : type == PTX_TYPE_f16 ? ACC_F16 : ACC_F32;
    *acc_count = acc == ACC_F16 ? 2 : 4;
    *aux = (uint32_t)a << AUX_A | (uint32_t)b << AUX_B | (uint32_t)acc << AUX_ACC |
           k / 8 << AUX_A_COUNT;
    return true;
}

static bool decode_mma(struct decoder *d, const struct row *row)
{
    uint32_t aux, n, refs[2][MAX_ACC], a[MAX_A], b[MAX_B];
    if (!form_has(d, PTX_WORD_row) || !form_has(d, PTX_WORD_col))
        return decode_emit(d, run_unsupported) != NULL;
    if (!decode_form(d->form, &aux, &n))
        return mma_small_decode(d);
    uint32_t a_count = aux >> AUX_A_COUNT;
    if (!decode_count_is(d, 4) || !decode_fragment(d, &d->operands[0], n, true, refs[0]) ||
        !decode_fragment(d, &d->operands[1], a_count, false, a) ||
        !decode_fragment(d, &d->operands[2], a_count / 2, false, b) ||
        !decode_fragment(d, &d->operands[3], n, false, refs[1]))
        return false;
    struct op *op = decode_emit(d, row->run);
    if (!op)
        return false;
    op->aux = aux | (form_has(d, PTX_WORD_satfinite) ? AUX_SATURATE : 0);
    for (uint32_t i = 0; i < 2 * n; i++)
        if (!decode_list(d, refs[i / n][i % n], i < n))
            return false;
    for (uint32_t i = 0; i < a_count; i++)
        if (!decode_list(d, a[i], false))
            return false;
    for (uint32_t i = 0; i < a_count / 2; i++)
        if (!decode_list(d, b[i], false))
            return false;
    return true;
}

const struct row ROWS_NAME(mma)[] = {
    {"mma.sync.aligned", NULL, mma, decode_mma, 0},
    ROWS_END,
};
