// SPDX-License-Identifier: Apache-2.0
// Loads what every request is judged against, and holds the parts against each other: a problem
// whose oracle cannot be launched is found at start-up, not by the first submission.
#include "core/submission.h"

/* Reads one launch plan of the oracle for every workload and architecture. */
static enum err check_plan(const struct registry *r, const struct problem *p, const json_t *launch,
                           const struct problem *as, const char *path, struct fault *f)
{
    enum err e = ERR_NONE;
    for (size_t k = 0; k < r->archs.count * p->workload_count && e == ERR_NONE; k++) {
        const struct arch *a = &r->archs.items[k / p->workload_count];
        const struct workload *w = &p->workloads[k % p->workload_count];
        struct faults faults = {0};
        plan_free(plan_parse(launch, as, w, a, path, &faults));
        char first[2 * LIMIT_DETAIL];
        if (faults_any(&faults))
            e = fault_set(f, ERR_INVALID, "cannot use problem %s, workload %s on %s: %s", p->name,
                          w->name, a->name, faults_first(&faults, first, sizeof(first)));
        faults_release(&faults);
    }
    return e;
}

static enum err check_oracles(const struct registry *r, struct fault *f)
{
    enum err e = ERR_NONE;
    for (size_t i = 0; i < r->problems.count && e == ERR_NONE; i++) {
        const struct problem *p = &r->problems.items[i];
        struct problem as;
        problem_as_oracle(p, &as);
        e = check_plan(r, p, p->oracle_launch, &as, "$.oracle.launch", f);
        problem_as_derive(p, &as);
        if (e == ERR_NONE && p->derive_launch)
            e = check_plan(r, p, p->derive_launch, &as, "$.oracle.derive.launch", f);
    }
    return e;
}

enum err registry_load(struct registry *r, const char *home, struct fault *f)
{
    *r = (struct registry){0};
    enum err e = archs_load(&r->archs, home, f);
    if (e == ERR_NONE)
        e = problems_load(&r->problems, home, f);
    if (e == ERR_NONE)
        e = check_oracles(r, f);
    if (e != ERR_NONE)
        registry_release(r);
    return e;
}

void registry_release(struct registry *r)
{
    problems_release(&r->problems);
    archs_release(&r->archs);
}
