/* SPDX-License-Identifier: Apache-2.0
 * The PTX parser: what each construct becomes, what each fault is called, and that no text, however
 * broken or greedy, does more than fail. Which texts are right was checked against ptxas 13.0. */
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

/* The instructions of kernel k, each formatted, separated by '\n'; the last `ret;` is left out. */
static void format_body(const struct ptx_module *m, struct buf *out)
{
    const struct ptx_func *k = ptx_func_find(m, "k");
    buf_init(out, MIB);
    for (uint32_t i = 0; i + 1 < k->instr_count; i++) {
        if (i)
            buf_adds(out, "\n");
        ptx_format_instr(m, k, i, out);
    }
}

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

static void test_operands(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        char *text = kernel(good[i].body);
        struct ptx_module *m = must_parse(text);
        struct buf out;
        format_body(m, &out);
        assert_string_equal(out.data, good[i].formatted ? good[i].formatted : good[i].body);
        buf_release(&out);
        ptx_free(m);
        free(text);
    }
}

/* Faults in the kernel's body: what the message must contain. Its line is 18. */
static const struct {
    const char *body, *message;
} bad[] = {
    {"frobnicate.b32 %r1;", "18:1: unknown instruction 'frobnicate'"},
    {"add.b33 %r1, %r2, 3;", "18:4: unknown word '.b33' of instruction 'add'"},
    {"ADD.b32 %r1, %r2, 3;", "unknown instruction 'ADD'"},
    {"mov.b32 %r8, 1;", "18:9: undefined name '%r8'"},
    {"mov.b32 %r1, nothing;", "18:14: undefined name 'nothing'"},
    {"bra L; { L: }", "18:5: undefined name 'L'"},
    {"L: L:", "18:4: 'L' is defined twice"},
    {".reg .b32 %r1;", "'%r1' is defined twice"},
    {".reg .b32 %q5; .reg .b32 %q<10>;", "'%q5' is defined twice"},
    {".reg .b32 %q<10>; .reg .b32 %q<3>;", "'%q' is defined twice"},
    {".local .b8 l[4]; .local .b8 l[4];", "'l' is defined twice"},
    {"p0: ret;", "'p0' is defined twice"},
    {"{ .reg .b32 tt; } mov.b32 %r1, tt;", "undefined name 'tt'"},
    {"@%r1 bra L; L:", "a guard must be a predicate register"},
    {"@%p1 { ret; }", "expected an instruction, not '{'"},
    {"mov.b32 %r1 %r2;", "18:13: expected ',' or ';' after an operand of 'mov.b32', not '%r2'"},
    {"mov.b32 %r1, ;", "expected an operand, not ';'"},
    {"ret;;", "expected an instruction, not ';'"},
    {"mov.b32 {%h1, %h2,}, %r1;", "expected an operand, not '}'"},
    {"mov.b32 {{%h1}, %h2}, %r1;", "a vector holds registers and constants"},
    {"ld.global.b32 %r1, [%rd1+%r1];", "expected a constant, not '%r1'"},
    {"ld.global.b32 %r1, [nowhere];", "undefined name 'nowhere'"},
    {"ld.global.b32 %r1, [f];", "'f' is no address"},
    {"ld.global.b32 %r1, [%rd1;", "expected ']' after an address, not ';'"},
    {"mov.b32 %r1, 019;", "malformed number"},
    {"mov.b32 %r1, 1.0f;", "malformed number"},
    {"mov.b32 %r1, 0x;", "number without digits"},
    {"mov.f32 %f1, 0f3F80000;", "0f needs 8 hexadecimal digits"},
    {"mov.b64 %rd1, 99999999999999999999;", "integer over 64 bits"},
    {"mov.b32 %r1, 1/0;", "division by zero"},
    {"mov.b32 %r1, 1.0 % 2;", "this operator needs integers"},
    {"mov.b32 %r1, v.q;", "a vector of 4 has no component 'q'"},
    {"mov.b32 %r1, %tid.q;", "undefined name '%tid.q'"},
    {"mov.u32 %r1, %envreg32;", "undefined name '%envreg32'"},
    {"call nobody;", "call of something that is no function declared before"},
    {"call (%r1), %rd1, (%r2), P;", "expected a call prototype or call targets declared before"},
    {"brx.idx %r1, T; A: T: .branchtargets A;", "undefined name 'T'"},
    {".reg .b32 %q<4000000000>;", "more than 4194304 registers in one function"},
    {".reg .b32 %q<4294967296>;", "more than 4194304 registers in one function"},
    {".reg .b32 %q<-1>;", "expected the number of registers, not '-'"},
    {".reg .e4m3 q;", "type .e4m3 is for instructions only"},
    {".reg .b32 .b64 q;", "a second type '.b64'"},
    {".reg q;", "expected a type, not 'q'"},
    {".local .b8 l[];", "'l' needs a size"},
    {".local .b8 l[0];", "dimension 0 is not positive"},
    {".local .b8 l[4][];", "only the first dimension may be left open"},
    {".local .b64 l[4294967296][4294967296];", "'l' is too big"},
    {".local .align 3 .b8 l;", "alignment 3 is not a power of two"},
    {".shared .b8 l = 4;", "a .shared variable cannot have an initial value"},
    {".maxntid 4;", "unknown directive '.maxntid' in a function"},
    {"/* never closed", "comment without end"},
    {"\x01", "expected an instruction"},
    {"mov.b32 %r1, \"text\";", "expected an operand, not 'text'"},
};

static void test_faults(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        char *text = kernel(bad[i].body);
        struct fault f;
        struct ptx_module *m = parse(text, &f);
        if (m || !strstr(f.detail, bad[i].message))
            print_error("%s\n  gives: %s\n", bad[i].body, m ? "no fault" : f.detail);
        assert_null(m);
        assert_non_null(strstr(f.detail, bad[i].message));
        assert_int_equal(f.code, ERR_INVALID);
        free(text);
    }
}

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

static void test_modules(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(modules); i++) {
        struct fault f;
        struct ptx_module *m = parse(modules[i].text, &f);
        bool right = modules[i].message ? !m && strstr(f.detail, modules[i].message) : m != NULL;
        if (!right)
            print_error("%s\n  gives: %s\n", modules[i].text, m ? "no fault" : f.detail);
        assert_true(right);
        ptx_free(m);
    }
}

static void test_function_facts(void **state)
{
    (void)state;
    struct ptx_module *m = must_parse(
        HEAD ".file 1 \"a.cu\"\n.extern .shared .align 16 .b8 dyn[];\n"
             ".visible .entry k(.param .u32 n, .param .align 64 .b8 map[128],\n"
             "  .param .u64 .ptr .global .align 16 q)\n"
             ".maxntid 256, 2 .minnctapersm 3 .reqnctapercluster 4 .explicitcluster .maxnreg 40 "
             ".maxclusterrank 8\n"
             "{ .reg .b32 %r<5>; .reg .pred p; .shared .b32 st[8];\n"
             "L: .loc 1 7 9\n @!p mad.lo.s32 %r1, %r2, %r3, %r4;\n"
             ".loc 1 20 3, function_name $L__info_string0+4, inlined_at 1 7 9\n bra L; E: }\n");
    const struct ptx_func *k = ptx_func_find(m, "k");
    assert_non_null(k);
    assert_null(ptx_func_find(m, "l"));
    assert_int_equal(m->version, 90);
    assert_string_equal(m->target, "sm_90a");
    assert_int_equal(m->address_size, 64);
    assert_true(k->is_entry && k->has_body);
    assert_int_equal(k->linkage, PTX_LINK_VISIBLE);
    assert_int_equal(k->param_count, 3);
    assert_int_equal(k->local_count, 1);
    assert_int_equal(k->param_bytes, 200);
    const struct ptx_var *p = &m->vars[k->first_var];
    assert_int_equal(p[1].offset, 64);
    assert_int_equal(p[1].size, 128);
    assert_int_equal(p[1].count, 128);
    assert_int_equal(p[2].offset, 192);
    assert_true(p[2].is_ptr && !p[1].is_ptr);
    assert_int_equal(p[2].ptr_space, PTX_SPACE_GLOBAL);
    assert_int_equal(p[2].ptr_align, 16);
    assert_int_equal(p[3].space, PTX_SPACE_SHARED);
    assert_int_equal(k->directives.maxntid[0] * 1000 + k->directives.maxntid[1] * 10 +
                         k->directives.maxntid[2],
                     256021);
    assert_int_equal(k->directives.minnctapersm, 3);
    assert_int_equal(k->directives.reqnctapercluster[0], 4);
    assert_true(k->directives.explicitcluster);
    assert_int_equal(k->directives.maxnreg, 40);
    assert_int_equal(k->reg_count, 6);
    assert_int_equal(k->reg_types[0], PTX_TYPE_b32);
    assert_int_equal(k->reg_types[5], PTX_TYPE_pred);
    assert_int_equal(k->label_count, 2);
    assert_int_equal(k->labels[0].instr, 0);
    assert_int_equal(k->labels[1].instr, 2);
    assert_int_equal(k->instr_count, 2);

    const struct ptx_instr *mad = &k->instrs[0];
    const struct ptx_form *form = ptx_instr_form(m, mad);
    assert_int_equal(form->op, PTX_OP_mad);
    assert_true(ptx_form_has(form, PTX_WORD_lo) && !ptx_form_has(form, PTX_WORD_hi));
    assert_int_equal(form->types[0], PTX_TYPE_s32);
    assert_int_equal(form->types[1], PTX_TYPE_NONE);
    assert_int_equal(mad->guard, 5);
    assert_true(mad->guard_negated);
    assert_int_equal(mad->line, 11);
    assert_int_equal(mad->operand_count, 4);
    assert_int_equal(k->operands[mad->operands + 3].index, 4);
    assert_int_equal(m->locs[mad->loc].line, 7);
    assert_string_equal(ptx_file_name(m, m->locs[mad->loc].file), "a.cu");
    const struct ptx_loc *inlined = &m->locs[k->instrs[1].loc];
    assert_int_equal(inlined->line, 20);
    assert_int_equal(m->locs[inlined->inlined_at].line, 7);
    const struct ptx_operand *target = &k->operands[k->instrs[1].operands];
    assert_int_equal(target->kind, PTX_OPERAND_LABEL);
    assert_int_equal(target->index, 0);
    const struct ptx_var *dyn = ptx_var_find(m, "dyn");
    assert_true(dyn && dyn->unsized && dyn->size == 0 && dyn->align == 16);
    char name[32];
    ptx_format_reg(k, 4, name, sizeof name);
    assert_string_equal(name, "%r4");
    ptx_free(m);
}

/* The same label and register in many scopes; the innermost wins even if it stands later. */
static void test_scopes(void **state)
{
    (void)state;
    char *text =
        kernel("L: { .reg .b32 %r1; { bra L; } bra L; L: mov.b32 %r1, 1; { bra L; L: } } bra L;");
    struct ptx_module *m = must_parse(text);
    const struct ptx_func *k = ptx_func_find(m, "k");
    const uint32_t wanted[] = {1, 1, PTX_NONE, 2, 0};
    for (size_t i = 0; i < COUNT_OF(wanted); i++)
        if (wanted[i] != PTX_NONE)
            assert_int_equal(k->operands[k->instrs[i].operands].index, wanted[i]);
    uint32_t inner = k->operands[k->instrs[2].operands].index;
    char name[16];
    ptx_format_reg(k, inner, name, sizeof name);
    assert_string_equal(name, "%r1");
    assert_int_equal(inner, k->reg_count - 1); /* not the outer one */
    ptx_free(m);
    free(text);
}

static void test_initialisers(void **state)
{
    (void)state;
    struct ptx_module *m =
        must_parse(HEAD ".global .u32 x; .func f() { ret; }\n"
                        ".global .s32 d[][2] = {{-1,0},{0,-1},{1},{}};\n"
                        ".const .align 16 .v4 .f32 v = {1.0, 0f40000000, 3.0, 4.0};\n"
                        ".global .u64 a[4] = {x, x+4, generic(x)+8, f};\n"
                        ".global .u8 b[8] = {0xff(x), 0xff00(generic(x)+4), 65280(f), 7};\n"
                        ".global .b8 text[6] = {104, 105, 10};\n.global .f64 e = 1.0/4.0;");
    const struct ptx_var *d = ptx_var_find(m, "d");
    assert_int_equal(d->count, 8);
    assert_int_equal(d->size, 32);
    assert_int_equal(d->init_bytes, 20);
    int32_t d0, d4;
    memcpy(&d0, d->init, 4);
    memcpy(&d4, d->init + 16, 4);
    assert_int_equal(d0, -1);
    assert_int_equal(d4, 1);
    const struct ptx_var *v = ptx_var_find(m, "v");
    float v1;
    memcpy(&v1, v->init + 4, 4);
    assert_true(v1 == 2 && v->size == 16 && v->count == 0 && v->vector == 4);
    const struct ptx_var *a = ptx_var_find(m, "a");
    assert_int_equal(a->reloc_count, 4);
    assert_int_equal(a->relocs[1].addend, 4);
    assert_int_equal(a->relocs[2].offset, 16);
    assert_true(a->relocs[2].generic && !a->relocs[1].generic && a->relocs[3].is_func);
    assert_int_equal(a->relocs[3].bytes, 8);
    const struct ptx_var *b = ptx_var_find(m, "b");
    assert_int_equal(b->reloc_count, 3);
    assert_int_equal(b->relocs[1].shift, 8);
    assert_int_equal(b->relocs[2].bytes, 1);
    assert_int_equal(b->init[3], 7);
    double e;
    memcpy(&e, ptx_var_find(m, "e")->init, 8);
    assert_true(e == 0.25);
    ptx_free(m);
}

static void test_forms(void **state)
{
    (void)state;
    char *text = kernel(
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {%f0}, %rd1, %rd2, %p1, 1, 1, 0, 0;"
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0}, {%r0}, {%r1}, {%f0};"
        "ldmatrix.sync.aligned.m8n8.x4.shared::cta.b16 {%r0,%r1,%r2,%r3}, [s];"
        "tcgen05.ld.sync.aligned.32x32b.x8.b32 {%r0}, [%r1]; add.u32 %r1, %r1, 1; add.u32 %r1, "
        "%r1, 2;");
    struct ptx_module *m = must_parse(text);
    const struct ptx_func *k = ptx_func_find(m, "k");
    const struct ptx_form *wgmma = ptx_instr_form(m, &k->instrs[0]);
    assert_int_equal(wgmma->op, PTX_OP_wgmma);
    assert_int_equal(wgmma->m * 1000000 + wgmma->n * 1000 + wgmma->k, 64256016);
    assert_true(ptx_form_has(wgmma, PTX_WORD_SHAPE) && ptx_form_has(wgmma, PTX_WORD_mma_async));
    const struct ptx_form *mma = ptx_instr_form(m, &k->instrs[1]);
    assert_int_equal(mma->type_count, 4);
    assert_int_equal(mma->types[3], PTX_TYPE_f32);
    const struct ptx_form *ldmatrix = ptx_instr_form(m, &k->instrs[2]);
    assert_true(ldmatrix->m == 8 && ldmatrix->n == 8 && ldmatrix->k == 0);
    assert_true(ptx_form_has(ldmatrix, PTX_WORD_shared__cta));
    assert_true(ptx_form_has(ptx_instr_form(m, &k->instrs[3]), PTX_WORD_32x32b));
    assert_int_equal(k->instrs[4].form, k->instrs[5].form);
    ptx_free(m);
    free(text);
}

static void test_constants(void **state)
{
    (void)state;
    struct ptx_operand minus = {.kind = PTX_OPERAND_INT, .value = -1};
    struct ptx_operand half = {.kind = PTX_OPERAND_F64, .value = 0x3fe0000000000000};
    struct ptx_operand two = {.kind = PTX_OPERAND_F32, .value = 0x40000000};
    assert_true(ptx_constant_bits(&minus, PTX_TYPE_u16) == 0xffff);
    assert_true(ptx_constant_bits(&minus, PTX_TYPE_s64) == UINT64_MAX);
    assert_true(ptx_constant_bits(&minus, PTX_TYPE_pred) == 1);
    assert_true(ptx_constant_bits(&half, PTX_TYPE_f32) == 0x3f000000);
    assert_true(ptx_constant_bits(&half, PTX_TYPE_f64) == 0x3fe0000000000000);
    assert_true(ptx_constant_bits(&two, PTX_TYPE_f64) == 0x4000000000000000);
    assert_true(ptx_constant_bits(&two, PTX_TYPE_b32) == 0x40000000);
}

static void assert_fixpoint(const char *text)
{
    struct buf first, second;
    buf_init(&first, 16 * MIB);
    buf_init(&second, 16 * MIB);
    struct ptx_module *m = must_parse(text);
    ptx_format_module(m, &first);
    ptx_free(m);
    m = must_parse(first.data);
    ptx_format_module(m, &second);
    ptx_free(m);
    assert_string_equal(first.data, second.data);
    buf_release(&first);
    buf_release(&second);
}

static void test_round_trip(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        char *text = kernel(good[i].body);
        assert_fixpoint(text);
        free(text);
    }
    for (size_t i = 0; i < COUNT_OF(modules); i++)
        if (!modules[i].message)
            assert_fixpoint(modules[i].text);
}

/* Every prefix, and every text with one byte removed or replaced, parses or fails: no crash. */
static void test_truncation(void **state)
{
    (void)state;
    struct buf all;
    buf_init(&all, MIB);
    for (size_t i = 0; i < COUNT_OF(good); i++)
        buf_addf(&all, "{ %s }\n", good[i].body);
    char *text = kernel(all.data);
    size_t len = strlen(text);
    size_t entry = (size_t)(strstr(text, ".visible") - text);
    size_t end = (size_t)(strrchr(text, '}') - text) + 1;
    struct fault f;
    for (size_t n = 0; n < len; n++) {
        char *copy = malloc(n ? n : 1); /* exact: a read past the end is seen */
        memcpy(copy, text, n);
        struct ptx_module *m = ptx_parse(copy, n, &f);
        assert_true(m || strchr(f.detail, ':'));
        if (n > entry && n < end)
            assert_null(m);
        ptx_free(m);
        free(copy);
    }
    for (size_t n = 0; n < len; n += 3) {
        char saved = text[n];
        text[n] = "\0;{(@\"["[n % 7];
        ptx_free(ptx_parse(text, len, &f));
        text[n] = saved;
    }
    free(text);
    buf_release(&all);
}

/* `count` times `unit` between two texts. */
static char *repeat(const char *before, const char *unit, size_t count, const char *after)
{
    size_t n = strlen(unit);
    char *text = malloc(strlen(before) + n * count + strlen(after) + 1);
    assert_non_null(text);
    char *at = stpcpy(text, before);
    for (size_t i = 0; i < count; i++)
        at = stpcpy(at, unit);
    stpcpy(at, after);
    return text;
}

static void test_bounds(void **state)
{
    (void)state;
    static const struct {
        const char *before, *unit, *after, *message;
        size_t count;
    } greedy[] = {
        {HEAD ".entry k() {", "{", "", "scopes nested deeper than 63", 100000},
        {HEAD ".global .u32 a = ", "(", "", "expression nested deeper than 64", 100000},
        {HEAD ".global .u32 a = ", "-", "1;", "expression nested deeper than 64", 100000},
        {HEAD ".global .u32 a = ", "1?", "", "expression nested deeper than 64", 100000},
        {HEAD ".global .u32 a", "[1]", ";", "more than 8 dimensions", 100000},
        {HEAD ".entry k() { .reg .b32 r; mov.b32 ", "{", "",
         "a vector holds registers and constants", 100000},
        {HEAD ".entry k() { .reg .b32 r; mov.b32 ", "[r,", "", "an address within an address",
         100000},
        {HEAD ".entry k() { .local .b32 s; mov.b32 ", "s[", "", "expected a constant", 100000},
        {HEAD ".entry k() { .reg .b32 r; mov.b32 {r", ",r", "}, 1; }",
         "more than 255 elements in a list", 300},
        {HEAD ".entry k() { .reg .b32 r; mov.b32 r", ",r", "; }", "more than 255 operands", 300},
        {HEAD ".entry k() { mov", ".sync", " 1; }", "more than 24 words in one instruction", 1000},
        {HEAD ".entry k() { mov", ".b32", " 1; }", "more than 4 types in one instruction", 1000},
        {HEAD ".entry k() {", " .reg .b32 %a<4194304>; .reg .b32 %b<4194304>;", "}",
         "more than 4194304 registers", 1},
        {HEAD,
         ".func f() { .reg .b32 %a<4194304>; } .func g() { .reg .b32 %a<4194304>; } .func h() { "
         ".reg .b32 %a<4194304>; }"
         ".func i() { .reg .b32 %a<4194304>; }",
         "", "this module needs more memory than its length allows", 1},
        {HEAD ".global .b8 a[][100000000] = {", "{},", "{1}};",
         "this module needs more memory than its length allows", 8},
    };
    for (size_t i = 0; i < COUNT_OF(greedy); i++) {
        char *text = repeat(greedy[i].before, greedy[i].unit, greedy[i].count, greedy[i].after);
        struct fault f;
        struct ptx_module *m = parse(text, &f);
        if (m || !strstr(f.detail, greedy[i].message))
            print_error("row %zu gives: %s\n", i, m ? "no fault" : f.detail);
        assert_null(m);
        assert_non_null(strstr(f.detail, greedy[i].message));
        free(text);
    }
    struct fault f;
    assert_null(ptx_parse("", LIMIT_PTX + (size_t)1, &f));
    assert_int_equal(f.code, ERR_TOO_LARGE);
}

/* What a module holds stays under the stated multiple of its text. */
static void test_memory(void **state)
{
    (void)state;
    char *text =
        repeat(HEAD ".entry k() { .reg .b32 %r<9>;\n", "add.s32 %r1, %r2, %r3;\n", 50000, "}");
    struct ptx_module *m = must_parse(text);
    assert_int_equal(ptx_func_find(m, "k")->instr_count, 50000);
    assert_true(m->memory_bytes < 8 * strlen(text));
    ptx_free(m);
    free(text);
    ptx_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operands),   cmocka_unit_test(test_faults),
        cmocka_unit_test(test_modules),    cmocka_unit_test(test_function_facts),
        cmocka_unit_test(test_scopes),     cmocka_unit_test(test_initialisers),
        cmocka_unit_test(test_forms),      cmocka_unit_test(test_constants),
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_truncation),
        cmocka_unit_test(test_bounds),     cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests_name("ptx_parse", tests, NULL, NULL);
}
