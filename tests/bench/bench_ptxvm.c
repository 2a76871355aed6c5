/* SPDX-License-Identifier: Apache-2.0
 * Speed of the CPU device: thread instructions a second on all cores, for a loop of arithmetic, a
 * tiled matrix product through shared memory, and lanes that diverge. One JSON object a line;
 * medians of several launches; `.per_core` is per second of processor time, whatever else the
 * machine does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/util.h"
#include "evaluator/ptxvm/ptx.h"
#include "evaluator/ptxvm/ptxvm.h"

enum { RUNS = 5 };

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

static bool measure(const char *name, const char *ptx, uint32_t grid)
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
                                 .block = {256, 1, 1},
                                 .params = &out,
                                 .param_bytes = sizeof out};
        struct ptxvm_result r;
        double before = cpu_s();
        ptxvm_launch(vm, &l, &r);
        busy[i] = (double)r.counts.thread_instructions / (cpu_s() - before);
        ok = r.status == PTXVM_OK;
        if (!ok)
            fprintf(stderr, "%s: %s\n", name, r.fault.detail);
        rates[i] = (double)r.counts.thread_instructions / (r.wall_ms / 1e3);
        ptxvm_result_release(&r);
    }
    qsort(rates, RUNS, sizeof rates[0], by_value);
    qsort(busy, RUNS, sizeof busy[0], by_value);
    if (ok)
        printf("{\"name\":\"ptxvm.%s\",\"value\":%.4g,\"unit\":\"1/s\"}\n"
               "{\"name\":\"ptxvm.%s.per_core\",\"value\":%.4g,\"unit\":\"1/s\"}\n",
               name, rates[RUNS / 2], name, busy[RUNS / 2]);
    else
        fprintf(stderr, "%s: %s\n", name, f.detail);
    ptxvm_free(vm);
    ptx_free(m);
    return ok;
}

int main(void)
{
    bool ok = measure("thread_instructions_per_s", arithmetic, 64);
    ok &= measure("thread_instructions_per_s.tiled", tiled, 256);
    ok &= measure("thread_instructions_per_s.divergent", divergent, 64);
    return ok ? 0 : 1;
}
