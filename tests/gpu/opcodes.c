// SPDX-License-Identifier: Apache-2.0
// What tests/gpu/opcodes holds against a disassembler: our reading of every instruction of a cubin.
//
//   gpu_opcodes list sm_90a file.cubin    prints: function, byte, opcode, mnemonic of its family or
//   -,
//                                         shape (16x8x16) or - of each instruction
//   gpu_opcodes ptx folder                writes PTX that has every form of tensor instruction
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/cubin.h"
#include "core/util.h"
#include "evaluator/cuda/tensor_shape.h"

enum { INSTRUCTION = 16 };

static const char *mnemonic(const struct arch *a, unsigned opcode)
{
    const struct sass_family *f = arch_family(a, opcode);
    for (size_t i = 0; f && i < f->opcode_count; i++)
        if (f->opcodes[i] == opcode)
            return f->mnemonics[i];
    return "-";
}

static void list_function(const struct arch *a, const struct cubin_function *fn)
{
    for (size_t at = 0; at < fn->code_len; at += INSTRUCTION) {
        struct tensor_shape s;
        char shape[32] = "-";
        if (tensor_shape(fn->code + at, &s))
            snprintf(shape, sizeof(shape), "%dx%dx%d", s.m, s.n, s.k);
        unsigned opcode = cubin_opcode(fn->code + at);
        printf("%s %04zx %03x %s %s\n", fn->name, at, opcode, mnemonic(a, opcode), shape);
    }
}

static int list(const char *arch, const char *file)
{
    struct archs archs;
    struct cubin cubin;
    struct cubin_function fn;
    struct buf b;
    struct fault f = {0};
    buf_init(&b, LIMIT_CUBIN);
    if (archs_load(&archs, home_dir(), &f) != ERR_NONE || read_file(file, &b, &f) != ERR_NONE ||
        cubin_open(&cubin, b.data, b.len, &f) != ERR_NONE) {
        fprintf(stderr, "%s: %s\n", file, f.detail);
        return 1;
    }
    const struct arch *a = archs_find(&archs, arch);
    for (unsigned at = 0; a && cubin_next(&cubin, &at, &fn);)
        list_function(a, &fn);
    buf_release(&b);
    archs_release(&archs);
    return a ? 0 : 1;
}

/* ---- PTX ---- */

/* One form: how many registers of which type hold D, A, B and C. */
struct form {
    const char *name, *type;
    int d, a, b, c;
};

static const struct form mma_forms[] = {
    {"m16n8k16.row.col.f32.bf16.bf16.f32", "f32", 4, 4, 2, 4},
    {"m16n8k16.row.col.f32.f16.f16.f32", "f32", 4, 4, 2, 4},
    {"m16n8k16.row.col.f16.f16.f16.f16", "b32", 2, 4, 2, 2},
    {"m16n8k8.row.col.f32.bf16.bf16.f32", "f32", 4, 2, 1, 4},
    {"m16n8k8.row.col.f32.f16.f16.f32", "f32", 4, 2, 1, 4},
    {"m16n8k8.row.col.f16.f16.f16.f16", "b32", 2, 2, 1, 2},
    {"m16n8k8.row.col.f32.tf32.tf32.f32", "f32", 4, 4, 2, 4},
    {"m16n8k4.row.col.f32.tf32.tf32.f32", "f32", 4, 2, 1, 4},
    {"m16n8k32.row.col.f32.e4m3.e4m3.f32", "f32", 4, 4, 2, 4},
    {"m16n8k32.row.col.s32.s8.s8.s32", "b32", 4, 4, 2, 4},
    {"m16n8k32.row.col.s32.u8.s8.s32", "b32", 4, 4, 2, 4},
    {"m16n8k16.row.col.s32.s8.s8.s32", "b32", 4, 2, 1, 4},
    {"m16n8k16.row.col.satfinite.s32.u8.u8.s32", "b32", 4, 2, 1, 4},
    {"m8n8k16.row.col.s32.s8.s8.s32", "b32", 2, 1, 1, 2},
    {"m8n8k16.row.col.s32.s8.u8.s32", "b32", 2, 1, 1, 2},
    {"m16n8k64.row.col.s32.s4.s4.s32", "b32", 4, 4, 2, 4},
    {"m8n8k128.row.col.s32.b1.b1.s32.and.popc", "b32", 2, 1, 1, 2},
    {"m16n8k128.row.col.s32.b1.b1.s32.and.popc", "b32", 4, 2, 1, 4},
    {"m16n8k256.row.col.s32.b1.b1.s32.and.popc", "b32", 4, 4, 2, 4},
    {"m8n8k4.row.col.f64.f64.f64.f64", "f64", 2, 1, 1, 2},
    {"m16n8k4.row.col.f64.f64.f64.f64", "f64", 4, 2, 1, 4},
    {"m16n8k8.row.col.f64.f64.f64.f64", "f64", 4, 4, 2, 4},
    {"m16n8k16.row.col.f64.f64.f64.f64", "f64", 4, 8, 4, 4},
};

/* One type of wgmma; N runs over all that it has. Registers of D: N / divisor. */
static const struct warpgroup_form {
    const char *types;
    int k, divisor;
    bool sixteens; /* N above 32 in steps of 16 */
    const char *type, *scales;
} warpgroup_forms[] = {
    {"f32.bf16.bf16", 16, 2, false, "f32", ", p, 1, 1, 0, 0"},
    {"f32.f16.f16", 16, 2, false, "f32", ", p, -1, 1, 1, 0"},
    {"f16.f16.f16", 16, 4, false, "b32", ", p, 1, -1, 0, 1"},
    {"f32.tf32.tf32", 8, 2, false, "f32", ", p, 1, 1"},
    {"f32.e4m3.e4m3", 32, 2, false, "f32", ", p, 1, 1"},
    {"f16.e5m2.e4m3", 32, 4, false, "b32", ", p, 1, 1"},
    {"s32.s8.s8", 32, 2, true, "b32", ", p"},
    {"s32.u8.s8", 32, 2, true, "b32", ", p"},
    {"s32.b1.b1.and.popc", 256, 2, true, "b32", ", p"},
};

static void registers(FILE *out, char letter, int count)
{
    fprintf(out, "{");
    for (int i = 0; i < count; i++)
        fprintf(out, "%s%%%c%d", i ? ", " : "", letter, i);
    fprintf(out, "}");
}

/* Loads or stores registers at consecutive places behind `ptr`. */
static void move(FILE *out, char letter, const char *type, int count, int place, bool store)
{
    for (int i = 0; i < count; i++)
        if (store)
            fprintf(out, "st.global.%s [ptr+%d], %%%c%d;\n", type, place + 8 * i, letter, i);
        else
            fprintf(out, "ld.global.%s %%%c%d, [ptr+%d];\n", type, letter, i, place + 8 * i);
}

static void begin(FILE *out, const char *kernel, int number)
{
    fprintf(out,
            ".visible .entry %s_%d(.param .u64 p0, .param .u64 p1)\n{\n"
            ".reg .b64 ptr, db; .reg .pred p;\n"
            "ld.param.u64 ptr, [p0]; ld.param.u64 db, [p1];\nsetp.ne.u64 p, db, 0;\n",
            kernel, number);
}

static void write_mma(FILE *out, const struct form *f, int number)
{
    const char *operand = strcmp(f->type, "f64") ? "b32" : "f64";
    begin(out, "mma", number);
    fprintf(out, ".reg .%s %%d<16>, %%c<16>; .reg .%s %%a<16>, %%b<16>;\n", f->type, operand);
    move(out, 'a', operand, f->a, 0, false);
    move(out, 'b', operand, f->b, 256, false);
    move(out, 'c', f->type, f->c, 512, false);
    fprintf(out, "mma.sync.aligned.%s ", f->name);
    registers(out, 'd', f->d);
    fprintf(out, ", ");
    registers(out, 'a', f->a);
    fprintf(out, ", ");
    registers(out, 'b', f->b);
    fprintf(out, ", ");
    registers(out, 'c', f->c);
    fprintf(out, ";\n");
    move(out, 'd', f->type, f->d, 1024, true);
    fprintf(out, "ret;\n}\n");
}

static void write_wgmma(FILE *out, const struct warpgroup_form *f, int n, int number)
{
    int count = n / f->divisor;
    begin(out, "wgmma", number);
    fprintf(out, ".reg .%s %%d<128>;\n", f->type);
    move(out, 'd', f->type, count, 0, false);
    fprintf(out, "wgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n%dk%d.%s ", n, f->k,
            f->types);
    registers(out, 'd', count);
    fprintf(out,
            ", db, db%s;\nwgmma.commit_group.sync.aligned;\n"
            "wgmma.wait_group.sync.aligned 0;\n",
            f->scales);
    move(out, 'd', f->type, count, 4096, true);
    fprintf(out, "ret;\n}\n");
}

static FILE *ptx_file(const char *folder, const char *name, const char *target)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s.%s.ptx", folder, name, target);
    FILE *out = fopen(path, "w");
    if (out)
        fprintf(out, ".version 9.0\n.target %s\n.address_size 64\n", target);
    return out;
}

static int write_ptx(const char *folder)
{
    static const char *const targets[] = {"sm_90a", "sm_100a"};
    int number = 0;
    for (size_t t = 0; t < COUNT_OF(targets); t++) {
        FILE *out = ptx_file(folder, "mma", targets[t]);
        for (size_t i = 0; out && i < COUNT_OF(mma_forms); i++)
            write_mma(out, &mma_forms[i], number++);
        if (!out || fclose(out) != 0)
            return 1;
    }
    FILE *out = ptx_file(folder, "wgmma", targets[0]);
    for (size_t i = 0; out && i < COUNT_OF(warpgroup_forms); i++)
        for (int n = 8; n <= 256; n += 8) {
            bool odd = n > 32 && n % 16;
            if (!warpgroup_forms[i].sixteens || (n <= 32 || !odd))
                write_wgmma(out, &warpgroup_forms[i], n, number++);
        }
    return out && fclose(out) == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc == 4 && !strcmp(argv[1], "list"))
        return list(argv[2], argv[3]);
    if (argc == 3 && !strcmp(argv[1], "ptx"))
        return write_ptx(argv[2]);
    printf("1..0 # SKIP tests/gpu/opcodes runs this\n");
    return 77;
}
