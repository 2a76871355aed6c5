/* SPDX-License-Identifier: Apache-2.0
 * mma.sync of the shapes and types that exec_mma.c does not have: f64, 4-bit and 1-bit elements,
 * and integers in m8n8. A register holds e elements along k; lane l, element i of register r is row
 * l / 4 (the next register of A, in m16: eight rows on), column e (l % 4) + i, the next ones 4 e
 * columns on. f64 has one element in a register. */
#include "evaluator/ptxvm/fragment.h"
#include "evaluator/ptxvm/mma_small.h"
#include "evaluator/ptxvm/product.h"

enum { MAX_REGISTERS = 8 };

struct operands {
    uint32_t a, b, c; /* registers of a lane; D has as many as C */
};

static uint32_t per_register(enum ptx_type type)
{
    return type == PTX_TYPE_f64 ? 1 : 32 / ptx_type_bits(type);
}

static struct operands count_operands(const struct product *p)
{
    uint32_t per = per_register((enum ptx_type)p->a);
    return (struct operands){.a = (uint32_t)p->m * p->k / VM_LANES / per,
                             .b = (uint32_t)p->n * p->k / VM_LANES / per,
                             .c = (uint32_t)p->m * p->n / VM_LANES};
}

static union product_element element_of(const struct warp *w, uint32_t ref, uint32_t lane,
                                        uint32_t i, enum ptx_type type)
{
    if (type == PTX_TYPE_f64)
        return product_decode(type, ((const uint64_t *)vm_row(w, ref))[lane]);
    uint32_t bits = ptx_type_bits(type);
    return product_decode(type, ((const uint32_t *)vm_row(w, ref))[lane] >> bits * i &
                                    ((UINT32_C(1) << bits) - 1));
}

static void read_a(const struct warp *w, const struct product *p, const uint32_t *refs,
                   uint32_t count, union product_element *a)
{
    uint32_t per = per_register((enum ptx_type)p->a), high = p->m / 8;
    for (uint32_t r = 0; r < count; r++)
        for (uint32_t l = 0; l < VM_LANES; l++)
            for (uint32_t i = 0; i < per; i++) {
                uint32_t row = l / 4 + r % high * 8, k = l % 4 * per + i + r / high * per * 4;
                a[row * p->k + k] = element_of(w, refs[r], l, i, (enum ptx_type)p->a);
            }
}

static void read_b(const struct warp *w, const struct product *p, const uint32_t *refs,
                   uint32_t count, union product_element *b)
{
    uint32_t per = per_register((enum ptx_type)p->b);
    for (uint32_t r = 0; r < count; r++)
        for (uint32_t l = 0; l < VM_LANES; l++)
            for (uint32_t i = 0; i < per; i++) {
                uint32_t k = l % 4 * per + i + r * per * 4;
                b[k * p->n + l / 4] = element_of(w, refs[r], l, i, (enum ptx_type)p->b);
            }
}

/* Index in C and D of register r of a lane. */
static uint32_t place_of(const struct product *p, uint32_t r, uint32_t l)
{
    return (l / 4 + r / 2 * 8) * p->n + l % 4 * 2 + r % 2;
}

HANDLER(mma_small)
{
    if (!whole_warp(w, op, exec))
        return NULL;
    struct product p;
    memcpy(&p, &op->imm, sizeof p);
    struct operands n = count_operands(&p);
    const uint32_t *a_refs = op->list + n.c, *c_refs = a_refs + n.a + n.b;
    union product_element a[PRODUCT_MAX], b[PRODUCT_MAX], sum[VM_LANES * 4];
    read_a(w, &p, a_refs, n.a, a);
    read_b(w, &p, a_refs + n.a, n.b, b);
    for (uint32_t r = 0; r < n.c; r++)
        for (uint32_t l = 0; l < VM_LANES; l++)
            if (p.c == PTX_TYPE_f64)
                sum[place_of(&p, r, l)].d = ((const double *)vm_row(w, c_refs[r]))[l];
            else
                sum[place_of(&p, r, l)].i = ((const uint32_t *)vm_row(w, c_refs[r]))[l];
    product_run(&p, a, b, sum);
    for (uint32_t r = 0; r < n.c; r++)
        for (uint32_t l = 0; l < VM_LANES; l++)
            if (p.d == PTX_TYPE_f64)
                ((double *)vm_row(w, op->list[r]))[l] = sum[place_of(&p, r, l)].d;
            else
                ((uint32_t *)vm_row(w, op->list[r]))[l] = sum[place_of(&p, r, l)].i;
    return op + 1;
}

/* ---- decoding ---- */

/* The shapes of the manual. */
static bool shape_exists(const struct product *p)
{
    static const struct {
        enum ptx_type type;
        uint16_t m, k;
    } shapes[] = {
        {PTX_TYPE_f64, 8, 4},   {PTX_TYPE_f64, 16, 4},  {PTX_TYPE_f64, 16, 8},
        {PTX_TYPE_f64, 16, 16}, {PTX_TYPE_s8, 8, 16},   {PTX_TYPE_u8, 8, 16},
        {PTX_TYPE_s4, 8, 32},   {PTX_TYPE_u4, 8, 32},   {PTX_TYPE_s4, 16, 32},
        {PTX_TYPE_u4, 16, 32},  {PTX_TYPE_s4, 16, 64},  {PTX_TYPE_u4, 16, 64},
        {PTX_TYPE_b1, 8, 128},  {PTX_TYPE_b1, 16, 128}, {PTX_TYPE_b1, 16, 256},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        if (shapes[i].type == p->a && shapes[i].m == p->m && shapes[i].k == p->k && p->n == 8)
            return ptx_type_bits((enum ptx_type)p->b) == ptx_type_bits((enum ptx_type)p->a);
    return false;
}

static bool decode_registers(struct decoder *d, uint32_t i, uint32_t want, enum ptx_type type,
                             uint32_t *refs)
{
    uint32_t count = 0;
    const struct ptx_operand *e = decode_elements(d, &d->operands[i], &count);
    if (count != want || count > MAX_REGISTERS)
        return decode_error(d, "%u registers where %u are needed", count, want);
    for (uint32_t k = 0; k < count; k++)
        if (!(refs[k] = i == 0 ? decode_result(d, &e[k], type) : decode_source(d, &e[k], type)))
            return false;
    return true;
}

bool mma_small_decode(struct decoder *d)
{
    const struct ptx_form *form = d->form;
    struct product p = {.m = (uint8_t)form->m, .n = (uint8_t)form->n, .k = form->k & 0x3ff};
    if (form->type_count != 4)
        return decode_emit(d, run_unsupported) != NULL;
    p.d = form->types[0], p.a = form->types[1], p.b = form->types[2], p.c = form->types[3];
    if (!product_finish(&p, form) || !shape_exists(&p))
        return decode_emit(d, run_unsupported) != NULL;
    struct operands n = count_operands(&p);
    const uint32_t counts[4] = {n.c, n.a, n.b, n.c};
    enum ptx_type type = p.a == PTX_TYPE_f64 ? PTX_TYPE_f64 : PTX_TYPE_b32;
    uint32_t refs[4][MAX_REGISTERS];
    if (!decode_count_is(d, 4))
        return false;
    for (uint32_t i = 0; i < 4; i++)
        if (!decode_registers(d, i, counts[i], type, refs[i]))
            return false;
    struct op *op = decode_emit(d, mma_small);
    if (!op)
        return false;
    memcpy(&op->imm, &p, sizeof op->imm);
    for (uint32_t i = 0; i < 4; i++)
        for (uint32_t k = 0; k < counts[i]; k++)
            if (!decode_list(d, refs[i][k], i == 0))
                return false;
    return true;
}
