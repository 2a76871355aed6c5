/* SPDX-License-Identifier: Apache-2.0
 * wmma.load, wmma.mma, wmma.store, which mma.h becomes. Where an element lies in a fragment is not
 * specified; here element e, counted by rows, is in lane e % 32, and fragments with more room than
 * elements hold each as often as it fits. Sums are in fp32 or fp64 in the order of k, rounded once
 * to f16.
 */
#include "evaluator/ptxvm/async.h"
#include "evaluator/ptxvm/fragment.h"
#include "evaluator/ptxvm/product.h"

enum { MAX_REGISTERS = 8 };

/* A matrix in registers. `refs` are `count` rows. */
struct matrix {
    uint32_t rows, columns, bits; /* of an element */
    const uint32_t *refs;
    uint32_t count;
};

/* Elements of a register of a lane. */
static uint32_t per_register(uint32_t bits)
{
    return bits > 32 ? 1 : 32 / bits;
}

static uint32_t distinct(const struct matrix *m)
{
    return m->rows * m->columns / VM_LANES;
}

static void put(struct warp *w, const struct matrix *m, uint32_t e, uint64_t bits)
{
    uint32_t per = per_register(m->bits), lane = e % VM_LANES;
    for (uint32_t slot = e / VM_LANES; slot < m->count * per; slot += distinct(m)) {
        void *row = vm_row(w, m->refs[slot / per]);
        uint32_t *word = (uint32_t *)row + lane, at = slot % per * m->bits;
        if (m->bits == 64)
            ((uint64_t *)row)[lane] = bits;
        else
            *word = m->bits == 32
                        ? (uint32_t)bits
                        : (*word & ~(((UINT32_C(1) << m->bits) - 1) << at)) | (uint32_t)bits << at;
    }
}

static uint64_t get(const struct warp *w, const struct matrix *m, uint32_t e)
{
    uint32_t per = per_register(m->bits), slot = e / VM_LANES, lane = e % VM_LANES;
    const void *row = vm_row(w, m->refs[slot / per]);
    if (m->bits == 64)
        return ((const uint64_t *)row)[lane];
    uint64_t mask = (UINT64_C(1) << m->bits) - 1;
    return ((const uint32_t *)row)[lane] >> slot % per * m->bits & mask;
}

/* ---- load, store: a address, b stride (0: dense) ---- */

/* op->imm: bits of an element. */
enum { AUX_ROWS = 0, AUX_COLUMNS = 8, AUX_SHARED = 1 << 20, AUX_COLUMN_MAJOR = 1 << 21 };

/* Element at bit `at` of memory: a byte or more, or a part of one. */
static bool move_element(struct warp *w, const struct op *op, const struct matrix *m, uint32_t e,
                         uint64_t base, uint64_t at, enum access mode)
{
    uint32_t bytes = m->bits < 8 ? 1 : m->bits / 8, shift = (uint32_t)at % 8;
    uint64_t address = base + at / 8, inner = async_shared(address), bits = 0;
    bool shared = op->aux & AUX_SHARED || inner != address;
    unsigned char *host = shared ? access_shared(w, op, 0, inner, bytes, bytes, mode)
                                 : access_global(w, op, 0, address, bytes, bytes, mode);
    if (!host)
        return false;
    if (mode == ACCESS_READ) {
        memcpy(&bits, host, bytes);
        put(w, m, e, m->bits < 8 ? bits >> shift & ((1u << m->bits) - 1) : bits);
    } else {
        bits = get(w, m, e);
        memcpy(host, &bits, bytes);
    }
    return true;
}

static bool transfer(struct warp *w, const struct op *op, enum access mode)
{
    struct matrix m = {.rows = op->aux >> AUX_ROWS & 0xff,
                       .columns = op->aux >> AUX_COLUMNS & 0xff,
                       .bits = (uint32_t)op->imm,
                       .refs = op->list,
                       .count = mode == ACCESS_READ ? op->defs : op->uses};
    bool by_column = op->aux & AUX_COLUMN_MAJOR;
    uint64_t base = async_lane(w, op->a, 0), stride = ((const uint32_t *)vm_row(w, op->b))[0];
    stride = stride ? stride : by_column ? m.rows : m.columns;
    for (uint32_t e = 0; e < m.rows * m.columns; e++) {
        uint64_t row = e / m.columns, column = e % m.columns;
        uint64_t at = (by_column ? column * stride + row : row * stride + column) * m.bits;
        if (!move_element(w, op, &m, e, base, at, mode))
            return false;
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

/* Registers of A and B of one wmma.mma, in op->aux. */
enum { AUX_A_COUNT = 0, AUX_B_COUNT = 8 };

static void read_matrix(const struct warp *w, const struct matrix *m, enum ptx_type type,
                        union product_element *to)
{
    for (uint32_t i = 0; i < m->rows * m->columns; i++)
        to[i] = product_decode(type, get(w, m, i));
}

HANDLER(wmma_mma)
{
    if (!whole_warp(w, op, exec))
        return NULL;
    struct product p;
    memcpy(&p, &op->imm, sizeof p);
    union product_element a[PRODUCT_MAX], b[PRODUCT_MAX], sum[PRODUCT_MAX];
    uint32_t bits = ptx_type_bits((enum ptx_type)p.a), a_count = op->aux >> AUX_A_COUNT & 0xff;
    uint32_t b_count = op->aux >> AUX_B_COUNT & 0xff;
    const uint32_t *next = op->list + op->defs;
    struct matrix md = {p.m, p.n, product_bits(p.d), op->list, op->defs};
    struct matrix ma = {p.m, p.k, bits, next, a_count};
    struct matrix mb = {p.k, p.n, bits, next + a_count, b_count};
    struct matrix mc = {p.m, p.n, product_bits(p.c), next + a_count + b_count,
                        op->uses - a_count - b_count};
    read_matrix(w, &ma, (enum ptx_type)p.a, a);
    read_matrix(w, &mb, (enum ptx_type)p.b, b);
    read_matrix(w, &mc, (enum ptx_type)p.c, sum);
    product_run(&p, a, b, sum);
    for (uint32_t i = 0; i < (uint32_t)p.m * p.n; i++)
        put(w, &md, i, product_encode((enum ptx_type)p.d, sum[i]));
    return op + 1;
}

/* ---- decoding ---- */

/* Is there a place for each element, as often as it goes? */
static bool holds(uint32_t rows, uint32_t columns, uint32_t bits, uint32_t count)
{
    uint32_t each = rows * columns / VM_LANES, slots = bits ? count * per_register(bits) : 0;
    return rows * columns <= PRODUCT_MAX && rows * columns % VM_LANES == 0 && each &&
           count <= MAX_REGISTERS && slots >= each && slots % each == 0;
}

static enum ptx_type register_type(enum ptx_type element)
{
    return element == PTX_TYPE_f64 ? PTX_TYPE_f64 : PTX_TYPE_b32;
}

static bool registers_of(struct decoder *d, const struct ptx_operand *o, enum ptx_type element,
                         bool result, uint32_t *refs, uint32_t *count)
{
    enum ptx_type type = register_type(element);
    const struct ptx_operand *e = decode_elements(d, o, count);
    if (*count > MAX_REGISTERS)
        return decode_error(d, "%u registers", *count);
    for (uint32_t i = 0; i < *count; i++)
        if (!(refs[i] = result ? decode_result(d, &e[i], type) : decode_source(d, &e[i], type)))
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
    enum ptx_type type = (enum ptx_type)d->form->types[0];
    if (!registers_of(d, &d->operands[loads ? 0 : 1], type, loads, refs, &count))
        return false;
    if (!holds(rows, columns, ptx_type_bits(type), count))
        return decode_error(d, "registers do not fit the shape");
    uint32_t a = async_decode_address(d, &d->operands[loads ? 1 : 0]);
    uint32_t b = !a       ? REF_NONE
                 : n == 3 ? decode_source(d, &d->operands[2], PTX_TYPE_u32)
                          : decode_constant(d, 0, 0, WIDTH_32);
    struct op *op = b ? decode_emit(d, row->run) : NULL;
    if (!op)
        return false;
    op->a = a, op->b = b;
    op->imm = ptx_type_bits(type);
    op->aux = rows << AUX_ROWS | columns << AUX_COLUMNS;
    op->aux |= form_has(d, PTX_WORD_shared) || form_has(d, PTX_WORD_shared__cta) ? AUX_SHARED : 0;
    op->aux |= form_has(d, PTX_WORD_col) ? AUX_COLUMN_MAJOR : 0;
    for (uint32_t i = 0; i < count; i++)
        if (!decode_list(d, refs[i], loads))
            return false;
    return true;
}

/* Types are D and C, of f16 operands, or D, A, B, C. False: not executed. */
static bool product_of(const struct decoder *d, struct product *p)
{
    const struct ptx_form *form = d->form;
    bool two = form->type_count == 2;
    if (!two && form->type_count != 4)
        return false;
    *p = (struct product){.m = (uint8_t)form->m,
                          .n = (uint8_t)form->n,
                          .k = (uint16_t)form->k,
                          .d = form->types[0],
                          .a = two ? PTX_TYPE_f16 : form->types[1],
                          .b = two ? PTX_TYPE_f16 : form->types[2],
                          .c = form->types[two ? 1 : 3]};
    return product_finish(p, form) && p->a == p->b;
}

static bool decode_product(struct decoder *d, const struct row *row)
{
    uint32_t refs[4][MAX_REGISTERS], count[4] = {0};
    struct product p;
    if (!product_of(d, &p))
        return decode_emit(d, run_unsupported) != NULL;
    if (!decode_count_is(d, 4))
        return false;
    const uint8_t types[4] = {p.d, p.a, p.b, p.c};
    for (uint32_t i = 0; i < 4; i++)
        if (!registers_of(d, &d->operands[i], (enum ptx_type)types[i], i == 0, refs[i], &count[i]))
            return false;
    uint32_t bits = ptx_type_bits((enum ptx_type)p.a);
    if (!holds(p.m, p.n, product_bits(p.d), count[0]) || !holds(p.m, p.k, bits, count[1]) ||
        !holds(p.k, p.n, bits, count[2]) || !holds(p.m, p.n, product_bits(p.c), count[3]))
        return decode_error(d, "registers do not fit the shape");
    struct op *op = decode_emit(d, row->run);
    if (!op)
        return false;
    memcpy(&op->imm, &p, sizeof op->imm);
    op->aux = count[1] << AUX_A_COUNT | count[2] << AUX_B_COUNT;
    for (uint32_t i = 0; i < 4; i++)
        for (uint32_t r = 0; r < count[i]; r++)
            if (!decode_list(d, refs[i][r], i == 0))
                return false;
    return true;
}

const struct row rows_wmma[] = {
    {"wmma.load", NULL, wmma_load, decode_transfer, ACCESS_READ},
    {"wmma.store", NULL, wmma_store, decode_transfer, ACCESS_WRITE},
    {"wmma.mma", NULL, wmma_mma, decode_product, 0},
    ROWS_END,
};
