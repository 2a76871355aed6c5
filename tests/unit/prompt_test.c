/* SPDX-License-Identifier: Apache-2.0
 * Prompts: every variant is built, within its budget, the same each time, and says what it must. */
#include "core/prompt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/json.h"
#include "core/util.h"
#include "tests/unit/domain.h"

/* The packs of the benchmark's paper, and ours: what the variant `contract` holds of parameters,
 * templates, contract. */
static const struct {
    const char *arch;
    int64_t paper_tokens;
} packs[] = {{"sm_90a", 22314}, {"sm_100a", 28815}};

static const struct arch *arch_of(size_t i)
{
    const struct arch *a = archs_find(&registry.archs, packs[i].arch);
    assert_non_null(a);
    return a;
}

static void build(const struct arch *arch, const char *variant, struct prompt *out)
{
    struct fault f = {0};
    struct prompt_request q = {.home = home_dir(),
                               .arch = arch,
                               .problem = problems_find(&registry.problems, "gemm"),
                               .variant = variant};
    if (prompt_build(&q, out, &f) != ERR_NONE)
        fail_msg("%s", f.detail);
}

static const struct prompt_part *part_of(const struct prompt *p, const char *component)
{
    for (size_t i = 0; i < p->count; i++)
        if (!strcmp(p->parts[i].component, component))
            return &p->parts[i];
    return NULL;
}

static void every_variant_is_built(void **state)
{
    (void)state;
    for (size_t a = 0; a < COUNT_OF(packs); a++) {
        struct fault f = {0};
        json_t *variants = prompt_variants(home_dir(), arch_of(a), &f), *v;
        size_t i;
        if (!variants)
            fail_msg("%s", f.detail);
        assert_true(json_array_size(variants) >=
                    4 + 6); /* the ablation, and three for each of three kinds */
        json_array_foreach(variants, i, v)
        {
            struct prompt p, again;
            struct buf one, two;
            const char *name = json_string_value(json_object_get(v, "name"));
            build(arch_of(a), name, &p);
            build(arch_of(a), name, &again);
            buf_init(&one, 4 * MIB);
            buf_init(&two, 4 * MIB);
            prompt_text(&p, &one);
            prompt_text(&again, &two);
            assert_string_equal(one.data, two.data);
            assert_true(p.estimated && p.tokens > 500 && p.tokens == again.tokens);
            assert_non_null(part_of(&p, "problem"));
            assert_non_null(part_of(&p, "output_format"));
            buf_release(&one);
            buf_release(&two);
            prompt_release(&p);
            prompt_release(&again);
        }
        json_decref(variants);
    }
}

/* Three for each kind of problem: the complete pack, and two with hints; and the ablation's three.
 */
static void each_kind_has_its_variants(void **state)
{
    (void)state;
    static const struct {
        const char *use;
        int count;
    } kinds[] = {{"every problem", 1},
                 {"gemm", 2},
                 {"attention forward", 2},
                 {"attention backward", 2},
                 {"ablation", 3}};
    for (size_t a = 0; a < COUNT_OF(packs); a++) {
        json_t *variants = prompt_variants(home_dir(), arch_of(a), NULL), *v;
        size_t all = 0, i;
        assert_non_null(variants);
        for (size_t k = 0; k < COUNT_OF(kinds); k++) {
            int count = 0;
            json_array_foreach(variants, i, v)
            {
                const char *use = json_string_value(json_object_get(v, "for"));
                count += !strncmp(use, kinds[k].use, strlen(kinds[k].use));
            }
            if (count != kinds[k].count)
                fail_msg("%s: %d variants for %s", packs[a].arch, count, kinds[k].use);
            all += (size_t)count;
        }
        assert_int_equal(all, json_array_size(variants));
        json_decref(variants);
    }
}

static void packs_are_no_larger_than_the_papers(void **state)
{
    (void)state;
    static const char *const components[] = {"parameters", "templates", "contract"};
    for (size_t a = 0; a < COUNT_OF(packs); a++) {
        struct prompt p;
        int64_t tokens = 0;
        build(arch_of(a), "contract", &p);
        for (size_t i = 0; i < COUNT_OF(components); i++) {
            const struct prompt_part *part = part_of(&p, components[i]);
            assert_non_null(part);
            print_message("%s %s: about %lld tokens\n", packs[a].arch, components[i],
                          (long long)part->tokens);
            tokens += part->tokens;
        }
        assert_true(tokens < packs[a].paper_tokens);
        prompt_release(&p);
    }
}

static void parts_say_what_they_must(void **state)
{
    (void)state;
    static const struct {
        size_t arch;
        const char *component, *text;
    } rows[] = {
        {0, "parameters", "| SMs | 132 |"},
        {0, "parameters", "| bf16, dense | 4096 FLOP a cycle and SM: 1071 TFLOP/s at 1980 MHz |"},
        {0, "parameters", "| L2 | 50 MiB |"},
        {0, "parameters", "| L2, bytes a second at most, about | 12.00 TB/s |"},
        {0, "parameters", "`wgmma.mma_async` (HGMMA, IGMMA, BGMMA, QGMMA); `cp.async.bulk.tensor`"},
        {1, "parameters", "| tensor memory of an SM | 256 KiB |"},
        {1, "parameters", "`tcgen05.mma` (UTCMMA); `tcgen05.cp`"},
        {0, "templates", "```cpp <ptxbench/wgmma.cuh>"},
        {0, "templates", "void wgmma(D (&d)[Count], uint64_t a, uint64_t b, bool keep = true);"},
        {0, "templates", "// PTX: mbarrier.init.shared::cta.b64"},
        {1, "templates", "template <mma_kind Kind, int Blocks = 1>\nvoid tcgen05_mma("},
        {0, "contract", "41. "},
        {1, "contract", "55. "},
        {0, "problem", "| `C` | output | bf16 | [M, N] = [8192, 7168] |"},
        {0, "problem", "off by more than 0.01"},
        {0, "output_format", "/*ptxbench-launch"},
    };
    struct prompt prompts[COUNT_OF(packs)];
    for (size_t a = 0; a < COUNT_OF(packs); a++)
        build(arch_of(a), "contract", &prompts[a]);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct prompt_part *part = part_of(&prompts[rows[i].arch], rows[i].component);
        if (!part || !strstr(part->text, rows[i].text))
            fail_msg("no '%s' in %s of %s", rows[i].text, rows[i].component,
                     packs[rows[i].arch].arch);
    }
    for (size_t a = 0; a < COUNT_OF(packs); a++) {
        const char *templates = part_of(&prompts[a], "templates")->text;
        assert_null(strstr(templates, "asm"));
        assert_null(strstr(templates, "#"
                                      "define"));
        assert_null(strstr(templates, "detail::"));
        assert_null(strstr(templates, "SPDX"));
        assert_null(strstr(templates, "%0")); /* what is said of macros is for their reader */
        prompt_release(&prompts[a]);
    }
}

static void declarations_leave_bodies_out(void **state)
{
    (void)state;
    static const char header[] =
        "// SPDX-License-Identifier: Apache-2.0\n"
        "// What it is for.\n"
        "#ifndef X\n#define X(a) \\\n    { a }\n\nnamespace ptxbench\n{\n"
        "enum class e : int { a = 1, b };\n\n\n\n"
        "namespace detail\n{\nstruct hidden { int x; };\n} // namespace detail\n\n"
        "// Does.\n"
        "template <int N>\n__device__ __forceinline__ int f(int a,\n    int b = '{')\n"
        "{\n    if (a) { g(\"}\"); } // }\n    return b;\n}\n\n"
        "struct s {\n    int n = 0;\n"
        "    __device__ __forceinline__ bool is() const { return n; }\n};\n"
        "} // namespace ptxbench\n#endif\n";
    struct buf out;
    buf_init(&out, KIB);
    prompt_declarations(header, &out);
    assert_string_equal(
        out.data,
        "// What it is for.\n\nenum class e : int { a = 1, b };\n\n// Does.\ntemplate <int N>\n"
        "int f(int a, int b = '{');\n\nstruct s {\n int n = 0;\n bool is() const;\n};\n");
    buf_release(&out);
}

static void what_is_not_there_is_said(void **state)
{
    (void)state;
    static const char *const names[] = {"nothing", "../variants/contract", "", "Contract", "a/b"};
    struct prompt_request q = {.home = home_dir(),
                               .arch = arch_of(0),
                               .problem = problems_find(&registry.problems, "gemm")};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct fault f = {0};
        struct prompt p;
        q.variant = names[i];
        assert_int_equal(prompt_build(&q, &p, &f), ERR_NOT_FOUND);
        assert_non_null(strstr(f.detail, "there is no prompt variant"));
        prompt_release(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_variant_is_built),
        cmocka_unit_test(each_kind_has_its_variants),
        cmocka_unit_test(packs_are_no_larger_than_the_papers),
        cmocka_unit_test(parts_say_what_they_must),
        cmocka_unit_test(declarations_leave_bodies_out),
        cmocka_unit_test(what_is_not_there_is_said),
    };
    return cmocka_run_group_tests(tests, registry_setup, registry_teardown);
}
