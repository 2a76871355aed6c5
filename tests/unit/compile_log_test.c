/* SPDX-License-Identifier: Apache-2.0
 * evaluator/compile_log: what is shown of a compiler's words, and what is read from them. */
#include "evaluator/compile_log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "core/text.h"
#include "core/util.h"

static const char *const headers[] = {"cuda.h", NULL}, *const folders[] = {"/cuda/include", NULL};
static const char ptx[] = ".version 9.0\n.loc 1 3 0\nadd;\n\t.loc 1 7 2\nmul;\n";
static const struct log_names names = {"kernel.cu", headers, folders, ptx};

static void shows(const char *raw, size_t len, const char *want)
{
    struct buf out;
    buf_init(&out, 64 * KIB);
    assert_false(compile_log_show(raw, len, &names, 32 * KIB, &out));
    assert_string_equal(out.data ? out.data : "", want);
    buf_release(&out);
}

#define SHOWS(raw, want) shows(raw, sizeof(raw) - 1, want)

static void foreign_text_is_harmless(void **state)
{
    (void)state;
    SHOWS("", "");
    SHOWS("kernel.cu(3): error: x\n", "kernel.cu(3): error: x\n");
    SHOWS("cuda.h(3): error: x\n/cuda/include/a(4): error: y\n",
          "cuda.h(3): error: x\n/cuda/include/a(4): error: y\n");
    SHOWS("server.c(3): error: x\n", "kernel.cu [#line \"server.c\"](3): error: x\n");
    SHOWS("\033[2J(3): error: x\n", "kernel.cu [#line \"\\x1b[2J\"](3): error: x\n");
    SHOWS("a\033[31m\r\x7f\0b\tc\n", "a\\x1b[31m\\x0d\\x7f\\x00b\tc\n");
    SHOWS("\xe2\x80\xae\xe2\x81\xa6\xc2\x85\xef\xbb\xbf\n", "\\u202e\\u2066\\u0085\\ufeff\n");
    SHOWS("\xff\xc3(\xed\xa0\x80 \xc3\xa4\n", "\\xff\\xc3(\\xed\\xa0\\x80 \xc3\xa4\n");
    SHOWS("Remark: The warnings can be suppressed with x\nb", "b\n");
    SHOWS("ptxas application ptx input, line 5; error   : no\n",
          "kernel.cu(7): ptxas; error   : no\n");
}

static void a_flood_is_cut_between_characters(void **state)
{
    (void)state;
    char raw[4096];
    for (size_t i = 0; i < sizeof raw; i += 2)
        memcpy(raw + i, "\xc3\xa4", 2);
    for (size_t max = 100; max < 104; max++) {
        struct buf out;
        buf_init(&out, 64 * KIB);
        assert_true(compile_log_show(raw, sizeof raw, &names, max, &out));
        assert_true(out.len <= max && out.len + 2 > max);
        assert_true(text_is_utf8(out.data, out.len));
        buf_release(&out);
    }
}

static const char assembler[] =
    "kernel.cu(4): warning #177-D: variable \"x\" was declared but never referenced\n"
    "ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored\n"
    "ptxas info    : (C7519) warpgroup.arrive is injected in around line 5 by compiler\n"
    "ptxas warning : Value of threads per SM for entry k is out of range\n"
    "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n"
    "ptxas info    : Function properties for k\n"
    "ptxas         .     744 bytes stack frame, 964 bytes spill stores, 968 bytes spill loads\n"
    "ptxas info    : Used 32 registers, 512 bytes smem\n"
    "ptxas info    : Function properties for k2\n"
    "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Used 32 registers, used 1 barriers, 400000 bytes smem\n";

static void warnings_have_codes_and_lines(void **state)
{
    (void)state;
    static const struct {
        const char *code;
        long line; /* 0: null */
    } want[] = {{"177-D", 4}, {"C7508", 0}, {"C7519", 7}, {"ptxas", 0}, {"spill", 0}};
    json_t *found = compile_log_warnings(assembler, sizeof assembler - 1, ptx);
    assert_int_equal(json_array_size(found), COUNT_OF(want));
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        const json_t *w = json_array_get(found, i);
        assert_string_equal(json_string_value(json_object_get(w, "code")), want[i].code);
        assert_int_equal(json_integer_value(json_object_get(w, "line")), want[i].line);
        assert_int_equal(json_is_null(json_object_get(w, "line")), !want[i].line);
    }
    assert_non_null(
        strstr(json_string_value(json_object_get(json_array_get(found, 4), "text")), "964 bytes"));
    json_decref(found);
}

static void warnings_are_bounded(void **state)
{
    (void)state;
    struct buf raw;
    buf_init(&raw, MIB);
    for (int i = 0; i < 1000; i++) {
        buf_addf(&raw, "kernel.cu(%d): warning #1-D: ", i + 1);
        for (int k = 0; k < 60; k++)
            buf_adds(&raw, "0123456789");
        buf_adds(&raw, "\n");
    }
    json_t *found = compile_log_warnings(raw.data, raw.len, NULL);
    assert_int_equal(json_array_size(found), 64);
    assert_true(strlen(json_string_value(json_object_get(json_array_get(found, 0), "text"))) <=
                400);
    json_decref(found);
    buf_release(&raw);
}

static void resources_are_read(void **state)
{
    (void)state;
    long stores = -1, loads = -1;
    assert_true(compile_log_spills(assembler, "k", &stores, &loads));
    assert_int_equal(stores, 964);
    assert_int_equal(loads, 968);
    assert_true(compile_log_spills(assembler, "k2", &stores, &loads));
    assert_int_equal(stores, 0);
    assert_false(compile_log_spills(assembler, "k3", &stores, &loads));
    assert_false(compile_log_spills(NULL, "k", &stores, &loads));
    assert_int_equal(compile_log_shared(assembler), 400000);
    assert_int_equal(compile_log_shared(NULL), 0);
}

static void first_errors(void **state)
{
    (void)state;
    static const struct {
        const char *raw, *want;
    } cases[] = {
        {"kernel.cu(4): warning #1: x\nkernel.cu(9): error: bad\nkernel.cu(10): error: worse\n",
         "line 9: bad"},
        {"cuda.h(9): error: bad\n", "bad"},
        {"kernel.cu(1): catastrophic error: cannot open source file \"x\"\n",
         "line 1: cannot open source file \"x\""},
        {"ptxas application ptx input, line 3; error   : no\n", "line 3: no"},
        {"ptxas fatal   : Unresolved extern function 'f'\n", "Unresolved extern function 'f'"},
        {"kernel.cu(2): error: \033[1m\n", "line 2: \\x1b[1m"},
        {"fine\n", ""},
    };
    char out[64];
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        compile_log_first_error(cases[i].raw, strlen(cases[i].raw), &names, out, sizeof out);
        assert_string_equal(out, cases[i].want);
    }
    compile_log_first_error("kernel.cu(1): error: 0123456789012345678901234567890123456789\n", 62,
                            &names, out, 20);
    assert_int_equal(strlen(out), 19);
}

static void bad_names_are_found(void **state)
{
    (void)state;
    static const char raw[] = "__nv_name_map(2): error: x\n  #pragma nv_mangled_name k<3\n   ^\n";
    assert_true(compile_log_rejects_name(raw, "k<3"));
    assert_false(compile_log_rejects_name(raw, "k"));
    assert_false(compile_log_rejects_name(NULL, "k"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(foreign_text_is_harmless),
        cmocka_unit_test(a_flood_is_cut_between_characters),
        cmocka_unit_test(warnings_have_codes_and_lines),
        cmocka_unit_test(warnings_are_bounded),
        cmocka_unit_test(resources_are_read),
        cmocka_unit_test(first_errors),
        cmocka_unit_test(bad_names_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
