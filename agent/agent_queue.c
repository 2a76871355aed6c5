// SPDX-License-Identifier: Apache-2.0
// The agent's business with the queue: signs of life, claims, leases.
#include "agent/agent_parts.h"

#include <string.h>

#include "core/log.h"
#include "core/util.h"

enum { CLAIMS = 16 }; /* at once: calls must go on meanwhile */

int64_t agent_jittered(int64_t ms)
{
    uint16_t r;
    random_bytes(&r, sizeof(r));
    return ms - ms / 4 + ms / 2 * r / UINT16_MAX;
}

struct lane *agent_lane(const struct agent *a, const char *name)
{
    for (size_t i = 0; i < a->config->providers->count; i++)
        if (!strcmp(a->lanes[i].name, name))
            return &a->lanes[i];
    return NULL;
}

bool agent_may_claim(const struct agent *a)
{
    return !a->stop_asked && (int)talk_running(a->bench.talker) < a->config->concurrency;
}

/* "{llm/a,llm/b}": lanes on which a call may begin now; false: none. */
static bool lanes_text(const struct agent *a, bool all, struct buf *out)
{
    int64_t now = now_ms();
    for (size_t i = 0; i < a->config->providers->count; i++)
        if (all || lane_open(&a->lanes[i], now))
            buf_addf(out, "%c\"%s\"", out->len ? ',' : '{', a->lanes[i].name);
    bool some = out->len;
    buf_adds(out, "}");
    return some && !out->failed;
}

enum err agent_introduce(struct agent *a, struct fault *f)
{
    char uuid[100];
    struct buf lanes;
    buf_init(&lanes, 64 * KIB);
    lanes_text(a, true, &lanes);
    snprintf(uuid, sizeof(uuid), "llm:%s", a->host);
    enum err e = queue_worker_start(a->bench.db,
                                    &(struct worker_info){.name = a->name,
                                                          .host = a->host,
                                                          .device = "llm",
                                                          .device_uuid = uuid,
                                                          .device_model = "agent",
                                                          .lanes = lanes.data,
                                                          .lease_ms = a->config->lease_ms},
                                    f);
    buf_release(&lanes);
    a->introduced = e == ERR_NONE;
    return e;
}

static void take(struct agent *a, struct step_job *job)
{
    char name[LANE_NAME];
    snprintf(name, sizeof(name), "llm/%s", job->provider);
    struct lane *lane = agent_lane(a, name);
    struct hand *h = lane ? hand_new(&a->bench, lane, job) : NULL;
    if (!h) { /* its lease runs out */
        log_error("cannot take a job", "job=%lld provider=%s", (long long)job->id, job->provider);
        step_job_release(job);
        return;
    }
    h->sibling = a->hands;
    a->hands = h;
    hand_advance(h);
}

/* One job, if there is one and a call could begin. *more: there may be another. */
static enum err claim(struct agent *a, bool *more, struct fault *f)
{
    struct step_job job = {0};
    struct buf lanes;
    bool got = false, open;
    buf_init(&lanes, 64 * KIB);
    open = agent_may_claim(a) && lanes_text(a, false, &lanes);
    enum err e =
        open ? step_claim(a->bench.db, a->name, lanes.data, a->config->lease_ms, &job, &got, f)
             : ERR_NONE;
    buf_release(&lanes);
    *more = got;
    a->idle = open && !got && !a->hands && e == ERR_NONE;
    if (e == ERR_NONE && got)
        take(a, &job);
    return e;
}

enum err agent_claim(struct agent *a, struct fault *f)
{
    enum err e = ERR_NONE;
    bool more = true;
    a->hinted = false;
    a->claim_due = now_ms() + agent_jittered(a->config->poll_ms);
    for (int i = 0; more && i < CLAIMS && e == ERR_NONE; i++)
        e = claim(a, &more, f);
    a->hinted = a->hinted || more;
    return e;
}

/* Ends what the database says is not ours any more. */
static void stop_lost(struct agent *a, const json_t *lost)
{
    const json_t *id;
    size_t i;
    json_array_foreach(lost, i, id) for (struct hand *h = a->hands; h;
                                         h = h->sibling) if (h->job.id == json_integer_value(id))
        hand_stop(h, "the run was cancelled, or the lease was lost");
}

/* Renews all leases; without one it says that we live. */
enum err agent_beat(struct agent *a, struct fault *f)
{
    struct buf ids, attempts;
    json_t *lost = NULL;
    a->beat_due = now_ms() + a->config->beat_ms;
    buf_init(&ids, MIB);
    buf_init(&attempts, MIB);
    for (const struct hand *h = a->hands; h; h = h->sibling) {
        buf_addf(&ids, "%c%lld", ids.len ? ',' : '{', (long long)h->job.id);
        buf_addf(&attempts, "%c%d", attempts.len ? ',' : '{', h->job.attempt);
    }
    buf_adds(&ids, ids.len ? "}" : "{}");
    buf_adds(&attempts, attempts.len ? "}" : "{}");
    enum err e = ids.failed || attempts.failed
                     ? fault_set(f, ERR_NO_MEMORY, "cannot list jobs: out of memory")
                     : step_heartbeat(a->bench.db, a->name, ids.data, attempts.data,
                                      a->config->lease_ms, &lost, f);
    stop_lost(a, lost);
    json_decref(lost);
    buf_release(&ids);
    buf_release(&attempts);
    return e;
}

enum err agent_reap(struct agent *a, struct fault *f)
{
    int count = 0;
    a->reap_due = now_ms() + a->config->reap_ms;
    enum err e = queue_reap(a->bench.db, &count, f);
    if (e == ERR_NONE && count)
        log_warn("took back jobs of lost workers", "count=%d", count);
    return e;
}
