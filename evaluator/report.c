// SPDX-License-Identifier: Apache-2.0
#include "evaluator/report.h"

#include <math.h>

#include "core/util.h"

static const char *const state_names[] = {
    [STAGE_PASSED] = "passed",
    [STAGE_FAILED] = "failed",
    [STAGE_SKIPPED] = "skipped",
};

const char *stage_state_name(enum stage_state s)
{
    return state_names[s];
}

static json_t *text_or_null(const char *text)
{
    return text && *text ? json_string(text) : json_null();
}

double report_ms(double ms)
{
    return round(ms * 1e3) / 1e3;
}

static void set(json_t *object, const char *key, json_t *value)
{
    json_object_set_new(object, key, value ? value : json_null());
}

/* Every family of the arch, nothing known yet. */
static json_t *target_begin(const struct arch *arch)
{
    json_t *families = json_object();
    for (size_t i = 0; i < arch->family_count; i++)
        set(families, arch->families[i].name,
            json_pack("{s:n, s:n, s:n}", "static", "warps", "threads"));
    return json_pack("{s:n, s:o, s:n, s:s}", "executed", "families", families, "tensor_share",
                     "reason", "no stage that counts instructions was reached");
}

json_t *report_begin(const struct submission *s, const char *device, const char *model,
                     const char *id)
{
    char sha[SHA256_HEX];
    sha256_hex(s->source, s->source_len, sha);
    json_t *r = json_pack("{s:i}", "schema", REPORT_SCHEMA);
    if (id)
        set(r, "id", json_string(id));
    set(r, "verdict", NULL);
    set(r, "flags", json_array());
    set(r, "detail", NULL);
    set(r, "problem", json_string(s->problem->name));
    set(r, "workload", json_string(s->workload->name));
    set(r, "arch", json_string(s->arch->name));
    set(r, "device", json_string(device));
    set(r, "device_model", json_string(model));
    set(r, "language", json_string(language_name(s->language)));
    set(r, "mode", json_string(mode_name(s->mode)));
    static const char *const unknown[] = {"environment", "speedup", "candidate_us", "baseline", "timing"};
    for (size_t i = 0; i < COUNT_OF(unknown); i++)
        set(r, unknown[i], NULL);
    set(r, "target", target_begin(s->arch));
    set(r, "stages", json_array());
    set(r, "compile", NULL);
    set(r, "kernels", json_array());
    set(r, "check", NULL);
    set(r, "faults", json_array());
    set(r, "sanitize", NULL);
    set(r, "counts", NULL);
    set(r, "sandbox", json_array());
    set(r, "versions", json_pack("{s:s}", "ptxbench", PTXBENCH_VERSION));
    set(r, "epoch", json_integer(REPORT_EPOCH));
    set(r, "cubin_sha256", NULL);
    set(r, "source_sha256", json_string(sha));
    set(r, "seeds", json_array());
    set(r, "wall_ms", NULL);
    return r;
}

void report_stage(json_t *report, enum stage stage, enum stage_state state, double wall_ms,
                  const char *detail)
{
    json_t *row = json_pack("{s:s, s:s, s:f}", "name", stage_name(stage), "state",
                            stage_state_name(state), "wall_ms", report_ms(wall_ms));
    if (detail && *detail)
        set(row, "detail", json_string(detail));
    json_array_append_new(json_object_get(report, "stages"), row);
}

/* Copies one number of each family ("static", or "warps" and "threads") into target.families. */
static void merge_families(json_t *report, const json_t *families)
{
    json_t *into = json_object_get(json_object_get(report, "target"), "families"), *value;
    const char *name;
    json_object_foreach((json_t *)families, name, value) {
        json_t *family = json_object_get(into, name);
        if (family)
            json_object_update(family, value);
    }
}

/* Keeps the layers that every child so far had. */
static void merge_sandbox(json_t *report, const json_t *layers)
{
    json_t *before = json_object_get(report, "sandbox"), *both = json_array(), *layer, *other;
    size_t i, j;
    bool first = json_array_size(before) == 0;
    json_array_foreach((json_t *)layers, i, layer) {
        bool kept = first;
        json_array_foreach(before, j, other)
            kept = kept || json_equal(layer, other);
        if (kept)
            json_array_append(both, layer);
    }
    set(report, "sandbox", both);
}

void report_compile(json_t *report, const struct compile_result *compiled)
{
    if (compiled->compiler)
        json_object_set(report, "compile", compiled->compiler);
    if (compiled->kernel_table)
        json_object_set(report, "kernels", compiled->kernel_table);
    merge_families(report, compiled->families);
    merge_sandbox(report, compiled->sandbox);
    json_t *versions = json_object_get(report, "versions");
    if (compiled->versions)
        json_object_update(versions, compiled->versions);
    if (compiled->cubin.len) {
        char sha[SHA256_HEX];
        sha256_hex(compiled->cubin.data, compiled->cubin.len, sha);
        set(report, "cubin_sha256", json_string(sha));
    }
}

/* Were target instructions executed? Known once something has counted. */
static void judge_target(json_t *report, const struct arch *arch, const json_t *families, json_t *share)
{
    json_t *target = json_object_get(report, "target");
    bool executed = false;
    for (size_t i = 0; i < arch->family_count; i++) {
        const json_t *family = json_object_get(families, arch->families[i].name);
        executed = executed || (arch->families[i].target &&
                                json_integer_value(json_object_get(family, "threads")) > 0);
    }
    set(target, "executed", json_boolean(executed));
    set(target, "tensor_share", json_incref(share));
    set(target, "reason", share ? NULL : json_string("FLOPs by instruction were not weighed"));
}

/* Copies those members that the answer has. */
static void copy(json_t *report, const json_t *answer, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        json_t *value = json_object_get(answer, names[i]);
        if (value && !json_is_null(value))
            json_object_set(report, names[i], value);
    }
}

static void copy_captures(json_t *report, const json_t *answer)
{
    const json_t *captures = json_object_get(answer, "captures");
    if (json_array_size(captures))
        json_object_set(report, "captures", (json_t *)captures);
}

void report_check(json_t *report, const json_t *answer, const struct arch *arch)
{
    static const char *const copied[] = {"check", "faults", "counts"};
    copy(report, answer, copied, COUNT_OF(copied));
    const json_t *families = json_object_get(answer, "families");
    if (json_is_object(families)) {
        merge_families(report, families);
        judge_target(report, arch, families, json_object_get(answer, "tensor_share"));
    }
    copy_captures(report, answer);
    merge_sandbox(report, json_object_get(answer, "sandbox"));
}

void report_device(json_t *report, const json_t *device)
{
    json_object_set(report, "environment", (json_t *)device);
    json_object_set(report, "device_model", json_object_get(device, "name"));
}

/* What a verifier counted. Static counts stay; so does every member that it says nothing of. */
static void copy_target(json_t *report, const json_t *counted)
{
    static const char *const copied[] = {"executed", "tensor_share", "reason"};
    json_t *target = json_object_get(report, "target");
    merge_families(report, json_object_get(counted, "families"));
    for (size_t i = 0; i < COUNT_OF(copied); i++)
        if (json_object_get(counted, copied[i]))
            json_object_set(target, copied[i], json_object_get(counted, copied[i]));
}

void report_gpu(json_t *report, const json_t *answer)
{
    static const char *const copied[] = {"seeds",   "check",        "faults",   "counts",
                                         "speedup", "candidate_us", "baseline", "timing"};
    copy(report, answer, copied, COUNT_OF(copied));
    if (json_is_object(json_object_get(answer, "target")))
        copy_target(report, json_object_get(answer, "target"));
    copy_captures(report, answer);
    if (json_is_array(json_object_get(answer, "sandbox")))
        merge_sandbox(report, json_object_get(answer, "sandbox"));
}

void report_sanitize(json_t *report, const json_t *found)
{
    json_object_set(report, "sanitize", (json_t *)found);
}

void report_end(json_t *report, enum verdict verdict, unsigned flags, const char *detail,
                double wall_ms)
{
    set(report, "verdict", json_string(verdict_name(verdict)));
    if (verdict != VERDICT_PASSED)
        set(report, "speedup", NULL);
    set(report, "flags", flags_names(flags));
    set(report, "detail", text_or_null(detail));
    set(report, "wall_ms", json_real(report_ms(wall_ms)));
}
