// SPDX-License-Identifier: Apache-2.0
// "check": the plan on secret inputs, by the rules of evaluator/check.h. One trial per
// distribution, all in one instance of the module and at the same addresses; in the first the plan
// runs twice on the same input. Tensors end at a guard page; once more they begin at one, where
// that is not the same place.
#include <string.h>

#include "core/util.h"
#include "evaluator/check_tally.h"
#include "evaluator/cuda/keeper_blame.h"

struct checker {
    struct keeper_job *j;
    struct keeper_task *t;
    int64_t plan_ms;
    struct check_tally tally;
    struct keeper_end *end;
    json_t *captures; /* owned */
};

/* Where a run takes place. */
struct setting {
    struct task_base *base;
    enum memory_place place;
};

/* The tally takes over how the runner ended. */
static bool stop(struct checker *c)
{
    return check_tally_stop(&c->tally, c->end->verdict, "%s", c->end->detail);
}

static bool fail(struct checker *c, const struct fault *f)
{
    keeper_job_fault(c->j, f, c->end);
    return stop(c);
}

static bool prepare(struct checker *c, const struct setting *s)
{
    struct fault f = {0};
    const struct keeper_task *t = c->t;
    enum err e = keeper_task_copy_inputs(t, s->base, &t->dummy, s->place, &f);
    if (e == ERR_NONE)
        e = slot_reset(&t->dummy, &t->shape, s->place, &f);
    if (e == ERR_NONE)
        e = driver_check(cu.StreamSynchronize(NULL), &f, "make inputs");
    return e == ERR_NONE || fail(c, &f);
}

/* The report's "captures" from what the runner has captured. */
static void note_captures(struct checker *c, const json_t *captured)
{
    const struct plan *plan = c->j->plan;
    size_t at;
    json_int_t offset = 0;
    json_t *row;
    json_array_foreach((json_t *)captured, at, row)
    {
        const char *name = json_string_value(json_object_get(row, "name"));
        json_int_t bytes = json_integer_value(json_object_get(row, "bytes"));
        for (size_t i = 0; name && i < plan->buffer_count; i++)
            if (!strcmp(plan->buffers[i].name, name))
                json_array_append_new(c->captures,
                                      json_pack("{s:s, s:s, s:I, s:I}", "buffer", name, "dtype",
                                                dtype_name(plan->buffers[i].dtype), "offset",
                                                offset, "bytes", bytes));
        offset += bytes;
    }
}

/* One run on poisoned outputs. */
static bool run(struct checker *c, const struct setting *s, bool capture)
{
    struct fault f = {0};
    struct slot_damage damage;
    int slot = s->place == MEMORY_END ? ORDER_DUMMY : ORDER_DUMMY_START;
    if (!prepare(c, s))
        return false;
    json_t *answer = keeper_job_ask(c->j,
                                    json_pack("{s:s, s:i, s:s, s:b}", "op", "launch", "slot", slot,
                                              "side", "candidate", "capture", capture),
                                    c->plan_ms, "one run of the plan", c->end);
    if (!answer) {
        keeper_blame(c->j, s->base, s->place, c->plan_ms, c->end);
        return stop(c);
    }
    if (capture)
        note_captures(c, json_object_get(answer, "captured"));
    json_decref(answer);
    if (slot_check(&c->t->dummy, 1, &c->t->shape, s->place, &c->t->gpu->kernels, &damage, &f) !=
        ERR_NONE)
        return fail(c, &f);
    return keeper_job_damage(&damage, c->end) || stop(c);
}

/* Holds every output in `slot` against the base's answer. */
static bool compare_outputs(struct checker *c, const struct setting *s, const struct slot *slot,
                            const char *which, json_t *list)
{
    struct fault f = {0};
    const struct problem *p = c->t->problem;
    for (size_t i = 0; i < p->tensor_count; i++) {
        if (p->tensors[i].role != TENSOR_OUTPUT)
            continue;
        int64_t shape[LIMIT_DIMS];
        struct compare_task task = keeper_task_compare(c->t, i, s->base->distribution, shape);
        struct compare_result r;
        struct gpu_comparer *comparer = &c->t->lanes[0].comparer;
        enum err e = gpu_comparer_begin(comparer, &task, slot_address(slot, i, s->place),
                                        s->base->tensors[i], &f);
        if (e == ERR_NONE)
            e = gpu_comparer_end(comparer, &r, &f);
        if (e != ERR_NONE)
            return fail(c, &f);
        check_tally_output(&c->tally, &task, &r, s->base->distribution, which, list);
    }
    return c->tally.verdict == VERDICT_PASSED;
}

/* The outputs of the first of two runs go to where the baseline writes. */
static enum err keep_first(const struct keeper_task *t, struct fault *f)
{
    CUresult r = CUDA_SUCCESS;
    for (size_t i = 0; i < t->problem->tensor_count && r == CUDA_SUCCESS; i++)
        if (t->problem->tensors[i].role == TENSOR_OUTPUT)
            r = cu.MemcpyDtoDAsync(slot_address(&t->dummy_baseline, i, MEMORY_END),
                                   slot_address(&t->dummy, i, MEMORY_END), t->shape.bytes[i], NULL);
    return driver_check(r, f, "keep an output");
}

static enum err count_different(const struct keeper_task *t, uint64_t *bytes, struct fault *f)
{
    enum err e = ERR_NONE;
    *bytes = 0;
    for (size_t i = 0; i < t->problem->tensor_count && e == ERR_NONE; i++) {
        uint64_t here = 0;
        if (t->problem->tensors[i].role != TENSOR_OUTPUT)
            continue;
        e = kernels_count_different(
            &t->gpu->kernels, slot_address(&t->dummy_baseline, i, MEMORY_END),
            slot_address(&t->dummy, i, MEMORY_END), t->shape.bytes[i], &here, f);
        *bytes += here;
    }
    return e;
}

/* The second run on the same input; *same says if all bits agree. Where they do not, the first run
 * may be the wrong one. */
static bool run_again(struct checker *c, const struct setting *s, bool *same, json_t *list)
{
    struct fault f = {0};
    uint64_t different = 0;
    if (keep_first(c->t, &f) != ERR_NONE)
        return fail(c, &f);
    if (!run(c, s, false))
        return false;
    if (count_different(c->t, &different, &f) != ERR_NONE)
        return fail(c, &f);
    *same = !different;
    if (*same)
        return true;
    c->tally.flags |= FLAG_nondeterministic;
    bool ok = compare_outputs(c, s, &c->t->dummy_baseline, "", list);
    if (ok)
        json_array_clear(list);
    return ok;
}

static bool trial(struct checker *c, size_t d)
{
    struct setting s = {.base = keeper_task_base(c->t, d), .place = MEMORY_END};
    bool twice = d == 0, same = true;
    json_t *list = json_array();
    bool ran = run(c, &s, twice);
    bool ok = ran && (!twice || run_again(c, &s, &same, list));
    if (ok)
        ok = compare_outputs(c, &s, &c->t->dummy, same ? "" : " in the second run", list);
    if (ran && (ok || json_array_size(list)))
        check_tally_trial(&c->tally, s.base->distribution, s.base->seed, twice ? &same : NULL,
                          list);
    else
        json_decref(list);
    return ok;
}

/* The last trial's input once more, every tensor right behind a guard page. */
static bool trial_at_start(struct checker *c, size_t d)
{
    struct setting s = {.base = keeper_task_base(c->t, d), .place = MEMORY_START};
    return run(c, &s, false) && compare_outputs(c, &s, &c->t->dummy, " at other addresses", NULL);
}

/* From now on the seeds belong to this submission. */
static json_t *publish_seeds(struct keeper_task *t)
{
    json_t *seeds = json_array();
    for (size_t d = 0; d < t->problem->distribution_count; d++) {
        char text[SEED_TEXT];
        struct task_base *b = keeper_task_base(t, d);
        b->published = true;
        seed_text(b->seed, text);
        json_array_append_new(seeds, json_string(text));
    }
    return seeds;
}

static void finish(struct checker *c, json_t *result)
{
    json_t *check = check_tally_finish(&c->tally);
    if (check && c->t->baseline_check)
        json_object_set(check, "baseline", c->t->baseline_check);
    json_object_set_new(result, "check", check ? check : json_null());
    json_object_set_new(result, "captures", c->captures);
    if (c->tally.verdict != c->end->verdict)
        keeper_end_set(c->end, c->tally.verdict, "%s", c->tally.detail);
    c->end->flags |= c->tally.flags;
    check_tally_release(&c->tally);
}

bool keeper_check(struct keeper_job *j, const json_t *request, json_t *result,
                  struct keeper_end *end)
{
    double start_s = now_s();
    struct checker c = {.j = j,
                        .t = j->task,
                        .end = end,
                        .captures = json_array(),
                        .plan_ms = json_integer_value(json_object_get(request, "ms"))};
    size_t total = j->task->problem->distribution_count;
    check_tally_init(&c.tally);
    json_object_set_new(result, "seeds", publish_seeds(j->task));
    bool ok = true;
    for (size_t d = 0; ok && d < total; d++) {
        ok = trial(&c, d);
        keeper_job_progress(j, d + 1, total);
    }
    if (ok && !slot_is_tight(&j->task->dummy, &j->task->shape))
        trial_at_start(&c, total - 1);
    finish(&c, result);
    keeper_job_part(j, "check", start_s);
    return end->verdict == VERDICT_PASSED;
}
