/* SPDX-License-Identifier: Apache-2.0
 * Speed of the CPU device: thread instructions a second on all cores, for a loop of arithmetic, a
 * tiled matrix product through shared memory, and lanes that diverge; floating-point operations of
 * wgmma; and a whole evaluation of the small GEMM with its parts. And how many instruction forms it
 * executes. One JSON object a line; medians of several runs; `.per_core` is per second of processor
 * time, whatever else the machine does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "core/submission.h"
#include "core/util.h"
#include "evaluator/check_tensors.h"
#include "evaluator/evaluate.h"
#include "evaluator/ptxvm/ptx.h"
#include "evaluator/ptxvm/ptxvm.h"
#include "evaluator/runner_rig.h"
#include "tests/unit/forms.h"

enum { RUNS = 5, EVALUATIONS = 3 };

#define HEAD ".version 9.0\n.target sm_90a\n.address_size 64\n"

/* Integer and float arithmetic in registers, unrolled as a compiler would. */
static const char arithmetic[] = HEAD ".visible .entry k(.param .u64 out) {.reg .b32 %r<9>; .reg "
                                      ".f32 %f<9>; .reg .b64 %rd<4>; .reg .pred %p;"
                                      "ld.param.u64 %rd0, [out]; mov.u32 %r0, %tid.x; mov.u32 %r1, "
                                      "0; cvt.rn.f32.u32 %f1, %r0; mov.f32 %f2, 0f3F800001;"
                                      "L: fma.rn.f32 %f3, %f1, %f2, %f1; add.s32 %r2, %r1, %r0; "
                                      "mul.f32 %f4, %f3, %f2; xor.b32 %r3, %r2, %r0;"
                                      "fma.rn.f32 %f5, %f4, %f2, %f3; shl.b32 %r4, %r3, 1; add.f32 "
                                      "%f1, %f5, %f4; mad.lo.s32 %r0, %r4, %r2, %r3;"
                                      "add.s32 %r1, %r1, 1; setp.lt.s32 %p, %r1, 4096; @%p bra L;"
                                      "cvt.rn.f32.s32 %f6, %r0; add.f32 %f1, %f1, %f6; mov.u32 "
                                      "%r5, %tid.x; mul.wide.u32 %rd1, %r5, 4;"
                                      "add.u64 %rd2, %rd0, %rd1; st.global.f32 [%rd2], %f1; ret;}";

/* 16x16 tiles of a 256x256 product: global and shared memory, barriers, fma. */
static const char tiled[] =
    HEAD ".visible .entry k(.param .u64 out) {.reg .b32 %r<30>; .reg .f32 %f<9>; .reg .b64 "
         "%rd<20>; .reg .pred %p<3>;"
         ".shared .align 16 .b8 sa[1024]; .shared .align 16 .b8 sb[1024];"
         "ld.param.u64 %rd0, [out]; mov.u32 %r0, %tid.x; and.b32 %r1, %r0, 15; shr.u32 %r2, %r0, "
         "4; mov.u32 %r3, %ctaid.x;"
         "and.b32 %r4, %r3, 15; shr.u32 %r5, %r3, 4; shl.b32 %r6, %r5, 4; add.s32 %r6, %r6, %r2; "
         "shl.b32 %r7, %r4, 4;"
         "add.s32 %r7, %r7, %r1; mov.u32 %r8, sa; mov.u32 %r9, sb; shl.b32 %r10, %r0, 2; add.s32 "
         "%r11, %r8, %r10;"
         "add.s32 %r12, %r9, %r10; shl.b32 %r13, %r2, 6; add.s32 %r14, %r8, %r13; shl.b32 %r15, "
         "%r1, 2; add.s32 %r16, %r9, %r15;"
         "mov.f32 %f0, 0f00000000; mov.u32 %r17, 0;"
         "T: shl.b32 %r18, %r6, 8; add.s32 %r18, %r18, %r17; add.s32 %r18, %r18, %r1; mul.wide.s32 "
         "%rd1, %r18, 4;"
         "add.s64 %rd2, %rd0, %rd1; ld.global.f32 %f1, [%rd2]; st.shared.f32 [%r11], %f1; add.s32 "
         "%r19, %r17, %r2;"
         "shl.b32 %r19, %r19, 8; add.s32 %r19, %r19, %r7; mul.wide.s32 %rd3, %r19, 4; add.s64 "
         "%rd4, %rd0, %rd3;"
         "ld.global.f32 %f2, [%rd4]; st.shared.f32 [%r12], %f2; bar.sync 0; mov.u32 %r20, 0; "
         "mov.u32 %r21, %r14; mov.u32 %r22, %r16;"
         "K: ld.shared.f32 %f3, [%r21]; ld.shared.f32 %f4, [%r22]; fma.rn.f32 %f0, %f3, %f4, %f0;"
         "ld.shared.f32 %f5, [%r21+4]; ld.shared.f32 %f6, [%r22+64]; fma.rn.f32 %f0, %f5, %f6, %f0;"
         "add.s32 %r21, %r21, 8; add.s32 %r22, %r22, 128; add.s32 %r20, %r20, 2; setp.lt.s32 %p0, "
         "%r20, 16; @%p0 bra K;"
         "bar.sync 0; add.s32 %r17, %r17, 16; setp.lt.s32 %p1, %r17, 256; @%p1 bra T;"
         "shl.b32 %r23, %r6, 8; add.s32 %r23, %r23, %r7; mul.wide.s32 %rd5, %r23, 4; add.s64 %rd6, "
         "%rd0, %rd5;"
         "st.global.f32 [%rd6+262144], %f0; ret;}";

/* Every lane another number of turns, with a branch inside. */
static const char divergent[] =
    HEAD ".visible .entry k(.param .u64 out) {.reg .b32 %r<9>; .reg .b64 %rd<4>; .reg .pred %p<3>;"
         "ld.param.u64 %rd0, [out]; mov.u32 %r0, %tid.x; and.b32 %r1, %r0, 31; shl.b32 %r1, %r1, "
         "6; mov.u32 %r2, 0;"
         "mov.u32 %r3, 0; L: and.b32 %r4, %r3, 1; setp.eq.u32 %p0, %r4, 0; xor.b32 %r5, %r2, %r0; "
         "@%p0 bra A;"
         "mad.lo.s32 %r2, %r5, 3, %r3; bra B; A: add.s32 %r2, %r5, 7; B: add.s32 %r3, %r3, 1; "
         "setp.le.u32 %p1, %r3, %r1;"
         "@%p1 bra L; mul.wide.u32 %rd1, %r0, 4; add.u64 %rd2, %rd0, %rd1; st.global.u32 [%rd2], "
         "%r2; ret;}";

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_value);
    return values[count / 2];
}

static void say(const char *name, const char *part, double value, const char *unit)
{
    printf("{\"name\":\"ptxvm.%s%s\",\"value\":%.4g,\"unit\":\"%s\"}\n", name, part, value, unit);
}

/* Runs of one kernel; `work` of a launch, or 0: its thread instructions. */
static bool measure(const char *name, const char *ptx, uint32_t grid, uint32_t block, double work)
{
    struct fault f = {0};
    struct ptx_module *m = ptx_parse(ptx, strlen(ptx), &f);
    struct ptxvm *vm = m ? ptxvm_new(NULL, &f) : NULL;
    bool ok = vm && ptxvm_load(vm, m, &f) == ERR_NONE;
    double rates[RUNS] = {0}, busy[RUNS] = {0};
    uint64_t out = ok ? ptxvm_alloc(vm, "out", (size_t)1 << 20, 256, PTXVM_READ_WRITE) : 0;
    for (int i = 0; ok && i < RUNS; i++) {
        struct ptxvm_launch l = {.symbol = "k",
                                 .grid = {grid, 1, 1},
                                 .block = {block, 1, 1},
                                 .params = &out,
                                 .param_bytes = sizeof out};
        struct ptxvm_result r;
        double before = cpu_s();
        ptxvm_launch(vm, &l, &r);
        double done = work > 0 ? work : (double)r.counts.thread_instructions;
        busy[i] = done / (cpu_s() - before);
        rates[i] = done / (r.wall_ms / 1e3);
        ok = r.status == PTXVM_OK;
        snprintf(f.detail, sizeof f.detail, "%.200s", r.fault.detail);
        ptxvm_result_release(&r);
    }
    if (ok) {
        say(name, "", median(rates, RUNS), "1/s");
        say(name, ".per_core", median(busy, RUNS), "1/s");
    } else
        fprintf(stderr, "%s: %s\n", name, f.detail);
    ptxvm_free(vm);
    ptx_free(m);
    return ok;
}

/* ---- wgmma ---- */

/* A warp group that multiplies 64x16 by 16x256 elements of bf16 again and again. */
static bool measure_wgmma(void)
{
    enum { GRID = 8, TURNS = 64, N = 256, REGISTERS = N / 2 };
    struct buf b;
    buf_init(&b, MIB);
    buf_addf(&b,
             HEAD
             ".visible .entry k(.param .u64 out) {.reg .f32 %%f<%d>; .reg .b32 %%r<4>; .reg .b64 "
             "%%d<4>; .reg .pred %%p;.shared .align 1024 .b8 s[32768]; mov.u32 %%r0, s; mov.u32 "
             "%%r2, %%tid.x; mov.u32 %%r3, 0; shl.b32 %%r2, %%r2, 8; add.u32 %%r2, %%r2, %%r0;\n",
             REGISTERS);
    for (int i = 0; i < 256; i += 4) /* zeros: what is there at first is no number */
        buf_addf(&b, "st.shared.u32 [%%r2+%d], %%r3;\n", i);
    for (int i = 0; i < REGISTERS; i++)
        buf_addf(&b, "mov.f32 %%f%d, 0f00000000;\n", i);
    /* descriptor: address / 16, rows of 64 elements, eight of them 1024 bytes on, 128-byte swizzle
     */
    buf_adds(&b, "shr.u32 %r1, %r0, 4; cvt.u64.u32 %d0, %r1; or.b64 %d0, %d0, 0x4000004000010000;\n"
                 "mov.u32 %r1, 0; bar.sync 0; wgmma.fence.sync.aligned;\n"
                 "L: wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {");
    for (int i = 0; i < REGISTERS; i++)
        buf_addf(&b, "%s%%f%d", i ? "," : "", i);
    buf_addf(
        &b,
        "}, %%d0, %%d0, 1, 1, 1, 0, 0;\nadd.u32 %%r1, %%r1, 1; setp.lt.u32 %%p, %%r1, %d; @%%p "
        "bra L; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; ret;}",
        TURNS);
    bool ok = !b.failed &&
              measure("wgmma_flop_per_s", b.data, GRID, 128, 2.0 * GRID * TURNS * 64 * N * 16);
    buf_release(&b);
    return ok;
}

/* ---- a whole evaluation ---- */

static bool submit(const struct registry *registry, const char *file, struct submission *s)
{
    char path[512];
    struct buf source;
    struct faults faults = {0};
    buf_init(&source, LIMIT_SOURCE);
    snprintf(path, sizeof path, "%s/problems/gemm/examples/%s", PTXBENCH_SOURCE_DIR, file);
    json_t *query =
        json_pack("{s:s, s:s, s:s}", "problem", "gemm", "arch", "sm_90a", "device", "cpu");
    bool ok = read_file(path, &source, NULL) == ERR_NONE &&
              submission_bare(registry, source.data, source.len, query, s, &faults);
    json_decref(query);
    buf_release(&source);
    return ok;
}

enum { WHOLE, COMPILE, CHECK, PROCESSOR, DEVICE, PARTS };

/* Processor time of this process and of the children it has waited for. */
static double all_cpu_s(void)
{
    struct rusage u;
    getrusage(RUSAGE_CHILDREN, &u);
    return cpu_s() + (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

/* What the device alone takes: parse, decode, and run the plan once. Negative: it failed. */
static double run_plan(const struct submission *s, const struct evaluation *e)
{
    struct tensors tensors = {0};
    struct fault f = {0};
    json_t *symbols = json_object(), *kernel;
    size_t i;
    json_array_foreach(json_object_get(e->report, "kernels"), i, kernel)
        json_object_set(symbols, json_string_value(json_object_get(kernel, "name")),
                        json_object_get(kernel, "symbol"));
    struct rig_spec spec = {.problem = s->problem,
                            .workload = s->workload,
                            .arch = s->arch,
                            .plan = s->plan,
                            .ptx = e->ptx.data,
                            .ptx_len = e->ptx.len,
                            .symbols = symbols,
                            .tensors = tensors.data,
                            .thread_instructions = UINT64_C(1) << 40,
                            .plan_ms = 60000};
    bool ok = tensors_init(&tensors, s->problem, s->workload, NULL, &f) == ERR_NONE;
    double begin = now_s();
    struct rig *rig = ok ? rig_new(&spec, &f) : NULL;
    struct rig_run run = {0};
    if (rig)
        rig_run(rig, &run);
    double seconds = rig && run.status == PTXVM_OK ? now_s() - begin : -1;
    rig_run_release(&run);
    rig_free(rig);
    tensors_release(&tensors);
    json_decref(symbols);
    return seconds;
}

static bool evaluate_once(const struct registry *registry, const struct submission *s,
                          double seconds[PARTS])
{
    struct evaluation e;
    struct fault f = {0};
    struct evaluation_request q = {.registry = registry, .submission = s, .device = "cpu"};
    double begin = now_s(), begin_cpu = all_cpu_s();
    bool ok = evaluate(&q, NULL, &e, &f) == ERR_NONE && e.verdict == VERDICT_PASSED;
    seconds[WHOLE] = now_s() - begin;
    seconds[PROCESSOR] = all_cpu_s() - begin_cpu;
    const json_t *stages = json_object_get(e.report, "stages"), *stage;
    size_t i;
    json_array_foreach(stages, i, stage)
    {
        const char *name = json_string_value(json_object_get(stage, "stage"));
        name = name ? name : json_string_value(json_object_get(stage, "name"));
        double wall = json_number_value(json_object_get(stage, "wall_ms")) / 1e3;
        if (name && (!strcmp(name, "compile") || !strcmp(name, "check")))
            seconds[name[1] == 'o' ? COMPILE : CHECK] = wall;
    }
    seconds[DEVICE] = ok ? run_plan(s, &e) : -1;
    if (!ok)
        fprintf(stderr, "small GEMM: %s\n",
                e.report ? json_string_value(json_object_get(e.report, "detail")) : f.detail);
    evaluation_release(&e);
    return ok && seconds[DEVICE] > 0;
}

/* The compiler's part, the device's, and the memory of the greatest process. */
static bool measure_gemm(void)
{
    static const char *const parts[PARTS] = {"", ".compile", ".check", ".cpu", ".ptxvm"};
    struct registry registry;
    struct submission s = {0};
    struct rusage usage;
    double seconds[PARTS][EVALUATIONS] = {{0}}, once[PARTS] = {0};
    if (registry_load(&registry, home_dir(), NULL) != ERR_NONE)
        return false;
    bool ok = submit(&registry, "wgmma_cluster.cu", &s);
    for (int i = 0; ok && i < EVALUATIONS; i++) {
        ok = evaluate_once(&registry, &s, once);
        for (int k = 0; k < PARTS; k++)
            seconds[k][i] = once[k];
    }
    for (int k = 0; ok && k < PARTS; k++)
        say("small_gemm_seconds", parts[k], median(seconds[k], EVALUATIONS), "s");
    if (ok && getrusage(RUSAGE_CHILDREN, &usage) == 0)
        say("small_gemm_mib", "", (double)usage.ru_maxrss / 1024, "MiB");
    submission_release(&s);
    registry_release(&registry);
    return ok;
}

/* ---- forms ---- */

static void count(const char *form, const char *reason, void *arg)
{
    size_t *counts = arg;
    char detail[PTXVM_DETAIL];
    enum ptxvm_status status;
    enum form_result result = form_try(form, false, &status, detail, sizeof detail);
    counts[0] += result == FORM_EXECUTED;
    counts[1] += result == FORM_REJECTED && reason;
}

static bool count_forms(void)
{
    size_t counts[2] = {0};
    if (!forms_each(count, counts))
        return false;
    say("instruction_forms", "", (double)counts[0], "forms");
    say("instruction_forms", ".rejected", (double)counts[1], "forms");
    return true;
}

int main(void)
{
    bool ok = measure("thread_instructions_per_s", arithmetic, 64, 256, 0);
    ok &= measure("thread_instructions_per_s.tiled", tiled, 256, 256, 0);
    ok &= measure("thread_instructions_per_s.divergent", divergent, 64, 256, 0);
    ok &= measure_wgmma();
    ok &= count_forms();
    ok &= measure_gemm();
    return ok ? 0 : 1;
}
