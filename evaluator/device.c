// SPDX-License-Identifier: Apache-2.0
#include "evaluator/device.h"

#include <string.h>

#include "core/util.h"
#include "evaluator/device_cpu.h"

static const struct device devices[] = {
    {
        .prefix = "cpu",
        .model = "ptxvm",
        .stages = {
            [STAGE_check] = {cpu_check, NULL},
            [STAGE_sanitize] = {NULL, "check already ran with every access and barrier checked"},
            [STAGE_time] = {NULL, "the cpu device has no time worth comparing"},
            [STAGE_verify] = {cpu_verify, NULL},
        },
    },
};

/* A prefix that ends in ':' is followed by an index; any other is the whole name. */
static bool is_named(const struct device *d, const char *name)
{
    size_t n = strlen(d->prefix);
    return d->prefix[n - 1] == ':' ? !strncmp(name, d->prefix, n) : !strcmp(name, d->prefix);
}

const struct device *device_find(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(devices); i++)
        if (is_named(&devices[i], name))
            return &devices[i];
    return NULL;
}
