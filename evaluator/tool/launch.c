/* SPDX-License-Identifier: Apache-2.0
 * `ptxvm launch FILE`: one kernel of a PTX file with buffers and arguments given by hand; no
 * problem, no plan.
 *
 *     ptxvm launch k.ptx --entry saxpy --grid 4 --block 128 --buffer x=4096:iota --buffer y=4096 \
 *         --arg @x --arg @y --arg f32:2.5 --dump y:f32:8 --count
 *
 * Exit code: 0 done, 1 the launch failed (the fault is on stderr), 2 wrong usage. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/dtype.h"
#include "core/util.h"
#include "evaluator/ptxvm/ptx.h"
#include "evaluator/ptxvm/ptxvm.h"
#include "evaluator/tool/tool.h"

enum { MAX_BUFFERS = 32, MAX_DUMPS = 32, MAX_PARAMS = LIMIT_PARAM_BYTES };

struct buffer {
    const char *name;
    size_t name_len, bytes;
    bool iota; /* 32-bit words 0, 1, 2, … */
    uint64_t address;
};

struct arguments {
    const char *file, *entry;
    uint32_t grid[3], block[3];
    size_t shared_bytes;
    struct ptxvm_options options;
    struct buffer buffers[MAX_BUFFERS];
    size_t buffer_count;
    const char *args[LIMIT_ARGS];
    size_t arg_count;
    const char *dumps[MAX_DUMPS];
    size_t dump_count;
    bool count;
};

static const char usage[] =
    "usage: ptxvm launch FILE.ptx [options]\n"
    "  --entry NAME            kernel; default: the only one of the file\n"
    "  --grid X[,Y[,Z]]        CTAs; default 1\n"
    "  --block X[,Y[,Z]]       threads of a CTA; default 1\n"
    "  --shared BYTES          dynamic shared memory\n"
    "  --buffer NAME=BYTES[:iota]  device memory, zero or 32-bit words 0, 1, 2 …\n"
    "  --arg @NAME | TYPE:VALUE    next parameter; TYPE: u32 i32 u64 i64 f32 f64\n"
    "  --dump NAME:TYPE:COUNT  print elements of a buffer afterwards\n"
    "  --count                 print dynamic instruction counts as JSON\n"
    "  --seed N  --threads N  --budget N  --deadline MS; a seed alone means one thread of the "
    "host, so that\n"
    "                          kernels that race give the same answer each time\n";

static int wrong(const char *what, const char *value)
{
    fprintf(stderr, "ptxvm launch: %s: %s\n%s", what, value ? value : "", usage);
    return 2;
}

static bool read_number(const char *s, uint64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoull(s, &end, 0);
    return errno == 0 && end != s && *end == '\0';
}

static bool read_dims(const char *s, uint32_t out[3])
{
    out[0] = out[1] = out[2] = 1;
    for (int i = 0; i < 3; i++) {
        char *end;
        out[i] = (uint32_t)strtoul(s, &end, 10);
        if (end == s)
            return false;
        if (*end == '\0')
            return true;
        if (*end != ',')
            return false;
        s = end + 1;
    }
    return false;
}

static bool read_buffer(struct arguments *a, const char *s)
{
    const char *equals = strchr(s, '=');
    if (!equals || a->buffer_count == MAX_BUFFERS)
        return false;
    struct buffer *b = &a->buffers[a->buffer_count++];
    char *end;
    *b = (struct buffer){.name = s, .name_len = (size_t)(equals - s)};
    b->bytes = strtoull(equals + 1, &end, 0);
    b->iota = strcmp(end, ":iota") == 0;
    return end != equals + 1 && (*end == '\0' || b->iota);
}

static const struct option options[] = {
    {"entry", required_argument, NULL, 'e'},  {"grid", required_argument, NULL, 'g'},
    {"block", required_argument, NULL, 'b'},  {"shared", required_argument, NULL, 's'},
    {"buffer", required_argument, NULL, 'm'}, {"arg", required_argument, NULL, 'a'},
    {"dump", required_argument, NULL, 'd'},   {"count", no_argument, NULL, 'c'},
    {"seed", required_argument, NULL, 'S'},   {"threads", required_argument, NULL, 't'},
    {"budget", required_argument, NULL, 'B'}, {"deadline", required_argument, NULL, 'D'},
    {"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0},
};

static bool read_option(struct arguments *a, int option, const char *value)
{
    uint64_t n = 0;
    bool numeric = strchr("sStBD", option) != NULL;
    if (numeric && !read_number(value, &n))
        return false;
    switch (option) {
    case 'e':
        a->entry = value;
        return true;
    case 'g':
        return read_dims(value, a->grid);
    case 'b':
        return read_dims(value, a->block);
    case 's':
        a->shared_bytes = n;
        return true;
    case 'm':
        return read_buffer(a, value);
    case 'a':
        return a->arg_count < LIMIT_ARGS && (a->args[a->arg_count++] = value);
    case 'd':
        return a->dump_count < MAX_DUMPS && (a->dumps[a->dump_count++] = value);
    case 'c':
        a->count = true;
        return true;
    case 'S':
        a->options.seed = n;
        a->options.threads = a->options.threads ? a->options.threads : 1; /* so that it repeats */
        return true;
    case 't':
        a->options.threads = (int)n;
        return true;
    case 'B':
        a->options.instruction_budget = n;
        return true;
    case 'D':
        a->options.deadline_ms = (int64_t)n;
        return true;
    default:
        return false;
    }
}

static struct buffer *find_buffer(struct arguments *a, const char *name, size_t len)
{
    for (size_t i = 0; i < a->buffer_count; i++)
        if (a->buffers[i].name_len == len && memcmp(a->buffers[i].name, name, len) == 0)
            return &a->buffers[i];
    return NULL;
}

/* Appends one parameter at its place. */
static bool add_param(struct arguments *a, const char *s, unsigned char *params, size_t offset,
                      size_t bytes)
{
    uint64_t value = 0;
    if (*s == '@') {
        const struct buffer *b = find_buffer(a, s + 1, strlen(s + 1));
        value = b ? b->address : 0;
        if (!b)
            return false;
    } else if (strncmp(s, "f32:", 4) == 0) {
        float f = strtof(s + 4, NULL);
        memcpy(&value, &f, sizeof f);
    } else if (strncmp(s, "f64:", 4) == 0) {
        double f = strtod(s + 4, NULL);
        memcpy(&value, &f, sizeof f);
    } else {
        bool known = strncmp(s, "u32:", 4) == 0 || strncmp(s, "i32:", 4) == 0 ||
                     strncmp(s, "u64:", 4) == 0 || strncmp(s, "i64:", 4) == 0;
        if (!known)
            return false;
        value = s[0] == 'i' ? (uint64_t)strtoll(s + 4, NULL, 0) : strtoull(s + 4, NULL, 0);
    }
    if (bytes > 8 || offset + bytes > MAX_PARAMS)
        return false;
    memcpy(params + offset, &value, bytes);
    return true;
}

static bool place_buffers(struct ptxvm *vm, struct arguments *a)
{
    for (size_t i = 0; i < a->buffer_count; i++) {
        struct buffer *b = &a->buffers[i];
        char name[PTXVM_NAME];
        snprintf(name, sizeof name, "%.*s", (int)b->name_len, b->name);
        b->address = ptxvm_alloc(vm, name, b->bytes, 256, PTXVM_READ_WRITE);
        if (!b->address)
            return false;
        uint32_t *words = ptxvm_host(vm, b->address, b->bytes);
        for (size_t k = 0; b->iota && k < b->bytes / 4; k++)
            words[k] = (uint32_t)k;
    }
    return true;
}

static int dump(struct ptxvm *vm, struct arguments *a, const char *s)
{
    const char *colon = strchr(s, ':'), *second = colon ? strchr(colon + 1, ':') : NULL;
    char type[16] = "";
    if (!second || second - colon > 15)
        return wrong("--dump", s);
    memcpy(type, colon + 1, (size_t)(second - colon - 1));
    const struct buffer *b = find_buffer(a, s, (size_t)(colon - s));
    int dtype = dtype_find(type);
    if (!b || dtype < 0)
        return wrong("--dump", s);
    size_t count = strtoull(second + 1, NULL, 0), fits = b->bytes / dtype_bytes((enum dtype)dtype);
    const void *data = ptxvm_host(vm, b->address, b->bytes);
    printf("%.*s:", (int)b->name_len, b->name);
    for (size_t i = 0; i < (count < fits ? count : fits); i++)
        printf(" %.9g", dtype_load((enum dtype)dtype, data, i));
    printf("\n");
    return 0;
}

static const char *only_entry(const struct ptx_module *m)
{
    const char *name = NULL;
    for (uint32_t i = 0; i < m->func_count; i++)
        if (m->funcs[i].is_entry && m->funcs[i].has_body) {
            if (name)
                return NULL;
            name = m->funcs[i].name;
        }
    return name;
}

static int report(struct ptxvm *vm, struct arguments *a, const struct ptxvm_result *r)
{
    fputs(r->log, stdout);
    if (r->log_dropped)
        fprintf(stderr, "ptxvm: %zu bytes of output dropped\n", r->log_dropped);
    for (size_t i = 0; i < a->dump_count; i++)
        if (dump(vm, a, a->dumps[i]))
            return 2;
    if (a->count) {
        json_t *counts = ptxvm_counts_json(r);
        json_dumpf(counts, stdout, JSON_INDENT(2));
        printf("\n");
        json_decref(counts);
    }
    if (r->status == PTXVM_OK)
        return 0;
    json_t *fault = ptxvm_fault_json(r);
    json_dumpf(fault, stderr, JSON_INDENT(2));
    fprintf(stderr, "\n");
    json_decref(fault);
    return 1;
}

static int launch(struct ptxvm *vm, const struct ptx_module *m, struct arguments *a)
{
    unsigned char params[MAX_PARAMS] = {0};
    struct ptxvm_kernel kernel;
    const char *entry = a->entry ? a->entry : only_entry(m);
    if (!entry || !ptxvm_kernel(vm, entry, &kernel))
        return wrong("--entry: no such kernel, or none was named", entry);
    if (kernel.param_bytes > MAX_PARAMS)
        return wrong("parameters of more bytes than a kernel may take", entry);
    if (kernel.param_count > a->arg_count)
        return wrong("--arg: one is needed for each parameter of the kernel", entry);
    if (!place_buffers(vm, a))
        return wrong("--buffer", "too much memory");
    for (size_t i = 0; i < a->arg_count; i++) {
        size_t offset, bytes, align;
        if (!ptxvm_kernel_param(vm, entry, i, &offset, &bytes, &align) ||
            !add_param(a, a->args[i], params, offset, bytes))
            return wrong("--arg", a->args[i]);
    }
    struct ptxvm_launch l = {.symbol = entry,
                             .grid = {a->grid[0], a->grid[1], a->grid[2]},
                             .block = {a->block[0], a->block[1], a->block[2]},
                             .shared_bytes = a->shared_bytes,
                             .params = params,
                             .param_bytes = kernel.param_bytes};
    struct ptxvm_result r;
    ptxvm_launch(vm, &l, &r);
    int code = report(vm, a, &r);
    ptxvm_result_release(&r);
    return code;
}

static int run(struct arguments *a)
{
    struct fault f = {0};
    struct buf text;
    buf_init(&text, LIMIT_PTX);
    int code = 1;
    struct ptx_module *m = NULL;
    struct ptxvm *vm = NULL;
    if (read_file(a->file, &text, &f) == ERR_NONE && (m = ptx_parse(text.data, text.len, &f)) &&
        (vm = ptxvm_new(&a->options, &f)) && ptxvm_load(vm, m, &f) == ERR_NONE)
        code = launch(vm, m, a);
    else
        fprintf(stderr, "ptxvm: %s: %s\n", a->file, f.detail);
    ptxvm_free(vm);
    ptx_free(m);
    buf_release(&text);
    return code;
}

int tool_launch(int argc, char **argv)
{
    struct arguments a = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
    optind = 1;
    for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (o == 'h') {
            fputs(usage, stdout);
            return TOOL_OK;
        }
        if (!read_option(&a, o, optarg))
            return wrong("bad option value", optarg);
    }
    if (optind != argc - 1)
        return wrong("one file is needed", NULL);
    a.file = argv[optind];
    return run(&a);
}
