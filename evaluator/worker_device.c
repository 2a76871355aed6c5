// SPDX-License-Identifier: Apache-2.0
#include "evaluator/worker_device.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/buf.h"

/* Is `word` one of the words of `text`, whatever the case? "h200" is one of "NVIDIA H200". */
static bool has_word(const char *text, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = text; *at; at += strcspn(at, " "), at += strspn(at, " "))
        if (strcspn(at, " ") == n && strncasecmp(at, word, n) == 0)
            return true;
    return false;
}

static void add_lane(struct buf *lanes, const char *arch, const char *device)
{
    buf_addf(lanes, "%s%s/%s", lanes->len > 1 ? "," : "", arch, device);
}

static enum err keep_lanes(struct worker_device *d, struct buf *lanes, struct fault *f)
{
    buf_adds(lanes, "}");
    bool fits = !lanes->failed;
    if (fits)
        memcpy(d->lanes, lanes->data, lanes->len + 1);
    buf_release(lanes);
    return fits ? ERR_NONE
                : fault_set(f, ERR_TOO_LARGE, "cannot list the lanes: too many architectures");
}

enum err worker_device_cpu(struct worker_device *d, const char *host, const struct archs *archs,
                           struct fault *f)
{
    struct buf lanes;
    buf_init(&lanes, sizeof(d->lanes) - 1);
    *d = (struct worker_device){.model = "ptxvm"};
    snprintf(d->uuid, sizeof(d->uuid), "cpu:%.100s", host);
    buf_adds(&lanes, "{");
    for (size_t i = 0; i < archs->count; i++)
        add_lane(&lanes, archs->items[i].name, "cpu");
    return keep_lanes(d, &lanes, f);
}

void worker_device_unknown(struct worker_device *d, const char *name, const char *host)
{
    *d = (struct worker_device){.model = "unknown", .lanes = "{}"};
    snprintf(d->uuid, sizeof(d->uuid), "%.20s:%.100s", name, host);
}

enum err worker_device_gpu(struct worker_device *d, const json_t *device, const struct archs *archs,
                           struct fault *f)
{
    const char *name, *uuid, *driver = "";
    int sm;
    struct buf lanes;
    if (json_unpack((json_t *)device, "{s:s, s:s, s:i, s?:s}", "name", &name, "uuid", &uuid, "sm", &sm,
                    "driver", &driver))
        return fault_set(f, ERR_BAD_REQUEST, "the keeper does not say what its device is");
    *d = (struct worker_device){.lanes = "{}"};
    snprintf(d->uuid, sizeof(d->uuid), "%s", uuid);
    snprintf(d->model, sizeof(d->model), "%s", name);
    snprintf(d->driver, sizeof(d->driver), "%s", driver);
    buf_init(&lanes, sizeof(d->lanes) - 1);
    buf_adds(&lanes, "{");
    for (size_t i = 0; i < archs->count; i++) {
        const struct arch *a = &archs->items[i];
        if (a->sm != sm)
            continue;
        add_lane(&lanes, a->name, "gpu");
        for (size_t k = 0; k < a->device_count; k++)
            if (has_word(name, a->devices[k]))
                add_lane(&lanes, a->name, a->devices[k]);
    }
    return keep_lanes(d, &lanes, f);
}
