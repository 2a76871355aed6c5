// SPDX-License-Identifier: Apache-2.0
#include "evaluator/cuda/keeper_process.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/util.h"
#include "evaluator/cuda/keeper_job.h"

enum { HEALTH_MS = 5000, CHORES_MS = 20, SEND_MS = 10 * 1000 };
/* Above that the clocks begin to give way. */
#define HOT_C 85

static bool tell(struct keeper_process *p, json_t *event)
{
    bool ok = wire_send_json(p->control, FRAME_EVENT, event, NULL, 0, SEND_MS, NULL) == ERR_NONE;
    json_decref(event);
    return ok;
}

static bool tell_ready(struct keeper_process *p)
{
    const struct driver_device *d = &p->gpu.device;
    char version[16];
    snprintf(version, sizeof(version), "%d.%d", d->version / 1000, d->version % 1000 / 10);
    return tell(p, json_pack("{s:s, s:{s:s, s:s, s:i, s:i, s:I, s:s}}", "kind", "ready", "device",
                             "name", d->name, "uuid", d->uuid, "sm", d->sm, "num_sms", d->num_sms,
                             "memory_bytes", (json_int_t)d->memory_bytes, "driver", version));
}

static bool tell_health(struct keeper_process *p)
{
    struct nvml_sample s;
    struct nvml_set one = {0};
    nvml_read(&p->gpu.nvml, &s);
    nvml_set_add(&one, &s);
    const char *state = "ok", *detail = NULL;
    if (nvml_slowed_down(&one) || s.temperature_c > HOT_C) {
        state = "hot";
        detail = "the device is too warm or is slowed down by its hardware";
    }
    if (s.ecc_uncorrected > p->ecc_errors && p->ecc_errors >= 0) {
        state = "suspect";
        detail = "the device has had memory errors since the keeper started";
    }
    json_t *event = nvml_sample_json(&s);
    json_object_set_new(event, "kind", json_string("health"));
    json_object_set_new(event, "state", json_string(state));
    json_object_set_new(event, "detail", detail ? json_string(detail) : json_null());
    return tell(p, event);
}

static enum err open_process(struct keeper_process *p, int control, int ordinal, struct fault *f)
{
    struct nvml_sample s;
    *p = (struct keeper_process){.control = control};
    keeper_spares_init(&p->spares, ordinal);
    keeper_spares_start(&p->spares); /* beside all that follows */
    p->chores = CHORES_WANTED;
    enum err e = registry_load(&p->registry, home_dir(), f);
    if (e == ERR_NONE)
        e = keeper_gpu_open(&p->gpu, ordinal, &p->registry.archs, f);
    if (e == ERR_NONE)
        e = keeper_cache_init(&p->cache, &p->gpu, &p->registry.problems, f);
    if (e == ERR_NONE) {
        nvml_read(&p->gpu.nvml, &s);
        p->ecc_errors = s.ecc_uncorrected;
    }
    return e;
}

/* Between two submissions: spare processes are started and published bases drawn anew. Nothing is
 * waited for; the lock is held until all is done or the next submission comes, which takes it over.
 */
static void do_chores(struct keeper_process *p)
{
    struct fault f = {0};
    if (p->chores == CHORES_WANTED &&
        device_lock_take(&p->gpu.lock, DEVICE_LOCK_SHARED, 0, &f) == ERR_NONE) {
        keeper_spares_start(&p->spares);
        p->chores = CHORES_RUNNING;
        if (keeper_cache_renew(&p->cache, &f) != ERR_NONE)
            log_warn("cannot draw a base", "detail=\"%s\"", f.detail);
    }
    if (p->chores != CHORES_RUNNING || !keeper_spares_ready(&p->spares))
        return;
    CUresult r = cu.StreamQuery(NULL);
    p->sick = driver_is_sticky(r);
    if (r == CUDA_ERROR_NOT_READY)
        return;
    device_lock_drop(&p->gpu.lock);
    p->chores = CHORES_DONE;
}

/* One message of the owner; false if there is none to come. */
static bool listen_to_owner(struct keeper_process *p)
{
    struct wire_message m;
    bool ok = wire_receive(p->control, &m, LIMIT_REPORT, SEND_MS, NULL) == ERR_NONE;
    const char *op = json_string_value(json_object_get(m.json, "op"));
    if (ok && op && !strcmp(op, "connect") && m.fd_count == 1) {
        int fd = m.fds[0];
        m.fds[0] = -1;
        keeper_job_run(p, fd);
        p->chores = CHORES_WANTED;
        do_chores(p);
        ok = tell_health(p);
    }
    wire_message_release(&m);
    return ok;
}

static void loop(struct keeper_process *p)
{
    bool going = tell_ready(p) && tell_health(p);
    int64_t told_ms = now_ms();
    while (going && !p->sick) {
        struct pollfd owner = {.fd = p->control, .events = POLLIN};
        int n = poll(&owner, 1, p->chores == CHORES_DONE ? HEALTH_MS : CHORES_MS);
        if (n > 0) {
            going = listen_to_owner(p); /* which tells it as well */
            told_ms = now_ms();
        } else if (now_ms() - told_ms >= HEALTH_MS) {
            going = tell_health(p);
            told_ms = now_ms();
        }
        do_chores(p);
    }
    if (p->sick)
        tell(p, json_pack("{s:s, s:s}", "kind", "failed", "detail",
                          "the keeper has lost its context"));
}

int keeper_serve(int control, int ordinal)
{
    static struct keeper_process p;
    struct fault f = {0};
    bool opened = open_process(&p, control, ordinal, &f) == ERR_NONE;
    if (opened)
        loop(&p);
    else
        tell(&p, json_pack("{s:s, s:s}", "kind", "failed", "detail", f.detail));
    keeper_spares_stop(&p.spares);
    return opened && !p.sick ? EXIT_SUCCESS : EXIT_FAILURE; /* the rest goes with the process */
}
