// SPDX-License-Identifier: Apache-2.0
#include "evaluator/worker_keeper.h"

#include <stdio.h>
#include <string.h>

#include "core/log.h"
#include "core/util.h"

enum {
    READY_MS = 120 * 1000, /* a keeper compiles its kernels and looks for the libraries */
    PAUSE_FIRST_MS = 500,
    PAUSE_MAX_MS = 60 * 1000,
    STEADY_MS = 10 * 1000, /* one that was ready for so long starts afresh in the count */
};

static bool is_ready(const struct worker_keeper *k)
{
    return k->running && k->keeper.device;
}

void worker_keeper_init(struct worker_keeper *k, int ordinal)
{
    *k = (struct worker_keeper){.ordinal = ordinal, .detail = "its keeper starts"};
}

void worker_keeper_stop(struct worker_keeper *k)
{
    if (k->running)
        keeper_stop(&k->keeper);
    k->running = false;
}

static void lose(struct worker_keeper *k, const char *why)
{
    bool steady = is_ready(k) && now_ms() - k->ready_since > STEADY_MS;
    k->failures = steady ? 1 : k->failures + 1;
    int64_t pause_ms = PAUSE_FIRST_MS;
    for (int i = 1; i < k->failures && pause_ms < PAUSE_MAX_MS; i++)
        pause_ms *= 2;
    snprintf(k->detail, sizeof(k->detail), "%s", why);
    log_warn("keeper lost", "device=cuda:%d reason=\"%s\" pause_ms=%lld", k->ordinal, k->detail,
             (long long)pause_ms);
    worker_keeper_stop(k);
    k->due = now_ms() + (pause_ms < PAUSE_MAX_MS ? pause_ms : PAUSE_MAX_MS);
    k->changes++;
}

static void start(struct worker_keeper *k)
{
    struct fault f = {0};
    if (keeper_start(&k->keeper, k->ordinal, &f) != ERR_NONE) {
        lose(k, f.detail);
        return;
    }
    k->running = true;
    k->generation++;
    k->due = now_ms() + READY_MS;
}

static void listen_to_it(struct worker_keeper *k)
{
    struct fault f = {0};
    bool was_ready = is_ready(k);
    unsigned healths = k->keeper.healths;
    enum err e = keeper_listen(&k->keeper, &f);
    if (e == ERR_NONE && !is_ready(k) && now_ms() >= k->due)
        e = fault_set(&f, ERR_DEADLINE, "the keeper was not ready in %d s", READY_MS / 1000);
    if (e != ERR_NONE) {
        lose(k, f.detail);
        return;
    }
    if (is_ready(k) && !was_ready) {
        k->ready_since = now_ms();
        k->detail[0] = '\0';
        log_info("keeper ready", "device=cuda:%d model=\"%s\"", k->ordinal,
                 json_string_value(json_object_get(k->keeper.device, "name")));
    }
    k->changes += is_ready(k) && (!was_ready || k->keeper.healths != healths);
}

void worker_keeper_turn(struct worker_keeper *k)
{
    if (k->ordinal < 0)
        return;
    if (!k->running && now_ms() >= k->due)
        start(k);
    if (k->running)
        listen_to_it(k);
}

int64_t worker_keeper_due(const struct worker_keeper *k)
{
    return k->ordinal < 0 || is_ready(k) ? INT64_MAX : k->due;
}

int worker_keeper_fd(const struct worker_keeper *k)
{
    return k->running ? k->keeper.control : -1;
}

const char *worker_keeper_state(const struct worker_keeper *k, const char **detail)
{
    *detail = k->detail[0] ? k->detail : NULL;
    if (k->ordinal < 0)
        return "ok";
    if (!is_ready(k))
        return "out";
    const char *state = json_string_value(json_object_get(k->keeper.health, "state"));
    *detail = json_string_value(json_object_get(k->keeper.health, "detail"));
    return !state || !strcmp(state, "ok") ? "ok" : !strcmp(state, "hot") ? "hot" : "suspect";
}

bool worker_keeper_serves(const struct worker_keeper *k)
{
    const char *detail;
    return !strcmp(worker_keeper_state(k, &detail), "ok");
}

void worker_keeper_blame(struct worker_keeper *k, unsigned generation, const char *why)
{
    if (k->running && k->generation == generation)
        lose(k, why);
}
