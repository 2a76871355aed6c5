// SPDX-License-Identifier: Apache-2.0
#include "evaluator/device.h"

#include <stdlib.h>
#include <string.h>

#include "core/util.h"
#include "evaluator/device_cpu.h"
#include "evaluator/device_cuda.h"

#define CUDA "cuda:"
enum { INDEX_DIGITS = 3 };

static const struct device devices[] = {
    {
        .prefix = "cpu",
        .model = "ptxvm",
        .begin = cpu_begin,
        .stages = {
            [STAGE_check] = {cpu_check, NULL},
            [STAGE_sanitize] = {NULL, "check already ran with every access and barrier checked"},
            [STAGE_time] = {NULL, "the cpu device has no time worth comparing"},
            [STAGE_verify] = {cpu_verify, NULL},
        },
    },
    {
        .prefix = CUDA,
        .model = "GPU",
        .stages = {
            [STAGE_check] = {cuda_check, NULL},
            [STAGE_sanitize] = {cuda_sanitize, NULL},
            [STAGE_time] = {cuda_time, NULL},
            [STAGE_verify] = {cuda_verify, NULL},
        },
    },
};

/* The index behind `prefix` in a name such as "cuda:0"; -1 if it is not like that. */
static int index_of(const char *name, const char *prefix)
{
    size_t n = strlen(prefix);
    const char *digits = name + n;
    if (strncmp(name, prefix, n) != 0 || !*digits || strspn(digits, "0123456789") != strlen(digits) ||
        strlen(digits) > INDEX_DIGITS)
        return -1;
    return (int)strtol(digits, NULL, 10);
}

/* A prefix that ends in ':' is followed by an index; any other is the whole name. */
static bool is_named(const struct device *d, const char *name)
{
    return d->prefix[strlen(d->prefix) - 1] == ':' ? index_of(name, d->prefix) >= 0
                                                   : !strcmp(name, d->prefix);
}

int device_ordinal(const char *name)
{
    return index_of(name, CUDA);
}

const struct device *device_find(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(devices); i++)
        if (is_named(&devices[i], name))
            return &devices[i];
    return NULL;
}
