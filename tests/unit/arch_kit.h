/* SPDX-License-Identifier: Apache-2.0
 * How the headers that kernels include as <ptxbench/….cuh> are held against what they claim: one
 * source with a kernel for each row is compiled, and each kernel must hold its row's PTX and its
 * row's opcode. */
#ifndef TESTS_UNIT_ARCH_KIT_H
#define TESTS_UNIT_ARCH_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/cubin.h"
#include "core/json.h"
#include "core/pack.h"
#include "core/util.h"
#include "evaluator/compile.h"
#include "evaluator/cuda_paths.h"
#include "tests/arch_names.h"

/* A statement, what must stand in the PTX of a kernel made of it, and the opcode (low 9 bits) that
 * must stand in its code; 0 where it makes no instruction of its own. */
struct row {
    const char *statement, *emits;
    unsigned opcode;
};

enum { MAX_KERNELS = 400, MAX_LINE = 512 };

/* What a row's statement may use. */
static const char arch_preamble[] =
    "#pragma nv_diag_suppress 177, 550 // unused variables\n"
    "#include <cuda.h>\n"
    "using namespace ptxbench;\n"
    "struct args { uint64_t *g; float *f; int n; };\n"
    "#define KERNEL(name, ...) extern \"C\" __global__ __launch_bounds__(128, 1) void name( \\\n"
    "    const __grid_constant__ CUtensorMap map, args a) { \\\n"
    "    __shared__ alignas(1024) char s[2048]; __shared__ alignas(8) uint64_t bar[4]; \\\n"
    "    __shared__ pipeline<4> ring; pipeline_stage<4> at{1, (uint32_t)a.n}; int i = a.n; \\\n"
    "    uint32_t one[1] = {at.parity}, two[2] = {at.parity, 1}, four[4] = {at.parity, 1, 2, 3}; "
    "\\\n"
    "    __VA_ARGS__; }\n";

static struct archs archs;
static bool toolkit; /* NVRTC and ptxas are here */

/* One source under construction, and what each of its kernels must hold. */
static struct {
    const char *arch;
    struct buf source;
    size_t count;
    char name[MAX_KERNELS][8], emits[MAX_KERNELS][MAX_LINE];
    unsigned opcode[MAX_KERNELS];
} unit;

/* Every statement of this run, for functions_are_called. */
static struct buf statements;

static inline void unit_begin(const char *arch, const char *preamble)
{
    struct pack_files headers = {0};
    unit.arch = arch;
    unit.count = 0;
    buf_init(&unit.source, LIMIT_SOURCE);
    assert_int_equal(pack_headers(&headers, home_dir(), arch, NULL), ERR_NONE);
    for (size_t i = 0; i < headers.count; i++)
        buf_addf(&unit.source, "#include <ptxbench/%s>\n", headers.items[i].name);
    pack_release(&headers);
    buf_addf(&unit.source, "%s%s", arch_preamble, preamble);
}

static inline void unit_add(const char *statement, const char *emits, unsigned opcode)
{
    size_t i = unit.count++;
    assert_true(i < MAX_KERNELS);
    snprintf(unit.name[i], sizeof unit.name[i], "k%zu", i);
    snprintf(unit.emits[i], sizeof unit.emits[i], "%s", emits);
    unit.opcode[i] = opcode;
    buf_addf(&unit.source, "KERNEL(k%zu, %s)\n", i, statement);
}

static inline void unit_add_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        unit_add(rows[i].statement, rows[i].emits, rows[i].opcode);
}

/* Rows once for each rank of a box: %d and %s in them are the rank and the coordinates. */
static inline void unit_add_boxes(const struct row *boxes, size_t count)
{
    static const char *const at[] = {"i", "i, 1", "i, 1, 2", "i, 1, 2, 3", "i, 1, 2, 3, 4"};
    for (int rank = 1; rank <= 5; rank++)
        for (size_t i = 0; i < count; i++) {
            const char *s = strstr(boxes[i].statement, "%s"), *d = strstr(boxes[i].emits, "%d");
            char statement[MAX_LINE], emits[MAX_LINE];
            snprintf(statement, sizeof statement, "%.*s%s%s", (int)(s - boxes[i].statement),
                     boxes[i].statement, at[rank - 1], s + 2);
            snprintf(emits, sizeof emits, "%.*s%d%s", (int)(d - boxes[i].emits), boxes[i].emits,
                     rank, d + 2);
            unit_add(statement, emits, boxes[i].opcode);
        }
}

static inline bool has_opcode(const struct cubin *cubin, const char *kernel, unsigned opcode)
{
    struct cubin_function f;
    assert_true(cubin_find(cubin, kernel, &f));
    for (size_t at = 0; at + 16 <= f.code_len; at += 16)
        if (cubin_opcode(f.code + at) == opcode)
            return true;
    return false;
}

static inline void unit_holds(const struct compile_result *r, const struct cubin *cubin, size_t i)
{
    char head[32];
    snprintf(head, sizeof head, ".entry %s(", unit.name[i]);
    char *from = strstr(r->ptx.data, head);
    assert_non_null(from);
    char *to = strstr(from + 1, ".entry "), kept = to ? *to : '\0';
    if (to)
        *to = '\0';
    if (!strstr(from, unit.emits[i]))
        fail_msg("no '%s' in\n%.3000s", unit.emits[i], from);
    if (to)
        *to = kept;
    if (unit.opcode[i] && !has_opcode(cubin, unit.name[i], unit.opcode[i]))
        fail_msg("no instruction %#x for '%s'", unit.opcode[i], unit.emits[i]);
}

/* For one who writes rows: with ARCH_KIT_SAVE=FOLDER the cubin is left there, for a disassembler.
 */
static inline void unit_save(const struct compile_result *r)
{
    static int number;
    char path[512];
    const char *folder = getenv("ARCH_KIT_SAVE");
    if (!folder)
        return;
    snprintf(path, sizeof path, "%s/%s-%d.cubin", folder, unit.arch, number++);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(r->cubin.data, 1, r->cubin.len, f), r->cubin.len);
    fclose(f);
}

/* Compiles the unit and holds each kernel against its row; `out` is the caller's to release. */
static inline void unit_compile(struct compile_result *out)
{
    struct cubin cubin;
    struct compile_request q = {.language = "cuda",
                                .arch = archs_find(&archs, unit.arch),
                                .source = unit.source.data,
                                .source_len = unit.source.len,
                                .names = (const char *const[]){"k0", NULL},
                                .timeout_ms = 240 * 1000,
                                .wake_fd = -1};
    assert_non_null(q.arch);
    compile_run(&q, out);
    if (out->verdict != VERDICT_PASSED)
        fail_msg("%s\n%.3000s", out->detail, out->log.data ? out->log.data : "");
    json_t *warnings = json_object_get(out->compiler, "warnings");
    if (json_array_size(warnings))
        fail_msg("%.3000s", out->log.data);
    unit_save(out);
    assert_int_equal(cubin_open(&cubin, out->cubin.data, out->cubin.len, NULL), ERR_NONE);
    for (size_t i = 0; i < unit.count; i++)
        unit_holds(out, &cubin, i);
    buf_add(&statements, unit.source.data, unit.source.len);
    buf_release(&unit.source);
}

static inline void need_toolkit(void)
{
    if (!toolkit) {
        print_message("no CUDA toolkit on this host\n");
        skip();
    }
}

/* Every instruction that a comment of a header names after "PTX:" stands in `ptx`; how many do. */
static inline int comments_hold(const struct pack_file *header, const char *ptx)
{
    int found = 0;
    char *save = NULL;
    for (const char *at = header->text; (at = strstr(at, "PTX: "));) {
        char line[MAX_LINE];
        at += strlen("PTX: ");
        snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
        for (char *w = strtok_r(line, " ,;()", &save); w; w = strtok_r(NULL, " ,;()", &save)) {
            if (!strchr(w, '.') || w[0] == '.') /* prose, or the end of a name said before */
                continue;
            if (!strstr(ptx, w))
                fail_msg("%s names '%s', nothing emits it", header->name, w);
            found++;
        }
    }
    return found;
}

static inline int all_comments_hold(const char *arch, const char *ptx)
{
    struct pack_files headers = {0};
    int found = 0;
    assert_int_equal(pack_headers(&headers, home_dir(), arch, NULL), ERR_NONE);
    for (size_t i = 0; i < headers.count; i++)
        found += comments_hold(&headers.items[i], ptx);
    pack_release(&headers);
    return found;
}

/* A function that no row calls would be untested. How many there are. */
static inline int functions_are_called(const char *arch)
{
    char missing[64];
    int found = functions_called(arch, statements.data, missing);
    if (missing[0])
        fail_msg("no row calls %s", missing);
    print_message("template_functions.%s %d\n", arch, found);
    return found;
}

static inline int kit_load(void **state)
{
    (void)state;
    struct cuda_paths paths;
    struct fault f;
    buf_init(&statements, 8 * MIB);
    toolkit = cuda_paths_find(&paths) && paths.nvrtc[0] && paths.ptxas[0];
    if (archs_load(&archs, home_dir(), &f) == ERR_NONE)
        return 0;
    fprintf(stderr, "%s\n", f.detail);
    return -1;
}

static inline int kit_drop(void **state)
{
    (void)state;
    buf_release(&statements);
    archs_release(&archs);
    return 0;
}

#endif
