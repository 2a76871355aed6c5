// SPDX-License-Identifier: Apache-2.0
#include "evaluator/cuda/module.h"

#include <stdio.h>
#include <string.h>

#include "core/text.h"

enum { PORTABLE_CLUSTER = 8 };

/* Gets a function and the permissions that its launch needs beyond the defaults. */
static bool get_function(CUfunction *out, CUmodule module, const struct launcher_spec *spec,
                         const struct plan_launch *l, int index, struct launch_fault *fault)
{
    const char *symbol = json_string_value(json_object_get(spec->symbols, l->kernel));
    CUresult r = cu.ModuleGetFunction(out, module, symbol ? symbol : l->kernel);
    r = r ? r : cu.FuncLoad(*out); /* now, not at its first launch, which is timed */
    if (launch_fault_set(fault, r, l->kernel, index, "find the kernel in the module"))
        return false;
    if (l->shared_bytes)
        r = cu.FuncSetAttribute(*out, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                (int)l->shared_bytes);
    if (launch_fault_set(fault, r, l->kernel, index, "give the kernel its dynamic shared memory"))
        return false;
    if (l->cluster[0] * l->cluster[1] * l->cluster[2] > PORTABLE_CLUSTER)
        r = cu.FuncSetAttribute(*out, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
    return !launch_fault_set(fault, r, l->kernel, index, "give the kernel clusters of that size");
}

static bool load(CUmodule *out, const struct launcher_spec *spec, struct launch_fault *fault)
{
    char log[LIMIT_DETAIL / 2] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)(sizeof(log) - 1)};
    CUresult r = cu.ModuleLoadDataEx(out, spec->cubin, 2, options, values);
    if (!launch_fault_set(fault, r, "", -1, "load the module"))
        return true;
    text_sanitize(log);
    size_t used = strlen(fault->detail);
    if (log[0])
        snprintf(fault->detail + used, sizeof(fault->detail) - used, ": %s", log);
    return false;
}

bool module_load(struct module *m, const struct launcher_spec *spec, struct launch_fault *fault)
{
    *m = (struct module){0};
    const struct plan *plan = spec->plan;
    bool ok = load(&m->handle, spec, fault);
    for (size_t i = 0; ok && i < plan->launch_count; i++)
        ok = get_function(&m->launches[i], m->handle, spec, &plan->launches[i], (int)i, fault);
    for (size_t i = 0; ok && i < plan->buffer_count; i++)
        if (plan->buffers[i].launch)
            ok = get_function(&m->fills[i], m->handle, spec, plan->buffers[i].launch, -1, fault);
    if (!ok)
        module_unload(m);
    return ok;
}

void module_unload(struct module *m)
{
    if (m->handle)
        cu.ModuleUnload(m->handle);
    *m = (struct module){0};
}
