/* SPDX-License-Identifier: Apache-2.0
 * The PTX parser: what each construct becomes. */
#include "tests/unit/ptx_snippets.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operands),   cmocka_unit_test(test_function_facts),
        cmocka_unit_test(test_scopes),     cmocka_unit_test(test_initialisers),
        cmocka_unit_test(test_forms),      cmocka_unit_test(test_constants),
        cmocka_unit_test(test_round_trip),
    };
    return cmocka_run_group_tests_name("ptx_parse", tests, NULL, NULL);
}
