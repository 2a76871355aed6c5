// SPDX-License-Identifier: Apache-2.0
#include "evaluator/cuda/sass_metrics.h"

#include <cupti_profiler_target.h>
#include <cupti_result.h>
#include <cupti_sass_metrics.h>
#include <cupti_target.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "core/util.h"

CUptiResult CUPTIAPI cuptiGetResultString(CUptiResult result, const char **str);

static struct functions {
#define CUPTI(name) __typeof__(&cupti##name) name;
#include "evaluator/cuda/cupti.def"
#undef CUPTI
} cupti;

static const struct {
    const char *name;
    size_t offset;
} entries[] = {
#define CUPTI(name) {"cupti" #name, offsetof(struct functions, name)},
#include "evaluator/cuda/cupti.def"
#undef CUPTI
};

static const char *const metrics[SASS_METRICS] = {
    [SASS_WARPS] = "smsp__sass_inst_executed",
    [SASS_THREADS] = "smsp__sass_thread_inst_executed_pred_on",
};

/* Where toolkits keep it when the loader does not know. */
static const char *const places[] = {
    "libcupti.so.13",
    "/usr/local/cuda/lib64/libcupti.so.13",
    "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13",
    "/usr/local/cuda/lib/libcupti.so.13",
    "/opt/cuda/extras/CUPTI/lib64/libcupti.so.13",
};

static enum err check(CUptiResult r, struct fault *f, const char *what)
{
    const char *text = NULL;
    if (r == CUPTI_SUCCESS)
        return ERR_NONE;
    if (r == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ||
        r == CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES)
        return fault_set(f, ERR_UNAVAILABLE,
                         "cannot count instructions: the driver lets only administrators read "
                         "performance counters (NVreg_RestrictProfilingToAdminUsers)");
    if (cupti.GetResultString(r, &text) != CUPTI_SUCCESS || !text)
        text = "an error that CUPTI does not know";
    return fault_set(f, ERR_UNAVAILABLE, "cannot count instructions: %s: %s", what, text);
}

static enum err load(struct fault *f)
{
    void *library = NULL;
    for (size_t i = 0; i < COUNT_OF(places) && !library; i++)
        library = dlopen(places[i], RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return fault_set(f, ERR_UNAVAILABLE,
                         "cannot count instructions: CUPTI 13 is not installed (libcupti.so.13)");
    for (size_t i = 0; i < COUNT_OF(entries); i++) {
        void *symbol = dlsym(library, entries[i].name);
        if (!symbol)
            return fault_set(f, ERR_UNAVAILABLE, "cannot count instructions: CUPTI has no %s",
                             entries[i].name);
        memcpy((char *)&cupti + entries[i].offset, &symbol, sizeof(symbol));
    }
    return ERR_NONE;
}

/* Asks what the metrics are called here. CUPTI reads files for that. */
static enum err find_metrics(struct sass_metrics *m, struct fault *f)
{
    CUpti_Device_GetChipName_Params chip = {CUpti_Device_GetChipName_Params_STRUCT_SIZE, NULL,
                                            (size_t)m->ordinal, NULL};
    enum err e = check(cupti.DeviceGetChipName(&chip), f, "name the chip");
    for (int i = 0; e == ERR_NONE && i < SASS_METRICS; i++) {
        CUpti_SassMetrics_GetProperties_Params p = {
            .structSize = CUpti_SassMetrics_GetProperties_Params_STRUCT_SIZE,
            .pChipName = chip.pChipName,
            .pMetricName = metrics[i]};
        e = check(cupti.SassMetricsGetProperties(&p), f, metrics[i]);
        m->ids[i] = p.metric.metricId;
    }
    return e;
}

/* Tells CUPTI what to count on the device. */
static enum err configure(const struct sass_metrics *m, struct fault *f)
{
    CUpti_SassMetrics_Config configs[SASS_METRICS];
    for (int i = 0; i < SASS_METRICS; i++)
        configs[i] = (CUpti_SassMetrics_Config){
            .metricId = m->ids[i], .outputGranularity = CUPTI_SASS_METRICS_OUTPUT_GRANULARITY_GPU};
    CUpti_SassMetricsSetConfig_Params p = {.structSize =
                                               CUpti_SassMetricsSetConfig_Params_STRUCT_SIZE,
                                           .numOfMetricConfig = SASS_METRICS,
                                           .pConfigs = configs,
                                           .deviceIndex = (uint32_t)m->ordinal};
    return check(cupti.SassMetricsSetConfig(&p), f, "set the metrics");
}

enum err sass_metrics_begin(struct sass_metrics *m, struct fault *f)
{
    if (m->used)
        return fault_set(f, ERR_UNAVAILABLE,
                         "cannot count instructions: a process can do so only once");
    CUpti_SassMetricsEnable_Params p = {.structSize = CUpti_SassMetricsEnable_Params_STRUCT_SIZE,
                                        .ctx = m->context,
                                        .enableLazyPatching = 1};
    m->used = true;
    enum err e = configure(m, f);
    if (e == ERR_NONE)
        e = check(cupti.SassMetricsEnable(&p), f, "begin");
    m->on = e == ERR_NONE;
    return e;
}

/* A record of CUPTI is one metric of one instruction. */
static struct sass_record record_of(const struct sass_metrics *m, const CUpti_SassMetrics_Data *d,
                                    size_t instances)
{
    struct sass_record r = {.function = d->functionName ? d->functionName : "", .pc = d->pcOffset};
    for (size_t i = 0; i < instances; i++) {
        const CUpti_SassMetrics_InstanceValue *v = &d->pInstanceValues[i];
        if (v->metricId == m->ids[SASS_WARPS])
            r.warps += v->value;
        else if (v->metricId == m->ids[SASS_THREADS])
            r.threads += v->value;
    }
    return r;
}

static enum err fetch(struct sass_metrics *m, struct sass_records *out, size_t count,
                      size_t instances, struct fault *f)
{
    CUpti_SassMetrics_Data *data = calloc(count, sizeof(*data));
    CUpti_SassMetrics_InstanceValue *all = calloc(count * instances, sizeof(*all));
    out->items = calloc(count, sizeof(out->items[0]));
    enum err e = data && all && out->items
                     ? ERR_NONE
                     : fault_set(f, ERR_NO_MEMORY, "cannot count instructions: out of memory");
    for (size_t i = 0; e == ERR_NONE && i < count; i++) {
        data[i].structSize = sizeof(data[i]);
        data[i].pInstanceValues = all + i * instances;
    }
    CUpti_SassMetricsFlushData_Params p = {.structSize =
                                               CUpti_SassMetricsFlushData_Params_STRUCT_SIZE,
                                           .ctx = m->context,
                                           .numOfPatchedInstructionRecords = count,
                                           .numOfInstances = instances,
                                           .pMetricsData = data};
    if (e == ERR_NONE)
        e = check(cupti.SassMetricsFlushData(&p), f, "read the counts");
    for (size_t i = 0; e == ERR_NONE && i < count; i++)
        out->items[out->count++] = record_of(m, &data[i], instances);
    free(all);
    free(data);
    return e;
}

static enum err stop(struct sass_metrics *m, struct fault *f)
{
    CUpti_SassMetricsDisable_Params p = {.structSize = CUpti_SassMetricsDisable_Params_STRUCT_SIZE,
                                         .ctx = m->context};
    m->on = false;
    enum err e = check(cupti.SassMetricsDisable(&p), f, "end");
    if (e == ERR_NONE && p.numOfDroppedRecords)
        e = fault_set(f, ERR_UNAVAILABLE, "cannot count instructions: %zu counts were dropped",
                      p.numOfDroppedRecords);
    return e;
}

enum err sass_metrics_end(struct sass_metrics *m, struct sass_records *out, struct fault *f)
{
    *out = (struct sass_records){0};
    if (!m->on)
        return fault_set(f, ERR_UNAVAILABLE, "cannot count instructions: nothing was begun");
    CUpti_SassMetricsGetDataProperties_Params p = {
        .structSize = CUpti_SassMetricsGetDataProperties_Params_STRUCT_SIZE, .ctx = m->context};
    struct fault late = {0};
    enum err e = check(cupti.SassMetricsGetDataProperties(&p), f, "ask for the counts");
    if (e == ERR_NONE && p.numOfPatchedInstructionRecords && p.numOfInstances)
        e = fetch(m, out, p.numOfPatchedInstructionRecords, p.numOfInstances, f);
    if (stop(m, &late) != ERR_NONE && e == ERR_NONE)
        e = fault_set(f, late.code, "%s", late.detail);
    sass_records_sort(out);
    return e;
}

enum err sass_metrics_open(struct sass_metrics *m, const struct driver_device *d, int ordinal,
                           struct fault *f)
{
    *m = (struct sass_metrics){.context = d->context, .ordinal = ordinal};
    CUpti_Profiler_Initialize_Params p = {CUpti_Profiler_Initialize_Params_STRUCT_SIZE, NULL};
    enum err e = load(f);
    if (e == ERR_NONE)
        e = check(cupti.ProfilerInitialize(&p), f, "start CUPTI");
    return e == ERR_NONE ? find_metrics(m, f) : e;
}
