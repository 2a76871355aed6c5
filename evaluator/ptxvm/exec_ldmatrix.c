/* SPDX-License-Identifier: Apache-2.0
 * ldmatrix, stmatrix: 8 x 8 matrices of 16-bit elements, one to four. Lane 8 i + r brings the
 * address of row r of matrix i; lane l has elements 2 (l % 4) and the next of row l / 4, or with
 * .trans of column l / 4. */
#include "evaluator/ptxvm/async.h"
#include "evaluator/ptxvm/fragment.h"

enum { ROWS = 8, ROW_BYTES = 16, MAX_MATRICES = 4, AUX_TRANS = 1 };

/* The rows of `count` matrices. False: stopped. */
static bool find_rows(struct warp *w, const struct op *op, uint32_t count, enum access mode,
                      uint16_t *rows[VM_LANES])
{
    for (uint32_t i = 0; i < count * ROWS; i++) {
        uint64_t address = async_shared(async_lane(w, op->a, (int)i));
        rows[i] = (void *)access_shared(w, op, (int)i, address, ROW_BYTES, ROW_BYTES, mode);
        if (!rows[i])
            return false;
    }
    return true;
}

/* Element `which` (0, 1) of lane l in the matrix whose rows these are. */
static uint16_t *element(uint16_t *const *rows, uint32_t aux, int l, int which)
{
    int along = l % 4 * 2 + which, across = l / 4;
    return aux & AUX_TRANS ? &rows[along][across] : &rows[across][along];
}

HANDLER(ldmatrix)
{
    uint16_t *rows[VM_LANES];
    if (!whole_warp(w, op, exec) || !find_rows(w, op, op->defs, ACCESS_READ, rows))
        return NULL;
    for (uint32_t m = 0; m < op->defs; m++) {
        uint32_t *d = vm_row(w, op->list[m]);
        EACH_LANE d[i] = *element(rows + m * ROWS, op->aux, i, 0) |
                         (uint32_t)*element(rows + m * ROWS, op->aux, i, 1) << 16;
    }
    return op + 1;
}

HANDLER(stmatrix)
{
    uint16_t *rows[VM_LANES];
    if (!whole_warp(w, op, exec) || !find_rows(w, op, op->uses, ACCESS_WRITE, rows))
        return NULL;
    for (uint32_t m = 0; m < op->uses; m++) {
        const uint32_t *a = vm_row(w, op->list[m]);
        EACH_LANE
        {
            *element(rows + m * ROWS, op->aux, i, 0) = (uint16_t)a[i];
            *element(rows + m * ROWS, op->aux, i, 1) = (uint16_t)(a[i] >> 16);
        }
    }
    return op + 1;
}

/* One matrix in registers, transposed. */
HANDLER(movmatrix)
{
    if (!whole_warp(w, op, exec))
        return NULL;
    const uint32_t *a = vm_row(w, op->a);
    uint32_t *d = vm_row(w, op->d), result[VM_LANES];
    EACH_LANE
    {
        int column = i / 4, row = i % 4 * 2; /* of the source */
        uint32_t lo = a[row * 4 + column / 2] >> (column % 2 * 16) & 0xffff;
        uint32_t hi = a[(row + 1) * 4 + column / 2] >> (column % 2 * 16) & 0xffff;
        result[i] = lo | hi << 16;
    }
    EACH_LANE d[i] = result[i];
    return op + 1;
}

static bool decode_matrices(struct decoder *d, const struct row *row)
{
    bool loads = row->aux == ACCESS_READ;
    uint32_t want = form_has(d, PTX_WORD_x4) ? 4 : form_has(d, PTX_WORD_x2) ? 2 : 1, count = 0;
    uint32_t refs[MAX_MATRICES];
    if (d->form->m != ROWS || d->form->n != ROWS || d->form->types[0] != PTX_TYPE_b16)
        return decode_emit(d, run_unsupported) != NULL;
    uint32_t address =
        decode_count_is(d, 2) ? async_decode_address(d, &d->operands[loads ? 1 : 0]) : REF_NONE;
    if (!address)
        return false;
    const struct ptx_operand *e = decode_elements(d, &d->operands[loads ? 0 : 1], &count);
    if (count != want)
        return decode_error(d, "%u registers for %u matrices", count, want);
    for (uint32_t i = 0; i < count; i++)
        if (!(refs[i] = loads ? decode_result(d, &e[i], PTX_TYPE_b32)
                              : decode_source(d, &e[i], PTX_TYPE_b32)))
            return false;
    struct op *op = decode_emit(d, row->run);
    if (!op)
        return false;
    op->a = address;
    op->aux = form_has(d, PTX_WORD_trans) ? AUX_TRANS : 0;
    for (uint32_t i = 0; i < count; i++)
        if (!decode_list(d, refs[i], loads))
            return false;
    return true;
}

const struct row rows_ldmatrix[] = {
    {"ldmatrix.sync.aligned", NULL, ldmatrix, decode_matrices, ACCESS_READ},
    {"stmatrix.sync.aligned", NULL, stmatrix, decode_matrices, ACCESS_WRITE},
    {"movmatrix.sync.aligned.m8n8.trans.b16", "w:w", movmatrix, NULL, 0},
    ROWS_END,
};
