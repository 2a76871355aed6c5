/* SPDX-License-Identifier: Apache-2.0
 * PTX texts that several tests of the parser share. Which are right was settled with ptxas 13.0. */
#ifndef TESTS_UNIT_PTX_SNIPPETS_H
#define TESTS_UNIT_PTX_SNIPPETS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/util.h"
#include "evaluator/ptxvm/ptx.h"

#define HEAD ".version 9.0\n.target sm_90a\n.address_size 64\n"

static struct ptx_module *parse(const char *text, struct fault *f)
{
    *f = (struct fault){0};
    return ptx_parse(text, strlen(text), f);
}

static struct ptx_module *must_parse(const char *text)
{
    struct fault f;
    struct ptx_module *m = parse(text, &f);
    if (!m)
        print_error("%s\n%s\n", f.detail, text);
    assert_non_null(m);
    return m;
}

/* A kernel around `body`, with registers of every kind, functions and variables. */
static char *kernel(const char *body)
{
    struct buf text;
    buf_init(&text, MIB);
    buf_adds(&text,
             HEAD ".global .b32 g[4];\n.shared .align 16 .b8 s[64];\n.global .b32 words[8];\n"
                  ".func (.param .b32 r) f (.param .b64 a) { st.param.b32 [r], 1; ret; }\n"
                  ".func (.reg .b32 r) h (.reg .b32 a) { mov.b32 r, a; ret; }\n.func t;\n"
                  ".visible .entry k(.param .u64 p0, .param .u32 p1)\n{\n"
                  ".reg .pred %p<4>;\n.reg .b16 %h<4>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<4>;\n"
                  ".reg .f32 %f<8>;\n.reg .v4 .f32 v, w<2>;\n");
    buf_adds(&text, body);
    buf_adds(&text, "\nret;\n}\n");
    char *out = buf_take(&text, NULL);
    assert_non_null(out);
    return out;
}

/* Bodies of a kernel and how their instructions are written. */
static const struct {
    const char *body;
    const char *formatted; /* NULL: the body itself */
} good[] = {
    {"add.s32 %r1, %r2, %r3;", NULL},
    {"@%p1 bra L; @!%p2 bra.uni L; L:", "@%p1 bra L;\n@!%p2 bra.uni L;"},
    {"@ ! %p1 bra L; L:", "@!%p1 bra L;"},
    {"add .u32 %r1 , %r2,3 ;", "add.u32 %r1, %r2, 3;"},
    {"wgmma.mma_async.sync.aligned\n\t.m64n8k16 .f32.bf16.bf16 {%f0,%f1,%f2,%f3}, %rd1, %rd2, %p1, "
     "1, -1, 0, 1;",
     "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %rd1, %rd2, %p1, "
     "1, -1, 0, 1;"},
    /* constants */
    {"mov.b32 %r1, 0x10; mov.b32 %r1, 017; mov.b32 %r1, 0b101; mov.b32 %r1, 5U;",
     "mov.b32 %r1, 16;\nmov.b32 %r1, 15;\nmov.b32 %r1, 5;\nmov.b32 %r1, 5;"},
    {"mov.b32 %r1, (1+2)*3 - -4; mov.b32 %r1, 7 % 4 << 2 | 1; mov.b32 %r1, 1 ? 2 : 0 ? 3 : 4;",
     "mov.b32 %r1, 13;\nmov.b32 %r1, 13;\nmov.b32 %r1, 2;"},
    {"mov.b32 %r1, !3 + ~0; mov.b32 %r1, WARP_SZ-1; mov.b32 %r1, -WARP_SZ; mov.b32 %r1, 1.5 > 1.0;",
     "mov.b32 %r1, -1;\nmov.b32 %r1, 31;\nmov.b32 %r1, -32;\nmov.b32 %r1, 1;"},
    {"mov.b64 %rd1, 18446744073709551615; mov.b64 %rd1, -9223372036854775808; mov.b64 %rd1, "
     "(.u64)(-1) >> 60;",
     "mov.b64 %rd1, -1;\nmov.b64 %rd1, -9223372036854775808;\nmov.b64 %rd1, 15;"},
    {"mov.b64 %rd1, -7 / 2; mov.b64 %rd1, -7 >> 1; mov.b64 %rd1, 1 << 64; mov.b64 %rd1, -1 < 0U;",
     "mov.b64 %rd1, -3;\nmov.b64 %rd1, -4;\nmov.b64 %rd1, 0;\nmov.b64 %rd1, 0;"},
    {"mov.b64 %rd1, (-9223372036854775807-1) / -1; mov.b64 %rd1, 1 && 0 || 2 == 2;",
     "mov.b64 %rd1, -9223372036854775808;\nmov.b64 %rd1, 1;"},
    {"mov.f32 %f1, 0f3F800000; mov.f32 %f1, 0F3f800000; mov.f32 %f1, 1.5; mov.f32 %f1, -.5; "
     "mov.f32 %f1, 1.;",
     "mov.f32 %f1, 0f3F800000;\nmov.f32 %f1, 0f3F800000;\nmov.f32 %f1, 0d3FF8000000000000;\n"
     "mov.f32 %f1, 0dBFE0000000000000;\nmov.f32 %f1, 0d3FF0000000000000;"},
    {"mov.f32 %f1, 1e3; mov.f32 %f1, 0dBFF0000000000000; mov.f32 %f1, 1.0+2.0*0.5;",
     "mov.f32 %f1, 0d408F400000000000;\nmov.f32 %f1, 0dBFF0000000000000;\nmov.f32 %f1, "
     "0d4000000000000000;"},
    /* addresses */
    {"ld.global.b32 %r1, [%rd1]; ld.global.b32 %r1, [%rd1+4]; ld.global.b32 %r1, [ %rd1 + -4 ];",
     "ld.global.b32 %r1, [%rd1];\nld.global.b32 %r1, [%rd1+4];\nld.global.b32 %r1, [%rd1+-4];"},
    {"ld.global.b32 %r1, [g]; ld.global.b32 %r1, [g+4+4]; ld.global.b32 %r1, [%rd1+4*(2+1)]; "
     "ld.local.b32 %r1, [16];",
     "ld.global.b32 %r1, [g];\nld.global.b32 %r1, [g+8];\nld.global.b32 %r1, "
     "[%rd1+12];\nld.local.b32 %r1, [16];"},
    {"ld.global.b32 %r1, g[2]; ld.global.b32 %r1, g[%r2]; ld.global.b32 %r1, g[%r2+1]; "
     "ld.param.u64 %rd1, [p0];",
     "ld.global.b32 %r1, [g+8];\nld.global.b32 %r1, g[%r2];\nld.global.b32 %r1, "
     "g[%r2+1];\nld.param.u64 %rd1, [p0];"},
    {"mov.u64 %rd1, g; mov.u64 %rd1, g+4; mov.u64 %rd1, f; mov.u64 %rd1, k;",
     "mov.u64 %rd1, g;\nmov.u64 %rd1, g+4;\nmov.u64 %rd1, f;\nmov.u64 %rd1, k;"},
    {"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd1, "
     "{%r1, 4}], [s+8];",
     NULL},
    {"cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast:"
     ":cluster [s], "
     "[%rd1, {%r1, %r1, %r1, 0}], [s+8], {%h1, 2}, %h2;",
     NULL},
    {"tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}|%p1, [%rd1, {%f1, %f2}];", NULL},
    /* predicates, pairs, sinks, vectors */
    {"setp.eq.and.u32 %p1|%p2, %r1, 3, !%p3; setp.eq.u32 _|%p1, %r1, 3; lop3.or.b32 %r1|%p1, %r2, "
     "%r3, %r4, 0x1A, %p2;",
     "setp.eq.and.u32 %p1|%p2, %r1, 3, !%p3;\nsetp.eq.u32 _|%p1, %r1, 3;\nlop3.or.b32 %r1|%p1, "
     "%r2, %r3, %r4, 26, %p2;"},
    {"mov.b32 {_, %h2}, %r1;", NULL},
    {"mov.b32 %r1, {%h1, 3};", NULL},
    {"elect.sync _|%p1, -1;", NULL},
    {"vmad.s32.s32.s32 %r1, %r2.b0, %r3.h1, -%r4;", NULL},
    {"ld.global.v4.f32 v, [%rd1]; mov.f32 v.x, v.w; mov.f32 w1.g, %f1;",
     "ld.global.v4.f32 {v.x, v.y, v.z, v.w}, [%rd1];\nmov.f32 v.x, v.w;\nmov.f32 w1.y, %f1;"},
    /* special registers */
    {"mov.u32 %r1, %tid.x; mov.u64 %rd1, %clock64; mov.b32 %r1, %envreg31; mov.u32 %r1, %ctaid.g;",
     "mov.u32 %r1, %tid.x;\nmov.u64 %rd1, %clock64;\nmov.b32 %r1, %envreg31;\nmov.u32 %r1, "
     "%ctaid.y;"},
    {"mov.v4.u32 {%r1, %r2, %r3, %r4}, %ntid;", NULL},
    {".reg .b32 %tid; mov.b32 %tid, 1;", "mov.b32 %tid, 1;"},
    /* scopes */
    {"{ .reg .b32 %r1, q; mov.b32 %r1, q; } mov.b32 %r1, 2;", "mov.b32 %r1, q;\nmov.b32 %r1, 2;"},
    {".reg .b32 a, b<5>, c; mov.b32 a, b4; mov.b32 c, b04;", "mov.b32 a, b4;\nmov.b32 c, b4;"},
    {".reg .b32 add, reg, x<0>, x0; mov.b32 add, reg; mov.b32 x0, 1;",
     "mov.b32 add, reg;\nmov.b32 x0, 1;"},
    /* calls */
    {"{ .param .b64 a; .param .b32 r; st.param.b64 [a], %rd1; call.uni (r), f, (a); ld.param.b32 "
     "%r1, [r]; }",
     "st.param.b64 [a], %rd1;\ncall.uni (r), f, (a);\nld.param.b32 %r1, [r];"},
    {"call (%r1), h, (%r2); call (_), h, (3); call t; call t, ();",
     "call (%r1), h, (%r2);\ncall (_), h, (3);\ncall t;\ncall t;"},
    {".param .b64 a; P: .callprototype (.param .b32 _) _ (.param .b64 _); call (%r1), %rd1, (a), "
     "P;",
     "call (%r1), %rd1, (a), P;"},
    {"T: .calltargets f, h; call (%r1), %rd1, (%r2), T;", "call (%r1), %rd1, (%r2), T;"},
    {"T: .branchtargets A, B; brx.idx.uni %r1, T; A: ret; B:", "brx.idx.uni %r1, T;\nret;"},
    /* lines of other tools */
    {"# 1 \"file.cu\"\n.loc 1 2 3\n.pragma \"nounroll\";\nbar.sync 0; // comment\n/* x\n */ exit;",
     "bar.sync 0;\nexit;"},
};

/* Whole modules and what the message must contain. */
static const struct {
    const char *text, *message; /* message NULL: it must parse */
} modules[] = {
    {"", "1:1: the text ends too early"},
    {"hello", "1:1: a module must begin with .version"},
    {".version 9\n", "expected a version such as 9.0, not '9'"},
    {".version 9.0\n.address_size 64", "expected .target after .version"},
    {".version 9.0\n.target sm_90a, debug\n", NULL},
    {HEAD ".visible .entry k() { ret; } .visible .entry k() { ret; }",
     "function 'k' is defined twice"},
    {HEAD ".visible .entry k() { ret;", "function 'k' does not end"},
    {HEAD ".visible .entry k(.param .b32 p, .param .b32 p) { ret; }", "'p' is defined twice"},
    {HEAD ".func f () { ret; } .global .u32 f;", "'f' is defined twice"},
    {HEAD
     ".func (.param .b32 r) f (.param .b64 a); .func (.param .b32 r) f (.param .b32 a) { ret; }",
     "'f' is declared differently before"},
    {HEAD
     ".func (.param .b32 r) f (.param .b64 a); .func (.param .b32 r) f (.param .b64 b) { ret; }",
     NULL},
    {HEAD ".func f () { ret; } .alias g, f;", "'g' is no function declared before"},
    {HEAD ".visible .func f () { ret; } .visible .func g(); .alias g, f;", NULL},
    {HEAD ".reg .b32 r;", "registers at module scope are not supported"},
    {HEAD ".local .b8 l[4];", "a .local variable needs a function around it"},
    {HEAD ".global .u32 a; .global .u32 a;", "'a' is defined twice"},
    {HEAD ".extern .global .u32 a; .visible .global .u32 a;", NULL},
    {HEAD ".extern .global .u32 a; .visible .global .f32 a;", "'a' is declared differently before"},
    {HEAD ".global .u32 a[2][2] = {1,2,3,4};", "expected '{' of an initial value, not '1'"},
    {HEAD ".global .u32 a[2] = {1,2,3};", "more than 2 initial values"},
    {HEAD ".global .u32 a = {1};", "expected an initial value, not '{'"},
    {HEAD ".global .u32 a[2] = 1;", "expected '{' of an initial value"},
    {HEAD ".global .f32 a = 3;", "this value does not fit the type .f32"},
    {HEAD ".global .u32 a = 3.5;", "this value does not fit the type .u32"},
    {HEAD ".global .f16 a = 1.0;", "a .f16 variable cannot have an initial value"},
    {HEAD ".global .u64 a = b;", "undefined name 'b'"},
    {HEAD ".global .u32 x; .global .b8 a = x;", "an address does not fit a .b8"},
    {HEAD ".global .u32 x; .global .u8 a = 0xfe(x);", "a mask must select one byte of an address"},
    {HEAD ".global .b8 v[];", "'v' needs a size"},
    {HEAD ".section .debug_str { \"}\" $L: .b8 102 // }\n /* } */ .b32 $L-4 } .visible .entry k() "
          "{ ret; }",
     NULL},
    {HEAD ".section .debug_str { .b8 1", "this section does not end"},
    {HEAD ".visible .entry k() .frobnicate 3 { ret; }",
     "unknown directive '.frobnicate' of a function"},
    {HEAD ".visible .entry k() .reqntid 1, 2, .explicitcluster { ret; }",
     "expected a constant, not 'explicitcluster'"},
    {HEAD ".frobnicate", "unknown directive 'frobnicate' of a module"},
    {HEAD ".global .align 8 .attribute(.managed) .u32 m; .weak .const .b8 c; .pragma \"x\", \"y\";",
     NULL},
    {HEAD ".visible .entry k .maxntid 128 { ret; } .extern .func f .noreturn;", NULL},
};

#endif
