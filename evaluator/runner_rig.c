// SPDX-License-Identifier: Apache-2.0
#include "evaluator/runner_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/util.h"
#include "evaluator/inputs.h"
#include "evaluator/ptxvm/ptx.h"
#include "evaluator/ptxvm/tensor_map.h"
#include "evaluator/runner_families.h"

enum { BUFFER_ALIGN = 256, WHERE_TEXT = LIMIT_NAME + 32 };

struct rig {
    struct rig_spec spec;
    struct ptx_module *module;
    struct ptxvm *vm;
    uint64_t tensors[LIMIT_TENSORS], buffers[LIMIT_BUFFERS]; /* addresses in the vm */
    bool initialised; /* buffers that a launch fills are filled once, then sealed */
    bool traced;
    struct buf log;
};

static enum err map_tensors(struct rig *rig, struct fault *f)
{
    const struct problem *p = rig->spec.problem;
    for (size_t i = 0; i < p->tensor_count; i++) {
        const struct tensor_def *t = &p->tensors[i];
        int64_t shape[LIMIT_DIMS];
        int64_t n = problem_shape(p, rig->spec.workload, i, shape);
        size_t bytes = (size_t)n * dtype_bytes(t->dtype);
        rig->tensors[i] = ptxvm_map(rig->vm, t->name, rig->spec.tensors[i], bytes,
                                    t->role == TENSOR_INPUT ? PTXVM_READ_ONLY : PTXVM_READ_WRITE);
        if (!rig->tensors[i])
            return fault_set(f, ERR_NO_MEMORY, "cannot map tensor %s: out of memory", t->name);
    }
    return ERR_NONE;
}

static enum err alloc_buffers(struct rig *rig, struct fault *f)
{
    const struct plan *plan = rig->spec.plan;
    for (size_t i = 0; i < plan->buffer_count; i++) {
        const struct plan_buffer *b = &plan->buffers[i];
        void *host = rig->spec.buffers ? rig->spec.buffers[i] : NULL;
        size_t bytes = (size_t)b->bytes;
        rig->buffers[i] = host ? ptxvm_map(rig->vm, b->name, host, bytes, PTXVM_READ_WRITE)
                               : ptxvm_alloc(rig->vm, b->name, bytes, BUFFER_ALIGN, PTXVM_READ_WRITE);
        if (!rig->buffers[i])
            return fault_set(f, ERR_NO_MEMORY, "cannot allocate buffer %s: %lld bytes is too much",
                             b->name, (long long)b->bytes);
    }
    return ERR_NONE;
}

struct rig *rig_new(const struct rig_spec *spec, struct fault *f)
{
    struct rig *rig = calloc(1, sizeof(*rig));
    if (!rig) {
        fault_set(f, ERR_NO_MEMORY, "cannot set up a module: out of memory");
        return NULL;
    }
    rig->spec = *spec;
    buf_init(&rig->log, LIMIT_LOG);
    struct ptxvm_options options = {.seed = spec->schedule,
                                    .threads = spec->threads,
                                    .num_sms = spec->arch->num_sms,
                                    .instruction_budget = spec->thread_instructions,
                                    .deadline_ms = spec->plan_ms,
                                    .print_max = LIMIT_LOG};
    if ((rig->module = ptx_parse(spec->ptx, spec->ptx_len, f)) != NULL &&
        (rig->vm = ptxvm_new(&options, f)) != NULL &&
        ptxvm_load(rig->vm, rig->module, f) == ERR_NONE && map_tensors(rig, f) == ERR_NONE &&
        alloc_buffers(rig, f) == ERR_NONE)
        return rig;
    rig_free(rig);
    return NULL;
}

void rig_free(struct rig *rig)
{
    if (!rig)
        return;
    ptxvm_free(rig->vm);
    ptx_free(rig->module);
    buf_release(&rig->log);
    free(rig);
}

const void *rig_buffer(struct rig *rig, size_t i)
{
    return ptxvm_host(rig->vm, rig->buffers[i], (size_t)rig->spec.plan->buffers[i].bytes);
}

static const char *symbol_of(const struct rig *rig, const char *kernel)
{
    const char *symbol = json_string_value(json_object_get(rig->spec.symbols, kernel));
    return symbol ? symbol : kernel;
}

static uint32_t registers_of(const struct rig *rig, const char *kernel)
{
    const json_t *count = json_object_get(rig->spec.registers, symbol_of(rig, kernel));
    return json_integer_value(count) > 0 ? (uint32_t)json_integer_value(count) : 0;
}

bool rig_kernel(struct rig *rig, size_t i, struct ptxvm_kernel *out)
{
    return ptxvm_kernel(rig->vm, symbol_of(rig, rig->spec.plan->launches[i].kernel), out);
}

const struct buf *rig_log(const struct rig *rig)
{
    return &rig->log;
}

static void put_map(const struct rig *rig, const struct plan_tensor_map *m, uint8_t *at)
{
    const uint64_t *bases = m->space == PLAN_TENSOR ? rig->tensors : rig->buffers;
    tensor_map_encode(m, bases[m->index], at);
}

static void put_arg(const struct rig *rig, const struct plan_arg *a, uint8_t *at)
{
    uint64_t address = (uint64_t)a->offset_bytes;
    switch (a->kind) {
    case ARG_TENSOR:
        address += rig->tensors[a->index];
        memcpy(at, &address, sizeof(address));
        break;
    case ARG_BUFFER:
        address += rig->buffers[a->index];
        memcpy(at, &address, sizeof(address));
        break;
    case ARG_STRUCT:
        for (size_t i = 0; i < a->member_count; i++)
            put_arg(rig, &a->members[i], at + a->members[i].offset);
        break;
    case ARG_TENSOR_MAP:
        put_map(rig, &rig->spec.plan->maps[a->index], at);
        break;
    default:
        memcpy(at, a->bytes, a->size);
    }
}

static void keep_note(const struct plan_launch *l, int index, const struct ptxvm_result *result,
                      struct rig_run *out)
{
    if (result->status == PTXVM_OK && result->note[0] && !out->note)
        out->note = json_pack("{s:s, s:s, s:o, s:s}", "kind", "note", "kernel", l->kernel, "launch",
                              index < 0 ? json_null() : json_integer(index), "detail", result->note);
}

static void keep_log(struct rig *rig, const struct ptxvm_result *result)
{
    size_t n = result->log ? strlen(result->log) : 0, room = rig->log.max - rig->log.len;
    if (n > room)
        n = room;
    if (n)
        buf_add(&rig->log, result->log, n);
}

/* `index` is the launch's place in the plan, -1 for one that fills a buffer. */
static void note_end(const struct plan_launch *l, int index, const char *where,
                     const struct ptxvm_result *result, struct rig_run *out)
{
    out->status = result->status;
    if (result->status == PTXVM_OK)
        return;
    snprintf(out->detail, sizeof(out->detail), "%s (%.100s): %.300s", where, l->kernel,
             result->fault.detail);
    out->fault = ptxvm_fault_json(result);
    json_object_set_new(out->fault, "launch", index < 0 ? json_null() : json_integer(index));
}

/* One launch; false when it ended the run. */
static bool launch(struct rig *rig, const struct plan_launch *l, int index, const char *where,
                   struct rig_run *out)
{
    _Alignas(128) uint8_t params[LIMIT_PARAM_BYTES] = {0};
    size_t offsets[LIMIT_ARGS];
    struct ptxvm_launch go = {.symbol = symbol_of(rig, l->kernel),
                              .shared_bytes = (size_t)l->shared_bytes,
                              .cooperative = l->cooperative,
                              .registers = registers_of(rig, l->kernel),
                              .params = params,
                              .param_bytes = plan_param_layout(l, offsets)};
    for (size_t i = 0; i < l->arg_count; i++)
        put_arg(rig, &l->args[i], params + offsets[i]);
    if (index >= 0 && rig->spec.sample)
        go.sample = rig->spec.sample, go.sample_count = rig->spec.sample_count;
    if (index >= 0 && rig->spec.trace && !rig->traced && !strcmp(l->kernel, rig->spec.trace_kernel))
        go.trace = rig->spec.trace;
    for (int d = 0; d < 3; d++) {
        go.grid[d] = (uint32_t)l->grid[d];
        go.block[d] = (uint32_t)l->block[d];
        go.cluster[d] = l->cluster[0] ? (uint32_t)l->cluster[d] : 0;
    }
    struct ptxvm_result result = {0};
    ptxvm_launch(rig->vm, &go, &result);
    note_end(l, index, where, &result, out);
    keep_note(l, index, &result, out);
    families_add(&out->counts, rig->spec.arch, &result.counts);
    keep_log(rig, &result);
    ptxvm_result_release(&result);
    return out->status == PTXVM_OK;
}

static void fill_buffer(const struct plan_buffer *b, char *host)
{
    if (b->init == BUFFER_ZERO || b->init == BUFFER_DATA)
        memset(host, 0, (size_t)b->bytes);
    else
        inputs_poison(host, (size_t)b->bytes);
    if (b->init == BUFFER_DATA && b->data.len)
        memcpy(host, b->data.data, b->data.len);
}

static bool init_buffer(struct rig *rig, size_t i, struct rig_run *out)
{
    const struct plan_buffer *b = &rig->spec.plan->buffers[i];
    if (b->init == BUFFER_LAUNCH && rig->initialised)
        return true;
    if (!rig->spec.buffers)
        fill_buffer(b, ptxvm_host(rig->vm, rig->buffers[i], (size_t)b->bytes));
    if (b->init != BUFFER_LAUNCH)
        return true;
    char where[WHERE_TEXT];
    snprintf(where, sizeof(where), "launch that fills buffer %s", b->name);
    if (!launch(rig, b->launch, -1, where, out))
        return false;
    ptxvm_protect(rig->vm, rig->buffers[i], PTXVM_READ_ONLY);
    return true;
}

void rig_run(struct rig *rig, struct rig_run *out)
{
    *out = (struct rig_run){0};
    const struct plan *plan = rig->spec.plan;
    for (size_t i = 0; i < plan->buffer_count; i++)
        if (!init_buffer(rig, i, out))
            return;
    rig->initialised = true;
    json_decref(out->counts.forms);
    out->counts = (struct rig_counts){0}; /* the init launches are not part of the plan's work */
    int64_t start = cpu_ms();
    for (size_t i = 0; i < plan->launch_count; i++) {
        if (cpu_ms() - start > rig->spec.plan_ms) {
            out->status = PTXVM_DEADLINE;
            snprintf(out->detail, sizeof(out->detail), "%zu of %zu launches took over %lld ms", i,
                     plan->launch_count, (long long)rig->spec.plan_ms);
            return;
        }
        char where[WHERE_TEXT];
        snprintf(where, sizeof(where), "launch %zu", i);
        if (!launch(rig, &plan->launches[i], (int)i, where, out))
            return;
    }
    rig->traced = true;
}

void rig_run_release(struct rig_run *run)
{
    json_decref(run->fault);
    json_decref(run->note);
    json_decref(run->counts.forms);
    *run = (struct rig_run){0};
}
