// SPDX-License-Identifier: Apache-2.0
#include "evaluator/worker_hands.h"

int hands_busy(const struct worker_hands *h)
{
    int n = 0;
    for (int i = 0; i < HANDS; i++)
        n += h->job[i].busy;
    return n;
}

bool hands_compile(const struct worker_hands *h)
{
    for (int i = 0; i < HANDS; i++)
        if (h->job[i].busy && !h->job[i].on_device)
            return true;
    return false;
}

bool hands_hold(const struct worker_hands *h, int64_t job)
{
    for (int i = 0; i < HANDS; i++)
        if (h->job[i].busy && h->job[i].job.id == job)
            return true;
    return false;
}

struct worker_job *hands_free(struct worker_hands *h)
{
    for (int i = 0; i < HANDS; i++)
        if (!h->job[i].busy)
            return &h->job[i];
    return NULL;
}

void hands_fds(const struct worker_hands *h, struct pollfd fds[HANDS_FDS])
{
    for (int i = 0; i < HANDS; i++)
        worker_child_fds(&h->job[i].child, fds + i * WORKER_CHILD_FDS);
}

void hands_stop(struct worker_hands *h, enum worker_stop why)
{
    for (int i = 0; i < HANDS; i++)
        worker_job_stop(&h->job[i], why);
}

int64_t hands_budget_end(const struct worker_hands *h)
{
    int64_t end = INT64_MAX;
    for (int i = 0; i < HANDS; i++)
        if (h->job[i].busy && !h->job[i].stop && h->job[i].budget_end < end)
            end = h->job[i].budget_end;
    return end;
}

void hands_stop_overdue(struct worker_hands *h)
{
    for (int i = 0; i < HANDS; i++)
        if (now_ms() >= h->job[i].budget_end)
            worker_job_stop(&h->job[i], STOP_BUDGET);
}

void hands_begin_budgets(struct worker_hands *h)
{
    for (int i = 0; i < HANDS; i++)
        h->job[i].budget_end = now_ms() + (int64_t)h->job[i].job.timeout_s * 1000;
}

void hands_release(struct worker_hands *h)
{
    for (int i = 0; i < HANDS; i++)
        worker_job_release(&h->job[i]);
}
