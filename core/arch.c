// SPDX-License-Identifier: Apache-2.0
// Loads arch/<name>/arch.json:
//
//   name, sm, title, gpu       "sm_90a", 90, "Hopper", the GPU that the numbers describe
//   devices                    device models a submission may name, such as "h100"
//   num_sms, warp_size, max_threads_per_block, max_shared_bytes, max_cluster, max_grid, max_block
//   max_clock_mhz, memory_bytes_per_s, bf16_flops_per_cycle_per_sm     the roofline
//   parameters, latency_cycles, peak_flops_per_cycle_per_sm            further numbers, for prompts
//   families                   {name, target, tensor, ptx (what makes them, for prompts; optional),
//                              opcodes {mnemonic: low 9 bits as "0x1f0"}}
//   compile_options            {cuda, ptx}: what NVRTC and ptxas are always given besides -arch
//   sources                    {field: where the number comes from}: every number has one
#include "core/arch.h"

#include "core/catalog.h"
#include "core/json.h"
#include "core/util.h"

enum { OPCODES = 512 }; /* low 9 bits */

/* What the field tables read before it is copied into struct arch. */
struct arch_fields {
    const char *name, *title, *gpu;
    int64_t sm, num_sms, warp_size, max_threads_per_block, max_shared_bytes, max_cluster;
    double max_clock_mhz, memory_bytes_per_s, bf16_flops_per_cycle_per_sm;
    json_t *devices, *max_grid, *max_block, *families, *sources;
    json_t *parameters, *latency_cycles, *peak_flops_per_cycle_per_sm, *compile_options;
};

#define FIELD(f) .name = #f, .required = true, .offset = offsetof(struct arch_fields, f)

static const struct json_field arch_fields[] = {
    {FIELD(name), .kind = JSON_TEXT, .min = 1, .max = 15},
    {FIELD(sm), .kind = JSON_INT64, .min = 1, .max = 255},
    {FIELD(title), .kind = JSON_TEXT, .min = 1, .max = 63},
    {FIELD(gpu), .kind = JSON_TEXT, .min = 1, .max = 63},
    {FIELD(devices), .kind = JSON_LIST, .min = 1, .max = LIMIT_DEVICE_MODELS},
    {FIELD(num_sms), .kind = JSON_INT64, .min = 1, .max = 4096},
    {FIELD(warp_size), .kind = JSON_INT64, .min = 32, .max = 32},
    {FIELD(max_threads_per_block), .kind = JSON_INT64, .min = 32, .max = 4096},
    {FIELD(max_shared_bytes), .kind = JSON_INT64, .min = 1, .max = 16 * MIB},
    {FIELD(max_cluster), .kind = JSON_INT64, .min = 1, .max = 64},
    {FIELD(max_grid), .kind = JSON_LIST, .min = 3, .max = 3},
    {FIELD(max_block), .kind = JSON_LIST, .min = 3, .max = 3},
    {FIELD(max_clock_mhz), .kind = JSON_DOUBLE},
    {FIELD(memory_bytes_per_s), .kind = JSON_DOUBLE},
    {FIELD(bf16_flops_per_cycle_per_sm), .kind = JSON_DOUBLE},
    {FIELD(families), .kind = JSON_LIST, .min = 1, .max = LIMIT_FAMILIES},
    {FIELD(parameters), .kind = JSON_MEMBER},
    {FIELD(latency_cycles), .kind = JSON_MEMBER},
    {FIELD(peak_flops_per_cycle_per_sm), .kind = JSON_MEMBER},
    {FIELD(compile_options), .kind = JSON_MEMBER},
    {FIELD(sources), .kind = JSON_MEMBER},
};

/* Borrowed strings of a list; how many. */
static size_t read_texts(const json_t *list, const char **out, const char *path,
                         struct faults *faults)
{
    size_t i;
    json_t *v;
    json_array_foreach(list, i, v)
    {
        out[i] = json_string_value(v);
        if (!out[i])
            faults_add(faults, path, "entry %zu must be a string", i);
    }
    return json_array_size(list);
}

static void read_limits(const json_t *list, int64_t out[3], const char *path, struct faults *faults)
{
    for (size_t i = 0; i < 3; i++) {
        out[i] = json_integer_value(json_array_get(list, i));
        if (out[i] < 1)
            faults_add(faults, path, "entry %zu must be a positive integer", i);
    }
}

static void read_opcodes(struct sass_family *family, const json_t *opcodes, bool taken[OPCODES],
                         const char *path, struct faults *faults)
{
    const char *mnemonic;
    json_t *v;
    json_object_foreach((json_t *)opcodes, mnemonic, v)
    {
        const char *text = json_string_value(v);
        char *end = NULL;
        unsigned long code = text ? strtoul(text, &end, 16) : OPCODES;
        if (!text || strncmp(text, "0x", 2) != 0 || *end || code >= OPCODES) {
            faults_add(faults, path, "opcode of %s must be text like \"0x1f0\", below 0x200",
                       mnemonic);
        } else if (taken[code]) {
            faults_add(faults, path, "opcode %s of %s is in another family or twice", text,
                       mnemonic);
        } else if (family->opcode_count == COUNT_OF(family->opcodes)) {
            faults_add(faults, path, "more than %zu opcodes", COUNT_OF(family->opcodes));
            return;
        } else {
            taken[code] = true;
            family->mnemonics[family->opcode_count] = mnemonic;
            family->opcodes[family->opcode_count++] = (uint16_t)code;
        }
    }
}

struct family_fields {
    const char *name, *ptx;
    bool target, tensor;
    json_t *opcodes;
};

static void read_families(struct arch *a, const json_t *list, struct faults *faults)
{
    static const struct json_field fields[] = {
        {"name", JSON_TEXT, true, offsetof(struct family_fields, name), 1, LIMIT_NAME, NULL},
        {"target", JSON_YESNO, true, offsetof(struct family_fields, target), 0, 0, NULL},
        {"tensor", JSON_YESNO, true, offsetof(struct family_fields, tensor), 0, 0, NULL},
        {"ptx", JSON_TEXT, false, offsetof(struct family_fields, ptx), 1, 200, NULL},
        {"opcodes", JSON_MEMBER, true, offsetof(struct family_fields, opcodes), 0, 0, NULL},
    };
    bool taken[OPCODES] = {false};
    size_t i;
    json_t *v;
    json_array_foreach(list, i, v)
    {
        char path[64];
        snprintf(path, sizeof(path), "$.families[%zu]", i);
        struct family_fields in = {0};
        if (!json_read(v, fields, COUNT_OF(fields), &in, path, faults))
            continue;
        struct sass_family *family = &a->families[a->family_count++];
        *family = (struct sass_family){.target = in.target, .tensor = in.tensor, .ptx = in.ptx};
        snprintf(family->name, sizeof(family->name), "%s", in.name);
        for (size_t other = 0; other + 1 < a->family_count; other++)
            if (!strcmp(a->families[other].name, in.name))
                faults_add(faults, path, "family '%s' is given twice", in.name);
        read_opcodes(family, in.opcodes, taken, path, faults);
    }
}

/* One option a string: what a shell would split stays in one piece here, and is a mistake. */
static void check_options(const char *const *options, const char *path, struct faults *faults)
{
    for (size_t i = 0; options[i]; i++) {
        const char *o = options[i];
        if (o[0] != '-' || !o[1] || strpbrk(o, " \t\r\n"))
            faults_add(faults, path, "entry %zu must be one option, such as -lineinfo", i);
        else if (!strncmp(o, "-arch", 5) || !strncmp(o, "--gpu-architecture", 18))
            faults_add(faults, path, "entry %zu: -arch is the architecture's name", i);
    }
}

struct option_fields {
    json_t *cuda, *ptx;
};

static void read_options(struct arch *a, const json_t *options, struct faults *faults)
{
    static const struct json_field fields[] = {
        {"cuda", JSON_LIST, true, offsetof(struct option_fields, cuda), 0, LIMIT_ARCH_OPTIONS,
         NULL},
        {"ptx", JSON_LIST, true, offsetof(struct option_fields, ptx), 0, LIMIT_ARCH_OPTIONS, NULL},
    };
    static const char cuda[] = "$.compile_options.cuda", ptx[] = "$.compile_options.ptx";
    struct option_fields in = {0};
    if (!json_read(options, fields, COUNT_OF(fields), &in, "$.compile_options", faults))
        return;
    read_texts(in.cuda, a->cuda_options, cuda, faults);
    read_texts(in.ptx, a->ptx_options, ptx, faults);
    check_options(a->cuda_options, cuda, faults);
    check_options(a->ptx_options, ptx, faults);
}

static void check_positive(const json_t *numbers, const char *path, struct faults *faults)
{
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)numbers, key, v) if (!(json_number_value(v) > 0))
        faults_add(faults, path, "'%s' must be a positive number", key);
}

/* A number without a source is a guess; it does not load. */
static void check_sources(const json_t *document, const json_t *sources, struct faults *faults)
{
    static const char *const sourced[] = {"max_grid", "max_block", "families", "latency_cycles",
                                          "peak_flops_per_cycle_per_sm"};
    const json_t *parameters = json_object_get(document, "parameters");
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)document, key, v)
    {
        bool numeric = json_is_number(v);
        for (size_t i = 0; i < COUNT_OF(sourced); i++)
            numeric |= !strcmp(key, sourced[i]);
        if (numeric && !json_is_string(json_object_get(sources, key)))
            faults_add(faults, "$.sources", "says nothing of '%s'", key);
    }
    json_object_foreach((json_t *)parameters, key,
                        v) if (!json_is_string(json_object_get(sources, key)))
        faults_add(faults, "$.sources", "says nothing of '%s'", key);
    json_object_foreach((json_t *)sources, key,
                        v) if (!json_object_get(document, key) && !json_object_get(parameters, key))
        faults_add(faults, "$.sources", "'%s' is not a field", key);
}

static void read_arch(struct arch *a, struct faults *faults)
{
    struct arch_fields in = {0};
    if (!json_read(a->document, arch_fields, COUNT_OF(arch_fields), &in, "$", faults))
        return;
    snprintf(a->name, sizeof(a->name), "%s", in.name);
    snprintf(a->title, sizeof(a->title), "%s", in.title);
    snprintf(a->gpu, sizeof(a->gpu), "%s", in.gpu);
    a->sm = (int)in.sm;
    a->num_sms = (int)in.num_sms;
    a->warp_size = (int)in.warp_size;
    a->max_threads_per_block = (int)in.max_threads_per_block;
    a->max_shared_bytes = (int)in.max_shared_bytes;
    a->max_cluster = (int)in.max_cluster;
    a->max_clock_mhz = in.max_clock_mhz;
    a->memory_bytes_per_s = in.memory_bytes_per_s;
    a->dense_bf16_flops = in.bf16_flops_per_cycle_per_sm * a->num_sms * a->max_clock_mhz * 1e6;
    if (!(a->dense_bf16_flops > 0) || !(a->memory_bytes_per_s > 0))
        faults_add(faults, "$", "the roofline numbers must be positive");
    a->device_count = read_texts(in.devices, a->devices, "$.devices", faults);
    read_limits(in.max_grid, a->max_grid, "$.max_grid", faults);
    read_limits(in.max_block, a->max_block, "$.max_block", faults);
    read_families(a, in.families, faults);
    read_options(a, in.compile_options, faults);
    check_positive(in.parameters, "$.parameters", faults);
    check_positive(in.latency_cycles, "$.latency_cycles", faults);
    check_positive(in.peak_flops_per_cycle_per_sm, "$.peak_flops_per_cycle_per_sm", faults);
    check_sources(a->document, in.sources, faults);
}

static void read_entry(void *into, const char *folder, json_t *document, struct faults *faults)
{
    (void)folder;
    struct arch *a = into;
    a->document = document;
    read_arch(a, faults);
}

static int by_generation(const void *a, const void *b)
{
    const struct arch *x = a, *y = b;
    return x->sm != y->sm ? (x->sm > y->sm) - (x->sm < y->sm) : strcmp(x->name, y->name);
}

enum err archs_load(struct archs *out, const char *home, struct fault *f)
{
    static const struct catalog_kind kind = {"arch", "arch.json", "architecture",
                                             sizeof(struct arch), read_entry};
    void *items;
    enum err e = catalog_load(&kind, home, &items, &out->count, f);
    out->items = items;
    if (e == ERR_NONE)
        qsort(out->items, out->count, sizeof(*out->items), by_generation);
    else
        archs_release(out);
    return e;
}

void archs_release(struct archs *a)
{
    for (size_t i = 0; i < a->count; i++)
        json_decref(a->items[i].document);
    free(a->items);
    *a = (struct archs){0};
}

const struct arch *archs_find(const struct archs *a, const char *name)
{
    for (size_t i = 0; i < a->count; i++)
        if (!strcmp(a->items[i].name, name))
            return &a->items[i];
    return NULL;
}

const struct sass_family *arch_family(const struct arch *a, unsigned opcode)
{
    for (size_t i = 0; i < a->family_count; i++)
        for (size_t k = 0; k < a->families[i].opcode_count; k++)
            if (a->families[i].opcodes[k] == opcode)
                return &a->families[i];
    return NULL;
}
