/* SPDX-License-Identifier: Apache-2.0
 * Exchanges between lanes of a warp: shfl, vote, match, redux, activemask, elect. Those with a
 * member mask wait until its live lanes are all here. */
#include "evaluator/ptxvm/apart.h"
#include "evaluator/ptxvm/lanes.h"

#include <string.h>

#define ROW_IN(ref)                                                                                \
    {                                                                                              \
        ref, WIDTH_32, false                                                                       \
    }
#define ROW_OUT(ref)                                                                               \
    {                                                                                              \
        ref, WIDTH_32, true                                                                        \
    }
#define PRED_OUT(ref)                                                                              \
    {                                                                                              \
        ref, WIDTH_PRED, true                                                                      \
    }

/* What one of them does for the lanes of one member mask, which are `exec`; behind its name, what it
 * reads and writes. */
#define TOGETHER(name, ...)                                                                        \
    static void name##_lanes(struct warp *w, const struct op *op, uint32_t exec);                  \
    static void name##_apart(struct warp *w, const struct op *op, uint32_t exec)                   \
    {                                                                                              \
        const struct apart_part parts[] = {__VA_ARGS__};                                           \
        apart_run(w, op, exec, name##_lanes, parts, sizeof parts / sizeof parts[0]);               \
    }                                                                                              \
    HANDLER(name)                                                                                  \
    {                                                                                              \
        return group_together(w, op, exec, op->c, name##_apart);                                   \
    }                                                                                              \
    static void name##_lanes(struct warp *w, const struct op *op, uint32_t exec)

/* ---- shfl: a value, b lane or delta, list[0] clamp and segment mask, c members ---- */

enum { SHFL_UP, SHFL_DOWN, SHFL_BFLY, SHFL_IDX };

/* Source lane, or -1 if it is out of the segment (then the lane keeps its own value). */
static int shfl_source(int lane, uint32_t mode, uint32_t b, uint32_t c)
{
    int32_t segment = (int32_t)(c >> 8 & 31), clamp = (int32_t)(c & 31), n = (int32_t)(b & 31);
    int32_t max = (lane & segment) | (clamp & ~segment), min = lane & segment, j;
    switch (mode) {
    case SHFL_UP:
        j = lane - n;
        return j >= max ? j : -1;
    case SHFL_DOWN:
        j = lane + n;
        return j <= max ? j : -1;
    case SHFL_BFLY:
        j = lane ^ n;
        return j <= max ? j : -1;
    default:
        j = min | (n & ~segment);
        return j <= max ? j : -1;
    }
}

TOGETHER(shfl, ROW_OUT(op->d), PRED_OUT(op->e), ROW_IN(op->a), ROW_IN(op->b), ROW_IN(op->list[0]))
{
    uint32_t from[VM_LANES], *d = vm_row(w, op->d), inside = 0;
    const uint32_t *b = vm_row(w, op->b), *c = vm_row(w, op->list[0]);
    memcpy(from, vm_row(w, op->a), sizeof from);
    EACH_LANE
    {
        if (!ACTIVE(exec, i))
            continue;
        int j = shfl_source(i, op->aux, b[i], c[i]);
        d[i] = from[j >= 0 ? j : i];
        inside |= j >= 0 ? lane_bit[i] : 0;
    }
    if (op->e)
        vm_set_pred(w, op->e, exec, inside);
}

static bool decode_shfl(struct decoder *d, const struct row *row)
{
    bool sync = form_has(d, PTX_WORD_sync);
    uint32_t count;
    if (!decode_count_is(d, sync ? 5 : 4))
        return false;
    const struct ptx_operand *results = decode_elements(d, &d->operands[0], &count);
    uint32_t a = decode_source(d, &d->operands[1], PTX_TYPE_b32);
    uint32_t b = a ? decode_source(d, &d->operands[2], PTX_TYPE_b32) : REF_NONE;
    uint32_t c = b ? decode_source(d, &d->operands[3], PTX_TYPE_b32) : REF_NONE;
    uint32_t members = !c     ? REF_NONE
                       : sync ? decode_source(d, &d->operands[4], PTX_TYPE_b32)
                              : decode_constant(d, 0, 0, WIDTH_32);
    uint32_t value = members ? decode_result(d, &results[0], PTX_TYPE_b32) : REF_NONE;
    uint32_t inside = value && count == 2 ? decode_pred_result(d, &results[1]) : REF_NONE;
    if (!value || count > 2 || (count == 2 && !inside))
        return decode_error(d, "operands do not fit");
    struct op *op = decode_emit(d, row->run);
    if (!op)
        return false;
    op->d = value, op->e = inside, op->a = a, op->b = b, op->c = members;
    op->aux = form_has(d, PTX_WORD_up)     ? SHFL_UP
              : form_has(d, PTX_WORD_down) ? SHFL_DOWN
              : form_has(d, PTX_WORD_bfly) ? SHFL_BFLY
                                           : SHFL_IDX;
    return decode_list(d, c, false);
}

/* ---- vote: a predicate, c members ---- */

enum { VOTE_ALL, VOTE_ANY, VOTE_UNI, VOTE_BALLOT };

TOGETHER(vote, {op->d, op->aux == VOTE_BALLOT ? WIDTH_32 : WIDTH_PRED, true},
         {op->a, WIDTH_PRED, false})
{
    uint32_t yes = w->preds[op->a] & exec;
    if (op->aux == VOTE_BALLOT) {
        uint32_t *d = vm_row(w, op->d);
        EACH_LANE if (ACTIVE(exec, i)) d[i] = yes;
        return;
    }
    bool result = op->aux == VOTE_ALL   ? yes == exec
                  : op->aux == VOTE_ANY ? yes != 0
                                        : yes == 0 || yes == exec;
    vm_set_pred(w, op->d, exec, result ? VM_FULL : 0);
}

static bool decode_vote(struct decoder *d, const struct row *row)
{
    bool sync = form_has(d, PTX_WORD_sync), ballot = form_has(d, PTX_WORD_ballot);
    uint32_t a = decode_count_is(d, sync ? 3 : 2) ? decode_pred(d, &d->operands[1]) : REF_NONE;
    uint32_t members = !a     ? REF_NONE
                       : sync ? decode_source(d, &d->operands[2], PTX_TYPE_b32)
                              : decode_constant(d, 0, 0, WIDTH_32);
    uint32_t result = !members ? REF_NONE
                      : ballot ? decode_result(d, &d->operands[0], PTX_TYPE_b32)
                               : decode_pred_result(d, &d->operands[0]);
    struct op *op = result ? decode_emit(d, row->run) : NULL;
    if (!op)
        return false;
    op->d = result, op->a = a, op->c = members;
    op->aux = ballot                      ? VOTE_BALLOT
              : form_has(d, PTX_WORD_all) ? VOTE_ALL
              : form_has(d, PTX_WORD_any) ? VOTE_ANY
                                          : VOTE_UNI;
    return true;
}

/* ---- match: a value, c members; aux: width; e: predicate of match.all ---- */

static uint64_t value_at(const struct warp *w, uint32_t ref, uint32_t width, int lane)
{
    return width == WIDTH_64 ? ((const uint64_t *)vm_row(w, ref))[lane]
                             : ((const uint32_t *)vm_row(w, ref))[lane];
}

static uint32_t same_as(const struct warp *w, const struct op *op, uint32_t exec, int lane)
{
    uint32_t same = 0;
    uint64_t value = value_at(w, op->a, op->aux, lane);
    EACH_LANE same |= value_at(w, op->a, op->aux, i) == value ? lane_bit[i] : 0;
    return same & exec;
}

TOGETHER(match_any, ROW_OUT(op->d), {op->a, (enum width)op->aux, false})
{
    uint32_t result[VM_LANES], *d = vm_row(w, op->d);
    EACH_LANE result[i] = same_as(w, op, exec, i);
    EACH_LANE if (ACTIVE(exec, i)) d[i] = result[i];
}

TOGETHER(match_all, ROW_OUT(op->d), PRED_OUT(op->e), {op->a, (enum width)op->aux, false})
{
    bool all = same_as(w, op, exec, __builtin_ctz(exec)) == exec;
    uint32_t *d = vm_row(w, op->d);
    EACH_LANE if (ACTIVE(exec, i)) d[i] = all ? exec : 0;
    if (op->e)
        vm_set_pred(w, op->e, exec, all ? VM_FULL : 0);
}

static bool decode_match(struct decoder *d, const struct row *row)
{
    enum ptx_type type = (enum ptx_type)d->form->types[0];
    uint32_t count;
    if (!decode_count_is(d, 3) || d->form->type_count != 1 || ptx_type_bits(type) > 64)
        return decode_error(d, "operands do not fit");
    const struct ptx_operand *results = decode_elements(d, &d->operands[0], &count);
    uint32_t a = decode_source(d, &d->operands[1], type);
    uint32_t members = a ? decode_source(d, &d->operands[2], PTX_TYPE_b32) : REF_NONE;
    uint32_t mask = members && count ? decode_result(d, &results[0], PTX_TYPE_b32) : REF_NONE;
    uint32_t pred = mask && count == 2 ? decode_pred_result(d, &results[1]) : REF_NONE;
    struct op *op = mask ? decode_emit(d, row->run) : NULL;
    if (!op || (count == 2 && !pred))
        return decode_error(d, "operands do not fit");
    op->d = mask, op->e = pred, op->a = a, op->c = members;
    op->aux = width_of(type);
    return true;
}

/* ---- redux: a value, c members ---- */

enum {
    REDUX_ADD,
    REDUX_MIN_U,
    REDUX_MAX_U,
    REDUX_MIN_S,
    REDUX_MAX_S,
    REDUX_AND,
    REDUX_OR,
    REDUX_XOR
};

static uint32_t redux_step(uint32_t kind, uint32_t x, uint32_t y)
{
    switch (kind) {
    case REDUX_ADD:
        return x + y;
    case REDUX_MIN_U:
        return x < y ? x : y;
    case REDUX_MAX_U:
        return x > y ? x : y;
    case REDUX_MIN_S:
        return (int32_t)x < (int32_t)y ? x : y;
    case REDUX_MAX_S:
        return (int32_t)x > (int32_t)y ? x : y;
    case REDUX_AND:
        return x & y;
    case REDUX_OR:
        return x | y;
    default:
        return x ^ y;
    }
}

TOGETHER(redux, ROW_OUT(op->d), ROW_IN(op->a))
{
    const uint32_t *a = vm_row(w, op->a);
    uint32_t *d = vm_row(w, op->d);
    int first = __builtin_ctz(exec);
    uint32_t result = a[first];
    EACH_LANE if (ACTIVE(exec, i) && i != first) result = redux_step(op->aux, result, a[i]);
    EACH_LANE if (ACTIVE(exec, i)) d[i] = result;
}

/* ---- activemask, elect ---- */

HANDLER(activemask)
{
    uint32_t *d = vm_row(w, op->d);
    EACH_LANE if (ACTIVE(exec, i)) d[i] = exec;
    return op + 1;
}

/* The lowest lane is the leader. */
TOGETHER(elect, ROW_OUT(op->d), PRED_OUT(op->e))
{
    uint32_t *d = vm_row(w, op->d), leader = (uint32_t)__builtin_ctz(exec);
    EACH_LANE if (ACTIVE(exec, i)) d[i] = leader;
    vm_set_pred(w, op->e, exec, lane_bit[leader]);
}

static bool decode_elect(struct decoder *d, const struct row *row)
{
    uint32_t count;
    if (!decode_count_is(d, 2))
        return false;
    const struct ptx_operand *results = decode_elements(d, &d->operands[0], &count);
    uint32_t members = decode_source(d, &d->operands[1], PTX_TYPE_b32);
    if (!members || count != 2)
        return decode_error(d, "operands do not fit");
    uint32_t leader = decode_result(d, &results[0], PTX_TYPE_b32);
    uint32_t pred = leader ? decode_pred_result(d, &results[1]) : REF_NONE;
    struct op *op = pred ? decode_emit(d, row->run) : NULL;
    if (!op)
        return false;
    op->d = leader, op->e = pred, op->c = members;
    return true;
}

static bool decode_redux(struct decoder *d, const struct row *row)
{
    uint32_t a = decode_count_is(d, 3) ? decode_source(d, &d->operands[1], PTX_TYPE_b32) : REF_NONE;
    uint32_t members = a ? decode_source(d, &d->operands[2], PTX_TYPE_b32) : REF_NONE;
    uint32_t result = members ? decode_result(d, &d->operands[0], PTX_TYPE_b32) : REF_NONE;
    struct op *op = result ? decode_emit(d, row->run) : NULL;
    if (!op)
        return false;
    op->d = result, op->a = a, op->c = members;
    op->aux = row->aux;
    return true;
}

#define REDUX(form, kind)                                                                          \
    {                                                                                              \
        "redux.sync." form, NULL, redux, decode_redux, kind                                        \
    }

const struct row rows_warp[] = {
    {"shfl", NULL, shfl, decode_shfl, 0},
    {"vote", NULL, vote, decode_vote, 0},
    {"match.any", NULL, match_any, decode_match, 0},
    {"match.all", NULL, match_all, decode_match, 0},
    REDUX("add.u32", REDUX_ADD),
    REDUX("add.s32", REDUX_ADD),
    REDUX("min.u32", REDUX_MIN_U),
    REDUX("max.u32", REDUX_MAX_U),
    REDUX("min.s32", REDUX_MIN_S),
    REDUX("max.s32", REDUX_MAX_S),
    REDUX("and.b32", REDUX_AND),
    REDUX("or.b32", REDUX_OR),
    REDUX("xor.b32", REDUX_XOR),
    {"activemask.b32", "w:", activemask, NULL, 0},
    {"elect.sync", NULL, elect, decode_elect, 0},
    ROWS_END,
};
