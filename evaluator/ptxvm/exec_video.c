/* SPDX-License-Identifier: Apache-2.0
 * Video instructions: arithmetic on a byte, a half or a whole word that is picked out of each
 * operand (vadd, vshl, vmad, vset …), and on two or four of them at once (vadd2, vabsdiff4 …). Of
 * no arithmetic here does an intermediate result need more than 66 bits. */
#include "evaluator/ptxvm/lanes.h"

#include <string.h>

__extension__ typedef __int128 wide;

enum action {
    DO_ADD,
    DO_SUB,
    DO_ABSDIFF,
    DO_MIN,
    DO_MAX,
    DO_AVERAGE,
    DO_SHL,
    DO_SHR,
    DO_SET,
    DO_MAD
};
enum second { SECOND_NONE, SECOND_ADD, SECOND_MIN, SECOND_MAX };

/* In op->imm; the selectors in the list of the op: of d, a, b. */
struct video {
    uint8_t action, second;
    uint8_t parts; /* 1; SIMD: 2 or 4 */
    uint8_t compare;
    uint8_t shift; /* vmad: right by 0, 7, 15 */
    uint8_t flags;
};

enum {
    D_SIGNED = 1,
    A_SIGNED = 2,
    B_SIGNED = 4,
    SATURATE = 8,
    WRAP = 16,     /* else clamp the shift count */
    PLUS_ONE = 32, /* .po */
    NEGATE_PRODUCT = 64,
    NEGATE_C = 128,
};

/* ---- parts of a word ---- */

static int64_t extend(uint32_t bits, uint32_t width, bool is_signed)
{
    uint64_t value = width == 32 ? bits : bits & ((UINT32_C(1) << width) - 1);
    uint64_t sign = UINT64_C(1) << (width - 1);
    return is_signed ? (int64_t)(value ^ sign) - (int64_t)sign : (int64_t)value;
}

/* Part `i` of the selector, from words side by side. */
static int64_t pick(uint64_t words, uint32_t selector, uint32_t i, bool is_signed)
{
    uint32_t width = ptx_selector_halves(selector) ? 16 : 8;
    if (!selector)
        return extend((uint32_t)words, 32, is_signed);
    return extend((uint32_t)(words >> width * ptx_selector_digit(selector, i)), width, is_signed);
}

static wide clamp(wide v, uint32_t width, bool is_signed)
{
    wide one = 1, max = is_signed ? (one << (width - 1)) - 1 : (one << width) - 1;
    wide min = is_signed ? -(one << (width - 1)) : 0;
    return v < min ? min : v > max ? max : v;
}

static bool compares(uint32_t word, int64_t a, int64_t b)
{
    switch (word) {
    case PTX_WORD_eq:
        return a == b;
    case PTX_WORD_ne:
        return a != b;
    case PTX_WORD_lt:
        return a < b;
    case PTX_WORD_le:
        return a <= b;
    case PTX_WORD_gt:
        return a > b;
    default:
        return a >= b;
    }
}

static uint32_t shift_count(const struct video *v, int64_t b)
{
    uint32_t n = (uint32_t)b;
    return v->flags & WRAP ? n & 31 : n > 32 ? 32 : n;
}

static wide act(const struct video *v, int64_t a, int64_t b)
{
    wide one = 1;
    switch (v->action) {
    case DO_ADD:
        return (wide)a + b;
    case DO_SUB:
        return (wide)a - b;
    case DO_ABSDIFF:
        return a > b ? (wide)a - b : (wide)b - a;
    case DO_MIN:
        return a < b ? a : b;
    case DO_MAX:
        return a > b ? a : b;
    case DO_AVERAGE:
        return (a + b + (a + b >= 0)) >> 1;
    case DO_SHL:
        return a * (one << shift_count(v, b));
    case DO_SHR:
        return a >> shift_count(v, b);
    default:
        return compares(v->compare + PTX_WORD_eq - 1u, a, b);
    }
}

/* ---- one lane ---- */

static uint32_t scalar(const struct video *v, const uint32_t *selectors, uint32_t a, uint32_t b,
                       uint32_t c)
{
    bool is_signed = v->flags & D_SIGNED;
    uint32_t to = selectors[0], width = !to ? 32 : ptx_selector_halves(to) ? 16 : 8;
    wide t = act(v, pick(a, selectors[1], 0, v->flags & A_SIGNED),
                 pick(b, selectors[2], 0, v->flags & B_SIGNED));
    if (v->flags & SATURATE)
        t = clamp(t, width, is_signed);
    uint32_t r = (uint32_t)t;
    if (to) {
        uint32_t at = width * ptx_selector_digit(to, 0), mask = (UINT32_C(1) << width) - 1;
        return (c & ~(mask << at)) | (r & mask) << at;
    }
    bool less = is_signed ? (int32_t)r < (int32_t)c : r < c;
    return v->second == SECOND_ADD   ? r + c
           : v->second == SECOND_MIN ? (less ? r : c)
           : v->second == SECOND_MAX ? (less ? c : r)
                                     : r;
}

static uint32_t simd(const struct video *v, const uint32_t *selectors, uint32_t a, uint32_t b,
                     uint32_t c)
{
    uint64_t both = a | (uint64_t)b << 32;
    uint32_t width = 32 / v->parts, mask = (UINT32_C(1) << width) - 1, written = 0;
    uint32_t r = v->second == SECOND_ADD ? c : 0;
    for (uint32_t i = 0; i < ptx_selector_count(selectors[0]); i++)
        written |= 1u << ptx_selector_digit(selectors[0], i);
    for (uint32_t i = 0; i < v->parts; i++) {
        wide t = act(v, pick(both, selectors[1], i, v->flags & A_SIGNED),
                     pick(both, selectors[2], i, v->flags & B_SIGNED));
        if (v->flags & SATURATE)
            t = clamp(t, width, v->flags & D_SIGNED);
        if (v->second == SECOND_ADD)
            r += written >> i & 1 ? (uint32_t)t : 0;
        else
            r |= (written >> i & 1 ? (uint32_t)t & mask : c >> width * i & mask) << width * i;
    }
    return r;
}

static uint32_t multiply_add(const struct video *v, const uint32_t *selectors, uint32_t a,
                             uint32_t b, uint32_t c)
{
    bool is_signed = v->flags & (A_SIGNED | B_SIGNED | NEGATE_PRODUCT | NEGATE_C);
    wide t = (wide)pick(a, selectors[1], 0, v->flags & A_SIGNED) *
             pick(b, selectors[2], 0, v->flags & B_SIGNED);
    bool more = v->flags & PLUS_ONE;
    if (!more && v->flags & NEGATE_PRODUCT)
        t = ~t, more = true;
    else if (!more && v->flags & NEGATE_C)
        c = ~c, more = true;
    t = (t + extend(c, 32, is_signed) + more) >> v->shift;
    return (uint32_t)(v->flags & SATURATE ? clamp(t, 32, is_signed) : t);
}

HANDLER(video)
{
    struct video v;
    memcpy(&v, &op->imm, sizeof v);
    uint32_t *d = vm_row(w, op->d);
    const uint32_t *a = vm_row(w, op->a), *b = vm_row(w, op->b), *c = vm_row(w, op->c);
    uint32_t (*lane)(const struct video *, const uint32_t *, uint32_t, uint32_t, uint32_t) =
        v.action == DO_MAD ? multiply_add
        : v.parts > 1      ? simd
                           : scalar;
    EACH_LANE if (ACTIVE(exec, i)) d[i] = lane(&v, op->list, a[i], b[i], c[i]);
    return op + 1;
}

/* ---- decoding ---- */

static uint8_t compare_of(const struct decoder *d)
{
    for (int word = PTX_WORD_eq; word <= PTX_WORD_ge; word++)
        if (form_has(d, (enum ptx_word)word))
            return (uint8_t)(word - PTX_WORD_eq + 1);
    return 0;
}

static bool is_signed_type(const struct decoder *d, uint32_t i)
{
    return i < d->form->type_count && d->form->types[i] == PTX_TYPE_s32;
}

/* .add after the types; vadd has that word in front of no dot. */
static enum second second_of(const struct decoder *d)
{
    return form_has(d, PTX_WORD_add)   ? SECOND_ADD
           : form_has(d, PTX_WORD_min) ? SECOND_MIN
           : form_has(d, PTX_WORD_max) ? SECOND_MAX
                                       : SECOND_NONE;
}

static struct video video_of(const struct decoder *d, const struct row *row)
{
    struct video v = {.action = (uint8_t)(row->aux & 0xff), .parts = (uint8_t)(row->aux >> 8)};
    uint32_t first = v.action == DO_SET ? 0 : 1; /* vset has no type of its result in front */
    v.second = (uint8_t)second_of(d);
    v.compare = v.action == DO_SET ? compare_of(d) : 0;
    v.shift = form_has(d, PTX_WORD_shr7) ? 7 : form_has(d, PTX_WORD_shr15) ? 15 : 0;
    v.flags = (uint8_t)((first && is_signed_type(d, 0) ? D_SIGNED : 0) |
                        (is_signed_type(d, first) ? A_SIGNED : 0) |
                        (is_signed_type(d, first + 1) ? B_SIGNED : 0) |
                        (form_has(d, PTX_WORD_sat) ? SATURATE : 0) |
                        (form_has(d, PTX_WORD_wrap) ? WRAP : 0) |
                        (form_has(d, PTX_WORD_po) ? PLUS_ONE : 0));
    return v;
}

/* A register with its selector; `negated` tells of a sign in front. */
static uint32_t video_source(struct decoder *d, const struct ptx_operand *o, uint32_t *selector,
                             bool *negated)
{
    struct ptx_operand plain = *o;
    *selector = o->kind == PTX_OPERAND_REG ? (uint32_t)o->value : 0;
    *negated = o->kind == PTX_OPERAND_REG && o->negated;
    if (o->kind == PTX_OPERAND_REG)
        plain.negated = 0, plain.value = 0;
    return decode_source(d, &plain, PTX_TYPE_b32);
}

/* What a selector may be: one part of a register, or one for each of a SIMD instruction's; of the
 * result any part at most once. */
static bool selector_fits(uint32_t selector, const struct video *v, bool result)
{
    uint32_t n = ptx_selector_count(selector), digits = 0;
    uint32_t own = v->parts > 1 ? v->parts : ptx_selector_halves(selector) ? 2 : 4;
    if (!selector)
        return true;
    if (v->parts > 1 && ptx_selector_halves(selector) != (v->parts == 2))
        return false;
    if (v->parts == 1 ? n != 1 : !result && n != v->parts)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t digit = ptx_selector_digit(selector, i);
        if (digit >= own * (v->parts > 1 && !result ? 2 : 1) || (result && digits >> digit & 1))
            return false;
        digits |= 1u << digit;
    }
    return true;
}

static void default_selectors(const struct video *v, uint32_t selectors[3])
{
    static const uint32_t low[2] = {0x10, 0x3210}, high[2] = {0x32, 0x7654};
    int four = v->parts == 4;
    for (int i = 0; i < 3 && v->parts > 1; i++)
        if (!selectors[i])
            selectors[i] = ptx_selector_make(!four, v->parts, i == 2 ? high[four] : low[four]);
}

static bool decode_video(struct decoder *d, const struct row *row)
{
    struct video v = video_of(d, row);
    uint32_t n = d->instr->operand_count, selectors[3] = {0}, none = 0;
    bool negative[3] = {false};
    if (n < 3 || n > 4 || (v.action == DO_SET && !v.compare))
        return decode_error(d, "operands do not fit");
    uint32_t a = video_source(d, &d->operands[1], &selectors[1], &negative[0]);
    uint32_t b = a ? video_source(d, &d->operands[2], &selectors[2], &negative[1]) : REF_NONE;
    uint32_t c = !b       ? REF_NONE
                 : n == 4 ? video_source(d, &d->operands[3], &none, &negative[2])
                          : decode_constant(d, 0, 0, WIDTH_32);
    struct ptx_operand result = d->operands[0];
    if (result.kind == PTX_OPERAND_REG)
        selectors[0] = (uint32_t)result.value, result.value = 0;
    uint32_t to = c ? decode_result(d, &result, PTX_TYPE_b32) : REF_NONE;
    for (int i = 0; i < 3; i++)
        if (to && !selector_fits(selectors[i], &v, i == 0))
            return decode_error(d, "selector does not fit");
    if (!to || (v.action != DO_MAD && (negative[0] || negative[1] || negative[2])) || none)
        return decode_error(d, "operands do not fit");
    v.flags |=
        (uint8_t)((negative[0] != negative[1] ? NEGATE_PRODUCT : 0) | (negative[2] ? NEGATE_C : 0));
    default_selectors(&v, selectors);
    struct op *op = decode_emit(d, row->run);
    if (!op)
        return false;
    op->d = to, op->a = a, op->b = b, op->c = c;
    memcpy(&op->imm, &v, sizeof v);
    return decode_list(d, REF_FIXED(selectors[0]), false) &&
           decode_list(d, REF_FIXED(selectors[1]), false) &&
           decode_list(d, REF_FIXED(selectors[2]), false);
}

#define SCALAR(name, action)                                                                       \
    {                                                                                              \
        name, NULL, video, decode_video, (action) | 1 << 8                                         \
    }
#define SIMD(name, action)                                                                         \
    {name "2", NULL, video, decode_video, (action) | 2 << 8},                                      \
    {                                                                                              \
        name "4", NULL, video, decode_video, (action) | 4 << 8                                     \
    }

const struct row rows_video[] = {
    SCALAR("vadd", DO_ADD),
    SCALAR("vsub", DO_SUB),
    SCALAR("vabsdiff", DO_ABSDIFF),
    SCALAR("vmin", DO_MIN),
    SCALAR("vmax", DO_MAX),
    SCALAR("vshl", DO_SHL),
    SCALAR("vshr", DO_SHR),
    SCALAR("vset", DO_SET),
    SCALAR("vmad", DO_MAD),
    SIMD("vadd", DO_ADD),
    SIMD("vsub", DO_SUB),
    SIMD("vabsdiff", DO_ABSDIFF),
    SIMD("vmin", DO_MIN),
    SIMD("vmax", DO_MAX),
    SIMD("vavrg", DO_AVERAGE),
    SIMD("vset", DO_SET),
    ROWS_END,
};
