// SPDX-License-Identifier: Apache-2.0
#include "evaluator/check_tally.h"

#include <stdarg.h>
#include <stdio.h>

struct compare_rule check_rule(const struct problem *p, size_t tensor, const struct distribution *d)
{
    double excess_max = p->tensors[tensor].strict_excess * d->slack;
    return (struct compare_rule){.atol = p->atol * d->slack,
                                 .rtol = p->rtol,
                                 .bad_share = p->bad_share,
                                 .excess_max = excess_max,
                                 .part_max = excess_max * p->parts,
                                 .exact = d->exact};
}

void check_tally_init(struct check_tally *t)
{
    *t = (struct check_tally){.verdict = VERDICT_PASSED, .strict = true, .trials = json_array()};
}

void check_tally_release(struct check_tally *t)
{
    json_decref(t->trials);
    t->trials = NULL;
}

bool check_tally_stop(struct check_tally *t, enum verdict verdict, const char *fmt, ...)
{
    va_list ap;
    t->verdict = verdict;
    va_start(ap, fmt);
    vsnprintf(t->detail, sizeof(t->detail), fmt, ap);
    va_end(ap);
    return false;
}

static void describe_bad(struct check_tally *t, const struct compare_task *task,
                         const struct compare_result *r, const struct distribution *d,
                         const char *which)
{
    check_tally_stop(t, VERDICT_INCORRECT_NUMERICAL,
                     "%s: %lld of %lld elements are wrong on %s inputs%s%s%.160s", task->name,
                     (long long)r->bad, (long long)r->elements, d->name, which,
                     r->hint_count ? "; " : "", r->hint_count ? r->hints[0] : "");
}

void check_tally_output(struct check_tally *t, const struct compare_task *task,
                        const struct compare_result *r, const struct distribution *d,
                        const char *which, json_t *list)
{
    if (list)
        json_array_append_new(list, compare_json(task, r));
    t->has_strict = t->has_strict || task->rule.excess_max > 0 || task->rule.exact;
    t->strict = t->strict && r->strict;
    if (!r->paper &&
        t->verdict == VERDICT_PASSED) /* the first in the problem's order is the one to mend */
        describe_bad(t, task, r, d, which);
}

void check_tally_trial(struct check_tally *t, const struct distribution *d, struct seed seed,
                       const bool *runs_agree, json_t *list)
{
    char text[SEED_TEXT];
    seed_text(seed, text);
    json_array_append_new(t->trials, json_pack("{s:s, s:s, s:o, s:o}", "distribution", d->name,
                                               "seed", text, "deterministic",
                                               runs_agree ? json_boolean(*runs_agree) : json_null(),
                                               "tensors", list));
}

json_t *check_tally_finish(struct check_tally *t)
{
    bool paper = t->verdict == VERDICT_PASSED;
    bool decided = paper || t->verdict == VERDICT_INCORRECT_NUMERICAL;
    if (paper && t->has_strict && !t->strict)
        t->flags |= FLAG_loose;
    if (!json_array_size(t->trials))
        return NULL;
    json_t *strict = decided && t->has_strict ? json_boolean(paper && t->strict) : json_null();
    return json_pack("{s:s, s:o, s:o, s:O}", "rule", "paper", "paper",
                     decided ? json_boolean(paper) : json_null(), "strict", strict, "trials",
                     t->trials);
}
