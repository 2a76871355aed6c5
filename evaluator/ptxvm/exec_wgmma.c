/* SPDX-License-Identifier: Apache-2.0
 * wgmma: four warps multiply a 64 x K piece of A by a K x N piece of B into registers. The last of
 * the four to arrive does the work of all, once the operands are decoded; that happens at the
 * instruction itself, which is one of the schedules that fence, commit and wait allow.
 *
 * Products are exact in fp32 and are added to the accumulator in fp32 in the order of k, each sum
 * rounded to nearest. The error of one instruction is at most K * 2^-24 * (|d| + sum of |a b|), and
 * for f16 accumulators, rounded once per instruction, half a unit of the result more. The
 * hardware's own order and rounding differ within twice that. Integers are exact. */
#include "evaluator/ptxvm/fragment.h"
#include "evaluator/ptxvm/smem_descriptor.h"

enum { WARPS = 4, ROWS = 64, MAX_N = 256, MAX_REFS = MAX_N / 2 };

/* Fields of op->aux. a, b: descriptors; c: predicate scale-d; list: D as results, D as operands,
 * then A's registers. */
enum {
    AUX_N = 0x3f, /* / 8 */
    AUX_A_SHIFT = 6,
    AUX_B_SHIFT = 10,
    AUX_ELEMENT = 0xf,
    AUX_ACC_SHIFT = 14,
    AUX_ACC = 3,
    AUX_A_REGS = 1 << 16,
    AUX_A_MN = 1 << 17,
    AUX_B_MN = 1 << 18,
    AUX_NEGATE = 1 << 19,
    AUX_SATURATE = 1 << 20,
};

/* Operands decoded. */
struct tile {
    struct fragment_a a[WARPS];
    struct fragment_b b[MAX_N / 8];
    uint32_t n, k;
    enum matrix_element a_element, b_element;
    uint32_t sign; /* flips the sign of A's floats */
};

static void put_a(struct tile *t, uint32_t row, uint32_t k, uint32_t value)
{
    fragment_put_a(&t->a[row / 16], row % 16, k, value ^ t->sign);
}

static void put_b(struct tile *t, uint32_t column, uint32_t k, uint32_t value)
{
    fragment_put_b(&t->b[column / 8], column % 8, k, value);
}

typedef void put_fn(struct tile *t, uint32_t row, uint32_t k, uint32_t value);

static bool decode_chunk(struct warp *w, const struct op *op, uint32_t address,
                         enum matrix_element e, uint32_t *to)
{
    const unsigned char *from = access_shared(w, op, 0, address, 16, 16, ACCESS_READ);
    if (from)
        matrix_decode(e, from, 16 / matrix_bytes(e), to);
    return from != NULL;
}

/* Decodes `rows` rows of an operand in shared memory. False: stopped. */
static bool read_shared(struct warp *w, const struct op *op, struct tile *t, uint32_t ref,
                        uint32_t rows, bool mn_major, enum matrix_element e, put_fn *put)
{
    const struct smem_descriptor d = smem_descriptor_decode(((const uint64_t *)vm_row(w, ref))[0]);
    uint32_t per_chunk = 16 / matrix_bytes(e), value[16];
    for (uint32_t row = 0; row < (mn_major ? t->k : rows); row++)
        for (uint32_t chunk = 0; chunk < (mn_major ? rows : t->k) / per_chunk; chunk++) {
            if (!decode_chunk(w, op, smem_descriptor_chunk(&d, mn_major, row, chunk), e, value))
                return false;
            for (uint32_t i = 0; i < per_chunk; i++)
                if (mn_major)
                    put(t, chunk * per_chunk + i, row, value[i]);
                else
                    put(t, row, chunk * per_chunk + i, value[i]);
        }
    return true;
}

/* ---- the four warps ---- */

static unsigned char *row_of(const struct warp *w, const struct group *g, uint32_t ref)
{
    return (ref & 1 ? w->base[1] : g->frame->rows) + (ref & ~UINT32_C(1));
}

static void read_registers(struct tile *t, const struct op *op, uint32_t warp, const struct warp *w,
                           const struct group *g)
{
    const uint32_t *refs = op->list + op->defs + op->uses - 4;
    for (uint32_t r = 0; r < 4; r++)
        fragment_read_a(&t->a[warp], t->a_element, r, (const void *)row_of(w, g, refs[r]), t->sign);
}

static void multiply_warp(const struct tile *t, uint32_t warp, const struct op *op,
                          const struct warp *w, const struct group *g)
{
    const struct fragment_a *a = &t->a[warp];
    bool keep = (g->frame->preds[op->c] & 1) != 0;
    enum accumulator acc = (enum accumulator)(op->aux >> AUX_ACC_SHIFT & AUX_ACC);
    for (uint32_t pair = 0; pair < t->n / 4; pair++) {
        const struct fragment_b *b = &t->b[pair / 2];
        const uint32_t *refs = &op->list[acc == ACC_F16 ? pair : 2 * pair], h = pair % 2;
        uint32_t *even = (void *)row_of(w, g, refs[0]);
        uint32_t *odd = acc == ACC_F16 ? NULL : (void *)row_of(w, g, refs[1]);
        if (!keep)
            memset(even, 0, VM_LANES * sizeof *even);
        if (!keep && odd)
            memset(odd, 0, VM_LANES * sizeof *odd);
        if (acc == ACC_F32)
            fragment_multiply_f32(a, b, t->k, h, even, odd);
        else if (acc == ACC_F16)
            fragment_add_products_f16(a, b, t->k, h, even);
        else
            fragment_add_products_s32(a, b, t->k, h, op->aux & AUX_SATURATE, even, odd);
    }
}

/* ---- the instruction ---- */

static struct group *waiting_at(struct warp *w, const struct op *op)
{
    for (int i = 0; i < w->group_count; i++)
        if (w->groups[i].wait == WAIT_WARPGROUP && w->groups[i].pc == op)
            return &w->groups[i];
    return NULL;
}

/* The groups of the warpgroup at op, the running one among them. False: not all are here. */
static bool warpgroup_here(struct warp *w, const struct op *op, struct group *groups[WARPS])
{
    struct warp *first = w - w->index % WARPS;
    bool all = true;
    for (uint32_t i = 0; i < WARPS; i++) {
        groups[i] = &first[i] == w ? w->group : waiting_at(&first[i], op);
        all &= groups[i] != NULL;
    }
    return all;
}

static void pass_by(struct warp *w, const struct op *op, struct group *g)
{
    g->wait = WAIT_NONE;
    g->pc = op + 1;
    w->worker->tallies[op->id].warps++;
    w->worker->tallies[op->id].threads += VM_LANES;
}

static const struct op *park(struct warp *w, const struct op *op)
{
    w->group->wait = WAIT_WARPGROUP;
    w->group->pc = op;
    w->event = EVENT_BLOCK;
    w->next = op;
    return NULL;
}

static bool read_operands(struct warp *w, const struct op *op, struct tile *t,
                          struct group *const groups[WARPS])
{
    struct warp *first = w - w->index % WARPS;
    if (op->aux & AUX_A_REGS)
        for (uint32_t i = 0; i < WARPS; i++)
            read_registers(t, op, i, &first[i], groups[i]);
    else if (!read_shared(w, op, t, op->a, ROWS, op->aux & AUX_A_MN, t->a_element, put_a))
        return false;
    return read_shared(w, op, t, op->b, t->n, op->aux & AUX_B_MN, t->b_element, put_b);
}

HANDLER(wgmma)
{
    if (!group_meet(w, op, exec, VM_FULL))
        return NULL;
    if (exec != VM_FULL || (w->index | (WARPS - 1)) >= w->cta->warp_count)
        return stop_at(w, op, __builtin_ctz(exec), PTXVM_FAULT, PTXVM_BAD_OPERAND,
                       "wgmma without all 128 threads of the warpgroup");
    struct group *groups[WARPS];
    if (!warpgroup_here(w, op, groups))
        return park(w, op);
    struct tile t;
    t.n = (op->aux & AUX_N) * 8;
    t.a_element = (enum matrix_element)(op->aux >> AUX_A_SHIFT & AUX_ELEMENT);
    t.b_element = (enum matrix_element)(op->aux >> AUX_B_SHIFT & AUX_ELEMENT);
    t.k = 32 / matrix_bytes(t.a_element);
    t.sign = op->aux & AUX_NEGATE ? UINT32_C(1) << 31 : 0;
    if (!read_operands(w, op, &t, groups))
        return NULL;
    struct warp *first = w - w->index % WARPS;
    for (uint32_t i = 0; i < WARPS; i++) {
        multiply_warp(&t, i, op, &first[i], groups[i]);
        if (&first[i] != w)
            pass_by(&first[i], op, groups[i]);
    }
    return op + 1;
}

/* Nothing is in flight behind a wgmma here. */
HANDLER(wgmma_order)
{
    (void)w, (void)exec;
    return op + 1;
}

/* ---- decoding ---- */

struct registers {
    uint32_t d[MAX_REFS], d_count, a[4];
};

static bool decode_types(struct decoder *d, uint32_t *aux)
{
    const struct ptx_form *form = d->form;
    enum matrix_element a, b;
    if (form->type_count != 3 || !matrix_element_of(form->types[1], &a) ||
        !matrix_element_of(form->types[2], &b))
        return decode_error(d, "types do not fit");
    enum ptx_type type = (enum ptx_type)form->types[0];
    enum accumulator acc = type == PTX_TYPE_f32   ? ACC_F32
                           : type == PTX_TYPE_f16 ? ACC_F16
                                                  : ACC_S32;
    bool fits = matrix_bytes(a) == matrix_bytes(b) &&
                matrix_is_integer(a) == matrix_is_integer(b) &&
                matrix_is_integer(a) == (type == PTX_TYPE_s32) &&
                (acc != ACC_F16 || (a != MATRIX_BF16 && a != MATRIX_TF32));
    if (!fits || form->m != ROWS || form->n % 8 || !form->n || form->n > MAX_N ||
        form->k != 32 / matrix_bytes(a))
        return decode_error(d, "shape or types do not fit");
    *aux = form->n / 8u | (uint32_t)a << AUX_A_SHIFT | (uint32_t)b << AUX_B_SHIFT |
           (uint32_t)acc << AUX_ACC_SHIFT;
    *aux |= form_has(d, PTX_WORD_satfinite) ? AUX_SATURATE : 0;
    return true;
}

static bool decode_registers(struct decoder *d, const struct ptx_operand *o, uint32_t want,
                             uint32_t *refs)
{
    uint32_t count = 0;
    const struct ptx_operand *e = decode_elements(d, o, &count);
    if (count != want)
        return decode_error(d, "%u registers where %u are needed", count, want);
    for (uint32_t i = 0; i < count; i++)
        if (!(refs[i] = decode_source(d, &e[i], PTX_TYPE_b32)))
            return false;
    return true;
}

/* imm-scale-a, imm-scale-b, then as many transpositions as there are operands in shared memory. */
static bool decode_modifiers(struct decoder *d, uint32_t *aux, enum matrix_element e)
{
    uint32_t scales = matrix_is_integer(e) ? 0 : 2, at = 4;
    uint32_t turns = matrix_bytes(e) != 2 ? 0 : *aux & AUX_A_REGS ? 1 : 2;
    if (!decode_count_is(d, at + scales + turns))
        return false;
    for (uint32_t i = 0; i < scales + turns; i++, at++) {
        int64_t value;
        if (!decode_immediate(d, &d->operands[at], &value))
            return false;
        if (i < scales ? value != 1 && value != -1 : value != 0 && value != 1)
            return decode_error(d, "operand %u cannot be %lld", at, (long long)value);
        if (i < scales)
            *aux ^= value < 0 ? AUX_NEGATE : 0;
        else if (value)
            *aux |= i - scales + 1 == turns ? AUX_B_MN : AUX_A_MN;
    }
    return true;
}

static bool emit(struct decoder *d, const struct op *fields, const struct registers *r)
{
    struct op *op = decode_emit(d, fields->run);
    if (!op)
        return false;
    op->a = fields->a, op->b = fields->b, op->c = fields->c, op->aux = fields->aux;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < r->d_count; i++)
            if (!decode_list(d, r->d[i], pass == 0))
                return false;
    for (uint32_t i = 0; i < 4 && fields->aux & AUX_A_REGS; i++)
        if (!decode_list(d, r->a[i], false))
            return false;
    return true;
}

static bool decode_wgmma(struct decoder *d, const struct row *row)
{
    struct op fields = {.run = row->run};
    struct registers r;
    if (d->instr->operand_count < 4 || !decode_types(d, &fields.aux))
        return decode_error(d, "operands do not fit");
    uint32_t acc = fields.aux >> AUX_ACC_SHIFT & AUX_ACC;
    enum matrix_element e = (enum matrix_element)(fields.aux >> AUX_A_SHIFT & AUX_ELEMENT);
    r.d_count = d->form->n / (acc == ACC_F16 ? 4 : 2);
    if (!decode_registers(d, &d->operands[0], r.d_count, r.d))
        return false;
    for (uint32_t i = 0; i < r.d_count; i++)
        if (REF_TAG(r.d[i]) != 1)
            return decode_error(d, "result is no register");
    if (d->operands[1].kind == PTX_OPERAND_VECTOR) {
        fields.aux |= AUX_A_REGS;
        if (!decode_registers(d, &d->operands[1], 4, r.a))
            return false;
    } else if (!(fields.a = decode_source(d, &d->operands[1], PTX_TYPE_b64))) {
        return false;
    }
    fields.b = decode_source(d, &d->operands[2], PTX_TYPE_b64);
    fields.c = fields.b ? decode_pred(d, &d->operands[3]) : REF_NONE;
    return fields.c && decode_modifiers(d, &fields.aux, e) && emit(d, &fields, &r);
}

const struct row ROWS_NAME(wgmma)[] = {
    {"wgmma.mma_async.sync.aligned", NULL, wgmma, decode_wgmma, 0},
    {"wgmma.fence.sync.aligned", ":", wgmma_order, NULL, 0},
    {"wgmma.commit_group.sync.aligned", ":", wgmma_order, NULL, 0},
    {"wgmma.wait_group.sync.aligned", ":i", wgmma_order, NULL, 0},
    ROWS_END,
};
