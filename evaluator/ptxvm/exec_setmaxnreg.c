/* SPDX-License-Identifier: Apache-2.0
 * setmaxnreg: warps give registers back to the pool of the CTA and take them from there. A kernel
 * starts with what ptxas gave it; where that is not known, with what .maxnreg, .minnctapersm or the
 * register file allow, which is what ptxas takes too. */
#include "evaluator/ptxvm/lanes.h"

enum { THREAD_MAX = 255, UNIT = VM_REGISTER_UNIT, LEAST = 24, MOST = 256, WARPGROUP = 4 };

static uint32_t registers_at_start(const struct run *run)
{
    const struct ptx_directives *dir = &run->program->entry->directives;
    uint32_t ctas = dir->minnctapersm ? dir->minnctapersm : 1;
    uint32_t share = VM_SM_REGISTERS / (run->warps * VM_LANES) / ctas / UNIT * UNIT;
    share = share > THREAD_MAX ? THREAD_MAX : share;
    share = dir->maxnreg && dir->maxnreg < share ? dir->maxnreg : share;
    return run->launch->registers ? run->launch->registers : share;
}

static uint32_t registers_of(const struct warp *w)
{
    return w->registers ? w->registers : registers_at_start(w->cta->run);
}

static void wake(struct cta *c)
{
    for (uint32_t i = 0; i < c->warp_count; i++)
        for (int k = 0; k < c->warps[i].group_count; k++)
            if (c->warps[i].groups[k].wait == WAIT_REGISTERS)
                c->warps[i].groups[k].wait = WAIT_NONE;
}

HANDLER(setmaxnreg_dec)
{
    (void)exec;
    uint32_t have = registers_of(w), want = (uint32_t)op->imm;
    if (want < have) {
        w->registers = want;
        w->cta->spare_registers += (have - want) * VM_LANES;
        wake(w->cta);
    }
    return op + 1;
}

/* Would the pool be enough for the warpgroup if every other warp gave back all it can? */
static bool is_possible(const struct warp *w, uint32_t want)
{
    const struct run *run = w->cta->run;
    uint32_t group = run->warps < WARPGROUP ? run->warps : WARPGROUP;
    return group * want + (run->warps - group) * LEAST <= run->warps * registers_at_start(run);
}

HANDLER(setmaxnreg_inc)
{
    struct cta *c = w->cta;
    uint32_t have = registers_of(w), want = (uint32_t)op->imm;
    if (want <= have)
        return op + 1;
    uint32_t need = (want - have) * VM_LANES;
    if (need <= c->spare_registers) {
        c->spare_registers -= need;
        w->registers = want;
        return op + 1;
    }
    if (!is_possible(w, want))
        return stop_at(w, op, __builtin_ctz(exec), PTXVM_DEADLOCK, PTXVM_KIND_NONE,
                       "waits for ever for %u registers a thread: the CTA has %u warps of %u", want,
                       c->run->warps, registers_at_start(c->run));
    w->group->wait = WAIT_REGISTERS;
    w->group->wait_for = want - have;
    w->group->pc = op;
    w->event = EVENT_BLOCK;
    w->next = op;
    return NULL;
}

static bool decode_setmaxnreg(struct decoder *d, const struct row *row)
{
    int64_t count;
    if (!decode_count_is(d, 1) || !decode_immediate(d, &d->operands[0], &count))
        return false;
    if (count < LEAST || count > MOST || count % UNIT)
        return decode_error(d, "%lld registers", (long long)count);
    struct op *op = decode_emit(d, row->run);
    if (op)
        op->imm = count;
    return op != NULL;
}

const struct row rows_setmaxnreg[] = {
    {"setmaxnreg.dec.sync.aligned", NULL, setmaxnreg_dec, decode_setmaxnreg, 0},
    {"setmaxnreg.inc.sync.aligned", NULL, setmaxnreg_inc, decode_setmaxnreg, 0},
    ROWS_END,
};
