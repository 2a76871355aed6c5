/* SPDX-License-Identifier: Apache-2.0
 * The interpreter loop, and warps of a CTA in turn. */
#include "evaluator/ptxvm/vm.h"

#include <stdio.h>

#include "core/util.h"

enum { SLICE_BITS = 12, SLICE = 1 << SLICE_BITS /* instructions before the next warp's turn */ };

/* Runs the picked group until it blocks, meets another, ends, or `steps` are used up. Returns the
 * number of warp instructions. */
static int64_t run_group(struct warp *w, int64_t steps)
{
    const struct op *op = w->group->pc, *fence = group_fence(w);
    struct tally *tallies = w->worker->tallies;
    const uint32_t mask = w->mask;
    uintptr_t stop = fence ? (uintptr_t)fence : UINTPTR_MAX;
    int64_t left = steps;
    w->event = EVENT_NONE;
    do {
        left--;
        uint32_t exec = mask & (w->preds[op->guard] ^ op->flip);
        if (!exec) {
            op++;
            continue;
        }
        struct tally *t = &tallies[op->id];
        t->warps++;
        t->threads += vm_count(exec);
        const struct op *next = op->run(w, op, exec);
        if (!next) {
            if (w->event == EVENT_BLOCK) {
                t->warps--;
                t->threads -= vm_count(exec);
            }
            op = w->next;
            break;
        }
        op = next;
    } while ((uintptr_t)op < stop && left > 0);
    w->group->pc = op;
    w->expired = left <= 0 || w->event == EVENT_YIELD;
    return steps - left;
}

/* The same for a traced warp: one instruction. */
static int64_t trace_group(struct warp *w, int64_t steps)
{
    trace_before(w);
    run_group(w, 1);
    trace_after(w);
    w->expired = steps <= 1 || w->event == EVENT_YIELD;
    return 1;
}

/* Ends a launch that takes too long, with the place where a warp was: it may well spin there. */
static void give_up(struct warp *w, enum ptxvm_status status, const char *why)
{
    const struct group *g = w->group;
    if (g && g->mask)
        stop_at(w, g->pc, __builtin_ctz(g->mask), status, PTXVM_KIND_NONE, "%s", why);
    else
        stop_run(w->cta->run, status, "%s", why);
}

/* One turn of a warp. Returns the warp instructions executed. */
static int64_t warp_turn(struct warp *w, int64_t slice)
{
    int64_t left = slice;
    uint64_t threads = 0;
    while (left > 0 && group_pick(w)) {
        uint64_t lanes = vm_count(w->mask);
        int64_t done = w->tracer ? trace_group(w, left) : run_group(w, left);
        left -= done;
        threads += lanes * (uint64_t)done;
        if (w->event == EVENT_STOP || w->event == EVENT_YIELD)
            break;
    }
    struct run *run = w->cta->run;
    uint64_t spent =
        atomic_fetch_add_explicit(&run->spent, threads, memory_order_relaxed) + threads;
    if (spent > run->vm->options.instruction_budget) {
        char why[PTXVM_TEXT];
        snprintf(why, sizeof why, "instruction budget of %llu thread instructions is spent",
                 (unsigned long long)run->vm->options.instruction_budget);
        give_up(w, PTXVM_BUDGET, why);
    }
    w->worker->steps += (uint64_t)(slice - left);
    return slice - left;
}

/* The deadline is processor time, so that a busy host does not fail an honest kernel. That clock
 * costs a system call; the wall clock tells when it can matter. */
static bool must_stop(struct warp *w)
{
    struct run *run = w->cta->run;
    if (atomic_load_explicit(&run->stop, memory_order_relaxed))
        return true;
    int64_t now = now_ms();
    if (now < atomic_load_explicit(&run->look_ms, memory_order_relaxed))
        return false;
    const struct ptxvm_options *o = &run->vm->options;
    int64_t left = o->deadline_ms - (cpu_ms() - run->start_cpu_ms);
    if (left > 0) {
        atomic_store_explicit(&run->look_ms, now + left / o->threads + 1, memory_order_relaxed);
        return false;
    }
    char why[PTXVM_TEXT];
    snprintf(why, sizeof why, "not done after %lld ms of processor time",
             (long long)o->deadline_ms);
    give_up(w, PTXVM_DEADLINE, why);
    return true;
}

uint32_t sched_draw(struct cta *c, uint32_t n)
{
    if (!c->run->vm->options.seed)
        return 0;
    uint64_t x = c->random += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)((x ^ x >> 31) % n);
}

static void shuffle(struct cta *c)
{
    for (uint32_t i = c->warp_count; i-- > 1 && c->run->vm->options.seed;) {
        uint32_t k = sched_draw(c, i + 1);
        uint8_t swap = c->order[i];
        c->order[i] = c->order[k];
        c->order[k] = swap;
    }
}

enum cta_state cta_run(struct cta *c, int64_t steps)
{
    while (c->live_warps) {
        int64_t done = 0;
        shuffle(c);
        for (uint32_t i = 0; i < c->warp_count; i++) {
            struct warp *w = &c->warps[c->order[i]];
            if (!w->live)
                continue;
            done += warp_turn(w, SLICE >> sched_draw(c, SLICE_BITS + 1));
            if (must_stop(w))
                return CTA_STOPPED;
        }
        if (done == 0)
            return CTA_STUCK;
        steps -= done;
        if (steps <= 0 && c->live_warps)
            return CTA_RUNNING;
    }
    return CTA_DONE;
}
