/* SPDX-License-Identifier: Apache-2.0
 * Cases made from tests/data/ptx_forms.txt: every form there that computes registers from
 * registers, each a kernel. Of the video instructions, which are emulated anyway and come in
 * thousands of forms, one in VIDEO_SHARE. */
#ifndef TESTS_GPU_DIFFERENTIAL_FORMS_H
#define TESTS_GPU_DIFFERENTIAL_FORMS_H

#include <ctype.h>

#include "tests/gpu/differential_scalar.h"
#include "tests/unit/forms_table.h"

enum { VIDEO_SHARE = 6 };

/* Scalar video instructions that ptxas 13.0 does not make what the manual says of them on sm_90 (it
 * emulates them): .sat, a second operation (its min gives the greater), a part as the destination,
 * shifts, vmad. ptxvm keeps to the manual. */
static inline bool diff_is_odd_video(const char *form, const char *operands)
{
    bool one = !isdigit((unsigned char)form[strcspn(form, ". ") - 1]);
    unsigned commas = 0;
    for (const char *at = operands; *at; at++)
        commas += *at == ',';
    return one &&
           (commas > 2 || operands[3] == '.' || strstr(form, ".sat") || !strncmp(form, "vsh", 3));
}

/* Mnemonics that compute, with the mask that operands need where the manual bounds them. */
static const struct {
    const char *op;
    const char *before; /* PTX in front of the instruction; NULL: nothing */
} diff_computing[] = {
    {"add", NULL},
    {"sub", NULL},
    {"addc", NULL},
    {"subc", NULL},
    {"mul", NULL},
    {"mad", NULL},
    {"madc", NULL},
    {"mul24", NULL},
    {"mad24", NULL},
    {"sad", NULL},
    {"min", NULL},
    {"max", NULL},
    {"abs", NULL},
    {"neg", NULL},
    {"popc", NULL},
    {"clz", NULL},
    {"bfind", NULL},
    {"brev", NULL},
    {"bfe", "and.b32 w2, w2, 255; and.b32 w3, w3, 255;"},
    {"bfi", "and.b32 w3, w3, 255; and.b32 w4, w4, 255;"},
    {"fns", "and.b32 w2, w2, 31; and.b32 w3, w3, 7; sub.s32 w3, w3, 3;"},
    {"div", "or.b16 h2, h2, 1;"}, /* what a division by zero gives is not said */
    {"rem", "or.b16 h2, h2, 1; or.b32 w2, w2, 1; or.b64 d2, d2, 1;"},
    {"szext", NULL},
    {"bmsk", NULL},
    {"dp4a", NULL},
    {"dp2a", NULL},
    {"and", NULL},
    {"or", NULL},
    {"xor", NULL},
    {"not", NULL},
    {"cnot", NULL},
    {"lop3", NULL},
    {"shl", NULL},
    {"shr", NULL},
    {"shf", NULL},
    {"prmt", NULL},
    {"selp", NULL},
    {"slct", NULL},
    {"setp", NULL},
    {"set", NULL},
    {"testp", NULL},
    {"fma", NULL},
    {"rcp", NULL},
    {"sqrt", NULL},
    {"rsqrt", NULL},
    {"sin", NULL},
    {"cos", NULL},
    {"lg2", NULL},
    {"ex2", NULL},
    {"tanh", NULL},
    {"copysign", NULL},
    {"cvt", NULL},
    {"vadd", NULL},
    {"vsub", NULL},
    {"vabsdiff", NULL},
    {"vmin", NULL},
    {"vmax", NULL},
    {"vshl", NULL},
    {"vshr", NULL},
    {"vmad", NULL},
    {"vset", NULL},
    {"vadd2", NULL},
    {"vsub2", NULL},
    {"vavrg2", NULL},
    {"vabsdiff2", NULL},
    {"vmin2", NULL},
    {"vmax2", NULL},
    {"vset2", NULL},
    {"vadd4", NULL},
    {"vsub4", NULL},
    {"vavrg4", NULL},
    {"vabsdiff4", NULL},
    {"vmin4", NULL},
    {"vmax4", NULL},
    {"vset4", NULL},
};

/* Errors of the manual, and one rounding of ours on top: see differential_scalar.def. */
static const struct {
    const char *form; /* how it begins */
    struct diff_rule rule;
} diff_approximations[] = {
    {"rcp.approx.ftz.f64", NEAR('d', 0x1p-20, 0x1p-1022)},
    {"rsqrt.approx.ftz.f64", NEAR('d', 0x1p-20, 0)},
    {"rsqrt.approx.f64", NEAR('d', 0x1p-20, 0)},
    {"rcp.approx", NEAR('f', 0x1.8p-23, 0x1p-126)},
    {"sqrt.approx", NEAR('f', 0x1p-22, 0x1p-126)},
    {"rsqrt.approx", NEAR('f', 0x1.4p-22, 0)},
    {"sin.approx", NEAR('f', 0, 0x1p-20)},
    {"cos.approx", NEAR('f', 0, 0x1p-20)},
    {"lg2.approx", NEAR('f', 0x1p-22, 0x1p-21)},
    {"ex2.approx.f16", NEAR('h', 0x1.2p-10, 0x1p-24)},
    {"ex2.approx.ftz.bf16", NEAR('b', 0x1p-7, 0x1p-126)},
    {"ex2.approx", NEAR('f', 0x1.8p-22, 0x1p-126)},
    {"tanh.approx.f16", NEAR('h', 0x1p-10, 0x1p-24)},
    {"tanh.approx.bf16", NEAR('b', 0x1p-7, 0)},
    {"tanh.approx", NEAR('f', 0x1.1p-11, 0)},
    {"div.full", NEAR('f', 0x1.8p-22, 0x1p-126)},
    {"div.approx", NEAR('f', 0x1.8p-22, 0x1p-126)},
};

static inline const char *diff_last(const char *form, const char *end, const char *const *words,
                                    size_t count)
{
    const char *best = NULL, *at;
    size_t where = 0;
    for (size_t i = 0; i < count; i++)
        for (at = form; (at = strstr(at, words[i])) && at < end; at++)
            if ((size_t)(at - form) + 1 > where)
                where = (size_t)(at - form) + 1, best = words[i];
    return best;
}

/* What the operands are: the last type of the form. */
static inline char diff_form_fill(const char *form, const char *end)
{
    static const char *const words[] = {".f32",  ".tf32", ".f64", ".f16", ".bf16",
                                        ".e4m3", ".e5m2", ".u",   ".s",   ".b"};
    static const char fills[] = {'f', 'f', 'd', 'h', 'b', 'x', 'x', 'i', 'i', 'i'};
    const char *last = diff_last(form, end, words, COUNT_OF(words));
    if (!strncmp(form, "sin", 3) || !strncmp(form, "cos", 3))
        return 'p';
    if (!strncmp(form, "div.approx", 10))
        return 'F'; /* it gives 0 for large divisors, and may */
    for (size_t i = 0; last && i < COUNT_OF(words); i++)
        if (last == words[i] && (i != 9 || !strstr(form, ".bf16")))
            return fills[i];
    return strstr(form, ".bf16") ? 'b' : 'i';
}

static inline struct diff_rule diff_form_rule(const char *form, const char *end)
{
    const char *f64 = strstr(form, ".f64");
    for (size_t i = 0; i < COUNT_OF(diff_approximations); i++)
        if (!strncmp(form, diff_approximations[i].form, strlen(diff_approximations[i].form)))
            return diff_approximations[i].rule;
    if (!f64 || f64 >= end || strchr("hwdp", end[1]))
        return f64 && f64 < end && end[1] == 'h' && strstr(form, "f16") /* cvt from f64 */
                   ? (struct diff_rule){strstr(form, ".bf16") ? 'b' : 'h', 0, 0, true}
                   : (struct diff_rule)BITS;
    return end[1] == 'g' ? (struct diff_rule)NANS('d') : (struct diff_rule)NANS('f');
}

/* Are all operands registers or numbers? */
static inline bool diff_form_plain(const char *operands)
{
    for (const char *at = operands; *at;) {
        at += strspn(at, " ,!|");
        bool reg = strchr("hwdfgp", *at) && isdigit((unsigned char)at[1]);
        if (!reg && !isdigit((unsigned char)*at))
            return false;
        at += strcspn(at, " ,|");
    }
    return true;
}

static inline const char *diff_form_before(const char *form, bool *computes)
{
    size_t n = strcspn(form, ". ");
    for (size_t i = 0; i < COUNT_OF(diff_computing); i++)
        if (strlen(diff_computing[i].op) == n && !strncmp(form, diff_computing[i].op, n)) {
            *computes = true;
            return diff_computing[i].before ? diff_computing[i].before : "";
        }
    *computes = false;
    return "";
}

/* The result of a form and, behind it, the second one: a predicate or the carry. */
static inline void diff_form_store(struct buf *b, const char *form, const char *operands)
{
    static const char *const sizes[] = {"h16", "w32", "f32", "d64", "g64"};
    bool carries = strstr(form, ".cc.") && strstr(form, ".cc.") < operands;
    if (carries)
        buf_adds(b, "addc.u32 %t, 0, 0;\n");
    const char *pair = strchr(operands, '|');
    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        if (operands[1] == sizes[i][0])
            buf_addf(b, "st.global.b%s [%%y], %c0;\n", sizes[i] + 1, sizes[i][0]);
    if (operands[1] == 'p')
        buf_adds(b, "selp.b32 %t, 1, 0, p0;\nst.global.b32 [%y], %t;\n");
    if (pair)
        buf_addf(b, "selp.b32 %%t, 1, 0, %.2s;\nst.global.b32 [%%y+4], %%t;\n", pair + 1);
    else if (carries && operands[1] != 'd')
        buf_adds(b, "st.global.b32 [%y+4], %t;\n");
    else if (carries)
        buf_adds(b, "cvt.u64.u32 %o, %t;\nxor.b64 d0, d0, %o;\nst.global.b64 [%y], d0;\n");
}

/* The table may make one form from two lines. */
static inline bool diff_has_form(const struct diff_cases *all, const char *form)
{
    for (size_t i = all->count; i-- > 0 && !strncmp(all->items[i].name, "form: ", 6);)
        if (!strcmp(all->items[i].name + 6, form))
            return true;
    return false;
}

static inline void diff_add_form(const char *form, const char *reason, void *arg)
{
    struct diff_cases *all = arg;
    const char *operands = strchr(form, ' ');
    bool computes;
    const char *before = diff_form_before(form, &computes);
    if (reason || !operands || !computes || !diff_form_plain(operands) || diff_has_form(all, form))
        return;
    bool video = form[0] == 'v';
    if (video && diff_is_odd_video(form, operands))
        return;
    if (video && diff_mix(0xcbf29ce484222325u, form, strlen(form)) % VIDEO_SHARE)
        return;
    struct diff_case *c = diff_add(all, video ? "forms: video" : "forms");
    struct buf b;
    snprintf(c->name, sizeof(c->name), "form: %s", form);
    c->grid = DIFF_VALUES / DIFF_BLOCK;
    c->block = DIFF_BLOCK;
    c->in_bytes = DIFF_VALUES * 24;
    c->out_bytes = DIFF_VALUES * 8;
    memset(c->in_fill, diff_form_fill(form, operands), 3);
    c->in_fill[3] = '0';
    c->rule = diff_form_rule(form, operands);
    diff_begin(&b, c, "");
    buf_addf(&b,
             ".reg .b16 h<10>;\n.reg .b32 w<10>, %%i, %%n, %%t;\n.reg .b64 d<10>, %%x, %%y, %%o;\n"
             ".reg .f32 f<10>;\n.reg .f64 g<10>;\n.reg .pred p<4>;\n"
             "mov.u32 %%i, %%ctaid.x;\nmov.u32 %%n, %%tid.x;\nmad.lo.u32 %%i, %%i, %d, %%n;\n"
             "ld.param.u64 %%x, [in];\nld.param.u64 %%y, [out];\nmul.wide.u32 %%o, %%i, 24;\n"
             "add.u64 %%x, %%x, %%o;\nmul.wide.u32 %%o, %%i, 8;\nadd.u64 %%y, %%y, %%o;\n",
             DIFF_BLOCK);
    for (int i = 0; i < 3; i++)
        buf_addf(&b,
                 "ld.global.b16 h%d, [%%x+%d];\nld.global.b32 w%d, [%%x+%d];\nld.global.b64 d%d, "
                 "[%%x+%d];\n"
                 "mov.b32 f%d, w%d;\nmov.b64 g%d, d%d;\n",
                 i + 1, 8 * i, i + 1, 8 * i, i + 1, 8 * i, i + 1, i + 1, i + 1, i + 1);
    buf_addf(
        &b,
        "xor.b32 w4, w1, w3;\nmov.b32 w0, 0;\nsetp.ge.s32 p0, w1, w3;\nsetp.lt.s32 p1, w1, w2;\n"
        "setp.gt.u32 p2, w2, w3;\n%s\nadd.cc.u32 %%t, w1, w3;\n%s;\n",
        before, form);
    diff_form_store(&b, form, operands);
    diff_end(&b, c);
}

/* False: the table cannot be read. */
static inline bool diff_add_forms(struct diff_cases *all)
{
    return forms_each(diff_add_form, all);
}

#endif
