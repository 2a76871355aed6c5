// SPDX-License-Identifier: Apache-2.0
#include "evaluator/cuda/keeper_gpu.h"

#include <stddef.h>

#include "core/log.h"

static const struct arch *arch_of(const struct archs *archs, int sm)
{
    for (size_t i = 0; i < archs->count; i++)
        if (archs->items[i].sm == sm)
            return &archs->items[i];
    return NULL;
}

static double attribute(const struct driver_device *d, CUdevice_attribute which)
{
    int value = 0;
    return cu.DeviceGetAttribute(&value, which, d->device) == CUDA_SUCCESS ? value : 0;
}

/* arch.json describes one card of the architecture; a larger or faster one has higher peaks, and
 * what it can do must not be called implausible. Memory moves two words a clock. */
static void find_peaks(struct keeper_gpu *g)
{
    const struct arch *a = g->arch;
    double clock_mhz = attribute(&g->device, CU_DEVICE_ATTRIBUTE_CLOCK_RATE) / 1e3;
    double memory_hz = attribute(&g->device, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) * 1e3;
    double bus_bytes = attribute(&g->device, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) / 8;
    double wider = (double)g->device.num_sms / a->num_sms, faster = clock_mhz / a->max_clock_mhz;
    g->flops_per_s = a->dense_bf16_flops * (wider > 1 ? wider : 1) * (faster > 1 ? faster : 1);
    g->bytes_per_s = 2 * memory_hz * bus_bytes;
    if (g->bytes_per_s < a->memory_bytes_per_s)
        g->bytes_per_s = a->memory_bytes_per_s;
}

enum err keeper_gpu_open(struct keeper_gpu *g, int ordinal, const struct archs *archs,
                         struct fault *f)
{
    *g = (struct keeper_gpu){.ordinal = ordinal, .lock = {-1, -1}};
    enum err e = driver_open(ordinal, &g->device, f);
    if (e != ERR_NONE)
        return e;
    g->arch = arch_of(archs, g->device.sm);
    if (!g->arch)
        return fault_set(f, ERR_UNAVAILABLE, "cannot use %s: there is no architecture with sm %d",
                         g->device.name, g->device.sm);
    find_peaks(g);
    struct fault unknown = {0};
    if (nvml_open(&g->nvml, g->device.uuid, &unknown) != ERR_NONE)
        log_warn("clocks stay unknown", "detail=\"%s\"", unknown.detail);
    e = device_lock_open(&g->lock, g->device.uuid, f);
    return e == ERR_NONE ? kernels_open(&g->kernels, g->arch, f) : e;
}

void keeper_gpu_close(struct keeper_gpu *g)
{
    kernels_close(&g->kernels);
    device_lock_close(&g->lock);
    nvml_close(&g->nvml);
    driver_close(&g->device);
}

bool keeper_gpu_is_sick(const struct keeper_gpu *g)
{
    (void)g;
    return driver_is_sticky(cu.CtxSynchronize());
}
