/* SPDX-License-Identifier: Apache-2.0
 * The checks are rows; the first that objects decides. */
#include "evaluator/inspect.h"

#include <stdarg.h>
#include <string.h>

#include "core/util.h"
#include "evaluator/compile_log.h"
#include "evaluator/inspect_facts.h"

/* Of every architecture so far: 64 Ki registers an SM, handed to warps in units of 256. */
enum { REGISTERS_PER_BLOCK = 65536, REGISTER_UNIT = 256, MAX_SHOWN = 200 };

struct checking {
    const struct inspect_request *request;
    const struct plan_launch *launch;
    const struct kernel_facts *facts;
    char *why; /* LIMIT_DETAIL bytes */
};

static const char *const kind_names[] = {
    [ARG_I32] = "i32",
    [ARG_U32] = "u32",
    [ARG_I64] = "i64",
    [ARG_U64] = "u64",
    [ARG_F16] = "f16",
    [ARG_BF16] = "bf16",
    [ARG_F32] = "f32",
    [ARG_F64] = "f64",
    [ARG_TENSOR] = "tensor",
    [ARG_BUFFER] = "buffer",
    [ARG_TENSOR_MAP] = "tensor_map",
    [ARG_STRUCT] = "struct",
};

__attribute__((format(printf, 2, 3))) static bool object(const struct checking *c, const char *fmt,
                                                         ...)
{
    va_list args;
    int n = snprintf(c->why, LIMIT_DETAIL, "kernel %.*s: ", MAX_SHOWN, c->launch->kernel);
    va_start(args, fmt);
    vsnprintf(c->why + n, LIMIT_DETAIL - (size_t)n, fmt, args);
    va_end(args);
    return false;
}

static int64_t product(const int64_t v[3])
{
    return v[0] * v[1] * v[2];
}

/* ---- checks: true if the launch fits ---- */

static bool argument_count_fits(const struct checking *c)
{
    if (c->launch->arg_count == c->facts->param_count)
        return true;
    return object(c, "takes %zu arguments, the plan gives %zu", c->facts->param_count,
                  c->launch->arg_count);
}

static bool argument_sizes_fit(const struct checking *c)
{
    for (size_t i = 0; i < c->launch->arg_count; i++) {
        const struct plan_arg *arg = &c->launch->args[i];
        const struct kernel_param *param = &c->facts->params[i];
        if (arg->size != param->size)
            return object(
                c, "argument %zu: the plan gives %s of %zu bytes, the kernel takes %llu bytes", i,
                (size_t)arg->kind < COUNT_OF(kind_names) ? kind_names[arg->kind] : "?", arg->size,
                (unsigned long long)param->size);
    }
    return true;
}

/* Arguments are laid out as C does; a struct of smaller alignment would land elsewhere. */
static bool argument_places_fit(const struct checking *c)
{
    uint64_t at = 0;
    for (size_t i = 0; i < c->launch->arg_count; i++) {
        const struct plan_arg *arg = &c->launch->args[i];
        const struct kernel_param *param = &c->facts->params[i];
        at = (at + arg->align - 1) / arg->align * arg->align;
        if (param->align && at != param->offset)
            return object(c,
                          "argument %zu: the plan puts it at byte %llu (alignment %zu), the kernel "
                          "takes it at byte %llu (alignment %llu)",
                          i, (unsigned long long)at, arg->align, (unsigned long long)param->offset,
                          (unsigned long long)param->align);
        at += arg->size;
    }
    return true;
}

static bool block_fits(const struct checking *c)
{
    const int64_t *block = c->launch->block, *most = c->facts->max_threads;
    if (!most[0])
        return true;
    int64_t y = most[1] ? most[1] : 1, z = most[2] ? most[2] : 1, threads = most[0] * y * z;
    if (c->facts->exact_threads && (block[0] != most[0] || block[1] != y || block[2] != z))
        return object(c,
                      "is compiled for blocks of exactly %lld x %lld x %lld threads, the plan "
                      "launches %lld x %lld x %lld",
                      (long long)most[0], (long long)y, (long long)z, (long long)block[0],
                      (long long)block[1], (long long)block[2]);
    if (product(block) > threads)
        return object(c, "is compiled for at most %lld threads a block, the plan launches %lld",
                      (long long)threads, (long long)product(block));
    return true;
}

static bool registers_fit(const struct checking *c)
{
    const struct arch *a = c->request->arch;
    int64_t warps = (product(c->launch->block) + a->warp_size - 1) / a->warp_size;
    int64_t per_warp = (int64_t)c->facts->registers * a->warp_size;
    per_warp = (per_warp + REGISTER_UNIT - 1) / REGISTER_UNIT * REGISTER_UNIT;
    if (c->facts->registers < 0 || warps * per_warp <= REGISTERS_PER_BLOCK)
        return true;
    return object(c,
                  "uses %d registers a thread: a block of %lld threads needs %lld, there are %d "
                  "(use __launch_bounds__ or -maxrregcount)",
                  c->facts->registers, (long long)product(c->launch->block),
                  (long long)(warps * per_warp), REGISTERS_PER_BLOCK);
}

static bool shared_fits(const struct checking *c)
{
    int64_t most = c->request->arch->max_shared_bytes, dynamic = c->launch->shared_bytes;
    if (c->facts->shared_bytes <= (uint64_t)most &&
        (int64_t)c->facts->shared_bytes + dynamic <= most)
        return true;
    return object(
        c, "static %llu and dynamic %lld bytes of shared memory are more than the %lld of %s",
        (unsigned long long)c->facts->shared_bytes, (long long)dynamic, (long long)most,
        c->request->arch->name);
}

static bool cluster_fits(const struct checking *c)
{
    const int64_t *asked = c->launch->cluster;
    int64_t want[3];
    for (int i = 0; i < 3; i++)
        want[i] = c->facts->cluster[0] ? c->facts->cluster[i] + (c->facts->cluster[i] == 0)
                  : asked[0]           ? asked[i]
                                       : 1;
    if (c->facts->explicit_cluster && !c->facts->cluster[0] && !asked[0])
        return object(c, "must be launched with a cluster, the plan gives none");
    if (c->facts->cluster[0] && asked[0] && memcmp(want, asked, sizeof want) != 0)
        return object(c,
                      "is compiled for clusters of %lld x %lld x %lld, the plan says %lld x %lld x "
                      "%lld",
                      (long long)want[0], (long long)want[1], (long long)want[2],
                      (long long)asked[0], (long long)asked[1], (long long)asked[2]);
    if (product(want) > c->request->arch->max_cluster)
        return object(c, "clusters of %lld blocks are more than the %d of %s",
                      (long long)product(want), c->request->arch->max_cluster,
                      c->request->arch->name);
    for (int i = 0; i < 3; i++)
        if (c->launch->grid[i] % want[i])
            return object(c,
                          "the grid's %lld blocks in dimension %d are no multiple of the cluster's "
                          "%lld",
                          (long long)c->launch->grid[i], i, (long long)want[i]);
    return true;
}

static bool (*const checks[])(const struct checking *) = {
    argument_count_fits, argument_sizes_fit, argument_places_fit, block_fits,
    registers_fit,       shared_fits,        cluster_fits,
};

/* ---- the module ---- */

static const char *symbol_of(const struct inspect_request *r, const char *name)
{
    for (size_t i = 0; i < r->name_count; i++)
        if (r->symbols[i] && !strcmp(r->names[i], name))
            return r->symbols[i];
    return NULL;
}

static enum verdict check_launch(const struct inspect_request *r, const struct plan_launch *launch,
                                 char why[LIMIT_DETAIL])
{
    struct kernel_facts facts;
    struct checking c = {r, launch, &facts, why};
    const char *symbol = symbol_of(r, launch->kernel);
    if (!symbol || !kernel_facts_find(r->cubin, r->ptx, symbol, &facts)) {
        char names[LIMIT_DETAIL / 2];
        inspect_kernel_names(r->cubin, r->ptx, names, sizeof names);
        object(&c, "there is no such kernel; the module has: %s", names);
        return VERDICT_LAUNCH_ERROR;
    }
    for (size_t i = 0; i < COUNT_OF(checks); i++)
        if (!checks[i](&c))
            return VERDICT_LAUNCH_ERROR;
    return VERDICT_PASSED;
}

static enum verdict check_module(const struct inspect_request *r, char why[LIMIT_DETAIL])
{
    uint64_t globals = module_global_bytes(r->cubin, r->ptx);
    const char *forbidden = module_forbidden(r->cubin, r->ptx);
    if (r->cubin && r->cubin->sm != r->arch->sm)
        snprintf(why, LIMIT_DETAIL, "the module is for sm_%d, not for %s", r->cubin->sm,
                 r->arch->name);
    else if (forbidden)
        snprintf(why, LIMIT_DETAIL, "the module needs '%.*s', which device code may not use here%s",
                 MAX_SHOWN, forbidden,
                 !strcmp(forbidden, "malloc") || !strcmp(forbidden, "free")
                     ? ": scratch memory belongs into the plan's buffers"
                     : "");
    else if (globals > LIMIT_GLOBALS)
        snprintf(why, LIMIT_DETAIL,
                 "module-scope variables take %llu bytes; at most %d are allowed",
                 (unsigned long long)globals, LIMIT_GLOBALS);
    else
        return VERDICT_PASSED;
    return VERDICT_REJECTED;
}

/* ---- the report ---- */

static json_t *kernel_row(const struct inspect_request *r, size_t i)
{
    struct kernel_facts facts;
    const char *symbol = r->symbols[i];
    if (!symbol || !kernel_facts_find(r->cubin, r->ptx, symbol, &facts))
        return NULL;
    long stores = 0, loads = 0;
    bool spills = compile_log_spills(r->log, symbol, &stores, &loads);
    return json_pack(
        "{s:s, s:s, s:o, s:o, s:o, s:I, s:o, s:I}", "name", r->names[i], "symbol", symbol,
        "registers", facts.registers < 0 ? json_null() : json_integer(facts.registers),
        "spill_store_bytes", spills ? json_integer(stores) : json_null(), "spill_load_bytes",
        spills ? json_integer(loads) : json_null(), "shared_bytes", (json_int_t)facts.shared_bytes,
        "local_bytes", r->cubin ? json_integer((json_int_t)facts.local_bytes) : json_null(),
        "param_bytes", (json_int_t)facts.param_bytes);
}

/* Instructions of each family in what the plan's kernels reach. */
static json_t *count_families(const struct inspect_request *r)
{
    json_t *families = json_object();
    uint64_t counts[COUNT_OF(r->arch->families)] = {0};
    static struct cubin_reach reach;
    struct cubin_function fn;
    if (!r->cubin)
        return families;
    const char *entries[LIMIT_LAUNCHES + LIMIT_BUFFERS];
    size_t count = 0;
    for (size_t i = 0; i < r->name_count && count < COUNT_OF(entries); i++)
        if (r->symbols[i])
            entries[count++] = r->symbols[i];
    cubin_reach(r->cubin, entries, count, &reach);
    for (unsigned at = 0; cubin_next(r->cubin, &at, &fn);)
        if (cubin_reached(&reach, fn.section))
            cubin_count(&fn, r->arch, counts);
    for (size_t i = 0; i < r->arch->family_count; i++)
        json_object_set_new(families, r->arch->families[i].name,
                            json_pack("{s:I}", "static", (json_int_t)counts[i]));
    return families;
}

void inspect(const struct inspect_request *r, struct inspect_result *out)
{
    *out = (struct inspect_result){.kernels = json_array(), .families = count_families(r)};
    for (size_t i = 0; i < r->name_count; i++) {
        json_t *row = kernel_row(r, i);
        if (row)
            json_array_append_new(out->kernels, row);
    }
    out->verdict = check_module(r, out->detail);
    for (size_t i = 0; out->verdict == VERDICT_PASSED && i < r->launch_count; i++)
        out->verdict = check_launch(r, &r->launches[i], out->detail);
}

void inspect_result_release(struct inspect_result *r)
{
    json_decref(r->kernels);
    json_decref(r->families);
}
