/* SPDX-License-Identifier: Apache-2.0
 * wmma.load, wmma.mma, wmma.store, which mma.h becomes. Where an element lies in a fragment is not
 * specified; here element e, counted by rows, is in lane e % 32, and fragments with more room than
 * elements hold each as often as it fits. Sums are in fp32 in the order of k, rounded once to f16.
 */
#include "evaluator/ptxvm/async.h"
#include "evaluator/ptxvm/fragment.h"

enum { MAX_ELEMENTS = 32 * 32, MAX_REGISTERS = 8 };

/* A matrix in registers. `refs` are `count` rows. */
struct matrix {
    uint32_t rows, columns, bytes; /* of an element */
    const uint32_t *refs;
    uint32_t count;
};

static uint32_t distinct(const struct matrix *m)
{
    return m->rows * m->columns / VM_LANES;
}

static void put(struct warp *w, const struct matrix *m, uint32_t e, uint32_t bits)
{
    uint32_t per = 4 / m->bytes;
    for (uint32_t slot = e / VM_LANES; slot < m->count * per; slot += distinct(m)) {
        unsigned char *row = vm_row(w, m->refs[slot / per]);
        memcpy(row + e % VM_LANES * 4 + slot % per * m->bytes, &bits, m->bytes);
    }
}

static uint32_t get(const struct warp *w, const struct matrix *m, uint32_t e)
{
    uint32_t per = 4 / m->bytes, slot = e / VM_LANES, bits = 0;
    const unsigned char *row = vm_row(w, m->refs[slot / per]);
    memcpy(&bits, row + e % VM_LANES * 4 + slot % per * m->bytes, m->bytes);
    return bits;
}

/* ---- load, store: a address, b stride (0: dense) ---- */

enum {
    AUX_ROWS = 0,
    AUX_COLUMNS = 8,
    AUX_BYTES = 16,
    AUX_SHARED = 1 << 20,
    AUX_COLUMN_MAJOR = 1 << 21
};

static bool transfer(struct warp *w, const struct op *op, enum access mode)
{
    struct matrix m = {.rows = op->aux >> AUX_ROWS & 0xff,
                       .columns = op->aux >> AUX_COLUMNS & 0xff,
                       .bytes = op->aux >> AUX_BYTES & 0xf,
                       .refs = op->list,
                       .count = mode == ACCESS_READ ? op->defs : op->uses};
    bool by_column = op->aux & AUX_COLUMN_MAJOR;
    uint64_t base = async_lane(w, op->a, 0), inner = async_shared(base);
    uint64_t stride = ((const uint32_t *)vm_row(w, op->b))[0];
    stride = stride ? stride : by_column ? m.rows : m.columns;
    bool shared = op->aux & AUX_SHARED || inner != base;
    for (uint32_t e = 0; e < m.rows * m.columns; e++) {
        uint64_t row = e / m.columns, column = e % m.columns, bits = 0;
        uint64_t at = inner + (by_column ? column * stride + row : row * stride + column) * m.bytes;
        unsigned char *host = shared ? access_shared(w, op, 0, at, m.bytes, m.bytes, mode)
                                     : access_global(w, op, 0, at, m.bytes, m.bytes, mode);
        if (!host)
            return false;
        if (mode == ACCESS_READ) {
            memcpy(&bits, host, m.bytes);
            put(w, &m, e, (uint32_t)bits);
        } else {
            bits = get(w, &m, e);
            memcpy(host, &bits, m.bytes);
        }
    }
    return true;
}

HANDLER(wmma_load)
{
    return whole_warp(w, op, exec) && transfer(w, op, ACCESS_READ) ? op + 1 : NULL;
}

HANDLER(wmma_store)
{
    return whole_warp(w, op, exec) && transfer(w, op, ACCESS_WRITE) ? op + 1 : NULL;
}

/* ---- mma ---- */

/* op->imm: shape and types; list: D as results, then A, B, C. */
struct product {
    uint8_t m, n, k, element, d, c; /* enum matrix_element, enum accumulator twice */
    uint8_t a_count, b_count;       /* registers */
};

static void decode_matrix(const struct warp *w, const struct matrix *m, enum matrix_element e,
                          uint32_t *to)
{
    for (uint32_t i = 0; i < m->rows * m->columns; i++) {
        uint32_t bits = get(w, m, i);
        matrix_decode(e, &bits, 1, &to[i]);
    }
}

static void multiply_floats(const struct product *p, const uint32_t *a, const uint32_t *b,
                            float *acc)
{
    for (uint32_t row = 0; row < p->m; row++)
        for (uint32_t k = 0; k < p->k; k++)
            for (uint32_t n = 0; n < p->n; n++)
                acc[row * p->n + n] += f32_from(a[row * p->k + k]) * f32_from(b[k * p->n + n]);
}

static void multiply_integers(const struct product *p, const uint32_t *a, const uint32_t *b,
                              uint32_t *acc)
{
    for (uint32_t row = 0; row < p->m; row++)
        for (uint32_t k = 0; k < p->k; k++)
            for (uint32_t n = 0; n < p->n; n++)
                acc[row * p->n + n] += a[row * p->k + k] * b[k * p->n + n];
}

static void multiply(struct warp *w, const struct product *p, const struct matrix *a,
                     const struct matrix *b, const struct matrix *c, const struct matrix *d)
{
    uint32_t va[MAX_ELEMENTS], vb[MAX_ELEMENTS], acc[MAX_ELEMENTS];
    float sum[MAX_ELEMENTS];
    uint32_t n = c->rows * c->columns;
    enum matrix_element e = (enum matrix_element)p->element;
    decode_matrix(w, a, e, va);
    decode_matrix(w, b, e, vb);
    for (uint32_t i = 0; i < n; i++) {
        acc[i] = get(w, c, i);
        sum[i] = p->c == ACC_F16 ? f16_widen(acc[i]) : f32_from(acc[i]);
    }
    if (matrix_is_integer(e))
        multiply_integers(p, va, vb, acc);
    else
        multiply_floats(p, va, vb, sum);
    for (uint32_t i = 0; i < n; i++)
        put(w, d, i,
            matrix_is_integer(e) ? acc[i]
            : p->d == ACC_F16    ? f16_nearest(sum[i])
                                 : f32_bits(sum[i]));
}

HANDLER(wmma_mma)
{
    if (!whole_warp(w, op, exec))
        return NULL;
    struct product p;
    memcpy(&p, &op->imm, sizeof p);
    uint32_t bytes = matrix_bytes((enum matrix_element)p.element);
    const uint32_t *next = op->list + op->defs;
    struct matrix d = {p.m, p.n, p.d == ACC_F16 ? 2 : 4, op->list, op->defs};
    struct matrix a = {p.m, p.k, bytes, next, p.a_count};
    struct matrix b = {p.k, p.n, bytes, next + p.a_count, p.b_count};
    struct matrix c = {p.m, p.n, p.c == ACC_F16 ? 2 : 4, next + p.a_count + p.b_count,
                       op->uses - p.a_count - p.b_count};
    multiply(w, &p, &a, &b, &c, &d);
    return op + 1;
}

/* ---- decoding ---- */

/* Is there a place for each element, as often as it goes? */
static bool holds(uint32_t rows, uint32_t columns, uint32_t bytes, uint32_t count)
{
    uint32_t each = rows * columns / VM_LANES, slots = bytes && bytes <= 4 ? count * 4 / bytes : 0;
    return rows <= 32 && columns <= 32 && rows * columns % VM_LANES == 0 && each &&
           count <= MAX_REGISTERS && slots >= each && slots % each == 0;
}

static bool registers_of(struct decoder *d, const struct ptx_operand *o, bool result,
                         uint32_t *refs, uint32_t *count)
{
    const struct ptx_operand *e = decode_elements(d, o, count);
    if (*count > MAX_REGISTERS)
        return decode_error(d, "%u registers", *count);
    for (uint32_t i = 0; i < *count; i++)
        if (!(refs[i] = result ? decode_result(d, &e[i], PTX_TYPE_b32)
                               : decode_source(d, &e[i], PTX_TYPE_b32)))
            return false;
    return true;
}

/* Rows and columns of the matrix by its letter. */
static void extent_of(const struct decoder *d, uint32_t *rows, uint32_t *columns)
{
    *rows = form_has(d, PTX_WORD_b) ? d->form->k : d->form->m;
    *columns = form_has(d, PTX_WORD_a) ? d->form->k : d->form->n;
}

static bool decode_transfer(struct decoder *d, const struct row *row)
{
    bool loads = row->aux == ACCESS_READ;
    uint32_t n = d->instr->operand_count, refs[MAX_REGISTERS], count = 0, rows, columns;
    if (n < 2 || n > 3 || d->form->type_count != 1)
        return decode_error(d, "operands do not fit");
    extent_of(d, &rows, &columns);
    uint32_t bytes = ptx_type_bits((enum ptx_type)d->form->types[0]) / 8;
    if (!registers_of(d, &d->operands[loads ? 0 : 1], loads, refs, &count))
        return false;
    if (!holds(rows, columns, bytes, count))
        return decode_emit(d, run_unsupported) != NULL;
    uint32_t a = async_decode_address(d, &d->operands[loads ? 1 : 0]);
    uint32_t b = !a       ? REF_NONE
                 : n == 3 ? decode_source(d, &d->operands[2], PTX_TYPE_u32)
                          : decode_constant(d, 0, 0, WIDTH_32);
    struct op *op = b ? decode_emit(d, row->run) : NULL;
    if (!op)
        return false;
    op->a = a, op->b = b;
    op->aux = rows << AUX_ROWS | columns << AUX_COLUMNS | bytes << AUX_BYTES;
    op->aux |= form_has(d, PTX_WORD_shared) || form_has(d, PTX_WORD_shared__cta) ? AUX_SHARED : 0;
    op->aux |= form_has(d, PTX_WORD_col) ? AUX_COLUMN_MAJOR : 0;
    for (uint32_t i = 0; i < count; i++)
        if (!decode_list(d, refs[i], loads))
            return false;
    return true;
}

static bool accumulator_of(enum ptx_type type, uint8_t *out)
{
    *out = type == PTX_TYPE_f16 ? ACC_F16 : type == PTX_TYPE_f32 ? ACC_F32 : ACC_S32;
    return type == PTX_TYPE_f16 || type == PTX_TYPE_f32 || type == PTX_TYPE_s32;
}

/* Types are D and C, of f16 operands, or D, A, B, C. False: not executed. */
static bool product_of(const struct decoder *d, struct product *p)
{
    const struct ptx_form *form = d->form;
    enum matrix_element a = MATRIX_F16, b = MATRIX_F16;
    uint32_t last = form->type_count - 1u;
    if ((form->type_count != 2 && form->type_count != 4) || form_has(d, PTX_WORD_satfinite) ||
        (last == 3 && (!matrix_element_of((enum ptx_type)form->types[1], &a) ||
                       !matrix_element_of((enum ptx_type)form->types[2], &b))) ||
        a != b || form->m > 32 || form->n > 32 || form->k > 32)
        return false;
    *p = (struct product){
        .m = (uint8_t)form->m, .n = (uint8_t)form->n, .k = (uint8_t)form->k, .element = (uint8_t)a};
    return accumulator_of((enum ptx_type)form->types[0], &p->d) &&
           accumulator_of((enum ptx_type)form->types[last], &p->c) &&
           (p->d == ACC_S32) == matrix_is_integer(a) && (p->c == ACC_S32) == matrix_is_integer(a);
}

static bool decode_product(struct decoder *d, const struct row *row)
{
    uint32_t refs[4][MAX_REGISTERS], count[4] = {0};
    struct product p;
    if (!product_of(d, &p))
        return decode_emit(d, run_unsupported) != NULL;
    if (!decode_count_is(d, 4))
        return false;
    for (uint32_t i = 0; i < 4; i++)
        if (!registers_of(d, &d->operands[i], i == 0, refs[i], &count[i]))
            return false;
    uint32_t bytes = matrix_bytes((enum matrix_element)p.element);
    if (!holds(p.m, p.n, p.d == ACC_F16 ? 2 : 4, count[0]) || !holds(p.m, p.k, bytes, count[1]) ||
        !holds(p.k, p.n, bytes, count[2]) || !holds(p.m, p.n, p.c == ACC_F16 ? 2 : 4, count[3]))
        return decode_error(d, "registers do not fit the shape");
    p.a_count = (uint8_t)count[1], p.b_count = (uint8_t)count[2];
    struct op *op = decode_emit(d, row->run);
    if (!op)
        return false;
    memcpy(&op->imm, &p, sizeof p);
    for (uint32_t i = 0; i < 4; i++)
        for (uint32_t r = 0; r < count[i]; r++)
            if (!decode_list(d, refs[i][r], i == 0))
                return false;
    return true;
}

_Static_assert(sizeof(struct product) == sizeof(int64_t), "a product is kept in op->imm");

const struct row rows_wmma[] = {
    {"wmma.load", NULL, wmma_load, decode_transfer, ACCESS_READ},
    {"wmma.store", NULL, wmma_store, decode_transfer, ACCESS_WRITE},
    {"wmma.mma.sync.aligned", NULL, wmma_mma, decode_product, 0},
    ROWS_END,
};
