/* SPDX-License-Identifier: Apache-2.0
 * mbarrier instructions. A lane's try_wait parks it until the phase is complete: it says "not yet"
 * only to lanes that wait for different barriers, and when nothing else can run; test_wait does not
 * park, and lets other warps run. */
#include "evaluator/ptxvm/mbarrier.h"

#include "evaluator/ptxvm/async.h"
#include "evaluator/ptxvm/lanes.h"

enum { AUX_TX = 1, AUX_DROP = 2, AUX_COMPLETE = 4, AUX_TRY = 8, AUX_PARITY = 16 };

static uint64_t address_of(const struct warp *w, const struct op *op, int lane)
{
    return async_shared(async_lane(w, op->a, lane));
}

static uint32_t count_of(const struct warp *w, const struct op *op, int lane)
{
    return ((const uint32_t *)vm_row(w, op->b))[lane];
}

/* ---- init, inval ---- */

HANDLER(init)
{
    EACH_LANE
    {
        if (!ACTIVE(exec, i))
            continue;
        uint32_t count = count_of(w, op, i);
        uint64_t *at = (void *)access_shared(w, op, i, address_of(w, op, i), 8, 8, ACCESS_WRITE);
        if (!at)
            return NULL;
        if (count < 1 || count > MBARRIER_COUNT_MAX)
            return stop_at(w, op, i, PTXVM_FAULT, PTXVM_BAD_BARRIER, "mbarrier for %u arrivals",
                           count);
        *at = mbarrier_encode(&(struct mbarrier){.expected = count, .pending = count});
    }
    return op + 1;
}

HANDLER(inval)
{
    EACH_LANE
    {
        uint64_t *at = NULL;
        struct mbarrier b;
        if (!ACTIVE(exec, i))
            continue;
        if (!mbarrier_read(w, op, i, address_of(w, op, i), &b) ||
            !(at = (void *)access_shared(w, op, i, address_of(w, op, i), 8, 8, ACCESS_WRITE)))
            return NULL;
        *at = 0;
    }
    return op + 1;
}

/* ---- arrive, arrive_drop, expect_tx, complete_tx: a address, b count or bytes, d state ---- */

HANDLER(arrive)
{
    uint64_t *d = vm_row(w, op->d);
    EACH_LANE
    {
        if (!ACTIVE(exec, i))
            continue;
        uint32_t count = count_of(w, op, i);
        struct mbarrier_change change = {.arrivals = op->aux & AUX_TX ? 1 : count};
        change.tx = op->aux & AUX_TX ? count : 0;
        change.drops = op->aux & AUX_DROP ? change.arrivals : 0;
        uint64_t before;
        if (!mbarrier_apply(w, op, i, address_of(w, op, i), change, &before))
            return NULL;
        if (op->d)
            d[i] = before;
    }
    return op + 1;
}

HANDLER(transaction)
{
    EACH_LANE
    {
        if (!ACTIVE(exec, i))
            continue;
        int64_t bytes = count_of(w, op, i);
        struct mbarrier_change change = {.tx = op->aux & AUX_COMPLETE ? -bytes : bytes};
        if (!mbarrier_apply(w, op, i, address_of(w, op, i), change, NULL))
            return NULL;
    }
    return op + 1;
}

/* Copies before it are done, so a thread's arrival is due at once; without .noinc it was not
 * counted among the expected ones. */
HANDLER(copies_arrive)
{
    EACH_LANE if (ACTIVE(exec, i) &&
                  !mbarrier_apply(w, op, i, address_of(w, op, i),
                                  (struct mbarrier_change){.arrivals = op->aux}, NULL)) return NULL;
    return op + 1;
}

HANDLER(pending_count)
{
    uint32_t *d = vm_row(w, op->d);
    EACH_LANE
    {
        struct mbarrier b;
        if (!ACTIVE(exec, i))
            continue;
        if (!mbarrier_decode(async_lane(w, op->a, i), &b))
            return stop_at(w, op, i, PTXVM_FAULT, PTXVM_BAD_OPERAND,
                           "operand is no mbarrier state");
        d[i] = b.pending;
    }
    return op + 1;
}

/* ---- waits: d predicate, a address, b state or parity ---- */

static bool is_over(const struct warp *w, const struct op *op, int lane, const struct mbarrier *b)
{
    struct mbarrier then;
    if (op->aux & AUX_PARITY)
        return (b->phase & 1) != (count_of(w, op, lane) & 1);
    return !mbarrier_decode(async_lane(w, op->b, lane), &then) || then.phase != b->phase;
}

static const struct op *park(struct warp *w, const struct op *op, uint32_t exec, uint64_t address)
{
    group_narrow(w, op, exec);
    w->group->wait = WAIT_MBARRIER;
    w->group->wait_for = (uint32_t)address;
    w->group->pc = op;
    w->event = EVENT_BLOCK;
    w->next = op;
    return NULL;
}

HANDLER(wait)
{
    if (w->group->resumed) {
        w->group->resumed = false;
        vm_set_pred(w, op->d, exec, VM_FULL);
        return op + 1;
    }
    bool patient = !w->group->impatient;
    w->group->impatient = false;
    uint32_t over = 0;
    uint64_t first = address_of(w, op, __builtin_ctz(exec));
    bool same = true;
    EACH_LANE
    {
        struct mbarrier b;
        if (!ACTIVE(exec, i))
            continue;
        if (!mbarrier_read(w, op, i, address_of(w, op, i), &b))
            return NULL;
        over |= is_over(w, op, i, &b) ? lane_bit[i] : 0;
        same &= address_of(w, op, i) == first;
    }
    struct cta *owner = cluster_shared(w->cta, &first);
    if (owner != w->cta)
        return stop_at(w, op, __builtin_ctz(exec), PTXVM_FAULT, PTXVM_BAD_BARRIER,
                       "waits for an mbarrier of another CTA");
    if (op->aux & AUX_TRY && !over && same && patient)
        return park(w, op, exec, first);
    vm_set_pred(w, op->d, exec, over);
    if (over == exec)
        return op + 1;
    w->event = EVENT_YIELD;
    w->next = op + 1;
    return NULL;
}

/* ---- decoding ---- */

static bool decode_init(struct decoder *d, const struct row *row)
{
    uint32_t n = row->run == init ? 2 : 1;
    uint32_t a = decode_count_is(d, n) ? async_decode_address(d, &d->operands[0]) : REF_NONE;
    uint32_t b = a && n == 2 ? decode_source(d, &d->operands[1], PTX_TYPE_u32) : a;
    struct op *op = b ? decode_emit(d, row->run) : NULL;
    if (!op)
        return false;
    op->a = a, op->b = b;
    return true;
}

static bool decode_arrive(struct decoder *d, const struct row *row)
{
    uint32_t n = d->instr->operand_count;
    bool tx = form_has(d, PTX_WORD_expect_tx);
    bool returns = n > 0 && d->operands[0].kind != PTX_OPERAND_MEM;
    uint32_t at = returns ? 1 : 0;
    if (n < at + 1 + tx || n > at + 2)
        return decode_error(d, "%u operands", n);
    uint32_t a = async_decode_address(d, &d->operands[at]);
    uint32_t b = !a            ? REF_NONE
                 : n == at + 2 ? decode_source(d, &d->operands[at + 1], PTX_TYPE_u32)
                               : decode_constant(d, 1, 0, WIDTH_32);
    bool sink = !returns || d->operands[0].kind == PTX_OPERAND_SINK;
    uint32_t state = b && !sink ? decode_result(d, &d->operands[0], PTX_TYPE_b64) : REF_NONE;
    struct op *op = b && (sink || state) ? decode_emit(d, row->run) : NULL;
    if (!op)
        return false;
    op->a = a, op->b = b, op->d = state;
    op->aux = row->aux | (tx ? AUX_TX : 0);
    return true;
}

static bool decode_transaction(struct decoder *d, const struct row *row)
{
    uint32_t a = decode_count_is(d, 2) ? async_decode_address(d, &d->operands[0]) : REF_NONE;
    uint32_t b = a ? decode_source(d, &d->operands[1], PTX_TYPE_u32) : REF_NONE;
    struct op *op = b ? decode_emit(d, row->run) : NULL;
    if (!op)
        return false;
    op->a = a, op->b = b, op->aux = row->aux;
    return true;
}

static bool decode_copies_arrive(struct decoder *d, const struct row *row)
{
    uint32_t a = decode_count_is(d, 1) ? async_decode_address(d, &d->operands[0]) : REF_NONE;
    struct op *op = a ? decode_emit(d, row->run) : NULL;
    if (!op)
        return false;
    op->a = a, op->aux = form_has(d, PTX_WORD_noinc) ? 1 : 0;
    return true;
}

static bool decode_wait(struct decoder *d, const struct row *row)
{
    bool parity = form_has(d, PTX_WORD_parity);
    uint32_t n = d->instr->operand_count;
    if (n != 3 && !(n == 4 && row->aux & AUX_TRY)) /* a fourth is the time to suspend for: a hint */
        return decode_error(d, "%u operands", n);
    uint32_t a = async_decode_address(d, &d->operands[1]);
    uint32_t b =
        a ? decode_source(d, &d->operands[2], parity ? PTX_TYPE_u32 : PTX_TYPE_b64) : REF_NONE;
    uint32_t p = b ? decode_pred_result(d, &d->operands[0]) : REF_NONE;
    struct op *op = p ? decode_emit(d, row->run) : NULL;
    if (!op)
        return false;
    op->a = a, op->b = b, op->d = p;
    op->aux = row->aux | (parity ? AUX_PARITY : 0);
    return true;
}

const struct row rows_mbarrier[] = {
    {"mbarrier.init", NULL, init, decode_init, 0},
    {"mbarrier.inval", NULL, inval, decode_init, 0},
    {"mbarrier.arrive", NULL, arrive, decode_arrive, 0},
    {"mbarrier.arrive_drop", NULL, arrive, decode_arrive, AUX_DROP},
    {"mbarrier.expect_tx", NULL, transaction, decode_transaction, 0},
    {"mbarrier.complete_tx", NULL, transaction, decode_transaction, AUX_COMPLETE},
    {"mbarrier.test_wait", NULL, wait, decode_wait, 0},
    {"mbarrier.try_wait", NULL, wait, decode_wait, AUX_TRY},
    {"mbarrier.pending_count.b64", "w:d", pending_count, NULL, 0},
    {"cp.async.mbarrier.arrive", NULL, copies_arrive, decode_copies_arrive, 0},
    ROWS_END,
};
