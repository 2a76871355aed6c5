// SPDX-License-Identifier: Apache-2.0
#include "evaluator/cuda/nvml.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/util.h"
#include "evaluator/timing_stats.h"

/* Constants of NVML's interface, which does not change them. */
enum { CLOCK_SM = 1, CLOCK_MEMORY = 2, SENSOR_GPU = 0, ECC_UNCORRECTED = 1, ECC_VOLATILE = 0 };

static struct functions {
#define NVML(name, symbol, parameters) int(*name) parameters;
#include "evaluator/cuda/nvml.def"
#undef NVML
} nvml;

static const struct {
    const char *symbol;
    size_t offset;
} entries[] = {
#define NVML(name, symbol, parameters) {symbol, offsetof(struct functions, name)},
#include "evaluator/cuda/nvml.def"
#undef NVML
};

static const struct {
    uint32_t bit;
    const char *name;
    bool slowdown;
} reasons[] = {
#define THROTTLE(id, bit, name, slowdown) {bit, name, slowdown},
#include "evaluator/cuda/nvml_throttle.def"
#undef THROTTLE
};

/* The numbers of a sample that a set says minimum, median and maximum of. */
static const struct {
    const char *name;
    size_t offset;
} ranges[] = {
    {"sm_mhz", offsetof(struct nvml_sample, sm_mhz)},
    {"memory_mhz", offsetof(struct nvml_sample, memory_mhz)},
    {"temperature_c", offsetof(struct nvml_sample, temperature_c)},
    {"power_w", offsetof(struct nvml_sample, power_w)},
};

static enum err load(struct nvml *n, struct fault *f)
{
    n->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!n->library)
        return fault_set(f, ERR_UNAVAILABLE, "cannot watch the device: %s", dlerror());
    for (size_t i = 0; i < COUNT_OF(entries); i++) {
        void *symbol = dlsym(n->library, entries[i].symbol);
        if (!symbol)
            return fault_set(f, ERR_UNAVAILABLE, "cannot watch the device: NVML has no %s",
                             entries[i].symbol);
        memcpy((char *)&nvml + entries[i].offset, &symbol, sizeof(symbol));
    }
    return ERR_NONE;
}

enum err nvml_open(struct nvml *out, const char *uuid, struct fault *f)
{
    char name[64];
    *out = (struct nvml){0};
    enum err e = load(out, f);
    if (e == ERR_NONE) {
        snprintf(name, sizeof(name), "GPU-%.48s", uuid);
        int r = nvml.init();
        r = r ? r : nvml.find(name, &out->device);
        if (r)
            e = fault_set(f, ERR_UNAVAILABLE, "cannot watch the device %s: NVML answers %d", name,
                          r);
    }
    if (e != ERR_NONE)
        nvml_close(out);
    return e;
}

void nvml_close(struct nvml *n)
{
    if (n->device)
        nvml.shutdown();
    if (n->library)
        dlclose(n->library);
    *n = (struct nvml){0};
}

static double known(int result, unsigned value, double unit)
{
    return result == 0 ? value * unit : NAN;
}

void nvml_read(const struct nvml *n, struct nvml_sample *out)
{
    *out = (struct nvml_sample){NAN, NAN, NAN, NAN, NAN, false, 0, -1};
    if (!n->device)
        return;
    unsigned value = 0;
    unsigned long long wide = 0;
    int r = nvml.clock(n->device, CLOCK_SM, &value);
    out->sm_mhz = known(r, value, 1);
    r = nvml.clock(n->device, CLOCK_MEMORY, &value);
    out->memory_mhz = known(r, value, 1);
    r = nvml.max_clock(n->device, CLOCK_SM, &value);
    out->max_sm_mhz = known(r, value, 1);
    r = nvml.temperature(n->device, SENSOR_GPU, &value);
    out->temperature_c = known(r, value, 1);
    r = nvml.power(n->device, &value);
    out->power_w = known(r, value, 1e-3);
    out->throttle_known = nvml.throttle(n->device, &wide) == 0;
    out->throttle = out->throttle_known ? (uint32_t)wide : 0;
    if (nvml.ecc(n->device, ECC_UNCORRECTED, ECC_VOLATILE, &wide) == 0)
        out->ecc_uncorrected = (int64_t)wide;
}

static json_t *number(double x)
{
    return isnan(x) ? json_null() : json_real(x);
}

static json_t *count(int64_t n)
{
    return n < 0 ? json_null() : json_integer(n);
}

json_t *nvml_sample_json(const struct nvml_sample *s)
{
    json_t *names = s->throttle_known ? json_array() : json_null();
    for (size_t i = 0; s->throttle_known && i < COUNT_OF(reasons); i++)
        if (s->throttle & reasons[i].bit)
            json_array_append_new(names, json_string(reasons[i].name));
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "temperature_c", number(s->temperature_c),
                     "sm_mhz", number(s->sm_mhz), "memory_mhz", number(s->memory_mhz), "power_w",
                     number(s->power_w), "throttle", names, "ecc_errors",
                     count(s->ecc_uncorrected));
}

void nvml_set_add(struct nvml_set *set, const struct nvml_sample *s)
{
    set->samples[set->count++ % NVML_SAMPLES] = *s;
}

static size_t kept(const struct nvml_set *set)
{
    return set->count < NVML_SAMPLES ? set->count : NVML_SAMPLES;
}

/* {"min", "median", "max"} of the known values at this place in the samples, or null. */
static json_t *range(const struct nvml_set *set, size_t offset)
{
    double values[NVML_SAMPLES], x;
    size_t n = 0;
    for (size_t i = 0; i < kept(set); i++) {
        memcpy(&x, (const char *)&set->samples[i] + offset, sizeof(x));
        if (!isnan(x))
            values[n++] = x;
    }
    if (!n)
        return json_null();
    double median = timing_median(values, n); /* and sorts them */
    return json_pack("{s:f, s:f, s:f}", "min", values[0], "median", median, "max", values[n - 1]);
}

/* Share of the samples that tell it, for each reason seen; null if none tells. */
static json_t *shares(const struct nvml_set *set)
{
    size_t told = 0, seen[COUNT_OF(reasons)] = {0};
    for (size_t i = 0; i < kept(set); i++) {
        told += set->samples[i].throttle_known;
        for (size_t r = 0; r < COUNT_OF(reasons); r++)
            seen[r] += (set->samples[i].throttle & reasons[r].bit) != 0;
    }
    json_t *out = told ? json_object() : json_null();
    for (size_t r = 0; told && r < COUNT_OF(reasons); r++)
        if (seen[r])
            json_object_set_new(out, reasons[r].name, json_real((double)seen[r] / (double)told));
    return out;
}

/* Errors that came in while the set was taken. */
static json_t *ecc_since(const struct nvml_set *set)
{
    int64_t first = -1, most = -1;
    for (size_t i = 0; i < kept(set); i++) {
        int64_t n = set->samples[i].ecc_uncorrected;
        first = n >= 0 && (first < 0 || n < first) ? n : first;
        most = n > most ? n : most;
    }
    return first < 0 ? json_null() : json_integer(most - first);
}

json_t *nvml_set_json(const struct nvml_set *set)
{
    json_t *out = json_pack("{s:I}", "samples", (json_int_t)set->count);
    json_t *top = range(set, offsetof(struct nvml_sample, max_sm_mhz));
    json_t *max_mhz = json_object_get(top, "max");
    json_object_set_new(out, "max_sm_mhz", max_mhz ? json_incref(max_mhz) : json_null());
    json_decref(top);
    for (size_t i = 0; i < COUNT_OF(ranges); i++)
        json_object_set_new(out, ranges[i].name, range(set, ranges[i].offset));
    json_object_set_new(out, "throttle", shares(set));
    json_object_set_new(out, "ecc_errors", ecc_since(set));
    return out;
}

bool nvml_slowed_down(const struct nvml_set *set)
{
    for (size_t i = 0; i < kept(set); i++)
        for (size_t r = 0; r < COUNT_OF(reasons); r++)
            if (reasons[r].slowdown && set->samples[i].throttle & reasons[r].bit)
                return true;
    return false;
}
