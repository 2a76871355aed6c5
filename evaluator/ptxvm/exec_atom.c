/* SPDX-License-Identifier: Apache-2.0
 * atom and red on global and shared memory. Lanes go one after the other; each is one atomic of the
 * host, acquire and release whatever the form asks for, so that CTAs on other threads see it. */
#include "evaluator/ptxvm/address.h"

#include <string.h>

#include "evaluator/ptxvm/floats.h"

enum action { DO_ADD, DO_MIN, DO_MAX, DO_INC, DO_DEC, DO_AND, DO_OR, DO_XOR, DO_EXCH, DO_CAS };

/* aux, above the flags of address.h */
enum { AUX_TYPE = 16, AUX_ACTION = 24 };

/* ---- one operation on values ---- */

static uint32_t half_step(enum action what, uint32_t x, uint32_t y, const struct float_format *f)
{
    double a = float_widen(x & 0xffff, f), b = float_widen(y & 0xffff, f);
    if (what == DO_ADD)
        return float_narrow(float_add_odd(a, b), f, ROUND_NEAREST, false);
    if (a != a || b != b)
        return a != a && b != b ? f->nan : a != a ? y & 0xffff : x & 0xffff;
    bool first = a == b ? (what == DO_MIN) == (x >> 15 & 1) : (a < b) == (what == DO_MIN);
    return (first ? x : y) & 0xffff;
}

static uint32_t pair_step(enum action what, uint32_t x, uint32_t y, const struct float_format *f)
{
    return half_step(what, x, y, f) | half_step(what, x >> 16, y >> 16, f) << 16;
}

static uint64_t float_step(enum ptx_type type, uint64_t x, uint64_t y, bool flush)
{
    if (type == PTX_TYPE_f64)
        return f64_bits(f64_from(x) + f64_from(y));
    float a = f32_from((uint32_t)x), b = f32_from((uint32_t)y);
    float sum = f32_canonical(flush ? f32_flush(f32_flush(a) + f32_flush(b)) : a + b);
    return f32_bits(sum);
}

static bool is_less(enum ptx_type type, uint64_t x, uint64_t y)
{
    switch (type) {
    case PTX_TYPE_s32:
        return (int32_t)x < (int32_t)y;
    case PTX_TYPE_s64:
        return (int64_t)x < (int64_t)y;
    default:
        return x < y;
    }
}

/* New value of memory that holds x. y, z: operands (cas: compare y, then z). */
static uint64_t step(uint32_t aux, uint64_t x, uint64_t y, uint64_t z, bool flush)
{
    enum ptx_type type = (enum ptx_type)(aux >> AUX_TYPE & 0xff);
    enum action what = (enum action)(aux >> AUX_ACTION);
    switch (what) {
    case DO_EXCH:
        return y;
    case DO_CAS:
        return x == y ? z : x;
    case DO_AND:
        return x & y;
    case DO_OR:
        return x | y;
    case DO_XOR:
        return x ^ y;
    case DO_INC:
        return x >= y ? 0 : x + 1;
    case DO_DEC:
        return x == 0 || x > y ? y : x - 1;
    default:
        break;
    }
    switch (type) {
    case PTX_TYPE_f16:
        return half_step(what, (uint32_t)x, (uint32_t)y, &format_f16);
    case PTX_TYPE_bf16:
        return half_step(what, (uint32_t)x, (uint32_t)y, &format_bf16);
    case PTX_TYPE_f16x2:
        return pair_step(what, (uint32_t)x, (uint32_t)y, &format_f16);
    case PTX_TYPE_bf16x2:
        return pair_step(what, (uint32_t)x, (uint32_t)y, &format_bf16);
    case PTX_TYPE_f32:
    case PTX_TYPE_f64:
        return float_step(type, x, y, flush);
    default:
        break;
    }
    return what == DO_ADD ? x + y : is_less(type, x, y) == (what == DO_MIN) ? x : y;
}

/* ---- one lane ---- */

#define EXCHANGE(T)                                                                                \
    {                                                                                              \
        T *at = (T *)(void *)p;                                                                    \
        T old = __atomic_load_n(at, __ATOMIC_RELAXED);                                             \
        while (!__atomic_compare_exchange_n(at, &old, (T)step(aux, old, y, z, flush), true,        \
                                            __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))                   \
            ;                                                                                      \
        return old;                                                                                \
    }

static uint64_t update(unsigned char *p, uint32_t bytes, uint32_t aux, uint64_t y, uint64_t z,
                       bool flush)
{
    switch (bytes) {
    case 2:
        EXCHANGE(uint16_t)
    case 4:
        EXCHANGE(uint32_t)
    default:
        EXCHANGE(uint64_t)
    }
}

static uint64_t row_value(const struct warp *w, uint32_t ref, uint32_t bytes, int lane)
{
    if (bytes == 8)
        return ((const uint64_t *)vm_row(w, ref))[lane];
    uint32_t v = ((const uint32_t *)vm_row(w, ref))[lane];
    return bytes == 2 ? v & 0xffff : v;
}

/* 16 bytes: exch and cas, one at a time in the whole device. */
static void update_wide(struct warp *w, const struct op *op, int lane, unsigned char *p)
{
    const unsigned char *y = (unsigned char *)vm_row(w, op->list[op->defs]) + 16 * lane;
    bool cas = op->aux >> AUX_ACTION == DO_CAS;
    unsigned char old[16], fresh[16];
    memcpy(fresh, cas ? (unsigned char *)vm_row(w, op->list[op->defs + 1]) + 16 * lane : y, 16);
    pthread_mutex_lock(&w->cta->run->vm->wide);
    memcpy(old, p, 16);
    if (!cas || memcmp(old, y, 16) == 0)
        memcpy(p, fresh, 16);
    pthread_mutex_unlock(&w->cta->run->vm->wide);
    if (op->defs)
        memcpy((unsigned char *)vm_row(w, op->list[0]) + 16 * lane, old, 16);
}

/* list: results (none for red), then operands element by element, then the second of cas. */
static void update_lane(struct warp *w, const struct op *op, int lane, unsigned char *p,
                        bool is_global)
{
    uint32_t bytes = op->aux & AUX_BYTES;
    bool cas = op->aux >> AUX_ACTION == DO_CAS;
    if (bytes == 16) {
        update_wide(w, op, lane, p);
        return;
    }
    uint32_t count = cas ? 1 : op->uses;
    uint64_t old[8];
    for (uint32_t k = 0; k < count; k++) {
        uint64_t y = row_value(w, op->list[op->defs + k], bytes, lane);
        uint64_t z = cas ? row_value(w, op->list[op->defs + 1], bytes, lane) : 0;
        old[k] = update(p + k * bytes, bytes, op->aux, y, z, is_global);
    }
    for (uint32_t k = 0; k < op->defs; k++) {
        if (bytes == 8)
            ((uint64_t *)vm_row(w, op->list[k]))[lane] = old[k];
        else
            ((uint32_t *)vm_row(w, op->list[k]))[lane] = (uint32_t)old[k];
    }
}

HANDLER(atomic)
{
    uint64_t at[VM_LANES];
    uint32_t bytes = op->aux & AUX_BYTES;
    bool cas = op->aux >> AUX_ACTION == DO_CAS;
    uint32_t all = bytes * (cas ? 1 : op->uses);
    address_rows(w, op, at);
    EACH_LANE
    {
        if (!ACTIVE(exec, i))
            continue;
        uint64_t address = at[i];
        bool in_window = op->c == PTX_SPACE_NONE &&
                         address >> VM_WINDOW_BITS == VM_SHARED_WINDOW >> VM_WINDOW_BITS;
        bool shared = op->c == PTX_SPACE_SHARED || in_window;
        if (in_window)
            address &= (UINT64_C(1) << VM_WINDOW_BITS) - 1;
        unsigned char *p = shared ? access_shared(w, op, i, address, all, all, ACCESS_WRITE)
                                  : access_global(w, op, i, address, all, all, ACCESS_WRITE);
        if (!p)
            return NULL;
        update_lane(w, op, i, p, !shared);
    }
    return op + 1;
}

/* ---- decoding ---- */

static const struct {
    enum ptx_word word;
    enum action action;
} actions[] = {
    {PTX_WORD_add, DO_ADD}, {PTX_WORD_min, DO_MIN}, {PTX_WORD_max, DO_MAX},
    {PTX_WORD_inc, DO_INC}, {PTX_WORD_dec, DO_DEC}, {PTX_WORD_and, DO_AND},
    {PTX_WORD_or, DO_OR},   {PTX_WORD_xor, DO_XOR}, {PTX_WORD_exch, DO_EXCH},
    {PTX_WORD_cas, DO_CAS},
};

/* Which types an action takes. */
static bool is_allowed(enum action what, enum ptx_type type)
{
    char class = ptx_type_class(type);
    unsigned bits = ptx_type_bits(type);
    switch (what) {
    case DO_CAS:
        return bits >= 16 && class != 'p' && class != 'f';
    case DO_EXCH:
    case DO_AND:
    case DO_OR:
    case DO_XOR:
        return bits >= 32 && class != 'f' && (bits <= 64 || what == DO_EXCH);
    case DO_INC:
    case DO_DEC:
        return type == PTX_TYPE_u32;
    case DO_MIN:
    case DO_MAX:
        return class == 'f' ? type != PTX_TYPE_f64 && type != PTX_TYPE_f32 && bits >= 16
                            : (class == 'u' || class == 's') && bits >= 32;
    default:
        return class == 'f' ? bits >= 16 : (class == 'u' || class == 's') && bits >= 32;
    }
}

static bool find_action(struct decoder *d, enum ptx_type type, uint32_t *aux)
{
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++)
        if (form_has(d, actions[i].word)) {
            *aux = ptx_type_bits(type) / 8 | (uint32_t)type << AUX_TYPE |
                   (uint32_t)actions[i].action << AUX_ACTION;
            return is_allowed(actions[i].action, type) && type != PTX_TYPE_tf32 &&
                           type != PTX_TYPE_f32x2
                       ? true
                       : decode_error(d, "not for this type");
        }
    return decode_error(d, "there is no such operation");
}

static bool decode_operands(struct decoder *d, const struct ptx_operand *o, enum ptx_type type,
                            bool result, uint32_t *refs, uint32_t *count)
{
    if (result && o->kind == PTX_OPERAND_SINK) {
        *count = 0;
        return true;
    }
    const struct ptx_operand *e = decode_elements(d, o, count);
    if (*count < 1 || *count > 8 || (*count & (*count - 1)))
        return decode_error(d, "vector of %u elements", *count);
    for (uint32_t k = 0; k < *count; k++)
        if (!(refs[k] = result ? decode_result(d, &e[k], type) : decode_source(d, &e[k], type)))
            return false;
    return true;
}

static bool decode_atomic(struct decoder *d, const struct row *row)
{
    uint32_t at = row->aux, n = d->instr->operand_count; /* operand of the address */
    enum ptx_type type = (enum ptx_type)d->form->types[0];
    uint32_t aux = 0, results[8], values[8], compare = 0, result_count = 0, count;
    struct place place;
    if (d->form->type_count != 1 || n < at + 2 || !find_action(d, type, &aux))
        return decode_error(d, "operands do not fit");
    bool cas = aux >> AUX_ACTION == DO_CAS;
    if (n < at + 2 + cas || !decode_place(d, &d->operands[at], &place) ||
        !decode_operands(d, &d->operands[at + 1], type, false, values, &count) ||
        (cas && !(compare = decode_source(d, &d->operands[at + 2], type))) ||
        (at && !decode_operands(d, &d->operands[0], type, true, results, &result_count)))
        return decode_error(d, "operands do not fit");
    if ((result_count && result_count != count) || (count > 1 && cas) || place.frame_relative ||
        ptx_type_bits(type) / 8 * count > 32)
        return decode_error(d, "operands do not fit");
    bool shared = form_has(d, PTX_WORD_shared) || form_has(d, PTX_WORD_shared__cta) ||
                  form_has(d, PTX_WORD_shared__cluster);
    if (place.space != PTX_SPACE_NONE && shared != (place.space == PTX_SPACE_SHARED))
        return decode_space_error(d);
    struct op *op = decode_emit(d, row->run);
    if (!op)
        return false;
    op->aux = aux;
    address_set(op, &place);
    op->c = REF_FIXED(shared                         ? PTX_SPACE_SHARED
                      : form_has(d, PTX_WORD_global) ? PTX_SPACE_GLOBAL
                                                     : PTX_SPACE_NONE);
    for (uint32_t k = 0; k < result_count; k++)
        if (!decode_list(d, results[k], true))
            return false;
    for (uint32_t k = 0; k < count; k++)
        if (!decode_list(d, values[k], false))
            return false;
    return !cas || decode_list(d, compare, false);
}

const struct row rows_atom[] = {
    {"atom", NULL, atomic, decode_atomic, 1},
    {"red", NULL, atomic, decode_atomic, 0},
    ROWS_END,
};
