/* SPDX-License-Identifier: Apache-2.0
 * Virtual registers to slots of the frame. PTX is in SSA form with thousands of registers, so slots
 * are used again: liveness per block for the registers that cross blocks, one interval each, linear
 * scan over the intervals. Lanes are separate columns, so the liveness of one thread is enough.
 *
 * A guarded write keeps the old value of other lanes and counts as a use. Where the bit sets would
 * get too big, registers that cross blocks live through the whole function. */
#include "evaluator/ptxvm/decode.h"

#include <string.h>

enum { MAX_PASSES = 64 };
#define MAX_SET_WORDS ((size_t)4 << 20) /* 32 MiB for each of four sets */
#define MAX_WORK (UINT64_C(1) << 29)    /* words joined: tables of branches can be long and many */

struct block {
    uint32_t first, end; /* ops */
};

struct scan {
    struct decoder *d;
    struct block *blocks;
    uint32_t block_count;
    uint32_t *block_of; /* by op, valid at block starts */
    uint32_t *lo, *hi;  /* interval by virtual register; lo > hi: never touched */
    uint32_t *global;   /* by virtual register: index among those that cross blocks, or PTX_NONE */
    uint32_t global_count;
    uint32_t *vreg_of;  /* by that index */
    uint32_t *last_def; /* by virtual register: block + 1 of the last full definition */
    size_t words;       /* of one set */
    uint64_t *use, *def, *in, *out;
    uint64_t work; /* words joined so far */
    uint32_t *slot;
};

/* Calls visit(s, vreg, is_def, position) for each register an op touches; uses first. */
typedef void visit_fn(struct scan *s, uint32_t vreg, bool is_def, bool kills, uint32_t position,
                      uint32_t block);

static void visit_ref(struct scan *s, uint32_t ref, bool is_def, bool kills, uint32_t position,
                      uint32_t block, visit_fn *visit)
{
    if (REF_TAG(ref) == 1)
        visit(s, ref & REF_MASK, is_def, kills, position, block);
}

static void visit_op(struct scan *s, uint32_t i, uint32_t block, visit_fn *visit)
{
    const struct op *op = &s->d->ops[i];
    const uint32_t *list = op->defs + op->uses ? &s->d->lists[op->index] : NULL;
    uint32_t uses[] = {op->a, op->b, op->c, op->guard};
    for (size_t k = 0; k < sizeof uses / sizeof uses[0]; k++)
        visit_ref(s, uses[k], false, false, 2 * i, block, visit);
    for (uint32_t k = op->defs; k < (uint32_t)op->defs + op->uses; k++)
        visit_ref(s, list[k], false, false, 2 * i, block, visit);
    /* With several results one must not land on an operand that is still to be read. */
    bool kills = REF_TAG(op->guard) != 1;
    uint32_t position = op->e || op->defs ? 2 * i : 2 * i + 1;
    visit_ref(s, op->d, true, kills, position, block, visit);
    visit_ref(s, op->e, true, kills, position, block, visit);
    for (uint32_t k = 0; k < op->defs; k++)
        visit_ref(s, list[k], true, kills, position, block, visit);
}

static void visit_all(struct scan *s, visit_fn *visit)
{
    for (uint32_t b = 0; b < s->block_count; b++)
        for (uint32_t i = s->blocks[b].first; i < s->blocks[b].end; i++)
            visit_op(s, i, b, visit);
}

static void see_crossing(struct scan *s, uint32_t v, bool is_def, bool kills, uint32_t position,
                         uint32_t block)
{
    (void)position;
    if (is_def && kills)
        s->last_def[v] = block + 1;
    else if (s->last_def[v] != block + 1 && s->global[v] == PTX_NONE) {
        s->global[v] = s->global_count;
        s->vreg_of[s->global_count++] = v;
    }
}

static void see_block_sets(struct scan *s, uint32_t v, bool is_def, bool kills, uint32_t position,
                           uint32_t block)
{
    (void)position;
    uint32_t g = s->global[v];
    if (g == PTX_NONE)
        return;
    uint64_t bit = UINT64_C(1) << (g % 64);
    size_t word = block * s->words + g / 64;
    if (is_def && kills)
        s->def[word] |= bit;
    else if (!(s->def[word] & bit))
        s->use[word] |= bit;
}

static void see_interval(struct scan *s, uint32_t v, bool is_def, bool kills, uint32_t position,
                         uint32_t block)
{
    (void)is_def, (void)kills, (void)block;
    if (position < s->lo[v])
        s->lo[v] = position;
    if (position > s->hi[v] || s->hi[v] == PTX_NONE)
        s->hi[v] = position;
}

/* ---- blocks ---- */

static uint32_t target_op(const struct decoder *d, uint32_t instr)
{
    return d->first_op[instr];
}

static void mark_leaders(struct decoder *d, uint32_t *leader)
{
    leader[0] = 1;
    for (uint32_t i = 0; i < d->op_count; i++) {
        const struct op *op = &d->ops[i];
        if (op->run == run_bra)
            leader[target_op(d, (uint32_t)op->index)] = 1;
        else if (op->run == run_brx)
            for (uint32_t k = 0; k < op->uses; k++)
                leader[target_op(d, d->lists[op->index + k] & REF_MASK)] = 1;
        else if (op->run != run_exit && op->run != run_ret)
            continue;
        leader[i + 1] = 1;
    }
}

static bool make_blocks(struct scan *s)
{
    struct decoder *d = s->d;
    uint32_t *leader = s->block_of;
    mark_leaders(d, leader);
    for (uint32_t i = 0; i < d->op_count; i++)
        s->block_count += leader[i];
    s->blocks = calloc(s->block_count + 1, sizeof *s->blocks);
    if (!s->blocks)
        return false;
    uint32_t b = 0;
    for (uint32_t i = 0; i < d->op_count; i++) {
        if (leader[i]) {
            if (b)
                s->blocks[b - 1].end = i;
            s->blocks[b].first = i;
            s->block_of[i] = b++;
        }
    }
    if (b)
        s->blocks[b - 1].end = d->op_count;
    return true;
}

static void join(struct scan *s, uint32_t block, uint32_t successor_op)
{
    if (successor_op >= s->d->op_count)
        return;
    const uint64_t *from = s->in + s->block_of[successor_op] * s->words;
    uint64_t *to = s->out + block * s->words;
    for (size_t i = 0; i < s->words; i++)
        to[i] |= from[i];
    s->work += s->words;
}

static bool flow_block(struct scan *s, uint32_t b)
{
    struct decoder *d = s->d;
    const struct op *last = &d->ops[s->blocks[b].end - 1];
    bool ends = (last->run == run_bra || last->run == run_exit || last->run == run_ret ||
                 last->run == run_brx) &&
                REF_TAG(last->guard) != 1;
    if (!ends)
        join(s, b, s->blocks[b].end);
    if (last->run == run_bra)
        join(s, b, target_op(d, (uint32_t)last->index));
    else if (last->run == run_brx)
        for (uint32_t k = 0; k < last->uses; k++)
            join(s, b, target_op(d, d->lists[last->index + k] & REF_MASK));
    bool changed = false;
    for (size_t i = b * s->words; i < (b + 1) * s->words; i++) {
        uint64_t in = s->use[i] | (s->out[i] & ~s->def[i]);
        changed |= in != s->in[i];
        s->in[i] = in;
    }
    return changed;
}

/* Live ranges over block borders. False: too big, or no fixed point in time. */
static bool flow(struct scan *s)
{
    s->words = (s->global_count + 63) / 64;
    if (s->block_count > 1 && s->words > MAX_SET_WORDS / s->block_count)
        return false;
    size_t total = s->words * s->block_count + 1;
    s->use = calloc(total, sizeof *s->use);
    s->def = calloc(total, sizeof *s->def);
    s->in = calloc(total, sizeof *s->in);
    s->out = calloc(total, sizeof *s->out);
    if (!s->use || !s->def || !s->in || !s->out)
        return false;
    visit_all(s, see_block_sets);
    bool changed = true;
    for (int pass = 0; changed && pass < MAX_PASSES && s->work < MAX_WORK; pass++) {
        changed = false;
        for (uint32_t b = s->block_count; b-- > 0;)
            changed |= flow_block(s, b);
    }
    return !changed;
}

static void widen_interval(struct scan *s, const uint64_t *set, uint32_t position)
{
    for (size_t i = 0; i < s->words; i++)
        for (uint64_t rest = set[i]; rest; rest &= rest - 1) {
            uint32_t v = s->vreg_of[i * 64 + (size_t)__builtin_ctzll(rest)];
            see_interval(s, v, false, false, position, 0);
        }
}

static void make_intervals(struct scan *s, bool flowed)
{
    visit_all(s, see_interval);
    if (!flowed) {
        for (uint32_t g = 0; g < s->global_count; g++) {
            s->lo[s->vreg_of[g]] = 0;
            s->hi[s->vreg_of[g]] = 2 * s->d->op_count;
        }
        return;
    }
    for (uint32_t b = 0; b < s->block_count; b++) {
        widen_interval(s, s->in + b * s->words, 2 * s->blocks[b].first);
        widen_interval(s, s->out + b * s->words, 2 * s->blocks[b].end - 1);
    }
}

/* ---- slots ---- */

/* Virtual registers in ascending order of key[v], counting sort. */
static uint32_t *sorted(const struct scan *s, const uint32_t *key, uint32_t *count)
{
    uint32_t positions = 2 * s->d->op_count + 2;
    uint32_t *start = calloc(positions + 1, sizeof *start);
    uint32_t *order = calloc(s->d->vreg_count + 1, sizeof *order);
    if (start && order) {
        for (uint32_t v = 0; v < s->d->vreg_count; v++)
            if (s->hi[v] != PTX_NONE)
                start[key[v] + 1]++;
        for (uint32_t i = 0; i < positions; i++)
            start[i + 1] += start[i];
        *count = start[positions];
        for (uint32_t v = 0; v < s->d->vreg_count; v++)
            if (s->hi[v] != PTX_NONE)
                order[start[key[v]]++] = v;
        free(start);
        return order;
    }
    free(start);
    free(order);
    return NULL;
}

/* Freed slots by class (width / 4: predicates 0, then 1, 2, 4), linked through `next`. */
static bool assign(struct scan *s)
{
    struct decoder *d = s->d;
    uint32_t count = 0;
    uint32_t *by_lo = sorted(s, s->lo, &count), *by_hi = sorted(s, s->hi, &count);
    uint32_t *next = calloc(d->vreg_count + 1, sizeof *next);
    uint32_t spare[5] = {PTX_NONE, PTX_NONE, PTX_NONE, PTX_NONE, PTX_NONE};
    uint64_t bytes = VM_SINK, preds = VM_PRED_FIRST;
    bool ok = by_lo && by_hi && next;
    for (uint32_t i = 0, expired = 0; ok && i < count; i++) {
        uint32_t v = by_lo[i];
        for (; s->hi[by_hi[expired]] < s->lo[v]; expired++) {
            uint32_t gone = by_hi[expired], class = d->widths[gone] / 4u;
            next[gone] = spare[class];
            spare[class] = gone;
        }
        uint32_t class = d->widths[v] / 4u, again = spare[class];
        if (again != PTX_NONE) {
            s->slot[v] = s->slot[again];
            spare[class] = next[again];
        } else if (class == 0) {
            s->slot[v] = (uint32_t)preds++;
        } else {
            s->slot[v] = (uint32_t)bytes;
            bytes += (uint64_t)d->widths[v] * VM_LANES;
        }
        ok = bytes < REF_MASK && preds < REF_MASK;
    }
    free(by_lo);
    free(by_hi);
    free(next);
    d->out->row_bytes = (uint32_t)bytes;
    d->out->preds = (uint32_t)preds;
    return ok;
}

static uint32_t final_ref(const struct scan *s, uint32_t ref)
{
    switch (REF_TAG(ref)) {
    case 1:
        return s->slot[ref & REF_MASK];
    case 2:
        return (ref & REF_MASK) | 1;
    default:
        return ref & REF_MASK;
    }
}

/* Where the registers of the source lie, for traces. */
static bool keep_places(const struct scan *s)
{
    uint32_t count = s->d->fn->reg_count;
    uint32_t *places = s->d->out->places = malloc(((size_t)count + 1) * sizeof *places);
    for (uint32_t v = 0; places && v < count; v++)
        places[v] = s->hi[v] == PTX_NONE ? PTX_NONE : s->slot[v];
    return places != NULL;
}

static void rewrite(struct scan *s)
{
    struct decoder *d = s->d;
    for (uint32_t i = 0; i < d->op_count; i++) {
        struct op *op = &d->ops[i];
        uint32_t *fields[] = {&op->d, &op->e, &op->a, &op->b, &op->c, &op->guard};
        for (size_t k = 0; k < sizeof fields / sizeof fields[0]; k++)
            *fields[k] = final_ref(s, *fields[k]);
    }
    for (uint32_t i = 0; i < d->list_count; i++)
        d->lists[i] = final_ref(s, d->lists[i]);
}

static void scan_release(struct scan *s)
{
    void *all[] = {s->blocks,   s->block_of, s->lo,  s->hi, s->global, s->vreg_of,
                   s->last_def, s->use,      s->def, s->in, s->out,    s->slot};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
}

bool regalloc(struct decoder *d)
{
    struct scan s = {.d = d};
    size_t n = (size_t)d->vreg_count + 1;
    s.block_of = calloc((size_t)d->op_count + 2, sizeof *s.block_of);
    s.lo = malloc(n * sizeof *s.lo);
    s.hi = malloc(n * sizeof *s.hi);
    s.global = malloc(n * sizeof *s.global);
    s.vreg_of = calloc(n, sizeof *s.vreg_of);
    s.last_def = calloc(n, sizeof *s.last_def);
    s.slot = calloc(n, sizeof *s.slot);
    bool ok = s.block_of && s.lo && s.hi && s.global && s.vreg_of && s.last_def && s.slot &&
              make_blocks(&s);
    if (ok) {
        memset(s.lo, 0xff, n * sizeof *s.lo);
        memset(s.hi, 0xff, n * sizeof *s.hi);
        memset(s.global, 0xff, n * sizeof *s.global);
        visit_all(&s, see_crossing);
        make_intervals(&s, flow(&s));
        ok = assign(&s) && keep_places(&s);
    }
    if (ok)
        rewrite(&s);
    scan_release(&s);
    return ok ? true : decode_error(d, "too many registers");
}
