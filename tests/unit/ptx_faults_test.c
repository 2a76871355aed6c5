/* SPDX-License-Identifier: Apache-2.0
 * The PTX parser: what each fault is called, and that no text, however broken or greedy, does more
 * than fail. */
#include "tests/unit/ptx_snippets.h"

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
        {HEAD ".entry k() { mov", ".b32", " 1; }", "more than 5 types in one instruction", 1000},
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
        bool memory = strstr(greedy[i].message, "memory") != NULL;
        assert_int_equal(f.code, memory ? ERR_TOO_LARGE : ERR_INVALID);
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
        cmocka_unit_test(test_faults),     cmocka_unit_test(test_modules),
        cmocka_unit_test(test_truncation), cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests_name("ptx_faults", tests, NULL, NULL);
}
