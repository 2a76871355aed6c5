/* SPDX-License-Identifier: Apache-2.0
 * Grids whose CTAs wait for each other: noticed when a cluster has used up its turn and every warp
 * of it either waits or goes round a short loop that polls memory. Nothing inside can then end the
 * wait, so a CTA outside must. The hardware runs only so many CTAs at once, and only a cooperative
 * launch makes sure that those are all. */
#include <string.h>

#include "evaluator/ptxvm/decode.h"

enum { LOOP_MAX = 64 /* ops of a loop that does nothing but poll */ };

static const struct ptx_form *form_of(const struct program *p, const struct op *op)
{
    uint32_t form = p->origins[op->id].form;
    return form == PTX_NONE ? NULL : &p->module->forms[form];
}

/* Reads what other CTAs may write meanwhile. */
static bool polls(const struct ptx_form *f)
{
    if (ptx_form_has(f, PTX_WORD_shared) || ptx_form_has(f, PTX_WORD_shared__cta))
        return false;
    return f->op == PTX_OP_atom || (f->op == PTX_OP_ld && (ptx_form_has(f, PTX_WORD_acquire) ||
                                                           ptx_form_has(f, PTX_WORD_relaxed) ||
                                                           ptx_form_has(f, PTX_WORD_volatile)));
}

/* The op that polls in the innermost loop around pc, or NULL: there is no such loop, it is long, or
 * it stores. */
static const struct op *find_poll(const struct program *p, const struct group *g)
{
    const struct function *fn = g->frame->function;
    const struct op *end = fn->ops + fn->op_count, *back = g->pc, *poll = NULL;
    while (back < end && back - g->pc < LOOP_MAX && (back->run != run_bra || back->target > g->pc))
        back++;
    if (back >= end || back->run != run_bra || back->target > g->pc ||
        back - back->target >= LOOP_MAX)
        return NULL;
    for (const struct op *op = back->target; op < back; op++) {
        const struct ptx_form *f = form_of(p, op);
        if (f && (f->op == PTX_OP_st || f->op == PTX_OP_red))
            return NULL;
        if (f && polls(f))
            poll = op;
    }
    return poll;
}

/* A poll of the CTA if none of its warps does anything else than poll and wait. */
static const struct op *cta_polls(struct cta *c, struct warp **who)
{
    const struct op *found = NULL;
    for (uint32_t i = 0; i < c->warp_count; i++) {
        struct warp *w = &c->warps[i];
        for (int k = 0; w->live && k < w->group_count; k++) {
            const struct group *g = &w->groups[k];
            if (!g->mask || g->wait != WAIT_NONE)
                continue;
            const struct op *poll = find_poll(c->run->program, g);
            if (!poll)
                return NULL;
            found = poll, *who = w;
        }
    }
    return found;
}

void residency_explain(struct ptxvm_result *result)
{
    char *detail = result->fault.detail;
    size_t used = strlen(detail);
    bool late = result->status == PTXVM_DEADLINE || result->status == PTXVM_BUDGET;
    if (late && result->note[0] && used < sizeof result->fault.detail)
        snprintf(detail + used, sizeof result->fault.detail - used, "; %s", result->note);
}

void residency_look(struct cluster *k, uint64_t resident)
{
    struct warp *who = NULL;
    struct run *run = k->ctas[0]->run;
    const struct op *poll = NULL;
    if (run->launch->cooperative || run->clusters < 2 || atomic_load(&run->relies))
        return;
    for (uint32_t i = 0; i < k->count; i++) {
        const struct op *op = k->ctas[i]->live_warps ? cta_polls(k->ctas[i], &who) : NULL;
        if (!op && k->ctas[i]->live_warps)
            return;
        poll = op ? op : poll;
    }
    if (!poll || atomic_exchange(&run->relies, true))
        return;
    struct ptxvm_fault f = {0};
    char where[PTXVM_NAME] = "";
    fault_locate(&f, who, poll, 0);
    if (f.source_line)
        snprintf(where, sizeof where, " (line %u)", f.source_line);
    snprintf(run->result->note, sizeof run->result->note,
             "CTA (%u, %u, %u) waits at %.200s%s for what another CTA writes: the launch relies on "
             "CTAs being on the device at the same time, where %llu of its %llu fit; only a "
             "cooperative launch makes sure of that",
             f.cta[0], f.cta[1], f.cta[2], f.instruction, where,
             (unsigned long long)(resident < run->ctas ? resident : run->ctas),
             (unsigned long long)run->ctas);
}
